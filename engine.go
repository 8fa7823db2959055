package cordon

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/system"
)

// Engine holds rules, the state they need, and statistics. Engines know nothing of each other; all methods are safe for concurrent use.
// An engine starts no goroutine but those of the sources it watches.
type Engine struct {
	cfg            config
	clock          clock.Clock
	system         *clock.SystemClock // the clock, if it is the system's: calls read it without an interface
	log            *logger
	blockObservers []func(BlockEvent)
	sensor         *flow.Sensor   // of the memory, for all rules that look at it
	overload       *system.Guard  // enforces the system rules, through all edits
	seed           extractor.Seed // of the hashes of values
	paramCalls     sync.Pool      // of *paramCall

	// set is what is in force, and version its number. Every resource's table was compiled for one version and is compiled
	// anew when a call finds another one here: storing the version is the one atomic swap of a rule update. (Tables remember a number and not the
	// ruleset, so that a resource nobody calls does not keep an old one alive.)
	set       atomic.Pointer[ruleset]
	version   atomic.Uint32
	guarding  atomic.Pointer[system.Guard] // overload while there are system rules, else nil
	resources registry
	groups    groups

	faults     atomic.Int64
	overflowed atomic.Int64

	// applyMu serialises rule updates and guards what follows.
	applyMu sync.Mutex
	owners  []*owner // the rules by who brought them: code first, then sources in the order they were watched
	code    *owner   // the first of owners; never changed
	watches []*Watch
	closed  bool
}

// New returns an engine with the given options. It fails on an option out of range and on rules with a fault (rule.Problems).
func New(opts ...Option) (*Engine, error) {
	cfg, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	e := &Engine{cfg: cfg, clock: cfg.clock, sensor: flow.NewSensor(nil), seed: extractor.NewSeed()}
	e.log = newLogger(cfg.logger, cfg.clock, &e.faults)
	e.system, _ = cfg.clock.(*clock.SystemClock)
	for _, o := range cfg.observers {
		if o.Block != nil {
			e.blockObservers = append(e.blockObservers, o.Block)
		}
	}
	e.overload = system.NewGuard(e.systemReader())
	e.code = &owner{}
	e.owners = []*owner{e.code}
	e.resources.init(e)
	e.install(newRuleset(nil, ruleRefs{}, e))
	if cfg.rules.count() > 0 {
		if _, err := e.Apply(cfg.rules); err != nil {
			return nil, err
		}
		e.cfg.rules = Rules{}
	}
	return e, nil
}

// Clock returns the engine's clock: whose readings its groups (NewGroup) are used with.
func (e *Engine) Clock() clock.Clock { return e.clock }

// Close ends the engine's sources and waits for them. It is idempotent and must not be called from an observer of reports. After Close every call is admitted, unchecked and
// uncounted, and all instances of its groups are in service: an engine that is shut down stops nobody. Calls admitted before end as usual.
func (e *Engine) Close() error {
	e.applyMu.Lock()
	watches := slices.Clone(e.watches)
	if !e.closed {
		e.closed = true
		e.install(&ruleset{closed: true})
	}
	e.applyMu.Unlock()
	e.groups.tell()
	for _, w := range watches {
		w.Close()
	}
	return nil
}

// install puts a ruleset in force. The caller holds applyMu, or is New.
func (e *Engine) install(s *ruleset) {
	old := e.set.Load()
	s.version = e.version.Load() + 1
	e.set.Store(s)
	e.version.Store(s.version)
	e.guardBy(s, old)
	if old != nil {
		old.retire(s)
	}
	if !s.isolatesAs(old) {
		e.groups.follow(s)
	}
	// Bring the rules to resources where calls wait in queues: nobody else may come by to do it.
	e.resources.all(func(r *resource) {
		if r.table.Load().waited() {
			r.current()
		}
	})
}

// Do runs fn if the resource admits the call, and returns fn's error, or the refusal as Enter does. A panic of fn counts as a failure
// and goes on; a nil fn is an error. If rules ask under which entrance calls come in, resource is the entrance of the calls made within fn, unless ctx has one.
func (e *Engine) Do(ctx context.Context, resource string, fn func(context.Context) error) (err error) {
	if fn == nil {
		return errNoFunction
	}
	ent, err := e.Enter(ctx, Request{Resource: resource})
	if err != nil {
		return err
	}
	defer ent.End(Failure) // if it has not ended by then: a panic, or runtime.Goexit
	err = fn(e.entrance(ctx, resource))
	ent.Exit(&err)
	return err
}

// Call is Do for functions that return a value.
func Call[T any](ctx context.Context, e *Engine, resource string, fn func(context.Context) (T, error)) (T, error) {
	var v T
	if fn == nil {
		return v, errNoFunction
	}
	err := e.Do(ctx, resource, func(ctx context.Context) error {
		var err error
		v, err = fn(ctx)
		return err
	})
	return v, err
}

type entranceKey struct{}

// WithEntrance returns a context whose calls count as made under that entrance, for rules with `under` (Sentinel's chain strategy).
func WithEntrance(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, entranceKey{}, name)
}

// entrance returns ctx, marked with resource as the entrance if rules ask and it has none.
func (e *Engine) entrance(ctx context.Context, resource string) context.Context {
	if ctx == nil {
		ctx = context.Background()
	}
	if !e.set.Load().asksUnder {
		return ctx
	}
	if _, ok := ctx.Value(entranceKey{}).(string); ok {
		return ctx
	}
	return WithEntrance(ctx, resource)
}

// sleep waits for d or until ctx is done, whose error it then returns.
func (e *Engine) sleep(ctx context.Context, d time.Duration) error {
	timer := e.clock.NewTimer(d)
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		timer.Stop()
		return ctx.Err()
	}
}

// Rules returns a copy of the rules in force, of all owners.
func (e *Engine) Rules() Rules {
	r := e.set.Load().all()
	rules := r.deref()
	rules.Param, rules.Authority, rules.APIGroup = own(rules.Param), ownOrigins(rules.Authority), ownGroups(rules.APIGroup)
	return rules
}

// stamp marks a report with the time of day.
func (e *Engine) stamp(r *rule.Report) { r.Time = e.clock.Wall(e.clock.Now()) }
