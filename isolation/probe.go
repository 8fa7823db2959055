package isolation

import (
	"fmt"
	"time"
)

// lease lends the call the probe of its member, if it may be had. It does not wait: then another instance is chosen.
func (g *Group) lease(now time.Duration, c *Call) bool {
	if !g.mu.TryLock() {
		return false
	}
	defer g.mu.Unlock()
	m := c.member
	if m.gate.Load() != c.gate || m.left || m.state != Probing || int64(now) < m.nextProbe.Load() {
		return false
	}
	p := g.params.Load()
	if m.leases++; m.leases == 0 {
		m.leases = 1
	}
	c.lease = m.leases
	m.ill.lease, m.ill.leased = c.lease, now
	m.nextProbe.Store(int64(now + p.rule.ProbeLease)) // then it is given up for lost
	return true
}

// probed is told what a probe came to.
func (g *Group) probed(now time.Duration, c *Call, o Outcome) {
	g.mu.Lock()
	m := c.member
	if m.gate.Load() == c.gate && !m.left && m.state == Probing && m.ill.lease == c.lease {
		g.learn(now, m, o)
	}
	g.mu.Unlock()
	g.tell()
}

// learn draws the conclusion from a probe.
func (g *Group) learn(now time.Duration, m *Member, o Outcome) {
	p, ill := g.params.Load(), m.ill
	ill.lease = 0
	m.nextProbe.Store(int64(max(ill.leased+p.rule.ProbeEvery, now)))
	switch o {
	case Success:
		ill.tried++
		if ill.streak++; ill.streak >= p.rule.Probes {
			g.readmit(now, m)
		}
		return
	case Ignored, Throttled: // it says nothing: the next call may probe
		return
	}
	ill.tried++
	_, _, N, F := ill.mark.since(m.read(), m.peers.Load().read())
	peers := rate(F, N)
	known := N >= int64(p.rule.PeersMinCalls)
	if known && peers >= p.rule.PeersNoisy && !ill.forgiven {
		ill.forgiven = true
		return
	}
	failed := int64(ill.tried - ill.streak)
	ev := Evidence{
		Criterion: "probes", Calls: int64(ill.tried), Failures: failed, PeerCalls: N, PeerFailures: F, Since: ill.mark.at,
		Nats: float64(failed), Bound: float64(1),
	}
	if ill.forgiven {
		ev.Bound = 2
	}
	next := &illness{verdict: ev, reason: ev.String(), rate: ill.rate}
	strike := !known || peers < p.rule.PeersFailing
	if !strike {
		next.reason += "; no strike, since they fail too"
	}
	g.quarantine(now, m, next, strike)
}

// readmit lets a member back in service, slowly.
func (g *Group) readmit(now time.Duration, m *Member) {
	p := g.params.Load()
	g.enter(now, m, SlowStart)
	m.good = now
	g.setGate(now, m)
	g.event(Event{
		Kind: EventReadmitted, Address: m.Address(), Region: m.Region(), At: now, Strikes: g.strikes(now, m),
		Reason: fmt.Sprintf("%d probes in a row succeeded; its share grows from %s to all within %v", m.ill.streak, percent(p.rule.SlowStartFrom), p.rule.SlowStart),
		Until:  now + p.rule.SlowStart,
	})
}

// Checked tells the group that an active check of the instance succeeded just now. It ends the wait in quarantine once the rule's Base is over; the
// probes must succeed all the same. It reports whether it shortened the wait.
func (g *Group) Checked(now time.Duration, address string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.Member(address)
	if m == nil || m.state != Quarantined || m.pin != notPinned {
		return false
	}
	earliest := max(now, m.since+g.params.Load().rule.Base)
	if earliest >= m.until {
		return false
	}
	m.until = earliest
	g.due.Store(min(g.due.Load(), int64(earliest)))
	return true
}
