package system

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPerInterval(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit float64
		calls int64
		per   time.Duration
	}{
		{0, 0, time.Second}, {1, 1, time.Second}, {2.9, 2, time.Second}, {0.1 * 30, 3, time.Second}, {1e7, 1e7, time.Second},
		{0.5, 1, 2 * time.Second}, {0.1, 1, 10 * time.Second}, {1.0 / 86400, 1, 24 * time.Hour}, {0.9999, 1, 1000100011 * time.Nanosecond},
	} {
		calls, per := perInterval(c.limit)
		require.Equal(t, c.calls, calls, "%v", c.limit)
		require.Equal(t, c.per, per, "%v", c.limit)
	}
}

// naive is every admission by itself.
type naive struct {
	at    time.Duration
	calls []run
}

func (m *naive) used(per time.Duration) (sum int64) {
	for _, c := range m.calls {
		if m.at-c.latest < per {
			sum += c.cost
		}
	}
	return sum
}

// A window never admits what a list of all admissions would not, and up to 256 calls it admits all that this would; above, it refuses at most a 128th of the limit too early.
func TestWindowAgainstNaive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limits := rapid.SampledFrom([]float64{0, 0.3, 1, 2, 7, 100, 256, 257, 600, 1000, 10_000})
		w, m := new(window), new(naive)
		w.set(limits.Draw(t, "limit"))
		w.used(rapid.SampledFrom([]time.Duration{0, -time.Hour, time.Hour}).Draw(t, "begin"))
		m.at = w.at
		exact := w.limit <= runs
		largest := int64(1)
		if rapid.Bool().Draw(t, "costs") {
			largest = max(1, w.limit/3)
		}
		edited := false
		t.Repeat(map[string]func(*rapid.T){
			"calls": func(t *rapid.T) {
				for range rapid.IntRange(1, 300).Draw(t, "calls") {
					now := w.at + time.Duration(rapid.IntRange(-20, 40).Draw(t, "gap"))*time.Second/time.Duration(4*max(w.limit, 1))
					cost := rapid.Int64Range(1, largest).Draw(t, "cost")
					first := w.ring == nil
					at, used, retryAfter, ok := w.acquire(now, cost)
					if m.at = max(m.at, now); first {
						m.at = now
					}
					require.Equal(t, m.at, w.at)
					free := w.limit - m.used(w.per)
					switch {
					case ok:
						require.LessOrEqual(t, cost, free, "admitted too much")
						require.Equal(t, m.at, at)
						m.calls = append(m.calls, run{at, cost})
					case cost > w.limit:
						require.EqualValues(t, -1, retryAfter)
					default:
						require.True(t, retryAfter > 0 && retryAfter <= w.per, "%v", retryAfter)
						if exact && !edited {
							require.Greater(t, cost, free, "refused for nothing")
							require.Equal(t, w.limit-free, used)
						} else if !edited {
							require.Greater(t, cost, free-w.limit/128-1, "refused too early")
						}
					}
				}
			},
			"retry": func(t *rapid.T) {
				cost := rapid.Int64Range(1, max(1, w.limit)).Draw(t, "cost")
				_, _, retryAfter, ok := w.acquire(w.at, cost)
				if !ok && retryAfter > 0 {
					_, _, _, ok := w.acquire(w.at+retryAfter-1, cost)
					require.False(t, ok, "it could have come sooner than %v", retryAfter)
					at, _, _, ok := w.acquire(w.at+1, cost)
					require.True(t, ok, "after %v nothing is in its way", retryAfter)
					m.at, m.calls = at, append(m.calls, run{at, cost})
				} else if ok {
					m.calls = append(m.calls, run{w.at, cost})
				}
				m.at = w.at
			},
			"cancel": func(t *rapid.T) {
				if len(m.calls) == 0 {
					return
				}
				i := rapid.IntRange(max(0, len(m.calls)-20), len(m.calls)-1).Draw(t, "call")
				w.cancel(m.calls[i].latest, m.calls[i].cost)
				m.calls = append(m.calls[:i:i], m.calls[i+1:]...)
				edited = edited || !exact
			},
			"given back": func(t *rapid.T) {
				// Calls that overlap, and are all refused by something else: they fill the ring with nothing.
				if w.ring == nil {
					return
				}
				var last time.Duration
				held := false
				for range rapid.IntRange(1, 2*len(w.ring)).Draw(t, "calls") {
					at, _, _, ok := w.acquire(w.at+time.Nanosecond, 1)
					if held {
						w.cancel(last, 1)
					}
					last, held = at, ok
				}
				if held {
					w.cancel(last, 1)
				}
				m.at = w.at
				edited = edited || !exact
			},
			"edit": func(t *rapid.T) {
				if rapid.IntRange(0, 5).Draw(t, "edit") > 0 {
					return
				}
				was := w.per
				w.set(limits.Draw(t, "limit"))
				exact, edited = exact && w.limit <= runs, edited || w.per > was || !exact
				m.calls = slices.DeleteFunc(m.calls, func(c run) bool { return m.at-c.latest >= was }) // by then forgotten
			},
			"pause": func(t *rapid.T) {
				w.used(w.at + time.Duration(rapid.IntRange(0, 1500).Draw(t, "ms"))*time.Millisecond)
				m.at = w.at
			},
			"": func(t *rapid.T) {
				require.GreaterOrEqual(t, w.used(w.at), int64(0))
				require.LessOrEqual(t, w.len, 2*runs+1)
				if w.per <= time.Second || !edited {
					require.GreaterOrEqual(t, w.used(w.at), m.used(min(w.per, time.Second)), "forgotten")
				}
			},
		})
	})
}

// Calls that are given back leave nothing behind, however many of them overlap: what is admitted meanwhile counts for as long as it would alone.
func TestWindowForgetsWhatWasGivenBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit float64
		more  int64 // of a run that is not full
	}{{20, 0}, {240, 0}, {10_000, 40}} {
		w := new(window)
		w.set(c.limit)
		var given []time.Duration
		var now time.Duration
		turn := int(c.limit / 20)
		for i := range 3000 {
			now = time.Duration(i) * 300 * time.Microsecond
			if i%300 == 0 {
				for range turn {
					_, _, _, ok := w.acquire(now, 1)
					require.True(t, ok)
				}
			}
			at, _, _, ok := w.acquire(now, 1)
			require.True(t, ok)
			if given = append(given, at); len(given) > 3 { // three are always on their way
				w.cancel(given[0], 1)
				given = given[1:]
			}
		}
		for _, at := range given {
			w.cancel(at, 1)
		}
		require.EqualValues(t, 10*turn, w.used(now), "%v", c.limit)
		for i := range 10 { // those of each turn leave by themselves
			at := time.Duration(i)*300*300*time.Microsecond + time.Second
			require.GreaterOrEqual(t, w.used(at-1), int64(turn*(10-i)), "%v, turn %d", c.limit, i)
			require.LessOrEqual(t, w.used(at), int64(turn*(9-i))+c.more, "%v, turn %d", c.limit, i)
		}
	}
}
