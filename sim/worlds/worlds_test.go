package worlds_test

import (
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/sim"
	"github.com/cordon-go/cordon/sim/worlds"
)

// Seeds begin here: none below was ever used to find a constant.
const firstSeed = 7001

// tier is how much of the worlds this run looks at: few seeds in a short run or under the race detector, all hours where CI is set, and many
// seeds where CORDON_SOAK is.
type tier struct {
	seeds int // at most
	// length and busy are how long worlds in which nobody is ill last at most: busy those of many calls.
	length, busy time.Duration
	// busySeeds is how many seeds worlds of many calls get at most.
	busySeeds int
}

func theTier() tier {
	switch {
	case os.Getenv("CORDON_SOAK") != "":
		return tier{seeds: 200, length: time.Hour, busy: time.Hour, busySeeds: 200}
	case raceEnabled:
		return tier{seeds: 1, length: 2 * time.Minute, busy: time.Minute, busySeeds: 1}
	case testing.Short():
		return tier{seeds: 2, length: 10 * time.Minute, busy: 5 * time.Minute, busySeeds: 1}
	case os.Getenv("CI") != "":
		return tier{seeds: 20, length: time.Hour, busy: time.Hour, busySeeds: 20}
	}
	return tier{seeds: 20, length: time.Hour, busy: 12 * time.Minute, busySeeds: 20}
}

// pick returns how many of the seeds that a world wants are run. Soaking runs at least all.
func (t tier) pick(wants int) int {
	if t.seeds > 20 {
		return t.seeds
	}
	return min(t.seeds, wants)
}

// shorten makes the world last as long as the tier allows, and returns how many of the seeds that it wants are run.
func (t tier) shorten(w *worlds.World, wants int) int {
	seeds := t.pick(wants)
	if w.Scenario.Clients[0].Loads[0].Rate < 400 {
		w.Scenario.Length = min(w.Scenario.Length, t.length)
		return seeds
	}
	w.Scenario.Length = min(w.Scenario.Length, t.busy)
	return min(seeds, t.busySeeds)
}

// random is what the thresholds are for: the rule's defaults, and instances chosen at random by weight.
func random() sim.Policy { return sim.Cordon{Balance: balance.Options{Strategy: balance.Random}} }

// run measures a world over seeds.
func run(t *testing.T, w worlds.World, p sim.Policy, seeds int) []worlds.Figures {
	t.Helper()
	list := make([]worlds.Figures, seeds)
	for i := range list {
		f, err := w.Measure(p, firstSeed+uint64(i))
		require.NoError(t, err)
		list[i] = f
	}
	return list
}

func named(t *testing.T, name string) worlds.World {
	t.Helper()
	w, ok := worlds.Named(name)
	require.True(t, ok, "world %s", name)
	return w
}

// each collects one figure of all runs.
func each[T any](list []worlds.Figures, figure func(*worlds.Figures) T) []T {
	all := make([]T, len(list))
	for i := range list {
		all[i] = figure(&list[i])
	}
	return all
}

func found(f *worlds.Figures) time.Duration { return f.Found }
func full(f *worlds.Figures) time.Duration  { return f.Full }
func tries(f *worlds.Figures) int64         { return f.Tries }

func median(all []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}

func falseOnes(list []worlds.Figures) int {
	n := 0
	for i := range list {
		n += list[i].False
	}
	return n
}

// Sick ones must go: in how much time, for how many calls. The time is these calls by their rate.
func TestSickOnesGo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		world  string
		found  time.Duration // at most; 0: not looked at
		median time.Duration // of the seeds, at most
		tries  int64         // of one sick instance before it goes, at most
		// share is which share of all calls the sick ones get at most; first and failed which share of calls fails in the first 10 s and in all.
		share, first, failed float64
		full                 time.Duration // until it has its full weight again
		length               time.Duration // as long as it takes to see; 0: all of it
	}{
		{world: "S1", found: 1200 * time.Millisecond, tries: 18, first: .022, failed: .0013},
		{world: "S2", found: 3500 * time.Millisecond, tries: 55, length: 5 * time.Minute},
		{world: "S3", found: 2 * time.Second, length: 20 * time.Minute},
		{world: "S3b", found: 3 * time.Second, length: 20 * time.Minute},
		{world: "S3c", found: 5 * time.Second, length: 20 * time.Minute},
		{world: "S4", share: .02},
		{world: "S7", found: 55 * time.Second, tries: 18},
		{world: "S8", full: time.Minute, length: 5 * time.Minute},
		{world: "N2", found: 280 * time.Second, median: 2 * time.Minute, tries: 6000, length: 20 * time.Minute},
		{world: "N2f", found: time.Minute, tries: 6000, length: 5 * time.Minute},
		{world: "N2t", found: 15 * time.Second, tries: 300, length: 5 * time.Minute},
		{world: "N3s", found: 90 * time.Second, length: 20 * time.Minute},
		{world: "N6", found: 4 * time.Second, length: 20 * time.Minute},
		{world: "N6b", found: 25 * time.Second, length: 20 * time.Minute},
		{world: "M1", found: 2500 * time.Millisecond, length: 20 * time.Minute},
		{world: "M2", found: 50 * time.Second, length: 20 * time.Minute},
		{world: "M4", found: 18 * time.Second, tries: 300, length: 20 * time.Minute},
		{world: "N5e", found: 20 * time.Second, tries: 18, length: time.Minute},
		{world: "N5f", found: 600 * time.Second, length: 11 * time.Minute},
		{world: "N5g", found: 28 * time.Second, length: 5 * time.Minute},
	} {
		t.Run(c.world, func(t *testing.T) {
			t.Parallel()
			w := named(t, c.world)
			if c.length > 0 {
				w.Scenario.Length = c.length
			}
			seeds := theTier().pick(20)
			if w.Scenario.Clients[0].Loads[0].Rate*w.Scenario.Length.Seconds() > 100_000 {
				seeds = min(seeds, theTier().busySeeds)
			}
			list := run(t, w, random(), seeds)
			for i := range list {
				f, seed := &list[i], firstSeed+i
				if c.found > 0 {
					require.LessOrEqual(t, f.Found, c.found, "seed %d", seed)
				}
				if c.tries > 0 {
					require.LessOrEqual(t, f.Tries, c.tries, "seed %d", seed)
				}
				if c.share > 0 {
					require.LessOrEqual(t, f.SickShare, c.share, "seed %d", seed)
				}
				if c.first > 0 {
					require.LessOrEqual(t, f.FailedAtFirst, c.first, "seed %d", seed)
				}
				if c.failed > 0 {
					require.LessOrEqual(t, f.Failed, c.failed, "seed %d", seed)
				}
				if c.full > 0 {
					require.LessOrEqual(t, f.Full, c.full, "seed %d", seed)
				}
				require.Zero(t, f.Fallbacks, "seed %d", seed)
				require.Zero(t, f.NoInstance, "seed %d", seed)
			}
			if c.median > 0 && len(list) > 5 {
				require.LessOrEqual(t, median(each(list, found)), c.median)
			}
			require.LessOrEqual(t, falseOnes(list), 1, "false quarantines")
			t.Logf("found %v, tries %v", each(list, found), each(list, tries))
		})
	}
}

// A sick instance goes after so many calls, whatever their rate, and however long all were well before.
func TestCallsBeforeItGoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		condition sim.Condition
		tries     int64
	}{
		{"dead", sim.Dead(), 18}, {"50 %", sim.Fails(.499), 55}, {"15 %", sim.Fails(.149), 300}, {"5 %", sim.Fails(.049), 6000},
	} {
		for _, rate := range []float64{10, 60, 300} {
			for _, onset := range []time.Duration{0, 7 * time.Minute} {
				t.Run(fmt.Sprintf("%s, %v per second, from %v on", c.name, rate, onset), func(t *testing.T) {
					t.Parallel()
					calls := 2 * float64(c.tries) // that the sick one gets if it is not found in time
					w := named(t, "S1")
					w.Scenario.Instances = slices.Clone(w.Scenario.Instances)
					w.Scenario.Instances[0].Ill = []sim.Script{sim.From(onset, c.condition)}
					w.Scenario.Clients = []sim.Client{{Loads: []sim.Load{{Rate: rate}}}}
					w.Scenario.Length = onset + time.Duration(calls/rate*5*float64(time.Second))
					for i, f := range run(t, w, random(), theTier().pick(5)) {
						require.NotEqual(t, sim.Forever, f.Found, "seed %d: not found", firstSeed+i)
						require.LessOrEqual(t, f.Tries, c.tries, "seed %d", firstSeed+i)
					}
				})
			}
		}
	}
}

// Well ones must stay, whatever happens to all of them, and however many there are.
func TestWellOnesStay(t *testing.T) {
	t.Parallel()
	for _, group := range []struct {
		worlds []string
		each   int // false quarantines over all seeds, at most, in each world
		all    int // and in all together
	}{
		{worlds: []string{"N5c", "N5d", "S6", "N5", "N5b", "S6b", "S6c", "S6d"}},
		{worlds: []string{"N4c", "N4", "N4b"}, each: 1, all: 3},
		{worlds: []string{"N3", "N3b", "N3c", "N3e"}, each: 1, all: 2},
		{worlds: []string{"N3h", "N3f", "N3g"}, each: 1, all: 2},
		{worlds: []string{"S6e"}, each: 1, all: 1},
		{worlds: []string{"S5", "S5b", "S5c", "S5d", "S5e"}},
	} {
		t.Run(group.worlds[0], func(t *testing.T) {
			t.Parallel()
			var sum atomic.Int64
			t.Cleanup(func() { // when all worlds of the group are through
				limit := group.all * max(theTier().pick(20), 20) / 20
				require.LessOrEqual(t, int(sum.Load()), limit, "false quarantines in %v", group.worlds)
			})
			for _, name := range group.worlds {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					w := named(t, name)
					seeds := theTier().shorten(&w, 20)
					list := run(t, w, random(), seeds)
					n := falseOnes(list)
					sum.Add(int64(n))
					require.LessOrEqual(t, n, group.each*max(seeds, 20)/20, "false quarantines over %d seeds", seeds)
					for i := range list {
						require.Zero(t, list[i].NoInstance, "seed %d: calls without a host", firstSeed+i)
						if name[:2] == "S5" {
							require.LessOrEqual(t, list[i].Full, time.Second, "seed %d: full service after the cure", firstSeed+i)
						}
					}
				})
			}
		})
	}
}

// Who gets well comes back, also among others that are not perfect.
func TestTheCuredReturn(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"R1", "R2", "R3"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := named(t, name)
			list := run(t, w, random(), theTier().pick(11))
			for i := range list {
				require.NotEqual(t, sim.Forever, list[i].Found, "seed %d: not found", firstSeed+i)
				require.NotEqual(t, sim.Forever, list[i].Full, "seed %d: never back", firstSeed+i)
			}
			require.LessOrEqual(t, falseOnes(list), 1*max(len(list), 11)/11, "false quarantines")
			if len(list) > 5 {
				require.LessOrEqual(t, median(each(list, full)), 100*time.Second, "full service again: %v", each(list, full))
			}
		})
	}
}

// An outage of everything for a moment, while some are dead anyhow, must not leave isolation switched off, nor the dead ones in service.
func TestOutagesDoNotLatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		world string
		dead  int
	}{{"L1", 2}, {"L2", 3}} {
		t.Run(c.world, func(t *testing.T) {
			t.Parallel()
			w := named(t, c.world)
			w.Scenario.Length = 20 * time.Minute
			for i := range theTier().pick(11) {
				s := w.Scenario
				s.Seed = firstSeed + uint64(i)
				r, err := sim.Run(s, random())
				require.NoError(t, err)
				for _, e := range r.Events {
					if e.At > 330*time.Second {
						require.NotContains(t, e.Kind.String(), "fallback", "seed %d: at %v", s.Seed, e.At)
					}
				}
				last := r.Series[len(r.Series)-1]
				for j, in := range last.Instances {
					require.Equal(t, j < c.dead, in.Out > 0, "seed %d: instance %d", s.Seed, j)
				}
				require.Empty(t, r.False, "seed %d", s.Seed)
			}
		})
	}
}

// The thresholds hold as well where instances are taken in turn, or the less busy of two.
func TestStrategies(t *testing.T) {
	t.Parallel()
	for _, strategy := range []balance.Strategy{balance.RoundRobin, balance.LeastInFlight} {
		p := sim.Cordon{Balance: balance.Options{Strategy: strategy}}
		for name, limit := range map[string]time.Duration{
			"S1": 1200 * time.Millisecond, "S2": 3500 * time.Millisecond, "S3c": 5 * time.Second, "S7": 55 * time.Second, "N2t": 15 * time.Second,
			"N3s": 90 * time.Second, "M1": 2500 * time.Millisecond,
		} {
			t.Run(fmt.Sprintf("%d %s", strategy, name), func(t *testing.T) {
				t.Parallel()
				w := named(t, name)
				w.Scenario.Length = 12 * time.Minute
				for i, f := range run(t, w, p, theTier().pick(11)) {
					require.LessOrEqual(t, f.Found, limit, "seed %d", firstSeed+i)
					require.LessOrEqual(t, f.False, 1, "seed %d", firstSeed+i)
				}
			})
		}
		for _, name := range []string{"S5", "S6d", "N3", "N3f", "N3g", "R1"} {
			t.Run(fmt.Sprintf("%d %s", strategy, name), func(t *testing.T) {
				t.Parallel()
				w := named(t, name)
				w.Scenario.Length = min(w.Scenario.Length, theTier().length)
				require.LessOrEqual(t, falseOnes(run(t, w, p, theTier().pick(11))), 1)
			})
		}
	}
}
