package balance

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cordon-go/cordon/isolation"
)

// owners returns whom hashes 0 to n-1 belong to.
func (w *world) owners(n int) []string {
	w.Helper()
	got := make([]string, n)
	for h := range got {
		got[h] = w.call(Request{Hash: uint64(h)}, isolation.Success)
	}
	return got
}

// moved counts what differs.
func moved(a, b []string) (n int) {
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

func hashing(t *testing.T, list []isolation.Instance) *world {
	return newWorld(t, Options{Strategy: ConsistentHash}, list)
}

// The choice is part of the contract with other processes, of other versions too: these must never change.
func TestHashBelongsToTheSameEverywhere(t *testing.T) {
	t.Parallel()
	w := hashing(t, weighing(1, 1, 1, 1, 1, 1, 1, 1, 1, 1))
	var got string
	for _, a := range w.owners(60) {
		got += a
	}
	require.Equal(t, "geceicbbjjibecgbiifccbjgagggidigbdhdiejgaabhhgefaibdigccdjac", got)
	weighed := hashing(t, weighing(3, 1, .1, 1))
	got = ""
	for _, a := range weighed.owners(60) {
		got += a
	}
	require.Equal(t, "aaaababbaaaaaaabaaacabaaadbdadabbaaddaddaabaaabaadbaaaabdaaa", got)
}

func TestHashDoesNotDependOnTheListsOrder(t *testing.T) {
	t.Parallel()
	list := in("", 50)
	for i := range list {
		list[i].Weight = float64(1 + i%3)
	}
	want := hashing(t, list).owners(5000)
	for seed := range uint64(3) {
		rand.New(rand.NewPCG(seed, 1)).Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		require.Zero(t, moved(want, hashing(t, list).owners(5000)))
	}
}

// Whoever goes takes only its own hashes along, to all others alike; and gets just those back.
func TestHashMovesLittle(t *testing.T) {
	t.Parallel()
	const hashes = 20_000
	for _, n := range []int{2, 5, 50} {
		list := in("", n)
		w := hashing(t, list)
		before := w.owners(hashes)
		gone := list[n/2].Address
		w.out(gone)
		after := w.owners(hashes)
		heirs := map[string]float64{}
		for i := range before {
			if before[i] != gone {
				require.Equal(t, before[i], after[i], "hash %d had nothing to do with it", i)
			} else {
				heirs[after[i]]++
			}
		}
		share := float64(moved(before, after)) / hashes
		require.InDelta(t, 1/float64(n), share, .3/float64(n))
		require.Len(t, heirs, n-1, "its share goes to all others, and not to its neighbour")
		for a, k := range heirs {
			require.Less(t, k/hashes, 6*share/float64(n-1), a)
		}
		w.back(gone)
		w.now += time.Minute // its slow start is over
		require.Zero(t, moved(before, w.owners(hashes)))
	}
}

func TestHashRespectsWeights(t *testing.T) {
	t.Parallel()
	for _, weights := range [][]float64{{1, 1, 1, 1, 1}, {1, 2, 3, 4}, {1, 1, 1, .1}, {1, 1, 10, 1}, {.5, 1, 2, 4, 8}} {
		w := hashing(t, weighing(weights...))
		const hashes = 40_000
		got := map[string]int{}
		for _, a := range w.owners(hashes) {
			got[a]++
		}
		for i, share := range shares(weights) {
			require.InDelta(t, share, float64(got[string(rune('a'+i))])/hashes, .25*share+.01, "%v: %d", weights, i)
		}
	}
}

// In a slow start the hashes of an instance come back bit by bit, and never go away again meanwhile; no others move.
func TestHashesComeBackSlowly(t *testing.T) {
	t.Parallel()
	const hashes = 20_000
	list := weighing(1, 1, 1, 1, 1)
	w := hashing(t, list)
	before := []string(nil)
	for _, weight := range []float64{.01, .1, .3, .5, .7, .9, 1} {
		list[2].Weight = weight
		w.group.Update(0, list)
		after := w.owners(hashes)
		count := 0
		for i := range after {
			if after[i] == "c" {
				count++
			} else if before != nil {
				require.Equal(t, before[i], after[i])
			}
		}
		require.InDelta(t, weight/(4+weight), float64(count)/hashes, .035)
		before = after
	}
}

// Against the definition, in the plainest code: of all points after all probes the one that is least far, by weight.
func TestRingModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.OneOf(rapid.Just(1.), rapid.Float64Range(.05, 20), rapid.SampledFrom([]float64{1e-6, 1e12})), 1, 30).Draw(t, "weights")
		list := make([]isolation.Instance, len(weights))
		for i := range list {
			list[i] = isolation.Instance{Address: fmt.Sprintf("%s%d", rapid.StringN(0, 20, 20).Draw(t, "address"), i), Weight: weights[i]}
		}
		g, err := isolation.NewGroup("s", isolation.Config{})
		require.NoError(t, err)
		g.Update(0, list)
		members := g.View(0).Candidates
		r := newRing(numbers(len(weights)), weights, members, 1.25, func() float64 { return 0 })
		require.True(t, slices.IsSorted(r.points))
		for range 50 {
			hash := rapid.Uint64().Draw(t, "hash")
			at := mix(hash + golden)
			step := mix(at) | 1
			want, nearest := -1, math.Inf(1)
			for range probesPerHash {
				// Of all points the first after the probe ...
				who, distance := -1, uint64(math.MaxUint64)
				for i := range list {
					for k := range pointsPerNode * int(math.Round(times(weights, i))) {
						p := mix(place(list[i].Address) + golden*uint64(k+1))
						if d := p&^r.mask - at&^r.mask; d < distance {
							who, distance = i, d
						}
					}
				}
				// ... and of these the nearest, by weight.
				if d := float64(distance) * r.nodes[who].stretch; d < nearest {
					want, nearest = who, d
				}
				at += step
			}
			require.EqualValues(t, want, r.owner(hash).who)
		}
	})
}

// times returns how many times the usual number of points an instance has.
func times(weights []float64, i int) float64 {
	parts := relative(weights)
	mean := sum(parts) / float64(len(parts))
	unit := 1.
	for unit < mean*(1-1e-9) {
		unit *= 2
	}
	for unit/2 >= mean*(1-1e-9) {
		unit /= 2
	}
	return max(math.Ceil(parts[i]/unit*(1-1e-9)), 1)
}

func TestScatterModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.OneOf(rapid.Uint64(), rapid.Uint64Range(0, 3), rapid.Uint64Range(math.MaxUint64-3, math.MaxUint64)), 1, 200).Draw(t, "keys")
		first, shift, sorted := scatter(keys)
		slices.Sort(keys)
		require.Equal(t, keys, sorted)
		require.EqualValues(t, len(keys), first[len(first)-1])
		for part := range len(first) - 1 {
			for _, k := range sorted[first[part]:first[part+1]] {
				require.EqualValues(t, part, k>>shift)
			}
		}
	})
}

// A hot key: all calls have the same hash. Nobody gets more than its bound, and what is too much does not go to one neighbour.
func TestHotKeyIsSpread(t *testing.T) {
	t.Parallel()
	for _, bound := range []float64{1.01, 1.25, 2} {
		const n, calls = 20, 1000
		w := newWorld(t, Options{Strategy: ConsistentHash, LoadBound: bound}, in("", n))
		for c := range calls {
			hash := uint64(42)
			if c%3 == 0 {
				hash = uint64(c)
			}
			w.pick(Request{Hash: hash})
			if c%50 == 0 {
				for _, m := range w.group.View(0).Candidates {
					require.LessOrEqual(t, float64(m.Member.InFlight()), bound*(float64(c)/n+1)+1)
				}
			}
		}
		loads := make([]int, 0, n)
		for _, m := range w.group.View(0).Candidates {
			loads = append(loads, m.Member.InFlight())
		}
		slices.Sort(loads)
		if bound == 1.25 {
			require.Greater(t, loads[n/4], 20, "%v: the rest share what the hot one's owner cannot take", loads)
		}
	}
}

// With few calls under way the hash decides alone: even a few at once go to the same.
func TestFewCallsStayTogether(t *testing.T) {
	t.Parallel()
	w := hashing(t, in("", 100))
	a, b := w.pick(Request{Hash: 9}), w.pick(Request{Hash: 9})
	require.Equal(t, a.Address(), b.Address())
	a.End(0, isolation.Success)
	b.End(0, isolation.Success)
	require.Zero(t, w.flights[ownSide].Load())
	a.End(0, isolation.Success)
	require.Zero(t, w.flights[ownSide].Load(), "a second end counts for nothing")
	c := w.pick(Request{Hash: 9})
	for range 3 {
		twin := *c
		twin.End(0, isolation.Success)
		require.Zero(t, w.flights[ownSide].Load(), "nor do those of copies make them fewer than none")
	}
}

// The bound is by weight too.
func TestLoadBoundByWeight(t *testing.T) {
	t.Parallel()
	w := hashing(t, weighing(4, 1, 1, 1, 1))
	for range 400 {
		w.pick(Request{Hash: 1})
	}
	for i, m := range w.group.View(0).Candidates {
		mean := []float64{200, 50, 50, 50, 50}[i]
		require.LessOrEqual(t, float64(m.Member.InFlight()), 1.25*(mean+4)+1)
	}
}

// Calls begun elsewhere count against the bound and not in the mean. The choice goes on all the same, to the least loaded.
func TestHashWithCallsOfOthers(t *testing.T) {
	t.Parallel()
	w := hashing(t, in("", 3))
	for i, c := range w.group.View(0).Candidates {
		for range 50 - i {
			c.Member.Begin(0)
		}
	}
	require.Equal(t, w.group.View(0).Candidates[2].Member.Address(), w.pick(Request{Hash: 1}).Address())
}

// A retry of the same hash goes to the same other instance, in every process.
func TestHashOfARetry(t *testing.T) {
	t.Parallel()
	list := in("", 10)
	v, w := hashing(t, list), newWorld(t, Options{Strategy: ConsistentHash, Seed: 99}, list)
	second := map[string]bool{}
	for h := range uint64(100) {
		first := v.call(Request{Hash: h}, 0)
		a := v.call(Request{Hash: h, Tried: []*isolation.Member{v.group.Member(first)}}, 0)
		b := w.call(Request{Hash: h, Tried: []*isolation.Member{w.group.Member(first)}}, 0)
		require.Equal(t, a, b)
		require.NotEqual(t, first, a)
		second[a] = true
	}
	require.Len(t, second, 10)
}

// A hash is looked up in about the same few steps however many instances there are (faults #98).
func TestRingSteps(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 100, 10_000} {
		w := hashing(t, in("", n))
		w.call(Request{}, 0)
		r := w.plan.Load().own.steady.(*ring)
		steps := uint32(0)
		const probes = 50_000
		for i := range uint64(probes) {
			part := mix(i) >> r.shift
			steps += 1 + r.first[part+1] - r.first[part]
		}
		require.Less(t, float64(steps)/probes, 2.1, "of %d", n)
	}
}

// What a plan keeps for an instance beside the group's own.
func TestMemoryPerInstance(t *testing.T) {
	t.Parallel()
	const n = 10_000
	weights := make([]float64, n)
	for i := range weights {
		weights[i] = 1 + float64(i%10)
	}
	members := hashing(t, in("", n)).group.View(0).Candidates
	turns := newTurns(numbers(n), weights, nil)
	require.LessOrEqual(t, cap(turns.slots)*int(unsafe.Sizeof(slot{})), 24*n)
	pairs := newPairs(numbers(n), weights, members, nil)
	require.LessOrEqual(t, cap(pairs.tickets)*int(unsafe.Sizeof(ticket{}))+8*cap(pairs.weights), 24*n)
	ring := newRing(numbers(n), slices.Repeat([]float64{1}, n), members, 1.25, nil)
	require.LessOrEqual(t, 8*cap(ring.points)+4*cap(ring.first)+cap(ring.nodes)*int(unsafe.Sizeof(node{})), 150*n)
}
