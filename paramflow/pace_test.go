package paramflow

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// faults #18: 50,000 calls a second for 2 s at a limit of 1001/s make 2002 turns, as 1000/s makes 2000: intervals are not rounded to milliseconds.
func TestPaceIsExact(t *testing.T) {
	t.Parallel()
	for _, limit := range []float64{1000, 1001, 2005, 0.5, 12.5} {
		l := newTestLimiter(t, Rule{Mode: Pace, Limit: limit, MaxWait: time.Millisecond}, 0)
		passed := 0
		for i := range 100_000 {
			if _, _, _, ok := l.Acquire(time.Duration(i)*20*time.Microsecond, value("a"), 1); ok {
				passed++
			}
		}
		want := max(1, 2*limit)
		require.InDelta(t, want, passed, max(2, want/100), "limit %v", limit)
	}
}

// Turns of one value are a distance apart, whatever neighbours do and whoever cancels; nobody waits longer or behind more than the rule says.
func TestPaceModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := Rule{Mode: Pace, Limit: float64(rapid.IntRange(1, 50).Draw(t, "limit")), MaxWait: ms(rapid.IntRange(0, 1000).Draw(t, "max wait"))}
		if r.MaxWait > 0 {
			r.MaxQueue = rapid.IntRange(0, 5).Draw(t, "queue")
		}
		if rapid.Bool().Draw(t, "small") {
			r.Values = minValues
		}
		crowded := rapid.Bool().Draw(t, "crowded")
		l := newTestLimiter(t, r, 0)
		gap := time.Duration(float64(time.Second) / r.Limit)
		type turn struct {
			at     time.Duration
			cost   int
			permit Permit
		}
		var now time.Duration
		var turns []turn
		next := time.Duration(0) // of a value with a cell of its own and no cancels
		cancelled := false
		for i := range rapid.IntRange(1, 80).Draw(t, "calls") {
			now += ms(rapid.IntRange(0, 300).Draw(t, "pause"))
			if crowded {
				crowd(l, now, i*20, 20)
			}
			if len(turns) > 0 && rapid.IntRange(0, 5).Draw(t, "cancel") == 0 {
				j := rapid.IntRange(0, len(turns)-1).Draw(t, "which")
				if turns[j].at > now { // it has not passed yet
					l.Cancel(now, turns[j].permit)
					turns = slices.Delete(turns, j, j+1)
					cancelled = true
				}
				continue
			}
			cost := rapid.IntRange(1, 3).Draw(t, "cost")
			p, wait, after, ok := l.Acquire(now, value("a"), cost)
			ideal := max(now, next+time.Duration(cost-1)*gap)
			if !ok {
				require.Zero(t, wait)
				if float64(cost) > r.Limit {
					require.Equal(t, time.Duration(-1), after)
				} else {
					require.Positive(t, after)
				}
				continue
			}
			require.LessOrEqual(t, wait, r.MaxWait)
			if r.MaxQueue > 0 {
				require.LessOrEqual(t, int64(wait), int64(r.MaxQueue)*int64(gap+1))
			}
			if !crowded && !cancelled {
				require.InDelta(t, float64(ideal), float64(now+wait), float64(len(turns)+2)*100)
			}
			next = now + wait + gap
			turns = append(turns, turn{now + wait, cost, p})
		}
		slices.SortFunc(turns, func(a, b turn) int { return cmp.Compare(a.at, b.at) })
		for i := 1; i < len(turns); i++ {
			require.GreaterOrEqual(t, turns[i].at-turns[i-1].at, time.Duration(turns[i].cost)*gap-1)
		}
	})
}

// faults #86, #87: a turn is reserved when it is promised, before anybody waits.
func TestPaceQueue(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Mode: Pace, Limit: 10, MaxWait: time.Second, MaxQueue: 3}, 0)
	var waits []time.Duration
	var last Permit
	for range 64 {
		if p, wait, _, ok := l.Acquire(time.Second, value("a"), 1); ok {
			waits, last = append(waits, wait), p
		}
	}
	require.Equal(t, []time.Duration{0, ms(100), ms(200), ms(300)}, waits)
	_, _, after, ok := l.Acquire(time.Second, value("a"), 1)
	require.False(t, ok)
	require.Equal(t, ms(100), after)
	_, wait, _, ok := l.Acquire(time.Second, value("b"), 1)
	require.True(t, ok)
	require.Zero(t, wait)
	l.Cancel(time.Second, last)
	_, wait, _, ok = l.Acquire(time.Second, value("a"), 1)
	require.True(t, ok)
	require.Equal(t, ms(300), wait, "the turn that was given back")
}
