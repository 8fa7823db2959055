package paramflow

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestConcurrencyModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := Rule{Mode: Concurrency, Limit: float64(rapid.IntRange(0, 4).Draw(t, "limit")), Redact: rapid.Bool().Draw(t, "redact"),
			Overrides: []Override{{Value: "user-1", Limit: 2}, {Wildcard: "user-2*", Limit: 1}}}
		l := newTestLimiter(t, r, 0)
		limit := func(v int) int {
			switch {
			case v == 1:
				return 2
			case v == 2 || v >= 20:
				return 1
			}
			return int(r.Limit)
		}
		type call struct {
			value, cost int
			permit      Permit
		}
		var open []call
		inFlight := make(map[int]int)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if len(open) > 0 && rapid.Bool().Draw(t, "end") {
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				c := open[i]
				if rapid.Bool().Draw(t, "cancel") {
					l.Cancel(0, c.permit)
				} else {
					l.Release(c.permit)
				}
				if rapid.Bool().Draw(t, "twice") && inFlight[c.value] == c.cost {
					l.Release(c.permit)
				}
				inFlight[c.value] -= c.cost
				open = append(open[:i], open[i+1:]...)
				continue
			}
			v, cost := rapid.IntRange(0, 24).Draw(t, "value"), rapid.IntRange(1, 3).Draw(t, "cost")
			p, wait, after, ok := l.Acquire(0, value(user(v)), cost)
			require.Zero(t, wait)
			require.Equal(t, inFlight[v]+cost <= limit(v), ok)
			if ok {
				inFlight[v] += cost
				open = append(open, call{v, cost, p})
			} else if cost > limit(v) {
				require.Equal(t, time.Duration(-1), after)
			} else {
				require.Zero(t, after)
			}
		}
		total, values := 0, 0
		for _, n := range inFlight {
			total += n
			if n > 0 {
				values++
			}
		}
		st := l.Status(0)
		require.Equal(t, int64(total), st.InFlight)
		require.Equal(t, int64(values), st.Values)
		require.Equal(t, total == 0, l.Idle(0))
	})
}

// faults #11, #56, #93: 64 goroutines enter and end calls of few values, of which entries come and go: never more than the limit, and 0 in the end.
func TestConcurrencyStress(t *testing.T) {
	t.Parallel()
	const limit, values = 3, 5
	l := newTestLimiter(t, Rule{Mode: Concurrency, Limit: limit}, 0)
	var inFlight [values]atomic.Int64
	var over atomic.Bool
	var wg sync.WaitGroup
	for g := range 64 {
		wg.Go(func() {
			for i := range stressCalls() {
				v := (g + i) % values
				p, _, _, ok := l.Acquire(0, value(user(v)), 1)
				if !ok {
					continue
				}
				if inFlight[v].Add(1) > limit {
					over.Store(true)
				}
				inFlight[v].Add(-1)
				l.Release(p)
			}
		})
	}
	for i := range 50 { // edits keep what is in flight
		kept, err := l.Update(Rule{Mode: Concurrency, Limit: limit, Overrides: []Override{{Value: "x", Limit: float64(i)}}, Redact: i > 25}, 0)
		require.NoError(t, err)
		require.True(t, kept)
	}
	wg.Wait()
	require.False(t, over.Load())
	require.True(t, l.Idle(0))
	require.Zero(t, l.Status(0).Values)
}

// What a crowd took is given back when it has gone.
func TestConcurrencyMemoryFollowsCalls(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Mode: Concurrency, Limit: 1}, 0)
	var permits []Permit
	for i := range 100_000 {
		p, _, _, ok := l.Acquire(0, other(i), 1)
		require.True(t, ok)
		permits = append(permits, p)
	}
	require.Equal(t, int64(100_000), l.Status(0).Values)
	for _, p := range permits {
		l.Release(p)
	}
	for i := range l.stripes {
		require.Nil(t, l.stripes[i].live)
		require.LessOrEqual(t, len(l.stripes[i].spare), maxSpare)
	}
	require.True(t, l.Idle(0))
}
