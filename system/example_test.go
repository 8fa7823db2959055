package system_test

import (
	"fmt"
	"time"

	"github.com/cordon-go/cordon/system"
)

// A Guard works alone, with times of any one clock.
func ExampleGuard() {
	g := system.NewGuard(nil)
	g.Update([]system.Rule{{ID: "two-at-once", Metric: system.Concurrency, Limit: 2}}, 0)
	for i := range 3 {
		now := time.Duration(i) * time.Millisecond
		if _, refusal, ok := g.Enter(now, 1); !ok {
			fmt.Println(refusal.Rule.ID, refusal.Observed, refusal.Cause())
		}
	}
	g.Exit(5*time.Millisecond, 1, 5*time.Millisecond)
	fmt.Println(g.InFlight())
	// Output:
	// two-at-once 2 process overloaded: calls in flight
	// 1
}
