package main

import (
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/cordon-go/cordon/clock"
)

// pair compares a work with the same one bare. Their rounds are interleaved, and who is first changes, so that what disturbs the machine disturbs both.
func pair(rounds int, round time.Duration, bare, with func() error) (ratios, ns []float64, err error) {
	for _, f := range []func() error{bare, with} { // to warm them up
		if _, err := timed(round, f); err != nil {
			return nil, nil, err
		}
	}
	for i := range rounds {
		first, second := bare, with
		if i%2 == 1 {
			first, second = with, bare
		}
		a, err := timed(round, first)
		if err != nil {
			return nil, nil, err
		}
		b, err := timed(round, second)
		if err != nil {
			return nil, nil, err
		}
		if i%2 == 1 {
			a, b = b, a
		}
		ratios, ns = append(ratios, b/a), append(ns, b)
	}
	return ratios, ns, nil
}

// timed returns how many nanoseconds one f takes, over a round.
func timed(round time.Duration, f func() error) (float64, error) {
	clk := clock.System()
	start := clk.Now()
	for n := 1; ; n++ {
		if err := f(); err != nil {
			return 0, err
		}
		if took := clk.Now() - start; took >= round {
			return float64(took) / float64(n), nil
		}
	}
}

// allocations returns how many allocations one f makes, in all goroutines.
func allocations(f func() error) (float64, error) {
	const n = 2000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		if err := f(); err != nil {
			return 0, err
		}
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / n, nil
}

// median returns the median of values, and between which of them it lies with 95 %, by their order alone.
func median(values []float64) (mid, low, high float64) {
	values = slices.Sorted(slices.Values(values))
	n := len(values)
	half := int(math.Ceil(0.98 * math.Sqrt(float64(n)))) // 1.96 standard deviations of a coin's throws
	return values[n/2], values[max(n/2-half, 0)], values[min(n/2+half, n-1)]
}
