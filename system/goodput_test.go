package system

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

type measuredRun struct {
	first5, rest, minute1, last float64
	p99                         time.Duration
	refusedShare                float64
}

func simulate(rules []Rule, seed uint64, load func(at time.Duration) float64, until time.Duration, after time.Duration) measuredRun {
	const capacity = 1000.0
	q := &queueing{servers: 10, service: exponential(10 * time.Millisecond), deadline: 250 * time.Millisecond, rate: func(at time.Duration) float64 { return capacity * load(at) }}
	if rules != nil {
		q.guard = NewGuard(q)
		q.guard.Update(rules, 0)
	}
	var first5, rest, arrived, refused float64
	var lat []time.Duration
	q.done = func(at, l time.Duration) {
		switch {
		case at < after:
		case at < after+5*time.Second:
			first5++
		default:
			rest++
			lat = append(lat, l)
		}
	}
	q.refused = func(time.Duration) { refused++ }
	_ = arrived
	q.run(seed, until)
	slices.Sort(lat)
	r := measuredRun{first5: first5 / 5 / capacity, rest: rest / (until - after - 5*time.Second).Seconds() / capacity}
	if len(lat) > 0 {
		r.p99 = lat[len(lat)*99/100]
	}
	r.refusedShare = refused
	return r
}

func TestPrintGoodput(t *testing.T) {
	bbr := []Rule{{ID: "c", Metric: CPU, Limit: 0.8}}
	constant := func(x float64) func(time.Duration) float64 { return func(time.Duration) float64 { return x } }
	for _, x := range []float64{.5, .7, .9, 1.2, 2, 3, 5} {
		for _, rules := range [][]Rule{nil, bbr} {
			for seed := range uint64(2) {
				r := simulate(rules, seed, constant(x), 60*time.Second, 0)
				fmt.Printf("%.1fx rules %d: first5 %.2f rest %.2f p99 %v refused %v\n", x, len(rules), r.first5, r.rest, r.p99, r.refusedShare)
			}
		}
	}
	step := func(at time.Duration) float64 {
		if at < 20*time.Second {
			return .5
		}
		return 3
	}
	for _, rules := range [][]Rule{nil, bbr} {
		r := simulate(rules, 1, step, 80*time.Second, 20*time.Second)
		fmt.Printf("step rules %d: first5 %.2f rest %.2f p99 %v\n", len(rules), r.first5, r.rest, r.p99)
	}
	r := simulate(bbr, 1, constant(1.5), 600*time.Second, 0)
	fmt.Printf("10min rules: first5 %.2f rest %.2f p99 %v\n", r.first5, r.rest, r.p99)
	r = simulate(bbr, 1, constant(1.5), 600*time.Second, 540*time.Second)
	fmt.Printf("10min last: first5 %.2f rest %.2f p99 %v\n", r.first5, r.rest, r.p99)
}
