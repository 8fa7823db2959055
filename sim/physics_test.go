package sim_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/sim"
)

// Shares and rates come out as they were asked for, within five standard deviations.
func TestShares(t *testing.T) {
	t.Parallel()
	near := func(want, got, deviation float64) {
		t.Helper()
		require.InDelta(t, want, got, 5*deviation)
	}
	instances := sim.Instances(4, sim.Instance{Base: sim.Fails(.1)})
	instances[1].Base = sim.Condition{Failures: .1, Throttles: .2}
	instances[2].Ill = []sim.Script{sim.Always(sim.Fails(.25)), sim.Always(sim.Fails(.15))} // they add up
	instances[3].Weight = 3
	r := play(t, sim.Scenario{Length: time.Hour, Instances: instances, Clients: one(100)}, sim.None{})
	const calls = 360_000
	near(calls, float64(r.Totals.Calls), math.Sqrt(calls))
	require.Equal(t, r.Totals.Calls, r.Totals.Tries)
	require.Equal(t, r.Totals.Failed, r.Totals.Failures)
	for i, want := range []struct{ share, failed float64 }{{1. / 6, .1}, {1. / 6, .3}, {1. / 6, .5}, {.5, .1}} {
		in := r.Instances[i]
		near(want.share, in.Share, math.Sqrt(want.share/calls))
		near(want.failed, float64(in.Failures)/float64(in.Tries), .5/math.Sqrt(float64(in.Tries)))
	}
	// The distances between calls are exponential: their counts vary as much as their mean.
	rows, mean, squares := float64(len(r.Series)), float64(r.Totals.Calls)/float64(len(r.Series)), 0.
	for _, row := range r.Series {
		squares += (float64(row.Counts.Calls) - mean) * (float64(row.Counts.Calls) - mean)
	}
	near(1, squares/rows/mean, math.Sqrt(2/rows))
}

func TestSteadyLoadAndItsChanges(t *testing.T) {
	t.Parallel()
	c := steady(10)
	c[0].Loads[0].Changes = []sim.RateChange{{At: 10 * time.Second, Rate: 0}, {At: 20 * time.Second, Rate: 100}, {At: 20 * time.Second, Rate: 50}}
	r := play(t, sim.Scenario{Length: 30 * time.Second, Bucket: 10 * time.Second, Instances: sim.Instances(1, sim.Instance{}), Clients: c}, sim.None{})
	require.Len(t, r.Series, 3)
	require.EqualValues(t, 100, r.Series[0].Counts.Calls)
	require.EqualValues(t, 0, r.Series[1].Counts.Calls)
	require.InDelta(t, 500, r.Series[2].Counts.Calls, 1)
}

// Rates above one or below nothing that come of adding up are no surprise.
func TestConditionsAddUpToAtMostEverything(t *testing.T) {
	t.Parallel()
	r := play(t, sim.Scenario{
		Length: time.Minute, Clients: one(100), Common: []sim.Script{sim.Always(sim.Condition{Failures: .7, Throttles: .6})},
		Instances: sim.Instances(1, sim.Instance{Base: sim.Fails(.5)}),
	}, sim.None{})
	require.Equal(t, r.Totals.Calls, r.Totals.Failed)
}

func TestLatencyAndTimeout(t *testing.T) {
	t.Parallel()
	w := &watcher{t: t}
	c := steady(10)
	c[0].Timeout = 100 * time.Millisecond
	r := play(t, sim.Scenario{Length: 10 * time.Second, Clients: c, Instances: []sim.Instance{
		{Base: sim.Condition{Latency: sim.Fixed(30 * time.Millisecond)}},
		{Base: sim.Condition{Latency: sim.Fixed(30 * time.Millisecond), Failures: 1}},
		{Base: sim.Condition{Latency: sim.Fixed(30 * time.Millisecond), Failures: 1, FailFast: true}},
		{Base: sim.Condition{Latency: sim.Fixed(250 * time.Millisecond)}},
		{Base: sim.Hung()},
	}}, w)
	for _, x := range w.seen {
		if !x.over {
			require.Greater(t, x.begun, 9850*time.Millisecond, "all others have ended")
			continue
		}
		want := [...]struct {
			latency time.Duration
			outcome isolation.Outcome
		}{
			{30 * time.Millisecond, isolation.Success}, {30 * time.Millisecond, isolation.Failure}, {0, isolation.Failure},
			{100 * time.Millisecond, isolation.Failure}, {100 * time.Millisecond, isolation.Failure},
		}[x.id]
		require.Equal(t, want.latency, x.latency, "instance %d", x.id)
		require.Equal(t, want.outcome, x.outcome, "instance %d", x.id)
	}
	require.InDelta(t, 40, r.Totals.Timeouts, 1)
	require.Equal(t, 1, r.Instances[0].MaxInFlight)
	require.Equal(t, 1, r.Instances[3].MaxInFlight, "calls each 500 ms")
	require.Equal(t, 1, r.Instances[4].MaxInFlight, "a hung call ends with its client's patience")
	require.Equal(t, 30*time.Millisecond*time.Duration(r.Totals.Calls/5), r.Totals.Latency, "of those that succeed")
}

// An instance works on for a client that has given up, and calls that outlast the scenario are neither good nor bad.
func TestLateResults(t *testing.T) {
	t.Parallel()
	c := steady(10)
	c[0].Timeout = 100 * time.Millisecond
	r := play(t, sim.Scenario{
		Length: 10 * time.Second, Clients: c, Instances: sim.Instances(1, sim.Instance{Base: sim.Slow(sim.Fixed(time.Second))}),
	}, sim.None{})
	require.InDelta(t, 10, r.Instances[0].MaxInFlight, 1)
	require.EqualValues(t, 100, r.Totals.Calls)
	require.InDelta(t, 99, r.Totals.Failed, 1)
}

// Whoever goes down loses what it has in flight, at that moment, and refuses connections at once.
func TestDownCutsCalls(t *testing.T) {
	t.Parallel()
	w := &watcher{t: t}
	play(t, sim.Scenario{Length: 10 * time.Second, Clients: steady(10), Instances: []sim.Instance{{
		Base: sim.Slow(sim.Fixed(time.Second)), Ill: []sim.Script{sim.Between(5*time.Second, 7*time.Second, sim.Dead())},
	}}}, w)
	cut, refused := 0, 0
	for _, x := range w.seen {
		switch {
		case x.begun < 4*time.Second || x.begun > 7*time.Second && x.over:
			require.Equal(t, isolation.Success, x.outcome)
			require.Equal(t, time.Second, x.latency)
		case x.begun < 5*time.Second:
			cut++
			require.Equal(t, isolation.Failure, x.outcome)
			require.Equal(t, 5*time.Second, x.end)
		case x.begun < 7*time.Second:
			refused++
			require.Equal(t, isolation.LocalError, x.outcome)
			require.Zero(t, x.latency)
		}
	}
	require.Equal(t, 10, cut)
	require.Equal(t, 20, refused)
}

// A dependency that is down is down for all, once.
func TestCommonScripts(t *testing.T) {
	t.Parallel()
	w := &watcher{t: t}
	r := play(t, sim.Scenario{
		Length: 10 * time.Second, Clients: steady(100), Instances: sim.Instances(3, sim.Instance{}),
		Common: []sim.Script{sim.Between(2*time.Second, 3*time.Second, sim.Dead()), sim.Between(5*time.Second, 6*time.Second, sim.Fails(1))},
	}, w)
	for _, x := range w.seen {
		want := isolation.Success
		if x.begun >= 2*time.Second && x.begun < 3*time.Second {
			want = isolation.LocalError
		} else if x.begun >= 5*time.Second && x.begun < 6*time.Second {
			want = isolation.Failure
		}
		require.Equal(t, want, x.outcome, "at %v", x.begun)
	}
	require.Empty(t, r.Illnesses, "nobody is ill for what all have")
}

func TestWorkersAndQueue(t *testing.T) {
	t.Parallel()
	service := sim.Instance{Base: sim.Slow(sim.Fixed(10 * time.Millisecond)), Workers: 2, Queue: 10}
	run := func(rate float64) (*sim.Result, *watcher) {
		w := &watcher{t: t}
		return play(t, sim.Scenario{Length: 10 * time.Second, Clients: steady(rate), Instances: []sim.Instance{service}}, w), w
	}
	r, w := run(150)
	require.Zero(t, r.Totals.Failed)
	require.Equal(t, 10*time.Millisecond, w.seen[500].latency, "nobody waits")
	r, w = run(400) // twice what two workers can do
	require.InDelta(t, 2000, r.Totals.Calls-r.Totals.Failed, 30, "the workers are never idle")
	require.Equal(t, 12, r.Instances[0].MaxInFlight)
	for _, x := range w.seen[500:] {
		if x.over && x.outcome == isolation.Success {
			require.InDelta(t, 60*time.Millisecond, x.latency, float64(5*time.Millisecond), "the line is full")
		} else if x.over {
			require.Equal(t, isolation.Throttled, x.outcome)
			require.Zero(t, x.latency)
		}
	}
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	c := steady(30)
	c[0].Loads[0].Changes = []sim.RateChange{{At: time.Minute, Rate: 60}, {At: 2 * time.Minute, Rate: 30}}
	r := play(t, sim.Scenario{Length: 3 * time.Minute, Bucket: time.Minute, Clients: c, Instances: []sim.Instance{{Capacity: 40}}}, sim.None{})
	require.Zero(t, r.Series[0].Counts.Failed)
	require.Greater(t, r.Series[1].Counts.Failed, int64(3400), "it collapses within seconds: all fail, not only those above")
	require.Less(t, r.Series[2].Counts.Failed, int64(400))
	require.Len(t, r.Illnesses, 1)
	require.InDelta(t, 62*time.Second, r.Illnesses[0].From, float64(2*time.Second))
	require.InDelta(t, 129*time.Second, r.Illnesses[0].Until, float64(5*time.Second))
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	instances := sim.Instances(3, sim.Instance{})
	instances[0].Absent = []sim.Span{{Until: 2 * time.Second}, {From: 5 * time.Second}}
	instances[1].Drained = []sim.Span{{From: 3 * time.Second, Until: 4 * time.Second}}
	s := sim.Scenario{Length: 10 * time.Second, Bucket: time.Second, Instances: instances, Clients: steady(100)}
	w := &watcher{t: t}
	play(t, s, w)
	require.Len(t, w.lists, 5)
	ids := func(list []sim.Listed) (ids, drained []int) {
		for _, l := range list {
			ids = append(ids, l.ID)
			if l.Drained {
				drained = append(drained, l.ID)
			}
		}
		return ids, drained
	}
	for i, want := range [][]int{{1, 2}, {0, 1, 2}, {0, 1, 2}, {0, 1, 2}, {1, 2}} {
		got, drained := ids(w.lists[i])
		require.Equal(t, want, got)
		require.Equal(t, i == 2, len(drained) == 1)
	}
	for _, p := range []sim.Policy{sim.Cordon{}, sim.None{}, sim.Envoy{}, sim.A50{}, sim.Finagle{}, sim.Consecutive{}} {
		r := play(t, s, p)
		require.Zero(t, r.Totals.Failed, "%s", p)
		for _, row := range r.Series {
			at := row.From
			require.Equal(t, at >= 2*time.Second && at < 5*time.Second, row.Instances[0].Tries > 0, "%s at %v", p, at)
			require.Equal(t, at != 3*time.Second, row.Instances[1].Tries > 0, "%s at %v", p, at)
			require.Zero(t, row.Instances[0].Out+row.Instances[1].Out, "%s at %v: who is not listed is not out", p, at)
		}
	}
}

// With nobody listed calls find no instance, and that is neither a panic nor a try.
func TestNobodyListed(t *testing.T) {
	t.Parallel()
	for _, p := range []sim.Policy{sim.Cordon{}, sim.None{}, sim.Envoy{}, sim.A50{}, sim.Finagle{}, sim.Consecutive{}} {
		r := play(t, sim.Scenario{
			Length: 10 * time.Second, Clients: steady(10), Instances: sim.Instances(2, sim.Instance{Absent: []sim.Span{{From: 5 * time.Second}}}),
		}, p)
		require.EqualValues(t, 50, r.Totals.NoInstance, "%s", p)
		require.EqualValues(t, 50, r.Totals.Failed, "%s", p)
		require.EqualValues(t, 50, r.Totals.Tries, "%s", p)
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	w := &watcher{t: t}
	c := steady(10)
	c[0].Retry = sim.Retry{Max: 3, Wait: 100 * time.Millisecond}
	instances := sim.Instances(3, sim.Instance{Base: sim.Fails(1)})
	r := play(t, sim.Scenario{Length: 100 * time.Second, Instances: instances, Clients: c}, w)
	require.InDelta(t, 3000, r.Totals.Retries, 30)
	require.InDelta(t, 1000, r.Totals.Failed, 10)
	require.Equal(t, r.Totals.Calls+r.Totals.Retries, r.Totals.Tries)

	// With one well instance every call gets there: tries do not go where one has failed.
	instances[2].Base = sim.Condition{}
	r = play(t, sim.Scenario{Length: 100 * time.Second, Instances: instances, Clients: c}, w)
	require.Zero(t, r.Totals.Failed)

	// The waits are doubled, and varied by half.
	c[0].Loads[0].Rate = .1
	w = &watcher{t: t}
	play(t, sim.Scenario{Length: 100 * time.Second, Instances: sim.Instances(1, sim.Instance{Base: sim.Fails(1)}), Clients: c}, w)
	require.Len(t, w.seen, 40)
	least, most := 1., 1.
	for i, x := range w.seen {
		if i%4 > 0 {
			wait, mean := x.begun-w.seen[i-1].end, 100*time.Millisecond<<(i%4-1)
			require.GreaterOrEqual(t, wait, mean/2)
			require.Less(t, wait, mean*3/2)
			least, most = min(least, float64(wait)/float64(mean)), max(most, float64(wait)/float64(mean))
		}
	}
	require.Less(t, least, .7)
	require.Greater(t, most, 1.3)
}

func TestRetryBudget(t *testing.T) {
	t.Parallel()
	run := func(rate float64) float64 {
		c := steady(rate)
		c[0].Retry = sim.Retry{Max: 3, Budget: .1}
		r := play(t, sim.Scenario{Length: 100 * time.Second, Instances: sim.Instances(3, sim.Instance{Base: sim.Fails(1)}), Clients: c}, sim.None{})
		return float64(r.Totals.Retries) / float64(r.Totals.Calls)
	}
	require.InDelta(t, .1, run(200), .01, "a tenth of the calls")
	require.InDelta(t, .6, run(5), .05, "three a second in any case")
}

func TestLatencies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		latency  sim.Latency
		min, max time.Duration
		mean     time.Duration
	}{
		{sim.Fixed(time.Second), time.Second, time.Second, time.Second},
		{sim.Uniform{Min: time.Second, Max: 3 * time.Second}, time.Second, 3 * time.Second, 2 * time.Second},
		{sim.Exponential{Min: time.Second, Mean: time.Second}, time.Second, sim.Forever, 2 * time.Second},
		{sim.LogNormal{Median: time.Second, P99: time.Second}, time.Second, time.Second, time.Second},
	} {
		w := &watcher{t: t}
		play(t, sim.Scenario{Length: 1000 * time.Second, Clients: steady(100), Instances: sim.Instances(1, sim.Instance{Base: sim.Slow(c.latency)})}, w)
		sum, n, least, most := time.Duration(0), 0, sim.Forever, time.Duration(0)
		for _, x := range w.seen {
			if x.over && x.begun < 950*time.Second {
				least, most = min(least, x.latency), max(most, x.latency)
				sum, n = sum+x.latency, n+1
			}
		}
		require.GreaterOrEqual(t, least, c.min)
		require.LessOrEqual(t, most, c.max)
		require.InDelta(t, c.mean, sum/time.Duration(n), float64(20*time.Millisecond), "%T", c.latency)
	}
	w := &watcher{t: t}
	play(t, sim.Scenario{
		Length: 1000 * time.Second, Clients: steady(100),
		Instances: sim.Instances(1, sim.Instance{Base: sim.Slow(sim.LogNormal{Median: 20 * time.Millisecond, P99: 200 * time.Millisecond})}),
	}, w)
	below := func(d time.Duration) float64 {
		n := 0
		for _, x := range w.seen {
			if x.over && x.latency <= d {
				n++
			}
		}
		return float64(n) / float64(len(w.seen))
	}
	require.InDelta(t, .5, below(20*time.Millisecond), .01)
	require.InDelta(t, .99, below(200*time.Millisecond), .002)
}

// What is random about one client, load or script has nothing to do with another's.
func TestStreamsAreIndependent(t *testing.T) {
	t.Parallel()
	w := &watcher{t: t}
	s := sim.Scenario{Length: 10 * time.Second, Instances: sim.Instances(1, sim.Instance{}), Clients: append(one(50), one(50)...)}
	s.Clients[0].Loads = append(s.Clients[0].Loads, sim.Load{Rate: 50})
	play(t, s, w)
	times := map[time.Duration]bool{}
	for _, x := range w.seen {
		require.False(t, times[x.begun], "two calls at %v", x.begun)
		times[x.begun] = true
	}
	noisy := sim.Instance{Ill: []sim.Script{sim.Noisy{Max: 1, Every: 10 * time.Second}}}
	r := play(t, sim.Scenario{Length: time.Minute, Clients: steady(1000), Instances: []sim.Instance{noisy, noisy}}, sim.None{})
	a, b := r.Illnesses[0].Until, r.Illnesses[1].Until
	require.True(t, a == sim.Forever && b == sim.Forever, "a noise that is never silent is one illness")
	differ := 0
	for _, row := range r.Series {
		x, y := float64(row.Instances[0].Failures)/float64(row.Instances[0].Tries), float64(row.Instances[1].Failures)/float64(row.Instances[1].Tries)
		if math.Abs(x-y) > .1 {
			differ++
		}
	}
	require.Greater(t, differ, 50, "of 100 rows")
}
