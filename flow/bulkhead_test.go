package flow

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cordon-go/cordon/clock"
)

func newTestBulkhead(t require.TestingT, r ConcurrencyRule, clk clock.Clock) *Bulkhead {
	b, err := NewBulkhead(r, clk)
	require.NoError(t, err)
	return b
}

// waitQueued waits until n callers wait.
func waitQueued(t *testing.T, b *Bulkhead, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return b.Queued() == n }, 10*time.Second, 50*time.Microsecond)
}

// acquireAll starts a caller that acquires cost and returns the channel of its result.
func acquireAll(ctx context.Context, b *Bulkhead, cost int) <-chan error {
	result := make(chan error, 1)
	go func() { result <- b.Acquire(ctx, cost) }()
	return result
}

// faults #10: cost counts, not entries.
func TestBulkheadCountsCost(t *testing.T) {
	t.Parallel()
	b := newTestBulkhead(t, ConcurrencyRule{Limit: 10}, nil)
	require.True(t, b.TryAcquire(8))
	require.False(t, b.TryAcquire(8))
	require.False(t, b.TryAcquire(8))
	require.True(t, b.TryAcquire(2))
	require.False(t, b.TryAcquire(0), "a cost below 1 counts as 1")
	require.Equal(t, 10, b.InFlight())
	b.Release(8)
	b.Release(2)
	require.Zero(t, b.InFlight())
	require.Equal(t, 10, b.Limit())
}

// faults #88: what runs counts until it is released, however long its caller has given up waiting for it.
func TestBulkheadHoldsUntilReleased(t *testing.T) {
	t.Parallel()
	b := newTestBulkhead(t, ConcurrencyRule{Limit: 2}, nil)
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, b.Acquire(ctx, 2))
	cancel()
	require.Equal(t, 2, b.InFlight())
	require.ErrorIs(t, b.Acquire(t.Context(), 1), ErrSaturated)
	b.Release(2)
	require.NoError(t, b.Acquire(t.Context(), 1))
}

func TestBulkheadReleaseNeverGoesBelowZero(t *testing.T) {
	t.Parallel()
	b := newTestBulkhead(t, ConcurrencyRule{Limit: 3}, nil)
	b.Release(1)
	require.True(t, b.TryAcquire(1))
	b.Release(100)
	require.Zero(t, b.InFlight())
	require.Equal(t, 3, b.Limit())
	require.True(t, b.TryAcquire(3))
	require.False(t, b.TryAcquire(1))
}

func TestBulkheadZeroLimitRefusesAll(t *testing.T) {
	t.Parallel()
	b := newTestBulkhead(t, ConcurrencyRule{MaxWait: time.Hour}, clock.NewManual())
	require.False(t, b.TryAcquire(1))
	require.ErrorIs(t, b.Acquire(t.Context(), 1), ErrSaturated, "what can never pass does not wait")
}

// faults #11, #89: racing callers never pass the limit, and as many callers as the limit are never refused.
func TestBulkheadRace(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 3, 10} {
		b := newTestBulkhead(t, ConcurrencyRule{Limit: limit}, nil)
		var running, peak, refusals atomic.Int64
		run := func(callers, calls int) {
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					for range calls {
						if !b.TryAcquire(1) {
							refusals.Add(1)
							continue
						}
						raise(&peak, running.Add(1))
						running.Add(-1)
						b.Release(1)
					}
				})
			}
			wg.Wait()
		}
		run(limit, 5000)
		require.Zero(t, refusals.Load(), "%d callers at limit %d", limit, limit)
		run(64, 500)
		require.LessOrEqual(t, peak.Load(), int64(limit))
		require.Zero(t, b.InFlight())
	}
}

// TestBulkheadQueueRace lets callers with costs wait, give up and run while the limit moves: never more than the highest
// limit runs, nothing is lost, and nobody is left waiting.
func TestBulkheadQueueRace(t *testing.T) {
	t.Parallel()
	const high = 6
	b := newTestBulkhead(t, ConcurrencyRule{Limit: high, MaxWait: time.Hour, Queue: 40}, nil)
	var running, peak, ran atomic.Int64
	stop := make(chan struct{})
	var editor, wg sync.WaitGroup
	editor.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				require.NoError(t, b.Update(ConcurrencyRule{Limit: 3 + i%(high-2), MaxWait: time.Hour, Queue: 40}))
				time.Sleep(10 * time.Microsecond)
			}
		}
	})
	for g := range 64 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(g)))
			for range 200 {
				ctx, cancel := context.WithCancel(context.Background())
				if rnd.IntN(3) == 0 {
					time.AfterFunc(time.Duration(rnd.IntN(100))*time.Microsecond, cancel)
				}
				cost := 1 + rnd.IntN(3)
				if b.Acquire(ctx, cost) == nil {
					raise(&peak, running.Add(int64(cost)))
					ran.Add(1)
					running.Add(-int64(cost))
					b.Release(cost)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	close(stop)
	editor.Wait()
	require.LessOrEqual(t, peak.Load(), int64(high))
	require.Positive(t, ran.Load())
	require.Zero(t, b.InFlight())
	require.Zero(t, b.Queued())
	require.True(t, b.TryAcquire(3))
}

func TestBulkheadFirstComeFirstServed(t *testing.T) {
	t.Parallel()
	b := newTestBulkhead(t, ConcurrencyRule{Limit: 4, MaxWait: time.Hour, Queue: 3}, clock.NewManual())
	require.True(t, b.TryAcquire(4))
	first := acquireAll(t.Context(), b, 3)
	waitQueued(t, b, 1)
	second := acquireAll(t.Context(), b, 1)
	waitQueued(t, b, 2)
	b.Release(2)
	require.Equal(t, 2, b.Queued(), "the second must not pass the first, although it fits")
	require.False(t, b.TryAcquire(1), "nobody passes those who wait")
	third := acquireAll(t.Context(), b, 1)
	waitQueued(t, b, 3)
	require.ErrorIs(t, b.Acquire(t.Context(), 1), ErrSaturated, "the queue is full")
	require.ErrorIs(t, b.Acquire(t.Context(), 5), ErrSaturated, "more than the limit")
	b.Release(1)
	require.NoError(t, <-first)
	require.Equal(t, 2, b.Queued())
	b.Release(1)
	require.NoError(t, <-second)
	b.Release(1)
	require.NoError(t, <-third)
	require.Equal(t, 4, b.InFlight())
	require.Zero(t, b.Queued())
}

// faults #24: whoever gave up holds nothing and returns at once, and those behind it move up.
func TestBulkheadWaiterGivesUp(t *testing.T) {
	t.Parallel()
	clk := clock.NewManual()
	b := newTestBulkhead(t, ConcurrencyRule{Limit: 2, MaxWait: 50 * time.Millisecond}, clk)
	require.True(t, b.TryAcquire(1))
	ctx, cancel := context.WithCancel(t.Context())
	big := acquireAll(ctx, b, 2)
	waitQueued(t, b, 1)
	small := acquireAll(t.Context(), b, 1)
	waitQueued(t, b, 2)
	cancel()
	require.ErrorIs(t, <-big, context.Canceled)
	require.NoError(t, <-small, "what fits moves up when the one before it gives up")
	require.Equal(t, 2, b.InFlight())

	var late []<-chan error
	for i := range 8 {
		late = append(late, acquireAll(t.Context(), b, 1))
		waitQueued(t, b, i+1)
	}
	clk.BlockUntil(8)
	clk.Advance(50 * time.Millisecond)
	for _, result := range late {
		require.ErrorIs(t, <-result, ErrSaturated)
	}
	require.Zero(t, b.Queued())
	b.Release(1)
	require.True(t, b.TryAcquire(1), "a place that only those who gave up waited for is free at once")
	require.Equal(t, 2, b.InFlight())
	require.ErrorIs(t, b.Acquire(ctx, 1), context.Canceled, "whoever had given up before is told so")
	require.Zero(t, clk.Waiters(), "no timer stays behind")
}

func TestBulkheadUpdate(t *testing.T) {
	t.Parallel()
	clk := clock.NewManual()
	b := newTestBulkhead(t, ConcurrencyRule{Limit: 2, MaxWait: time.Minute}, clk)
	require.True(t, b.TryAcquire(2))
	one, three := acquireAll(t.Context(), b, 1), (<-chan error)(nil)
	waitQueued(t, b, 1)
	require.NoError(t, b.Update(ConcurrencyRule{Limit: 3, MaxWait: time.Minute}))
	require.NoError(t, <-one, "a raised limit wakes waiters")
	three = acquireAll(t.Context(), b, 3)
	waitQueued(t, b, 1)
	require.NoError(t, b.Update(ConcurrencyRule{Limit: 1}))
	require.ErrorIs(t, <-three, ErrSaturated, "more than the new limit")
	require.Equal(t, 3, b.InFlight(), "what runs goes on")
	require.False(t, b.Waits())
	b.Release(2)
	require.False(t, b.TryAcquire(1))
	b.Release(1)
	require.True(t, b.TryAcquire(1))
	require.Error(t, b.Update(ConcurrencyRule{Limit: -1}))
	require.Equal(t, 1, b.Limit(), "a bad rule changes nothing")
	_, err := NewBulkhead(ConcurrencyRule{Limit: -1}, clk)
	require.Error(t, err)
}

// TestBulkheadModel compares the calls that do not wait with a plain counter.
func TestBulkheadModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(0, 20).Draw(t, "limit")
		b := newTestBulkhead(t, ConcurrencyRule{Limit: limit}, nil)
		inFlight := 0
		t.Repeat(map[string]func(*rapid.T){
			"acquire": func(t *rapid.T) {
				cost := rapid.IntRange(1, 8).Draw(t, "cost")
				fits := inFlight+cost <= limit
				require.Equal(t, fits, b.TryAcquire(cost))
				if fits {
					inFlight += cost
				}
			},
			"release": func(t *rapid.T) {
				cost := rapid.IntRange(1, 8).Draw(t, "cost")
				b.Release(cost)
				inFlight = max(0, inFlight-cost)
			},
			"edit": func(t *rapid.T) {
				limit = rapid.IntRange(0, 20).Draw(t, "limit")
				require.NoError(t, b.Update(ConcurrencyRule{Limit: limit}))
			},
			"": func(t *rapid.T) {
				require.Equal(t, inFlight, b.InFlight())
				require.Equal(t, limit, b.Limit())
			},
		})
	})
}
