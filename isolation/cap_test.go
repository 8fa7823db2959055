package isolation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Faults #39, #40, #99: the share by ceiling, at least one where there are two, at most all but one, and never a single one.
func TestHowManyMayBeOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		share float64
		n     int
		want  int
		empty int // with MayEmpty
	}{
		{.5, 3, 2, 2}, {.67, 3, 2, 3}, {.3, 3, 1, 1}, {.2, 4, 1, 1}, {1e-12, 4, 1, 1},
		{.5, 0, 0, 0}, {.5, 1, 0, 0}, {1, 1, 0, 0}, {.5, 2, 1, 1}, {1, 2, 1, 2}, {.5, 4, 2, 2}, {.5, 5, 3, 3}, {1, 5, 4, 5},
		{.1, 10, 1, 1}, {.3, 10, 3, 3}, {.7, 10, 7, 7}, {.07, 100, 7, 7}, {.57, 100, 57, 57}, {.29, 100, 29, 29}, {.5, 1001, 501, 501},
	} {
		r := Rule{MaxShare: c.share}
		require.Equal(t, c.want, r.maxOut(c.n), "%v of %d", c.share, c.n)
		r.MayEmpty = true
		require.Equal(t, c.empty, r.maxOut(c.n), "%v of %d", c.share, c.n)
		r.MinSuccessRate = .9
		require.Equal(t, max(c.empty, min(c.n, 1)), r.maxOut(c.n), "%v of %d", c.share, c.n)
	}
}

// Faults #39: with as many sick ones as may be out, so many are out, and the others stay.
func TestTheCapHoldsAfterTheVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n, sick, want int
		share         float64
	}{{3, 2, 2, .5}, {3, 3, 2, .67}, {3, 2, 1, .3}, {10, 6, 3, .3}, {10, 6, 5, .5}, {2, 1, 1, .01}} {
		p := newPlay(t, Rule{MaxShare: c.share, NoFallback: true, Base: time.Hour, Max: time.Hour, MinSuccessRate: .9}, c.n)
		sick := make([]int, c.sick)
		for i := range sick {
			sick[i] = i
		}
		for range 300 {
			p.calm(1, sick...)
			for _, i := range sick {
				p.call(i, Failure)
			}
			check(t, p.g, p.now)
		}
		s := p.g.Snapshot(p.now)
		require.Equal(t, c.want, s.Out, "%+v", c)
		require.Equal(t, c.sick-c.want, s.Held, "%+v", c)
	}
}

// Faults #40: a single instance is never put out, however it fails.
func TestASingleInstanceStays(t *testing.T) {
	t.Parallel()
	for _, r := range []Rule{{}, {MaxShare: 1, MayEmpty: true, NoFallback: true}, {MinSuccessRate: .9}, {LocalErrors: 2}} {
		p := newPlay(t, r, 1)
		for range 1000 {
			p.now += ms
			require.True(t, p.call(0, LocalError))
		}
		require.Equal(t, InService, p.state(0))
		require.Empty(t, p.events)
	}
}

// failAt makes instances fail at given rates beside good peers, for a time.
func (p *play) failAt(rounds int, rates map[int]float64) {
	due := map[int]float64{}
	for range rounds {
		p.now += 10 * ms
		for i := range p.n {
			o := Success
			if due[i] += rates[i]; due[i] >= 1 {
				due[i]--
				o = Failure
			}
			p.call(i, o)
		}
	}
}

// Faults #42: over the cap the worst are out, and they stay the same ones; a somewhat worse one takes nobody's place, a clearly worse one does.
func TestTheWorstAreOutAndStayOut(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{MaxShare: .2, Base: time.Hour, Max: time.Hour}, 10)
	p.failAt(1000, map[int]float64{0: .5})
	p.failAt(600, map[int]float64{1: .5, 2: .45})
	require.Equal(t, []State{Quarantined, Quarantined, Held}, []State{p.state(0), p.state(1), p.state(2)})
	before := len(p.events)
	p.failAt(1000, map[int]float64{2: .58})
	require.Equal(t, []State{Quarantined, Quarantined, Held}, []State{p.state(0), p.state(1), p.state(2)})
	require.Len(t, p.events, before, "nothing changes, so nothing is said")

	p.failAt(300, map[int]float64{2: .5, 3: 1})
	require.Equal(t, Quarantined, p.state(3))
	require.Equal(t, 2, p.g.Snapshot(p.now).Out)
	swaps := 0
	for _, e := range p.events[before:] {
		if e.Kind == EventHeld && (e.Address == address(0) || e.Address == address(1)) {
			swaps++
			require.Contains(t, e.Reason, "2 of 10 may be out, and "+address(3)+" is sicker")
		}
	}
	require.Equal(t, 1, swaps)
	check(t, p.g, p.now)
}

// One that is held and gets well is in service again, and one that is held goes when there is room.
func TestTheHeldAreJudgedAgain(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{MaxShare: .2, Base: 40 * sec}, 5)
	p.sicken(0)
	require.Equal(t, EventHeld, p.sicken(1, 0).Kind)
	require.Equal(t, 1, p.g.Snapshot(p.now).Held)
	p.calm(1500)
	require.Equal(t, InService, p.state(1))
	last := p.events[len(p.events)-1]
	require.Equal(t, EventInService, last.Kind)
	require.Contains(t, last.Reason, "not sick any more")

	require.Equal(t, EventHeld, p.sicken(2, 0).Kind)
	p.till(p.member(0).until)
	for range 3 { // the first gets well; the held one takes its place
		p.call(0, Success)
		p.wait(500 * ms)
	}
	require.Equal(t, SlowStart, p.state(0))
	require.Equal(t, EventQuarantined, p.sicken(2).Kind)
	require.Equal(t, Quarantined, p.state(2))
}

// A list that shrinks lets the least sick come back, and never leaves the service empty.
func TestAShrinkingListBringsTheLeastSickBack(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Base: time.Hour, Max: time.Hour}, 8)
	p.failAt(2000, map[int]float64{0: 1, 1: .8, 2: .6, 3: .4})
	require.Equal(t, 4, p.g.Snapshot(p.now).Out)
	p.g.Update(p.now, instances(6)) // 3 may be out
	check(t, p.g, p.now)
	require.Equal(t, []State{Quarantined, Quarantined, Quarantined, Held}, []State{p.state(0), p.state(1), p.state(2), p.state(3)})
	p.g.Update(p.now, instances(4)) // 2
	check(t, p.g, p.now)
	require.Equal(t, []State{Quarantined, Quarantined, Held, Held}, []State{p.state(0), p.state(1), p.state(2), p.state(3)})
	p.g.Update(p.now, instances(2)) // 1
	check(t, p.g, p.now)
	require.Equal(t, []State{Quarantined, Held}, []State{p.state(0), p.state(1)})
	p.g.Update(p.now, instances(1))
	check(t, p.g, p.now)
	require.Equal(t, Held, p.state(0))
	require.Len(t, p.g.View(p.now).Candidates, 1)
	p.wait(sec)
	require.Equal(t, InService, p.state(0), "one alone is not compared with anybody")
}

// An instance that returns less sick than those who are out can be the one to make room.
func TestTheReturnedTakePartInTheOrder(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{MaxShare: .2, Base: time.Hour, Max: time.Hour, Remember: time.Hour}, 10)
	p.failAt(2000, map[int]float64{0: .4})
	p.g.Update(p.now, instances(10)[1:])
	p.failAt(400, map[int]float64{1: 1})
	p.failAt(400, map[int]float64{2: 1})
	p.g.leastSick()
	p.g.Update(p.now, instances(10)) // three, of whom two may be out
	require.Equal(t, []State{Held, Quarantined, Quarantined}, []State{p.state(0), p.state(1), p.state(2)})

	p = newPlay(t, Rule{MaxShare: .2, Base: time.Hour, Max: time.Hour, Remember: time.Hour}, 10)
	p.failAt(2000, map[int]float64{0: .4})
	p.g.Update(p.now, instances(10)[1:])
	p.failAt(400, map[int]float64{1: 1})
	p.g.leastSick()
	p.g.Update(p.now, instances(10))
	require.Equal(t, []State{Quarantined, Quarantined}, []State{p.state(0), p.state(1)})
	p.failAt(1000, map[int]float64{2: .7})
	require.Equal(t, Quarantined, p.state(2), "it takes the place of the one that returned")
	require.Equal(t, 2, p.g.Snapshot(p.now).Out)
}

// With MayEmpty all may go, and then calls fail with an error that says so. Faults #51.
func TestMayEmpty(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{MaxShare: 1, MayEmpty: true, NoFallback: true, MinSuccessRate: .5, MinCalls: 5}, 3)
	for range 20 {
		p.now += 10 * ms
		for i := range 3 {
			p.call(i, Failure)
		}
	}
	v := p.g.View(p.now)
	require.Empty(t, v.Candidates)
	require.Equal(t, 3, v.Out)
	require.ErrorIs(t, v.Err(), ErrAllOut)
	require.Equal(t, 3, p.count(EventQuarantined))
	check(t, p.g, p.now)
	p.g.Update(p.now, nil)
	require.ErrorIs(t, p.g.View(p.now).Err(), ErrNoInstance)
}

func TestWithoutMayEmptyTheLastStays(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{MaxShare: 1, NoFallback: true, MinSuccessRate: .5, MinCalls: 5}, 3)
	for range 50 {
		p.now += 10 * ms
		for i := range 3 {
			p.call(i, Failure)
		}
		check(t, p.g, p.now)
	}
	require.Equal(t, 2, p.g.Snapshot(p.now).Out)
	require.Equal(t, 1, p.g.Snapshot(p.now).Held)
	require.Len(t, p.g.View(p.now).Candidates, 1)
}

func TestTheCapNeverTakesAll(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := Rule{MaxShare: rapid.Float64Range(1e-9, 1).Draw(t, "share")}
		n := rapid.IntRange(2, 10_000).Draw(t, "n")
		out := r.maxOut(n)
		require.GreaterOrEqual(t, out, 1)
		require.Less(t, out, n)
		require.GreaterOrEqual(t, float64(out), min(r.MaxShare*float64(n), float64(n-1))-1e-6)
		require.LessOrEqual(t, float64(out), max(r.MaxShare*float64(n)+1, 1))
	})
}

// The last one goes by comparison as well: alone, it is measured by itself.
func TestMayEmptyByComparison(t *testing.T) {
	t.Parallel()
	for _, preset := range []Preset{Default, Careful, Quick} {
		r := Rule{Preset: preset, MaxShare: 1, MayEmpty: true, NoFallback: true, Base: time.Hour, Max: time.Hour}
		p := newPlay(t, r, 3)
		p.calm(200)
		p.sicken(0)
		p.sicken(1, 0)
		require.Equal(t, 2, p.g.View(p.now).Out)
		p.failAt(2000, map[int]float64{2: .4})
		require.Equal(t, InService, p.state(2), "below half it is better than nobody")
		for range 100 {
			p.now += 10 * ms
			p.call(2, Failure)
			check(t, p.g, p.now)
		}
		v := p.g.View(p.now)
		require.Empty(t, v.Candidates)
		require.ErrorIs(t, v.Err(), ErrAllOut)
		e := p.events[len(p.events)-1]
		require.Equal(t, "alone", e.Evidence.Criterion)
		require.Regexp(t, `^\d+ of \d+ calls failed \([\d.]+%\) while all its peers are out: [\d.]+ nats, it takes [\d.]+$`, e.Reason)
	}
}

// One that failed a little beside its peers, and dies when they have gone, is measured by what it does alone.
func TestMayEmptyOneAfterTheOther(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{MaxShare: 1, MayEmpty: true, NoFallback: true, Base: time.Hour, Max: time.Hour}, 3)
	p.calm(200)
	for sick := range 2 {
		for n := 0; p.g.View(p.now).Out <= sick; n++ {
			require.Less(t, n, 2000)
			p.failAt(5, map[int]float64{0: 1, sick: 1, 2: .2})
		}
	}
	require.Equal(t, InService, p.state(2))
	p.failAt(40, map[int]float64{2: 1})
	require.ErrorIs(t, p.g.View(p.now).Err(), ErrAllOut)
	check(t, p.g, p.now)
}

// Peers that are in service and get no calls do not make an instance the last one.
func TestIdlePeersAreThere(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{MaxShare: 1, MayEmpty: true, NoFallback: true}, 3)
	for range 1000 {
		p.now += 10 * ms
		require.True(t, p.call(0, Failure))
	}
	require.Empty(t, p.events)
}

// The only instance of a service has no peers: it goes by its own measure, if it may.
func TestMayEmptyOfOne(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{MaxShare: 1, MayEmpty: true, NoFallback: true, MinSuccessRate: .5}, 1)
	p.mix(0, 100, 40)
	require.Empty(t, p.events)
	p.mix(0, 200, 200)
	require.Equal(t, Quarantined, p.state(0))
	require.ErrorIs(t, p.g.View(p.now).Err(), ErrAllOut)
	check(t, p.g, p.now)
	p.heal(0)
	require.NoError(t, p.g.View(p.now).Err())
	check(t, p.g, p.now)
}
