package balance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/isolation"
)

func TestLeastInFlightEvensOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{Strategy: LeastInFlight}, in("", 10))
	for range 1000 {
		w.pick(Request{}) // and never ends
	}
	for _, c := range w.group.View(0).Candidates {
		require.InDelta(t, 100, c.Member.InFlight(), 3)
	}
}

func TestLeastInFlightByWeight(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{Strategy: LeastInFlight}, weighing(1, 2, 3, 4))
	for range 1000 {
		w.pick(Request{})
	}
	for i, c := range w.group.View(0).Candidates {
		require.InDelta(t, 100*(i+1), c.Member.InFlight(), 10)
	}
}

// With nothing under way the draw decides, and so weight does: the light is not starved, nor preferred.
func TestLeastInFlightIdle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{Strategy: LeastInFlight, Seed: 2}, weighing(1, 1, 1, .1))
	const calls = 31_000
	got := w.calls(calls, nil)
	require.Less(t, chi([]float64{float64(got["a"]), float64(got["b"]), float64(got["c"]), float64(got["d"])}, []float64{1e4, 1e4, 1e4, 1e3}), 4.0)
}

// An instance that comes back slowly is idle, since it gets so little, and must not get a call for that each time another one has one.
func TestLeastInFlightSparesTheSlowlyStarting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{Strategy: LeastInFlight, Seed: 2}, weighing(1, .1))
	const calls = 10_000
	light := 0
	busy := w.pick(Request{})
	for range calls {
		next := w.pick(Request{})
		if next.Address() == "b" {
			light++
		}
		busy.End(0, isolation.Success)
		busy = next
	}
	require.InDelta(t, calls*.1/1.1, light, 150)
}

// Two are compared, never one with itself, be it however heavy.
func TestLeastInFlightComparesTwo(t *testing.T) {
	t.Parallel()
	l := newPairs(numbers(3), []float64{1e9, 1, 1}, nil, &source{seeded: true})
	seen := map[int32]int{}
	for range 1000 {
		second := l.other(0)
		require.NotZero(t, second)
		seen[second]++
	}
	require.InDelta(t, 500, seen[1], 60)
	w := newWorld(t, Options{Strategy: LeastInFlight}, weighing(1))
	require.Equal(t, "a", w.call(Request{}, 0), "with one there is nothing to compare")
}
