package cordon

import (
	"slices"
	"time"

	"github.com/cordon-go/cordon/system"
)

// guardBy brings the system rules of a ruleset in force. The caller holds applyMu, or is New.
func (e *Engine) guardBy(s, old *ruleset) {
	if old != nil && slices.Equal(s.system, old.system) {
		return
	}
	e.overload.Update(deref(s.system), e.clock.Now())
	if len(s.system) == 0 {
		e.guarding.Store(nil)
	} else {
		e.guarding.Store(e.overload)
	}
}

// guards reports whether system rules are to be asked about a call.
func (e *Engine) guards(req *Request) bool {
	return req != nil && req.Inbound && e.guarding.Load() != nil
}

// reserveSystem asks the system rules about a call of a table that is not plain.
func (t *table) reserveSystem(c *caller, h *hold, cost int, req *Request) error {
	if !t.res.eng.guards(req) {
		return nil
	}
	p, ref, ok := t.res.eng.overload.Enter(c.now, cost)
	if !ok {
		s := t.res.systemTally(ref.Rule)
		s.blocked.Add(1)
		return s.refuse(ref)
	}
	h.place, h.counted = p, inSystem
	if p.Doubted() {
		t.res.tellShadowed(p, c.origin)
	}
	return nil
}

// tellShadowed counts what rules in shadow would have refused, and tells the observers.
func (r *resource) tellShadowed(p system.Permit, origin string) {
	for ref := range r.eng.overload.Shadowed(p) {
		s := r.systemTally(ref.Rule)
		s.shadowed.Add(1)
		if len(r.eng.blockObservers) > 0 {
			r.eng.notifyBlock(s.refuse(ref), origin, true, refusedValue{})
		}
	}
}

// tellAlone is tellShadowed for a call that holds nothing else yet. An observer that ends the goroutine ends the call too.
func (r *resource) tellAlone(p system.Permit, cost int, origin string) {
	returned := false
	defer func() {
		if !returned {
			r.eng.overload.Cancel(cost, p)
		}
	}()
	r.tellShadowed(p, origin)
	returned = true
}

// systemTally is what a system rule, of one version, refused of a resource's calls.
type systemTally struct {
	*tally
	rule     *system.Rule
	refusals refusals
}

// systemTally returns what is counted of a system rule on the resource.
func (r *resource) systemTally(rule *system.Rule) *systemTally {
	if l := r.system.Load(); l != nil {
		for _, s := range *l {
			if s.rule == rule {
				return s
			}
		}
	}
	return r.addSystemTally(rule)
}

// addSystemTally makes what is counted of a rule that refuses on the resource for the first time, or since it was edited. Of rules that are no more only the counts stay.
func (r *resource) addSystemTally(rule *system.Rule) *systemTally {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &systemTally{rule: rule}
	var list []*systemTally
	if l := r.system.Load(); l != nil {
		rules := r.eng.set.Load().system
		for _, o := range *l {
			switch {
			case o.rule == rule:
				return o
			case o.rule.ID == rule.ID:
				s.tally = o.tally
			case slices.ContainsFunc(rules, func(f ref[system.Rule]) bool { return f.r.ID == o.rule.ID }):
				list = append(list, o)
			default:
				if r.gone == nil {
					r.gone = new([kinds]refusalCounts)
				}
				r.gone[KindSystem].blocked += o.blocked.Load()
				r.gone[KindSystem].shadowed += o.shadowed.Load()
			}
		}
	}
	if s.tally == nil {
		s.tally = &tally{res: r, kind: KindSystem}
	}
	list = append(list, s)
	r.system.Store(&list)
	return s
}

// refuse returns the error for a refusal. What a rule saw of the machine changes, so that an error is kept only while it is about true.
func (s *systemTally) refuse(ref system.Refusal) *BlockedError {
	b := s.refusals.find(ref.RetryAfter)
	if b != nil && (s.rule.Metric == system.Concurrency || s.rule.Metric == system.Rate || near(b.Observed, ref.Observed)) {
		return b
	}
	return s.refusals.keep(s.refusal(s.rule.ID, ref.Limit(), ref.Observed, ref.Cause()), ref.RetryAfter)
}

// systemReader returns the reader that was handed in, whose panics are internal faults; nil for the running system's.
func (e *Engine) systemReader() system.Reader {
	if e.cfg.systemReader == nil {
		return nil
	}
	return guardedReader{e}
}

// guardedReader is the engine's reader, whose panics are internal faults.
type guardedReader struct{ e *Engine }

func (g guardedReader) CPU(now time.Duration) (share float64, ok bool) {
	g.e.Guard("system reader", "", func() { share, ok = g.e.cfg.systemReader.CPU(now) })
	return share, ok
}

func (g guardedReader) Load() (load float64, ok bool) {
	g.e.Guard("system reader", "", func() { load, ok = g.e.cfg.systemReader.Load() })
	return load, ok
}

// SystemSnapshot is how the process stands by what system rules look at.
type SystemSnapshot struct {
	// CPU is the share in use of the CPU that the process may use, 0 to 1, and Load the machine's load average; nil while they are not known, or no rule needs them.
	CPU  *float64 `json:"cpu"`
	Load *float64 `json:"load"`
	// InFlight is the cost of inbound calls in flight, of those that came while there were system rules.
	InFlight int64 `json:"inFlight"`
	// ResponseTime is the mean response time of the inbound calls that ended within the last second, 0 if none did.
	ResponseTime time.Duration `json:"responseTime"`
	// Capacity is how much the process can work on at once without queueing, as far as it has shown lately; 0 while that is not known. Rules with admission bbr admit half as much again.
	Capacity float64 `json:"capacity"`
	// Rules are the rules, in written order.
	Rules []SystemRuleSnapshot `json:"rules"`
}

// SystemRuleSnapshot is the state of one system rule.
type SystemRuleSnapshot struct {
	// ID is the rule's id, and Metric what it looks at.
	ID     string `json:"id"`
	Metric string `json:"metric"`
	// Shadow is true for a rule that only counts what it would refuse.
	Shadow bool `json:"shadow,omitempty"`
	// Limit is the rule's limit, that of a response time in seconds, and Observed the metric in that unit, nil while it is not known.
	Limit    float64  `json:"limit"`
	Observed *float64 `json:"observed"`
	// Refusing is true while the limit of load, cpu or responseTime is passed.
	Refusing bool `json:"refusing"`
	// Blocked counts what the rule refused, and Shadowed what it would have refused while it was in shadow.
	Blocked  int64 `json:"blocked"`
	Shadowed int64 `json:"shadowed"`
}

// systemSnapshot returns how the process stands, nil without system rules.
func (e *Engine) systemSnapshot(now time.Duration) *SystemSnapshot {
	g := e.guarding.Load()
	if g == nil {
		return nil
	}
	st := g.Status(now)
	known := func(v float64, ok bool) *float64 {
		if !ok {
			return nil
		}
		return &v
	}
	s := &SystemSnapshot{
		CPU: known(st.CPU, st.CPU >= 0), Load: known(st.Load, st.Load >= 0), InFlight: st.InFlight, ResponseTime: st.ResponseTime, Capacity: st.Capacity,
		Rules: []SystemRuleSnapshot{},
	}
	for _, r := range st.Rules {
		s.Rules = append(s.Rules, SystemRuleSnapshot{
			ID: r.Rule.ID, Metric: r.Rule.Metric.String(), Shadow: r.Rule.Shadow, Limit: r.Limit, Observed: known(r.Observed, r.Known),
			Refusing: r.Refusing, Blocked: r.Blocked, Shadowed: r.Shadowed,
		})
	}
	return s
}
