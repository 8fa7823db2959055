package cordon

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/paramflow"
)

const (
	// mostParamCallers bounds the callers of one rule on hot parameters on one resource that have a budget of their own, each of which has its memory.
	mostParamCallers = 64
	// mostLimits is for how many different limits of values one rule keeps errors on one resource.
	mostLimits = 16
	// pressureEvery is how often calls look how crowded a rule is.
	pressureEvery = time.Second
)

// paramState is a rule on hot parameters on one resource.
type paramState struct {
	*tally
	rule    *paramflow.Rule
	path    *paramPath
	limiter *paramflow.Limiter           // nil if every caller has its own
	callers *callers[*paramflow.Limiter] // for rules on the other callers
	counts  *paramCounts

	refusals refusals // of values without an override
	others   atomic.Pointer[[]limitRefusals]
	// faulty is the error for calls in which the extractor panicked, nil if they pass.
	faulty *BlockedError
}

// paramCounts is what is counted besides, which outlives edits as a tally does. All resources of a rule with one budget share it.
type paramCounts struct {
	absent, unreadable, overfull, faults atomic.Int64
	notJSON, tooLarge                    atomic.Bool  // this was reported
	looked                               atomic.Int64 // when calls last looked at the pressure
}

// limitRefusals keeps the errors for values of one limit.
type limitRefusals struct {
	limit    float64
	refusals *refusals
}

func (s *paramState) ruleID() string { return s.rule.ID }

// own reports whether the limiter is not that of all the rule's resources. (The state that those share belongs to none of them.)
func (s *paramState) own() bool { return !s.rule.Shared || s.res == nil }

// carryParam is carryBreaker for rules on hot parameters.
func carryParam(prev *paramState, r *paramflow.Rule, res *resource, path *paramPath, shared *paramState, e *Engine) *paramState {
	if prev != nil && prev.path == path && same(prev.rule, r) &&
		(shared == nil || shared.limiter == prev.limiter && shared.callers == prev.callers && shared.counts == prev.counts) {
		return prev
	}
	var s *paramState
	if prev == nil {
		n := new(newState[paramState])
		n.kind, n.res = KindParam, res
		s = &n.state
		s.tally, s.counts = &n.tally, new(paramCounts)
	} else {
		s = &paramState{tally: prev.tally, counts: prev.counts}
	}
	s.rule, s.path = r, path
	if e.cfg.faults == BlockOnFault {
		s.faulty = s.refusal(r.ID, -1, 0, ErrFault)
	}
	// What was counted goes on only if it is the same that is counted. A limiter never turns from or to one of what is in flight, so that a call which meets it in the middle of an edit
	// knows from its own rule whether it is to be ended.
	goesOn := prev != nil && prev.own() && prev.rule.Param == r.Param && (prev.rule.Mode == paramflow.Concurrency) == (r.Mode == paramflow.Concurrency)
	if prev != nil && !prev.own() && shared == nil {
		s.counts = new(paramCounts) // those of before are all resources'
	}
	var err error
	kept := prev == nil || goesOn || shared != nil
	now := e.clock.Now()
	switch {
	case shared != nil:
		s.limiter, s.callers, s.counts = shared.limiter, shared.callers, shared.counts
	case r.Origin == originOther:
		if goesOn && prev.callers != nil {
			s.callers = prev.callers
		} else {
			s.callers = newCallers(mostParamCallers, (*paramflow.Limiter).Idle)
		}
		err = s.callers.update(
			func() (*paramflow.Limiter, error) { return paramflow.NewLimiter(*r, e.clock.Now(), e.seed) },
			func(l *paramflow.Limiter) error {
				k, err := l.Update(*r, now)
				kept = kept && k
				return err
			})
	case goesOn && prev.limiter != nil:
		s.limiter = prev.limiter
		kept, err = s.limiter.Update(*r, now)
	default:
		s.limiter, err = paramflow.NewLimiter(*r, now, e.seed)
	}
	if err != nil {
		e.unusable(s.tally, r.ID, err)
		return nil
	}
	e.carriedOver(s.tally, r.ID, kept, nil)
	return s
}

// of returns the limiter that counts the call, or nil if the rule is not for it.
func (s *paramState) of(c *caller, named []string) *paramflow.Limiter {
	if !concerns(s.rule.Origin, c.origin, named) {
		return nil
	}
	if s.callers != nil {
		return s.callers.get(c.origin, c.now)
	}
	return s.limiter
}

func (s *paramState) idle(now time.Duration) bool {
	switch {
	case !s.own():
		return true
	case s.callers != nil:
		return s.callers.idle(now)
	}
	return s.limiter.Idle(now)
}

// refuse returns the error for a value that l refused.
func (s *paramState) refuse(l *paramflow.Limiter, v extractor.Value, retryAfter time.Duration) *BlockedError {
	limit := s.rule.Limit
	if len(s.rule.Overrides) > 0 {
		limit = l.Limit(v)
	}
	kept := s.refusalsOf(limit)
	if kept == nil {
		limit, kept = -1, s.refusalsOf(-1)
	}
	if b := kept.find(retryAfter); b != nil {
		return b
	}
	return kept.keep(s.refusal(s.rule.ID, limit, 0, paramflow.ErrLimited), retryAfter)
}

// refusalsOf returns where errors for values of a limit are kept; nil if there are too many limits. There is always a place for -1, which stands for a limit that is not told.
func (s *paramState) refusalsOf(limit float64) *refusals {
	if limit == s.rule.Limit {
		return &s.refusals
	}
	for {
		list := s.others.Load()
		var all []limitRefusals
		if list != nil {
			all = *list
		}
		if i := slices.IndexFunc(all, func(f limitRefusals) bool { return f.limit == limit }); i >= 0 {
			return all[i].refusals
		}
		if len(all) >= mostLimits && limit >= 0 {
			return nil
		}
		more := append(all[:len(all):len(all)], limitRefusals{limit, new(refusals)})
		s.others.CompareAndSwap(list, &more) // whoever was first, it is found now
	}
}

// paramCall is what a call needs for rules on hot parameters. It is used again by other calls, so nothing of it is given to extractors of one's own.
type paramCall struct {
	call   extractor.Call
	values extractor.List
	used   bool // the list
	held   []heldParam
	back   []paramflow.Permit // those of one limiter that are given back
	waits  bool
	turn   time.Duration // when the last turn comes; if waits
}

// heldParam is what a call holds of one value.
type heldParam struct {
	limiter *paramflow.Limiter
	permit  paramflow.Permit
	flight  bool // it is to be ended when the call ends
}

// mostHeld is up to how many held values a paramCall keeps its memory for.
const mostHeld = 64

// paramCall returns what the call needs, which is put there for the first rule that asks.
func (t *table) paramCall(c *caller, at **paramCall, req *Request) *paramCall {
	if *at != nil {
		return *at
	}
	p, _ := t.res.eng.paramCalls.Get().(*paramCall)
	if p == nil {
		p = new(paramCall)
	}
	p.call.Context, p.call.Resource, p.call.Origin = c.ctx, t.res.name, c.origin
	if req != nil {
		p.call.Resource, p.call.Method, p.call.Args, p.call.Carrier = req.Resource, req.Method, req.Args, req.Carrier
	}
	*at = p
	return p
}

// putParamCall lets other calls use p, which may be nil.
func (e *Engine) putParamCall(p *paramCall) {
	if p == nil {
		return
	}
	p.call = extractor.Call{}
	if p.used {
		p.values.Reset()
		p.used = false
	}
	clear(p.held)
	if p.held = p.held[:0]; cap(p.held) > mostHeld {
		p.held, p.back = nil, nil
	}
	p.waits = false
	e.paramCalls.Put(p)
}

// flying returns how many of the held values are to be ended when the call ends.
func (p *paramCall) flying() (n int) {
	if p == nil {
		return 0
	}
	for i := range p.held {
		if p.held[i].flight {
			n++
		}
	}
	return n
}

// newUnusual returns a record for a call that holds so many flights, which are in it.
func newUnusual(p *paramCall, flights int) *unusual {
	var u *unusual
	switch flights {
	case 0:
		return new(unusual)
	case 1: // as mostly: then both are one piece of memory
		one := new(struct {
			unusual
			flight [1]heldParam
		})
		u = &one.unusual
		u.flights = one.flight[:0]
	default:
		u = &unusual{flights: make([]heldParam, 0, flights)}
	}
	for i := range p.held {
		if p.held[i].flight {
			u.flights = append(u.flights, p.held[i])
		}
	}
	return u
}

// cancelFrom gives back what is held from the n-th on.
func (p *paramCall) cancelFrom(n int, now time.Duration) {
	for i := n; i < len(p.held); {
		l := p.held[i].limiter
		p.back = p.back[:0]
		for ; i < len(p.held) && p.held[i].limiter == l; i++ {
			p.back = append(p.back, p.held[i].permit)
		}
		l.CancelAll(now, p.back)
	}
	clear(p.back)
	clear(p.held[n:])
	p.held = p.held[:n]
}

// admitByValue makes the one check of a table that has no other. Nothing is held while anything of the caller's own runs, so there is nothing to be given back if that ends the goroutine.
func (t *table) admitByValue(s *paramState, c *caller, cost int, req *Request) (Entry, error) {
	if req != nil {
		if v, found := s.path.path.Plain(req.Args); found {
			return t.admitValue(s, v, c, cost, req)
		}
	}
	var p *paramCall
	err := t.reserveParam(s, c, &p, cost, req)
	if err != nil && p != nil && len(p.held) > 0 {
		p.cancelFrom(0, c.now)
	}
	t.res.eng.putParamCall(p)
	if err != nil {
		return Entry{}, err
	}
	return t.admitted(c, cost, req), nil
}

// admitValue is admitByValue for a value that was had without more ado.
func (t *table) admitValue(s *paramState, v extractor.Value, c *caller, cost int, req *Request) (Entry, error) {
	if l := s.of(c, t.lists.paramCallers); l != nil {
		if _, _, retryAfter, ok := l.Acquire(c.now, v, cost); !ok {
			c.refused = refusedValue{l, v}
			if err := t.refuseAny(s.tally, s.refuse(l, v, retryAfter), c, s.rule.Shadow); err != nil {
				return Entry{}, err
			}
		}
	}
	return t.admitted(c, cost, req), nil
}

// admitted counts a call that passed and holds nothing.
func (t *table) admitted(c *caller, cost int, req *Request) Entry {
	t.res.passed.Add(1)
	if req != nil && req.Classify != nil {
		t = t.carrying(&unusual{classify: req.Classify})
	}
	return Entry{table: t, start: c.now, state: uint32(cost)}
}

// reserveParam asks a rule on hot parameters for each of the call's values. The first refusal is that of the call.
func (t *table) reserveParam(s *paramState, c *caller, at **paramCall, cost int, req *Request) error {
	l := s.of(c, t.lists.paramCallers)
	if l == nil {
		return nil
	}
	p := t.paramCall(c, at, req)
	if p.used {
		p.values.Reset()
	}
	p.used = true
	if err := s.path.extract(&p.call, &p.values); err != nil && !s.unreadable(t.res.eng, req, err) {
		return t.faulted(s, c)
	}
	if s.path.needsBody {
		c.now = t.res.eng.clock.Now() // the body may have been long in coming
	}
	first := len(p.held)
	n := p.values.Len()
	for i := range n {
		if ok, err := t.reserveValue(s, l, p.values.At(i), c, p, cost, first); !ok {
			return err
		}
	}
	switch {
	case p.values.Truncated():
		s.counts.overfull.Add(1)
		_, err := t.reserveValue(s, l, extractor.Text(paramflow.FurtherValue), c, p, cost, first)
		return err
	case n == 0:
		s.counts.absent.Add(1)
		if s.rule.Absent == paramflow.Count {
			_, err := t.reserveValue(s, l, extractor.Text(paramflow.AbsentValue), c, p, cost, first)
			return err
		}
	}
	return nil
}

// reserveValue asks for one value. ok is false if the call is refused (by err), or in shadow would have been; then the rule holds nothing for it.
func (t *table) reserveValue(s *paramState, l *paramflow.Limiter, v extractor.Value, c *caller, p *paramCall, cost, first int) (ok bool, err error) {
	permit, wait, retryAfter, ok := l.Acquire(c.now, v, cost)
	if !ok {
		c.refused = refusedValue{l, v}
		err := t.refuseAny(s.tally, s.refuse(l, v, retryAfter), c, s.rule.Shadow)
		if err == nil {
			p.cancelFrom(first, c.now)
		}
		return false, err
	}
	if permit == (paramflow.Permit{}) {
		return true, nil // the rule is not for the value
	}
	p.held = append(p.held, heldParam{l, permit, s.rule.Mode == paramflow.Concurrency})
	if wait > 0 && !s.rule.Shadow {
		if turn := c.now + wait; !p.waits || turn > p.turn {
			p.waits, p.turn = true, turn
		}
	}
	return true, nil
}

// wait returns how long the call waits for its turns, from now on.
func (p *paramCall) wait(now time.Duration) time.Duration {
	if p == nil || !p.waits {
		return 0
	}
	return p.turn - now
}

// unreadable judges an error of extracting a value, and reports what tells of a mistake. It returns false for an internal fault; otherwise there may be no value, which the
// rule has a word for.
func (s *paramState) unreadable(e *Engine, req *Request, err error) bool {
	resource := s.resource()
	if req != nil {
		resource = req.Resource
	}
	var misfit *extractor.TypeError
	report := false
	switch {
	case errors.As(err, &misfit): // comes once for each type
		report = true
	case errors.Is(err, extractor.ErrNoBody):
	case errors.Is(err, extractor.ErrNotJSON):
		s.counts.unreadable.Add(1)
		report = s.counts.notJSON.CompareAndSwap(false, true)
	case errors.Is(err, extractor.ErrTooLarge):
		s.counts.unreadable.Add(1)
		report = s.counts.tooLarge.CompareAndSwap(false, true)
	default:
		s.counts.faults.Add(1)
		e.ReportFault("param rule "+s.rule.ID, resource, err)
		return false
	}
	if report {
		e.report("calls have no value to limit by", "param rule "+s.rule.ID, resource, err)
	}
	return true
}

// faulted is what becomes of a call in which the extractor panicked.
func (t *table) faulted(s *paramState, c *caller) error {
	if s.faulty == nil {
		return nil
	}
	return t.refuseAny(s.tally, s.faulty, c, s.rule.Shadow)
}

// lookAtPressure sees now and then whether rules on hot parameters have become crowded, or are so no longer, and tells the observers. The call holds no lock.
func (t *table) lookAtPressure(c *caller) {
	for _, s := range t.lists.params {
		last := s.counts.looked.Load()
		if s.rule.Mode == paramflow.Concurrency || c.now-time.Duration(last) < pressureEvery {
			continue
		}
		l := s.of(c, t.lists.paramCallers)
		if l == nil || !s.counts.looked.CompareAndSwap(last, int64(c.now)) {
			continue
		}
		if crowded, changed := l.Crowded(c.now); changed {
			resource := s.resource()
			if s.rule.Shared {
				resource = sharedName
			}
			e := t.res.eng
			e.notifyParam(ParamEvent{
				Resource: resource, RuleID: s.rule.ID, Crowded: crowded, Pressure: l.Pressure(c.now), Time: e.clock.Wall(c.now), Shadow: s.rule.Shadow,
			})
		}
	}
}

func (s *paramState) snapshot(now time.Duration) RuleSnapshot {
	p := &ParamSnapshot{
		Param: s.rule.Param, Absent: s.counts.absent.Load(), Unreadable: s.counts.unreadable.Load(), Overfull: s.counts.overfull.Load(),
		Faults: s.counts.faults.Load(),
	}
	if s.limiter != nil {
		p.Status = s.limiter.Status(now)
	} else {
		for _, l := range s.callers.all() {
			p.add(l.Status(now))
		}
	}
	return RuleSnapshot{Limit: s.rule.Limit, Usage: float64(p.InFlight), Param: p}
}

// add adds up the figures of another limiter of the same rule.
func (p *ParamSnapshot) add(o paramflow.Status) {
	p.Pressure = max(p.Pressure, o.Pressure)
	p.Crowded = p.Crowded || o.Crowded
	p.Values += o.Values
	p.Named = o.Named
	p.InFlight += o.InFlight
	p.Passed += o.Passed
	p.Refused += o.Refused
	p.Doubtful += o.Doubtful
	p.Bytes += o.Bytes
}
