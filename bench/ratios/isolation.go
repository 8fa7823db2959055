package main

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/bench"
	"github.com/cordon-go/cordon/stat"
)

// instances measures picks and reports among a thousand instances. Neither reads the clock; the floor is what a read of it would take.
func instances(rounds int, length time.Duration) ([]Result, error) {
	const many = 1000
	f, err := bench.NewFleet(1, many, balance.RoundRobin)
	if err != nil {
		return nil, err
	}
	works := []*work{
		{name: "isolation: a success begun and reported", floor: oneRead, target: 2, run: func(n int) { f.Succeed(0, n) }},
		{name: "isolation: the same, and an isolated failure", floor: oneRead, target: 6, run: func(n int) { f.FailNowAndThen(0, n) }},
	}
	for _, s := range []struct {
		name     string
		strategy balance.Strategy
	}{
		{"round robin", balance.RoundRobin},
		{"least in flight of two", balance.LeastInFlight},
		{"consistent hash", balance.ConsistentHash},
	} {
		f, err := bench.NewFleet(1, many, s.strategy)
		if err != nil {
			return nil, err
		}
		bare := &work{name: "bare " + s.name, silent: true, run: bench.NewBare(many, s.strategy).Pick}
		works = append(works, bare, &work{
			name: "pick and report among 1000, over bare " + s.name, floor: oneRead, target: 6, less: bare,
			run: func(n int) {
				if err := f.PickAndReport(0, n); err != nil {
					panic(err)
				}
			},
		})
	}
	return measure(clockFloors(), works, rounds, length), nil
}

// fleets measures what instances take in memory, what an update of a list takes, and what callers feel of it.
func fleets(int, time.Duration) ([]Result, error) {
	var bytes []float64
	for range 3 {
		b, err := bench.BytesPerInstance(balance.RoundRobin)
		if err != nil {
			return nil, err
		}
		bytes = append(bytes, b)
	}
	memory := Result{Work: "an instance, in its group and balancer", Unit: "bytes", Median: median(bytes), Best: slices.Min(bytes), Target: 600}
	memory.judge()

	const groups, each = 1000, 50
	f, err := bench.NewFleet(groups, each, balance.RoundRobin)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var updates []float64
	for i := range 200 {
		updates = append(updates, ms(func() { f.UpdateList(i) }))
	}
	update := Result{Work: "a list update of one of 1,000 groups of 50", Unit: "ms", Median: median(updates), Best: slices.Min(updates), Target: 1}
	update.judge()

	disturbed, err := disturbance(f)
	if err != nil {
		return nil, err
	}
	return []Result{memory, update, disturbed}, nil
}

// disturbance measures the 99th percentile of picks and reports while lists of other groups are updated a thousand times a second, against that
// without updates; three times.
func disturbance(f *bench.Fleet) (Result, error) {
	var ratios []float64
	for range 3 {
		pick := func() error { return f.PickAndReport(0, 100) }
		calm, _, err := percentile(pick)
		if err != nil {
			return Result{}, err
		}
		var stop atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := 1; !stop.Load(); i++ {
				f.UpdateList(1 + i%999)
				time.Sleep(time.Millisecond)
			}
		})
		busy, _, err := percentile(pick)
		stop.Store(true)
		wg.Wait()
		if err != nil {
			return Result{}, err
		}
		ratios = append(ratios, float64(busy)/float64(calm))
	}
	r := Result{Work: "callers' p99 while lists are updated", Unit: "× without", Median: median(ratios), Best: slices.Min(ratios), Target: 1.5}
	r.judge()
	return r, nil
}

// percentile returns the 99th percentile and the longest of batches of a hundred calls, at half of what one goroutine can do.
func percentile(batch func() error) (p99, longest time.Duration, err error) {
	h := stat.NewHistogram(time.Hour)
	base := time.Now()
	for end := time.Since(base) + 500*time.Millisecond; ; {
		start := time.Since(base)
		if start > end {
			break
		}
		if err := batch(); err != nil {
			return 0, 0, err
		}
		took := time.Since(base) - start
		h.Observe(start, took)
		longest = max(longest, took)
		for idle := time.Since(base) + took; time.Since(base) < idle; {
			runtime.Gosched()
		}
	}
	var p [1]time.Duration
	h.Percentiles(time.Since(base), []float64{.99}, p[:])
	return p[0], longest, nil
}
