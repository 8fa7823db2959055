package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/sim"
)

// A table has a session of a policy by hand: n instances, and a log of what it decided.
type table struct {
	t       *testing.T
	session sim.Session
	n       int
	log     []string
}

func open(t *testing.T, p sim.Policy, n int) *table {
	t.Helper()
	tb := &table{t: t, n: n}
	s, err := p.Open(sim.Environment{Service: "x", Seed: 1, Instances: n, Decided: func(e sim.Event) {
		switch e.Kind {
		case isolation.EventQuarantined:
			tb.log = append(tb.log, fmt.Sprintf("%v: %d out until %v: %s", e.At, e.Instance, e.Until.Round(time.Second), e.Reason))
		case isolation.EventReadmitted:
			tb.log = append(tb.log, fmt.Sprintf("%v: %d back", e.At, e.Instance))
		}
	}})
	require.NoError(t, err)
	tb.session = s
	list := make([]sim.Listed, n)
	for i := range list {
		list[i] = sim.Listed{ID: i, Instance: isolation.Instance{Address: fmt.Sprint(i), Weight: 1}}
	}
	s.Update(0, list)
	return tb
}

// results reports so many results of an instance.
func (tb *table) results(at time.Duration, id, n int, o isolation.Outcome) {
	for range n {
		tb.session.Done(at, sim.Choice{ID: id}, o, 0)
	}
}

// tick ticks from the last time to another, each 100 ms.
func (tb *table) tick(from, until time.Duration) {
	for at := from; at <= until; at += 100 * time.Millisecond {
		tb.session.Tick(at)
	}
}

// called returns which instances get calls.
func (tb *table) called(at time.Duration) map[int]bool {
	m := map[int]bool{}
	for range 200 {
		if c, ok := tb.session.Pick(at, sim.Try{}); ok {
			m[c.ID] = true
			tb.session.Done(at, c, isolation.Success, 0)
		}
	}
	return m
}

func (tb *table) said(want ...string) {
	tb.t.Helper()
	require.Equal(tb.t, want, tb.log)
	tb.log = nil
}

const (
	fails    = isolation.Failure
	succeeds = isolation.Success
	s10      = 10 * time.Second
)

func TestEnvoyInARow(t *testing.T) {
	t.Parallel()
	tb := open(t, sim.Envoy{}, 5)
	tb.results(time.Second, 0, 4, fails)
	tb.results(time.Second, 0, 1, succeeds)
	tb.results(time.Second, 0, 4, isolation.LocalError)
	tb.results(time.Second, 0, 1, isolation.Throttled) // no 5xx
	tb.results(time.Second, 0, 4, fails)
	tb.said()
	tb.results(2*time.Second, 0, 1, fails)
	tb.said("2s: 0 out until 32s: consecutive 5xx")
	require.Len(t, tb.called(3*time.Second), 4)
	tb.results(3*time.Second, 1, 5, fails)
	tb.said("3s: 1 out until 33s: consecutive 5xx")
	tb.results(3*time.Second, 2, 5, fails) // three of five would be more than half
	tb.results(3*time.Second, 0, 4, fails) // late results of one that is out are forgotten
	tb.said()
	tb.tick(4*time.Second, 39*time.Second)
	tb.said() // only sweeps take anyone back
	tb.tick(40*time.Second, 40*time.Second)
	tb.said("40s: 0 back", "40s: 1 back")
	require.Len(t, tb.called(40*time.Second), 5)
	tb = open(t, sim.Envoy{}, 5)
	tb.results(time.Second, 0, 5, fails)
	tb.results(2*time.Second, 0, 4, fails)
	tb.tick(3*time.Second, 40*time.Second)
	tb.results(41*time.Second, 0, 4, fails)
	tb.said("1s: 0 out until 31s: consecutive 5xx", "40s: 0 back")
	tb.results(41*time.Second, 0, 1, succeeds)
	tb.results(41*time.Second, 0, 5, fails)
	tb.said("41s: 0 out until 1m41s: consecutive 5xx") // twice as long
	tb.tick(50*time.Second, 110*time.Second)
	tb.said("1m50s: 0 back")
	tb.tick(120*time.Second, 140*time.Second) // three sweeps in service
	tb.results(141*time.Second, 0, 5, fails)
	tb.said("2m21s: 0 out until 2m51s: consecutive 5xx")
}

func TestEnvoyPanics(t *testing.T) {
	t.Parallel()
	tb := open(t, sim.Envoy{MaxEjection: .8}, 5)
	for id := range 3 {
		tb.results(time.Second, id, 5, fails)
	}
	require.Len(t, tb.called(time.Second), 5, "two of five is less than half")
	weights := []float64{1, 1, 1, 1, 1}
	tb.session.Weights(time.Second, weights)
	require.Equal(t, []float64{1, 1, 1, 1, 1}, weights)
	tb.log = nil
	tb.results(time.Second, 3, 5, fails)
	tb.results(time.Second, 4, 5, fails)
	tb.said("1s: 3 out until 31s: consecutive 5xx") // four of five are .8
}

// One of five is always two deviations from the mean, however little it is worse; with less than a hundred calls each nobody is looked at.
func TestSuccessRate(t *testing.T) {
	t.Parallel()
	for _, p := range []sim.Policy{sim.Envoy{}, sim.A50{}} {
		tb := open(t, p, 5)
		load := func(at time.Duration, calls int) {
			for id := range 5 {
				tb.results(at, id, calls-1, succeeds)
				tb.results(at, id, 1, map[bool]isolation.Outcome{true: fails, false: succeeds}[id == 2])
			}
		}
		load(time.Second, 99)
		tb.tick(time.Second, s10)
		tb.said()
		load(11*time.Second, 100)
		tb.tick(11*time.Second, 2*s10)
		tb.said("20s: 2 out until 50s: success rate")
		require.Len(t, tb.called(21*time.Second), 4)
		tb.tick(21*time.Second, 50*time.Second)
		tb.said("50s: 2 back")
		require.Len(t, tb.called(50*time.Second), 5)
		tb.tick(51*time.Second, 60*time.Second)

		tb = open(t, p, 5)
		for id := range 5 { // two of five dead: 1.22 deviations
			tb.results(time.Second, id, 100, map[bool]isolation.Outcome{true: fails, false: succeeds}[id < 2])
		}
		tb.log = nil
		tb.tick(time.Second, s10)
		for _, line := range tb.log {
			require.NotContains(t, line, "success rate")
		}
	}
}

func TestA50Percentage(t *testing.T) {
	t.Parallel()
	tb := open(t, sim.A50{}, 5)
	for id := range 5 {
		tb.results(time.Second, id, 50, map[bool]isolation.Outcome{true: fails, false: succeeds}[id < 4])
	}
	tb.tick(time.Second, s10)
	// The cap is looked at before: three of five are out, since two were less than half.
	tb.said("10s: 0 out until 40s: failure percentage", "10s: 1 out until 40s: failure percentage", "10s: 2 out until 40s: failure percentage")

	tb = open(t, sim.A50{MaxEjection: 1}, 5)
	for id := range 5 {
		tb.results(time.Second, id, 60, isolation.Throttled) // errors by status
	}
	tb.tick(time.Second, s10)
	require.Len(t, tb.log, 5)
	require.Empty(t, tb.called(11*time.Second), "none to call")

	tb = open(t, sim.A50{}, 4) // four hosts are too few
	for id := range 4 {
		tb.results(time.Second, id, 500, map[bool]isolation.Outcome{true: fails, false: succeeds}[id == 0])
	}
	tb.tick(time.Second, s10)
	tb.said()
}

func TestFinagleInARow(t *testing.T) {
	t.Parallel()
	tb := open(t, sim.Finagle{}, 2)
	tb.results(time.Second, 0, 5, fails)
	require.Len(t, tb.log, 1)
	require.Contains(t, tb.log[0], "1s: 0 out until ")
	require.Equal(t, map[int]bool{1: true}, tb.called(time.Second))
	weights := []float64{1, 1}
	tb.session.Weights(time.Second, weights)
	require.Equal(t, []float64{0, 1}, weights)

	// It is probed when its time is over, by one call; failed probes double the time, half of which is random.
	at, base := time.Second, 5*time.Second
	for range 8 {
		tb.log = nil
		out := untilProbed(tb, at)
		require.GreaterOrEqual(t, out, base/2-time.Millisecond)
		require.LessOrEqual(t, out, base+100*time.Millisecond)
		at += out
		base = min(2*base, 300*time.Second)
		weights[0] = 1
		tb.session.Weights(at, weights)
		require.Zero(t, weights[0], "a probe is no service")
		tb.session.Done(at, sim.Choice{ID: 0, Probe: true}, fails, 0)
		require.Len(t, tb.log, 1)
		require.Contains(t, tb.log[0], "probe failed")
	}
	tb.log = nil
	at += untilProbed(tb, at)
	tb.session.Done(at, sim.Choice{ID: 0, Probe: true}, succeeds, 0)
	require.Contains(t, tb.log[0], "0 back")
	tb.log = nil
	tb.results(at, 0, 5, fails)
	require.LessOrEqual(t, untilProbed(tb, at), 5100*time.Millisecond, "all was forgotten at the first success")
}

// untilProbed returns how long it takes until a probe is on its way to the first instance, which is the only one then.
func untilProbed(tb *table, from time.Duration) time.Duration {
	for at := from; ; at += 50 * time.Millisecond {
		probes := 0
		for range 60 {
			if c, _ := tb.session.Pick(at, sim.Try{}); c.ID == 0 {
				require.True(tb.t, c.Probe)
				probes++
			}
		}
		if probes > 0 {
			require.Equal(tb.t, 1, probes)
			return at - from
		}
	}
}

func TestFinagleByRate(t *testing.T) {
	t.Parallel()
	tb := open(t, sim.Finagle{}, 2)
	for i := range 29 { // half of the calls fail, for less than half a minute
		tb.results(time.Duration(i)*time.Second, 0, 1, []isolation.Outcome{succeeds, fails}[i%2])
	}
	tb.said()
	tb.results(31*time.Second, 0, 1, fails)
	require.Len(t, tb.log, 1)
	require.Contains(t, tb.log[0], "success rate")

	tb.results(31*time.Second, 1, 5, fails)
	require.Len(t, tb.called(32*time.Second), 2, "with all of them dead, all are called")
}

func TestConsecutive(t *testing.T) {
	t.Parallel()
	tb := open(t, sim.Consecutive{Failures: 3, Out: s10}, 2)
	tb.results(time.Second, 0, 2, fails)
	tb.results(time.Second, 0, 1, succeeds)
	tb.results(time.Second, 0, 2, fails)
	tb.said()
	tb.results(2*time.Second, 0, 3, fails)
	tb.said("2s: 0 out until 12s: failures in a row")
	tb.results(3*time.Second, 1, 3, fails)
	require.Empty(t, tb.called(4*time.Second), "none to call")
	tb.log = nil
	tb.tick(4*time.Second, 13*time.Second)
	tb.said("12s: 0 back", "13s: 1 back")
	tb.results(14*time.Second, 0, 3, fails)
	tb.said("14s: 0 out until 24s: failures in a row") // no longer than before
}

// All models choose at random by weight, and not whom was tried if there is another.
func TestPeersChooseByWeight(t *testing.T) {
	t.Parallel()
	for _, p := range []sim.Policy{sim.None{}, sim.Envoy{}, sim.A50{}, sim.Finagle{}, sim.Consecutive{}} {
		tb := open(t, p, 3)
		tb.session.Update(0, []sim.Listed{
			{ID: 0, Instance: isolation.Instance{Address: "0", Weight: 1}}, {ID: 1, Instance: isolation.Instance{Address: "1", Weight: 3}},
			{ID: 2, Instance: isolation.Instance{Address: "2", Weight: 9, Drained: true}},
		})
		counts := [3]int{}
		for range 10_000 {
			c, ok := tb.session.Pick(0, sim.Try{})
			require.True(t, ok)
			tb.session.Done(0, c, succeeds, 0)
			counts[c.ID]++
		}
		require.InDelta(t, 2500, counts[0], 250, "%s", p)
		require.Zero(t, counts[2], "%s", p)
		for range 100 {
			c, _ := tb.session.Pick(0, sim.Try{Tried: []int{1}})
			require.Zero(t, c.ID, "%s", p)
			c, _ = tb.session.Pick(0, sim.Try{Tried: []int{0, 1}})
			require.Less(t, c.ID, 2, "%s", p)
		}
		// Results of whoever has left are no concern of anyone.
		tb.session.Update(0, nil)
		tb.results(0, 0, 10, fails)
		tb.said()
	}
}
