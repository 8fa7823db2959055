package stat_test

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cordon-go/cordon/stat"
)

func TestNewHistogramPanicsOnBadSpan(t *testing.T) {
	t.Parallel()
	for _, span := range []time.Duration{0, -time.Second} {
		require.PanicsWithValue(t, fmt.Sprintf("stat: histogram with a span of %v: want more than 0", span), func() { stat.NewHistogram(span) })
	}
}

// quantiles returns what a histogram over those latencies alone reports.
func quantiles(latencies []time.Duration, qs ...float64) []time.Duration {
	h := stat.NewHistogram(time.Second)
	for _, latency := range latencies {
		h.Observe(0, latency)
	}
	dst := make([]time.Duration, len(qs))
	h.Percentiles(0, qs, dst)
	return dst
}

// A quantile is that of the sorted list, within a 16th.
func TestQuantilesAgainstSortedList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		latency := rapid.Custom(func(t *rapid.T) time.Duration {
			octave := rapid.IntRange(10, 36).Draw(t, "octave")
			return min(time.Duration(rapid.Int64Range(1<<octave, 2<<octave-1).Draw(t, "ns")), 100*time.Second)
		})
		latencies := rapid.SliceOfN(latency, 1, 200).Draw(t, "latencies")
		q := rapid.Float64Range(0, 1).Draw(t, "q")
		got := quantiles(latencies, q)[0]
		slices.Sort(latencies)
		want := latencies[max(int(math.Ceil(q*float64(len(latencies))*(1-1e-15))), 1)-1]
		require.LessOrEqual(t, (got-want).Abs()*16, want, "got %v, want %v", got, want)
	})
}

// Every latency from 1µs to 100s, at every cell's edges, is reported within a 16th of itself.
func TestRelativeError(t *testing.T) {
	t.Parallel()
	for latency := time.Microsecond; latency <= 100*time.Second; latency += max(latency/64, 1) {
		for _, near := range []time.Duration{latency - 1, latency, latency + 1} {
			got := quantiles([]time.Duration{near}, 0.5)[0]
			require.LessOrEqual(t, (got-near).Abs()*16, near, "%d reported as %d", near, got)
		}
	}
	for octave := 10; octave < 37; octave++ {
		for eighth := range time.Duration(8) {
			edge := time.Duration(1)<<octave + eighth<<(octave-3)
			got := quantiles([]time.Duration{edge - 1, edge}, 0, 1)
			require.Less(t, got[0], edge)
			require.Greater(t, got[1], edge, "an edge belongs to the cell above it")
		}
	}
}

// faults #61, #100: a latency below a millisecond is one; one of zero or less, from clocks that
// disagree, is the shortest there is.
func TestShortLatencies(t *testing.T) {
	t.Parallel()
	got := quantiles([]time.Duration{300 * time.Microsecond, 1200 * time.Microsecond}, 0.5, 1)
	require.InEpsilon(t, 300*time.Microsecond, got[0], 1.0/16)
	require.InEpsilon(t, 1200*time.Microsecond, got[1], 1.0/16)

	h := stat.NewHistogram(time.Second)
	for _, latency := range []time.Duration{0, -1, -time.Hour, math.MinInt64, 1, 511} {
		h.Observe(0, latency)
	}
	dst := make([]time.Duration, 2)
	require.EqualValues(t, 6, h.Percentiles(0, []float64{0, 1}, dst))
	require.Less(t, dst[1], time.Microsecond)
	require.Equal(t, dst[0], dst[1])
}

func TestLongLatencies(t *testing.T) {
	t.Parallel()
	got := quantiles([]time.Duration{time.Hour, math.MaxInt64}, 0, 1)
	require.Equal(t, got[0], got[1])
	require.Greater(t, got[0], 100*time.Second)
}

func TestPercentilesOfOddQuantiles(t *testing.T) {
	t.Parallel()
	got := quantiles([]time.Duration{time.Microsecond, time.Millisecond, time.Second}, -1, math.NaN(), math.Inf(-1), 0, 2, math.Inf(1), 1, 1.0/3, 0.34)
	first, last := got[0], got[4]
	require.InEpsilon(t, time.Microsecond, first, 1.0/16)
	require.InEpsilon(t, time.Second, last, 1.0/16)
	require.Equal(t, []time.Duration{first, first, first, first, last, last, last, first}, got[:8])
	require.InEpsilon(t, time.Millisecond, got[8], 1.0/16)
}

// The 7% quantile of a hundred is the seventh, whatever 0.07 × 100 is in binary.
func TestQuantilesAreNotRoundedUp(t *testing.T) {
	t.Parallel()
	for percent := 1; percent <= 100; percent++ {
		latencies := make([]time.Duration, 100)
		for i := range latencies {
			latencies[i] = time.Microsecond
			if i >= percent {
				latencies[i] = time.Second
			}
		}
		require.InEpsilon(t, time.Microsecond, quantiles(latencies, float64(percent)/100)[0], 1.0/16, percent)
	}
}

func TestPercentilesOfNothing(t *testing.T) {
	t.Parallel()
	h := stat.NewHistogram(time.Second)
	dst := []time.Duration{1, 2, 3}
	require.Zero(t, h.Percentiles(time.Hour, []float64{0.5, 1}, dst))
	require.Equal(t, []time.Duration{0, 0, 3}, dst)
	h.Observe(0, time.Second)
	require.EqualValues(t, 1, h.Percentiles(0, []float64{0.5, 0.9}, dst[:1]), "a short dst")
	require.EqualValues(t, 1, h.Percentiles(0, nil, nil))
}

// countAt returns how many observations a histogram has at a time.
func countAt(h *stat.Histogram, now time.Duration) int64 { return h.Percentiles(now, nil, nil) }

func TestHistogramForgets(t *testing.T) {
	t.Parallel()
	h := stat.NewHistogram(10 * time.Second)
	at := func(second float64) time.Duration { return time.Duration(second * float64(time.Second)) }
	h.Observe(at(3), ms)
	h.Observe(at(9), ms)
	require.EqualValues(t, 2, countAt(h, at(9.9)))
	h.Observe(at(10), ms)
	require.EqualValues(t, 3, countAt(h, at(19.9)))
	require.EqualValues(t, 1, countAt(h, at(20)), "without an observation since")
	require.EqualValues(t, 2, countAt(h, at(9.9)), "looking back")
	h.Observe(at(9), ms)
	require.EqualValues(t, 4, countAt(h, at(19)), "late, into the span before")
	h.Observe(at(25), ms)
	require.EqualValues(t, 2, countAt(h, at(25)))
	h.Observe(at(9), ms)
	require.EqualValues(t, 2, countAt(h, at(25)), "later than a span")
	h.Observe(at(1000), ms)
	h.Observe(at(995), ms)
	require.EqualValues(t, 2, countAt(h, at(1000)), "late, into a span in which nothing had been observed")
	require.Zero(t, countAt(h, at(5000)))
}

func TestHistogramAtTheEndsOfTime(t *testing.T) {
	t.Parallel()
	for span, want := range map[time.Duration]int64{1: 1, 7: 1, time.Second: 1, math.MaxInt64: 3} {
		h := stat.NewHistogram(span)
		h.Observe(math.MinInt64, ms)
		h.Observe(-1, ms)
		require.EqualValues(t, 2, countAt(h, -5))
		h.Observe(math.MaxInt64, ms)
		require.Equal(t, want, countAt(h, math.MaxInt64), "span %d", span)
	}
}

// Racing goroutines observe on both sides of a span's end; all of it is there as long as the spans are.
func TestRacingObservations(t *testing.T) {
	t.Parallel()
	const goroutines, each, rolls = 16, 500, 50
	h := stat.NewHistogram(time.Second)
	for roll := range time.Duration(rolls) {
		first, second := 2*roll*time.Second, (2*roll+1)*time.Second
		var workers sync.WaitGroup
		for worker := range goroutines {
			workers.Go(func() {
				for i := range each {
					if (i+worker)%2 == 0 {
						h.Observe(first, ms)
					} else {
						h.Observe(second, ms)
					}
				}
			})
		}
		workers.Wait()
		require.EqualValues(t, goroutines*each, countAt(h, second))
		require.EqualValues(t, goroutines*each/2, countAt(h, second+time.Second))
	}
}

func TestObserveAllocatesOncePerSpan(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	h := stat.NewHistogram(time.Second)
	h.Observe(0, ms)
	require.Zero(t, testing.AllocsPerRun(1000, func() { h.Observe(ms, ms) }))
	var now time.Duration
	require.EqualValues(t, 1, testing.AllocsPerRun(1000, func() {
		now += time.Second
		for range 10 {
			h.Observe(now, ms)
		}
	}))
	qs, dst := []float64{0.5, 0.99}, make([]time.Duration, 2)
	require.Zero(t, testing.AllocsPerRun(1000, func() { h.Percentiles(now, qs, dst) }))
}
