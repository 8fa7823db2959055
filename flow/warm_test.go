package flow

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// offer offers a limiter calls at the given distance for a time and returns how many pass in each second.
func offer(l *Limiter, from, length, distance time.Duration) (perSecond []int) {
	perSecond = make([]int, (length+time.Second-1)/time.Second)
	for d := time.Duration(0); d < length; d += distance {
		if _, wait, _, ok := l.Acquire(from+d, 1); ok && d+wait < length {
			perSecond[(d+wait)/time.Second]++
		}
	}
	return perSecond
}

func total(perSecond []int) (sum int) {
	for _, n := range perSecond {
		sum += n
	}
	return sum
}

// TestWarmUpCurve: 30 per second, 10s, factor 3 begins at 10 and is at 30 after the warm-up time under full traffic.
func TestWarmUpCurve(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{WarmUp, WarmUpPace} {
		l := newTestLimiter(t, Rule{Limit: 30, Mode: mode}, 0)
		passed := offer(l, 0, 30*time.Second, time.Millisecond)
		require.Equal(t, 10, passed[0], mode)
		for i := range passed[1:] {
			require.GreaterOrEqual(t, passed[i+1]+1, passed[i], "%v cools down at %ds: %v", mode, i, passed)
			require.LessOrEqual(t, passed[i], 30)
		}
		require.Less(t, passed[7], 29, mode)
		require.InDelta(t, 30, passed[14], 1, "%v: %v", mode, passed)
		require.InDelta(t, 150, total(passed[:10]), 40, "%v: the mean of cold and warm, %v", mode, passed[:10])
		require.InDelta(t, 30, l.Limit(30*time.Second), 1e-6)
		require.False(t, l.Idle(30*time.Second))

		// Without calls it cools down again, with few it stays warm.
		require.True(t, l.Idle(90*time.Second), mode)
		passed = offer(l, 90*time.Second, time.Second, time.Millisecond)
		require.InDelta(t, 10, passed[0], 1, "%v after a pause", mode)
	}
}

// faults #14: limits whose cold rate is below one call still let calls pass and warm up.
func TestWarmUpOfSmallLimits(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{WarmUp, WarmUpPace} {
		for limit := 1; limit <= 4; limit++ {
			for _, factor := range []float64{3, 7, 100} {
				l := newTestLimiter(t, Rule{Limit: float64(limit), Mode: mode, ColdFactor: factor, WarmUp: 2 * time.Second}, 0)
				passed := offer(l, 0, 300*time.Second, 5*time.Millisecond)
				require.Positive(t, passed[0], "%v %d", mode, limit)
				require.InDelta(t, 10*limit, total(passed[290:]), 1.01, "%v %d/%v", mode, limit, factor)
			}
		}
	}
	l := newTestLimiter(t, Rule{Limit: 2, Mode: WarmUp}, 0)
	require.Equal(t, 20, total(offer(l, 0, 60*time.Second, 5*time.Millisecond)[50:]))
}

// TestWarmUpWarmsWhateverTheLimit: where whole calls make the cold limit lower than the curve, full traffic must warm all
// the same; and no interval holds more than the limit.
func TestWarmUpWarmsWhateverTheLimit(t *testing.T) {
	t.Parallel()
	for _, r := range []Rule{
		{Limit: 20}, {Limit: 50, ColdFactor: 7}, {Limit: 1000}, {Limit: 5, Per: 100 * time.Millisecond},
		{Limit: 7, Per: 10 * time.Second, WarmUp: 30 * time.Second}, {Limit: 12.5, ColdFactor: 1.5},
	} {
		r.Mode = WarmUp
		l := newTestLimiter(t, r, 0)
		n, per := whole(r.Limit, r.withDefaults().Per)
		var all []time.Duration
		length := 40 * per.Seconds()
		length = max(length, 40)
		for now := time.Duration(0); now < time.Duration(length*1e9); now += per / time.Duration(5*n) {
			if _, _, _, ok := l.Acquire(now, 1); ok {
				all = append(all, now)
			}
		}
		requireBound(t, all, int(n), per)
		last := 0
		for _, at := range all {
			if at >= time.Duration(length*1e9)-per {
				last++
			}
		}
		require.InDelta(t, n, last, 1+float64(n)/50, "%v", r)
	}
}

// faults #15: more calls than tokens are stored leave none, not less; faults #17: a warm-up of 0 limits all the same.
func TestWarmUpNeverBelowZero(t *testing.T) {
	t.Parallel()
	w := newWarmth(100, 33, 3, 10*time.Second, time.Second, 0)
	w.stored = 100
	w.passed.Store(250)
	rate, ok := w.advance(time.Second)
	require.True(t, ok)
	require.Equal(t, 100.0, rate)
	require.GreaterOrEqual(t, w.stored, 0.0)

	l := newTestLimiter(t, Rule{Limit: 5, Mode: WarmUp}, 0) // the default: 10s
	now := time.Duration(0)
	for range 10 {
		for {
			p, _, retry, ok := l.Acquire(now, 5)
			if ok {
				break
			}
			require.Equal(t, Permit{}, p)
			now += max(retry, time.Millisecond)
		}
	}
	require.GreaterOrEqual(t, now, 9*time.Second)
}

// TestWarmthSurvivesEdits: an edit of the limit, of the mode, and from a mode without warmth keeps a busy resource warm.
func TestWarmthSurvivesEdits(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Limit: 30, Mode: WarmUp}, 0)
	offer(l, 0, 20*time.Second, 3*time.Millisecond)
	now := 20 * time.Second
	for _, r := range []Rule{
		{Limit: 60, Mode: WarmUp}, {Limit: 60, Mode: WarmUp, WarmUp: time.Minute, ColdFactor: 10}, {Limit: 60, Mode: WarmUpPace, MaxWait: time.Second},
	} {
		mustUpdate(t, l, r, now)
		require.InDelta(t, 60, l.Limit(now), 0.01)
		passed := offer(l, now, 2*time.Second, time.Millisecond)
		require.InDelta(t, 60, passed[1], 6, r.Mode)
		now += 2 * time.Second
	}

	l = newTestLimiter(t, Rule{Limit: 30}, 0)
	offer(l, 0, 2*time.Second, 10*time.Millisecond)
	mustUpdate(t, l, Rule{Limit: 30, Mode: WarmUp}, 2*time.Second)
	require.InDelta(t, 30, l.Limit(2*time.Second), 1)
	l = newTestLimiter(t, Rule{Limit: 30}, 0)
	offer(l, 0, 2*time.Second, 50*time.Millisecond) // 20 per second
	mustUpdate(t, l, Rule{Limit: 30, Mode: WarmUp}, 2*time.Second)
	require.InDelta(t, 20, l.Limit(2*time.Second), 1)
	l = newTestLimiter(t, Rule{Limit: 30}, 0)
	mustUpdate(t, l, Rule{Limit: 30, Mode: WarmUp}, 2*time.Second)
	require.InDelta(t, 10, l.Limit(2*time.Second), 1e-6)
}

// TestWarmUpCancelled: what was given back does not warm.
func TestWarmUpCancelled(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{WarmUp, WarmUpPace} {
		l := newTestLimiter(t, Rule{Limit: 30, Mode: mode}, 0)
		for now := time.Duration(0); now < 20*time.Second; now += 5 * time.Millisecond {
			p, _, _, _ := l.Acquire(now, 1)
			l.Cancel(now, p)
		}
		require.InDelta(t, 10, l.Limit(20*time.Second), 1e-6, mode)
	}
}

func TestWarmUpStress(t *testing.T) {
	t.Parallel()
	const n, per = 40, 2 * time.Millisecond
	base := time.Now()
	l := newTestLimiter(t, Rule{Limit: n, Per: per, Mode: WarmUp, WarmUp: time.Second}, 0)
	requireBound(t, stress(l, base, stressCalls(), nil), n, per)
}
