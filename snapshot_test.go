package cordon

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
)

func TestSnapshot(t *testing.T) {
	t.Parallel()
	e, clk := newTest(t, Rules{
		Flow:        []flow.Rule{limit("f", "r", 1000)},
		Concurrency: []flow.ConcurrencyRule{atMost("c", "r", 1)},
		Breaker:     []breaker.Rule{errorBreaker("b", "r")},
	})
	for i := range 300 {
		ent, err := e.Enter(bg, Request{Resource: "r"})
		require.NoError(t, err)
		clk.Advance(time.Duration(i%10) * time.Millisecond)
		if i == 5 {
			ent.End(Failure)
		} else {
			ent.End(Success)
		}
	}
	ent, err := e.Enter(bg, Request{Resource: "r"})
	require.NoError(t, err)
	require.Error(t, call(e, "r", nil))
	s := e.Snapshot()
	require.Len(t, s.Resources, 1)
	r := s.Resources[0]
	require.EqualValues(t, 301, r.Passed)
	require.EqualValues(t, 299, r.Succeeded)
	require.EqualValues(t, 1, r.Failed)
	require.EqualValues(t, 1, r.InFlight)
	require.EqualValues(t, map[string]int64{"concurrency": 1}, r.Blocked)
	require.InDelta(t, 300-histogramAfter, r.Recent.Calls, 5)
	require.InDelta(t, 4.5e6, float64(r.Recent.Mean), 3e5)
	require.InEpsilon(t, 5e6, float64(r.Recent.P50), 0.25)
	require.InEpsilon(t, 9e6, float64(r.Recent.P99), 0.1)
	require.Equal(t, map[string]int{"flow": 1, "concurrency": 1, "breaker": 1, "isolation": 0, "param": 0, "system": 0, "authority": 0, "apiGroup": 0}, s.Rules)
	require.Len(t, r.Rules, 3)
	require.Equal(t, []string{"breaker", "concurrency", "flow"}, []string{r.Rules[0].Kind, r.Rules[1].Kind, r.Rules[2].Kind})
	require.EqualValues(t, 1, r.Rules[1].Usage)
	require.EqualValues(t, 1, r.Rules[1].Blocked)
	require.Equal(t, "closed", r.Rules[0].State)
	ent.Exit(nil)
	clk.Advance(time.Minute)
	require.Zero(t, snap(t, e, "r").Recent.Calls)
	require.EqualValues(t, 301, snap(t, e, "r").Passed)

	data, err := json.Marshal(e.Snapshot())
	require.NoError(t, err)
	var back Snapshot
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, "r", back.Resources[0].Name)
}

// Totals never go back, though the rules that refused are gone.
func TestBlockedTotalsOutliveRules(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, flowRules(limit("f", "r", 0)))
	require.Error(t, call(e, "r", nil))
	apply(t, e, Rules{})
	require.NoError(t, call(e, "r", nil))
	require.EqualValues(t, 1, snap(t, e, "r").Blocked["flow"])
	apply(t, e, flowRules(limit("f", "r", 0)))
	require.Error(t, call(e, "r", nil))
	require.EqualValues(t, 2, snap(t, e, "r").Blocked["flow"])
}

func TestSnapshotRacesWithCalls(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, Rules{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		race(func(int) {
			for range 2000 {
				call(e, "r", nil)
			}
		})
	}()
	last := int64(0)
	for {
		if r, ok := e.ResourceSnapshot("r"); ok {
			require.GreaterOrEqual(t, r.InFlight, int64(0))
			require.GreaterOrEqual(t, r.Passed, last)
			last = r.Passed
		}
		select {
		case <-done:
			require.EqualValues(t, racers*2000, snap(t, e, "r").Succeeded)
			return
		default:
		}
	}
}
