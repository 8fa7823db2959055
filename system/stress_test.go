package system

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const racers = 16

// race runs f in many goroutines that start together.
func race(f func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() { <-start; f(i) })
	}
	close(start)
	wg.Wait()
}

// No racing callers pass the limit of what is in flight, whatever else goes on: not by one.
func TestConcurrencyIsExact(t *testing.T) {
	t.Parallel()
	rounds := 3000
	if testing.Short() {
		rounds = 500
	}
	const limit = 5
	g := NewGuard(&fake{})
	rules := []Rule{{ID: "c", Metric: Concurrency, Limit: limit}, {ID: "r", Metric: Rate, Limit: 1e7}}
	g.Update(rules, 0)
	var inside, most atomic.Int64
	var admitted, refused, clock atomic.Int64
	race(func(i int) {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		for range rounds {
			now := time.Duration(clock.Add(int64(time.Millisecond)))
			cost := 1 + r.IntN(2)
			p, _, ok := g.Enter(now, cost)
			if !ok {
				refused.Add(1)
				if r.IntN(100) == 0 {
					g.Update(rules, now)
				}
				continue
			}
			admitted.Add(1)
			n := inside.Add(int64(cost))
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			for range r.IntN(10) {
				runtime.Gosched()
			}
			inside.Add(-int64(cost))
			if r.IntN(3) == 0 {
				g.Cancel(cost, p)
			} else {
				g.Exit(now, cost, time.Millisecond)
			}
		}
	})
	require.LessOrEqual(t, most.Load(), int64(limit))
	require.Positive(t, refused.Load(), "there was no race")
	require.Positive(t, admitted.Load())
	require.Zero(t, g.InFlight())
}

// The same for calls that do nothing but race for the one place there is.
func TestOnePlaceIsOnePlace(t *testing.T) {
	t.Parallel()
	rounds := 400_000
	if testing.Short() {
		rounds = 150_000
	}
	g := NewGuard(&fake{})
	g.Update([]Rule{{ID: "c", Metric: Concurrency, Limit: 1}}, 0)
	var inside, over, admitted atomic.Int64
	race(func(i int) {
		for range rounds {
			p, _, ok := g.Enter(0, 1)
			if !ok {
				continue
			}
			if inside.Add(1) > 1 {
				over.Add(1)
			}
			admitted.Add(1)
			inside.Add(-1)
			if i%2 == 0 {
				g.Exit(0, 1, 0)
			} else {
				g.Cancel(1, p)
			}
		}
	})
	require.Zero(t, over.Load())
	require.Positive(t, admitted.Load())
	require.Zero(t, g.InFlight())
}

// No racing callers pass the limit of a rate in any second, by the times at which it was decided, and what they give back others get.
func TestRateIsExact(t *testing.T) {
	t.Parallel()
	for _, limit := range []float64{1, 50, 1000} {
		g := NewGuard(&fake{})
		g.Update([]Rule{{ID: "r", Metric: Rate, Limit: limit}}, 0)
		var clock atomic.Int64
		var mu sync.Mutex
		var at []time.Duration
		race(func(i int) {
			var mine []time.Duration
			for n := range 1500 {
				now := time.Duration(clock.Add(int64(time.Second) / (4 * int64(limit))))
				p, _, ok := g.Enter(now, 1)
				switch {
				case ok && n%7 == 0:
					g.Cancel(1, p)
				case ok:
					mine = append(mine, p.at)
					g.Exit(now, 1, 0)
				}
			}
			mu.Lock()
			at = append(at, mine...)
			mu.Unlock()
		})
		slices.Sort(at)
		n := int(limit)
		for i := n; i < len(at); i++ {
			require.GreaterOrEqual(t, at[i]-at[i-n], time.Second, "%d calls within less than a second", n+1)
		}
		require.Greater(t, len(at), racers*1500/4/3)
	}
}

// Everything at once, for the race detector; what has ended is in flight no more.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	g := NewGuard(&fake{cpu: 0.9, cpuOK: true, load: 3, loadOK: true})
	sets := [][]Rule{
		{{ID: "cpu", Metric: CPU, Limit: 0.8}, {ID: "c", Metric: Concurrency, Limit: 8}, {ID: "s", Metric: Rate, Limit: 10, Shadow: true}},
		{{ID: "cpu", Metric: CPU, Limit: 0.8, Admission: Refuse}, {ID: "rt", Metric: ResponseTime, SlowerThan: time.Millisecond}},
		{{ID: "load", Metric: Load, Limit: 2}, {ID: "s", Metric: Rate, Limit: 100}},
		nil,
	}
	var clock atomic.Int64
	race(func(i int) {
		for n := range 2000 {
			now := time.Duration(clock.Add(int64(3 * time.Millisecond)))
			switch {
			case n%100 == i:
				g.Update(sets[(n/100+i)%len(sets)], now)
			case n%50 == i:
				g.Status(now)
			}
			p, r, ok := g.Enter(now, 1+n%3)
			switch {
			case !ok:
				_ = r.Limit()
			case n%5 == 0:
				g.Cancel(1+n%3, p)
			default:
				for range g.Shadowed(p) {
				}
				g.Exit(now, 1+n%3, time.Duration(n%7)*time.Millisecond)
			}
		}
	})
	require.Zero(t, g.InFlight())
}
