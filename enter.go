package cordon

import (
	"context"
	"errors"
	"time"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/system"
)

// Request describes a call that wants to enter.
type Request struct {
	// Resource names what is called. It may hold any bytes; the empty name is a resource like any other.
	Resource string
	// Cost is what the call counts against limits; 0 means 1, and more than 1,073,741,823 counts as that. A negative cost is ErrInvalidCost.
	Cost int
	// Args are the call's arguments, for checkers and for rules that look into them.
	Args []any
	// Carrier gives what the call carries beside its arguments (headers, a body, the peer's address), for rules that look into it; nil if it carries nothing.
	// Adapters bring their own; Values is one for code. It is used only during Enter.
	Carrier extractor.Carrier
	// Method says how the resource is called ("GET", a gRPC method), for rules that look at it; "" if that says nothing.
	Method string
	// Origin names the caller, for rules by origin.
	Origin string
	// Under names the entrance the call came in by, for rules that ask; default: the one in the context (WithEntrance).
	Under string
	// Inbound marks a call that others make to this process, as opposed to one that this process makes.
	Inbound bool
	// Classify overrides the engine's classifier for this call.
	Classify Classifier
	// Cancelable keeps what Entry.Cancel gives back, at the cost of an allocation: for a call that something else may still refuse, as when it is one of several resources.
	Cancelable bool
	// Part asks only parts of the checks; 0 asks all. The entry of the part with PartAtOnce is the call, as that of a whole one is: it is counted, and its end is judged. Entries of other
	// parts hold what their rules hold, and count nothing when they end. Each entry is ended once. A call that a later part refuses, or that gave up in it, has passed before
	// and is ended by who made it, best as Ignored. Checkers are asked with PartAtOnce.
	Part Part
}

func normalCost(cost int) int {
	if cost == 0 {
		return 1
	}
	return min(cost, maxCost)
}

// Enter asks to make a call. A nil error admits it: the entry must be ended once, by Exit or End. Otherwise the entry
// holds nothing (ending it is harmless) and the error is a *BlockedError, the context's error when the caller gave up while
// waiting or had before, or ErrInvalidCost. A nil ctx counts as context.Background().
func (e *Engine) Enter(ctx context.Context, req Request) (Entry, error) {
	if req.Cost < 0 {
		return Entry{}, ErrInvalidCost
	}
	if req.Part > PartAtOnce && req.Part&PartAtOnce == 0 {
		return e.enterRest(ctx, normalCost(req.Cost), &req)
	}
	return e.resources.get(req.Resource).enter(ctx, uint32(normalCost(req.Cost)), &req, 0)
}

// enter is Enter on a resource; req is nil for a plain call. state is the call's cost, and inSystem if system rules have counted it at now; else now is of no meaning.
func (r *resource) enter(ctx context.Context, state uint32, req *Request, now time.Duration) (Entry, error) {
	if r == nil { // the zero handle
		return Entry{}, nil
	}
	t := r.table.Load()
	if t == nil || t.version != r.eng.version.Load() {
		if t = r.compile(); t == nil {
			return r.enterAnew(ctx, state, req)
		}
	}
	if !t.plain {
		return t.enterLists(ctx, state, req)
	}
	cost := int(state)
	if state < inSystem {
		if s := r.eng.system; s != nil {
			now = s.Now()
		} else {
			now = r.eng.clock.Now()
		}
		if req != nil && req.Inbound {
			if g := r.eng.guarding.Load(); g != nil {
				return t.enterGuarded(g, ctx, now, cost, req)
			}
		}
	} else {
		cost = int(state &^ inSystem)
	}
	var p0, p1 breaker.Permit
	if s := t.breaker0; s != nil {
		var retryAfter time.Duration
		var ok bool
		if p0, ok = s.breaker.AcquireClosed(); !ok {
			if p0, retryAfter, ok = s.breaker.Acquire(now); !ok {
				return Entry{}, t.refuse(s.tally, s.refuse(now, retryAfter), req, state)
			}
		}
		if s := t.breaker1; s != nil {
			if p1, retryAfter, ok = s.breaker.Acquire(now); !ok {
				t.giveBack(now, 0, p0, 0)
				return Entry{}, t.refuse(s.tally, s.refuse(now, retryAfter), req, state)
			}
		}
	}
	if s := t.bulkhead; s != nil && !s.bulkhead.TryAcquire(cost) {
		t.giveBack(now, 0, p0, p1)
		return Entry{}, t.refuse(s.tally, s.refuse(s.bulkhead, cost), req, state)
	}
	var taken flow.Permit
	if s := t.rate; s != nil {
		var retryAfter time.Duration
		var ok bool
		if taken, _, retryAfter, ok = s.limiter.Acquire(now, cost); !ok {
			if t.breaker0 != nil || t.bulkhead != nil {
				t.giveBack(now, cost, p0, p1)
			}
			b := s.refusals.again(retryAfter)
			if b == nil || s.limiter.Moves() {
				b = s.refuse(s.limiter, now, retryAfter)
			}
			s.blocked.Add(1) // as t.refuse does, without the call
			if len(r.eng.blockObservers) > 0 && state < inSystem {
				t.tellRefused(b, req)
			}
			return Entry{}, b
		}
	}
	// A caller that has given up before is rare, so that is looked for last, where a refused call does not pay for it.
	if ctx != nil && ctx.Done() != nil {
		if err := ctx.Err(); err != nil {
			if t.rate != nil {
				t.rate.limiter.Cancel(now, taken)
			}
			t.giveBack(now, cost, p0, p1)
			return t.giveUp(err)
		}
	}
	r.passed.Add(1)
	if req != nil && (req.Classify != nil || req.Cancelable) {
		u := &unusual{classify: req.Classify}
		if req.Cancelable {
			u.back = &hold{}
			if t.rate != nil {
				u.back.addRate(t.rate.limiter, taken)
			}
		}
		t = t.carrying(u)
	}
	return Entry{table: t, start: now, permits: pack(p0, p1), state: state}, nil
}

// enterLists is enter for a table that is not plain.
func (t *table) enterLists(ctx context.Context, state uint32, req *Request) (Entry, error) {
	if state >= inSystem { // it was plain when system rules counted the call: they are among the lists
		return Entry{}, errOtherTable
	}
	if ctx == nil {
		ctx = context.Background()
	}
	if err := ctx.Err(); err != nil {
		return t.giveUp(err)
	}
	return t.enterAny(ctx, int(state), req)
}

// errOtherTable says that the resource's table has changed while a call was on its way in.
var errOtherTable = errors.New("another table")

// enterGuarded is enter for inbound calls on plain tables when there are system rules.
func (t *table) enterGuarded(g *system.Guard, ctx context.Context, now time.Duration, cost int, req *Request) (Entry, error) {
	r := t.res
	place, ref, ok := g.Enter(now, cost)
	if !ok {
		s := r.systemTally(ref.Rule)
		return Entry{}, t.refuse(s.tally, s.refuse(ref), req, 0)
	}
	if place.Doubted() {
		r.tellAlone(place, cost, req.Origin)
	}
	var ent Entry
	var err error
	if len(r.eng.cfg.observers) == 0 {
		ent, err = r.enter(ctx, uint32(cost)|inSystem, req, now)
	} else {
		ent, err = r.enterObserved(ctx, now, cost, req, place)
	}
	if err == nil {
		if u := ent.table.unusual; u != nil && u.back != nil {
			u.back.counted, u.back.place = inSystem, place
		}
		return ent, nil
	}
	r.eng.overload.Cancel(cost, place)
	if err == errOtherTable {
		return r.enter(ctx, uint32(cost), req, 0)
	}
	if b, ok := err.(*BlockedError); ok && len(r.eng.blockObservers) > 0 {
		t.tellRefused(b, req)
	}
	return Entry{}, err
}

// enterObserved is enter for a call that system rules count and that observers may be told of: one of them may end the goroutine.
func (r *resource) enterObserved(ctx context.Context, now time.Duration, cost int, req *Request, place system.Permit) (Entry, error) {
	returned := false
	defer func() {
		if !returned {
			r.eng.overload.Cancel(cost, place)
		}
	}()
	ent, err := r.enter(ctx, uint32(cost)|inSystem, req, now)
	returned = true
	return ent, err
}

// enterAnew is enter for a resource that was dropped meanwhile, or is a handle's name beyond the bound: it looks the name up.
func (r *resource) enterAnew(ctx context.Context, state uint32, req *Request) (Entry, error) {
	if state >= inSystem {
		return Entry{}, errOtherTable
	}
	if req == nil {
		req = &Request{Resource: r.name}
	}
	return r.eng.resources.get(r.name).enter(ctx, state, req, 0)
}

// giveUp counts a caller that gave up while it waited, or had before.
func (t *table) giveUp(err error) (Entry, error) {
	if !t.closed {
		t.res.gaveUp.Add(1)
	}
	return Entry{}, err
}

// giveBack undoes what enter reserved of a plain table: the breakers' permits, and cost places of the bulkhead.
func (t *table) giveBack(now time.Duration, cost int, p0, p1 breaker.Permit) {
	if t.breaker0 != nil {
		t.breaker0.breaker.Cancel(now, p0)
	}
	if t.breaker1 != nil && p1 != 0 {
		t.breaker1.breaker.Cancel(now, p1)
	}
	if t.bulkhead != nil && cost > 0 {
		t.bulkhead.bulkhead.Release(cost)
	}
}

// refuse counts a refusal and tells the observers; of a call that system rules count they are told when it has given that place back too.
func (t *table) refuse(s *tally, b *BlockedError, req *Request, state uint32) error {
	s.blocked.Add(1)
	if len(t.res.eng.blockObservers) > 0 && state < inSystem {
		t.tellRefused(b, req)
	}
	return b
}

// tellRefused tells the observers of a refusal.
func (t *table) tellRefused(b *BlockedError, req *Request) {
	origin := ""
	if req != nil {
		origin = req.Origin
	}
	t.res.eng.notifyBlock(b, origin, false, refusedValue{})
}

// caller is what conditions of rules look at.
type caller struct {
	ctx    context.Context
	origin string
	under  string
	now    time.Duration
	// refused is the value that a rule on hot parameters refused.
	refused refusedValue
}

// entrance returns the entrance that the call came in by.
func (c *caller) entrance() string {
	if c.under != "" {
		return c.under
	}
	name, _ := c.ctx.Value(entranceKey{}).(string)
	return name
}

// hold is what a call on its way in has reserved so far.
type hold struct {
	permits [2]breaker.Permit
	// Whatever is beyond the usual is kept in slices, which a call with conditions or many rules pays for.
	morePermits []breaker.Permit
	breakers    int
	always      int // of checks.always, how many
	bulkheads   []*flow.Bulkhead
	rates       [4]heldRate
	moreRates   []heldRate
	nRates      int
	checked     *CheckedCall
	admittedBy  []Checker
	params      *paramCall // nil until a rule on hot parameters is asked
	counted     uint32     // inSystem, if system rules count the call; then place is what it holds of them
	place       system.Permit
	apart       bool // only parts of the checks are made: bulkheads holds all that are held
}

type heldRate struct {
	limiter *flow.Limiter
	permit  flow.Permit
}

func (h *hold) addPermit(p breaker.Permit) {
	if h.breakers < len(h.permits) {
		h.permits[h.breakers] = p
	} else {
		h.morePermits = append(h.morePermits, p)
	}
	h.breakers++
}

func (h *hold) permit(i int) breaker.Permit {
	if i < len(h.permits) {
		return h.permits[i]
	}
	return h.morePermits[i-len(h.permits)]
}

func (h *hold) addBulkhead(s *bulkheadState, b *flow.Bulkhead) {
	if s.always() && !h.apart {
		h.always++
	} else {
		h.bulkheads = append(h.bulkheads, b)
	}
}

func (h *hold) addRate(l *flow.Limiter, p flow.Permit) {
	if h.nRates < len(h.rates) {
		h.rates[h.nRates] = heldRate{l, p}
		h.nRates++
	} else {
		h.moreRates = append(h.moreRates, heldRate{l, p})
	}
}

// enterAny is the way in for tables with anything that enter does not know.
func (t *table) enterAny(ctx context.Context, cost int, req *Request) (Entry, error) {
	if t.closed {
		return Entry{}, nil
	}
	c := caller{ctx: ctx, now: t.res.eng.clock.Now()}
	if req != nil {
		c.origin, c.under = req.Origin, req.Under
	}
	var ent Entry
	var err error
	if len(t.lists.authority) > 0 && partOf(req)&PartAtOnce != 0 {
		err = t.authorize(&c)
	}
	switch s := t.lists.byValue; {
	case err != nil:
	case s != nil && partOf(req) == allParts && !cancelable(req) && !t.res.eng.guards(req):
		ent, err = t.admitByValue(s, &c, cost, req)
	default:
		ent, err = t.admit(&c, cost, req)
	}
	if b, ok := err.(*BlockedError); ok {
		t.res.eng.notifyBlock(b, c.origin, false, c.refused)
	}
	if len(t.lists.params) > 0 {
		t.lookAtPressure(&c)
	}
	return ent, err
}

// admit makes all checks of a table that is not plain. A call that is not admitted holds nothing when it returns.
func (t *table) admit(c *caller, cost int, req *Request) (Entry, error) {
	var h hold
	admitted, returned := false, false
	defer func() {
		if !admitted { // or something handed to the engine ended the goroutine
			t.undo(&h, c.now, cost)
		}
		if returned {
			t.res.eng.putParamCall(h.params)
		}
	}()
	err := t.reserve(c, &h, cost, req)
	returned = true
	if err != nil {
		return Entry{}, err
	}
	admitted = true
	rest := partOf(req)&PartAtOnce == 0
	flights := h.params.flying()
	if rest && len(h.bulkheads)+flights == 0 && !cancelable(req) {
		return Entry{}, nil
	}
	if !rest {
		t.res.passed.Add(1)
		for _, g := range t.lists.feeds {
			g.passes.Add(c.now, cost)
		}
	}
	if h.apart || cancelable(req) || len(h.morePermits) > 0 || len(h.bulkheads) > 0 || h.checked != nil || flights > 0 || req != nil && req.Classify != nil {
		u := newUnusual(h.params, flights)
		u.permits, u.bulkheads, u.checked, u.admittedBy = h.morePermits, h.bulkheads, h.checked, h.admittedBy
		u.apart, u.rest = h.apart, rest
		if cancelable(req) {
			u.back = h.keep()
		}
		if req != nil {
			u.classify = req.Classify
		}
		t = t.carrying(u)
	}
	return Entry{table: t, start: c.now, permits: pack(h.permits[0], h.permits[1]), state: uint32(cost) | h.counted}, nil
}

// reserve asks every check in order. What it reserved before an error is in h.
func (t *table) reserve(c *caller, h *hold, cost int, req *Request) error {
	parts := partOf(req)
	h.apart = parts != allParts
	if parts&PartAtOnce != 0 {
		if err := t.reserveSystem(c, h, cost, req); err != nil {
			return err
		}
		if err := t.reserveAtOnce(c, h, cost); err != nil {
			return err
		}
	}
	for _, s := range t.lists.paramPlaces {
		if parts.has(s) {
			if err := t.reserveParam(s, c, &h.params, cost, req); err != nil {
				return err
			}
		}
	}
	if parts&PartAtOnce != 0 {
		for _, s := range t.lists.rates {
			if err := t.reserveRate(s, c, h, cost); err != nil {
				return err
			}
		}
	}
	for _, s := range t.lists.paramRates {
		if parts.has(s) {
			if err := t.reserveParam(s, c, &h.params, cost, req); err != nil {
				return err
			}
		}
	}
	if parts&PartAtOnce != 0 {
		if err := t.reserveCheckers(c, h, req); err != nil {
			return err
		}
	}
	return t.wait(c, h, cost, req)
}

// reserveAtOnce asks breakers and concurrency.
func (t *table) reserveAtOnce(c *caller, h *hold, cost int) error {
	for _, s := range t.lists.breakers {
		p, retryAfter, ok := s.breaker.Acquire(c.now)
		if !ok {
			if err := t.refuseAny(s.tally, s.refuse(c.now, retryAfter), c, s.rule.Shadow); err != nil {
				return err
			}
		}
		h.addPermit(p)
	}
	for _, s := range t.lists.bulkheads {
		b := s.of(c, t.lists.bulkheadCallers)
		if b == nil {
			continue
		}
		if b.TryAcquire(cost) {
			h.addBulkhead(s, b)
		} else if err := t.refuseAny(s.tally, s.refuse(b, cost), c, s.rule.Shadow); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) reserveRate(s *flowState, c *caller, h *hold, cost int) error {
	if s.gauge != nil {
		if !concerns(s.rule.Origin, c.origin, t.lists.rateCallers) || s.rule.Under != "" && s.rule.Under != c.entrance() {
			return nil
		}
		if passed := float64(s.gauge.Count(c.now)); passed+float64(cost) > s.rule.Limit {
			return t.refuseAny(s.tally, s.refuseRelated(passed), c, s.rule.Shadow)
		}
		return nil
	}
	l := s.of(c, t.lists.rateCallers)
	if l == nil {
		return nil
	}
	p, _, retryAfter, ok := l.Acquire(c.now, cost)
	if !ok {
		return t.refuseAny(s.tally, s.refuse(l, c.now, retryAfter), c, s.rule.Shadow)
	}
	h.addRate(l, p)
	return nil
}

// wait asks the checks that may wait: first the queues, then the pacing rules, whose turns pass together.
func (t *table) wait(c *caller, h *hold, cost int, req *Request) error {
	parts := partOf(req)
	var turn time.Duration
	if parts&PartWaiting != 0 {
		if err := t.queue(c, h, cost); err != nil {
			return err
		}
		var err error
		if turn, err = t.pace(c, h, cost); err != nil {
			return err
		}
	}
	for _, s := range t.lists.paramPaces {
		if parts.has(s) {
			if err := t.reserveParam(s, c, &h.params, cost, req); err != nil {
				return err
			}
		}
	}
	turn = max(turn, h.params.wait(c.now))
	if turn <= 0 {
		return nil
	}
	e := t.res.eng
	err := e.sleep(c.ctx, turn)
	c.now = e.clock.Now()
	if err != nil {
		t.giveUp(err)
	}
	return err
}

// queue asks concurrency with a queue.
func (t *table) queue(c *caller, h *hold, cost int) error {
	e := t.res.eng
	for _, s := range t.lists.queues {
		b := s.of(c, t.lists.bulkheadCallers)
		if b == nil {
			continue
		}
		var err error
		if s.rule.Shadow {
			if !b.TryAcquire(cost) {
				err = flow.ErrSaturated
			}
		} else if !b.TryAcquire(cost) {
			err = b.Acquire(c.ctx, cost)
			c.now = e.clock.Now()
		}
		switch {
		case err == nil:
			h.addBulkhead(s, b)
		case errors.Is(err, flow.ErrSaturated):
			if err := t.refuseAny(s.tally, s.refuse(b, cost), c, s.rule.Shadow); err != nil {
				return err
			}
		default:
			t.giveUp(err)
			return err
		}
	}
	return nil
}

// pace asks the pacing rules, and returns when the last turn comes, from now on.
func (t *table) pace(c *caller, h *hold, cost int) (turn time.Duration, err error) {
	for _, s := range t.lists.paces {
		l := s.of(c, t.lists.rateCallers)
		if l == nil {
			continue
		}
		p, wait, retryAfter, ok := l.Acquire(c.now, cost)
		if !ok {
			if err := t.refuseAny(s.tally, s.refuse(l, c.now, retryAfter), c, s.rule.Shadow); err != nil {
				return 0, err
			}
			continue
		}
		h.addRate(l, p)
		if !s.rule.Shadow {
			turn = max(turn, wait)
		}
	}
	return turn, nil
}

// refuseAny counts a refusal, which it returns, or what would have been one if the rule is in shadow: then it tells the observers and returns nil.
// They are told of a refusal when the call holds nothing any more.
func (t *table) refuseAny(s *tally, b *BlockedError, c *caller, shadow bool) error {
	if !shadow {
		s.blocked.Add(1)
		return b
	}
	s.shadowed.Add(1)
	t.res.eng.notifyBlock(b, c.origin, true, c.refused)
	c.refused = refusedValue{}
	return nil
}

// undo gives back all that h holds.
func (t *table) undo(h *hold, now time.Duration, cost int) {
	if h.counted != 0 {
		t.res.eng.overload.Cancel(cost, h.place)
	}
	for i := range h.breakers {
		t.lists.breakers[i].breaker.Cancel(now, h.permit(i))
	}
	for _, b := range t.lists.always[:h.always] {
		b.Release(cost)
	}
	for _, b := range h.bulkheads {
		b.Release(cost)
	}
	for i := range h.nRates {
		h.rates[i].limiter.Cancel(now, h.rates[i].permit)
	}
	for _, r := range h.moreRates {
		r.limiter.Cancel(now, r.permit)
	}
	if h.params != nil {
		h.params.cancelFrom(0, now)
	}
	if h.checked != nil {
		t.res.eng.checkersDone(h.admittedBy, h.checked, Ignored, 0, false)
	}
}
