package sim_test

import (
	"fmt"
	"os"
	"time"

	"github.com/cordon-go/cordon/sim"
)

// One of five instances dies after a minute.
func ExampleRun() {
	instances := sim.Instances(5, sim.Instance{Base: sim.Condition{Failures: .001}})
	instances[0].Ill = []sim.Script{sim.From(time.Minute, sim.Dead())}
	result, err := sim.Run(sim.Scenario{
		Name:      "orders",
		Length:    10 * time.Minute,
		Seed:      1,
		Instances: instances,
		Clients:   []sim.Client{{Loads: []sim.Load{{Rate: 100}}}},
	}, sim.Cordon{})
	if err != nil {
		fmt.Println(err)
		return
	}
	result.WriteTable(os.Stdout)
	// Output:
}
