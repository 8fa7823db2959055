package isolation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Who is out stays out while others are still being connected to, and comes back for want of others only when the host says that there are none.
func TestWithhold(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still, Base: time.Hour}, 5)
	p.sicken(0)
	only := func(reachable ...int) []Instance {
		list := instances(5)
		for i := range list {
			list[i].Unreachable = true
		}
		for _, i := range reachable {
			list[i].Unreachable = false
		}
		return list
	}
	list := only(0)
	require.Equal(t, 1, p.g.Withhold(p.now, list))
	require.Equal(t, only(), list)
	p.g.Update(p.now, list)
	require.ErrorIs(t, p.g.View(p.now).Err(), ErrNoInstance)

	list = only(0, 1) // there is another: the cap lets one of two be out
	require.Zero(t, p.g.Withhold(p.now, list))
	p.g.Update(p.now, list)
	require.Equal(t, Quarantined, p.state(0))

	p.g.Update(p.now, only(1)) // gone from the host's sight, and from the list
	p.g.Update(p.now, instances(5)[1:])
	require.Equal(t, 1, p.g.Withhold(p.now, only(0)))
	require.Zero(t, p.g.Withhold(p.now, only(1)))
	p.g.Update(p.now, only(0))
	require.Equal(t, Held, p.state(0))
	require.Zero(t, p.g.Withhold(p.now, only(0)), "it is not out any more")
}

// Pins by hand are withheld as well: without that, the last one reachable would lose its pin.
func TestWithholdPins(t *testing.T) {
	t.Parallel()
	for _, r := range []Rule{{}, {Shadow: true}, {MayEmpty: true, NoFallback: true, MaxShare: 1}} {
		p := newPlay(t, r, 3)
		require.NoError(t, p.g.Pin(p.now, address(0), false, 0))
		list := instances(3)
		list[1].Unreachable, list[2].Drained = true, true
		want := 1
		if r.MayEmpty {
			want = 0 // it stays out anyhow
		}
		require.Equal(t, want, p.g.Withhold(p.now, list))
		if want == 1 {
			require.True(t, list[0].Unreachable)
		}
		p.g.Update(p.now, list)
		p.g.Update(p.now, instances(3))
		require.Equal(t, PinnedOut, p.state(0))
	}
}

func TestWithholdWithoutARuleOrAGroup(t *testing.T) {
	t.Parallel()
	g, err := NewGroup("orders", Config{})
	require.NoError(t, err)
	g.Update(0, instances(2))
	require.Zero(t, g.Withhold(0, instances(1)))
	g.Close()
	require.Zero(t, g.Withhold(0, instances(1)))
}
