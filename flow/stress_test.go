package flow

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stress lets 64 callers race for a limiter on the system's clock until they have made some calls each, with between run
// beside them until they are done, and returns the readings at which calls were admitted, sorted. Every eighth
// admission is given back and not returned.
func stress(l *Limiter, base time.Time, calls int, between func(now time.Duration)) []time.Duration {
	var mu sync.Mutex
	var all []time.Duration
	var wg sync.WaitGroup
	var done atomic.Bool
	for range 64 {
		wg.Go(func() {
			var mine []time.Duration
			for i := range calls {
				now := time.Since(base)
				p, _, _, ok := l.Acquire(now, 1)
				if ok && i%8 == 0 {
					l.Cancel(time.Since(base), p)
				} else if ok {
					mine = append(mine, now)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, mine...)
		})
	}
	var beside sync.WaitGroup
	if between != nil {
		beside.Go(func() {
			for !done.Load() {
				between(time.Since(base))
			}
		})
	}
	wg.Wait()
	done.Store(true)
	beside.Wait()
	slices.Sort(all)
	return all
}

// requireBound checks that no half-open interval of length per holds more than n of the sorted times.
func requireBound(t *testing.T, all []time.Duration, n int, per time.Duration) {
	t.Helper()
	for i := n; i < len(all); i++ {
		if all[i]-all[i-n] < per {
			t.Fatalf("%d calls within %v, limit %d per %v", n+1, all[i]-all[i-n], n, per)
		}
	}
}

func stressCalls() int {
	switch {
	case raceEnabled:
		return 800
	case testing.Short():
		return 3_000
	}
	return 30_000
}

// faults #11, #25, #90: racing callers, whose readings come in any order, never pass the limit.
func TestRejectStress(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 7, 100, 1000, 20_000} {
		base := time.Now()
		l := newTestLimiter(t, Rule{Limit: float64(n), Per: 2 * time.Millisecond}, 0)
		all := stress(l, base, stressCalls(), nil)
		requireBound(t, all, n, 2*time.Millisecond)
		require.NotEmpty(t, all)
		w := &l.state.Load().window
		require.Equal(t, int64(n)/w.unit, w.tokens())
	}
}
