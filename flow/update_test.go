package flow

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func mustUpdate(t require.TestingT, l *Limiter, r Rule, now time.Duration) {
	kept, err := l.Update(r, now)
	require.NoError(t, err)
	require.True(t, kept)
}

// modes are one rule per mode with the same rate.
func modes(limit float64) []Rule {
	return []Rule{
		{Limit: limit},
		{Limit: limit, Mode: Smooth, Burst: int(limit)},
		{Limit: limit, Mode: Pace},
		{Limit: limit, Mode: WarmUp},
		{Limit: limit, Mode: WarmUpPace},
	}
}

// faults #27: editing a rule 20 times at one instant never yields more than its limit, whatever is edited.
func TestEditsAtOneInstant(t *testing.T) {
	t.Parallel()
	for _, from := range modes(10) {
		for _, to := range modes(10) {
			for name, edit := range map[string]func(r *Rule, i int){
				"nothing": func(*Rule, int) {},
				"limit":   func(r *Rule, i int) { r.Limit -= float64(i % 2) },
				"per": func(r *Rule, i int) { // the same rate
					r.Per, r.Limit = time.Second/time.Duration(1+i%2), r.Limit/float64(1+i%2)
				},
			} {
				t.Run(fmt.Sprintf("%v to %v, %s", from.Mode, to.Mode, name), func(t *testing.T) {
					const now = time.Minute
					l := newTestLimiter(t, from, 0)
					passed := 0
					drain := func() {
						for range 20 {
							if _, _, _, ok := l.Acquire(now, 1); ok {
								passed++
							}
						}
					}
					drain()
					for i := range 20 {
						r := []Rule{to, from}[i%2]
						edit(&r, i)
						if r.Mode == Smooth {
							r.Burst = min(r.Burst, int(r.Limit))
						}
						mustUpdate(t, l, r, now)
						drain()
					}
					require.LessOrEqual(t, passed, 10)
				})
			}
		}
	}
}

// TestUpdateModel edits Reject between calls: never more than the limit in force in any of its intervals, counting what passed
// under older limits too, as far as those had remembered it.
func TestUpdateModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limits := rapid.SampledFrom([]int64{1, 2, 5, 50, 300, 3000, 100_000})
		pers := rapid.SampledFrom([]time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second})
		n, per := limits.Draw(t, "limit"), pers.Draw(t, "per")
		now := time.Duration(0)
		var since time.Duration // from when on admissions are remembered for sure
		l := newTestLimiter(t, Rule{Limit: float64(n), Per: per}, now)
		var all []admission
		t.Repeat(map[string]func(*rapid.T){
			"pass time": func(t *rapid.T) {
				now += time.Duration(rapid.Float64Range(0, 1.1).Draw(t, "intervals") * float64(per))
			},
			"call": func(t *rapid.T) {
				cost := rapid.Int64Range(1, max(1, n/20)).Draw(t, "cost")
				for range rapid.IntRange(1, 60).Draw(t, "calls") {
					if _, _, _, ok := l.Acquire(now, int(cost)); !ok {
						break
					}
					all = append(all, admission{now, cost})
					var sum int64
					for _, a := range all {
						if now-a.at < per && a.at > since {
							sum += a.cost
						}
					}
					require.LessOrEqual(t, sum, n)
				}
			},
			"edit limit": func(t *rapid.T) {
				n = limits.Draw(t, "limit")
				mustUpdate(t, l, Rule{Limit: float64(n), Per: per}, now)
				require.Equal(t, n/l.state.Load().unit, l.state.Load().tokens())
			},
			"edit per": func(t *rapid.T) {
				old := per
				per = pers.Draw(t, "per")
				since = max(since, now-min(old, per))
				mustUpdate(t, l, Rule{Limit: float64(n), Per: per}, now)
			},
		})
	})
}

// TestUpdateCarries says what an edit from mode to mode leaves of a full budget of 10 per second.
func TestUpdateCarries(t *testing.T) {
	t.Parallel()
	fill := func(r Rule) *Limiter {
		l := newTestLimiter(t, r, 0)
		for range 10 {
			l.Acquire(0, 1)
		}
		return l
	}
	first := func(l *Limiter) time.Duration { // when the next call passes
		for now := time.Duration(0); ; now += time.Millisecond {
			if _, _, _, ok := l.Acquire(now, 1); ok {
				return now
			}
		}
	}
	smooth := Rule{Limit: 10, Mode: Smooth, Burst: 10}
	for _, c := range []struct {
		name     string
		from, to Rule
		want     time.Duration
	}{
		{"reject, higher limit", Rule{Limit: 10}, Rule{Limit: 11}, 0},
		{"reject, lower limit", Rule{Limit: 10}, Rule{Limit: 9}, time.Second},
		{"reject, shorter interval", Rule{Limit: 10}, Rule{Limit: 10, Per: 500 * time.Millisecond}, 500 * time.Millisecond},
		{"reject, longer interval", Rule{Limit: 10}, Rule{Limit: 10, Per: 2 * time.Second}, 2 * time.Second},
		{"reject to refuse all and back", Rule{Limit: 10}, Rule{Limit: 10, ID: "same"}, time.Second},
		{"reject to smooth", Rule{Limit: 10}, smooth, 100 * time.Millisecond},
		{"reject to pace", Rule{Limit: 10}, Rule{Limit: 10, Mode: Pace}, time.Second},
		{"reject to pace, much slower: at most two intervals", Rule{Limit: 10}, Rule{Limit: 1, Mode: Pace}, 2 * time.Second},
		{"smooth, higher limit: earned back sooner", smooth, Rule{Limit: 20, Mode: Smooth, Burst: 10}, 50 * time.Millisecond},
		{"smooth, higher burst", smooth, Rule{Limit: 10, Mode: Smooth, Burst: 11}, 100 * time.Millisecond},
		{"smooth to pace", smooth, Rule{Limit: 10, Mode: Pace}, 100 * time.Millisecond},
		{"smooth to reject: evenly", smooth, Rule{Limit: 10}, time.Second},
		{"pace, faster", Rule{Limit: 10, Mode: Pace}, Rule{Limit: 50, Mode: Pace}, 20 * time.Millisecond},
		{"pace, slower", Rule{Limit: 10, Mode: Pace}, Rule{Limit: 5, Mode: Pace}, 200 * time.Millisecond},
		{"pace to reject: as if paced before", Rule{Limit: 10, Mode: Pace}, Rule{Limit: 10}, 100 * time.Millisecond},
		{"pace to smooth", Rule{Limit: 10, Mode: Pace}, Rule{Limit: 10, Mode: Smooth}, 100 * time.Millisecond},
	} {
		l := fill(c.from)
		mustUpdate(t, l, c.to, 0)
		require.Equal(t, c.want, first(l), c.name)
	}
}

// TestUpdateKeepsPromisedTurns: what waits keeps its turn, and later turns come after it.
func TestUpdateKeepsPromisedTurns(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Limit: 10, Mode: Pace, MaxWait: time.Second}, 0)
	for range 5 {
		l.Acquire(0, 1)
	}
	p, wait, _, ok := l.Acquire(0, 1)
	require.True(t, ok)
	require.Equal(t, 500*time.Millisecond, wait)
	mustUpdate(t, l, Rule{Limit: 10, Mode: Pace, MaxWait: 2 * time.Second}, 0)
	_, wait, _, _ = l.Acquire(0, 1)
	require.Equal(t, 600*time.Millisecond, wait)
	l.Cancel(0, p)
	_, wait, _, _ = l.Acquire(0, 1)
	require.Equal(t, 500*time.Millisecond, wait, "an edit of MaxWait alone leaves permits good")
	mustUpdate(t, l, Rule{Limit: 100, Mode: Pace, MaxWait: 2 * time.Second}, 0)
	_, wait, _, _ = l.Acquire(0, 1)
	require.Equal(t, 610*time.Millisecond, wait)
	mustUpdate(t, l, Rule{Limit: 2}, 0)
	_, _, retry, ok := l.Acquire(0, 1)
	require.False(t, ok)
	require.Equal(t, 1600*time.Millisecond, retry, "two promised turns fill the interval before the last of them")
}

// TestUpdateToZeroAndBack: refusing all for a moment does not forget more than that.
func TestUpdateRefusesBadRules(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Limit: 3}, 0)
	_, err := l.Update(Rule{Limit: -1}, 0)
	require.ErrorContains(t, err, "limit")
	require.Equal(t, 3.0, l.Limit(0))
	_, err = NewLimiter(Rule{Limit: 1, Burst: 2}, 0)
	require.ErrorContains(t, err, "burst")
}

// TestUpdateStress races 64 callers, some of whom give back, with edits of one limit's other fields and of its mode: the
// limit is never passed, and in the end the window has all its tokens.
func TestUpdateStress(t *testing.T) {
	t.Parallel()
	const n, per = 50, 2 * time.Millisecond
	for name, edit := range map[string]func(i int) Rule{
		"limit": func(i int) Rule { return Rule{Limit: n - float64(i%3), Per: per} },
		"per":   func(i int) Rule { return Rule{Limit: n, Per: per + time.Duration(i%2)*time.Millisecond} },
		"mode": func(i int) Rule {
			return []Rule{{Limit: n, Per: per}, {Limit: n, Per: per, Mode: WarmUp, ColdFactor: 1.01}}[i%2]
		},
		"all modes": func(i int) Rule {
			r := modes(n)[i%3]
			r.Per = per
			if r.Mode == Smooth {
				r.Burst = 1
			}
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := time.Now()
			l := newTestLimiter(t, edit(0), 0)
			edits := 0
			all := stress(l, base, stressCalls()/4, func(now time.Duration) {
				edits++
				_, err := l.Update(edit(edits), now)
				require.NoError(t, err)
			})
			bound := n
			if name == "all modes" {
				bound = n + 1 // Smooth and Pace: also at the interval's end
			}
			requireBound(t, all, bound, per)
			require.NotEmpty(t, all)
		})
	}
}
