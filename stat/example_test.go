package stat_test

import (
	"fmt"
	"time"

	"github.com/cordon-go/cordon/stat"
)

// The error ratio of the last second, as a circuit breaker wants it.
func ExampleWindow() {
	const calls, failures, counters = 0, 1, 2
	w := stat.NewWindow(100*time.Millisecond, 10, counters)

	// One call every 20ms for three seconds; those of the last half second fail.
	for now := time.Duration(0); now < 3*time.Second; now += 20 * time.Millisecond {
		bucket := w.Bucket(now)
		w.AddAt(bucket, calls, 1)
		if now >= 2500*time.Millisecond {
			w.AddAt(bucket, failures, 1)
		}
	}

	now := 2999 * time.Millisecond
	fmt.Printf("%d of %d calls failed\n", w.Sum(now, failures), w.Sum(now, calls))
	fmt.Printf("%d calls in all\n", w.Total(calls))
	// Output:
	// 25 of 50 calls failed
	// 150 calls in all
}

// The course of the last three seconds, as a console draws it.
func ExampleWindow_Each() {
	w := stat.NewWindow(time.Second, 3, 1)
	for second, calls := range []int64{5, 8, 13, 21} {
		w.Add(time.Duration(second)*time.Second, 0, calls)
	}
	w.Each(3*time.Second, func(start time.Duration, counts []int64) {
		fmt.Println(start, counts[0])
	})
	// Output:
	// 1s 8
	// 2s 13
	// 3s 21
}

// A call that ends after its bucket has left the window is not lost: it is in the total, and known to be late.
func ExampleWindow_Late() {
	w := stat.NewWindow(time.Second, 2, 1)
	w.Add(5*time.Second, 0, 1)
	inTime := w.Add(3*time.Second, 0, 1)
	fmt.Println(inTime, w.Sum(5*time.Second, 0), w.Late(0), w.Total(0))
	// Output: false 1 1 2
}

func ExampleHistogram() {
	h := stat.NewHistogram(10 * time.Second)
	for i := range 100 {
		h.Observe(time.Second, time.Duration(i+1)*time.Millisecond)
	}
	qs := []float64{0.5, 0.99}
	dst := make([]time.Duration, len(qs))
	count := h.Percentiles(time.Second, qs, dst)
	fmt.Println(count, dst[0].Round(time.Millisecond), dst[1].Round(time.Millisecond))
	// Output: 100 48ms 96ms
}

func ExampleOutcome() {
	fmt.Println(stat.Success, stat.Failure, stat.Ignored, stat.Outcome(7))
	// Output: success failure ignored unknown
}
