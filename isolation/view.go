package isolation

import (
	"math"
	"time"
)

// View is a group's instances that may be called, at one moment. It is immutable.
type View struct {
	// Candidates are the members that may be called, in the order of the list. Empty if there is none.
	Candidates []Candidate
	// Regions are the group's regions in the order they come up in the list.
	Regions []RegionShare
	// Instances is how many the list has that are not drained, and Out how many of them may not be called or only be probed.
	Instances, Out int
	// Fallback is true while isolation has switched itself off.
	Fallback bool
	// RegionMin, RegionBack and RegionSwitch are the rule's (or the defaults).
	RegionMin, RegionBack float64
	RegionSwitch          bool

	closed bool
}

// Err says why there are no candidates: ErrNoInstance, ErrClosed or ErrAllOut; nil if there are.
func (v *View) Err() error {
	switch {
	case len(v.Candidates) > 0:
		return nil
	case v.closed:
		return ErrClosed
	case v.Instances == 0:
		return ErrNoInstance
	}
	return ErrAllOut
}

// Candidate is one member of a View.
type Candidate struct {
	// Member is the instance; its Begin may still refuse the call.
	Member *Member
	// Weight is its share of the traffic relative to others': the instance's weight, smaller in a slow start. Above 0 and finite.
	Weight float64
	// Probe is true if calls to it are probes, of which there is one at a time: Begin refuses mostly, and another one is to be chosen.
	Probe bool
}

// RegionShare is how much of a region is in service, by weight.
type RegionShare struct {
	// Name is the region's, as instances have it.
	Name string
	// Listed is the weight of its instances that are not drained (those that are unreachable are in it), and InService what of it may be called (without probes).
	Listed, InService float64
}

// rampSteps is in how many steps a slow start's share grows.
const rampSteps = 15

// advance does what is due by now, unless someone is at it.
func (g *Group) advance(now time.Duration) {
	if !g.mu.TryLock() {
		return
	}
	if int64(now) >= g.due.Load() {
		g.step(now)
	}
	g.mu.Unlock()
	g.tell()
}

// step does what is due and builds the view anew.
func (g *Group) step(now time.Duration) {
	p := g.params.Load()
	for _, m := range g.list {
		if m.pin != notPinned && m.until != 0 && now >= m.until {
			g.unpin(now, m, "its time is over")
		}
		switch {
		case m.state == Quarantined && now >= m.until:
			g.release(now, m)
		case m.state == SlowStart && now-m.since >= p.rule.SlowStart:
			g.enter(now, m, InService)
			g.event(Event{Kind: EventInService, Address: m.Address(), Region: m.Region(), At: now, Reason: "its slow start is over", Strikes: g.strikes(now, m)})
		}
	}
	g.reviewHeld(now, nil)
	g.reviewFallback(now)
	if len(g.gone) > 0 {
		g.forget(now)
	}
	g.build(now)
}

// release ends a quarantine: probes decide what follows. In shadow, where the instance has gone on serving, what it does from now on decides.
func (g *Group) release(now time.Duration, m *Member) {
	e := Event{Kind: EventProbing, Address: m.Address(), Region: m.Region(), At: now, Strikes: g.strikes(now, m), Reason: "its quarantine is over"}
	if g.params.Load().rule.Shadow {
		g.recover(now, m)
		e.Kind = EventInService
	} else {
		m.ill.tried, m.ill.streak, m.ill.forgiven, m.ill.lease = 0, 0, false, 0
		m.nextProbe.Store(int64(now))
		g.enter(now, m, Probing)
		g.setGate(now, m)
	}
	g.event(e)
}

// share returns what part of its weight a member has now.
func (m *Member) share(now time.Duration, r *Rule) float64 {
	if m.state != SlowStart || m.pin != notPinned || r.Shadow {
		return 1
	}
	return r.SlowStartFrom + (1-r.SlowStartFrom)*min(max(float64(now-m.since)/float64(r.SlowStart), 0), 1)
}

// build publishes the view of now, and notes when the next thing is due.
func (g *Group) build(now time.Duration) {
	p := g.params.Load()
	r := &p.rule
	v := &View{
		Candidates: make([]Candidate, 0, len(g.list)), Fallback: g.fallback != nil && !r.Shadow,
		RegionMin: r.RegionMin, RegionBack: r.RegionBack, RegionSwitch: r.RegionSwitch, closed: g.closed,
	}
	due := time.Duration(math.MaxInt64)
	soon := func(at time.Duration) { due = min(due, max(at, now+1)) }
	regions := make(map[string]int, 4)
	for _, m := range g.list {
		in := m.listed.Load()
		if m.pin != notPinned && m.until != 0 {
			soon(m.until)
		}
		switch m.state {
		case Quarantined:
			soon(m.until)
		case SlowStart: // those of all that start slowly together
			step := max(r.SlowStart/rampSteps, time.Millisecond)
			soon(min(m.since+r.SlowStart, (now/step+1)*step))
		}
		if in.Drained && !in.Unreachable {
			continue
		}
		at, ok := regions[in.Region]
		if !ok {
			at = len(v.Regions)
			regions[in.Region] = at
			v.Regions = append(v.Regions, RegionShare{Name: in.Region})
		}
		region := &v.Regions[at]
		region.Listed += in.Weight
		if in.Unreachable {
			continue
		}
		v.Instances++
		switch m.gate.Load() & gateMask {
		case gateOpen:
			w := in.Weight * m.share(now, r)
			region.InService += w
			v.Candidates = append(v.Candidates, Candidate{Member: m, Weight: w})
		case gateProbing:
			v.Out++
			v.Candidates = append(v.Candidates, Candidate{Member: m, Weight: in.Weight, Probe: true})
		default:
			v.Out++
		}
	}
	if g.counted.held > 0 {
		soon(now + time.Second)
	}
	if g.fallback != nil {
		soon(g.fallback.reviewAt)
	}
	for _, gone := range g.gone {
		soon(gone.until)
	}
	g.builtAt = now
	g.view.Store(v)
	g.due.Store(int64(due))
}
