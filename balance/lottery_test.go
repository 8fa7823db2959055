package balance

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The tickets' parts add up to the weights: so a draw needs no trial to be believed.
func TestLotteryModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		weight := rapid.OneOf(rapid.Float64Range(.01, 10), rapid.SampledFrom([]float64{1, 1, .1, 1e9, 1e-9, 1e308, 5e-324}))
		weights := rapid.SliceOfN(weight, 1, 100).Draw(t, "weights")
		l := newLottery(numbers(len(weights)), weights, &source{seeded: true})
		got := make([]float64, len(weights))
		for _, ticket := range l.tickets {
			part := float64(ticket.bar) / (1 << 64)
			got[ticket.who] += part / float64(len(weights))
			got[l.tickets[ticket.alias].who] += (1 - part) / float64(len(weights))
		}
		for i, share := range shares(weights) {
			require.InDelta(t, share, got[i], 1e-12)
		}
	})
}

// chi returns how far counts are from what is expected, as chi-squared per degree of freedom: about 1 for true random draws.
func chi(got, want []float64) (x float64) {
	for i := range got {
		x += (got[i] - want[i]) * (got[i] - want[i]) / want[i]
	}
	return x / float64(len(got)-1)
}

func TestRandomIsInProportion(t *testing.T) {
	t.Parallel()
	for _, weights := range [][]float64{{1, 1, 1, 1, 1}, {1, 2, 3, 4}, {1, 1, 1, .1}, {10, 1, 1, 1, 1, 1, 1, 1, 1, 1}} {
		w := newWorld(t, Options{Strategy: Random, Seed: 7}, weighing(weights...))
		const calls = 100_000
		counts := w.calls(calls, nil)
		got, want := make([]float64, len(weights)), make([]float64, len(weights))
		for i, share := range shares(weights) {
			got[i], want[i] = float64(counts[string(rune('a'+i))]), share*calls
		}
		require.Less(t, chi(got, want), 3.5, "%v", weights)
	}
}

// Random draws know nothing of each other: the next one after an instance is any.
func TestRandomHasNoOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{Strategy: Random, Seed: 3}, weighing(1, 1, 1, 1))
	got, want := make([]float64, 16), make([]float64, 16)
	const calls = 64_000
	last := w.call(Request{}, 0)
	for range calls {
		next := w.call(Request{}, 0)
		got[(last[0]-'a')*4+next[0]-'a']++
		last = next
	}
	for i := range want {
		want[i] = calls / 16
	}
	require.Less(t, chi(got, want), 3.0)
}

func TestSeedRepeatsChoices(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Strategy) {
		run := func(seed uint64) (choices string) {
			w := newWorld(t, Options{Strategy: s, Seed: seed}, weighing(1, 2, 3, .5))
			for i := range uint64(200) {
				choices += w.call(Request{Hash: i}, 0)
			}
			return choices
		}
		require.Equal(t, run(5), run(5))
		if s == Random || s == LeastInFlight {
			require.NotEqual(t, run(5), run(6))
		}
	})
}

func TestBelow(t *testing.T) {
	t.Parallel()
	require.EqualValues(t, 0, below(0))
	require.EqualValues(t, 0, below(-1))
	require.EqualValues(t, 0, below(math.NaN()))
	require.EqualValues(t, uint64(1<<63), below(.5))
	require.EqualValues(t, uint64(math.MaxUint64), below(1))
	require.EqualValues(t, uint64(math.MaxUint64), below(math.Inf(1)))
	require.Less(t, below(math.Nextafter(1, 0)), uint64(math.MaxUint64))
}
