package paramflow_test

import (
	"fmt"
	"time"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/paramflow"
)

// No user may create more than two orders a second; one has a limit of their own.
func Example() {
	l, err := paramflow.NewLimiter(paramflow.Rule{
		Limit:     2,
		Overrides: []paramflow.Override{{Value: "102", Limit: 3}},
	}, 0, extractor.NewSeed())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, user := range []int64{7, 102} {
		for range 4 {
			_, _, retryAfter, ok := l.Acquire(time.Second, extractor.Int(user), 1)
			fmt.Println(user, ok, retryAfter)
		}
	}
	// Output:
	// 7 true 0s
	// 7 true 0s
	// 7 false 500ms
	// 7 false 500ms
	// 102 true 0s
	// 102 true 0s
	// 102 true 0s
	// 102 false 333.333334ms
}

// At most one export of an account runs at once.
func ExampleLimiter_Release() {
	l, err := paramflow.NewLimiter(paramflow.Rule{Mode: paramflow.Concurrency, Limit: 1}, 0, extractor.NewSeed())
	if err != nil {
		fmt.Println(err)
		return
	}
	account := extractor.Text("acme")
	running, _, _, ok := l.Acquire(0, account, 1)
	fmt.Println(ok)
	_, _, _, ok = l.Acquire(0, account, 1)
	fmt.Println(ok)
	l.Release(running)
	_, _, _, ok = l.Acquire(0, account, 1)
	fmt.Println(ok)
	// Output:
	// true
	// false
	// true
}

// Calls of one tenant pass at even distances; what would wait too long is refused.
func ExampleLimiter_Acquire_pace() {
	l, err := paramflow.NewLimiter(paramflow.Rule{Mode: paramflow.Pace, Limit: 10, MaxWait: 250 * time.Millisecond}, 0, extractor.NewSeed())
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 4 {
		_, wait, _, ok := l.Acquire(time.Second, extractor.Text("acme"), 1)
		fmt.Println(ok, wait)
	}
	// Output:
	// true 0s
	// true 100ms
	// true 200ms
	// false 0s
}

// The hottest values, with what passed and was refused.
func ExampleLimiter_Status() {
	l, err := paramflow.NewLimiter(paramflow.Rule{Limit: 3}, 0, extractor.NewSeed())
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 20 {
		l.Acquire(0, extractor.Int(int64(i%3*(i%2))), 1)
	}
	for _, top := range l.Status(0).Top {
		fmt.Println(top.Value, top.Passed, top.Refused)
	}
	// Output:
	// 0 3 10
	// 1 3 1
	// 2 3 0
}

func ExampleRule_String() {
	fmt.Println(paramflow.Rule{Param: "arg[0].user.id", Limit: 10, Burst: 20})
	// Output: for each arg[0].user.id at most 10 calls per 1s with bursts of 20, the rest is refused
}
