package flow

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// admission is one admitted call of a model.
type admission struct {
	at   time.Duration
	cost int64
}

// worst returns the highest cost of admissions in any half-open interval of length per.
func worst(admissions []admission, per time.Duration) (highest int64) {
	for _, first := range admissions {
		var sum int64
		for _, a := range admissions {
			if d := a.at - first.at; d >= 0 && d < per {
				sum += a.cost
			}
		}
		highest = max(highest, sum)
	}
	return highest
}

// tokens returns all tokens of a window, in units: they must always be as many as the limit in force.
func (w *window) tokens() (sum int64) {
	for i := range w.words {
		sum += w.share(w.words[i].Load())
	}
	return sum + w.pool.Load()
}

// newTestLimiter returns a limiter for a rule that must be valid.
func newTestLimiter(t require.TestingT, r Rule, now time.Duration) *Limiter {
	l, err := NewLimiter(r, now)
	require.NoError(t, err)
	return l
}

// held is an admission that may be given back.
type held struct {
	permit Permit
	admission
}

// TestRejectModel compares Reject with a list of stamps, in order of time: never more than the limit in any interval, and
// up to 96 calls never less.
func TestRejectModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int64{1, 2, 3, 7, 50, 96, 97, 100, 113, 224, 225, 300, 1000, 5000}).Draw(t, "limit")
		per := rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, time.Hour, 24 * time.Hour}).Draw(t, "per")
		now := time.Duration(rapid.SampledFrom([]int64{0, -5e9, 1 << 40, 1.75e18}).Draw(t, "start"))
		l := newTestLimiter(t, Rule{Limit: float64(n), Per: per}, now)
		w := &l.state.Load().window
		slack := (n+int64(len(w.words))-1)/int64(len(w.words)) - 1
		tick := time.Duration(1)<<w.tick - 1 // times are rounded against the caller
		var all []admission
		inUse := func(per time.Duration) (sum int64) {
			for _, a := range all {
				if now-a.at < per {
					sum += a.cost
				}
			}
			return sum
		}
		t.Repeat(map[string]func(*rapid.T){
			"pass time": func(t *rapid.T) {
				now += time.Duration(rapid.Float64Range(0, 1.2).Draw(t, "intervals") * float64(per))
			},
			"pass a moment": func(t *rapid.T) {
				now += time.Duration(rapid.Int64Range(0, int64(per)/n+1).Draw(t, "ns"))
			},
			"idle": func(t *rapid.T) {
				now += time.Duration(rapid.Int64Range(1, 1e6).Draw(t, "intervals")) * min(per, time.Minute)
			},
			"call": func(t *rapid.T) {
				for range rapid.Int64Range(1, min(2*n, 300)).Draw(t, "calls") {
					_, wait, retry, ok := l.Acquire(now, 1)
					require.Zero(t, wait)
					if ok {
						all = append(all, admission{now, 1})
						require.LessOrEqual(t, inUse(per), n)
						continue
					}
					require.GreaterOrEqual(t, inUse(per+tick)+slack, n, "refused although there is room")
					require.Positive(t, retry)
					require.LessOrEqual(t, retry, per+tick)
					if slack == 0 && tick == 0 { // exact: not a nanosecond too late
						var oldest time.Duration = math.MaxInt64
						for _, a := range all {
							if now-a.at < per {
								oldest = min(oldest, a.at)
							}
						}
						require.Equal(t, oldest+per-now, retry)
					}
				}
			},
			"come back": func(t *rapid.T) {
				if _, _, retry, ok := l.Acquire(now, 1); ok {
					all = append(all, admission{now, 1})
				} else {
					now += retry
					_, _, _, ok := l.Acquire(now, 1)
					require.True(t, ok, "refused after its retryAfter")
					all = append(all, admission{now, 1})
				}
			},
			"": func(t *rapid.T) {
				require.Equal(t, n, w.tokens())
				for len(all) > 0 && now-all[0].at > 3*per {
					all = all[1:]
				}
				require.LessOrEqual(t, worst(all, per), n)
			},
		})
	})
}

// TestWindowNeverPasses hits a window with readings in any order, costs, cancels and moving limits: tokens are conserved and
// no interval holds more than the largest limit. Covers faults #25 (a reading from before mints nothing).
func TestWindowNeverPasses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int64{1, 2, 3, 10, 100, 230, 1000, 40_000, 1_000_003, 10_000_000}).Draw(t, "limit")
		per := rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, 24 * time.Hour}).Draw(t, "per")
		var w window
		w.init(n, n, per, 0, math.MinInt64, nil)
		now := time.Duration(0)
		limit := n
		var all []held
		reading := func(t *rapid.T) time.Duration {
			late := rapid.SampledFrom([]float64{0, 0, 0, 0.001, 0.3, 1, 2.5, 40}).Draw(t, "late")
			return now - time.Duration(late*float64(per))
		}
		t.Repeat(map[string]func(*rapid.T){
			"pass time": func(t *rapid.T) {
				now += time.Duration(rapid.Float64Range(0, 1.1).Draw(t, "intervals") * float64(per))
			},
			"idle": func(t *rapid.T) {
				now += time.Duration(rapid.Int64Range(1, 1000).Draw(t, "intervals")) * min(per, time.Minute)
			},
			"call": func(t *rapid.T) {
				at := reading(t)
				cost := rapid.Int64Range(1, max(1, n/rapid.SampledFrom([]int64{1, 3, 20, 1000}).Draw(t, "part"))).Draw(t, "cost")
				for range rapid.IntRange(1, 40).Draw(t, "calls") {
					v, ref, retry := w.acquire(at, cost)
					if v == admitted {
						all = append(all, held{Permit{ref: ref, cost: 1}, admission{at, cost}})
					} else {
						require.Equal(t, refused, v)
						require.NotZero(t, retry)
					}
				}
			},
			"cancel": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
				w.cancel(all[i].permit.ref, all[i].cost)
				all = append(all[:i], all[i+1:]...)
			},
			"set limit": func(t *rapid.T) {
				limit = rapid.Int64Range(1, n).Draw(t, "limit")
				w.setLimit(limit)
			},
			"": func(t *rapid.T) {
				require.Equal(t, limit/w.unit, w.tokens())
				var as []admission
				for _, h := range all {
					as = append(as, h.admission)
				}
				require.LessOrEqual(t, worst(as, per), n)
			},
		})
	})
}
