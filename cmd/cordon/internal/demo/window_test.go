package demo

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWorstCountsTheFullestInterval(t *testing.T) {
	ms := time.Millisecond
	for name, c := range map[string]struct {
		times []time.Duration
		n     int
		at    time.Duration
	}{
		"nothing":            {nil, 0, 0},
		"one":                {[]time.Duration{5 * ms}, 1, 5 * ms},
		"exactly a second":   {[]time.Duration{0, 1000 * ms}, 1, 0},
		"just within":        {[]time.Duration{0, 1000*ms - 1}, 2, 0},
		"across the edge":    {[]time.Duration{0, 900 * ms, 950 * ms, 1050 * ms, 2500 * ms}, 3, 0},
		"at the same moment": {[]time.Duration{7 * ms, 7 * ms, 7 * ms}, 3, 7 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			n, at := worst(c.times, time.Second)
			require.Equal(t, c.n, n)
			require.Equal(t, c.at, at)
		})
	}
}

func TestWorstAgreesWithCountingFromEveryTime(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		times := make([]time.Duration, random.IntN(60))
		for i := range times {
			times[i] = time.Duration(random.IntN(400))
		}
		slices.Sort(times)
		want := 0
		for _, from := range times {
			want = max(want, len(between(times, from, from+50)))
		}
		n, _ := worst(times, 50)
		require.Equal(t, want, n, "%v", times)
	}
}

func TestBooksAreBounded(t *testing.T) {
	var book []time.Duration
	for i := range time.Duration(5 * newest) {
		book = note(book, i)
		require.LessOrEqual(t, len(book), 2*newest)
		require.Equal(t, i, book[len(book)-1])
	}
	require.GreaterOrEqual(t, len(book), newest)
	require.Equal(t, evenly(book[0], 1, len(book)), book)
}

func TestBetween(t *testing.T) {
	times := []time.Duration{1, 2, 2, 3, 5}
	require.Equal(t, []time.Duration{2, 2, 3}, between(times, 2, 5))
	require.Empty(t, between(times, 6, 9))
	require.Empty(t, between(times, 4, 3))
}

// What arrives within w departed within w plus the transit's spread: the law by which arrivals are judged.
func TestTransitBoundsWhatArrivesTogether(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		departures := make([]time.Duration, 40)
		arrivals := make([]time.Duration, 40)
		for i := range departures {
			departures[i] = time.Duration(random.IntN(1000))
			arrivals[i] = departures[i] + 5 + time.Duration(random.IntN(80))
		}
		slices.Sort(departures)
		slices.Sort(arrivals)
		least, most := transit(departures, arrivals)
		require.GreaterOrEqual(t, least, 5*time.Nanosecond)
		require.Less(t, most, 85*time.Nanosecond)
		const w = 200
		together, _ := worst(arrivals, w-(most-least))
		apart, _ := worst(departures, w+1)
		require.LessOrEqual(t, together, apart)
	}
}
