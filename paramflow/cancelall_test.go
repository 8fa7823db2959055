package paramflow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What one call held of many values, however many of them lie in one stripe, is given back whole.
func TestCancelAll(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Reject, Pace, Concurrency} {
		r := Rule{Mode: mode, Limit: 2}
		if mode == Reject {
			r.Burst = 3
		}
		l := newTestLimiter(t, r, 0)
		const values = 300 // more than there are stripes
		var permits []Permit
		for i := range values {
			p, _, _, ok := l.Acquire(0, other(i), 1)
			require.True(t, ok)
			permits = append(permits, p)
		}
		permits = append(permits, Permit{}) // holds nothing
		l.CancelAll(0, permits)
		require.True(t, l.Idle(0), mode)
		require.Zero(t, l.Status(0).Passed)
		require.Zero(t, l.Status(0).InFlight)
	}
	newTestLimiter(t, Rule{Limit: 1}, 0).CancelAll(0, nil)
}

// The promise holds for every value whatever is given back together.
func TestCancelAllKeepsThePromise(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := newTestLimiter(t, Rule{Limit: 100, Burst: 3, Values: 100}, 0)
		type held struct {
			permits []Permit
			values  []int
			at      time.Duration
		}
		var open []held
		passed := map[int][]admission{}
		var now time.Duration
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"call", "keep", "back", "wait"}).Draw(t, "step") {
			case "wait":
				now += ms(rapid.IntRange(0, 25).Draw(t, "ms"))
			case "call":
				h := held{at: now}
				from := rapid.IntRange(0, 3).Draw(t, "from")
				for v := from; v < from+rapid.IntRange(1, 4).Draw(t, "values"); v++ {
					if p, _, _, ok := l.Acquire(now, other(v), 1); ok {
						h.permits, h.values = append(h.permits, p), append(h.values, v)
					}
				}
				open = append(open, h)
			case "keep":
				if len(open) > 0 {
					for _, v := range open[0].values {
						passed[v] = append(passed[v], admission{open[0].at, 1})
					}
					open = open[1:]
				}
			case "back":
				if len(open) > 0 {
					i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
					l.CancelAll(now, open[i].permits)
					open = append(open[:i:i], open[i+1:]...)
				}
			}
		}
		for _, h := range open {
			for _, v := range h.values {
				passed[v] = append(passed[v], admission{h.at, 1})
			}
		}
		for v := range passed {
			requirePromise(t, passed[v], 3, 100, time.Second)
		}
	})
}
