package paramflow

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cordon-go/cordon/extractor"
)

// naive is GCRA for one value with floating point numbers.
type naive struct {
	burst int
	gap   float64
	until float64
}

// margin is by how much a call of the cost could come sooner (positive) or comes too soon (negative), in calls.
func (n *naive) margin(now time.Duration, cost int) float64 {
	return (float64(now)+float64(n.burst)*n.gap-math.Max(n.until, float64(now)))/n.gap - float64(cost)
}

func (n *naive) admit(now time.Duration, cost int) {
	n.until = math.Max(n.until, float64(now)) + float64(cost)*n.gap
}

func drawRate(t *rapid.T) Rule {
	r := Rule{Per: time.Duration(rapid.Int64Range(int64(minPer), int64(maxPer)).Draw(t, "per"))}
	if rapid.Bool().Draw(t, "short") {
		r.Per = time.Duration(rapid.SampledFrom([]int{1, 7, 1000, 60_000}).Draw(t, "per ms")) * time.Millisecond
	}
	low, high := float64(r.Per)/float64(maxInterval)*1.001, maxPerSecond*r.Per.Seconds()
	r.Limit = math.Min(high, math.Exp(rapid.Float64Range(math.Log(low), math.Log(high)).Draw(t, "log limit")))
	if rapid.Bool().Draw(t, "whole") {
		r.Limit = math.Max(1, math.Floor(r.Limit))
	}
	if most := float64(maxInterval) / float64(r.Per) * r.Limit; rapid.Bool().Draw(t, "burst set") {
		r.Burst = rapid.IntRange(1, int(math.Max(1, math.Min(most, 50)))).Draw(t, "burst")
	}
	return r
}

// With room for all each value is limited as if it were alone: what a naive model of it says, for any rate, interval and cost, whatever its neighbours do.
func TestRejectModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := drawRate(t)
		l := newTestLimiter(t, r, 0)
		burst := burstOr(r.Burst, r.Limit)
		gap := float64(r.Per) / r.Limit
		model := make(map[extractor.Value]*naive)
		admitted := make(map[extractor.Value][]admission)
		var now time.Duration
		for range rapid.IntRange(1, 200).Draw(t, "calls") {
			now += time.Duration(rapid.Float64Range(0, 2).Draw(t, "pause") * gap * float64(rapid.SampledFrom([]int{0, 1, 1, 1, burst}).Draw(t, "long")))
			v := extractor.Int(rapid.Int64Range(0, 9).Draw(t, "value"))
			cost := rapid.SampledFrom([]int{1, 1, 1, 2, burst, burst + 1}).Draw(t, "cost")
			m := model[v]
			if m == nil {
				m = &naive{burst: burst, gap: gap}
				model[v] = m
			}
			margin := m.margin(now, cost)
			_, wait, after, ok := l.Acquire(now, v, cost)
			require.Zero(t, wait)
			if math.Abs(margin) > 1e-6*float64(burst)+0.01 { // gaps are right within .125 %
				require.Equal(t, margin > 0, ok, "value %v at %v, cost %d: margin %v", v, now, cost, margin)
			}
			switch {
			case ok:
				m.admit(now, cost)
				admitted[v] = append(admitted[v], admission{now, cost})
			case cost > burst:
				require.Equal(t, time.Duration(-1), after)
			default:
				require.Positive(t, after)
				l2, w := l.peek(now+after, v, cost)
				require.True(t, l2, "not after %v either: %v", after, w)
				l2, _ = l.peek(now+after-1, v, cost)
				require.False(t, l2, "sooner than after %v", after)
			}
		}
		for _, all := range admitted {
			requirePromise(t, all, burst, r.Limit, r.Per)
		}
	})
}

// peek says whether a call would pass, and leaves everything as it was.
func (l *Limiter) peek(now time.Duration, v extractor.Value, cost int) (ok bool, retryAfter time.Duration) {
	s, tag := l.stripe(v.Hash(l.seed))
	w := want{tag: tag, t: l.ticks(now), cost: int64(cost)}
	w.class = l.plan.class(v)
	w.allowance = l.plan.classes[w.class]
	w.find(s, l.plan)
	retryAfter, ok = w.reject()
	return ok, retryAfter
}

// faults #52, #91, #92: a scan over other values, of any length, between two uses of a value cannot make the limiter forget it, even if it has room for only a hundred.
func TestScanBypass(t *testing.T) {
	t.Parallel()
	budgets := []int{1000, 10_000, 10_000, 30_000, 30_000, 30_000, 100_000, 100_000, 100_000, 1_200_000}
	if testing.Short() || raceEnabled {
		budgets = budgets[:5]
	}
	for _, values := range []int{minValues, 0} {
		t.Run(fmt.Sprintf("values %d", values), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				left := rapid.SampledFrom(budgets).Draw(t, "calls")
				r := Rule{Limit: float64(rapid.SampledFrom([]int{1, 10, 60}).Draw(t, "limit")), Burst: rapid.SampledFrom([]int{0, 1, 10}).Draw(t, "burst"), Values: values}
				r.Per = rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(t, "per")
				l := newTestLimiter(t, r, 0)
				var now time.Duration
				var all []admission
				next := 0
				for left > 0 && len(all) < 3000 {
					for range rapid.IntRange(1, 20).Draw(t, "uses") {
						if _, _, _, ok := l.Acquire(now, value("hot"), 1); ok {
							all = append(all, admission{now, 1})
						}
						left--
					}
					scan := min(rapid.SampledFrom([]int{0, 1, 10, 1000, 10_000, 100_000, 1_000_000}).Draw(t, "scan"), left)
					for range scan {
						now += 10 * time.Microsecond
						l.Acquire(now, other(next), 1)
						next++
					}
					left -= scan
				}
				requirePromise(t, all, burstOr(r.Burst, r.Limit), r.Limit, r.Per)
			})
		})
	}
}

// Values that share their cells are never admitted too much either, whatever their rates, readings that come late included.
func TestCrowdedPromise(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := Rule{Limit: 5, Burst: rapid.IntRange(1, 6).Draw(t, "burst"), Values: minValues, Overrides: []Override{{Wildcard: "slow-*", Limit: 0.5, Burst: 2}}}
		l := newTestLimiter(t, r, 0)
		admitted := make(map[string][]admission)
		var now time.Duration
		for i := range rapid.IntRange(100, 4000).Draw(t, "calls") {
			now += time.Duration(rapid.IntRange(0, 3_000_000).Draw(t, "pause"))
			n := rapid.IntRange(0, 600).Draw(t, "value")
			name := user(n)
			if n%5 == 0 {
				name = fmt.Sprintf("slow-%d", n)
			}
			at := now
			if i%7 == 0 {
				at -= time.Duration(rapid.IntRange(0, 100_000_000).Draw(t, "late"))
			}
			p, _, _, ok := l.Acquire(at, value(name), 1)
			if !ok {
				continue
			}
			if i%11 == 0 {
				l.Cancel(at, p)
				continue
			}
			admitted[name] = append(admitted[name], admission{at, 1})
		}
		for name, all := range admitted {
			if name[0] == 's' {
				requirePromise(t, all, 2, 0.5, time.Second)
			} else {
				requirePromise(t, all, r.Burst, 5, time.Second)
			}
		}
	})
}

// What is given back is as if it had not been admitted, never more: a model without the calls that were given back admits everything that the limiter does.
func TestCancelNeverTooMuch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		burst := rapid.IntRange(1, 8).Draw(t, "burst")
		l := newTestLimiter(t, Rule{Limit: 10, Burst: burst, Overrides: []Override{{Value: "named", Limit: 10, Burst: burst}}}, 0)
		v := value(rapid.SampledFrom([]string{"named", "other"}).Draw(t, "value"))
		type call struct {
			admission
			permit Permit
		}
		var open []call
		var kept []admission
		var now time.Duration
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			now += time.Duration(rapid.IntRange(0, 120).Draw(t, "pause")) * time.Millisecond
			cost := rapid.IntRange(1, burst).Draw(t, "cost")
			if rapid.Bool().Draw(t, "acquire") || len(open) == 0 {
				if p, _, _, ok := l.Acquire(now, v, cost); ok {
					open = append(open, call{admission{now, cost}, p})
				}
				continue
			}
			i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
			if rapid.Bool().Draw(t, "cancel") {
				l.Cancel(now, open[i].permit)
			} else {
				kept = append(kept, open[i].admission)
			}
			open = append(open[:i], open[i+1:]...)
		}
		for _, c := range open {
			kept = append(kept, c.admission)
		}
		requirePromise(t, kept, burst, 10, time.Second)
	})
}

func TestCancelGivesBack(t *testing.T) {
	t.Parallel()
	for _, v := range []string{"named", "other"} {
		l := newTestLimiter(t, Rule{Limit: 1, Per: time.Hour, Overrides: []Override{{Value: "named", Limit: 1}}}, 0)
		for range 50 {
			p, _, _, ok := l.Acquire(time.Second, value(v), 1)
			require.True(t, ok, v)
			l.Cancel(time.Second, p)
		}
		require.Zero(t, l.Status(time.Second).Passed)
		require.Equal(t, 1, passes(l, time.Second, v, 5))
		l.Cancel(time.Second, Permit{})
		require.Zero(t, passes(l, time.Second, v, 5))
	}
}

// faults #57: after a long pause there is a full burst, at the highest rate too.
func TestFullBurstAfterYears(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Limit: 1e6, Burst: 100}, 0)
	require.Equal(t, 100, passes(l, 0, "a", 200))
	require.Equal(t, 100, passes(l, 30*24*time.Hour, "a", 200))
	require.Equal(t, 100, passes(l, 40*365*24*time.Hour, "a", 200), "beyond what ticks can count")
}

// faults #11: a limit of 0 refuses from the first call on, in every mode.
func TestZeroRefusesAtFirstSight(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{Reject, Pace, Concurrency} {
		l := newTestLimiter(t, Rule{Mode: mode, Limit: 3, Overrides: []Override{{Value: "no"}, {Wildcard: "never-*"}}}, 0)
		for _, v := range []string{"no", "never-1"} {
			_, _, after, ok := l.Acquire(0, value(v), 1)
			require.False(t, ok)
			require.Equal(t, time.Duration(-1), after)
		}
		require.Positive(t, passes(l, 0, "yes", 1))
		l = newTestLimiter(t, Rule{Mode: mode}, 0)
		require.Zero(t, passes(l, 0, "yes", 3))
	}
}

// The value is the same however it comes, and however the rule wrote it.
func TestCanonicalValues(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Limit: 1, Overrides: []Override{{Value: "7", Limit: 2}}}, 0)
	seven, ok := extractor.Of(7.0)
	require.True(t, ok)
	for i, v := range []extractor.Value{extractor.Int(7), seven, value("7")} {
		_, _, _, ok := l.Acquire(0, v, 1)
		require.Equal(t, i < 2, ok)
	}
	require.Equal(t, 2.0, l.Limit(seven))
	require.Equal(t, 1.0, l.Limit(value("8")))
}
