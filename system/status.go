package system

import (
	"math"
	"time"
)

// Status is how a Guard stands.
type Status struct {
	// CPU is the share in use of the CPU that the process may use, and Load the machine's load average, below 0 while they are not known: they are read only for rules that need them.
	CPU, Load float64
	// InFlight is the cost in flight.
	InFlight int64
	// ResponseTime is the mean response time of the calls that ended within the last second, 0 if none did. A call of a cost counts as so many.
	ResponseTime time.Duration
	// Capacity is how much the process can work on at once without queueing, as far as it has shown lately, and 0 while that is not known. Rules with BBR admit half as much again while their limit is passed.
	Capacity float64
	// Rules are the rules, in written order.
	Rules []RuleStatus
}

// RuleStatus is how one rule stands.
type RuleStatus struct {
	// Rule is the rule, and Limit its limit; that of a response time in seconds.
	Rule  Rule
	Limit float64
	// Observed is the metric, in the limit's unit, and Known whether it is known.
	Observed float64
	Known    bool
	// Refusing is true while the rule refuses calls by what was measured, or in shadow would: while the limit of load, cpu or responseTime is passed.
	Refusing bool
	// Blocked is how many calls the rule has refused, and Shadowed how many it would have refused while it was in shadow.
	Blocked, Shadowed int64
}

// Status returns how the guard stands at now. It does what is due first, so it may read the machine.
func (g *Guard) Status(now time.Duration) Status {
	if int64(now) >= g.next.Load() {
		g.tick(now)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	st := Status{CPU: -1, Load: -1, InFlight: g.InFlight()}
	if v, ok := g.cpu.now(now); ok {
		st.CPU = v
	}
	if v, ok := g.load.now(now); ok {
		st.Load = v
	}
	st.ResponseTime, _ = g.recent.mean()
	rate, least := g.capacity.estimate(now)
	st.Capacity = rate * least
	for _, s := range g.set.Load().states {
		rs := RuleStatus{Rule: s.rule, Limit: s.rule.limit(), Refusing: s.passed.Load(), Blocked: s.counts.blocked.Load(), Shadowed: s.counts.shadowed.Load()}
		switch s.rule.Metric {
		case Concurrency:
			rs.Observed, rs.Known = float64(st.InFlight), true
		case Rate:
			w := &g.rate
			if s.window != nil {
				w = s.window
			}
			rs.Observed, rs.Known = float64(w.used(now)), true
		default:
			if v := s.seen(); !math.IsNaN(v) {
				rs.Observed, rs.Known = v, true
			}
		}
		st.Rules = append(st.Rules, rs)
	}
	return st
}
