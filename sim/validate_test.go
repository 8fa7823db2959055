package sim_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/sim"
)

func good() sim.Scenario {
	return sim.Scenario{Length: time.Second, Instances: sim.Instances(2, sim.Instance{}), Clients: one(1)}
}

// Every fault is named with its place and what would be right, all at once.
func TestValidate(t *testing.T) {
	t.Parallel()
	s := good()
	require.NoError(t, s.Validate())
	for want, spoil := range map[string]func(*sim.Scenario){
		"length: 0s; want above 0":                    func(s *sim.Scenario) { s.Length = 0 },
		"length: 1001h0m0s":                           func(s *sim.Scenario) { s.Length = 1001 * time.Hour },
		"bucket: 1ms; want at least 10ms":             func(s *sim.Scenario) { s.Bucket = time.Millisecond },
		"a longer bucket":                             func(s *sim.Scenario) { s.Length, s.Bucket = 100*time.Hour, 10*time.Millisecond },
		"tick: 1ns":                                   func(s *sim.Scenario) { s.Tick = 1 },
		"grace: -1ns":                                 func(s *sim.Scenario) { s.Grace = -1 },
		"instances: 0; want 1 to 100000":              func(s *sim.Scenario) { s.Instances = nil },
		"instances[1] (a): instances[0] has the same": func(s *sim.Scenario) { s.Instances[0].Address, s.Instances[1].Address = "a", "a" },
		"instances[0] (i0): weight: -1":               func(s *sim.Scenario) { s.Instances[0].Weight = -1 },
		"instances[1] (i1): weight: NaN":              func(s *sim.Scenario) { s.Instances[1].Weight = math.NaN() },
		"instances[1] (i1): base: failures: 1.5":      func(s *sim.Scenario) { s.Instances[1].Base.Failures = 1.5 },
		"base: throttles: NaN":                        func(s *sim.Scenario) { s.Instances[1].Base.Throttles = math.NaN() },
		"base: latency: -1ns":                         func(s *sim.Scenario) { s.Instances[1].Base.Latency = sim.Fixed(-1) },
		"base: latency: 2ns to 1ns":                   func(s *sim.Scenario) { s.Instances[1].Base.Latency = sim.Uniform{Min: 2, Max: 1} },
		"and a mean of -1ns on top":                   func(s *sim.Scenario) { s.Instances[1].Base.Latency = sim.Exponential{Mean: -1} },
		"a median of 0s and a p99 of 0s":              func(s *sim.Scenario) { s.Instances[1].Base.Latency = sim.LogNormal{} },
		"ill[0]: nil; want a script":                  func(s *sim.Scenario) { s.Instances[1].Ill = []sim.Script{nil} },
		"ill[0]: from 2s until 1s": func(s *sim.Scenario) {
			s.Instances[1].Ill = []sim.Script{sim.Between(2*time.Second, time.Second, sim.Dead())}
		},
		"ill[0]: failures: 2":                           func(s *sim.Scenario) { s.Instances[1].Ill = []sim.Script{sim.Always(sim.Fails(2))} },
		"ill[0]: bad: 0s; want above 0":                 func(s *sim.Scenario) { s.Instances[1].Ill = []sim.Script{sim.Flapping{Good: 1}} },
		"common[0]: every: 0s; want above 0":            func(s *sim.Scenario) { s.Common = []sim.Script{sim.Noisy{}} },
		"common[0]: min 0.5, max 0.2":                   func(s *sim.Scenario) { s.Common = []sim.Script{sim.Noisy{Every: 1, Min: .5, Max: .2}} },
		"common[0]: shortest 2ns, longest 1ns":          func(s *sim.Scenario) { s.Common = []sim.Script{sim.Shocks{Every: 1, Shortest: 2, Longest: 1}} },
		"common[0]: every: 1ns; want 0 for never again": func(s *sim.Scenario) { s.Common = []sim.Script{sim.Restart{Down: 1, Warmup: 1, Every: 1}} },
		"absent[0]: from -1ns":                          func(s *sim.Scenario) { s.Instances[1].Absent = []sim.Span{{From: -1}} },
		"drained[0]: from 1s until 1s":                  func(s *sim.Scenario) { s.Instances[1].Drained = []sim.Span{{From: time.Second, Until: time.Second}} },
		"capacity: -1 calls per second":                 func(s *sim.Scenario) { s.Instances[1].Capacity = -1 },
		"-1 workers, a queue of 0":                      func(s *sim.Scenario) { s.Instances[1].Workers = -1 },
		"clients: none":                                 func(s *sim.Scenario) { s.Clients = nil },
		"clients[0] (c0): loads: none":                  func(s *sim.Scenario) { s.Clients[0].Loads = nil },
		"loads[0]: rate: -1 calls per second":           func(s *sim.Scenario) { s.Clients[0].Loads[0].Rate = -1 },
		"loads[0]: rate: +Inf":                          func(s *sim.Scenario) { s.Clients[0].Loads[0].Rate = math.Inf(1) },
		"changes[1]: at: 1ns; want 2ns or later":        func(s *sim.Scenario) { s.Clients[0].Loads[0].Changes = []sim.RateChange{{At: 2}, {At: 1}} },
		"clients[0] (c0): timeout: -1ns":                func(s *sim.Scenario) { s.Clients[0].Timeout = -1 },
		"retry.max: 11; want 0 to 10":                   func(s *sim.Scenario) { s.Clients[0].Retry.Max = 11 },
		"retry.wait: -1ns":                              func(s *sim.Scenario) { s.Clients[0].Retry.Wait = -1 },
		"retry.budget: 2; want a share":                 func(s *sim.Scenario) { s.Clients[0].Retry.Budget = 2 },
		"retry.budgetMin: -1":                           func(s *sim.Scenario) { s.Clients[0].Retry.BudgetMin = -1 },
	} {
		s := good()
		spoil(&s)
		require.ErrorContains(t, s.Validate(), want)
		_, err := sim.Run(s, sim.None{})
		require.ErrorContains(t, err, want)
	}
	err := (&sim.Scenario{}).Validate()
	require.ErrorContains(t, err, "length")
	require.ErrorContains(t, err, "instances")
	require.ErrorContains(t, err, "clients")
}

func TestPoliciesThatCannotBeMade(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]sim.Policy{
		"clients[0] (c0): no policy": nil,
		"minGap":                     sim.Cordon{Rule: &isolation.Rule{MinGap: 7}},
		"clients[0] (c0): ":          sim.Cordon{Balance: balance.Options{Strategy: 99}},
		"max ejection: 2":            sim.Envoy{MaxEjection: 2},
		"max ejection: -1":           sim.A50{MaxEjection: -1},
		"-1 failures":                sim.Consecutive{Failures: -1},
	} {
		_, err := sim.Run(good(), p)
		require.ErrorContains(t, err, want)
	}
	s := good()
	s.Clients[0].Policy = sim.None{}
	_, err := sim.Run(s, nil)
	require.NoError(t, err, "all clients have their own")
}

// Run changes nothing in the scenario.
func TestRunLeavesTheScenarioAlone(t *testing.T) {
	t.Parallel()
	s := good()
	play(t, s, sim.Cordon{})
	require.Equal(t, good(), s)
}
