package paramflow

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/extractor"
)

func newTestLimiter(t require.TestingT, r Rule, now time.Duration) *Limiter {
	l, err := NewLimiter(r, now, extractor.SeedOf(1))
	require.NoError(t, err)
	return l
}

func value(s string) extractor.Value { return extractor.Text(s) }

// other returns the i-th of values that nobody else uses.
func other(i int) extractor.Value { return extractor.Int(int64(i) + 1_000_000_000) }

func passes(l *Limiter, now time.Duration, v string, n int) (passed int) {
	for range n {
		if _, _, _, ok := l.Acquire(now, value(v), 1); ok {
			passed++
		}
	}
	return passed
}

// admission is a call that passed.
type admission struct {
	at   time.Duration
	cost int
}

// requirePromise checks that in no interval more passed than burst + limit×T/per. A sum of calls up to each time less what may have passed until then must not rise by more than the burst.
func requirePromise(t require.TestingT, all []admission, burst int, limit float64, per time.Duration) {
	slices.SortFunc(all, func(a, b admission) int { return cmp.Compare(a.at, b.at) })
	lowest, sum := math.Inf(1), 0.0
	for i, a := range all {
		excess := sum*float64(per) - float64(a.at)*limit
		lowest = min(lowest, excess)
		sum += float64(a.cost)
		if over := (sum*float64(per) - float64(a.at)*limit - lowest) / float64(per); over > float64(burst)+1e-6 {
			require.Failf(t, "the promise is broken", "at call %d, at %v: %v calls more than the rate allows, burst %d", i, a.at, over, burst)
		}
	}
}

// crowd fills every cell of a small limiter with values that are in use.
func crowd(l *Limiter, now time.Duration, from, n int) {
	for i := range n {
		l.Acquire(now, other(from+i), 1)
	}
}

func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func user(i int) string { return "user-" + strconv.Itoa(i) }
