package balance_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/isolation"
)

func Example() {
	group, _ := isolation.NewGroup("orders", isolation.Config{Rule: &isolation.Rule{}})
	group.Update(0, []isolation.Instance{{Address: "10.0.0.1:80"}, {Address: "10.0.0.2:80"}, {Address: "10.0.0.3:80"}})
	b, _ := balance.New(group, balance.Options{Seed: 1})

	answered := map[string]int{}
	for i := range 3000 {
		now := time.Duration(i) * time.Millisecond
		call, err := b.Pick(now, balance.Request{})
		if err != nil {
			fmt.Println(err)
			return
		}
		outcome := isolation.Success
		if call.Address() == "10.0.0.2:80" { // it is sick
			outcome = isolation.Failure
		}
		call.End(now, outcome)
		answered[call.Address()]++
	}
	fmt.Println("most calls went to the others:", answered["10.0.0.2:80"] < 20, answered["10.0.0.1:80"] > 1400, answered["10.0.0.3:80"] > 1400)
	// Output: most calls went to the others: true true true
}

// A retry goes to another instance.
func ExampleBalancer_Pick() {
	group, _ := isolation.NewGroup("orders", isolation.Config{})
	group.Update(0, []isolation.Instance{{Address: "a"}, {Address: "b"}})
	b, _ := balance.New(group, balance.Options{Strategy: balance.LeastInFlight})

	first, _ := b.Pick(0, balance.Request{})
	first.End(0, isolation.Failure)
	second, _ := b.Pick(0, balance.Request{Tried: []*isolation.Member{first.Member()}})
	second.End(0, isolation.Success)
	fmt.Println(first.Address() != second.Address())

	group.Update(0, nil)
	_, err := b.Pick(0, balance.Request{})
	fmt.Println(errors.Is(err, isolation.ErrNoInstance))
	// Output:
	// true
	// true
}

// Calls for the same customer go to the same instance.
func ExampleConsistentHash() {
	group, _ := isolation.NewGroup("orders", isolation.Config{})
	group.Update(0, []isolation.Instance{{Address: "a"}, {Address: "b"}, {Address: "c"}})
	b, _ := balance.New(group, balance.Options{Strategy: balance.ConsistentHash})
	for _, customer := range []uint64{17, 4, 17, 4} {
		call, _ := b.Pick(0, balance.Request{Hash: customer})
		call.End(0, isolation.Success)
		fmt.Print(call.Address(), " ")
	}
	// Output: b c b c
}
