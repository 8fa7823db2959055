package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/sim"
)

// lostRegion is a service in two regions, one of which is dead for a minute, with a client in each.
func lostRegion() sim.Scenario {
	instances := append(sim.Instances(3, sim.Instance{Region: "east"}), sim.Instances(3, sim.Instance{
		Region: "west", Ill: []sim.Script{sim.Between(time.Minute, 2*time.Minute, sim.Dead())},
	})...)
	loads := []sim.Load{{Rate: 100}}
	return sim.Scenario{Length: 5 * time.Minute, Instances: instances, Clients: []sim.Client{{Region: "east", Loads: loads}, {Region: "west", Loads: loads}}}
}

// A client that leaves a whole region has found the illnesses of all its instances, and says so; one that does not call them has not.
func TestALostRegionIsFound(t *testing.T) {
	t.Parallel()
	told := 0
	r := play(t, lostRegion(), sim.Cordon{Balance: balance.Options{OnRegion: func(isolation.Event) { told++ }}})
	require.Len(t, r.Illnesses, 3)
	for _, il := range r.Illnesses {
		require.Equal(t, sim.Find{}, il.Found[0])
		require.True(t, il.Found[1].Found)
		require.Less(t, il.Found[1].After, 5*time.Second)
		require.Positive(t, il.Found[1].Tries)
	}
	require.Empty(t, r.False)
	require.NotEmpty(t, r.Events)
	require.Equal(t, len(r.Events), told)
	require.Equal(t, isolation.EventQuarantined, r.Events[0].Kind)
	require.Equal(t, isolation.EventInService, r.Events[len(r.Events)-1].Kind)
	for _, e := range r.Events {
		require.Equal(t, "west", e.Address)
		require.Equal(t, -1, e.Instance)
		require.Equal(t, 1, e.Client)
	}

	// Whoever does not find it is told how many tries it cost.
	r = play(t, lostRegion(), sim.None{})
	for _, il := range r.Illnesses {
		for _, f := range il.Found {
			require.False(t, f.Found)
			require.InDelta(t, 1000, f.Tries, 150)
		}
	}
}

// A region none of whose instances is ill is left in error, once: then only its probes fail by chance.
func TestARegionIsLeftInError(t *testing.T) {
	t.Parallel()
	plan := map[time.Duration]isolation.EventKind{
		10 * time.Second: isolation.EventQuarantined, 20 * time.Second: isolation.EventQuarantined, 30 * time.Second: isolation.EventInService,
		90 * time.Second:  isolation.EventQuarantined, // it is ill
		122 * time.Second: isolation.EventQuarantined, // it was until 120 s: within the grace
		200 * time.Second: isolation.EventReadmitted, 210 * time.Second: isolation.EventQuarantined,
	}
	w := &watcher{t: t, decide: func(now time.Duration, decided func(sim.Event)) {
		if kind, ok := plan[now]; ok {
			decided(sim.Event{Instance: -1, Event: isolation.Event{Kind: kind, At: now, Address: "west"}})
		}
	}, weight: func(time.Duration, int) float64 { return 1 }}
	s := lostRegion()
	s.Grace, s.Clients = 3*time.Second, s.Clients[1:]
	r := play(t, s, w)
	require.Len(t, r.False, 2)
	require.Equal(t, []time.Duration{10 * time.Second, 210 * time.Second}, []time.Duration{r.False[0].At, r.False[1].At})
	require.Len(t, r.WrongReturns, 1)
	require.Equal(t, 20*time.Second, r.WrongReturns[0].At)
	require.Equal(t, 30*time.Second, r.Illnesses[0].Found[0].After)
	require.Zero(t, r.Clients[0].Quarantines)
	require.Empty(t, r.Absences)
}
