package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sim"
)

// guarded is a scenario of one instance and one client with a guard.
func guarded(rate float64, length time.Duration, in sim.Instance, rules cordon.Rules) sim.Scenario {
	c := steady(rate)
	c[0].Guard = &sim.Guard{Rules: rules}
	return sim.Scenario{Name: "orders", Length: length, Instances: []sim.Instance{in}, Clients: c}
}

func orders() rule.Match { return rule.Name("orders") }

// The real breaker opens, and closes by its probes, in virtual time.
func TestGuardBreaker(t *testing.T) {
	t.Parallel()
	w := &watcher{t: t}
	s := guarded(100, time.Minute, sim.Instance{Ill: []sim.Script{sim.Between(20*time.Second, 40*time.Second, sim.Dead())}},
		cordon.Rules{Breaker: []breaker.Rule{{Resource: orders(), Threshold: .5, Window: 5 * time.Second, Open: 3 * time.Second}}})
	r := play(t, s, w)
	before, meanwhile, after := 0, 0, 0
	for _, x := range w.seen {
		switch {
		case x.begun < 20*time.Second:
			before++
		case x.begun < 40*time.Second:
			meanwhile++
		case x.begun > 44*time.Second:
			after++
		}
	}
	require.InDelta(t, 2000, before, 1)
	require.InDelta(t, 250+6, meanwhile, 10, "2.5 s until half of the window has failed, then a probe every 3 s")
	require.InDelta(t, 1600, after, 1)
	require.Equal(t, r.Totals.Calls, r.Totals.Tries+r.Totals.Blocked)
	require.Equal(t, "closed", r.Clients[0].Guard.Resources[0].Rules[0].State)
}

// Calls that wait for their turn go on when it has come, in virtual time.
func TestGuardPace(t *testing.T) {
	t.Parallel()
	w := &watcher{t: t}
	c := guarded(100, 10*time.Second, sim.Instance{Base: sim.Slow(sim.Fixed(time.Millisecond))},
		cordon.Rules{Flow: []flow.Rule{{Resource: orders(), Limit: 50, Mode: flow.Pace, MaxWait: 200 * time.Millisecond}}})
	r := play(t, c, w)
	require.InDelta(t, 500, r.Totals.Tries, 2)
	require.InDelta(t, 500-10, r.Totals.Blocked, 2, "ten wait at the end")
	for i := 1; i < len(w.seen); i++ {
		require.InDelta(t, 20*time.Millisecond, w.seen[i].begun-w.seen[i-1].begun, float64(10*time.Millisecond)+1)
	}
}

// Calls that wait in line go on when a place is free: the instance is never called by more than the limit at a time, and never idle.
func TestGuardQueue(t *testing.T) {
	t.Parallel()
	w := &watcher{t: t}
	rules := cordon.Rules{Concurrency: []flow.ConcurrencyRule{{Resource: orders(), Limit: 2, MaxWait: time.Second, Queue: 10}}}
	s := guarded(100, 20*time.Second, sim.Instance{Base: sim.Slow(sim.Fixed(50 * time.Millisecond))}, rules)
	r := play(t, s, w)
	require.Equal(t, 2, r.Instances[0].MaxInFlight)
	require.InDelta(t, 2*20*20, r.Totals.Tries, 3, "two at a time, 50 ms each")
	require.InDelta(t, 2000-800-10, r.Totals.Blocked, 3)

	// A wait that is too long ends by itself.
	rules.Concurrency[0].MaxWait = 100 * time.Millisecond
	s = guarded(10, 10*time.Second, sim.Instance{Base: sim.Hung()}, rules)
	r = play(t, s, &watcher{t: t})
	require.EqualValues(t, 2, r.Totals.Tries)
	require.InDelta(t, 97, r.Totals.Blocked, 1)
}

// The line and the turn together, several resources, results that come late: it ends, and comes out the same each time.
func TestGuardWaitsAreDeterministic(t *testing.T) {
	t.Parallel()
	for _, shared := range []bool{false, true} {
		s := guarded(200, 10*time.Second, sim.Instance{Base: sim.Slow(sim.Exponential{Mean: 40 * time.Millisecond})}, cordon.Rules{
			Concurrency: []flow.ConcurrencyRule{{Resource: rule.Wildcard("*"), Limit: 5, MaxWait: 300 * time.Millisecond, Queue: 20, Shared: shared}},
			Flow:        []flow.Rule{{Resource: rule.Wildcard("*"), Limit: 80, Mode: flow.Pace, MaxWait: 100 * time.Millisecond}},
		})
		s.Clients[0].Loads = []sim.Load{{Rate: 150}, {Resource: "search", Rate: 150}}
		s.Clients[0].Timeout = 100 * time.Millisecond
		first, again := &watcher{t: t}, &watcher{t: t}
		a, b := play(t, s, first), play(t, s, again)
		require.Equal(t, first.seen, again.seen)
		require.Equal(t, a.Totals, b.Totals)
		require.Positive(t, a.Totals.Blocked)
		if shared { // five at a time, for 36 ms or so each: 1390 if none of them waited for its turn
			require.LessOrEqual(t, a.Totals.Tries, int64(1390))
			require.Greater(t, a.Totals.Tries, int64(970))
			continue
		}
		require.Greater(t, a.Totals.Tries, int64(10*2*80*9/10))
		require.LessOrEqual(t, a.Totals.Tries, int64(10*2*80+20))
	}
}

func TestGuardWithTwoLinesIsRefused(t *testing.T) {
	t.Parallel()
	rules := cordon.Rules{Concurrency: []flow.ConcurrencyRule{
		{Resource: orders(), Limit: 2, MaxWait: time.Second}, {Resource: rule.Default(), Limit: 2, MaxWait: time.Second},
	}}
	_, err := sim.Run(guarded(1, time.Second, sim.Instance{}, rules), sim.None{})
	require.ErrorContains(t, err, "more than one concurrency rule with maxWait")
	rules = cordon.Rules{Flow: []flow.Rule{{Resource: orders(), Limit: -3}}}
	_, err = sim.Run(guarded(1, time.Second, sim.Instance{}, rules), sim.None{})
	require.ErrorContains(t, err, "clients[0] (c0): guard")
}

// An instance that protects itself answers the rest with "not now".
func TestInstanceGuard(t *testing.T) {
	t.Parallel()
	w := &watcher{t: t}
	in := sim.Instance{Guard: &sim.Guard{Rules: cordon.Rules{Flow: []flow.Rule{{Resource: orders(), Limit: 20}}}}}
	r := play(t, sim.Scenario{Name: "orders", Length: 10 * time.Second, Clients: steady(100), Instances: []sim.Instance{in, in}}, w)
	require.EqualValues(t, 400, r.Totals.Calls-r.Totals.Failed, "20 a second each")
	for _, x := range w.seen {
		require.Contains(t, []isolation.Outcome{isolation.Success, isolation.Throttled}, x.outcome)
	}
	in = sim.Instance{
		Base:  sim.Slow(sim.Fixed(time.Second)),
		Guard: &sim.Guard{Rules: cordon.Rules{Concurrency: []flow.ConcurrencyRule{{Resource: orders(), Limit: 3}}}},
	}
	r = play(t, sim.Scenario{Name: "orders", Length: 10 * time.Second, Clients: steady(100), Instances: []sim.Instance{in}}, &watcher{t: t})
	require.Equal(t, 3, r.Instances[0].MaxInFlight)

	in.Guard = &sim.Guard{Rules: cordon.Rules{Flow: []flow.Rule{{Resource: orders(), Limit: 3, Mode: flow.Pace, MaxWait: time.Second}}}}
	_, err := sim.Run(sim.Scenario{Length: time.Second, Clients: steady(1), Instances: []sim.Instance{in}}, sim.None{})
	require.ErrorContains(t, err, "instances[0] (i0): guard: a rule makes calls wait")
}

// Observers and what else an engine takes can be given to a guard's.
func TestGuardOptions(t *testing.T) {
	t.Parallel()
	blocks := 0
	s := guarded(100, time.Second, sim.Instance{}, cordon.Rules{Flow: []flow.Rule{{Resource: orders(), Limit: 10}}})
	s.Clients[0].Guard.Options = []cordon.Option{cordon.WithObserver(cordon.Observer{Block: func(cordon.BlockEvent) { blocks++ }})}
	r := play(t, s, sim.None{})
	require.EqualValues(t, r.Totals.Blocked, blocks)
	require.NotZero(t, blocks)
}
