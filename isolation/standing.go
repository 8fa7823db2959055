package isolation

import (
	"math"
	"time"
)

// standing is where an instance stands. Group.mu guards it.
type standing struct {
	// state is InService, SlowStart, Quarantined, Probing or Held; InService while pin is another than notPinned.
	state       State
	pin         pin
	left        bool // the list has it no longer
	leases      uint32
	quarantines uint32
	// since is when the state began; until is when the quarantine, or else the pin, ends (0: a pin that has no end).
	since, until time.Duration
	// strikes is how often it came back sick; good service takes them away.
	strikes float64
	// earned is how many of its strikes were more than said: those it had when the rule went into shadow.
	earned float64
	good   time.Duration // since when it serves well
	ill    *illness      // what the last verdict on it said; nil if there was none
}

type pin uint8

const (
	notPinned pin = iota
	pinnedIn
	pinnedOut
)

// illness is a verdict and what followed.
type illness struct {
	verdict Evidence
	reason  string
	// rate is how sick the instance was, strikes how many it had before.
	rate, strikes float64
	// mark is the counts when the quarantine began, or when one that is held was last found sick by what it had done since the mark before; doubted is true if it did better
	// since than it had.
	mark    mark
	doubted bool
	// tried and streak are the probes since the last quarantine, and the successes among them in a row; forgiven is true when one failure was.
	tried, streak int
	forgiven      bool
	// lease is the probe under way, since leased; 0 for none.
	lease  uint32
	leased time.Duration
}

// out reports whether the rule has it out of service (or would, in shadow).
func (s *standing) out() bool { return s.state == Quarantined || s.state == Probing }

// tally counts a group's instances; none that is drained is in it.
type tally struct {
	instances, out, held, sick int
}

// count adds a member to the group's counts, or takes it off.
func (g *Group) count(m *Member, n int) {
	if m.listed.Load().Drained {
		return
	}
	c := &g.counted
	c.instances += n
	switch {
	case m.pin == pinnedOut:
		c.out += n
	case m.pin == pinnedIn:
	case m.out():
		c.out += n
		c.sick += n
	case m.state == Held:
		c.held += n
		c.sick += n
	}
}

// enter makes a state a member's.
func (g *Group) enter(now time.Duration, m *Member, s State) {
	g.count(m, -1)
	m.state, m.since = s, now
	g.count(m, 1)
}

// setGate opens or shuts a member's gate as it stands, and clears what its detector held against it: results of calls that began before count no more.
func (g *Group) setGate(now time.Duration, m *Member) {
	p := g.params.Load()
	kind := uint64(gateOpen)
	switch {
	case m.left, m.listed.Load().Drained, m.pin == pinnedOut:
		kind = gateShut
	case m.pin == pinnedIn, p.off, p.rule.Shadow:
	case m.state == Quarantined:
		kind = gateShut
	case m.state == Probing:
		kind = gateProbing
	}
	number := m.gate.Load()>>gateBits + 1
	m.gate.Store(number<<gateBits | kind)
	m.mu.Lock()
	m.detector.clear()
	criteria := m.criteria.Load()
	if criteria != nil {
		criteria.length = 0
		criteria.alone.open = false
	}
	m.mu.Unlock()
	if criteria != nil && criteria.window != nil {
		criteria.window.Reset(now)
	}
	g.hurry(now)
}

// hurry makes the next View do what is due. The views of large groups are not built anew for every single change: gates are what keeps calls out.
func (g *Group) hurry(now time.Duration) {
	const large = 256
	at := now
	if n := len(g.list); n >= large {
		at = g.builtAt + time.Duration(n)*time.Microsecond
	}
	if int64(at) < g.due.Load() {
		g.due.Store(int64(at))
	}
}

// markNow returns the counts of now.
func (m *Member) markNow(now time.Duration) mark {
	return mark{m.read(), m.peers.Load().read(), now}
}

// forgotten is how few strikes are none.
const forgotten = .05

// strikesLeft returns how many strikes good service has left a member by now.
func (g *Group) strikesLeft(p *params, m *Member, now time.Duration) float64 {
	if m.state != InService && m.state != SlowStart || m.pin == pinnedOut || g.fallback != nil || now <= m.good {
		return m.strikes
	}
	strikes := m.strikes * math.Exp2(-float64(now-m.good)/float64(p.rule.StrikeHalfLife))
	if strikes < forgotten {
		return 0
	}
	return strikes
}

// serve takes away strikes for the good service up to now.
func (g *Group) serve(p *params, m *Member, now time.Duration) {
	if left := g.strikesLeft(p, m, now); left < m.strikes {
		m.strikes, m.good = left, now
	}
}

// strikes returns a member's strikes as they are shown everywhere, to a tenth.
func (g *Group) strikes(now time.Duration, m *Member) float64 {
	return math.Round(10*g.strikesLeft(g.params.Load(), m, now)) / 10
}

// recover puts a member back in service with its whole share.
func (g *Group) recover(now time.Duration, m *Member) {
	g.serve(g.params.Load(), m, now)
	g.enter(now, m, InService)
	m.good = now
	g.setGate(now, m)
}

// leave forgets the strikes of the old rule that are none under the new one: all without a rule, and out of shadow those that were only said.
func (s *standing) leave(old, p *params) {
	switch {
	case p.off:
		s.strikes, s.earned = 0, 0
	case p.rule.Shadow && !old.rule.Shadow:
		s.earned = s.strikes
	case old.rule.Shadow && !p.rule.Shadow:
		s.strikes = min(s.strikes, s.earned)
	}
}

// length returns how long a quarantine lasts after so many strikes.
func (g *Group) length(p *params, strikes float64) time.Duration {
	length := float64(p.rule.Base) * math.Exp2(math.Round(strikes))
	length = min(length, float64(p.rule.Max))
	return time.Duration(length * (1 + p.rule.Jitter*(2*g.random.Float64()-1)))
}

// quarantine puts a member out of service for what ill says. A strike makes its next quarantine longer.
func (g *Group) quarantine(now time.Duration, m *Member, ill *illness, strike bool) {
	p := g.params.Load()
	before := m.strikes
	if !strike && m.ill != nil {
		before = m.ill.strikes // as long as the one before
	}
	ill.strikes = before
	m.until = now + g.length(p, before)
	if strike {
		m.strikes = min(m.strikes+1, p.mostStrikes)
	}
	g.enter(now, m, Quarantined)
	m.quarantines++
	g.putOut++
	ill.mark = m.markNow(now)
	m.ill = ill
	g.leastOut = min(g.leastOut, ill.rate)
	g.setGate(now, m)
	if p.rule.Shadow {
		m.review(m.until)
	}
	g.event(Event{
		Kind: EventQuarantined, Address: m.Address(), Region: m.Region(), At: now, Reason: ill.reason, Evidence: ill.verdict,
		Strikes: g.strikes(now, m), Until: m.until,
	})
}

// review makes the detector look at the member again at that time at the earliest.
func (m *Member) review(at time.Duration) {
	m.mu.Lock()
	m.reviewAt = at
	m.mu.Unlock()
}
