package flow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A limit of 0 for a while is an edit like any other: what was admitted before counts after it, in every mode, and keeps the limiter from
// being dropped for as long.
func TestLimitOfZeroForgetsNothing(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Reject, Smooth, Pace, WarmUp, WarmUpPace} {
		r := Rule{Limit: 10, Mode: mode}
		if mode == Smooth {
			r.Burst = 10
		}
		l, err := NewLimiter(r, 0)
		require.NoError(t, err)
		use := func(now time.Duration) (n int) {
			for range 30 {
				if _, wait, _, ok := l.Acquire(now, 1); ok && wait == 0 {
					n++
				}
			}
			return n
		}
		before := use(0)
		require.Positive(t, before)
		for _, limit := range []float64{0, 10, 0, 0, 10} {
			r.Limit = limit
			if limit == 0 && mode == Smooth {
				r.Burst = 0
			} else if mode == Smooth {
				r.Burst = 10
			}
			_, err = l.Update(r, time.Millisecond)
			require.NoError(t, err)
			require.Zero(t, use(time.Millisecond), "%v", mode)
			require.False(t, l.Idle(time.Millisecond), "%v", mode)
		}
		r.Limit, r.Burst = 0, 0
		_, err = l.Update(r, 2*time.Millisecond)
		require.NoError(t, err)
		require.True(t, l.Idle(time.Hour), "%v", mode)
	}
}
