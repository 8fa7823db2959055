package cordon

import (
	"context"
	"fmt"
	"time"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

// Observer receives events. Every function may be nil. They are called with no lock held, by the goroutine that
// caused the event, so they must be quick and safe for concurrent use; they may call the engine. A panic in one is
// an internal fault and hurts nobody.
type Observer struct {
	// Block is called for every refusal, and for every one that a rule in shadow would have made.
	Block func(BlockEvent)
	// Breaker is called for every change of a breaker's state, in order for each breaker.
	Breaker func(BreakerEvent)
	// Isolation is called for every decision of a group made by NewGroup, in order for each group.
	Isolation func(IsolationEvent)
	// Param is called when a rule on hot parameters begins or ceases to be crowded.
	Param func(ParamEvent)
	// Report is called with the report on every offered set of rules, refused ones included. Documents identical to
	// the one offered before are not offered.
	Report func(rule.Report)
	// Source is called when the rules of a source become stale, and when they are so no longer; in order for each source.
	Source func(SourceEvent)
	// Fault is called for internal faults.
	Fault func(FaultEvent)
}

// BlockEvent is one refusal.
type BlockEvent struct {
	// Err says what refused, and where.
	Err *BlockedError
	// Origin is the caller, if the request named it.
	Origin string
	// Shadow is true when the rule only would have refused: the call was not refused by it.
	Shadow bool

	value refusedValue
}

// refusedValue is a value that a limiter refused; without limiter there is none.
type refusedValue struct {
	limiter *paramflow.Limiter
	value   extractor.Value
}

// Value returns the value that a rule on hot parameters refused, as the rule shows it: a keyed hash if it says redact. It is "" for other kinds. The text is made
// here, so that refusals that nobody asks about cost nothing.
func (e BlockEvent) Value() string {
	if e.value.limiter == nil {
		return ""
	}
	return e.value.limiter.Shown(e.value.value)
}

// BreakerEvent is one change of a breaker's state.
type BreakerEvent struct {
	// Resource and RuleID say which breaker.
	Resource, RuleID string
	// Transition holds the states and the numbers that decided.
	Transition breaker.Transition
	// Time is the time of day.
	Time time.Time
	// Shadow is true for a breaker in shadow, which refuses nothing.
	Shadow bool
}

// IsolationEvent is one decision about an instance of a service, or about the service: quarantine, probes, return, fallback, pins.
type IsolationEvent struct {
	// Event says what was decided, by which rule, and on which numbers; in shadow (Event.Shadow) nothing was done.
	isolation.Event
	// Time is the time of day.
	Time time.Time `json:"time"`
}

// SourceEvent says that the rules of a source are stale (those of its last-good file are in force, since the process started and the source
// has not delivered a good document yet), or that they are so no longer. See LastGood.
type SourceEvent struct {
	// Source is the source's name, Version that of the document in force.
	Source, Version string
	// Stale is true when the rules have become stale, false when the source has delivered a good document since.
	Stale bool
	// StaleSince is when the stale document was put into the last-good file; zero when Stale is false.
	StaleSince time.Time
	// Err is how the source has failed since it last delivered a good document, if it has said so already.
	Err error
	// Time is the time of day.
	Time time.Time
}

// ParamEvent says that a rule on hot parameters has become crowded, or is so no longer: more different values are in use than it was made for (paramflow.Rule.Values), so that
// some may be refused too early; none is admitted too often. It is looked for by calls, about once a second.
type ParamEvent struct {
	// Resource and RuleID say which rule, where.
	Resource, RuleID string
	// Crowded is true when it has become crowded, false when it has ceased to be.
	Crowded bool
	// Pressure is how many values are in use in proportion to how many there is room for; see paramflow.Status.
	Pressure float64
	// Time is the time of day.
	Time time.Time
	// Shadow is true for a rule in shadow, which refuses nothing.
	Shadow bool
}

// FaultEvent is an internal fault: something handed to the engine (a checker, a classifier, an extractor, an observer) panicked, or a path does not fit what a call has.
type FaultEvent struct {
	// Where says what failed, as "checker quota" or "param rule tenants".
	Where string
	// Resource is the call's, "" outside of calls.
	Resource string
	// Err is what it panicked with, or says what does not fit (*extractor.TypeError).
	Err error
}

// Checker is a check of one's own, called in every Enter of the engine. It must be safe for concurrent use.
type Checker interface {
	// Name identifies the checker in errors, events and snapshots.
	Name() string
	// Check admits the call (nil) or refuses it, without waiting. A *BlockedError is returned to the caller as it
	// is, any other error inside one of KindCustom.
	Check(call *CheckedCall) error
	// Done is called once for every call that Check admitted. ran is false when the call was refused after
	// all, or given up while it waited: what Check reserved is to be given back.
	Done(call *CheckedCall, outcome Outcome, latency time.Duration, ran bool)
}

// CheckedCall is the call that a Checker judges. It is the same pointer in Check and Done.
type CheckedCall struct {
	// Context is the caller's.
	Context context.Context
	// Request is what Enter was called with; its Resource is set for handles too.
	Request Request
	// Now is the reading of the engine's clock at Enter.
	Now time.Duration
}

// fault counts and reports what was recovered from a panic.
func (e *Engine) fault(where, resource string, recovered any) {
	err, ok := recovered.(error)
	if !ok {
		err = fmt.Errorf("panic: %v", recovered)
	}
	e.ReportFault(where, resource, err)
}

// ReportFault counts an internal fault and tells the log and the observers: for adapters whose hooks, handed in by their users, may
// fail too. where says what failed ("hook of the adapter"), resource is the call's or "". It never panics.
func (e *Engine) ReportFault(where, resource string, err error) {
	e.report("internal fault", where, resource, err)
}

// report is ReportFault with the words for the log: not all that is reported so is a fault of the engine's, some comes of what callers send.
func (e *Engine) report(words, where, resource string, err error) {
	e.faults.Add(1)
	e.log.warn(words, "where", where, "resource", resource, "error", err)
	for _, o := range e.cfg.observers {
		if o.Fault != nil {
			e.guardQuietly(func() { o.Fault(FaultEvent{Where: where, Resource: resource, Err: err}) })
		}
	}
}

// guardQuietly runs f and only counts a panic: it is for the reporting of faults itself.
func (e *Engine) guardQuietly(f func()) {
	defer func() {
		if recover() != nil {
			e.faults.Add(1)
		}
	}()
	f()
}

// Guard runs f, in which something runs that was handed in by a user, and reports a panic in it as an internal fault, as ReportFault does: for adapters and their hooks.
func (e *Engine) Guard(where, resource string, f func()) {
	defer func() {
		if p := recover(); p != nil {
			e.fault(where, resource, p)
		}
	}()
	f()
}

func (e *Engine) notifyBlock(b *BlockedError, origin string, shadow bool, value refusedValue) {
	for _, o := range e.blockObservers {
		e.Guard("observer of blocks", b.Resource, func() { o(BlockEvent{Err: b, Origin: origin, Shadow: shadow, value: value}) })
	}
}

func (e *Engine) notifyBreaker(ev BreakerEvent) {
	e.log.info("breaker changed", "resource", ev.Resource, "rule", ev.RuleID, "from", ev.Transition.From,
		"to", ev.Transition.To, "reason", ev.Transition.Reason, "shadow", ev.Shadow)
	for _, o := range e.cfg.observers {
		if o.Breaker != nil {
			e.Guard("observer of breakers", ev.Resource, func() { o.Breaker(ev) })
		}
	}
}

func (e *Engine) notifyIsolation(ev IsolationEvent) {
	args := []any{"service", ev.Service, "instance", ev.Address, "event", ev.Kind, "reason", ev.Reason, "rule", ev.RuleID,
		"strikes", ev.Strikes, "sick", ev.Sick, "instances", ev.Instances, "shadow", ev.Shadow}
	if ev.Group != "" {
		args = append(args, "group", ev.Group)
	}
	if ev.Until > ev.At {
		args = append(args, "for", (ev.Until - ev.At).Round(time.Millisecond), "until", e.clock.Wall(ev.Until))
	}
	e.log.info("isolation", args...)
	for _, o := range e.cfg.observers {
		if o.Isolation != nil {
			e.Guard("observer of isolation", ev.Service, func() { o.Isolation(ev) })
		}
	}
}

func (e *Engine) notifyParam(ev ParamEvent) {
	msg := "a rule on hot parameters is crowded no longer"
	if ev.Crowded {
		msg = "a rule on hot parameters is crowded: values may be refused too early; it needs more room (values)"
	}
	e.log.info(msg, "resource", ev.Resource, "rule", ev.RuleID, "pressure", ev.Pressure, "shadow", ev.Shadow)
	for _, o := range e.cfg.observers {
		if o.Param != nil {
			e.Guard("observer of hot parameters", ev.Resource, func() { o.Param(ev) })
		}
	}
}

func (e *Engine) notifySource(h datasource.Health) {
	ev := SourceEvent{
		Source: h.Source, Version: h.Version, Stale: h.Stale, StaleSince: h.StaleSince, Err: h.LastError, Time: e.clock.Wall(e.clock.Now()),
	}
	if ev.Stale {
		args := []any{"source", ev.Source, "version", ev.Version, "since", ev.StaleSince}
		if ev.Err != nil {
			args = append(args, "error", ev.Err)
		}
		e.log.warn("the rules in force are those of the last-good file, until the source delivers", args...)
	} else {
		e.log.info("the source has delivered: its rules are stale no longer", "source", ev.Source, "version", ev.Version)
	}
	for _, o := range e.cfg.observers {
		if o.Source != nil {
			e.Guard("observer of sources", "", func() { o.Source(ev) })
		}
	}
}

func (e *Engine) notifyReport(r rule.Report) {
	e.log.report(r)
	for _, o := range e.cfg.observers {
		if o.Report != nil {
			e.Guard("observer of reports", "", func() { o.Report(r) })
		}
	}
}
