package system

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// goodput is what ten servers of 10 ms (exponential) did whose calls give up after 250 ms, in proportion to what they can do: within the first five seconds after a time, and from then on.
type goodput struct {
	first, rest float64
	p99         time.Duration // of the rest
	refused     int
}

// measure runs a load, in multiples of what the servers can do, and looks at it from after on.
func measure(rules []Rule, load func(at time.Duration) float64, after, until time.Duration) (g goodput) {
	const capacity, first = 1000, 5 * time.Second
	q := &queueing{
		servers: 10, service: exponential(10 * time.Millisecond), deadline: 250 * time.Millisecond,
		rate: func(at time.Duration) float64 { return capacity * load(at) },
	}
	if rules != nil {
		q.guard = NewGuard(q)
		q.guard.Update(rules, 0)
	}
	var latencies []time.Duration
	q.done = func(at, latency time.Duration) {
		switch {
		case at < after:
		case at < after+first:
			g.first++
		default:
			g.rest++
			latencies = append(latencies, latency)
		}
	}
	q.refused = func(time.Duration) { g.refused++ }
	q.run(1, until)
	g.first /= first.Seconds() * capacity
	g.rest /= (until - after - first).Seconds() * capacity
	slices.Sort(latencies)
	if n := len(latencies); n > 0 {
		g.p99 = latencies[n*99/100]
	}
	return g
}

func constant(x float64) func(time.Duration) float64 { return func(time.Duration) float64 { return x } }

// BBR keeps a process doing what it can, where without it the queue eats all: calls are worked on whom nobody waits for any more.
func TestGoodput(t *testing.T) {
	t.Parallel()
	bbr := []Rule{{ID: "cpu", Metric: CPU, Limit: 0.8}}
	for _, c := range []struct {
		load        float64
		without     float64 // at most
		first, rest float64 // at least
	}{
		{1.2, 0.5, 0.85, 0.9},
		{2, 0.15, 0.85, 0.93},
		{3, 0.1, 0.6, 0.9},
		{5, 0.05, 0.35, 0.9}, // from its start: no response time without a queue was ever seen
	} {
		require.LessOrEqual(t, measure(nil, constant(c.load), 0, 30*time.Second).rest, c.without, "%v", c.load)
		with := measure(bbr, constant(c.load), 0, 30*time.Second)
		require.GreaterOrEqual(t, with.first, c.first, "%v", c.load)
		require.GreaterOrEqual(t, with.rest, c.rest, "%v", c.load)
	}
	// Who is well is left alone.
	for _, load := range []float64{0.3, 0.5, 0.7} {
		with := measure(bbr, constant(load), 0, 30*time.Second)
		require.LessOrEqual(t, float64(with.refused), 0.001*load*30_000, "%v", load)
	}
	// So is who is as busy as may be, by a limit that says so.
	with := measure([]Rule{{ID: "cpu", Metric: CPU, Limit: 0.97}}, constant(0.9), 0, 30*time.Second)
	require.GreaterOrEqual(t, with.rest, 0.87)
}

// A step from half of what the process can do to three times it: what is learnt before the step is what counts after it. An average of the CPU that takes ten seconds to see it would learn from the queue.
func TestGoodputAfterStep(t *testing.T) {
	t.Parallel()
	bbr := []Rule{{ID: "cpu", Metric: CPU, Limit: 0.8}}
	step := func(at time.Duration) float64 {
		if at < 20*time.Second {
			return 0.5
		}
		return 3
	}
	with := measure(bbr, step, 20*time.Second, 50*time.Second)
	require.GreaterOrEqual(t, with.first, 0.8)
	require.GreaterOrEqual(t, with.rest, 0.93)
	require.LessOrEqual(t, with.p99, 120*time.Millisecond)
	require.LessOrEqual(t, measure(nil, step, 20*time.Second, 50*time.Second).rest, 0.1)
	// And after it all pass again.
	up := func(at time.Duration) float64 {
		if at > 10*time.Second && at < 20*time.Second {
			return 3
		}
		return 0.5
	}
	require.GreaterOrEqual(t, measure(bbr, up, 22*time.Second, 40*time.Second).rest, 0.48)
}

// Ten minutes of overload teach nothing wrong: long after what was seen before is forgotten, no queue grows.
func TestGoodputLasts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("ten minutes of virtual time")
	}
	last := measure([]Rule{{ID: "cpu", Metric: CPU, Limit: 0.8}}, constant(1.5), 540*time.Second, 600*time.Second)
	require.GreaterOrEqual(t, last.rest, 0.93)
	require.LessOrEqual(t, last.p99, 100*time.Millisecond)
}
