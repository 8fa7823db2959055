package sim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/sim"
)

// A dead instance is away for good: what it gets while it is probed is no service.
func TestProbesAreNoService(t *testing.T) {
	t.Parallel()
	instances := sim.Instances(5, sim.Instance{})
	instances[2].Ill = []sim.Script{sim.From(10*time.Second, sim.Dead())}
	r := play(t, sim.Scenario{Length: 10 * time.Minute, Instances: instances, Clients: one(100)}, sim.Cordon{})
	require.Len(t, r.Absences, 1)
	require.Equal(t, 2, r.Absences[0].Instance)
	require.Equal(t, sim.Forever, r.Absences[0].Until)
	require.Positive(t, r.Instances[2].Probes)
	require.Equal(t, r.Totals.Probes, r.Instances[2].Probes)
	for _, row := range r.Series[10:] {
		require.EqualValues(t, 1, row.Instances[2].Out)
		require.True(t, row.Instances[2].Ill)
	}
}

// Retries go where the call was not yet.
func TestRetriesGoElsewhere(t *testing.T) {
	t.Parallel()
	instances := sim.Instances(3, sim.Instance{})
	instances[0].Ill = []sim.Script{sim.Always(sim.Fails(1))}
	c := one(100)
	c[0].Retry.Max = 1
	s := sim.Scenario{Length: time.Minute, Instances: instances, Clients: c}
	p := sim.Cordon{Rule: &isolation.Rule{Shadow: true}, Balance: balance.Options{Strategy: balance.Random}}
	r := play(t, s, p)
	require.Zero(t, r.Totals.Failed)
	require.Greater(t, r.Totals.Retries, int64(1500), "in shadow nobody is taken out")
	require.NotEmpty(t, r.Events)
}

// Equal hashes go to one instance, and a call's retries have its hash.
func TestHashes(t *testing.T) {
	t.Parallel()
	s := sim.Scenario{Length: time.Minute, Instances: sim.Instances(4, sim.Instance{}), Clients: one(200)}
	r := play(t, s, sim.Cordon{Balance: balance.Options{Strategy: balance.ConsistentHash}})
	for _, in := range r.Instances {
		require.InDelta(t, .25, in.Share, .12)
	}
}

// Each client decides by what it sees itself.
func TestClientsDecideApart(t *testing.T) {
	t.Parallel()
	instances := sim.Instances(5, sim.Instance{})
	instances[0].Ill = []sim.Script{sim.Always(sim.Dead())}
	clients := append(one(100), one(5)...)
	r := play(t, sim.Scenario{Length: 10 * time.Minute, Instances: instances, Clients: clients}, sim.Cordon{})
	quick, slow := r.Illnesses[0].Found[0], r.Illnesses[0].Found[1]
	require.True(t, quick.Found && slow.Found)
	require.Less(t, quick.After, slow.After/4)
	require.LessOrEqual(t, max(quick.Tries, slow.Tries), int64(18))
	seen := map[int]bool{}
	for _, e := range r.Events {
		require.Zero(t, e.Instance)
		seen[e.Client] = true
	}
	require.Len(t, seen, 2)
}
