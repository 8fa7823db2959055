package sim

// Run plays the scenario and returns what came of it. The error says all that is wrong with the scenario, or why a policy or a guard could not be
// made from its rules.
func Run(s Scenario, p Policy) (*Result, error) { return nil, nil }
