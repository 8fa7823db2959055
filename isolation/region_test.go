package isolation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// regions returns a list of instances in regions "a", "b" and so on, so many in each.
func regions(sizes ...int) []Instance {
	var list []Instance
	for r, n := range sizes {
		for range n {
			list = append(list, Instance{Address: address(len(list)), Region: string(rune('a' + r))})
		}
	}
	return list
}

// A region's instances are each other's peers from three on and as long as there are two; smaller ones are among all.
func TestRegionsArePeers(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 0)
	own := func(i int) bool { return p.member(i).peers.Load() != &p.g.all }
	p.g.Update(p.now, regions(3, 2, 1))
	require.Equal(t, []bool{true, true, true, false, false, false}, []bool{own(0), own(1), own(2), own(3), own(4), own(5)})
	require.Same(t, p.member(0).peers.Load(), p.member(2).peers.Load())
	require.EqualValues(t, 3, p.member(0).peers.Load().size.Load())
	require.EqualValues(t, 6, p.g.all.size.Load())
	before := p.member(0).peers.Load()
	p.g.Update(p.now, regions(3, 2, 1)[1:])
	require.Same(t, before, p.member(1).peers.Load(), "two keep what three got")
	require.EqualValues(t, 2, before.size.Load())
	p.g.Update(p.now, regions(3, 2, 1)[2:])
	require.False(t, own(2))
	p.g.Update(p.now, regions(3, 2, 1)[1:])
	require.False(t, own(1), "two do not get it")
	list := regions(3, 3)
	list[3].Drained = true
	p.g.Update(p.now, list)
	require.True(t, own(0))
	require.False(t, own(4), "the drained are nobody's peers")
	check(t, p.g, p.now)
	nowhere := instances(5)
	p.g.Update(p.now, nowhere)
	require.False(t, own(0), "what has no region is among all")
	require.Empty(t, p.g.regions)
}

// What all of a region share is nobody's fault: a slow link to it puts out none, and one that is sick within it is found.
func TestWhatARegionSharesIsNobodysFault(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 0)
	p.n = 10
	p.g.Update(p.now, regions(5, 5))
	noisy := map[int]float64{0: .3, 1: .3, 2: .3, 3: .3, 4: .3}
	p.failAt(3000, noisy)
	require.Zero(t, p.count(EventQuarantined))
	noisy[0] = .9
	p.failAt(100, noisy)
	require.Equal(t, Quarantined, p.state(0))
	require.Equal(t, 1, p.count(EventQuarantined))
}

// Calls count for the region's peers and for all, and a change of region leaves nothing under way behind.
func TestCountsFollowTheRegion(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 0)
	p.g.Update(p.now, regions(3, 3))
	a, b := p.member(0).peers.Load(), p.member(3).peers.Load()
	c, ok := p.member(0).Begin(p.now)
	require.True(t, ok)
	require.Equal(t, []int64{1, 0, 1}, []int64{a.inFlight(), b.inFlight(), p.g.all.inFlight()})
	list := regions(3, 3)
	list[0].Region = "b"
	require.Equal(t, Change{Changed: 1}, p.g.Update(p.now, list))
	require.Same(t, b, p.member(0).peers.Load())
	c.End(p.now, Failure)
	require.Equal(t, []int64{0, 0, 0}, []int64{a.inFlight(), b.inFlight(), p.g.all.inFlight()})
	require.Equal(t, []uint64{1, 0, 1}, []uint64{a.calls(), b.calls(), p.g.all.calls()})
	require.True(t, p.call(0, Failure))
	require.Equal(t, []uint64{1, 1, 2}, []uint64{a.fails.Load(), b.fails.Load(), p.g.all.fails.Load()})
	v := p.g.View(p.now)
	require.Equal(t, []RegionShare{{"b", 4, 4}, {"a", 2, 2}}, v.Regions)
}

// What is in service of a region is told by weight.
func TestRegionShares(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still}, 0)
	p.n = 6
	list := regions(3, 3)
	list[0].Weight = 5
	p.g.Update(p.now, list)
	require.Equal(t, []RegionShare{{"a", 7, 7}, {"b", 3, 3}}, p.g.View(p.now).Regions)
	p.sicken(0)
	require.Equal(t, []RegionShare{{"a", 7, 2}, {"b", 3, 3}}, p.g.View(p.now).Regions)
	p.till(p.member(0).until)
	require.Equal(t, []RegionShare{{"a", 7, 2}, {"b", 3, 3}}, p.g.View(p.now).Regions, "a probe is not in service")
	p.heal(0)
	require.InDelta(t, 2.5, p.g.View(p.now).Regions[0].InService, .01)
}

// A region that is lost as a whole has no peers in itself that do better: its instances are compared with all, and go. When it is well again they come back, and
// are each other's peers as before.
func TestALostRegionIsLeft(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 0)
	p.n = 9
	p.g.Update(p.now, regions(3, 3, 3))
	p.failAt(2000, map[int]float64{0: .001})
	lost := map[int]float64{0: 1, 1: 1, 2: 1}
	p.failAt(200, lost)
	for i := range 9 {
		require.Equal(t, i < 3, p.state(i) == Quarantined, "instance %d is %v", i, p.state(i))
	}
	require.True(t, p.member(0).peers.Load().lost.Load())
	p.failAt(60_000, nil)
	for i := range 9 {
		require.Equal(t, InService, p.state(i))
	}
	require.True(t, p.member(0).peers.Load().lost.Load(), "nobody asked since")
	p.failAt(10_000, map[int]float64{0: .02, 1: .02, 2: .02})
	require.False(t, p.member(0).peers.Load().lost.Load())
	check(t, p.g, p.now)
}
