package isolation

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// heap returns the bytes of heap in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Faults #44: of instances that fail and leave nothing stays: no goroutine, no entry, no memory, once they need not be remembered.
func TestWhatLeavesIsFreed(t *testing.T) {
	p := newPlay(t, Rule{MaxShare: .9, NoFallback: true, MinSuccessRate: .5, MinCalls: 5, LocalErrors: 5}, 1)
	stay := instances(2)
	goroutines := runtime.NumGoroutine()
	round := func() {
		p.g.Update(p.now, instances(1000))
		p.n = 1000
		for range 6 {
			p.now += 10 * ms
			for i := range p.n {
				p.call(i, LocalError)
			}
		}
		require.Equal(t, 900, p.g.Snapshot(p.now).Out)
		p.g.Update(p.now, stay)
		require.Len(t, *p.g.members.Load(), 2)
		require.NotEmpty(t, p.g.gone)
		p.wait(11 * time.Minute)
		require.Empty(t, p.g.gone)
		p.events = nil
	}
	round()
	before := heap()
	for range 5 {
		round()
	}
	require.Less(t, heap()-before, int64(40_000), "bytes, after 5000 instances of over 500 each")
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	check(t, p.g, p.now)
}

// Faults #45: failures that come in beyond those that decided do not spoil the next verdict.
func TestFailuresPastTheVerdict(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still, LocalErrors: 5, Probes: 1}, 5)
	for range 3 {
		p.calm(20, 0)
		var calls []Call
		for range 8 {
			c, ok := p.member(0).Begin(p.now)
			require.True(t, ok)
			calls = append(calls, c)
		}
		before := p.count(EventQuarantined)
		for i := range calls {
			p.calm(1, 0)
			calls[i].End(p.now, LocalError)
		}
		require.Equal(t, before+1, p.count(EventQuarantined))
		require.Equal(t, Quarantined, p.state(0))
		p.heal(0)
	}
}

// Faults #48: one failure of one call is no failure rate, and the idle are not in the mean.
func TestFewCallsAndIdlePeers(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 3)
	p.call(0, Failure)
	require.Equal(t, InService, p.state(0))
	for range 1000 { // its peers are idle: there is nothing to compare it with
		p.now += 100 * ms
		p.call(0, Failure)
	}
	require.Equal(t, InService, p.state(0))
	require.Empty(t, p.events)
	p = newPlay(t, Rule{MinSuccessRate: .9, MinCalls: 10, AbsoluteOnly: true}, 3)
	p.call(0, Failure)
	require.Equal(t, InService, p.state(0))
}

// Faults #50: among instances that all but never fail, the one that fails once in a thousand calls is no outlier.
func TestTinyDifferences(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 5)
	p.failAt(50_000, map[int]float64{0: .001})
	p.failAt(5000, map[int]float64{0: .02})
	require.Empty(t, p.events)
}

// Faults #98: what a call costs does not depend on how many instances there are: it touches its own instance, its peers' totals and the view, and
// allocates nothing. The number of instances that a call could look at is counted by what it reads of each: were it to load every
// member's gate, a poisoned member would show it.
func TestACallLooksAtNoOtherInstance(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{LocalErrors: 50, MinSuccessRate: .01}, 1000)
	p.g.View(p.now)
	m := p.member(0)
	for _, other := range p.g.list[1:] {
		other.mu.Lock() // whoever looks at its detector waits for ever
	}
	p.g.mu.Lock() // and whoever looks at the list
	for range 100 {
		p.g.View(p.now)
		c, ok := m.Begin(p.now)
		require.True(t, ok)
		c.End(p.now, Success)
		c, ok = m.Begin(p.now)
		require.True(t, ok)
		c.End(p.now, Failure)
	}
	p.g.mu.Unlock()
	for _, other := range p.g.list[1:] {
		other.mu.Unlock()
	}
}
