package isolation

import (
	"math"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

func TestUpdateCountsWhatItChanges(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 0)
	list := []Instance{{Address: "a", Weight: 2}, {}, {Address: "b", Region: "x"}, {Address: "a", Weight: 7}, {Address: "c", Drained: true}}
	require.Equal(t, Change{Added: 3, Ignored: 2}, p.g.Update(p.now, list))
	v := p.g.View(p.now)
	require.Len(t, v.Candidates, 2)
	require.Equal(t, 2, v.Instances)
	require.Equal(t, 2., v.Candidates[0].Weight, "the first of two with one address counts")
	check(t, p.g, p.now)

	list = []Instance{{Address: "b", Region: "y"}, {Address: "a", Weight: 2}, {Address: "c"}}
	require.Equal(t, Change{Changed: 2}, p.g.Update(p.now, list))
	require.Equal(t, "b", p.g.View(p.now).Candidates[0].Member.Address(), "in the order of the list")
	require.Equal(t, Change{}, p.g.Update(p.now, list))
	before := p.g.View(p.now)
	p.g.Update(p.now, list)
	require.Same(t, before, p.g.View(p.now), "the same list changes nothing")
	require.Equal(t, Change{Removed: 3}, p.g.Update(p.now, nil))
	require.ErrorIs(t, p.g.View(p.now).Err(), ErrNoInstance)
	check(t, p.g, p.now)
	require.Equal(t, Change{Added: 1}, p.g.Update(p.now, []Instance{{Address: "a", Drained: true}}))
	require.ErrorIs(t, p.g.View(p.now).Err(), ErrNoInstance)
	require.Equal(t, Change{Ignored: 1, Removed: 1}, p.g.Update(p.now, []Instance{{}}))
}

func TestAGroupBeforeItsFirstList(t *testing.T) {
	t.Parallel()
	g, err := NewGroup("orders", Config{Rule: &Rule{}})
	require.NoError(t, err)
	require.Equal(t, "orders", g.Service())
	require.ErrorIs(t, g.View(0).Err(), ErrNoInstance)
	require.Nil(t, g.Member("a"))
	require.False(t, g.Report(0, "a", Failure, 0))
	require.Empty(t, g.Snapshot(0).Instances)
	_, ok := g.Why(0, "a")
	require.False(t, ok)
	require.Empty(t, g.Waiting(0, nil))
	require.False(t, g.Checked(0, "a"))
	check(t, g, 0)
}

func TestWeights(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 0)
	for _, c := range []struct{ weight, want float64 }{
		{0, 1}, {-5, 1}, {math.NaN(), 1}, {math.Inf(1), 1}, {math.Inf(-1), 1}, {1e300, 1e12}, {1e-300, 1e-6}, {math.SmallestNonzeroFloat64, 1e-6}, {2.5, 2.5},
	} {
		list := []Instance{{Address: "a", Weight: c.weight}}
		p.g.Update(p.now, list)
		require.Equal(t, c.want, p.g.View(p.now).Candidates[0].Weight, "%v", c.weight)
		require.Equal(t, c.want, p.g.Snapshot(p.now).Instances[0].Weight)
		require.Equal(t, Change{}, p.g.Update(p.now, list), "%v is the same again", c.weight)
	}
}

// The group keeps no memory of the caller's.
func TestUpdateCopiesWhatItKeeps(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 0)
	page := strings.Repeat("x", 1000) + "10.0.0.1:80" + "zone-a"
	list := []Instance{{Address: page[1000:1011], Region: page[1011:]}}
	p.g.Update(p.now, list)
	m := p.g.Member("10.0.0.1:80")
	require.Equal(t, "zone-a", m.Region())
	within := func(s string) bool {
		at, from := uintptr(unsafe.Pointer(unsafe.StringData(s))), uintptr(unsafe.Pointer(unsafe.StringData(page)))
		return at >= from && at < from+uintptr(len(page))
	}
	require.False(t, within(m.Address()) || within(m.Region()))
	list[0].Weight = 3
	p.g.Update(p.now, list)
	require.False(t, within(m.Address()) || within(m.Region()))
	for address := range *p.g.members.Load() {
		require.False(t, within(address))
	}
	list[0].Address = "changed"
	require.NotNil(t, p.g.Member("10.0.0.1:80"))
}

// A sick one is found while the list changes with every call, in order, weights and length.
func TestAListThatChangesWithEveryCall(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 5)
	calls := 0
	for turn := 0; p.state(0) == InService; turn++ {
		list := instances(6)
		if turn%2 == 0 {
			list = list[:5]
		}
		for i := range list {
			list[i].Weight = float64(1 + (turn+i)%7)
		}
		k := turn % 5
		list[0], list[k] = list[k], list[0]
		p.g.Update(p.now, list)
		p.now += 10 * ms
		i := turn % 5
		o := Success
		if i == 0 {
			o = Failure
			calls++
		}
		require.True(t, p.call(i, o))
		require.Less(t, calls, 25)
		check(t, p.g, p.now)
	}
	require.Equal(t, Quarantined, p.state(0))
	require.Equal(t, 1, p.count(EventQuarantined))
}

// An address that returns while it is remembered keeps its strikes and the rest of its quarantine; later it is a new one.
func TestReturningAddresses(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still, Base: time.Minute, Remember: 10 * time.Minute}, 5)
	e := p.sicken(0)
	p.g.Update(p.now, instances(5)[1:])
	require.Nil(t, p.member(0))
	require.Equal(t, 1, p.g.Snapshot(p.now).Remembered)
	require.False(t, p.g.Report(p.now, address(0), Failure, 0), "it is not there")
	p.wait(30 * sec)
	require.Equal(t, Change{Added: 1, Returned: 1}, p.g.Update(p.now, instances(5)))
	require.Zero(t, p.g.Snapshot(p.now).Remembered)
	require.Equal(t, Quarantined, p.state(0))
	require.Equal(t, e.Until, p.member(0).until)
	require.False(t, p.call(0, Success))
	w, _ := p.g.Why(p.now, address(0))
	require.Equal(t, e.Reason, w.Reason)
	require.InDelta(t, 2*time.Minute, lasts(t, p.failProbe(0)), 1, "it keeps its strike")

	p.g.Update(p.now, instances(5)[1:])
	p.wait(5 * time.Minute) // the quarantine ends while it is away
	p.g.Update(p.now, instances(5))
	p.wait(1)
	require.Equal(t, Probing, p.state(0), "it is probed as any other")
	p.heal(0)

	p.g.Update(p.now, instances(5)[1:])
	p.wait(10*time.Minute - 1)
	require.Equal(t, 1, p.g.Snapshot(p.now).Remembered)
	p.wait(1)
	require.Zero(t, p.g.Snapshot(p.now).Remembered)
	require.Equal(t, Change{Added: 1}, p.g.Update(p.now, instances(5)))
	require.Equal(t, InService, p.state(0))
	require.Zero(t, p.member(0).strikes)
}

// What has nothing to be remembered for is not, and no more are than there may be.
func TestRememberedAreFew(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 5)
	p.calm(10)
	p.g.Update(p.now, nil)
	require.Zero(t, p.g.Snapshot(p.now).Remembered)

	p = newPlay(t, Rule{MaxShare: 1, NoFallback: true, MinSuccessRate: .5, MinCalls: 1, Remember: time.Hour}, 3000)
	for i := range 3000 {
		p.call(i, Failure)
		p.now += 1
	}
	require.Equal(t, 2999, p.g.Snapshot(p.now).Out)
	p.g.Update(p.now, instances(1))
	require.Equal(t, mostRemembered, p.g.Snapshot(p.now).Remembered)
	check(t, p.g, p.now)
}

// Instances that join start slowly if the rule says so, those of the first list excepted.
func TestSlowStartNew(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{SlowStartNew: true}, 4)
	for _, c := range p.g.View(p.now).Candidates {
		require.Equal(t, 1., c.Weight)
	}
	p.g.Update(p.now, instances(5))
	require.Equal(t, SlowStart, p.state(4))
	require.InDelta(t, .1, p.g.View(p.now).Candidates[4].Weight, 1e-9)
	p.wait(15 * sec)
	require.Equal(t, InService, p.state(4))
	require.Equal(t, 1., p.g.View(p.now).Candidates[4].Weight)
}

// Drained instances get no calls and are nobody's peers; calls under way may end; a quarantine goes on meanwhile.
func TestDrained(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still}, 5)
	c, _ := p.member(1).Begin(p.now)
	p.sicken(0)
	list := instances(5)
	list[0].Drained, list[1].Drained = true, true
	require.Equal(t, Change{Changed: 2}, p.g.Update(p.now, list))
	c.End(p.now, Failure)
	require.Zero(t, p.member(1).InFlight())
	require.Equal(t, []State{Drained, Drained}, []State{p.state(0), p.state(1)})
	require.False(t, p.call(1, Success))
	require.Len(t, p.g.View(p.now).Candidates, 3)
	require.Equal(t, 3, p.g.View(p.now).Instances)
	require.EqualValues(t, 3, p.g.all.size.Load())
	check(t, p.g, p.now)
	p.wait(sec)
	p.g.Update(p.now, instances(5))
	require.Equal(t, []State{Quarantined, InService}, []State{p.state(0), p.state(1)})
	check(t, p.g, p.now)
	p.g.Update(p.now, list)
	p.wait(time.Minute)
	require.Equal(t, Drained, p.state(0))
	require.False(t, p.call(0, Success), "no probe while it is drained")
	p.g.Update(p.now, instances(5))
	p.heal(0)
}

func TestTenThousandAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 10_000)
	require.Len(t, p.g.View(p.now).Candidates, 10_000)
	for range 4 {
		p.now += sec
		for i := 1; i < 300; i++ {
			p.call(i, Success)
		}
		for range 10 {
			p.call(0, Failure)
		}
	}
	require.Equal(t, Quarantined, p.state(0))
	check(t, p.g, p.now)
	require.Equal(t, Change{Removed: 9999}, p.g.Update(p.now, instances(1)))
	check(t, p.g, p.now)
}

// Results for what has left the list count nowhere.
func TestCallsThatEndAfterTheirInstanceLeft(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 5)
	m := p.member(0)
	var calls []Call
	for range 50 {
		c, _ := m.Begin(p.now)
		calls = append(calls, c)
	}
	p.g.Update(p.now, instances(5)[1:])
	for i := range 25 {
		calls[i].End(p.now, Failure)
	}
	p.g.Update(p.now, instances(5))
	require.NotSame(t, m, p.member(0))
	for i := 25; i < 50; i++ {
		calls[i].End(p.now, Failure)
	}
	_, ok := m.Begin(p.now)
	require.False(t, ok, "the old one is gone for good")
	require.Zero(t, m.InFlight())
	require.Zero(t, p.g.all.inFlight())
	require.Zero(t, p.g.all.calls())
	require.Equal(t, InService, p.state(0))
	require.Empty(t, p.events)
}

func TestReport(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still, Probes: 1}, 5)
	require.True(t, p.g.Report(p.now, address(0), Success, 30*ms))
	require.Equal(t, 30*ms, p.g.Snapshot(p.now).Instances[0].Latency)
	require.True(t, p.g.Report(p.now, address(0), Ignored, sec))
	require.Equal(t, 30*ms, p.g.Snapshot(p.now).Instances[0].Latency)
	require.True(t, p.g.Report(p.now, address(0), Success, -sec), "an end before its beginning counts as no time")
	require.Less(t, p.g.Snapshot(p.now).Instances[0].Latency, 30*ms)
	require.False(t, p.g.Report(p.now, "nobody", Success, 0))
	for p.state(0) == InService {
		p.calm(1, 0)
		p.g.Report(p.now, address(0), Failure, sec)
	}
	n := p.member(0).calls()
	require.True(t, p.g.Report(p.now, address(0), Success, 0))
	require.Equal(t, n, p.member(0).calls(), "it is out: no result of it counts")
	p.till(p.member(0).until)
	require.True(t, p.g.Report(p.now, address(0), Success, 0))
	require.Equal(t, SlowStart, p.state(0), "what is reported is a probe")
}

func TestClose(t *testing.T) {
	t.Parallel()
	closed := 0
	g, err := NewGroup("orders", Config{Rule: &Rule{}, OnClose: func() { closed++ }})
	require.NoError(t, err)
	g.Update(0, instances(5))
	m := g.Member(address(0))
	c, ok := m.Begin(0)
	require.True(t, ok)
	g.Close()
	g.Close()
	require.Equal(t, 1, closed)
	for _, v := range []*View{g.View(sec), g.Settled(sec), g.View(time.Hour)} {
		require.ErrorIs(t, v.Err(), ErrClosed)
		require.ErrorIs(t, v.Err(), ErrNoInstance)
	}
	require.EqualError(t, ErrClosed, "isolation: the service has no instances: the group is closed")
	require.Equal(t, Change{}, g.Update(sec, instances(5)))
	require.Nil(t, g.Member(address(0)))
	_, ok = m.Begin(sec)
	require.False(t, ok)
	c.End(sec, Failure)
	require.Zero(t, m.InFlight())
	require.NoError(t, g.SetRule(sec, nil))
	require.Empty(t, g.Snapshot(sec).Instances)
	check(t, g, sec)
}
