package isolation

import (
	"fmt"
	"slices"
	"time"
)

const (
	// reviewEvery is how often a sick instance that stays in service is judged.
	reviewEvery = 100 * time.Millisecond
	// swapMargin is by how much an instance must fail more than one that is out to take its place: who is out is to be a stable set.
	swapMargin = .1
)

// sick is told that m is, by a call that began when its gate was such.
func (g *Group) sick(now time.Duration, gate uint64, m *Member, ev Evidence) {
	g.mu.Lock()
	if m.gate.Load() == gate && !m.left {
		g.decide(now, m, ev)
	}
	g.mu.Unlock()
	g.tell()
}

// decide says what becomes of a sick member.
func (g *Group) decide(now time.Duration, m *Member, ev Evidence) {
	p := g.params.Load()
	switch {
	case g.fallback != nil, p.off, !p.rule.judges(p.instances):
		return
	case ev.Criterion == alone && g.counted.out < p.instances-1: // it has idle peers
		return
	case m.pin == pinnedIn, m.out(): // out in shadow, that is: then it still gets calls
		m.review(now + reviewEvery)
		return
	case m.state == Held && !m.relapses(now, p, &ev):
		m.review(now + reviewEvery)
		return
	}
	g.reviewHeld(now, m)
	g.serve(p, m, ev.Since)
	m.good = max(m.good, now) // from its verdict on, it does not serve well
	ill := &illness{verdict: ev, reason: ev.String(), rate: ev.Rate()}
	sick := g.counted.sick
	if m.state != Held {
		sick++
	}
	if share := float64(sick) / float64(p.instances); !p.rule.NoFallback && share > p.rule.FallbackAt+1e-9 {
		m.ill = ill
		g.startFallback(now, sick, fmt.Sprintf("%d of %d instances are sick, more than %s: the fault lies elsewhere; the last, %s: %s",
			sick, p.instances, percent(p.rule.FallbackAt), m.Address(), ill.reason))
		return
	}
	most := p.rule.maxOut(p.instances)
	if g.counted.out < most {
		g.quarantine(now, m, ill, true)
		return
	}
	if ill.rate > g.leastOut+swapMargin {
		if other := g.leastSick(); other != nil && ill.rate > other.ill.rate+swapMargin {
			g.hold(now, other, fmt.Sprintf("%d of %d may be out, and %s is sicker", most, p.instances, m.Address()))
			g.quarantine(now, m, ill, true)
			return
		}
	}
	if m.state == Held {
		ill.mark, ill.doubted = m.ill.mark, m.ill.doubted
		m.ill = ill
	} else {
		m.ill = ill
		g.hold(now, m, fmt.Sprintf("sick, but %d of %d are out, as many as may be: %s", g.counted.out, p.instances, ill.reason))
	}
	m.review(now + reviewEvery)
}

// hold keeps a sick member in service, or puts it back there.
func (g *Group) hold(now time.Duration, m *Member, why string) {
	wasOut := m.out()
	g.enter(now, m, Held)
	m.ill.reason, m.ill.mark = why, m.markNow(now)
	if wasOut {
		g.setGate(now, m)
	}
	g.hurry(now) // it is to be looked at again
	g.event(Event{Kind: EventHeld, Address: m.Address(), Region: m.Region(), At: now, Reason: why, Evidence: m.ill.verdict, Strikes: g.strikes(now, m)})
}

// leastSick returns the least sick of those whom the rule has out, and notes how sick that is.
func (g *Group) leastSick() (least *Member) {
	g.leastOut = 2
	for _, m := range g.list {
		if m.out() && m.pin == notPinned && !m.listed.Load().Drained && m.ill.rate < g.leastOut {
			least, g.leastOut = m, m.ill.rate
		}
	}
	return least
}

// reviewHeld lets those go who are held and not sick any more, other than the one about to be judged.
func (g *Group) reviewHeld(now time.Duration, but *Member) {
	if g.counted.held == 0 || now < g.heldReview {
		return
	}
	g.heldReview = now + reviewEvery
	p := g.params.Load()
	for _, m := range g.list {
		if m.state != Held || m == but || now-m.since < reviewEvery {
			continue
		}
		if ev, sick := m.stillSick(now, p); !sick {
			g.enter(now, m, InService)
			m.good = now
			m.mu.Lock()
			m.detector.clear()
			m.mu.Unlock()
			g.event(Event{Kind: EventInService, Address: m.Address(), Region: m.Region(), At: now, Reason: "it is not sick any more: " + ev.String(), Evidence: ev})
		}
	}
}

// relapses reports whether a verdict on a member that is held rests on what it has done lately too. Evidence that was gathered while it was held may be of long ago, and must not put
// it out, as soon as there is room, when it has got well meanwhile.
func (m *Member) relapses(now time.Duration, p *params, verdict *Evidence) bool {
	if verdict.Criterion != "peers" && verdict.Criterion != "gross" {
		return true // they look at the last calls only
	}
	own := m.markNow(now)
	n, f, N, F := m.ill.mark.since(own.own, own.all)
	if float64(f) <= float64(n)*p.tolerated(rate(F, N)) {
		return false
	}
	m.ill.mark = own
	lately := rate(f, n)
	if lately >= m.ill.rate/2 {
		m.ill.doubted = false
		return true
	}
	if m.ill.doubted = !m.ill.doubted; m.ill.doubted {
		return false // it got well in between, or less sick: the next time tells
	}
	m.ill.rate = lately
	return true
}

// recovered reports whether a member that is held has done well since it last failed as often as a sick one.
func (m *Member) recovered(p *params, own, all counts) (Evidence, bool) {
	n, f, N, F := m.ill.mark.since(own, all)
	ev := Evidence{Criterion: m.ill.verdict.Criterion, Calls: n, Failures: f, PeerCalls: N, PeerFailures: F, Since: m.ill.mark.at, Bound: p.rule.Evidence}
	if n < 2*int64(p.rule.MinFailures) || float64(f) > float64(n)*p.tolerated(rate(F, N)) {
		return ev, false
	}
	// Were it as sick as it was, so few failures would be that unlikely.
	ev.Nats = float64(n) * divergence(rate(f, n), min(m.ill.rate, .99))
	return ev, rate(f, n) < m.ill.rate && ev.Nats >= ev.Bound
}

// stillSick judges a member that is held without a new failure.
func (m *Member) stillSick(now time.Duration, p *params) (Evidence, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	own, criteria := m.read(), m.criteria.Load()
	if ev, sick := criteria.absolute(now, p); sick {
		return ev, true
	}
	if criteria != nil && p.rule.LocalErrors > 0 && criteria.length >= p.rule.LocalErrors && criteria.unbroken(own) {
		return Evidence{}, true
	}
	if p.rule.AbsoluteOnly || p.instances < 2 {
		return Evidence{}, false
	}
	ev, well := m.recovered(p, own, m.peers.Load().read())
	return ev, !well
}

// fit brings those who are out within what the rule and the list allow: the least sick come back first. It never leaves a service empty.
func (g *Group) fit(now time.Duration) {
	p := g.params.Load()
	most := p.rule.maxOut(p.instances)
	if g.counted.out > most {
		var out []*Member
		for _, m := range g.list {
			if m.out() && m.pin == notPinned && !m.listed.Load().Drained {
				out = append(out, m)
			}
		}
		slices.SortStableFunc(out, func(a, b *Member) int {
			switch {
			case a.ill.rate < b.ill.rate:
				return -1
			case a.ill.rate > b.ill.rate:
				return 1
			}
			return 0
		})
		for _, m := range out[:min(len(out), g.counted.out-most)] {
			g.hold(now, m, fmt.Sprintf("sick, but only %d of %d may be out", most, p.instances))
		}
	}
	if p.rule.MayEmpty || g.anyOpen(nil) {
		return
	}
	for _, m := range g.list { // none but those that were put out by hand
		if m.pin == pinnedOut && !m.listed.Load().Drained {
			g.unpin(now, m, "no other instance is left")
			return
		}
	}
}

// anyOpen reports whether an instance is in service, other than that one.
func (g *Group) anyOpen(but *Member) bool {
	for _, m := range g.list {
		if m != but && m.gate.Load()&gateMask == gateOpen {
			return true
		}
	}
	return false
}
