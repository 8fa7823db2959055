package isolation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPinOut(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 3)
	require.NoError(t, p.g.Pin(p.now, address(0), false, time.Minute))
	require.Equal(t, PinnedOut, p.state(0))
	require.False(t, p.call(0, Success))
	require.Len(t, p.g.View(p.now).Candidates, 2)
	e := p.events[0]
	require.Equal(t, EventPinned, e.Kind)
	require.Equal(t, p.now+time.Minute, e.Until)
	require.Equal(t, "kept out of service by hand", e.Reason)
	w, _ := p.g.Why(p.now, address(0))
	require.Equal(t, time.Minute, w.Left)
	check(t, p.g, p.now)
	p.wait(time.Minute - 1)
	require.Equal(t, PinnedOut, p.state(0))
	p.wait(1)
	require.Equal(t, SlowStart, p.state(0), "it starts slowly")
	require.Equal(t, EventUnpinned, p.events[1].Kind)
	require.Equal(t, "its time is over", p.events[1].Reason)
}

// A pin in ends a quarantine, and no verdict takes the instance out while it lasts.
func TestPinIn(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still}, 5)
	p.sicken(0)
	require.NoError(t, p.g.Pin(p.now, address(0), true, 0))
	require.Equal(t, PinnedIn, p.state(0))
	for range 500 {
		p.calm(1, 0)
		require.True(t, p.call(0, Failure))
	}
	require.Equal(t, 1, p.count(EventQuarantined))
	w, _ := p.g.Why(p.now, address(0))
	require.Equal(t, PinnedIn, w.State)
	require.Equal(t, "peers", w.Now.Criterion, "it is sick all the same, and Why says so")
	require.Greater(t, w.Now.Nats, w.Now.Bound)
	check(t, p.g, p.now)
	require.NoError(t, p.g.Unpin(p.now, address(0)))
	require.Equal(t, InService, p.state(0))
	require.Equal(t, 2., p.sicken(0).Strikes, "its strike is kept")
}

// Nobody may pin the last one out: neither the only one in service, nor one of two when the other is out.
func TestTheLastCannotBePinnedOut(t *testing.T) {
	t.Parallel()
	one := newPlay(t, Rule{}, 1)
	require.ErrorIs(t, one.g.Pin(one.now, address(0), false, 0), ErrLastInstance)
	two := newPlay(t, Rule{}, 2)
	require.NoError(t, two.g.Pin(two.now, address(0), false, 0))
	require.ErrorIs(t, two.g.Pin(two.now, address(1), false, 0), ErrLastInstance)
	require.NoError(t, two.g.Pin(two.now, address(0), false, time.Minute), "again, with another end")

	p := newPlay(t, Rule{MinSuccessRate: .5, MinCalls: 5}, 2)
	p.sicken(0)
	require.ErrorIs(t, p.g.Pin(p.now, address(1), false, 0), ErrLastInstance)
	p.till(p.member(0).until)
	require.ErrorIs(t, p.g.Pin(p.now, address(1), false, 0), ErrLastInstance, "one that is probed is not in service")
	require.NoError(t, p.g.Pin(p.now, address(0), false, 0))
	check(t, p.g, p.now)

	shadow := newPlay(t, Rule{Shadow: true, MinSuccessRate: .5, MinCalls: 5}, 2)
	shadow.sicken(0)
	require.NoError(t, shadow.g.Pin(shadow.now, address(1), false, 0), "in shadow the sick one serves")
	check(t, shadow.g, shadow.now)

	drained := newPlay(t, Rule{}, 2)
	list := instances(2)
	list[0].Drained = true
	drained.g.Update(drained.now, list)
	require.ErrorIs(t, drained.g.Pin(drained.now, address(1), false, 0), ErrLastInstance)

	empty := newPlay(t, Rule{MayEmpty: true, MaxShare: 1, NoFallback: true}, 2)
	require.NoError(t, empty.g.Pin(empty.now, address(0), false, 0))
	require.NoError(t, empty.g.Pin(empty.now, address(1), false, 0))
	require.ErrorIs(t, empty.g.View(empty.now).Err(), ErrAllOut)
}

// When the others leave, a pin out ends before the service is empty.
func TestAPinOutEndsWhenNoOtherIsLeft(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 3)
	require.NoError(t, p.g.Pin(p.now, address(0), false, 0))
	require.NoError(t, p.g.Pin(p.now, address(1), false, 0))
	p.g.Update(p.now, instances(2))
	check(t, p.g, p.now)
	require.Equal(t, 1, p.count(EventUnpinned))
	require.Equal(t, "no other instance is left", p.events[len(p.events)-1].Reason)
	require.Len(t, p.g.View(p.now).Candidates, 1)
}

// A rule that no longer lets the service be empty ends a pin too.
func TestAPinOutEndsWhenTheServiceMayNotBeEmpty(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{MayEmpty: true, MaxShare: 1, NoFallback: true}, 2)
	require.NoError(t, p.g.Pin(p.now, address(0), false, 0))
	require.NoError(t, p.g.Pin(p.now, address(1), false, 0))
	require.NoError(t, p.g.SetRule(p.now, &Rule{}))
	check(t, p.g, p.now)
}

// Those who are out by hand count among those who are out: the rule may put out so many fewer.
func TestPinsCountForTheCap(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{MaxShare: .4}, 5)
	require.NoError(t, p.g.Pin(p.now, address(4), false, 0))
	require.Equal(t, EventQuarantined, p.sicken(0, 4).Kind)
	require.Equal(t, EventHeld, p.sicken(1, 0, 4).Kind)
	check(t, p.g, p.now)
	p = newPlay(t, Rule{MaxShare: .2}, 5)
	p.sicken(0)
	require.NoError(t, p.g.Pin(p.now, address(4), false, 0))
	require.Equal(t, Held, p.state(0), "a pin takes the place")
	check(t, p.g, p.now)
}

// A pin outlives the instance's leaving and coming back; its end may come in between.
func TestPinsAreRemembered(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 3)
	require.NoError(t, p.g.Pin(p.now, address(0), false, time.Minute))
	p.g.Update(p.now, instances(3)[1:])
	p.g.Update(p.now, instances(3))
	require.Equal(t, PinnedOut, p.state(0))
	p.g.Update(p.now, instances(3)[1:])
	p.wait(2 * time.Minute)
	p.g.Update(p.now, instances(3))
	p.wait(1)
	require.Equal(t, SlowStart, p.state(0))
	check(t, p.g, p.now)
}

func TestPinsOfNobody(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 3)
	require.ErrorIs(t, p.g.Pin(p.now, "nobody", false, 0), ErrUnknownInstance)
	require.ErrorContains(t, p.g.Pin(p.now, "nobody", false, 0), `"nobody" in "orders"`)
	require.ErrorIs(t, p.g.Unpin(p.now, "nobody"), ErrUnknownInstance)
	require.ErrorContains(t, p.g.Pin(p.now, address(0), false, -sec), "want 0 or more")
	require.NoError(t, p.g.Unpin(p.now, address(0)), "without a pin nothing happens")
	require.Empty(t, p.events)
}
