package cordon

import (
	"slices"
	"time"

	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/paramflow"
)

// table is what a call of one resource is checked against. It is immutable but for the states it points to.
//
// A plain table holds its few checks itself: at most two breakers, one concurrency rule and one rate, none of which waits, depends on
// the caller, feeds another rule or is in shadow. Any other has the lists.
type table struct {
	res     *resource
	version uint32 // of the rules
	plain   bool
	closed  bool // the engine is closed: there is nothing to check

	breaker0, breaker1 *breakerState
	bulkhead           *bulkheadState
	rate               *flowState

	lists   *checks  // nil if plain
	unusual *unusual // set in the table of a single call only
}

// checks are all checks of a resource, in the order they are made: origins, breakers, concurrency, concurrency by value, rates, rates by value, the engine's checkers, and
// last what may wait: concurrency with a queue, then pacing, then pacing by value.
type checks struct {
	authority []*authorityState
	breakers  []*breakerState
	bulkheads []*bulkheadState // those that do not wait
	rates     []*flowState     // those that do not wait
	queues    []*bulkheadState
	paces     []*flowState

	paramPlaces []*paramState // those on what is in flight
	paramRates  []*paramState // those that do not wait
	paramPaces  []*paramState
	params      []*paramState // all of them, in that order
	byValue     *paramState   // the only check, if that is a rate by value

	// always are the bulkheads of bulkheads and queues that every admitted call holds, in that order.
	always []*flow.Bulkhead
	// feeds count this resource's traffic for rules of others.
	feeds []*relatedGauge
	// rateCallers and bulkheadCallers are the callers that rules name, for the rules on the other ones.
	rateCallers, bulkheadCallers, paramCallers []string
}

// newTable compiles the rules for a resource, with the state of old where a rule goes on.
func newTable(r *resource, set *ruleset, m matched, old *table) *table {
	t := &table{res: r, version: set.version, closed: set.closed}
	was := old.checks()
	if t.closed {
		retire(was, &checks{})
		return t
	}
	c := &checks{feeds: set.related[r.name]}
	e := r.eng
	breakers, bulkheads, rates := byID(was.breakers), byID(was.bulkheads, was.queues), byID(was.rates, was.paces)
	origins := byID(was.authority)
	for _, ar := range m.authority {
		c.authority = append(c.authority, carryAuthority(origins(ar.r.ID), ar.r, r, set.origins[ar.r.ID].list))
	}
	for _, br := range m.breaker {
		if s := carryBreaker(breakers(br.r.ID), br.r, r, set.sharedBreaker(br.r.ID), e); s != nil {
			c.breakers = append(c.breakers, s)
		}
	}
	for _, cr := range m.concurrency {
		s := carryBulkhead(bulkheads(cr.r.ID), cr.r, r, set.sharedBulkhead(cr.r.ID), e)
		switch {
		case s == nil:
			continue
		case cr.r.MaxWait > 0:
			c.queues = append(c.queues, s)
		default:
			c.bulkheads = append(c.bulkheads, s)
		}
		c.bulkheadCallers = addCaller(c.bulkheadCallers, cr.r.Origin)
	}
	for _, fr := range m.flow {
		s := carryRate(rates(fr.r.ID), fr.r, r, set, e)
		switch {
		case s == nil:
			continue
		case s.waits():
			c.paces = append(c.paces, s)
		default:
			c.rates = append(c.rates, s)
		}
		c.rateCallers = addCaller(c.rateCallers, fr.r.Origin)
	}
	params := byID(was.params)
	for _, pr := range m.param {
		s := carryParam(params(pr.r.ID), pr.r, r, set.paths[pr.r.ID], set.sharedParam(pr.r.ID), e)
		if s == nil {
			continue
		}
		switch pr.r.Mode {
		case paramflow.Concurrency:
			c.paramPlaces = append(c.paramPlaces, s)
		case paramflow.Pace:
			c.paramPaces = append(c.paramPaces, s)
		default:
			c.paramRates = append(c.paramRates, s)
		}
		c.paramCallers = addCaller(c.paramCallers, pr.r.Origin)
	}
	c.params = slices.Concat(c.paramPlaces, c.paramRates, c.paramPaces)
	for _, s := range slices.Concat(c.bulkheads, c.queues) {
		if s.always() {
			c.always = append(c.always, s.bulkhead)
		}
	}
	retire(was, c)
	r.account(was, c)
	t.hold(c)
	return t
}

// hold makes the table plain if the checks allow it.
func (t *table) hold(c *checks) {
	plain := len(c.authority)+len(c.queues)+len(c.paces)+len(c.params)+len(c.feeds)+len(t.res.eng.cfg.checkers) == 0 &&
		len(c.breakers) <= 2 && len(c.bulkheads) <= 1 && len(c.rates) <= 1
	for _, s := range c.breakers {
		plain = plain && !s.rule.Shadow
	}
	for _, s := range c.bulkheads {
		plain = plain && s.always()
	}
	for _, s := range c.rates {
		plain = plain && !s.rule.Shadow && s.unconditional()
	}
	if !plain {
		t.lists = c
		if len(c.breakers)+len(c.bulkheads)+len(c.rates)+len(c.queues)+len(c.paces)+len(c.feeds)+len(t.res.eng.cfg.checkers) == 0 &&
			len(c.params) == 1 && len(c.paramRates) == 1 {
			c.byValue = c.paramRates[0]
		}
		return
	}
	t.plain = true
	if len(c.breakers) > 0 {
		t.breaker0 = c.breakers[0]
	}
	if len(c.breakers) > 1 {
		t.breaker1 = c.breakers[1]
	}
	if len(c.bulkheads) > 0 {
		t.bulkhead = c.bulkheads[0]
	}
	if len(c.rates) > 0 {
		t.rate = c.rates[0]
	}
}

// checks returns the table's checks as lists, for everything but calls.
func (t *table) checks() *checks {
	if t == nil {
		return &checks{}
	}
	if t.lists != nil {
		return t.lists
	}
	c := &checks{}
	if t.breaker0 != nil {
		c.breakers = append(c.breakers, t.breaker0)
	}
	if t.breaker1 != nil {
		c.breakers = append(c.breakers, t.breaker1)
	}
	if t.bulkhead != nil {
		c.bulkheads = append(c.bulkheads, t.bulkhead)
	}
	if t.rate != nil {
		c.rates = append(c.rates, t.rate)
	}
	return c
}

// idle reports whether every state is as good as new, so that the table may be dropped.
func (t *table) idle(now time.Duration) bool {
	c := t.checks()
	for _, s := range c.breakers {
		if s.own && !s.breaker.Idle(now) {
			return false
		}
	}
	for _, s := range slices.Concat(c.bulkheads, c.queues) {
		if !s.idle() {
			return false
		}
	}
	for _, s := range slices.Concat(c.rates, c.paces) {
		if !s.idle(now) {
			return false
		}
	}
	for _, s := range c.params {
		if !s.idle(now) {
			return false
		}
	}
	return true
}

// tallies returns what is counted for each rule.
func (c *checks) tallies() []*tally {
	var all []*tally
	for _, s := range c.authority {
		all = append(all, s.tally)
	}
	for _, s := range c.breakers {
		all = append(all, s.tally)
	}
	for _, s := range slices.Concat(c.bulkheads, c.queues) {
		all = append(all, s.tally)
	}
	for _, s := range slices.Concat(c.rates, c.paces) {
		all = append(all, s.tally)
	}
	for _, s := range c.params {
		all = append(all, s.tally)
	}
	return all
}

// account keeps the counts of rules that apply no longer. Caller holds the resource's lock.
func (r *resource) account(old, now *checks) {
	kept := among(now.tallies())
	for _, o := range old.tallies() {
		if kept(o) {
			continue
		}
		if r.gone == nil {
			r.gone = new([kinds]refusalCounts)
		}
		r.gone[o.kind].blocked += o.blocked.Load()
		r.gone[o.kind].shadowed += o.shadowed.Load()
	}
}

// state is what the states of all kinds have in common.
type state interface{ ruleID() string }

// fewStates is up to how many states are looked through one by one.
const fewStates = 16

// byID returns a function that finds the state of the rule of an id in the lists; it returns the zero S if there is none.
func byID[S state](lists ...[]S) func(id string) S {
	all := slices.Concat(lists...)
	if len(all) > fewStates {
		of := make(map[string]S, len(all))
		for _, s := range all {
			of[s.ruleID()] = s
		}
		return func(id string) S { return of[id] }
	}
	return func(id string) S {
		for _, s := range all {
			if s.ruleID() == id {
				return s
			}
		}
		var none S
		return none
	}
}

// among returns a function that reports whether something is in the list.
func among[T comparable](list []T) func(T) bool {
	if len(list) <= fewStates {
		return func(x T) bool { return slices.Contains(list, x) }
	}
	in := make(map[T]bool, len(list))
	for _, x := range list {
		in[x] = true
	}
	return func(x T) bool { return in[x] }
}

// retire lets the calls go that wait at the resource's own bulkheads which no rule has any more. A bulkhead may have a queue though
// its rule lets nobody wait: those who came before it was edited.
func retire(old, now *checks) {
	var places []bulkheadPlaces
	for _, s := range slices.Concat(now.bulkheads, now.queues) {
		places = append(places, s.bulkheadPlaces)
	}
	kept := among(places)
	for _, o := range slices.Concat(old.bulkheads, old.queues) {
		if o.own && !kept(o.bulkheadPlaces) {
			o.open()
		}
	}
}

// waited reports whether calls wait, or may come to, whom nobody but an edit of the rules might wake.
func (t *table) waited() bool {
	if t == nil {
		return false
	}
	if t.plain {
		return t.bulkhead != nil && t.bulkhead.queued() > 0
	}
	return t.lists != nil && (len(t.lists.queues) > 0 ||
		slices.ContainsFunc(t.lists.bulkheads, func(s *bulkheadState) bool { return s.queued() > 0 }))
}

// The origins that are not the name of a caller, as Sentinel has them.
const (
	originDefault = "default"
	originOther   = "other"
)

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
