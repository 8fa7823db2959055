package cordon

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
)

// tally is what is counted per rule and resource. It outlives edits of the rule.
type tally struct {
	res      *resource // nil for the state that several resources share
	kind     Kind
	shadow   atomic.Bool   // the rule's Shadow, as a breaker's events see it
	turns    atomic.Uint32 // how often the breaker that was made with this tally has changed its state
	blocked  atomic.Int64
	shadowed atomic.Int64
}

// newState is the state of a rule that is new on a resource, with its tally beside it: a call that looks at both then touches one
// page of memory instead of two.
type newState[S any] struct {
	state S
	tally
}

// resource returns the resource's name.
func (t *tally) resource() string {
	if t.res == nil {
		return sharedName
	}
	return t.res.name
}

// refusal returns the error for a refusal by the rule of that id.
func (t *tally) refusal(id string, limit, observed float64, cause error) *BlockedError {
	return &BlockedError{Kind: t.kind, RuleID: id, Resource: t.resource(), Limit: limit, Observed: observed, cause: cause}
}

// breakerState is a breaker rule on one resource.
type breakerState struct {
	*tally
	rule    *breaker.Rule
	breaker *breaker.Breaker
	// own is false where the breaker is that of all the rule's resources.
	own bool
	// made is the tally the breaker was made with, which counts its turns.
	made     *tally
	refusals refusals
}

func (s *breakerState) ruleID() string { return s.rule.ID }

// carryBreaker returns the state of a rule on a resource: prev if nothing changed, or one that goes on from prev, or a new one. shared is the
// state of a rule with one breaker for all its resources, nil for others.
func carryBreaker(prev *breakerState, r *breaker.Rule, res *resource, shared *breakerState, e *Engine) *breakerState {
	if prev != nil && same(prev.rule, r) && (shared == nil || shared.breaker == prev.breaker) {
		return prev
	}
	var s *breakerState
	if prev == nil {
		n := new(newState[breakerState])
		n.kind, n.res = KindBreaker, res
		s = &n.state
		s.tally = &n.tally
	} else {
		s = &breakerState{tally: prev.tally}
	}
	s.rule, s.own = r, shared == nil
	s.shadow.Store(r.Shadow)
	switch {
	case shared != nil:
		s.breaker, s.made = shared.breaker, shared.made
	case prev != nil && prev.own:
		s.breaker, s.made = prev.breaker, prev.made
		kept, err := s.breaker.Update(*r, e.clock.Now())
		e.carriedOver(s.tally, r.ID, kept, err)
	default:
		var err error
		s.made = s.tally
		s.breaker, err = breaker.New(*r, e.clock.Now(), e.onTransition(s.tally, r))
		if err != nil {
			e.unusable(s.tally, r.ID, err)
			return nil
		}
	}
	return s
}

// onTransition returns what the breaker of a rule, of whichever version, calls for its changes of state.
func (e *Engine) onTransition(t *tally, r *breaker.Rule) func(breaker.Transition) {
	return func(tr breaker.Transition) {
		t.turns.Add(1) // what refusals say was observed is out of date
		e.notifyBreaker(BreakerEvent{
			Resource: t.resource(), RuleID: r.ID, Transition: tr, Time: e.clock.Wall(tr.At), Shadow: t.shadow.Load(),
		})
	}
}

// refuse returns the error for a call that the breaker refused.
func (s *breakerState) refuse(now, retryAfter time.Duration) *BlockedError {
	turn := s.made.turns.Load() // before the status, so that an error is never kept for a later turn than its own
	if b := s.refusals.find(retryAfter); b != nil && b.turn == turn {
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
	b := s.refusal(s.rule.ID, s.rule.Threshold, observed, breaker.ErrOpen)
	b.turn = turn
	return s.refusals.keep(b, retryAfter)
}

// bulkheadState is a concurrency rule on one resource.
type bulkheadState struct {
	*tally
	rule *flow.ConcurrencyRule
	bulkheadPlaces
	own      bool // they are not those of all the rule's resources
	refusals refusals
}

// bulkheadPlaces are where a concurrency rule counts what is in flight.
type bulkheadPlaces struct {
	bulkhead *flow.Bulkhead           // nil if every caller has its own
	callers  *callers[*flow.Bulkhead] // for rules on the other callers
}

func (s *bulkheadState) ruleID() string { return s.rule.ID }

// carryBulkhead is carryBreaker for concurrency rules.
func carryBulkhead(prev *bulkheadState, r *flow.ConcurrencyRule, res *resource, shared *bulkheadState, e *Engine) *bulkheadState {
	if prev != nil && same(prev.rule, r) && (shared == nil || shared.bulkheadPlaces == prev.bulkheadPlaces) {
		return prev
	}
	var s *bulkheadState
	if prev == nil {
		n := new(newState[bulkheadState])
		n.kind, n.res = KindConcurrency, res
		s = &n.state
		s.tally = &n.tally
	} else {
		s = &bulkheadState{tally: prev.tally}
	}
	s.rule, s.own = r, shared == nil
	var err error
	switch {
	case shared != nil:
		s.bulkheadPlaces = shared.bulkheadPlaces
	case r.Origin == originOther:
		if prev != nil && prev.callers != nil && prev.own {
			s.callers = prev.callers
		} else {
			s.callers = newCallers(mostCallers, func(b *flow.Bulkhead, _ time.Duration) bool { return b.InFlight() == 0 && b.Queued() == 0 })
		}
		err = s.callers.update(
			func() (*flow.Bulkhead, error) { return flow.NewBulkhead(*r, e.clock) },
			func(b *flow.Bulkhead) error { return b.Update(*r) })
	case prev != nil && prev.bulkhead != nil && prev.own:
		s.bulkhead = prev.bulkhead
		err = s.bulkhead.Update(*r)
	default:
		s.bulkhead, err = flow.NewBulkhead(*r, e.clock)
	}
	if err != nil {
		e.unusable(s.tally, r.ID, err)
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
	if b := s.refusals.find(retryAfter); b != nil {
		return b
	}
	return s.refusals.keep(s.refusal(s.rule.ID, float64(s.rule.Limit), float64(b.InFlight()), flow.ErrSaturated), retryAfter)
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

// queued returns how many calls wait.
func (s *bulkheadState) queued() (n int) {
	if s.callers == nil {
		return s.bulkhead.Queued()
	}
	for _, b := range s.callers.all() {
		n += b.Queued()
	}
	return n
}

// open lets every waiting call go, since the rule is gone.
func (s *bulkheadState) open() {
	r := *s.rule
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
	rule    *flow.Rule
	limiter *flow.Limiter           // nil if every caller has its own, or another resource counts
	callers *callers[*flow.Limiter] // for rules on the other callers
	gauge   *flow.Gauge             // for rules on another resource's traffic

	refusals refusals
}

// own reports whether the limiter is not that of all the rule's resources. (The state that those share belongs to none of them.)
func (s *flowState) own() bool { return !s.rule.Shared || s.res == nil }

func (s *flowState) ruleID() string { return s.rule.ID }

// carryRate is carryBreaker for rate rules.
func carryRate(prev *flowState, r *flow.Rule, res *resource, set *ruleset, e *Engine) *flowState {
	gauge, shared := set.gauge(r.Related, interval(r)), set.sharedFlow(r.ID)
	if prev != nil && same(prev.rule, r) && prev.gauge == gauge &&
		(shared == nil || shared.limiter == prev.limiter && shared.callers == prev.callers) {
		return prev
	}
	var s *flowState
	var own *flow.Limiter
	if prev == nil {
		n := new(struct {
			newState[flowState]
			flow.Limiter
		})
		n.kind, n.res = KindFlow, res
		s, own = &n.state, &n.Limiter
		s.tally = &n.tally
	} else {
		s, own = &flowState{tally: prev.tally}, new(flow.Limiter)
	}
	s.rule = r
	var err error
	kept := true
	now := e.clock.Now()
	switch {
	case gauge != nil:
		s.gauge = gauge
	case shared != nil:
		s.limiter, s.callers = shared.limiter, shared.callers
	case r.Origin == originOther:
		if prev != nil && prev.callers != nil && prev.own() {
			s.callers = prev.callers
		} else {
			s.callers = newCallers(mostCallers, (*flow.Limiter).Idle)
		}
		err = s.callers.update(
			func() (*flow.Limiter, error) { return flow.NewLimiterWith(*r, e.clock.Now(), e.sensorOf(r)) },
			func(l *flow.Limiter) error {
				k, err := l.Update(*r, now)
				kept = kept && k
				return err
			})
	case prev != nil && prev.limiter != nil && prev.own():
		s.limiter = prev.limiter
		kept, err = s.limiter.Update(*r, now)
	default:
		s.limiter, err = own, own.Init(*r, now, e.sensorOf(r))
	}
	if err != nil {
		e.unusable(s.tally, r.ID, err)
		return nil
	}
	e.carriedOver(s.tally, r.ID, kept, nil)
	return s
}

func (s *flowState) unconditional() bool {
	return s.limiter != nil && anyone(s.rule.Origin) && s.rule.Under == ""
}

func (s *flowState) waits() bool { return s.rule.Mode == flow.Pace || s.rule.Mode == flow.WarmUpPace }

// sensorOf returns the engine's sensor for a rule that looks at the memory, so that all share its readings.
func (e *Engine) sensorOf(r *flow.Rule) *flow.Sensor {
	if r.Memory == (flow.Memory{}) {
		return nil
	}
	return e.sensor
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
	if l.Moves() {
		limit = l.Limit(now)
	}
	if b := s.refusals.find(retryAfter); b != nil && (!l.Moves() || near(b.Limit, limit)) {
		return b
	}
	observed := l.Usage(now)
	if s.rule.Mode == flow.Smooth { // what was hit is the burst, of which a started call is one in use
		limit = float64(max(s.rule.Burst, 1))
		observed = min(math.Ceil(observed), limit)
	}
	return s.refusals.keep(s.refusal(s.rule.ID, limit, observed, flow.ErrLimited), retryAfter)
}

// near reports whether a limit, which may be one that moves, is within a tenth of the one an error tells of.
func near(told, limit float64) bool { return told >= 0.9*limit && told <= 1.1*limit }

// refuseRelated returns the error for a call refused for another resource's traffic.
func (s *flowState) refuseRelated(passed float64) *BlockedError {
	if b := s.refusals.find(0); b != nil {
		return b
	}
	return s.refusals.keep(s.refusal(s.rule.ID, s.rule.Limit, passed, flow.ErrLimited), 0)
}

func (s *flowState) idle(now time.Duration) bool {
	switch {
	case !s.own() || s.gauge != nil:
		return true
	case s.callers != nil:
		return s.callers.idle(now)
	}
	return s.limiter.Idle(now)
}

// carriedOver reports an edit that could not carry over what was counted.
func (e *Engine) carriedOver(t *tally, id string, kept bool, err error) {
	if err != nil {
		e.unusable(t, id, err)
	} else if !kept {
		e.log.warn("an edit of the rule starts its counts afresh", "kind", t.kind, "rule", id, "resource", t.resource())
	}
}

// unusable reports a rule that passed validation and yet cannot be used: a fault of cordon's own.
func (e *Engine) unusable(t *tally, id string, err error) {
	e.faults.Add(1)
	e.log.warn("internal fault", "where", fmt.Sprintf("%s rule %q", t.kind, id), "resource", t.resource(), "error", err)
}

// mostCallers bounds the callers of one rule on one resource that have a budget of their own.
const mostCallers = 1000

// callers holds one state for each caller of a rule on the "other" callers. When there are too many in use, the further ones share one,
// and so do those with names too long to keep.
type callers[T comparable] struct {
	unused func(T, time.Duration) bool
	most   int

	// mu guards what follows.
	mu    sync.Mutex
	of    map[string]callerState[T]
	make  func() (T, error)
	extra T
	// tidied is when those not in use were last dropped.
	tidied time.Duration
}

// callerState is one caller's state, and when the caller last came: it stays for a while after that, so that a call that was just handed
// it has long been counted when it is dropped as not in use.
type callerState[T comparable] struct {
	state T
	came  time.Duration
}

func newCallers[T comparable](most int, unused func(T, time.Duration) bool) *callers[T] {
	return &callers[T]{unused: unused, most: most, of: map[string]callerState[T]{}}
}

// get returns the state of a caller.
func (c *callers[T]) get(origin string, now time.Duration) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	var none T
	if s, ok := c.of[origin]; ok {
		if s.came < now {
			c.of[origin] = callerState[T]{s.state, now}
		}
		return s.state
	}
	if len(c.of) >= c.most && now-c.tidied >= time.Second {
		c.tidied = now
		for o, s := range c.of {
			if now-s.came >= dropGrace && c.unused(s.state, now) {
				delete(c.of, o)
			}
		}
	}
	further := len(c.of) >= c.most || len(origin) > longestName
	if further && c.extra != none {
		return c.extra
	}
	s, err := c.make()
	if err != nil {
		return none
	}
	if further {
		c.extra = s
	} else {
		c.of[strings.Clone(origin)] = callerState[T]{s, now}
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
		if err := edit(s.state); err != nil {
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
		if !c.unused(s.state, now) {
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
		states = append(states, s.state)
	}
	var none T
	if c.extra != none {
		states = append(states, c.extra)
	}
	return states
}

// mostInFlight is the highest limit a concurrency rule can have.
const mostInFlight = 10_000_000
