package isolation

import (
	"strconv"
	"time"
)

// Snapshot is a group at one moment.
type Snapshot struct {
	// Service is the group's.
	Service string `json:"service"`
	// Group is the group's name, which tells it from others of the same service; "" if it has none.
	Group string `json:"group,omitempty"`
	// RuleID is the id of the rule in force, "" if there is none.
	RuleID string `json:"rule,omitempty"`
	// Shadow is true if the rule only says what it would do.
	Shadow bool `json:"shadow,omitempty"`
	// Fallback is true while isolation has switched itself off, since FallbackSince.
	Fallback      bool          `json:"fallback,omitempty"`
	FallbackSince time.Duration `json:"fallbackSince,omitempty"`
	// Fallbacks and Quarantines count what there was since the group was made (in shadow: would have been).
	Fallbacks   int64 `json:"fallbacks"`
	Quarantines int64 `json:"quarantines"`
	// Out counts the instances out of service or probing, Held the sick ones that stay in.
	Out  int `json:"out"`
	Held int `json:"held"`
	// Remembered counts the addresses that left the list and keep their strikes.
	Remembered int `json:"remembered"`
	// Instances are in the order of the list.
	Instances []InstanceSnapshot `json:"instances"`
}

// InstanceSnapshot is one instance at one moment.
type InstanceSnapshot struct {
	// Address and Region are the instance's.
	Address string `json:"address"`
	Region  string `json:"region,omitempty"`
	// State is where it stands.
	State State `json:"state"`
	// Weight is what it has now, which in a slow start is part of its own.
	Weight float64 `json:"weight"`
	// Calls and Failures count results while it was in service, InFlight the calls under way.
	Calls    int64 `json:"calls"`
	Failures int64 `json:"failures"`
	InFlight int   `json:"inFlight"`
	// Latency is the mean of late successes, an exponential average; 0 if there was none.
	Latency time.Duration `json:"latency"`
	// Strikes is how often it was put out, less what good service took away, to a tenth: the next quarantine is twice as long for each, rounded. (Failed probes beside peers that
	// fail are none.) Quarantines is how often it was put out, whatever came later.
	Strikes     float64 `json:"strikes"`
	Quarantines int64   `json:"quarantines"`
	// Left is how much of the quarantine, the pin or the slow start is left.
	Left time.Duration `json:"left,omitempty"`
	// Reason says in words why it stands there; "" in service.
	Reason string `json:"reason,omitempty"`
}

// Snapshot returns the group's state. It does what is due first.
func (g *Group) Snapshot(now time.Duration) Snapshot {
	g.View(now)
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.params.Load()
	s := Snapshot{
		Service: g.service, Group: g.cfg.Name, RuleID: p.rule.ID, Shadow: p.rule.Shadow, Fallback: g.fallback != nil, Fallbacks: g.fallbacks, Quarantines: g.putOut,
		Out: g.counted.out, Held: g.counted.held, Remembered: len(g.gone), Instances: make([]InstanceSnapshot, 0, len(g.list)),
	}
	if g.fallback != nil {
		s.FallbackSince = g.fallback.since
	}
	for _, m := range g.list {
		s.Instances = append(s.Instances, g.instance(now, p, m))
	}
	return s
}

// instance returns a member at one moment. The caller must hold g.mu.
func (g *Group) instance(now time.Duration, p *params, m *Member) InstanceSnapshot {
	in, c := m.listed.Load(), m.read()
	s := InstanceSnapshot{
		Address: m.Address(), Region: in.Region, State: m.shown(), Weight: in.Weight * m.share(now, &p.rule),
		Calls: int64(c.calls), Failures: int64(c.fails), InFlight: int(m.inFlight()), Latency: time.Duration(m.latency.Load()),
		Strikes: g.strikes(now, m), Quarantines: int64(m.quarantines),
	}
	if m.gate.Load()&gateMask != gateOpen {
		s.Weight = 0
	}
	if until := m.ends(p); until != 0 {
		s.Left = max(until-now, 0)
	}
	switch s.State {
	case Quarantined, Held:
		s.Reason = m.ill.reason
	case Probing:
		s.Reason = "probed: " + progress(m.ill.streak, p.rule.Probes) + "; before: " + m.ill.reason
	case SlowStart:
		s.Reason = "its share of the traffic grows"
	case PinnedIn, PinnedOut:
		s.Reason = "by hand"
	case Drained:
		s.Reason = "listed as not to be called"
	case Unreachable:
		s.Reason = "nobody is connected to it"
	}
	return s
}

func progress(done, of int) string {
	return strconv.Itoa(done) + " of " + strconv.Itoa(of) + " in a row"
}

// shown returns the state as others see it.
func (m *Member) shown() State {
	switch in := m.listed.Load(); {
	case in.Unreachable:
		return Unreachable
	case in.Drained:
		return Drained
	case m.pin == pinnedIn:
		return PinnedIn
	case m.pin == pinnedOut:
		return PinnedOut
	}
	return m.state
}

// ends returns when the state ends; 0 if that is not known.
func (m *Member) ends(p *params) time.Duration {
	switch m.shown() {
	case Quarantined:
		return m.until
	case SlowStart:
		return m.since + p.rule.SlowStart
	case PinnedIn, PinnedOut:
		return m.until
	}
	return 0
}

// Why explains where an instance stands.
type Why struct {
	InstanceSnapshot
	// At and Until are the readings of the clock when the state began and when it will end; Until is 0 if that is not known.
	At    time.Duration `json:"at"`
	Until time.Duration `json:"until,omitempty"`
	// Verdict is the evidence of the last verdict on it; Criterion is "" if there was none.
	Verdict Evidence `json:"verdict"`
	// Now is the evidence of this moment: what stands against it since its failures began; Criterion is "" if nothing does.
	Now Evidence `json:"now"`
}

// Why explains where the instance of an address stands; false if there is none. It does what is due first.
func (g *Group) Why(now time.Duration, address string) (Why, bool) {
	g.View(now)
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.Member(address)
	if m == nil {
		return Why{}, false
	}
	p := g.params.Load()
	w := Why{InstanceSnapshot: g.instance(now, p, m), At: m.since, Until: m.ends(p)}
	if m.ill != nil {
		w.Verdict = m.ill.verdict
	}
	if !p.off && g.fallback == nil {
		with, withAll := m.compared(m.peers.Load())
		m.mu.Lock()
		w.Now = m.current(now, p, m.read(), with.read(), withAll, float64(with.size.Load()))
		m.mu.Unlock()
	}
	return w, true
}
