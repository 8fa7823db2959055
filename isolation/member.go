package isolation

import (
	"sync"
	"sync/atomic"
	"time"
)

// Member is a live instance of a group. It stays usable after the instance has left the list.
type Member struct {
	group  *Group
	listed atomic.Pointer[Instance] // as the list has it

	// gate says who may call, and carries a number that changes with it: a call whose result comes when it is another is not counted.
	gate  atomic.Uint64
	peers atomic.Pointer[peers]
	totals
	latency  atomic.Int64             // the mean of late successes
	criteria atomic.Pointer[criteria] // nil if the rule has none besides the comparison with the peers
	// nextProbe is the reading from which on a probe may be had, while the gate is probing.
	nextProbe atomic.Int64

	// mu guards the detector. It may be taken while Group.mu is held, and not the other way round.
	mu sync.Mutex
	detector

	// Group.mu guards what follows.
	standing
}

// The gate's kinds, its low bits.
const (
	gateOpen = iota
	gateProbing
	gateShut
	gateBits = 2
	gateMask = 1<<gateBits - 1
)

// Address returns the instance's address.
func (m *Member) Address() string { return m.listed.Load().Address }

// Region returns the instance's region.
func (m *Member) Region() string { return m.listed.Load().Region }

// InFlight returns how many calls to it are under way.
func (m *Member) InFlight() int { return int(m.inFlight()) }

// Call is a call under way. It must end once, by a deferred End say: one that is forgotten is in flight for ever, which a strategy that goes by the calls
// under way takes for load. To end the same Call again does nothing; a copy's end counts once more, though those in flight never become fewer than none.
type Call struct {
	member *Member
	peers  *peers
	start  time.Duration
	began  stage // the counts at the start
	gate   uint64
	lease  uint32 // of a probe; else 0
}

// Begin begins a call to the instance. It reports false if the instance may not be called now: it is quarantined, a probe is under way
// already, or it has left the list. Then another one is to be chosen.
func (m *Member) Begin(now time.Duration) (Call, bool) {
	c := Call{member: m, start: now, gate: m.gate.Load()}
	if kind := c.gate & gateMask; kind != gateOpen {
		if kind == gateShut || int64(now) < m.nextProbe.Load() || !m.group.lease(now, &c) {
			return Call{}, false
		}
	}
	c.peers = m.peers.Load()
	c.began = stage{m.begin(), c.peers.begin()}
	if all := &m.group.all; c.peers != all {
		all.begin()
	}
	return c, true
}

// Member returns the instance that is called; nil for a Call that never began.
func (c *Call) Member() *Member { return c.member }

// Address returns the address of the instance that is called; "" for a Call that never began.
func (c *Call) Address() string {
	if c.member == nil {
		return ""
	}
	return c.member.Address()
}

// Probe reports whether the call decides over the instance's return.
func (c *Call) Probe() bool { return c.lease != 0 }

// End ends the call. now is the reading at which it ended.
func (c *Call) End(now time.Duration, o Outcome) {
	m := c.member
	if c.peers == nil { // it has ended, or never began
		return
	}
	o = c.Counts(now, o)
	p, all := c.peers, &m.group.all
	c.peers = nil
	if o == Success {
		m.observe(now - c.start)
	}
	if o == Ignored || c.lease != 0 || m.gate.Load() != c.gate {
		m.drop()
		p.drop()
		if p != all {
			all.drop()
		}
		if c.lease != 0 {
			m.group.probed(now, c, o)
		}
		return
	}
	criteria := m.criteria.Load()
	if criteria != nil && (o == LocalError || o == Throttled) {
		m.endNeutral(criteria)
	} else {
		m.end()
	}
	p.end()
	if p != all {
		all.end()
	}
	if criteria != nil {
		criteria.countIn(now, o)
	}
	if o == Success {
		return
	}
	m.fails.Add(1)
	p.fails.Add(1)
	if p != all {
		all.fails.Add(1)
	}
	m.group.failed(now, c, p, o)
}

const (
	// An abandoned call is a failure if its caller had that much patience, and that many times what the instance takes for a success. Comparing
	// with the peers makes it safe: callers that give up for reasons of their own do so everywhere.
	patience      = time.Second
	patienceTimes = 10
)

// Counts returns the outcome that End counts when it is given o at that time: Failure or Ignored for Abandoned, and Ignored for what is no outcome.
// It is for hosts that judge the call by other measures besides.
func (c *Call) Counts(now time.Duration, o Outcome) Outcome {
	switch {
	case o <= Ignored:
		return o
	case o == Abandoned && c.member != nil:
		waited, usual := now-c.start, time.Duration(c.member.latency.Load())
		if waited >= patience && usual > 0 && waited/patienceTimes >= usual {
			return Failure
		}
	}
	return Ignored
}

// observe puts a success's latency into the mean. Of two at the same time one may be lost.
func (m *Member) observe(latency time.Duration) {
	latency = max(latency, 0)
	if mean := time.Duration(m.latency.Load()); mean != 0 {
		latency = mean + (latency-mean)/16
	}
	m.latency.Store(int64(latency))
}

// failed judges a failure that has been counted.
func (g *Group) failed(now time.Duration, c *Call, p *peers, o Outcome) {
	m := c.member
	par := g.params.Load()
	if par.off || !par.rule.judges(par.instances) || g.muted.Load() {
		return
	}
	m.mu.Lock()
	if m.gate.Load() != c.gate || m.peers.Load() != p {
		m.mu.Unlock()
		return
	}
	with, withAll := m.compared(p)
	own, all := m.read(), with.read()
	var ev Evidence
	sick := false
	criteria := m.criteria.Load()
	if o == LocalError {
		ev, sick = criteria.local(now, par, own, p.read())
		sick = sick && now >= m.reviewAt
	}
	if !sick && !par.rule.AbsoluteOnly {
		began := c.began
		if withAll { // what those had done then is not known
			began = stage{own.less().short(), all.less().short()}
		}
		ev, sick = m.judge(now, par, own, all, began, withAll, max(with.inFlight()-m.inFlight(), 0), float64(with.size.Load()))
	}
	if !sick && criteria != nil && par.rule.MayEmpty && par.instances > 1 && !par.rule.AbsoluteOnly {
		ev, sick = criteria.alone.judge(now, par, own, all, m.bound(now, par, all, float64(with.size.Load())))
		sick = sick && now >= m.reviewAt
	}
	if !sick && now >= m.reviewAt {
		ev, sick = criteria.absolute(now, par)
	}
	m.mu.Unlock()
	if p != &g.all && !par.rule.AbsoluteOnly {
		p.watch(now, par, &g.all)
	}
	if int64(now) >= g.lookAt.Load() {
		g.look(now)
	}
	if sick {
		g.sick(now, c.gate, m, ev)
	}
}

// compared returns whom a member with those peers is compared with: all, if its region is lost.
func (m *Member) compared(p *peers) (with *peers, all bool) {
	if p.lost.Load() {
		return &m.group.all, true
	}
	return p, false
}
