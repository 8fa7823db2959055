package paramflow

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// crowding is a load of values that nobody limits for what they do: each makes its calls once, all that it may.
type crowding struct {
	pressure, refused, sharing float64 // shares
}

// crowdAt offers a steady load of fresh values to a limiter such that so many are in use at one time, in proportion to its cells, beside hot values at three times their limit.
func crowdAt(t testing.TB, r Rule, pressure float64, hot int, calls int) crowding {
	l := newTestLimiter(t, r, 0)
	r = r.withDefaults()
	rnd := rand.New(rand.NewPCG(7, 7))
	cells := 0
	for i := range l.stripes {
		cells += len(l.stripes[i].lines) * ownCells
	}
	each := r.Burst // calls of a value, all at once
	inUse := time.Duration(float64(each) * float64(r.Per) / r.Limit)
	fresh := float64(cells)*pressure - float64(hot)
	hotGap := time.Duration(float64(r.Per) / r.Limit / 3 / float64(max(hot, 1)))
	var now, nextHot time.Duration
	var c crowding
	warm := int(4 * fresh)
	offered, refused, samples := 0, 0, 0.0
	for i := range warm + calls {
		now += time.Duration(rnd.ExpFloat64() * float64(inUse) / fresh)
		for ; hot > 0 && nextHot < now; nextHot += hotGap {
			l.Acquire(now, value(user(rnd.IntN(hot))), 1)
		}
		for range each {
			_, _, _, ok := l.Acquire(now, other(i), 1)
			if i >= warm {
				offered++
				if !ok {
					refused++
				}
			}
		}
		if i >= warm && i%(calls/20) == 0 {
			samples++
			c.pressure += l.Pressure(now)
			own, shared := 0, 0
			for j := range l.stripes {
				a, b := l.stripes[j].usage(0, len(l.stripes[j].lines), l.ticks(now))
				own, shared = own+a, shared+b
			}
			c.sharing += float64(shared) / 2 / float64(own+shared/2)
		}
	}
	c.pressure, c.sharing = c.pressure/samples, c.sharing/samples
	c.refused = float64(refused) / float64(offered)
	return c
}

// Fewer than one call in 1000 is refused too early up to a pressure of .7, whatever the burst and however hot others are. With -v the whole table is printed.
func TestFalseRefusals(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("nothing races here")
	}
	pressures := []float64{0.3, 0.5, 0.7}
	if testing.Verbose() {
		pressures = append(pressures, 0.8, 0.9, 1, 1.2, 1.5, 2)
	}
	calls := 100_000
	if testing.Short() {
		calls = 20_000
	}
	for _, hot := range []int{0, 5000} {
		for _, burst := range []int{1, 10} {
			for _, p := range pressures {
				c := crowdAt(t, Rule{Limit: 10, Burst: burst}, p, hot, calls)
				t.Logf("pressure %.1f (shown %.2f), %d hot values at 3 times their limit, burst %d: sharing %.3f%%, refused too early %.4f%%",
					p, c.pressure, hot, burst, 100*c.sharing, 100*c.refused)
				if p <= 0.7 {
					require.InDelta(t, p, c.pressure, 0.05)
					require.Less(t, c.refused, 0.001)
					require.Less(t, c.sharing, 0.001)
				}
			}
		}
	}
}

func TestPressure(t *testing.T) {
	t.Parallel()
	for _, values := range []int{minValues, 1000, 0, 1_000_000} {
		l := newTestLimiter(t, Rule{Limit: 1, Per: time.Hour, Values: values}, 0)
		require.Zero(t, l.Pressure(0))
		require.True(t, l.Idle(0))
		expected := values
		if values == 0 {
			expected = 22_900
		}
		for i := range expected {
			l.Acquire(0, other(i), 1)
		}
		st := l.Status(0)
		require.LessOrEqual(t, st.Pressure, fullAt+0.03, "so many values are what the rule is made for: %d", values)
		require.Greater(t, st.Pressure, fullAt/2-0.05, "and its memory is not more than twice what it needs: %d", values)
		require.InEpsilon(t, expected, st.Values, 0.1)
		require.False(t, l.Idle(0))
		require.True(t, l.Idle(time.Hour))
		require.Zero(t, l.Pressure(time.Hour))
	}
}

// The event that a limiter is crowded comes once, and once when it is over.
func TestCrowded(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Limit: 1, Values: minValues}, 0)
	ask := func(now time.Duration) string {
		crowded, changed := l.Crowded(now)
		require.Equal(t, crowded, l.Status(now).Crowded)
		return fmt.Sprint(crowded, " ", changed)
	}
	require.Equal(t, "false false", ask(0))
	crowd(l, 0, 0, 170) // of 256
	require.Equal(t, "false false", ask(0))
	crowd(l, 0, 0, 200)
	require.Equal(t, "true true", ask(0))
	require.Equal(t, "true false", ask(0))
	crowd(l, time.Second, 0, 150)
	require.Equal(t, "true false", ask(time.Second), "not before it falls below .5")
	crowd(l, 2*time.Second, 0, 100)
	require.Equal(t, "false true", ask(2*time.Second))
	require.Equal(t, "false false", ask(2*time.Second))
}

// A refusal that may have come too early is told from others.
func TestDoubtful(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Limit: 1, Values: minValues}, 0)
	require.Equal(t, 1, passes(l, 0, "a", 2))
	require.Zero(t, l.Status(0).Doubtful)
	crowd(l, 0, 0, 2000)
	st := l.Status(0)
	require.Equal(t, st.Refused-1, st.Doubtful)
	require.Greater(t, st.Doubtful, int64(1000))
}
