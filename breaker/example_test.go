package breaker_test

import (
	"fmt"
	"time"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/stat"
)

// A breaker opens when half of the calls fail, and one good probe closes it again. Times are readings of a clock; here they are
// plain numbers.
func Example() {
	b, err := breaker.New(
		breaker.Rule{Trip: breaker.ErrorRatio, Threshold: 0.5, MinCalls: 4, Open: 5 * time.Second}, 0,
		func(t breaker.Transition) { fmt.Printf("%v: %v, %s\n", t.At, t.To, t.Reason) })
	if err != nil {
		fmt.Println(err)
		return
	}
	call := func(now time.Duration, outcome stat.Outcome) {
		permit, retryAfter, ok := b.Acquire(now)
		if !ok {
			fmt.Printf("%v: refused, retry in %v\n", now, retryAfter)
			return
		}
		b.Done(now, permit, outcome, 20*time.Millisecond)
	}
	call(1*time.Second, stat.Success)
	call(1*time.Second, stat.Success)
	call(2*time.Second, stat.Failure)
	call(2*time.Second, stat.Failure)
	call(3*time.Second, stat.Success)
	call(7*time.Second, stat.Success)
	// Output:
	// 2s: open, 2 of 4 calls failed (50%), threshold 50%
	// 3s: refused, retry in 4s
	// 7s: halfOpen, the open time is over
	// 7s: closed, 1 good probe
}

// An operator takes a callee out of service by hand.
func ExampleBreaker_Force() {
	b, _ := breaker.New(breaker.Rule{Trip: breaker.Consecutive, Threshold: 3}, 0, nil)
	_ = b.Force(breaker.ForcedOpen, time.Minute)
	_, _, ok := b.Acquire(time.Hour)
	fmt.Println(b.State(), ok)
	_ = b.Force(breaker.Closed, time.Hour)
	_, _, ok = b.Acquire(time.Hour)
	fmt.Println(b.State(), ok)
	// Output:
	// forcedOpen false
	// closed true
}

func ExampleRule_String() {
	fmt.Println(breaker.Rule{ID: "pay", Resource: rule.Name("pay.Charge"), Threshold: 0.5, MinCalls: 20, MaxOpen: 2 * time.Minute})
	// Output:
	// pay: refuses calls to pay.Charge for 5s, doubling up to 2m, when at least 50% of the calls of at least 20 in 10s fail; closes after 1 good probe
}

func ExampleRule_Problems() {
	r := breaker.Rule{Resource: rule.Name("pay.Charge"), Threshold: 50, SlowerThan: time.Second}
	for _, p := range r.Problems() {
		fmt.Printf("%s: %s; want %s\n", p.Field, p.Message, p.Want)
	}
	// Output:
	// threshold: 50 is no share of calls; want above 0 up to 1, such as 0.5
	// slowerThan: the trip errorRatio does not use it; want trip: slowRatio
}
