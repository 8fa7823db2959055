package cordon

import (
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
)

// Entry is an admitted call. It is a value of four words, which stay in registers, without allocation; keep it in one variable
// and do not copy it once it is in use: a copy does not know that the other has ended. The zero Entry, as refusals return it, is ended.
type Entry struct {
	table   *table // one of the call's own if it is unusual
	start   time.Duration
	permits uint64 // of the first two breakers
	state   uint32 // the cost and the flags; 32 bits, which are aligned for atomic use wherever the entry lies, on every processor
}

// The flags in an entry's state; the cost is in the 30 bits below.
const (
	ended    = 1 << 31
	inSystem = 1 << 30 // system rules count the call

	maxCost = inSystem - 1
)

// pack puts two permits into one word.
func pack(p0, p1 breaker.Permit) uint64 { return uint64(p0) | uint64(p1)<<32 }

// unusual is what a call holds besides, which few calls do: they have a table of their own to carry it.
type unusual struct {
	table
	permits    []breaker.Permit // of the third breaker on
	bulkheads  []*flow.Bulkhead
	flights    []heldParam
	checked    *CheckedCall
	admittedBy []Checker
	classify   Classifier
	apart      bool  // the call was asked for in parts: of the bulkheads it holds only those that are here
	rest       bool  // and this is not the part with which it is counted
	back       *hold // what Cancel gives back; nil for calls that were not asked to keep it
}

// carrying returns a copy of the table that carries u.
func (t *table) carrying(u *unusual) *table {
	u.table = *t
	u.table.unusual = u
	return &u.table
}

// Exit ends the call with the error that *errp then holds; with a nil errp it is a success. Deferred directly, as in
//
//	defer ent.Exit(&err)
//
// it also sees a panic, counts the call as a failure and lets the panic go on (within a deferred function literal it cannot).
// The first Exit or End counts, from whichever goroutine; others do nothing.
func (e *Entry) Exit(errp *error) {
	if e.table == nil {
		return
	}
	if p := recover(); p != nil {
		e.End(Failure)
		panic(p)
	}
	outcome := Success
	if errp != nil && *errp != nil {
		outcome = e.Classify(*errp)
	}
	e.End(outcome)
}

// Classify returns what Exit would make of err.
func (e *Entry) Classify(err error) (outcome Outcome) {
	if err == nil || e.table == nil {
		return Success
	}
	eng := e.table.res.eng
	classify := eng.cfg.classify
	if u := e.table.unusual; u != nil && u.classify != nil {
		classify = u.classify
	}
	outcome = Failure
	eng.Guard("classifier", e.table.res.name, func() { outcome = classify(err) })
	if outcome > Ignored {
		outcome = Failure
	}
	return outcome
}

// End ends the call with an outcome decided by the caller. An unknown outcome counts as Failure.
func (e *Entry) End(outcome Outcome) {
	if e.table == nil {
		return
	}
	state := atomic.SwapUint32(&e.state, ended) // whoever gets the cost ends the call
	if state&ended != 0 {
		return
	}
	if outcome > Ignored {
		outcome = Failure
	}
	t := e.table
	if !t.plain {
		e.endLists(state, outcome)
		return
	}
	var now time.Duration
	if s := t.res.eng.system; s != nil {
		now = s.Now()
	} else {
		now = t.res.eng.clock.Now()
	}
	latency := max(now-e.start, 0)
	r := t.res
	n := r.ended[outcome].Add(1)
	if n > histogramAfter {
		r.histogram.Observe(now, latency)
	}
	cost := int(state)
	if state >= inSystem {
		cost = int(state &^ inSystem)
		r.eng.overload.Exit(now, cost, latency)
	}
	if s := t.breaker0; s != nil {
		s.breaker.Done(now, breaker.Permit(e.permits), outcome, latency)
	}
	if s := t.breaker1; s != nil {
		s.breaker.Done(now, breaker.Permit(e.permits>>32), outcome, latency)
	}
	if s := t.bulkhead; s != nil {
		s.bulkhead.Release(cost)
	}
}

// endLists is End for a table that is not plain.
func (e *Entry) endLists(state uint32, outcome Outcome) {
	t := e.table
	if t.unusual != nil && t.unusual.rest {
		e.release(int(state))
		return
	}
	r := t.res
	now := r.eng.clock.Now()
	latency := max(now-e.start, 0)
	if n := r.ended[outcome].Add(1); n > histogramAfter {
		r.histogram.Observe(now, latency)
	}
	cost := int(state &^ inSystem)
	if state >= inSystem {
		r.eng.overload.Exit(now, cost, latency)
	}
	e.endAny(now, cost, outcome, latency)
}

// endAny ends what a call of a table that is not plain holds.
func (e *Entry) endAny(now time.Duration, cost int, outcome Outcome, latency time.Duration) {
	lists := e.table.lists
	for i, s := range lists.breakers {
		switch i {
		case 0:
			s.breaker.Done(now, breaker.Permit(e.permits), outcome, latency)
		case 1:
			s.breaker.Done(now, breaker.Permit(e.permits>>32), outcome, latency)
		default:
			s.breaker.Done(now, e.table.unusual.permits[i-2], outcome, latency)
		}
	}
	u := e.table.unusual
	if u == nil || !u.apart {
		for _, b := range lists.always {
			b.Release(cost)
		}
	}
	if u == nil {
		return
	}
	e.release(cost)
	if u.checked != nil {
		e.table.res.eng.checkersDone(u.admittedBy, u.checked, outcome, latency, true)
	}
}

// release gives back the places that an unusual call holds.
func (e *Entry) release(cost int) {
	u := e.table.unusual
	for _, b := range u.bulkheads {
		b.Release(cost)
	}
	for i := range u.flights {
		u.flights[i].limiter.Release(u.flights[i].permit)
	}
}
