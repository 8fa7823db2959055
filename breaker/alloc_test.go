package breaker_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/stat"
)

// halfOpen returns a breaker that is half-open at one second, with nothing in flight.
func halfOpen(t testing.TB, probes int) *breaker.Breaker {
	b, _ := newBreaker(t, breaker.Rule{Trip: breaker.Consecutive, Threshold: 1, Open: sec, Probes: probes, Successes: 1000})
	call(b, 0, stat.Failure, 0)
	require.True(t, call(b, sec, stat.Ignored, 0))
	require.Equal(t, breaker.HalfOpen, b.State())
	return b
}

// Law 6: nothing on the path of a call allocates.
func TestNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	none := func(what string, f func()) {
		require.Zero(t, testing.AllocsPerRun(100, f), what)
	}
	for name, r := range benchRules {
		b, _ := newBreaker(t, r)
		now := time.Duration(0)
		for _, outcome := range []stat.Outcome{stat.Success, stat.Failure, stat.Ignored} {
			none(name+" closed "+outcome.String(), func() {
				now += 300 * ms
				call(b, now, outcome, 2*time.Hour*time.Duration(outcome))
			})
		}
		require.Equal(t, breaker.Closed, b.State())
		none(name+" status", func() { b.Status(now); b.Idle(now); b.State() })
		for _, s := range []breaker.State{breaker.ForcedOpen, breaker.ForcedClosed, breaker.Disabled} {
			require.NoError(t, b.Force(s, now))
			none(name+" "+s.String(), func() { call(b, now, stat.Failure, 0) })
		}
	}

	b, _ := newBreaker(t, breaker.Rule{Trip: breaker.Consecutive, Threshold: 1, Open: time.Hour})
	late, _, _ := b.Acquire(0)
	call(b, 0, stat.Failure, 0)
	none("open", func() { b.Acquire(sec) })
	none("late result", func() { b.Done(sec, late, stat.Failure, 0) })

	b = halfOpen(t, 3)
	none("probe given back", func() { call(b, sec, stat.Ignored, 0) })
	none("probe cancelled", func() {
		p, _, _ := b.Acquire(sec)
		b.Cancel(sec, p)
	})
	none("probe done", func() { call(b, sec, stat.Success, 0) })
	for range 3 {
		_, _, ok := b.Acquire(sec)
		require.True(t, ok)
	}
	none("half-open, full", func() { b.Acquire(sec) })
}

// A breaker with a window of ten buckets takes at most 550 bytes, all told.
func TestSize(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector changes sizes")
	}
	const n, limit = 4000, 550
	for name, r := range benchRules {
		breakers := make([]*breaker.Breaker, n)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range breakers {
			b, err := breaker.New(r, 0, nil)
			require.NoError(t, err)
			call(b, 0, stat.Success, 0)
			breakers[i] = b
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		size := int64(after.HeapAlloc-before.HeapAlloc) / n
		t.Logf("%s: %d bytes", name, size)
		require.LessOrEqual(t, size, int64(limit), name)
		runtime.KeepAlive(breakers)
	}
}
