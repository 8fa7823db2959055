package chart

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cordon-go/cordon/sim"
)

const (
	maxSeries = 8 // how many colours there are
	maxPoints = 240
)

// series is what has one colour: an instance, or all that have none of their own.
type series struct {
	name      string
	instances []int
	rest      bool
}

// choose returns what is shown apart: all instances if there are colours for them, else first those that were ill or put out in one of the
// results, and the rest together.
func choose(results []*sim.Result) []series {
	instances := results[0].Instances
	order := make([]int, len(instances))
	for i := range order {
		order[i] = i
	}
	shown := min(len(instances), maxSeries)
	if len(instances) > maxSeries {
		shown = maxSeries - 1
		touched := make([]bool, len(instances))
		for _, r := range results {
			for i := range r.Illnesses {
				touched[r.Illnesses[i].Instance] = true
			}
			for i := range r.Instances {
				touched[i] = touched[i] || r.Instances[i].Quarantines > 0
			}
		}
		slices.SortStableFunc(order, func(a, b int) int {
			switch {
			case touched[a] == touched[b]:
				return 0
			case touched[a]:
				return -1
			}
			return 1
		})
		slices.Sort(order[:shown])
	}
	list := make([]series, shown)
	for i := range list {
		list[i] = series{name: instances[order[i]].Address, instances: order[i : i+1]}
	}
	if rest := order[shown:]; len(rest) > 0 {
		list = append(list, series{name: fmt.Sprintf("%d others", len(rest)), instances: rest, rest: true})
	}
	return list
}

// point is a stretch of time of the chart: one bucket of the result, or several.
type point struct {
	from, until     time.Duration
	tries           []int64 // by series
	all             int64
	calls           int64
	failed, refused int64 // failed without refused
}

// points sums the buckets up, to no more than can be seen.
func points(r *sim.Result, list []series) []point {
	each := (len(r.Series) + maxPoints - 1) / maxPoints
	var all []point
	for buckets := range slices.Chunk(r.Series, max(each, 1)) {
		p := point{from: buckets[0].From, tries: make([]int64, len(list))}
		p.until = min(buckets[len(buckets)-1].From+r.Scenario.Bucket, r.Scenario.Length)
		for i := range buckets {
			b := &buckets[i]
			p.calls += b.Counts.Calls
			p.refused += b.Counts.Blocked
			p.failed += b.Counts.Failed - b.Counts.Blocked
			for s := range list {
				for _, in := range list[s].instances {
					p.tries[s] += int64(b.Instances[in].Tries)
				}
			}
		}
		for _, n := range p.tries {
			p.all += n
		}
		all = append(all, p)
	}
	return all
}

// share returns n of all as a share, at most 1: calls may fail in a later stretch of time than they began in.
func share(n, all int64) float64 {
	if all <= 0 {
		return 0
	}
	return min(float64(n)/float64(all), 1)
}

// roundUp returns the next share of 1, 2 or 5 times a power of ten, at least a tenth of a percent and at most all.
func roundUp(share float64) float64 {
	if share <= .001 {
		return .001
	}
	power := math.Pow(10, math.Floor(math.Log10(share)))
	for _, m := range []float64{1, 2, 5, 10} {
		if share <= m*power*(1+1e-9) {
			return min(m*power, 1)
		}
	}
	return 1
}

// step returns the distance of the marks on a time axis: at most ten of them.
func step(length time.Duration) time.Duration {
	for _, unit := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond} {
		for _, m := range []time.Duration{1, 2, 5} {
			if length <= 10*m*unit {
				return m * unit
			}
		}
	}
	for _, unit := range []time.Duration{time.Second, time.Minute} {
		for _, m := range []time.Duration{1, 2, 5, 10, 15, 30} {
			if length <= 10*m*unit {
				return m * unit
			}
		}
	}
	for m := time.Hour; ; m *= 2 {
		if length <= 10*m {
			return m
		}
	}
}
