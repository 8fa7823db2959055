package trial

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ill is a scenario with an instance that dies for a while.
func ill() sim.Scenario {
	instances := sim.Instances(5, sim.Instance{Base: sim.Condition{Failures: .001}})
	instances[0].Ill = []sim.Script{sim.Between(20*time.Second, 40*time.Second, sim.Dead())}
	return sim.Scenario{
		Name: "orders", Length: 3 * time.Minute, Seed: 7, Instances: instances,
		Clients: []sim.Client{{Loads: []sim.Load{{Rate: 50}}}, {Loads: []sim.Load{{Rate: 50}}}},
	}
}

// What comes of it is the same on one processor as on several, and the figures are those of the runs.
func TestRunsAreAddedUp(t *testing.T) {
	policies := []sim.Policy{sim.Cordon{}, sim.None{}}
	var all [][]Trial
	for _, procs := range []int{1, 3} {
		before := runtime.GOMAXPROCS(procs)
		trials, err := Run(t.Context(), ill(), policies, 4)
		runtime.GOMAXPROCS(before)
		require.NoError(t, err)
		all = append(all, trials)
	}
	require.Equal(t, all[0], all[1])

	trials := all[0]
	require.Equal(t, []string{"cordon", "none"}, []string{trials[0].Policy, trials[1].Policy})
	var calls, tries int64
	for seed := uint64(7); seed < 11; seed++ {
		s := ill()
		s.Seed = seed
		r, err := sim.Run(s, sim.Cordon{})
		require.NoError(t, err)
		if seed == 7 {
			require.Equal(t, r, trials[0].First)
		}
		calls += r.Totals.Calls
		tries += r.Instances[0].Tries
	}
	f := &trials[0].Figures
	require.Equal(t, calls, f.Counts.Calls)
	require.Equal(t, tries, f.Instances[0].Tries)
	require.InDelta(t, float64(tries)/float64(f.Counts.Tries), f.Instances[0].Share, 1e-12)
	require.Equal(t, 4, f.Runs)
	require.Equal(t, 4*2, f.Illnesses)
	require.Equal(t, 4*2, f.Found)
	require.Len(t, f.FoundAfter, 4*2)
	require.Len(t, f.BackAfter, 4*2)
	require.IsNonDecreasing(t, f.ToSick)
	require.Positive(t, f.Quarantines)

	f = &trials[1].Figures
	require.Zero(t, f.Found)
	require.Equal(t, Took{20 * time.Second, true}, f.FoundAfter[0])
	require.Empty(t, f.BackAfter)
	require.Len(t, f.ToSick, 4*2)
	require.InDelta(t, 20*10, f.ToSick[0], 60, "a fifth of 50 calls a second, for 20 s")
}

func TestWhatCannotRunSaysWhy(t *testing.T) {
	_, err := Run(t.Context(), ill(), []sim.Policy{sim.None{}, sim.A50{MaxEjection: 2}}, 3)
	require.ErrorContains(t, err, "policy A50: sim: clients[0] (c0): max ejection: 2")
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Run(ctx, ill(), []sim.Policy{sim.None{}}, 1)
	require.ErrorIs(t, err, context.Canceled)
}

// result is one instance's illnesses and absences, for one client, in ten minutes.
func result(illnesses []sim.Illness, absences ...sim.Absence) *sim.Result {
	for i := range illnesses {
		illnesses[i].Found = []sim.Find{{Found: true, After: time.Second, Tries: 10}}
	}
	return &sim.Result{
		Scenario: sim.Scenario{Length: 10 * time.Minute}, Instances: make([]sim.InstanceResult, 1), Clients: make([]sim.ClientResult, 1),
		Illnesses: illnesses, Absences: absences,
	}
}

func TestBackAfter(t *testing.T) {
	const m = time.Minute
	for name, c := range map[string]struct {
		result *sim.Result
		want   []Took
	}{
		"back": {result([]sim.Illness{{From: m, Until: 2 * m}}, sim.Absence{From: m, Until: 3 * m}), []Took{{After: m}}},
		"back before the cure": {
			result([]sim.Illness{{From: m, Until: 2 * m}}, sim.Absence{From: m, Until: m + time.Second}), []Took{{}},
		},
		"not back":     {result([]sim.Illness{{From: m, Until: 2 * m}}, sim.Absence{From: m, Until: sim.Forever}), []Took{{8 * m, true}}},
		"ill for ever": {result([]sim.Illness{{From: m, Until: sim.Forever}}, sim.Absence{From: m, Until: sim.Forever}), nil},
		"ill again before it was back": {
			result([]sim.Illness{{From: m, Until: 2 * m}, {From: 3 * m, Until: 4 * m}}, sim.Absence{From: m, Until: 6 * m}), []Took{{After: 2 * m}},
		},
		"ill again and never back": {
			result([]sim.Illness{{From: m, Until: 2 * m}, {From: 3 * m, Until: 4 * m}}, sim.Absence{From: m, Until: sim.Forever}), []Took{{6 * m, true}},
		},
		"ill again later": {
			result([]sim.Illness{{From: m, Until: 2 * m}, {From: 5 * m, Until: 6 * m}}, sim.Absence{From: m, Until: 3 * m}, sim.Absence{From: 5 * m, Until: 8 * m}),
			[]Took{{After: m}, {After: 2 * m}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var f Figures
			f.add(c.result)
			f.sort()
			require.Equal(t, c.want, f.BackAfter)
		})
	}
}

// Whoever does not call an instance cannot find out that it is ill.
func TestOnlyThoseWhoCallAreCounted(t *testing.T) {
	r := result([]sim.Illness{{From: time.Minute, Until: 2 * time.Minute}})
	r.Illnesses[0].Found = []sim.Find{{}, {Tries: 7}, {Found: true}}
	var f Figures
	f.add(r)
	f.sort()
	require.Equal(t, 2, f.Illnesses)
	require.Equal(t, 1, f.Found)
	require.Equal(t, []Took{{}, {time.Minute, true}}, f.FoundAfter)
	require.Equal(t, []int64{0, 7}, f.ToSick)
}

// An instance of a region that was left is back when the region is in service again.
func TestBackAfterOfARegion(t *testing.T) {
	const m = time.Minute
	event := func(at time.Duration, kind isolation.EventKind, region string, client int) sim.Event {
		return sim.Event{Event: isolation.Event{At: at, Kind: kind, Address: region}, Client: client, Instance: -1}
	}
	for name, c := range map[string]struct {
		events []sim.Event
		want   Took
	}{
		"back":        {[]sim.Event{event(m, isolation.EventQuarantined, "east", 0), event(4*m, isolation.EventInService, "east", 0)}, Took{After: 2 * m}},
		"not back":    {[]sim.Event{event(m, isolation.EventQuarantined, "east", 0)}, Took{8 * m, true}},
		"back before": {[]sim.Event{event(m, isolation.EventQuarantined, "east", 0), event(m+1, isolation.EventInService, "east", 0)}, Took{}},
		"left later":  {[]sim.Event{event(3*m, isolation.EventQuarantined, "east", 0), event(4*m, isolation.EventInService, "east", 0)}, Took{}},
		"others":      {[]sim.Event{event(m, isolation.EventQuarantined, "west", 0), event(m, isolation.EventQuarantined, "east", 1), event(m, isolation.EventFallbackOn, "", 0)}, Took{}},
	} {
		t.Run(name, func(t *testing.T) {
			r := result([]sim.Illness{{From: m, Until: 2 * m}})
			r.Instances[0].Region, r.Events = "east", c.events
			var f Figures
			f.add(r)
			require.Equal(t, []Took{c.want}, f.BackAfter)
		})
	}
}

// What was waited for in vain comes last, however short that was.
func TestOrder(t *testing.T) {
	f := Figures{FoundAfter: []Took{{time.Second, true}, {After: 3 * time.Second}, {After: 2 * time.Second}, {0, true}}}
	f.sort()
	require.Equal(t, []Took{{After: 2 * time.Second}, {After: 3 * time.Second}, {0, true}, {time.Second, true}}, f.FoundAfter)
	middle, ok := Middle(f.FoundAfter)
	require.True(t, ok)
	require.Equal(t, 3*time.Second, middle.After)
	_, ok = Middle(f.BackAfter)
	require.False(t, ok)
}
