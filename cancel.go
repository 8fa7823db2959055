package cordon

import (
	"slices"
	"sync/atomic"

	"github.com/cordon-go/cordon/breaker"
)

// Cancel ends a call that was admitted and is not made after all, mostly because something that was asked later refused it: what it reserved is given back, as it is when a later rule of the same
// resource refuses. Turns and calls of a rate count no more, as far as that is still possible, probes of a breaker go to others, and checkers are told that the call did not run. It tells nothing
// of latencies. It stays counted as passed, and as ended Ignored; and what related resources' rules have seen of it they have seen.
//
// For a request without Cancelable it is End(Ignored). Of Exit, End and Cancel the first counts.
func (e *Entry) Cancel() {
	if e.table == nil || e.table.unusual == nil || e.table.unusual.back == nil {
		e.End(Ignored)
		return
	}
	state := atomic.SwapUint32(&e.state, ended)
	if state&ended != 0 {
		return
	}
	t, u := e.table, e.table.unusual
	now, cost := t.res.eng.clock.Now(), int(state&^inSystem)
	if !u.rest {
		t.res.ended[Ignored].Add(1)
	}
	if !t.plain {
		t.undo(u.back, now, cost)
		return
	}
	if u.back.counted != 0 {
		t.res.eng.overload.Cancel(cost, u.back.place)
	}
	for _, r := range u.back.rates[:u.back.nRates] {
		r.limiter.Cancel(now, r.permit)
	}
	t.giveBack(now, cost, breaker.Permit(e.permits), breaker.Permit(e.permits>>32))
}

// cancelable reports whether what the call reserves is to be kept for Cancel.
func cancelable(req *Request) bool { return req != nil && req.Cancelable }

// keep returns a copy of h that outlives the way in.
func (h *hold) keep() *hold {
	k := *h
	if h.params != nil {
		k.params = &paramCall{held: slices.Clone(h.params.held)}
	}
	return &k
}
