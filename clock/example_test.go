package clock_test

import (
	"fmt"
	"time"

	"github.com/cordon-go/cordon/clock"
)

// A test of something that gives up after a while, in no time.
func ExampleManual() {
	clk := clock.NewManual()
	answer := make(chan string)
	waitForAnswer := func() string {
		timer := clk.NewTimer(3 * time.Second)
		defer timer.Stop()
		select {
		case got := <-answer:
			return got
		case at := <-timer.C():
			return fmt.Sprintf("gave up at %v", at)
		}
	}

	result := make(chan string)
	go func() { result <- waitForAnswer() }()
	clk.BlockUntil(1) // it waits now
	clk.Advance(10 * time.Second)
	fmt.Println(<-result)
	// Output: gave up at 3s
}

// Timers fire in order, the clock standing at the due reading of each.
func ExampleManual_Advance() {
	clk := clock.NewManual()
	clk.AfterFunc(2*time.Second, func() { fmt.Println("second, at", clk.Now()) })
	clk.AfterFunc(time.Second, func() {
		fmt.Println("first, at", clk.Now())
		clk.AfterFunc(500*time.Millisecond, func() { fmt.Println("between, at", clk.Now()) })
	})
	clk.Advance(5 * time.Second)
	fmt.Println("done, at", clk.Now())
	// Output:
	// first, at 1s
	// between, at 1.5s
	// second, at 2s
	// done, at 5s
}

func ExampleSystem() {
	clk := clock.System()
	start := clk.Now()
	done := make(chan struct{})
	clk.AfterFunc(time.Millisecond, func() { close(done) })
	<-done
	fmt.Println(clk.Now()-start >= time.Millisecond)
	// Output: true
}
