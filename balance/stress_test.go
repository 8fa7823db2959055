package balance

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/isolation"
)

// Callers, lists that change all the time (now and then to quite other instances), rules, pins and failures, all at once: there is never an error, since never is the service
// without an instance that may be called; and in the end nothing is under way.
func TestConcurrentSafe(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Strategy) {
		o, list := regions(Options{Strategy: s}, 6)
		w := newWorld(t, o, list)
		var now atomic.Int64
		var errors, calls atomic.Int64
		stop := make(chan struct{})
		var changers, callers sync.WaitGroup
		change := func(f func(now time.Duration, i int)) {
			changers.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
						f(time.Duration(now.Load()), i)
					}
				}
			})
		}
		other := slices.Concat(in("eu", 3), in("mars", 3))
		for i := range other {
			other[i].Address += "0"
		}
		change(func(now time.Duration, i int) {
			switch {
			case i%7 == 0:
				w.group.Update(now, other)
			default:
				w.group.Update(now, list[i%5:])
			}
		})
		change(func(now time.Duration, i int) {
			_ = w.group.Pin(now, list[i%len(list)].Address, i%3 == 0, time.Millisecond)
			if i%50 == 0 {
				_ = w.group.SetRule(now, []*isolation.Rule{nil, {}, {RegionSwitch: true}, {Shadow: true}, {SlowStart: time.Millisecond}}[i/50%5])
			}
		})
		perCaller := 20_000
		if testing.Short() || raceEnabled {
			perCaller = 4000
		}
		for g := range uint64(8) {
			callers.Go(func() {
				random := rand.New(rand.NewPCG(g, 1))
				var open []*Call
				end := func() {
					o := isolation.Success
					if open[0].Address()[0] == 'e' && random.IntN(2) == 0 {
						o = isolation.Failure
					}
					open[0].End(time.Duration(now.Load()), o)
					open = open[1:]
				}
				for range perCaller {
					c, err := w.Pick(time.Duration(now.Add(int64(100*time.Microsecond))), Request{Hash: random.Uint64N(50)})
					if err != nil {
						errors.Add(1)
						continue
					}
					calls.Add(1)
					if open = append(open, &c); len(open) > 5 {
						end()
					}
				}
				for len(open) > 0 {
					end()
				}
			})
		}
		callers.Wait()
		close(stop)
		changers.Wait()
		require.Zero(t, errors.Load(), "of %d calls", calls.Load())
		w.group.Update(time.Duration(now.Load()), slices.Concat(list, other))
		for _, i := range slices.Concat(list, other) {
			require.Zero(t, w.group.Member(i.Address).InFlight())
		}
		for _, r := range []string{"eu", "us", "asia", "mars"} {
			if m := w.regions.Member(r); m != nil {
				require.Zero(t, m.InFlight())
			}
		}
		require.Zero(t, w.flights[ownSide].Load()+w.flights[otherSide].Load())
	})
}

// Callers at the same time take different turns: everybody gets exactly its share.
func TestConcurrentTurnsAreExact(t *testing.T) {
	t.Parallel()
	const n, goroutines = 7, 8
	perCaller := 7 * 1000
	w := newWorld(t, Options{}, in("", n))
	var counts [goroutines]map[string]int
	var done sync.WaitGroup
	for g := range goroutines {
		counts[g] = map[string]int{}
		done.Go(func() {
			for range perCaller {
				c, err := w.Pick(0, Request{})
				if err == nil {
					counts[g][c.Address()]++
					c.End(0, isolation.Success)
				}
			}
		})
	}
	done.Wait()
	total := map[string]int{}
	for _, c := range counts {
		for a, k := range c {
			total[a] += k
		}
	}
	for a, k := range total {
		require.Equal(t, goroutines*perCaller/n, k, a)
	}
	require.Len(t, total, n)
}
