package flow

import (
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/clock"
)

// TestNoAllocations: nothing on the path of a call allocates, be it admitted, refused or given back.
func TestNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, r := range []Rule{
		{Limit: 1}, {Limit: 100}, {Limit: 100_000}, {Limit: 3, Mode: Smooth, Burst: 2}, {Limit: 1000, Mode: Pace, MaxWait: 5 * time.Millisecond},
		{Limit: 100, Mode: WarmUp}, {Limit: 100, Mode: WarmUpPace}, {},
	} {
		l := newTestLimiter(t, r, 0)
		var now time.Duration
		admitted, refused := 0, 0
		allocs := testing.AllocsPerRun(2000, func() {
			p, _, _, ok := l.Acquire(now, 1)
			if ok {
				admitted++
				l.Cancel(now, p)
				_, _, _, _ = l.Acquire(now, 2)
			} else {
				refused++
			}
			_, _ = l.Limit(now), l.Usage(now)
			now += 300 * time.Microsecond
		})
		require.Zero(t, allocs, r)
		require.True(t, admitted > 0 || r.Limit == 0, r)
	}
	b := newTestBulkhead(t, ConcurrencyRule{Limit: 1, MaxWait: time.Second}, clock.NewManual())
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		if b.Acquire(t.Context(), 1) == nil {
			b.TryAcquire(1)
			b.Release(1)
		}
	}))
	g := NewGauge(time.Second)
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		g.Add(time.Second, 1)
		g.Count(time.Second)
	}))
}

// heap returns the bytes that n values made by f take each.
func heap(n int, f func() any) int {
	keep := make([]any, n)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range keep {
		keep[i] = f()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(keep)
	return int(after.HeapAlloc-before.HeapAlloc) / n
}

// TestSizes holds the memory of a limiter, which there may be one of per resource.
func TestSizes(t *testing.T) {
	if raceEnabled || unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("sizes are given for 64 bits without the race detector")
	}
	require.Equal(t, uintptr(16), unsafe.Sizeof(Permit{}))
	for _, c := range []struct {
		rule Rule
		most int
	}{
		{Rule{Limit: 1}, 224}, {Rule{Limit: 10}, 304}, {Rule{Limit: 100}, 960}, {Rule{Limit: 1000}, 2000},
		{Rule{Limit: 1e7}, 2000}, {Rule{Limit: 100, Mode: Smooth, Burst: 10}, 750}, {Rule{Limit: 100, Mode: Pace, MaxWait: time.Second}, 750},
	} {
		size := heap(500, func() any { return newTestLimiter(t, c.rule, 0) })
		t.Logf("%d bytes: %v", size, c.rule)
		require.LessOrEqual(t, size, c.most, "%v", c.rule)
	}
	require.LessOrEqual(t, heap(500, func() any {
		return newTestBulkhead(t, ConcurrencyRule{Limit: 10, MaxWait: time.Second}, clock.System())
	}), 112+48)
}
