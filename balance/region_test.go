package balance

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cordon-go/cordon/isolation"
)

// inRegion returns which share of the calls a region got.
func inRegion(calls map[string]int, region string) float64 {
	own, all := 0, 0
	for a, n := range calls {
		all += n
		if strings.HasPrefix(a, region+"/") {
			own += n
		}
	}
	return float64(own) / float64(all)
}

func regions(o Options, n int) (Options, []isolation.Instance) {
	o.Region = "eu"
	return o, slices.Concat(in("us", n), in("eu", n), in("asia", n))
}

func names(list []isolation.Instance) (addresses []string) {
	for _, i := range list {
		addresses = append(addresses, i.Address)
	}
	return addresses
}

func TestOwnRegionFirst(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Strategy) {
		o, list := regions(Options{Strategy: s}, 10)
		w := newWorld(t, o, list)
		eu := names(in("eu", 10))
		got := w.calls(1000, nil)
		require.Len(t, got, 10)
		require.EqualValues(t, 1, inRegion(got, "eu"))

		w.out(eu[:3]...) // 7 of 10 are enough
		require.EqualValues(t, 1, inRegion(w.calls(1000, nil), "eu"))

		w.out(eu[3]) // 6 are not: they get their part
		got = w.calls(8000, nil)
		require.InDelta(t, 6/8., inRegion(got, "eu"), .02)
		require.InDelta(t, inRegion(got, "us"), inRegion(got, "asia"), .02)
		require.Len(t, got, 26)

		w.back(eu[3]) // 7 again: were enough to stay, and are not to come back
		w.now += time.Minute
		require.InDelta(t, 7/8., inRegion(w.calls(8000, nil), "eu"), .02)

		w.back(eu[2])
		w.now += time.Minute
		require.EqualValues(t, 1, inRegion(w.calls(1000, nil), "eu"))

		w.out(eu[2]) // 7, from above
		require.EqualValues(t, 1, inRegion(w.calls(1000, nil), "eu"))

		w.out(eu...) // a region without anybody is left
		require.Zero(t, inRegion(w.calls(1000, nil), "eu"))
	})
}

func TestRegionSwitch(t *testing.T) {
	t.Parallel()
	o, list := regions(Options{}, 4)
	w := newWorldUnder(t, &isolation.Rule{RegionMin: .5, RegionBack: .25, RegionSwitch: true}, o, list)
	eu := names(in("eu", 4))
	w.out(eu[:2]...)
	require.EqualValues(t, 1, inRegion(w.calls(100, nil), "eu"))
	w.out(eu[2])
	require.Zero(t, inRegion(w.calls(100, nil), "eu"))
	w.back(eu[2])
	w.now += time.Minute
	require.Zero(t, inRegion(w.calls(100, nil), "eu"))
	w.back(eu[1])
	w.now += time.Minute
	require.EqualValues(t, 1, inRegion(w.calls(100, nil), "eu"))
}

// A rule's change of the thresholds reaches the next call.
func TestRegionRuleIsHot(t *testing.T) {
	t.Parallel()
	o, list := regions(Options{}, 4)
	w := newWorld(t, o, list)
	w.out(names(in("eu", 4))[:2]...)
	require.InDelta(t, .5/.8, inRegion(w.calls(4000, nil), "eu"), .01)
	require.NoError(t, w.group.SetRule(w.now, &isolation.Rule{RegionMin: .3, RegionBack: .2}))
	require.EqualValues(t, 1, inRegion(w.calls(1000, nil), "eu"))
	require.NoError(t, w.group.SetRule(w.now, &isolation.Rule{RegionMin: 1, RegionBack: .5}))
	require.InDelta(t, .5, inRegion(w.calls(4000, nil), "eu"), .01)
}

func TestRegionsThatAreNone(t *testing.T) {
	t.Parallel()
	drained := in("eu", 4)
	for i := range drained {
		drained[i].Drained = true
	}
	for name, list := range map[string][]isolation.Instance{
		"nobody is in the own region":    slices.Concat(in("us", 4), in("", 4)),
		"all in the own one are drained": slices.Concat(in("us", 4), in("asia", 4), drained),
		"only the own one":               in("eu", 8),
		"no regions":                     in("", 8),
	} {
		w := newWorld(t, Options{Region: "eu"}, list)
		require.Len(t, w.calls(80, nil), 8, name)
	}
	_, list := regions(Options{}, 3)
	require.Len(t, newWorld(t, Options{}, list).calls(90, nil), 9, "a caller without a region")
}

// If nobody else is in service, the own region keeps all, however few are left.
func TestOthersAreOut(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Strategy) {
		o, list := regions(Options{Strategy: s}, 3)
		w := newWorld(t, o, list)
		eu := names(in("eu", 3))
		w.out(names(in("us", 3))...)
		w.out(names(in("asia", 3))...)
		w.out(eu[1:]...)
		require.Equal(t, map[string]int{eu[0]: 100}, w.calls(100, nil))
	})
}

// Under a spill a hash belongs to one region: the same calls stay and go, and when the region has less, only further ones go.
func TestSpilledHashesStay(t *testing.T) {
	t.Parallel()
	o, list := regions(Options{Strategy: ConsistentHash}, 10)
	w := newWorld(t, o, list)
	eu := names(in("eu", 10))
	const hashes = 4000
	inEU := func() (at []bool) {
		for _, a := range w.owners(hashes) {
			at = append(at, a[:3] == "eu/")
		}
		return at
	}
	w.out(eu[:5]...)
	five := inEU()
	require.Equal(t, five, inEU())
	w.out(eu[5:8]...)
	for h, in := range inEU() {
		require.False(t, in && !five[h], "hash %d comes when others go", h)
	}
}

// The share that stays has no jumps, and no flapping around the threshold: a model over any course of what is in service.
func TestSpillModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := &isolation.View{
			RegionMin: rapid.Float64Range(.01, 1).Draw(t, "min"), RegionBack: rapid.Float64Range(.001, .5).Draw(t, "back"),
			RegionSwitch: rapid.Bool().Draw(t, "switch"),
		}
		back := min(1, v.RegionMin+v.RegionBack)
		b := &Balancer{}
		left := false
		for _, h := range rapid.SliceOfN(rapid.OneOf(rapid.Float64Range(0, 1), rapid.Just(v.RegionMin), rapid.Just(back), rapid.Just(1.)), 1, 50).Draw(t, "in service") {
			share := b.share(v, h)
			require.False(t, share < 0 || share > 1 || math.IsNaN(share))
			switch {
			case h >= back:
				require.EqualValues(t, 1, share, "back")
				left = false
			case h < v.RegionMin-1e-6:
				require.Less(t, share, 1., "left")
				left = true
			case h >= v.RegionMin && !left:
				require.EqualValues(t, 1, share, "it stays")
			case left:
				require.Less(t, share, 1., "not back yet")
			}
			if share < 1 && !v.RegionSwitch {
				require.InDelta(t, h/back, share, 1e-9)
			}
		}
	})
}

// An instance of a region that nobody calls since all its instances are out must be probed all the same, or it would be out for ever.
func TestProbesOfALeftRegion(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Strategy) {
		o := Options{Strategy: s, Region: "eu"}
		w := newWorld(t, o, slices.Concat(in("us", 4), in("eu", 1)))
		sick := names(in("eu", 1))[0]
		answer := func(a string) isolation.Outcome {
			if a == sick && w.now > time.Second && w.now < 3*time.Second {
				return isolation.Failure
			}
			return isolation.Success
		}
		require.EqualValues(t, 1000, w.calls(1000, answer)[sick])
		// With no peers called nothing can be known; so others are explored, and the sick one is found.
		require.Less(t, w.calls(2000, answer)[sick], 1000)
		w.calls(60_000, answer)
		require.Equal(t, 1000, w.calls(1000, answer)[sick], "it is well, and has all calls again")
	})
}

// lost is a world in which the own region fails as a whole.
func lost(t *testing.T, s Strategy, n int) (w *world, events *[]isolation.Event) {
	events = new([]isolation.Event)
	o, list := regions(Options{Strategy: s, OnRegion: func(e isolation.Event) { *events = append(*events, e) }}, n)
	return newWorld(t, o, list), events
}

func (w *world) failing(share float64, of ...string) func(string) isolation.Outcome {
	calls := 0
	return func(a string) isolation.Outcome {
		for _, region := range of {
			if strings.HasPrefix(a, region) {
				calls++
				if math.Mod(float64(calls)*.618034, 1) < share {
					return isolation.Failure
				}
			}
		}
		return isolation.Success
	}
}

func TestLostRegionIsLeft(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Strategy) {
		for _, share := range []float64{1, .6} {
			w, events := lost(t, s, 5)
			w.calls(2000, nil)
			w.calls(1500, w.failing(share, "eu"))
			got := w.calls(1000, w.failing(share, "eu"))
			require.Less(t, inRegion(got, "eu"), .01)
			require.Equal(t, isolation.EventQuarantined, (*events)[0].Kind)
			require.Equal(t, "eu", (*events)[0].Address)
			require.Equal(t, "orders", (*events)[0].Service)

			// It stays out while it is sick: single probes.
			require.Less(t, inRegion(w.calls(20_000, w.failing(share, "eu")), "eu"), .05)
			// Then it comes back by and by.
			for range 120 {
				w.calls(1000, nil)
			}
			require.EqualValues(t, 1, inRegion(w.calls(1000, nil), "eu"))
			for _, e := range *events {
				require.Equal(t, "eu", e.Address, "%v", e.Kind)
			}
		}
	})
}

// A probe that is due in the own region, and makes every choice one of two steps, does not keep the others from being explored.
func TestLostRegionWithAProbe(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Strategy) {
		w, events := lost(t, s, 5)
		w.probing(names(in("eu", 5))[0])
		require.NotNil(t, w.pick(Request{})) // whoever has the probe keeps it
		w.calls(2000, w.failing(1, "eu"))
		require.Less(t, inRegion(w.calls(1000, w.failing(1, "eu")), "eu"), .01)
		require.Len(t, *events, 1)
	})
}

// While another region serves, and begins to fail too, the own one that is well again is taken up in a short time.
func TestRegionsFailInTurn(t *testing.T) {
	t.Parallel()
	w, _ := lost(t, RoundRobin, 5)
	for range 120 {
		w.calls(1000, w.failing(1, "eu"))
	}
	require.Less(t, w.Share(w.now), .2)
	for range 45 {
		w.calls(1000, w.failing(1, "us", "asia"))
	}
	require.Greater(t, inRegion(w.calls(1000, w.failing(1, "us", "asia")), "eu"), .95)
}

func TestRegionsExplained(t *testing.T) {
	t.Parallel()
	w, _ := lost(t, RoundRobin, 5)
	_, watched := w.Regions(0)
	require.False(t, watched)
	require.EqualValues(t, 1, w.Share(0))
	w.out(names(in("eu", 5))[1:3]...)
	require.InDelta(t, .6/.8, w.Share(0), 1e-9)
	w.calls(4000, w.failing(1, "eu"))
	require.Zero(t, w.Share(w.now))
	s, watched := w.Regions(w.now)
	require.True(t, watched)
	require.Equal(t, "orders", s.Service)
	states := map[string]string{}
	for _, i := range s.Instances {
		states[i.Address] = i.State.String()
	}
	require.Equal(t, map[string]string{"us": "in service", "eu": "quarantined", "asia": "in service"}, states)
	require.EqualValues(t, 1, newWorld(t, Options{}, in("eu", 3)).Share(0))
}

// Its share grows back slowly.
func TestLostRegionComesBackSlowly(t *testing.T) {
	t.Parallel()
	w, events := lost(t, RoundRobin, 5)
	w.calls(4000, w.failing(1, "eu"))
	last := 0.
	grew := 0
	for range 200 {
		share := inRegion(w.calls(500, nil), "eu")
		require.GreaterOrEqual(t, share, last-.01)
		if share > last && share < 1 {
			grew++
		}
		last = share
	}
	require.Greater(t, grew, 8, "%v", *events)
	require.EqualValues(t, 1, last)
}

// When all regions fail alike, the fault lies elsewhere: nobody leaves, most calls stay where they are, and afterwards all of them.
func TestCommonFaultMovesNoRegion(t *testing.T) {
	t.Parallel()
	for _, share := range []float64{.3, .7, 1} {
		w, events := lost(t, RoundRobin, 5)
		w.calls(1000, nil)
		got := w.calls(20_000, w.failing(share, "eu", "us", "asia"))
		require.Greater(t, inRegion(got, "eu"), .7)
		require.Empty(t, *events, "%v", share)
		w.calls(2000, nil)
		require.EqualValues(t, 1, inRegion(w.calls(5000, nil), "eu"))
	}
}

// Fewer failures than a fifth explore nothing, and a region that is a little worse than others is not left.
func TestRegionThatIsALittleWorseStays(t *testing.T) {
	t.Parallel()
	w, events := lost(t, RoundRobin, 5)
	require.EqualValues(t, 1, inRegion(w.calls(20_000, w.failing(.15, "eu")), "eu"))
	require.Greater(t, inRegion(w.calls(20_000, w.failing(.22, "eu")), "eu"), .9)
	require.Empty(t, *events)
}

// Another region that fails as a whole gets none of what the own one cannot take, and a part that grows when it is well again.
func TestLostOtherRegion(t *testing.T) {
	t.Parallel()
	w, _ := lost(t, Random, 4)
	w.out(names(in("eu", 4))[1:]...)
	w.calls(60, w.failing(1, "us"))
	require.Zero(t, w.recent.explored(), "it is not the own region that fails")
	w.calls(2000, w.failing(1, "us"))
	got := w.calls(2000, w.failing(1, "us"))
	require.Less(t, inRegion(got, "us"), .02)
	require.Greater(t, inRegion(got, "asia"), .6)
	require.Len(t, w.plan.Load().others.steady.(*lottery).tickets, 4, "only asia's are drawn from")
	grew := 0
	for last := 0.; last < .3; {
		share := inRegion(w.calls(1000, nil), "us")
		if share > .02 && share < .25 {
			grew++
		}
		last = share
		require.Less(t, w.now, 10*time.Minute)
	}
	require.Greater(t, grew, 4)
}

// A region that is left is called all the same when the others have nobody.
func TestLostRegionIsBetterThanNone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Strategy) {
		w, _ := lost(t, s, 3)
		w.calls(3000, w.failing(1, "eu"))
		require.Zero(t, w.Share(w.now))
		w.out(names(in("us", 3))...)
		w.out(names(in("asia", 3))...)
		require.EqualValues(t, 1, inRegion(w.calls(100, nil), "eu"))
	})
}

// Without a rule, or under one in shadow, no region is left; and one that is out comes back at once.
func TestRegionsUnderNoRule(t *testing.T) {
	t.Parallel()
	for _, r := range []*isolation.Rule{nil, {Shadow: true}} {
		w, events := lost(t, RoundRobin, 5)
		w.calls(4000, w.failing(1, "eu"))
		require.NotEmpty(t, *events)
		require.NoError(t, w.group.SetRule(w.now, r))
		require.EqualValues(t, 1, inRegion(w.calls(1000, nil), "eu"))
		*events = nil
		require.EqualValues(t, 1, inRegion(w.calls(10_000, w.failing(1, "eu")), "eu"))
		require.Empty(t, *events)
	}
}

// Regions come and go with the list; the state of those that stay is kept, and instances may lack a region or change it.
func TestRegionsChange(t *testing.T) {
	t.Parallel()
	w, events := lost(t, RoundRobin, 5)
	w.calls(4000, w.failing(1, "eu"))
	require.Len(t, *events, 1)
	w.group.Update(w.now, slices.Concat(in("eu", 5), in("", 5)))
	require.Less(t, inRegion(w.calls(100, w.failing(1, "eu")), "eu"), .02, "eu is still out")
	w.group.Update(w.now, in("eu", 5))
	require.EqualValues(t, 1, inRegion(w.calls(100, nil), "eu"), "and is called when there is no other")
	w.group.Update(w.now, slices.Concat(in("us", 5), in("", 5)))
	require.Len(t, w.calls(100, nil), 10)
	moved := in("us", 5)
	for i := range moved {
		moved[i].Region = "eu"
	}
	w.group.Update(w.now, slices.Concat(moved, in("", 5)))
	w.now += time.Hour
	w.calls(30_000, nil) // it comes back
	require.Len(t, w.calls(100, nil), 5)
}

func TestRecent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fails, of int
		want      uint64
	}{{0, 1000, 0}, {7, 7, 0}, {8, 8, 1 << 62}, {1, 6, 0}, {1, 4, 1 << 60}, {1, 3, 1 << 60}, {1, 2, 1 << 62}, {1, 1, 1 << 62}} {
		var r recent
		n := c.of
		if c.of < 7 {
			n *= 500
		}
		for i := range n {
			r.count(i%c.of < c.fails)
		}
		require.Equal(t, c.want, r.explored(), fmt.Sprint(c))
	}
	var r recent
	for range 10_000 {
		r.count(true)
	}
	for range 3 * recentCalls {
		r.count(false)
	}
	require.Zero(t, r.explored(), "what is long ago is forgotten")
}

// Instances that nobody is connected to get no calls, and count against their region as those do that are out.
func TestUnreachableInstances(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Strategy) {
		o, list := regions(Options{Strategy: s}, 10)
		w := newWorld(t, o, list)
		unreachable := func(n int) map[string]int {
			eu := list[10:20]
			for i := range n {
				eu[i].Unreachable = true
			}
			w.group.Update(w.now, list)
			got := w.calls(8000, nil)
			for _, in := range eu[:n] {
				require.Zero(t, got[in.Address])
			}
			return got
		}
		require.EqualValues(t, 1, inRegion(unreachable(3), "eu"))
		require.InDelta(t, 6/8., inRegion(unreachable(4), "eu"), .02)
		require.Zero(t, inRegion(unreachable(10), "eu"))
		require.Equal(t, 20, w.group.View(w.now).Instances)
		require.Equal(t, isolation.Unreachable, w.group.Snapshot(w.now).Instances[10].State)
		for i := range list {
			list[i].Unreachable = false
		}
		w.group.Update(w.now, list)
		require.EqualValues(t, 1, inRegion(w.calls(1000, nil), "eu"))
	})
}
