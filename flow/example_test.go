package flow_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/flow"
)

// A limiter takes the time as an argument: a reading of a clock.
func ExampleLimiter() {
	clk := clock.NewManual() // clock.System() in a program
	l, err := flow.NewLimiter(flow.Rule{Limit: 2, Per: time.Second}, clk.Now())
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		_, _, retryAfter, ok := l.Acquire(clk.Now(), 1)
		fmt.Println(ok, retryAfter)
	}
	clk.Advance(time.Second)
	_, _, _, ok := l.Acquire(clk.Now(), 1)
	fmt.Println(ok)
	// Output:
	// true 0s
	// true 0s
	// false 1s
	// true
}

// Whoever is told to wait for a turn, and gives up before, gives the turn back.
func ExampleLimiter_Cancel() {
	l, _ := flow.NewLimiter(flow.Rule{Limit: 10, Mode: flow.Pace, MaxWait: time.Second}, 0)
	l.Acquire(0, 1)
	permit, wait, _, _ := l.Acquire(0, 1)
	fmt.Println(wait)
	l.Cancel(0, permit)
	_, wait, _, _ = l.Acquire(0, 1)
	fmt.Println(wait)
	// Output:
	// 100ms
	// 100ms
}

// An edit keeps what was counted.
func ExampleLimiter_Update() {
	l, _ := flow.NewLimiter(flow.Rule{Limit: 1}, 0)
	_, _, _, ok := l.Acquire(0, 1)
	fmt.Println(ok)
	_, _ = l.Update(flow.Rule{Limit: 2}, 0)
	for range 2 {
		_, _, _, ok = l.Acquire(0, 1)
		fmt.Println(ok)
	}
	// Output:
	// true
	// true
	// false
}

// A bulkhead limits how much runs at once.
func ExampleBulkhead() {
	b, _ := flow.NewBulkhead(flow.ConcurrencyRule{Limit: 1}, nil)
	first, second := b.TryAcquire(1), b.TryAcquire(1)
	fmt.Println(first, second)
	b.Release(1)
	fmt.Println(b.TryAcquire(1))
	// Output:
	// true false
	// true
}

// With MaxWait calls wait for a free place, first come, first served.
func ExampleBulkhead_Acquire() {
	b, _ := flow.NewBulkhead(flow.ConcurrencyRule{Limit: 1, MaxWait: time.Minute}, nil)
	_ = b.Acquire(context.Background(), 1)
	done := make(chan error)
	go func() { done <- b.Acquire(context.Background(), 1) }()
	b.Release(1)
	fmt.Println(<-done)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	fmt.Println(errors.Is(b.Acquire(ctx, 1), context.Canceled))
	// Output:
	// <nil>
	// true
}

// A rule describes itself.
func ExampleRule() {
	fmt.Println(flow.Rule{Limit: 12.5})
	fmt.Println(flow.Rule{Limit: 50, Mode: flow.Pace, MaxWait: 500 * time.Millisecond})
	_, err := flow.NewLimiter(flow.Rule{Limit: 50, MaxWait: time.Second}, 0)
	fmt.Println(err)
	// Output:
	// at most 25 calls in any 2s, the rest is refused
	// one call every 20ms, what would wait longer than 500ms is refused
	// maxWait: has no meaning for mode reject; want it left out, or mode: pace or warmUpPace
}
