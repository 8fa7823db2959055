package main

import (
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/bench"
)

// work is one thing to measure: run does n operations.
type work struct {
	name   string
	floor  int // of the floors
	target float64
	held   float64 // see Result.Held
	run    func(n int)
	less   *work // is taken off: what is measured is what comes on top of it
	silent bool  // is only taken off others

	n     int // operations a round
	perOp []float64
	ratio []float64
}

const (
	oneRead = iota
	twoReads
)

var units = [...]string{"one read", "two reads"}

// sink keeps the compiler from dropping the floors.
type sink struct{ v time.Duration }

// calls measures admitted and refused calls.
func calls(rounds int, length time.Duration) ([]Result, error) {
	floors := clockFloors()
	var works []*work
	for _, c := range []struct {
		name          string
		set           bench.Set
		floor         int
		handle, name2 float64
	}{
		{"no rule", bench.Set{}, twoReads, 1.4, 1.7},
		{"flow + breaker + concurrency", bench.Set{Flow: true, Breaker: true, Concurrency: true}, twoReads, 1.6, 2.0},
		{"refused by flow", bench.Set{Flow: true, Refuse: true}, oneRead, 1.6, 2.0},
		{"refused by breaker", bench.Set{Breaker: true, Refuse: true}, oneRead, 1.6, 2.0},
		{"refused by concurrency", bench.Set{Concurrency: true, Refuse: true}, oneRead, 1.6, 2.0},
	} {
		e, err := c.set.Engine()
		if err != nil {
			return nil, err
		}
		defer e.Close()
		h, names := e.Resource(bench.Name(0)), bench.Names()
		works = append(works,
			&work{name: c.name + ", by handle", floor: c.floor, target: c.handle, run: func(n int) { bench.ByHandle(h, n) }},
			&work{name: c.name + ", by name", floor: c.floor, target: c.name2, run: func(n int) { bench.ByName(e, names, n) }})
	}
	for _, w := range works {
		switch w.name { // which are at their targets, or a little above
		case "refused by flow, by name":
			w.held = 2.25
		case "flow + breaker + concurrency, by handle":
			w.held = 1.7
		case "flow + breaker + concurrency, by name":
			w.held = 2.1
		}
	}
	return measure(floors, works, rounds, length), nil
}

// measure runs the works beside their floors and judges them.
func measure(floors, works []*work, rounds int, length time.Duration) []Result {
	interleave(floors, works, rounds, length)
	results := []Result{}
	for _, w := range works {
		if w.silent {
			continue
		}
		r := Result{Work: w.name, Unit: units[w.floor], Median: median(w.ratio), Best: slices.Min(w.ratio), NsOp: median(w.perOp), Target: w.target, Held: w.held}
		r.Allocs = math.Floor(testing.AllocsPerRun(1000, func() { w.run(1) }))
		r.judge()
		results = append(results, r)
	}
	return results
}

// clockFloors are one read of the clock and two.
func clockFloors() []*work {
	base, out := time.Now(), &sink{}
	return []*work{
		{name: "one read", run: func(n int) { out.v += bench.Now(base, n) }},
		{name: "two reads", run: func(n int) { out.v += bench.TwoReads(base, n) }},
	}
}

// interleave runs floors and works in turn, round after round, and takes each work's ratio to its floor of the same round.
func interleave(floors, works []*work, rounds int, length time.Duration) {
	all := slices.Concat(floors, works)
	for _, w := range all {
		w.n = calibrate(w.run, length)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range rounds {
		for _, w := range all {
			w.perOp = append(w.perOp, timed(w.run, w.n))
		}
		for _, w := range works {
			took := last(w.perOp)
			if w.less != nil {
				took -= last(w.less.perOp)
			}
			w.ratio = append(w.ratio, took/last(floors[w.floor].perOp))
		}
	}
}

// slicesPerRound is into how many parts a round is cut.
const slicesPerRound = 5

// timed returns the nanoseconds of one operation: those of the fastest fifth of n, so that a round in which another process had
// the processor for a while counts little.
func timed(run func(int), n int) float64 {
	fastest := math.Inf(1)
	for range slicesPerRound {
		start := time.Now()
		run(n / slicesPerRound)
		fastest = min(fastest, float64(time.Since(start))/float64(n/slicesPerRound))
	}
	return fastest
}

// calibrate returns how many operations take about length.
func calibrate(run func(int), length time.Duration) int {
	for n := 1000; ; n *= 2 {
		start := time.Now()
		run(n)
		if d := time.Since(start); d >= length/4 {
			return int(float64(n) * float64(length) / float64(d))
		}
	}
}

func last(s []float64) float64 { return s[len(s)-1] }

func median(s []float64) float64 {
	s = slices.Sorted(slices.Values(s))
	return s[len(s)/2]
}

// scaling measures what two goroutines on two resources get done against one, beside the clock's own scaling: where two goroutines
// reading the clock reach 1.9 times one, calls are to reach 1.6 times.
func scaling(rounds int, length time.Duration) ([]Result, error) {
	e, err := bench.Set{Flow: true, Breaker: true, Concurrency: true}.Engine()
	if err != nil {
		return nil, err
	}
	defer e.Close()
	a, b := e.Resource(bench.Name(1)), e.Resource(bench.Name(2))
	var buyers [2]*bench.Buyers
	for i := range buyers {
		if buyers[i], err = bench.NewBuyers(1, true); err != nil {
			return nil, err
		}
		defer buyers[i].Close()
	}
	if err := buyers[1].With(buyers[0]); err != nil {
		return nil, err
	}
	base := time.Now()
	var sinks [2]struct {
		sink
		_ [120]byte
	}
	clock := func(i, n int) { sinks[i].v += bench.TwoReads(base, n) }
	works := []struct {
		name string
		call func(i, n int)
	}{
		{"two goroutines, two resources", func(i, n int) { bench.ByHandle([]cordon.Resource{a, b}[i], n) }},
		{"two goroutines, two values of one rule", func(i, n int) { buyers[i].Buy(n) }},
	}
	nClock := calibrate(func(n int) { clock(0, n) }, length)
	var results []Result
	var clocks []float64
	for _, w := range works {
		var ratios []float64
		nCall := calibrate(func(n int) { w.call(0, n) }, length)
		for range rounds {
			c := speedUp(clock, nClock)
			clocks = append(clocks, c)
			ratios = append(ratios, speedUp(w.call, nCall)/c*1.9)
		}
		r := Result{
			Work: w.name + ", where the clock reaches 1.9", Unit: "× one", AtLeast: true, Target: 1.6,
			Median: median(ratios), Best: slices.Max(ratios),
		}
		r.judge()
		results = append(results, r)
	}
	c := Result{Work: "  the clock's own, in this run", Unit: "× one", AtLeast: true, Median: median(clocks), Best: slices.Max(clocks)}
	return append(results, c), nil
}

// speedUp returns how much faster two goroutines do 2n operations than one.
func speedUp(run func(i, n int), n int) float64 {
	start := time.Now()
	run(0, n)
	run(1, n)
	one := time.Since(start)
	start = time.Now()
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() { run(i, n) })
	}
	wg.Wait()
	return float64(one) / float64(time.Since(start))
}
