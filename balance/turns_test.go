package balance

import (
	"fmt"
	"math"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func numbers(n int) []int32 {
	who := make([]int32, n)
	for i := range who {
		who[i] = int32(i)
	}
	return who
}

// shares returns what part of the sum each weight is.
func shares(weights []float64) []float64 {
	parts := relative(weights)
	total := sum(parts)
	for i := range parts {
		parts[i] /= total
	}
	return parts
}

func TestEqualWeightsTakeTurnsExactly(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 5, 1000} {
		w := newWorld(t, Options{}, in("", n))
		first := make([]string, n)
		for i := range first {
			first[i] = w.call(Request{}, 0)
		}
		require.Len(t, w.calls(n, nil), n, "each has one turn")
		for i := range 2 * n {
			require.Equal(t, first[i%n], w.call(Request{}, 0))
		}
	}
}

// A turn's place in the sequence: nobody gets ahead or falls behind its share by more than a few calls, ever.
func TestRoundRobinIsSmooth(t *testing.T) {
	t.Parallel()
	for _, weights := range [][]float64{
		{5, 1, 1}, {1, 2, 3, 4}, {7, 1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, .1}, {1, 1, 1, .37}, {100, 1, 50, 3, 3, 3},
		{3, .5, 2.7, 1.1, .9, .9, 12}, {1e-300, 2e-300}, {1e308, 1e308, .5e308},
	} {
		t.Run(fmt.Sprint(weights), func(t *testing.T) {
			turns := newTurns(numbers(len(weights)), weights, new(atomic.Uint64))
			want := shares(weights)
			const calls = 50_000
			got := make([]float64, len(weights))
			last := make([]int, len(weights))
			for c := 1; c <= calls; c++ {
				i := turns.choose(0, 0)
				gap := c - last[i]
				require.LessOrEqual(t, float64(gap), 3/want[i]+float64(len(weights)), "gap before call %d of %d", c, i)
				last[i] = c
				got[i]++
				for j := range got {
					require.InDelta(t, want[j]*float64(c), got[j], 3.5, "calls of %d after %d", j, c)
				}
			}
		})
	}
}

// A heavy one is spread, not called several times in a row while others wait.
func TestRoundRobinSpreadsTheHeavy(t *testing.T) {
	t.Parallel()
	turns := newTurns(numbers(5), []float64{4, 1, 1, 1, 1}, new(atomic.Uint64))
	run, most := 0, 0
	for range 10_000 {
		if turns.choose(0, 0) == 0 {
			run++
		} else {
			run = 0
		}
		most = max(most, run)
	}
	require.LessOrEqual(t, most, 2)
}

// Against plain arithmetic: whatever the weights, everybody's calls are in proportion, and a choice takes two steps or fewer in the mean (faults #98).
func TestRoundRobinModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		weight := rapid.OneOf(rapid.Float64Range(.01, 10), rapid.SampledFrom([]float64{1, 1, 1, .1, 1e9, 1e-9, 1e300, 5e-324}))
		weights := rapid.SliceOfN(weight, 1, 60).Draw(t, "weights")
		counter := new(atomic.Uint64)
		counter.Store(rapid.Uint64Range(0, 1<<40).Draw(t, "start"))
		from := counter.Load()
		turns := newTurns(numbers(len(weights)), weights, counter)
		require.LessOrEqual(t, len(turns.slots), 2*len(weights))
		const calls = 20_000
		got := make([]float64, len(weights))
		for range calls {
			got[turns.choose(0, 0)]++
		}
		require.LessOrEqual(t, float64(counter.Load()-from), 2.1*calls+200, "steps")
		for i, share := range shares(weights) {
			require.InDelta(t, share*calls, got[i], 4+.001*calls, "calls of %d", i)
		}
	})
}

// The work of a choice does not grow with the number of instances, nor in a slow start of half of them, nor with one that outweighs all (faults #98).
func TestRoundRobinSteps(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 100, 10_000} {
		for name, weight := range map[string]func(i int) float64{
			"equal":           func(int) float64 { return 1 },
			"first half slow": func(i int) float64 { return .1 + .9*float64(i/((n+1)/2)) },
			"one heavy":       func(i int) float64 { return 1 + 1e9*math.Floor(float64(i+1)/float64(n)) },
			"light ones in a row": func(i int) float64 {
				switch {
				case i < n/100:
					return .001
				case i < n/50:
					return 2
				}
				return 1
			},
			"every second is 1.1": func(i int) float64 { return 1 + .1*float64(i%2) },
		} {
			weights := make([]float64, n)
			for i := range weights {
				weights[i] = weight(i)
			}
			counter := new(atomic.Uint64)
			turns := newTurns(numbers(n), weights, counter)
			worst := uint64(0)
			const calls = 100_000
			for range calls {
				before := counter.Load()
				turns.choose(0, 0)
				worst = max(worst, counter.Load()-before)
			}
			require.LessOrEqual(t, counter.Load(), uint64(2.05*calls), "%s of %d", name, n)
			require.LessOrEqual(t, worst, uint64(40), "%s of %d", name, n)
		}
	}
}
