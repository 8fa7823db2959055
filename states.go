package cordon

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
)

// tally is what is counted and kept per rule and resource. It outlives edits of the rule.
type tally struct {
	kind         Kind
	id, resource string
	blocked      atomic.Int64
	shadowed     atomic.Int64
	refusals     refusals
}

func (t *tally) ruleID() string { return t.id }

// refused returns the error for a refusal: the one kept, or a new one.
func (t *tally) refused(retryAfter time.Duration, limit float64, cause error, observed float64) *BlockedError {
	if b := t.refusals.find(retryAfter, limit); b != nil {
		return b
	}
	return t.refusals.keep(&BlockedError{
		Kind: t.kind, RuleID: t.id, Resource: t.resource, Limit: limit, Observed: observed, cause: cause,
	}, retryAfter)
}

// carried returns the tally of a rule that goes on with an edit, or a new one.
func carried(prev *tally, kind Kind, id, resource string) *tally {
	if prev == nil {
		return &tally{kind: kind, id: id, resource: resource}
	}
	prev.refusals.forget()
	return prev
}

// breakerState is a breaker rule on one resource.
type breakerState struct {
	*tally
	rule    breaker.Rule
	breaker *breaker.Breaker
	// shadow is the rule's Shadow as the breaker's events see it.
	shadow *atomic.Bool
	// own is false where the breaker is that of all the rule's resources.
	own bool
}

// carryBreaker returns the state of a rule on a resource: prev if nothing changed, or one that goes on from prev, or a new one. shared is the
// state of a rule with one breaker for all its resources, nil for others.
func carryBreaker(prev *breakerState, r breaker.Rule, resource string, shared *breakerState, e *Engine) *breakerState {
	if prev != nil && prev.rule.Equal(r) && (shared == nil || shared.breaker == prev.breaker) {
		return prev
	}
	s := &breakerState{rule: r, own: shared == nil}
	if prev == nil {
		s.tally = carried(nil, KindBreaker, r.ID, resource)
	} else {
		s.tally = carried(prev.tally, KindBreaker, r.ID, resource)
	}
	switch {
	case shared != nil:
		s.breaker, s.shadow = shared.breaker, shared.shadow
	case prev != nil && prev.own:
		s.breaker, s.shadow = prev.breaker, prev.shadow
		s.shadow.Store(r.Shadow)
		kept, err := s.breaker.Update(r, e.clock.Now())
		e.carriedOver(s.tally, kept, err)
	default:
		s.shadow = new(atomic.Bool)
		s.shadow.Store(r.Shadow)
		var err error
		s.breaker, err = breaker.New(r, e.clock.Now(), e.onTransition(s.tally, s.shadow))
		if err != nil {
			e.unusable(s.tally, err)
			return nil
		}
	}
	return s
}

// onTransition returns what a breaker calls for its changes of state.
func (e *Engine) onTransition(t *tally, shadow *atomic.Bool) func(breaker.Transition) {
	return func(tr breaker.Transition) {
		t.refusals.forget() // what was observed is out of date
		e.notifyBreaker(BreakerEvent{
			Resource: t.resource, RuleID: t.id, Transition: tr, Time: e.clock.Wall(tr.At), Shadow: shadow.Load(),
		})
	}
}

// refuse returns the error for a call that the breaker refused.
func (s *breakerState) refuse(now, retryAfter time.Duration) *BlockedError {
	if b := s.refusals.find(retryAfter, s.rule.Threshold); b != nil {
		return b
	}
	last := s.breaker.Status(now).Last
	observed := float64(last.Failures)
	switch s.rule.Trip {
	case breaker.ErrorRatio:
		observed /= float64(max(last.Calls, 1))
	case breaker.SlowRatio:
		observed = float64(last.Slow) / float64(max(last.Calls, 1))
	}
	return s.refused(retryAfter, s.rule.Threshold, breaker.ErrOpen, observed)
}

// bulkheadState is a concurrency rule on one resource.
type bulkheadState struct {
	*tally
	rule     flow.ConcurrencyRule
	bulkhead *flow.Bulkhead           // nil if every caller has its own
	callers  *callers[*flow.Bulkhead] // for rules on the other callers
	own      bool                     // it is not that of all the rule's resources
}

// carryBulkhead is carryBreaker for concurrency rules.
func carryBulkhead(prev *bulkheadState, r flow.ConcurrencyRule, resource string, shared *bulkheadState, e *Engine) *bulkheadState {
	if prev != nil && prev.rule.Equal(r) && (shared == nil || shared.bulkhead == prev.bulkhead && shared.callers == prev.callers) {
		return prev
	}
	s := &bulkheadState{rule: r, own: shared == nil}
	if prev == nil {
		s.tally = carried(nil, KindConcurrency, r.ID, resource)
	} else {
		s.tally = carried(prev.tally, KindConcurrency, r.ID, resource)
	}
	var err error
	switch {
	case shared != nil:
		s.bulkhead, s.callers = shared.bulkhead, shared.callers
	case r.Origin == originOther:
		if prev != nil && prev.callers != nil && prev.own {
			s.callers = prev.callers
		} else {
			s.callers = newCallers(func(b *flow.Bulkhead, _ time.Duration) bool { return b.InFlight() == 0 && b.Queued() == 0 })
		}
		err = s.callers.update(
			func() (*flow.Bulkhead, error) { return flow.NewBulkhead(r, e.clock) },
			func(b *flow.Bulkhead) error { return b.Update(r) })
	case prev != nil && prev.bulkhead != nil && prev.own:
		s.bulkhead = prev.bulkhead
		err = s.bulkhead.Update(r)
	default:
		s.bulkhead, err = flow.NewBulkhead(r, e.clock)
	}
	if err != nil {
		e.unusable(s.tally, err)
		return nil
	}
	return s
}

func (s *bulkheadState) unconditional() bool {
	return s.bulkhead != nil && anyone(s.rule.Origin) && s.rule.Under == ""
}

// always reports whether every admitted call holds the bulkhead.
func (s *bulkheadState) always() bool { return s.unconditional() && !s.rule.Shadow }

// of returns the bulkhead that counts the call, or nil if the rule is not for it.
func (s *bulkheadState) of(c *caller, named []string) *flow.Bulkhead {
	if !concerns(s.rule.Origin, c.origin, named) || s.rule.Under != "" && s.rule.Under != c.entrance() {
		return nil
	}
	if s.callers != nil {
		return s.callers.get(c.origin, c.now)
	}
	return s.bulkhead
}

func (s *bulkheadState) refuse(b *flow.Bulkhead, cost int) *BlockedError {
	var retryAfter time.Duration
	if cost > s.rule.Limit {
		retryAfter = -1
	}
	limit := float64(s.rule.Limit)
	if b := s.refusals.find(retryAfter, limit); b != nil {
		return b
	}
	return s.refused(retryAfter, limit, flow.ErrSaturated, float64(b.InFlight()))
}

func (s *bulkheadState) idle() bool {
	switch {
	case !s.own:
		return true
	case s.callers != nil:
		return s.callers.idle(0)
	}
	return s.bulkhead.InFlight() == 0 && s.bulkhead.Queued() == 0
}

// open lets every waiting call go, since the rule is gone.
func (s *bulkheadState) open() {
	r := s.rule
	r.Limit = mostInFlight
	if s.bulkhead != nil {
		s.bulkhead.Update(r)
		return
	}
	s.callers.update(nil, func(b *flow.Bulkhead) error { return b.Update(r) })
}

// flowState is a rate rule on one resource.
type flowState struct {
	*tally
	rule    flow.Rule
	limiter *flow.Limiter           // nil if every caller has its own, or another resource counts
	callers *callers[*flow.Limiter] // for rules on the other callers
	gauge   *flow.Gauge             // for rules on another resource's traffic
	own     bool                    // the limiter is not that of all the rule's resources
}

// carryRate is carryBreaker for rate rules.
func carryRate(prev *flowState, r flow.Rule, resource string, set *ruleset, e *Engine) *flowState {
	gauge, shared := set.gauge(r.Related, interval(&r)), set.sharedFlow(r.ID)
	if prev != nil && prev.rule.Equal(r) && prev.gauge == gauge &&
		(shared == nil || shared.limiter == prev.limiter && shared.callers == prev.callers) {
		return prev
	}
	s := &flowState{rule: r, own: shared == nil}
	if prev == nil {
		s.tally = carried(nil, KindFlow, r.ID, resource)
	} else {
		s.tally = carried(prev.tally, KindFlow, r.ID, resource)
	}
	var err error
	kept := true
	now := e.clock.Now()
	switch {
	case gauge != nil:
		s.gauge = gauge
	case shared != nil:
		s.limiter, s.callers = shared.limiter, shared.callers
	case r.Origin == originOther:
		if prev != nil && prev.callers != nil && prev.own {
			s.callers = prev.callers
		} else {
			s.callers = newCallers((*flow.Limiter).Idle)
		}
		err = s.callers.update(
			func() (*flow.Limiter, error) { return flow.NewLimiter(r, e.clock.Now()) },
			func(l *flow.Limiter) error {
				k, err := l.Update(r, now)
				kept = kept && k
				return err
			})
	case prev != nil && prev.limiter != nil && prev.own:
		s.limiter = prev.limiter
		kept, err = s.limiter.Update(r, now)
	default:
		s.limiter, err = flow.NewLimiter(r, now)
	}
	if err != nil {
		e.unusable(s.tally, err)
		return nil
	}
	e.carriedOver(s.tally, kept, nil)
	return s
}

func (s *flowState) unconditional() bool {
	return s.limiter != nil && anyone(s.rule.Origin) && s.rule.Under == ""
}

func (s *flowState) waits() bool { return s.rule.Mode == flow.Pace || s.rule.Mode == flow.WarmUpPace }

// moving reports whether the limit is not always the rule's.
func (s *flowState) moving() bool {
	return s.rule.Mode == flow.WarmUp || s.rule.Mode == flow.WarmUpPace || s.rule.Memory != (flow.Memory{})
}

// of returns the limiter that counts the call, or nil if the rule is not for it.
func (s *flowState) of(c *caller, named []string) *flow.Limiter {
	if !concerns(s.rule.Origin, c.origin, named) || s.rule.Under != "" && s.rule.Under != c.entrance() {
		return nil
	}
	if s.callers != nil {
		return s.callers.get(c.origin, c.now)
	}
	return s.limiter
}

// refuse returns the error for a call that l refused.
func (s *flowState) refuse(l *flow.Limiter, now, retryAfter time.Duration) *BlockedError {
	limit := s.rule.Limit
	if s.moving() {
		limit = l.Limit(now)
	}
	if b := s.refusals.find(retryAfter, limit); b != nil {
		return b
	}
	return s.refused(retryAfter, limit, flow.ErrLimited, l.Usage(now))
}

// refuseRelated returns the error for a call refused for another resource's traffic.
func (s *flowState) refuseRelated(passed float64) *BlockedError {
	return s.refused(0, s.rule.Limit, flow.ErrLimited, passed)
}

func (s *flowState) idle(now time.Duration) bool {
	switch {
	case !s.own || s.gauge != nil:
		return true
	case s.callers != nil:
		return s.callers.idle(now)
	}
	return s.limiter.Idle(now)
}

// carriedOver reports an edit that could not carry over what was counted.
func (e *Engine) carriedOver(t *tally, kept bool, err error) {
	if err != nil {
		e.unusable(t, err)
	} else if !kept {
		e.log.warn("an edit of the rule starts its counts afresh", "kind", t.kind, "rule", t.id, "resource", t.resource)
	}
}

// unusable reports a rule that passed validation and yet cannot be used: a fault of cordon's own.
func (e *Engine) unusable(t *tally, err error) {
	e.faults.Add(1)
	e.log.warn("internal fault", "where", fmt.Sprintf("%s rule %q", t.kind, t.id), "resource", t.resource, "error", err)
}

// mostCallers bounds the callers of one rule on one resource that have a budget of their own.
const mostCallers = 1000

// callers holds one state for each caller of a rule on the "other" callers. When there are too many in use, the further ones share one.
type callers[T comparable] struct {
	unused func(T, time.Duration) bool

	// mu guards what follows.
	mu    sync.Mutex
	of    map[string]T
	make  func() (T, error)
	extra T
	// tidied is when those not in use were last dropped.
	tidied time.Duration
}

func newCallers[T comparable](unused func(T, time.Duration) bool) *callers[T] {
	return &callers[T]{unused: unused, of: map[string]T{}}
}

// get returns the state of a caller.
func (c *callers[T]) get(origin string, now time.Duration) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	var none T
	if s, ok := c.of[origin]; ok {
		return s
	}
	if len(c.of) >= mostCallers && now-c.tidied >= time.Second {
		c.tidied = now
		for o, s := range c.of {
			if c.unused(s, now) {
				delete(c.of, o)
			}
		}
	}
	if len(c.of) >= mostCallers && c.extra != none {
		return c.extra
	}
	s, err := c.make()
	if err != nil {
		return none
	}
	if len(c.of) >= mostCallers {
		c.extra = s
	} else {
		c.of[origin] = s
	}
	return s
}

// update makes further states by make (if not nil), and puts those that are there through edit.
func (c *callers[T]) update(make func() (T, error), edit func(T) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var none T
	if make != nil {
		c.make = make
		if _, err := make(); err != nil {
			return err
		}
	}
	for _, s := range c.of {
		if err := edit(s); err != nil {
			return err
		}
	}
	if c.extra != none {
		return edit(c.extra)
	}
	return nil
}

// idle reports whether no caller's state is in use.
func (c *callers[T]) idle(now time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.of {
		if !c.unused(s, now) {
			return false
		}
	}
	var none T
	return c.extra == none || c.unused(c.extra, now)
}

// all returns every caller's state.
func (c *callers[T]) all() []T {
	c.mu.Lock()
	defer c.mu.Unlock()
	states := make([]T, 0, len(c.of)+1)
	for _, s := range c.of {
		states = append(states, s)
	}
	var none T
	if c.extra != none {
		states = append(states, c.extra)
	}
	return states
}

// mostInFlight is the highest limit a concurrency rule can have.
const mostInFlight = 10_000_000
