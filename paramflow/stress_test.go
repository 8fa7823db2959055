package paramflow

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func stressCalls() int {
	switch {
	case raceEnabled:
		return 500
	case testing.Short():
		return 2000
	}
	return 10_000
}

// race lets 64 callers race for a few values until each has made some calls, with between run beside them, and returns what passed of each value.
func race(l *Limiter, values []string, between func(now time.Duration, i int)) map[string][]admission {
	base := time.Now()
	var mu sync.Mutex
	all := make(map[string][]admission)
	var wg, beside sync.WaitGroup
	var done atomic.Bool
	for g := range 64 {
		wg.Go(func() {
			mine := make(map[string][]admission)
			for i := range stressCalls() {
				v, cost := values[(g+i/7)%len(values)], 1+i%2
				now := time.Since(base)
				p, _, _, ok := l.Acquire(now, value(v), cost)
				switch {
				case ok && i%5 == 0:
					l.Cancel(time.Since(base), p)
				case ok:
					mine[v] = append(mine[v], admission{now, cost})
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for v, list := range mine {
				all[v] = append(all[v], list...)
			}
		})
	}
	beside.Go(func() {
		for i := 0; !done.Load(); i++ {
			between(time.Since(base), i)
		}
	})
	wg.Wait()
	done.Store(true)
	beside.Wait()
	return all
}

// faults #11, #86, #90, #92: 64 callers, whose readings come in any order, and a scan beside them that fills all cells: not one call too many, of values that have a cell, that share, that are
// named and that a pattern fits.
func TestRejectStress(t *testing.T) {
	t.Parallel()
	for _, values := range []int{0, minValues} {
		r := Rule{Limit: 500, Burst: 3, Values: values, Overrides: []Override{{Value: "named", Limit: 2000, Burst: 2}, {Wildcard: "pattern-*", Limit: 1000, Burst: 4}}}
		l := newTestLimiter(t, r, 0)
		if values != 0 {
			for i := range 5000 { // nothing of it is over before the test is
				l.Acquire(time.Hour, other(i), 3)
			}
		}
		next := 10_000
		all := race(l, []string{"a", "b", "named", "pattern-x"}, func(now time.Duration, _ int) {
			for range 100 {
				l.Acquire(now, other(next), 1)
				next++
			}
		})
		requirePromise(t, all["a"], 3, 500, time.Second)
		requirePromise(t, all["b"], 3, 500, time.Second)
		requirePromise(t, all["named"], 2, 2000, time.Second)
		requirePromise(t, all["pattern-x"], 4, 1000, time.Second)
		require.NotEmpty(t, all["named"])
	}
}

// An edit that races with calls loses none of those that passed: as many pass as the faster of the two rules allows.
func TestUpdateStress(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Limit: 1000, Burst: 5}, 0)
	all := race(l, []string{"a", "b", "c"}, func(now time.Duration, i int) {
		r := Rule{Limit: 1000, Burst: 5}
		if i%2 == 0 {
			r = Rule{Limit: 100, Burst: 2, Values: minValues, Overrides: []Override{{Value: "b", Limit: 1000, Burst: 5}, {Wildcard: "c*", Limit: 1, Burst: 1}}}
		}
		kept, err := l.Update(r, now)
		require.NoError(t, err)
		require.True(t, kept)
		_, _, _ = l.Status(now), l.Idle(now), l.Pressure(now)
	})
	for _, list := range all {
		requirePromise(t, list, 5, 1000, time.Second)
	}
}
