package cordon

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/system"
)

// Option wires an engine; see New.
type Option interface{ apply(*config) error }

type optionFunc func(*config) error

func (f optionFunc) apply(c *config) error { return f(c) }

// config is what options fill.
type config struct {
	rules        Rules
	clock        clock.Clock
	observers    []Observer
	logger       *slog.Logger
	classify     Classifier
	checkers     []Checker
	maxResources int
	idleTimeout  time.Duration
	faults       FaultPolicy
	systemReader system.Reader     // nil for the running system's
	paths        extractor.Options // what paths to values in calls are compiled with
}

func newConfig(opts []Option) (config, error) {
	c := config{
		clock:        clock.System(),
		classify:     DefaultClassifier,
		maxResources: 10_000,
		idleTimeout:  10 * time.Minute,
	}
	var errs []error
	for _, o := range opts {
		if o == nil {
			continue
		}
		if err := o.apply(&c); err != nil {
			errs = append(errs, err)
		}
	}
	if err := c.paths.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("cordon: %w", err))
	}
	return c, errors.Join(errs...)
}

// WithRules applies rules at the start, as Apply would. New fails if they have a fault.
func WithRules(rules Rules) Option {
	return optionFunc(func(c *config) error { c.rules = rules; return nil })
}

// WithClock sets the clock by which everything is timed; default clock.System(). Tests of rules use clock.Manual.
func WithClock(clk clock.Clock) Option {
	return optionFunc(func(c *config) error {
		if clk == nil {
			return errors.New("cordon: WithClock: the clock must not be nil")
		}
		c.clock = clk
		return nil
	})
}

// WithObserver adds an observer; several are called in the order they were added.
func WithObserver(o Observer) Option {
	return optionFunc(func(c *config) error { c.observers = append(c.observers, o); return nil })
}

// WithLogger sets the logger for the engine's own doings: rule reports, breaker transitions,
// internal faults, and source failures, all rate-limited. Refused calls are not logged. Default: none.
func WithLogger(l *slog.Logger) Option {
	return optionFunc(func(c *config) error { c.logger = l; return nil })
}

// WithClassifier sets how the errors of calls are judged; default DefaultClassifier.
func WithClassifier(f Classifier) Option {
	return optionFunc(func(c *config) error {
		if f == nil {
			return errors.New("cordon: WithClassifier: the classifier must not be nil")
		}
		c.classify = f
		return nil
	})
}

// WithChecker adds a check of one's own. It is asked after breakers, concurrency and rates, and before anything that
// waits; several in the order they were added. Calls of an engine with checkers allocate.
func WithChecker(k Checker) Option {
	return optionFunc(func(c *config) error {
		if k == nil {
			return errors.New("cordon: WithChecker: the checker must not be nil")
		}
		c.checkers = append(c.checkers, k)
		return nil
	})
}

// WithExtractor adds an extractor of one's own: rules on hot parameters name it as their param, alone or in a composite. The name is a plain word that
// has no meaning in paths (package extractor) and that no other extractor of the engine has. What an extractor does in a call is the caller's time: it must be quick. A panic
// in it is an internal fault; see WithFaultPolicy.
func WithExtractor(name string, x extractor.Extractor) Option {
	return optionFunc(func(c *config) error {
		if _, taken := c.paths.Named[name]; taken {
			return fmt.Errorf("cordon: WithExtractor(%q): the engine has an extractor of that name already", name)
		}
		if c.paths.Named == nil {
			c.paths.Named = map[string]extractor.Extractor{}
		}
		c.paths.Named[name] = x
		return nil
	})
}

// WithWalker adds what knows types that reflection does not do justice to, such as protobuf messages (package extractor/protobuf). Of several the
// first that knows a type is asked.
func WithWalker(w extractor.Walker) Option {
	return optionFunc(func(c *config) error { c.paths.Walkers = append(c.paths.Walkers, w); return nil })
}

// WithSystemReader sets what tells system rules how loaded the machine is; default: system.NewReader, the running system. Tests of rules bring one of their own, with whatever readings they want to see judged. A panic
// in it is an internal fault, and what it would have said is unknown.
func WithSystemReader(r system.Reader) Option {
	return optionFunc(func(c *config) error {
		if r == nil {
			return errors.New("cordon: WithSystemReader: the reader must not be nil")
		}
		c.systemReader = r
		return nil
	})
}

// WithMaxBody bounds how much of a call's body is read for rules on what is in it, in bytes, 1 to 1 GiB; default 64 KiB. In a longer body there is no value for them.
func WithMaxBody(n int) Option {
	return optionFunc(func(c *config) error {
		if n < 1 || n > 1<<30 {
			return fmt.Errorf("cordon: WithMaxBody(%d): want 1 to %d", n, 1<<30)
		}
		c.paths.MaxBody = n
		return nil
	})
}

// WithMaxResources bounds how many resources are kept, 1 to 10,000,000; default 10,000. Resources that rules name
// literally and those held by a handle are kept above the bound. When it is reached and no idle resource
// can be dropped, further names are counted together: one common resource for all names that the same pattern
// rules match, whose limits they share.
func WithMaxResources(n int) Option {
	return optionFunc(func(c *config) error {
		if n < 1 || n > 10_000_000 {
			return fmt.Errorf("cordon: WithMaxResources(%d): want 1 to 10,000,000", n)
		}
		c.maxResources = n
		return nil
	})
}

// WithIdleTimeout sets after what time without a call a resource may be dropped to make room, 1s or more; default 10m. A resource
// with calls in flight, an open breaker, a limit in use or a handle is never dropped.
func WithIdleTimeout(d time.Duration) Option {
	return optionFunc(func(c *config) error {
		if d < time.Second {
			return fmt.Errorf("cordon: WithIdleTimeout(%v): want at least 1s", d)
		}
		c.idleTimeout = d
		return nil
	})
}

// WithFaultPolicy says what an internal fault does to the call it happens in; default PassOnFault.
func WithFaultPolicy(p FaultPolicy) Option {
	return optionFunc(func(c *config) error {
		if p > BlockOnFault {
			return fmt.Errorf("cordon: WithFaultPolicy(%d): want PassOnFault or BlockOnFault", p)
		}
		c.faults = p
		return nil
	})
}

// FaultPolicy says what an internal fault (a panicking Checker or extractor) does to the call it happens in.
type FaultPolicy uint8

const (
	// PassOnFault lets the call pass as if the faulty part were not there.
	PassOnFault FaultPolicy = iota
	// BlockOnFault refuses the call with a BlockedError that holds ErrFault.
	BlockOnFault
)
