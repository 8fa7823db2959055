// Package sim is a deterministic simulation kit: it runs cordon's own code, and one's own rules, against a service whose instances
// fall ill by a script, and says what came of it.
//
// A Scenario is a service: its instances, how ill each of them is at what time, and the clients that call it. A Policy
// decides for each client which instance is called: Cordon is packages isolation and balance as they are, Envoy, A50, Finagle,
// Consecutive and None are models of what others do. A client may also guard its calls by an engine of its own with any
// rules (Guard), and so may the instances. Run plays the scenario and returns a Result.
//
//	result, err := sim.Run(sim.Scenario{
//		Instances: sim.Instances(5, sim.Instance{Base: sim.Condition{Failures: .001}}),
//		Clients:   []sim.Client{{Loads: []sim.Load{{Rate: 100}}}},
//		Length:    time.Hour,
//	}, sim.Cordon{})
//	result.WriteTable(os.Stdout)
//
// Time is virtual: an hour at 100 calls per second takes a fraction of a second. Nothing is left to chance: a scenario with the
// same seed comes out the same, to the bit, on every machine. Load is open: calls come when they come, however many are under way.
package sim
