package sim_test

import (
	"fmt"
	"os"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sim"
)

// One of five instances dies after a minute.
func ExampleRun() {
	instances := sim.Instances(5, sim.Instance{Base: sim.Fails(.001)})
	instances[0].Ill = []sim.Script{sim.From(time.Minute, sim.Dead())}
	orders := sim.Scenario{
		Name:      "orders",
		Length:    10 * time.Minute,
		Seed:      1,
		Instances: instances,
		Clients:   []sim.Client{{Loads: []sim.Load{{Rate: 100}}}},
	}
	for _, p := range []sim.Policy{sim.None{}, sim.Cordon{}} {
		r, err := sim.Run(orders, p)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %.1f %% failed, found: %v\n", p, 100*r.Totals.FailedShare(), r.Illnesses[0].Found[0].Found)
	}
	// Output:
	// none: 18.1 % failed, found: false
	// cordon: 0.1 % failed, found: true
}

// Without isolation a dead instance keeps its share of the calls.
func ExampleResult_WriteTable() {
	instances := sim.Instances(4, sim.Instance{})
	instances[0].Ill = []sim.Script{sim.Between(time.Minute, 3*time.Minute, sim.Dead())}
	r, err := sim.Run(sim.Scenario{
		Length:    4 * time.Minute,
		Instances: instances,
		Clients:   []sim.Client{{Loads: []sim.Load{{Rate: 50, Steady: true}}}},
	}, sim.None{})
	if err != nil {
		fmt.Println(err)
		return
	}
	r.WriteTable(os.Stdout)
	// Output:
	// none, 4m0s, seed 0: 12000 calls, 1520 failed (12.7 %)
	//
	//   instance  calls   share  failed  probes  quarantines  false
	//         i0   2959  24.7 %    1520       0            0      0
	//         i1   3017  25.1 %       0       0            0      0
	//         i2   2972  24.8 %       0       0            0      0
	//         i3   3052  25.4 %       0       0            0      0
	//
	//   ill  from  until  found by  after  calls
	//    i0  1m0s   3m0s    0 of 1     0s      0
}

// A client guards its calls by an engine with rules of its own.
func ExampleGuard() {
	r, err := sim.Run(sim.Scenario{
		Name:      "orders",
		Length:    10 * time.Second,
		Instances: sim.Instances(1, sim.Instance{}),
		Clients: []sim.Client{{
			Loads: []sim.Load{{Rate: 100, Steady: true}},
			Guard: &sim.Guard{Rules: cordon.Rules{Flow: []flow.Rule{{Resource: rule.Name("orders"), Limit: 20}}}},
		}},
	}, sim.None{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Totals.Calls, "calls,", r.Totals.Blocked, "blocked,", r.Totals.Tries, "reached the instance")
	// Output:
	// 1000 calls, 800 blocked, 200 reached the instance
}
