package scenario_test

import (
	"fmt"

	"github.com/cordon-go/cordon/sim"
	"github.com/cordon-go/cordon/sim/scenario"
)

// A scenario of one's own, under one's own rules.
func ExampleParse() {
	file, err := scenario.Parse("orders.yaml", []byte(`
cordon-sim: 1
service: orders
length: 10m
instances:
  - {count: 4, base: {failures: 0.001}}
  - {name: sick, base: {failures: 0.001}, ill: [{from: 1m, down: true}]}
clients:
  - {load: 100}
rules:
  isolation:
    - {id: orders, service: orders, preset: quick}
`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := sim.Run(file.Scenario, file.Policies[0])
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("found:", result.Illnesses[0].Found[0].Found, "false alarms:", len(result.False))
	// Output: found: true false alarms: 0
}

// What is wrong is said with its place.
func ExampleParse_faults() {
	_, err := scenario.Parse("orders.yaml", []byte(`
cordon-sim: 1
length: 10m
instances: [{count: 4, bas: {failures: 0.001}}]
clients: [{load: 100, timeout: 1}]
`), nil)
	fmt.Println(err)
	// Output:
	// orders.yaml:4:24: instances[0]: unknown field "bas"; did you mean "base"?
	// orders.yaml:5:32: clients[0].timeout: 1 has no unit; want a duration such as "1ms" or "1s"
}
