package flow

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/clock"
)

// The tests here pin single steps that only racing callers, or rare readings, get to.

// mustAcquire admits a call of cost 1.
func mustAcquire(t *testing.T, l *Limiter, now time.Duration) Permit {
	t.Helper()
	p, _, _, ok := l.Acquire(now, 1)
	require.True(t, ok)
	return p
}

func requireRefused(t *testing.T, l *Limiter, now time.Duration, why string) {
	t.Helper()
	_, _, _, ok := l.Acquire(now, 1)
	require.False(t, ok, why)
}

// faults #25: a reading from before the place it finds was free is not admitted, although there is room now.
func TestLateReadingFindsRoom(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Limit: 300}, 0)
	for range 300 {
		mustAcquire(t, l, 0)
	}
	mustAcquire(t, l, 1200*time.Millisecond) // begins a life of two places
	_, _, retry, ok := l.Acquire(500*time.Millisecond, 1)
	require.False(t, ok, "it would be the 301st of that second")
	require.Equal(t, 500*time.Millisecond, retry)
	mustAcquire(t, l, 1100*time.Millisecond) // late too, but after all of them
}

// TestTokensFreedMeanwhile: a caller that takes tokens out of the pool looks again whether its reading may have them.
func TestTokensFreedMeanwhile(t *testing.T) {
	t.Parallel()
	var w window
	w.init(10, 10, time.Second, 0, math.MinInt64, nil)
	h := w.head.Load()
	w.low.Store(int64(time.Second))
	require.Equal(t, again, w.open(h, w.after(h), w.words[0].Load(), 1, time.Millisecond, 0))
	require.Equal(t, int64(10), w.pool.Load())
	require.Equal(t, again, w.extend(h, w.words[9].Load(), 1, 1, time.Millisecond))
	require.Equal(t, int64(10), w.pool.Load())
	require.Equal(t, again, w.absorb(h, w.after(h), w.words[0].Load(), 1, 1, time.Millisecond))
	require.Equal(t, int64(10), w.pool.Load())
	require.Equal(t, admitted, w.extend(h, w.words[9].Load(), 1, 1, time.Second))
}

// TestOldPermits: a permit whose admission has left the interval gives nothing back, whoever has its place now.
func TestOldPermits(t *testing.T) {
	t.Parallel()
	for _, pause := range []time.Duration{time.Second, 24 * time.Hour, 20 * 365 * 24 * time.Hour} {
		for _, n := range []int{1, 2, 300} {
			l := newTestLimiter(t, Rule{Limit: float64(n)}, 0)
			var old []Permit
			for range n {
				old = append(old, mustAcquire(t, l, 0))
			}
			for range n {
				mustAcquire(t, l, pause)
			}
			for _, p := range old {
				l.Cancel(pause, p)
			}
			requireRefused(t, l, pause, "the places of others were given back")
		}
	}
}

// TestClosedStates: a caller that still holds a state which an edit has replaced is sent on.
func TestClosedStates(t *testing.T) {
	t.Parallel()
	for _, r := range modes(10) {
		l := newTestLimiter(t, r, 0)
		mustAcquire(t, l, 0)
		s := l.state.Load()
		mustUpdate(t, l, Rule{Limit: 11}, 0)
		var v verdict
		switch s.law {
		case exact, moving:
			v, _, _ = s.acquire(time.Hour, 1)
			s.cancel(firstLap<<8, 1)
			s.setLimit(5)
			s.turnEra(1 << 60)
			v2, _, _ := s.acquire(1<<60, 3)
			require.Equal(t, moved, v2)
		case smoothing:
			v, _, _ = s.parts.smooth.acquire(1<<40, 1)
			s.parts.smooth.cancel(1, 1)
		case pacing:
			v, _, _, _ = s.parts.pace.acquire(1<<40, 1)
			s.parts.pace.cancel(0, 1, 1)
			_, ok := s.parts.pace.reuse(0)
			require.False(t, ok)
		}
		require.Equal(t, moved, v, r.Mode)
	}
}

// TestLowerLimitTakesRoomOut: what a group in use still has room for is not admitted under a lower limit.
func TestLowerLimitTakesRoomOut(t *testing.T) {
	t.Parallel()
	var w window
	w.init(1000, 1000, time.Second, 0, math.MinInt64, nil)
	v, _, _ := w.acquire(0, 1)
	require.Equal(t, admitted, v)
	w.setLimit(1)
	v, _, retry := w.acquire(time.Second/2, 1)
	require.Equal(t, refused, v)
	require.Equal(t, time.Second/2, retry)
	w.setLimit(2)
	v, _, _ = w.acquire(time.Second/2, 1)
	require.Equal(t, admitted, v)
	v, _, _ = w.acquire(time.Second/2, 1)
	require.Equal(t, refused, v)
}

// TestSharesComeBack: where cancels heaped places up in few groups, all of the limit stays in use, and they spread evenly
// again as soon as the limit does not bind all the time.
func TestSharesComeBack(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Limit: 1000}, 0)
	w := &l.state.Load().window
	var ps []Permit
	for range 1000 {
		ps = append(ps, mustAcquire(t, l, 0))
	}
	for _, p := range ps[500:990] {
		l.Cancel(time.Millisecond, p)
	}
	for range 490 {
		mustAcquire(t, l, time.Millisecond)
	}
	widestShare := func() (most int64) {
		for i := range w.words {
			most = max(most, w.share(w.words[i].Load()))
		}
		return most
	}
	require.Equal(t, int64(widest*5), widestShare(), "none holds more than a few times its share")
	for now := 2 * time.Second; now < 8*time.Second; now += time.Second / 800 {
		mustAcquire(t, l, now)
	}
	require.LessOrEqual(t, widestShare(), int64(5))
}

// TestSmoothRefundsOnce: what was refunded of an earlier admission moved the later ones, so that they are worked off sooner.
func TestSmoothRefundsOnce(t *testing.T) {
	t.Parallel()
	l := newTestLimiter(t, Rule{Limit: 1, Mode: Smooth, Burst: 2}, 0)
	first, second := mustAcquire(t, l, 0), mustAcquire(t, l, 0)
	l.Cancel(0, first)
	mustAcquire(t, l, time.Second)
	l.Cancel(time.Second, second) // worked off: nothing is left to refund
	mustAcquire(t, l, time.Second)
	requireRefused(t, l, time.Second, "three at once with a burst of two")
}

// TestBulkheadDecidedMeanwhile: a waiter that was handed its places in the moment it gave up gives them back; one whose wait
// ended in that moment keeps them.
func TestBulkheadDecidedMeanwhile(t *testing.T) {
	t.Parallel()
	b := newTestBulkhead(t, ConcurrencyRule{Limit: 1, MaxWait: time.Minute}, clock.NewManual())
	for _, gaveUp := range []error{context.Canceled, ErrSaturated} {
		require.True(t, b.TryAcquire(1))
		w, err := b.enqueue(1)
		require.NoError(t, err)
		behind, err := b.enqueue(1)
		require.NoError(t, err)
		b.Release(1)
		require.Equal(t, 1, b.InFlight())
		err = b.leave(w, gaveUp)
		if gaveUp == ErrSaturated {
			require.NoError(t, err)
			b.Release(1)
		} else {
			require.ErrorIs(t, err, gaveUp)
		}
		<-behind.ready
		require.Equal(t, 1, b.InFlight())
		b.Release(1)
		require.Zero(t, b.InFlight())
	}
}

// TestDebtOutlivesAPause: after an edit to a lower limit more is in use than that allows; when all of it has left at
// once, be it after a pause of any length, the lower limit holds.
func TestDebtOutlivesAPause(t *testing.T) {
	t.Parallel()
	for _, pause := range []time.Duration{time.Second, time.Hour, 24 * time.Hour, 20 * 365 * 24 * time.Hour} {
		for _, n := range []int{7, 900, 100_000} {
			l := newTestLimiter(t, Rule{Limit: 100_000}, 0)
			_, _, _, ok := l.Acquire(0, n)
			require.True(t, ok)
			mustUpdate(t, l, Rule{Limit: 3}, 0)
			requireRefused(t, l, 0, "more than the lower limit is in use")
			mustAcquire(t, l, pause)
			_, _, _, ok = l.Acquire(pause, 3)
			require.False(t, ok, "four after %v", pause)
			mustAcquire(t, l, pause)
			mustAcquire(t, l, pause)
			requireRefused(t, l, pause, "the fourth")
		}
	}
}

// TestLapsHeal: whatever laps the words and the head say, calls are decided, the bound holds, and nothing is lost for long.
func TestLapsHeal(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int64{1, 2, 5, 300} {
		for range 200 {
			var w window
			w.init(n, n, time.Second, 0, math.MinInt64, nil)
			for range n / 2 {
				w.acquire(0, 1)
			}
			for i := range w.words {
				x := w.words[i].Load()
				w.words[i].Store(x<<4>>4 | rnd.Uint64N(lapMask+1)<<lapShift)
			}
			w.head.Store((10+rnd.Uint64N(8))<<8 | rnd.Uint64N(uint64(len(w.words))))
			for second := range 3 {
				passed := n / 2
				if second > 0 {
					passed = 0
				}
				for range 2 * n {
					if v, _, _ := w.acquire(time.Duration(second)*time.Second, 1); v == admitted {
						passed++
					}
				}
				require.LessOrEqual(t, passed, n)
				if second == 2 {
					require.Equal(t, n, passed)
				}
			}
		}
	}
}
