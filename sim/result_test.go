package sim_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sim"
)

// busy is a scenario with a bit of everything.
func busy(seed uint64) sim.Scenario {
	instances := sim.Instances(6, sim.Instance{Base: sim.Condition{Failures: .02, Latency: sim.LogNormal{Median: 10 * time.Millisecond, P99: 100 * time.Millisecond}}})
	instances[0].Ill = []sim.Script{sim.Flapping{Bad: 20 * time.Second, Good: 40 * time.Second, Condition: sim.Dead()}}
	instances[1].Ill = []sim.Script{sim.Restart{At: time.Minute, Every: 2 * time.Minute, Down: 5 * time.Second, Warmup: 10 * time.Second, Slow: sim.Exponential{Mean: 50 * time.Millisecond}}}
	instances[2].Absent = []sim.Span{{From: time.Minute, Until: 2 * time.Minute}}
	instances[3].Workers, instances[3].Queue = 2, 5
	instances[4].Capacity, instances[4].Region = 60, "far"
	instances[5].Ill = []sim.Script{sim.Between(3*time.Minute, 4*time.Minute, sim.Hung())}
	client := sim.Client{
		Loads:   []sim.Load{{Rate: 60}, {Resource: "search", Rate: 20, Steady: true, Changes: []sim.RateChange{{At: time.Minute, Rate: 50}}}},
		Timeout: 300 * time.Millisecond, Retry: sim.Retry{Max: 2, Wait: 20 * time.Millisecond, Budget: .2},
		Guard: &sim.Guard{Rules: cordon.Rules{Breaker: []breaker.Rule{{Resource: rule.Default(), Threshold: .3}}}},
	}
	other := client
	other.Region = "far"
	return sim.Scenario{
		Name: "busy", Length: 6 * time.Minute, Seed: seed, Instances: instances, Clients: []sim.Client{client, other},
		Common: []sim.Script{
			sim.Noisy{Max: .1, Every: 3 * time.Second}, sim.Shocks{Every: 30 * time.Second, Shortest: time.Second, Longest: 2 * time.Second, Min: .3, Max: .9},
		},
	}
}

// The same seed comes out the same to the bit, whatever the policy; another seed does not.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	for _, p := range []sim.Policy{sim.Cordon{}, sim.None{}, sim.Envoy{}, sim.A50{}, sim.Finagle{}, sim.Consecutive{}} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			a, b, other := play(t, busy(1), p), play(t, busy(1), p), play(t, busy(2), p)
			for _, r := range []*sim.Result{a, b, other} {
				for i := range r.Clients {
					r.Clients[i].Guard.Time = time.Time{}
				}
			}
			require.Equal(t, a.Totals, b.Totals)
			require.Equal(t, a.Series, b.Series)
			require.Equal(t, a.Events, b.Events)
			require.Equal(t, a.Illnesses, b.Illnesses)
			require.Equal(t, a.Absences, b.Absences)
			require.NotEqual(t, a.Totals, other.Totals)
		})
	}
}

// All figures of a result say the same.
func TestResultAddsUp(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		r := play(t, busy(seed), sim.Cordon{})
		var rows, clients sim.Counts
		tries := make([]int64, len(r.Instances))
		failures := make([]int64, len(r.Instances))
		add := func(sum *sim.Counts, c *sim.Counts) {
			sum.Calls += c.Calls
			sum.Failed += c.Failed
			sum.Blocked += c.Blocked
			sum.NoInstance += c.NoInstance
			sum.Tries += c.Tries
			sum.Retries += c.Retries
			sum.Failures += c.Failures
			sum.Timeouts += c.Timeouts
			sum.Probes += c.Probes
			sum.Latency += c.Latency
		}
		for i := range r.Series {
			add(&rows, &r.Series[i].Counts)
			for j, in := range r.Series[i].Instances {
				tries[j] += int64(in.Tries)
				failures[j] += int64(in.Failures)
			}
		}
		share, quarantines := 0., 0
		for i := range r.Clients {
			add(&clients, &r.Clients[i].Counts)
			quarantines += r.Clients[i].Quarantines
		}
		require.Equal(t, r.Totals, rows)
		require.Equal(t, r.Totals, clients)
		for i, in := range r.Instances {
			require.Equal(t, in.Tries, tries[i])
			require.Equal(t, in.Failures, failures[i])
			share += in.Share
			quarantines -= in.Quarantines
		}
		require.InDelta(t, 1, share, 1e-9)
		require.Zero(t, quarantines)
		require.Equal(t, r.Totals.Calls-r.Totals.Blocked-r.Totals.NoInstance, r.Totals.Tries-r.Totals.Retries)
		require.LessOrEqual(t, r.Totals.Failed, r.Totals.Calls)
		for i, a := range r.Absences {
			require.Less(t, a.From, a.Until)
			require.True(t, i == 0 || r.Absences[i-1].From <= a.From)
		}
		for _, il := range r.Illnesses {
			require.Less(t, il.From, il.Until)
		}
		require.Equal(t, 100, len(r.Series))
	}
}

// quarantine is a decision of a scripted policy.
func decision(at time.Duration, instance int, k isolation.EventKind) sim.Event {
	return sim.Event{Instance: instance, Event: isolation.Event{Kind: k, At: at}}
}

// What a session decides is judged by the script.
func TestDecisionsAreJudged(t *testing.T) {
	t.Parallel()
	type at struct {
		at       time.Duration
		instance int
		kind     isolation.EventKind
	}
	const out, back, in = isolation.EventQuarantined, isolation.EventReadmitted, isolation.EventInService
	plan := []at{
		{5 * time.Second, 1, out}, // it is well
		{6 * time.Second, 1, out}, // and stays out by its probes
		{7 * time.Second, 1, back},
		{12 * time.Second, 0, out}, // it is ill since 10 s
		{15 * time.Second, 0, out}, // and found by its probes again
		{21 * time.Second, 0, back},
		{22 * time.Second, 0, out}, // cured at 20 s: within the grace
		{23 * time.Second, 0, in},
		{24 * time.Second, 0, out}, // and no more within it
		{35 * time.Second, 0, isolation.EventFallbackOn},
		{36 * time.Second, 0, out}, // in service by the fallback, so this is a verdict
	}
	w := &watcher{t: t, decide: func(now time.Duration, decided func(sim.Event)) {
		for _, p := range plan {
			if p.at == now {
				decided(decision(now, p.instance, p.kind))
			}
		}
	}, weight: func(now time.Duration, id int) float64 {
		if id == 0 && now >= 12*time.Second && now < 30*time.Second {
			return .89
		}
		return .9
	}}
	instances := sim.Instances(2, sim.Instance{})
	instances[0].Ill = []sim.Script{sim.Between(10*time.Second, 20*time.Second, sim.Fails(.5)), sim.From(50*time.Second, sim.Dead())}
	r := play(t, sim.Scenario{Length: time.Minute, Grace: 3 * time.Second, Instances: instances, Clients: steady(10)}, w)

	times := func(events []sim.Event) (all []time.Duration) {
		for _, e := range events {
			all = append(all, e.At)
		}
		return all
	}
	require.Equal(t, []time.Duration{5 * time.Second, 24 * time.Second, 36 * time.Second}, times(r.False))
	require.Equal(t, []time.Duration{6 * time.Second}, times(r.WrongReturns))
	require.Len(t, r.Events, len(plan))
	require.Equal(t, 1, r.Clients[0].Fallbacks)
	require.Equal(t, 7, r.Clients[0].Quarantines)
	require.Equal(t, 2, r.Instances[0].False)
	require.Equal(t, []sim.Illness{
		{Instance: 0, From: 10 * time.Second, Until: 20 * time.Second, Found: []sim.Find{{Found: true, After: 2 * time.Second, Tries: 10}}},
		{Instance: 0, From: 50 * time.Second, Until: sim.Forever, Found: []sim.Find{{Found: true}}}, // it was out
	}, r.Illnesses)
	require.Equal(t, []sim.Absence{
		{Instance: 1, From: 5 * time.Second, Until: 5 * time.Second},
		{Instance: 1, From: 6 * time.Second, Until: 6 * time.Second},
		{Instance: 0, From: 12 * time.Second, Until: 30 * time.Second},
		{Instance: 0, From: 36 * time.Second, Until: 36 * time.Second},
	}, r.Absences)
}

func TestTable(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	require.NoError(t, play(t, busy(1), sim.Cordon{Label: "mine"}).WriteTable(&b))
	for _, want := range []string{"mine, 6m0s, seed 1: ", "blocked", "retries", "timeouts", "c1", "fallbacks", "found by", "of 2"} {
		require.Contains(t, b.String(), want)
	}
	require.NotContains(t, b.String(), "%!")
}

// A simulated hour allocates what it is built of, and nothing for each call.
func TestCallsAllocateNothing(t *testing.T) {
	s := sim.Scenario{Length: 10 * time.Minute, Instances: sim.Instances(5, sim.Instance{Base: sim.Fails(.01)}), Clients: one(200)}
	s.Instances[0].Base.Latency = sim.Exponential{Mean: 20 * time.Millisecond}
	for _, p := range []sim.Policy{sim.Cordon{}, sim.None{}, sim.Envoy{}, sim.Finagle{}} {
		allocs := testing.AllocsPerRun(1, func() { _, _ = sim.Run(s, p) })
		require.Less(t, allocs, 2000., "%s: 120,000 calls", p)
	}
}
