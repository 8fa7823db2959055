package cordon

import (
	"slices"
	"time"

	"github.com/cordon-go/cordon/flow"
)

// table is what a call of one resource is checked against, in this order: breakers, concurrency, rates, checkers, and
// last what may wait: concurrency with a queue, then pacing. It is immutable but for the states it points to.
type table struct {
	res     *resource
	version uint64 // of the rules
	closed  bool   // the engine is closed: there is nothing to check

	// plain is true when all checks are of the simple sort that the quick way in knows: at most two breakers and one rate,
	// and nothing that waits, depends on the caller, feeds another rule, or is in shadow.
	plain bool

	breakers  []*breakerState
	bulkheads []*bulkheadState // those that do not wait
	rates     []*flowState     // those that do not wait
	queues    []*bulkheadState
	paces     []*flowState

	// always are the bulkheads of bulkheads and queues that every admitted call holds, in that order.
	always []*flow.Bulkhead

	feeds []*relatedGauge
	// rateCallers and bulkheadCallers are the callers that rules name, for the rules on the other ones.
	rateCallers, bulkheadCallers []string
}

// newTable compiles the rules for a resource, with the state of old where a rule goes on.
func newTable(r *resource, set *ruleset, m matched, old *table) *table {
	t := &table{res: r, version: set.version, closed: set.closed}
	if t.closed {
		return t
	}
	if old == nil {
		old = &table{}
	}
	e := r.eng
	t.feeds = set.related[r.name]
	t.plain = len(t.feeds) == 0 && len(e.cfg.checkers) == 0 && len(m.breaker) <= 2 && len(m.flow) <= 1
	for _, br := range m.breaker {
		s := carryBreaker(find(br.ID, old.breakers), br, r.name, set.sharedBreaker(br.ID), e)
		if s == nil {
			continue
		}
		t.breakers = append(t.breakers, s)
		t.plain = t.plain && !br.Shadow
	}
	for _, cr := range m.concurrency {
		s := carryBulkhead(find(cr.ID, old.bulkheads, old.queues), cr, r.name, set.sharedBulkhead(cr.ID), e)
		if s == nil {
			continue
		}
		if cr.MaxWait > 0 {
			t.queues = append(t.queues, s)
		} else {
			t.bulkheads = append(t.bulkheads, s)
		}
		t.bulkheadCallers = addCaller(t.bulkheadCallers, cr.Origin)
		t.plain = t.plain && !cr.Shadow && cr.MaxWait == 0 && s.unconditional()
	}
	for _, s := range slices.Concat(t.bulkheads, t.queues) {
		if s.always() {
			t.always = append(t.always, s.bulkhead)
		}
	}
	for _, fr := range m.flow {
		s := carryRate(find(fr.ID, old.rates, old.paces), fr, r.name, set, e)
		if s == nil {
			continue
		}
		if s.waits() {
			t.paces = append(t.paces, s)
		} else {
			t.rates = append(t.rates, s)
		}
		t.rateCallers = addCaller(t.rateCallers, fr.Origin)
		t.plain = t.plain && !fr.Shadow && !s.waits() && s.gauge == nil && s.unconditional()
	}
	retire(old.queues, t.queues)
	t.account(old)
	return t
}

// tallies returns what is counted for each rule.
func (t *table) tallies() []*tally {
	var all []*tally
	for _, s := range t.breakers {
		all = append(all, s.tally)
	}
	for _, s := range slices.Concat(t.bulkheads, t.queues) {
		all = append(all, s.tally)
	}
	for _, s := range slices.Concat(t.rates, t.paces) {
		all = append(all, s.tally)
	}
	return all
}

// account keeps the counts of old's rules that are not in t. Caller holds the resource's lock.
func (t *table) account(old *table) {
	now := t.tallies()
	for _, o := range old.tallies() {
		if !slices.Contains(now, o) {
			t.res.gone[o.kind].blocked += o.blocked.Load()
			t.res.gone[o.kind].shadowed += o.shadowed.Load()
		}
	}
}

// idle reports whether every state is as good as new, so that the table may be dropped.
func (t *table) idle(now time.Duration) bool {
	for _, s := range t.breakers {
		if s.own && !s.breaker.Idle(now) {
			return false
		}
	}
	for _, s := range slices.Concat(t.bulkheads, t.queues) {
		if !s.idle() {
			return false
		}
	}
	for _, s := range slices.Concat(t.rates, t.paces) {
		if !s.idle(now) {
			return false
		}
	}
	return true
}

// state is what the states of all kinds have in common.
type state interface{ ruleID() string }

// find returns the state of the rule of that id, or the zero S.
func find[S state](id string, lists ...[]S) S {
	for _, list := range lists {
		for _, s := range list {
			if s.ruleID() == id {
				return s
			}
		}
	}
	var none S
	return none
}

// retire lets the calls go that wait in the queues of rules that are no longer there.
func retire(old, now []*bulkheadState) {
	for _, o := range old {
		if o.own && find(o.id, now) == nil {
			o.open()
		}
	}
}

// anyone reports whether a rule's origin stands for all callers together.
func anyone(origin string) bool { return origin == "" || origin == originDefault }

// addCaller collects the callers that rules name.
func addCaller(callers []string, origin string) []string {
	if anyone(origin) || origin == originOther {
		return callers
	}
	return append(callers, origin)
}

// concerns reports whether a rule for that origin is for a call of caller; named are the callers that rules of the resource name.
func concerns(origin, caller string, named []string) bool {
	switch {
	case anyone(origin):
		return true
	case origin == originOther:
		return caller != "" && !slices.Contains(named, caller)
	}
	return origin == caller
}

// The origins that are not the name of a caller, as Sentinel has them.
const (
	originDefault = "default"
	originOther   = "other"
)
