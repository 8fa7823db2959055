package isolation

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// still is a jitter too small to see.
const still = 1e-12

// instances returns a list of n instances.
func instances(n int) []Instance {
	list := make([]Instance, n)
	for i := range list {
		list[i].Address = address(i)
	}
	return list
}

func address(i int) string { return fmt.Sprintf("10.0.%d.%d:80", i/256, i%256) }

// A play is a group whose calls, time and events a test has in hand.
type play struct {
	t      testing.TB
	g      *Group
	now    time.Duration
	events []Event
	n      int // of instances there were at first
}

// newPlay returns a play of n instances under a rule.
func newPlay(t testing.TB, r Rule, n int) *play {
	t.Helper()
	p := &play{t: t, now: time.Minute, n: n}
	g, err := NewGroup("orders", Config{Rule: &r, Seed: 1, Now: p.now, OnEvent: func(e Event) { p.events = append(p.events, e) }})
	require.NoError(t, err)
	t.Cleanup(g.Close)
	p.g = g
	g.Update(p.now, instances(n))
	return p
}

func (p *play) member(i int) *Member { return p.g.Member(address(i)) }

func (p *play) state(i int) State {
	p.t.Helper()
	w, ok := p.g.Why(p.now, address(i))
	require.True(p.t, ok, "instance %d", i)
	return w.State
}

// call calls instance i, and reports whether it could be called.
func (p *play) call(i int, o Outcome) bool {
	p.g.View(p.now)
	m := p.member(i)
	if m == nil {
		return false
	}
	c, ok := m.Begin(p.now)
	if ok {
		c.End(p.now, o)
	}
	return ok
}

// wait lets time pass and does what is due.
func (p *play) wait(d time.Duration) {
	p.now += d
	p.g.Tick(p.now)
}

// till lets time pass up to that reading, if it is to come.
func (p *play) till(at time.Duration) { p.wait(max(at-p.now, 0)) }

// calm gives all but the sick ones so many good calls each, 10ms apart.
func (p *play) calm(rounds int, sick ...int) {
	for range rounds {
		p.now += 10 * ms
		for i := range p.n {
			if !slices.Contains(sick, i) {
				p.call(i, Success)
			}
		}
	}
}

// sicken makes an instance fail beside good peers until there is an event, which it returns.
func (p *play) sicken(i int, others ...int) Event {
	p.t.Helper()
	before := len(p.events)
	for range 2000 {
		p.calm(1, append(others, i)...)
		p.call(i, Failure)
		for _, e := range p.events[before:] {
			if e.Address == address(i) || e.Address == "" {
				return e
			}
		}
	}
	require.FailNow(p.t, "no verdict", "instance %d is %v", i, p.state(i))
	return Event{}
}

// heal lets an instance out of a quarantine by good probes, up to the beginning of its slow start.
func (p *play) heal(i int) {
	p.t.Helper()
	p.till(p.member(i).until)
	for range 100 {
		require.Equal(p.t, Probing, p.state(i))
		p.call(i, Success)
		if p.state(i) == SlowStart {
			return
		}
		p.wait(p.g.params.Load().rule.ProbeEvery)
	}
	require.FailNow(p.t, "probes do not bring it back")
}

// kinds returns the kinds of the events of an address ("" for the group's own).
func (p *play) kinds(address string) (kinds []EventKind) {
	for _, e := range p.events {
		if e.Address == address {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

// count returns how many events of a kind there were.
func (p *play) count(k EventKind) (n int) {
	for _, e := range p.events {
		if e.Kind == k {
			n++
		}
	}
	return n
}

// check holds what must hold at every moment.
func check(t require.TestingT, g *Group, now time.Duration) {
	v := g.View(now)
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.params.Load()
	var want tally
	byHand, open, probing := 0, 0, 0
	for _, m := range g.list {
		require.Same(t, m, (*g.members.Load())[m.Address()])
		require.NotNil(t, m.peers.Load())
		if m.listed.Load().Drained {
			require.EqualValues(t, gateShut, m.gate.Load()&gateMask)
			continue
		}
		want.instances++
		if m.pin != notPinned {
			require.Equal(t, InService, m.state)
		}
		if m.pin == pinnedOut {
			byHand++
			want.out++
		}
		if m.out() {
			want.out++
		}
		if m.state == Held {
			want.held++
		}
		if m.out() || m.state == Held {
			want.sick++
			require.NotNil(t, m.ill)
			require.NotEmpty(t, m.ill.reason)
		}
		require.False(t, p.off && (m.out() || m.state == Held || m.strikes != 0), "without a rule nothing is sick")
		require.False(t, g.fallback != nil && (m.out() || m.state == Held || m.state == SlowStart), "in a fallback all are in service")
		require.False(t, m.strikes < 0 || m.strikes > 64)
		shadow := p.off || p.rule.Shadow
		switch m.gate.Load() & gateMask {
		case gateOpen:
			open++
			require.True(t, m.pin != pinnedOut && (shadow || !m.out()))
		case gateProbing:
			probing++
			require.True(t, !shadow && m.state == Probing && m.pin == notPinned)
		default:
			require.True(t, m.pin == pinnedOut || !shadow && m.state == Quarantined)
		}
	}
	require.Equal(t, want, g.counted, "the counts are those of a recount")
	require.Len(t, *g.members.Load(), len(g.list))
	require.Equal(t, g.muted.Load(), g.fallback != nil)
	most := p.rule.maxOut(want.instances)
	require.LessOrEqual(t, want.out, max(most, byHand), "never above the cap")
	if want.instances > 0 && !p.rule.MayEmpty {
		require.Positive(t, open, "never empty")
		require.NotEmpty(t, v.Candidates)
		require.NoError(t, v.Err())
	}
	require.LessOrEqual(t, len(g.gone), max(mostRemembered, len(g.list)))
	for _, c := range v.Candidates {
		require.True(t, c.Weight > 0 && c.Weight <= 1e12, "weight %v", c.Weight)
	}
}
