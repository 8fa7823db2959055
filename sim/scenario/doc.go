// Package scenario reads scenarios for package sim from documents, YAML or JSON, as `cordon sim` does:
//
//	cordon-sim: 1
//	service: orders
//	length: 10m
//	instances:
//	  - {count: 4, base: {failures: 0.001}}
//	  - {base: {failures: 0.001}, ill: [{from: 1m, until: 4m, down: true}]}
//	clients:
//	  - {load: 100, timeout: 1s}
//	rules: rules.yaml
//
// Reading is strict: an unknown key, a wrong type, a duration without a unit or a value out of range is a fault, and all faults of a
// document are named with line and column and what would be right. What the fields mean stands in docs/sim.md.
package scenario
