package cordon

import (
	"context"
	"log/slog"
	"time"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/rule"
)

// Option wires an engine.
type Option interface{ apply(*config) }

type config struct{}

// WithRules applies rules at the start; New fails if they have a fault.
func WithRules(rules Rules) Option { panic("stub") }

// WithClock sets the clock; default clock.System().
func WithClock(c clock.Clock) Option { panic("stub") }

// WithObserver adds an observer.
func WithObserver(o Observer) Option { panic("stub") }

// WithLogger sets the logger for the engine's own doings (rate-limited); default: none.
func WithLogger(l *slog.Logger) Option { panic("stub") }

// WithClassifier sets how errors are judged; default DefaultClassifier.
func WithClassifier(c Classifier) Option { panic("stub") }

// WithChecker adds a check of one's own, after the cheap built-in ones and before those that wait.
func WithChecker(c Checker) Option { panic("stub") }

// WithMaxResources bounds the resources kept, 1 to 10,000,000; default 10,000.
func WithMaxResources(n int) Option { panic("stub") }

// WithIdleTimeout sets after what time without a call a resource may be dropped, at least 1s; default 10m.
func WithIdleTimeout(d time.Duration) Option { panic("stub") }

// WithFaultPolicy says what an internal fault (a panicking checker, say) does to the call; default PassOnFault.
func WithFaultPolicy(p FaultPolicy) Option { panic("stub") }

// FaultPolicy says what an internal fault does to the call it happens in.
type FaultPolicy uint8

const (
	// PassOnFault lets the call pass as if the faulty part were not there.
	PassOnFault FaultPolicy = iota
	// BlockOnFault refuses the call.
	BlockOnFault
)

// WatchOption adjusts Watch.
type WatchOption interface{ applyWatch(*watchConfig) }

type watchConfig struct{}

// FirstWithin bounds how long Watch waits for the first document; 0 does not wait.
func FirstWithin(d time.Duration) WatchOption { panic("stub") }

// OnBadRule overrides what the decoder wants done with a readable document that has bad rules.
func OnBadRule(p BadRulePolicy) WatchOption { panic("stub") }

// Debounce overrides the pump's debounce.
func Debounce(d time.Duration) WatchOption { panic("stub") }

// BadRulePolicy says what becomes of a readable document with bad rules.
type BadRulePolicy uint8

const (
	// RefuseDocument leaves the rules in force as they are.
	RefuseDocument BadRulePolicy = iota
	// KeepGood applies the good rules, and in place of a bad one its last good version if there was one.
	KeepGood
)

// Observer receives events. Every function may be nil, is called with no lock held by the goroutine that caused the event, and must be safe for
// concurrent use and quick. A panic in it is an internal fault and hurts nobody.
type Observer struct {
	// Block is called for every refusal, and for what a rule in shadow would have refused. It must not keep the event's address.
	Block func(BlockEvent)
	// Breaker is called for every change of a breaker's state, in order per breaker.
	Breaker func(BreakerEvent)
	// Report is called for every offered set of rules that was not identical to the one in force.
	Report func(rule.Report)
	// Fault is called for internal faults.
	Fault func(FaultEvent)
}

// BlockEvent is one refusal.
type BlockEvent struct {
	// Err says what refused.
	Err *BlockedError
	// Origin is the caller's.
	Origin string
	// Shadow is true when the rule only would have refused.
	Shadow bool
}

// BreakerEvent is one change of a breaker's state.
type BreakerEvent struct {
	Resource, RuleID string
	Transition       breaker.Transition
	Time             time.Time
	Shadow           bool
}

// FaultEvent is an internal fault: something handed in (a checker, a classifier, an observer) panicked.
type FaultEvent struct {
	// Where says what failed ("checker quota").
	Where string
	// Resource is the call's, if it was in one.
	Resource string
	// Err is what was panicked with.
	Err error
}

// Checker is a check of one's own. It must be safe for concurrent use.
type Checker interface {
	// Name identifies the checker in errors, events and snapshots.
	Name() string
	// Check admits the call (nil) or refuses it, without waiting. A *BlockedError is given to the caller as it is; any other error is wrapped in one of KindCustom.
	Check(call *CheckedCall) error
	// Done is called once for every call that Check admitted: ran is false when a later check refused it.
	Done(call *CheckedCall, outcome Outcome, latency time.Duration, ran bool)
}

// CheckedCall is the call a Checker judges. It is valid until Done returns.
type CheckedCall struct {
	Context context.Context
	Request Request
	// Now is the engine's clock at Enter.
	Now time.Duration
}
