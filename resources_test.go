package cordon

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

func resources(e *Engine) (n int) {
	e.resources.all(func(*resource) { n++ })
	return n
}

// faults #75, #96: a million names keep the engine bounded, and the overflow is still protected and counted.
func TestResourcesAreBounded(t *testing.T) {
	t.Parallel()
	names := 1_000_000
	if testing.Short() || raceEnabled {
		names = 50_000
	}
	e, _ := newTest(t, Rules{Flow: []flow.Rule{
		{ID: "scan", Resource: rule.Wildcard("/scan/*"), Limit: 5},
		limit("named", "/scan/named", 3),
	}}, WithMaxResources(1000))
	admitted := 0
	for i := range names {
		admitted += passes(e, fmt.Sprint("/scan/", i), 1)
	}
	require.Equal(t, 1000+5, admitted, "beyond the bound all share one budget")
	require.Equal(t, 1001, resources(e))
	require.Equal(t, 3, passes(e, "/scan/named", 9), "a name that a rule spells out has its own")
	require.Equal(t, 4, passes(e, "/unruled", 4))
	s := e.Snapshot()
	require.Len(t, s.Resources, 1003)
	require.EqualValues(t, names-1000+4, s.Overflowed)
	require.Zero(t, s.Dropped)
	require.EqualValues(t, map[string]int64{"flow": int64(names - 1000 - 5)}, snap2(t, s, "(others of flow scan)").Blocked)
	require.EqualValues(t, 4, snap2(t, s, "(others)").Passed)
	require.Equal(t, "/scan/late", e.Resource("/scan/late").Name())

	// a reload keeps the common budget
	apply(t, e, flowRules(flow.Rule{ID: "scan", Resource: rule.Wildcard("/scan/*"), Limit: 7}))
	require.Equal(t, 2, passes(e, "/scan/later", 9))
}

func snap2(t *testing.T, s Snapshot, name string) ResourceSnapshot {
	t.Helper()
	for _, r := range s.Resources {
		if r.Name == name {
			return r
		}
	}
	require.Fail(t, "no resource "+name)
	return ResourceSnapshot{}
}

func TestIdleResourcesMakeRoom(t *testing.T) {
	t.Parallel()
	e, clk := newTest(t, Rules{
		Flow:    []flow.Rule{{ID: "day", Resource: rule.Wildcard("day*"), Limit: 5, Per: 24 * time.Hour}},
		Breaker: []breaker.Rule{{ID: "b", Resource: rule.Wildcard("sick*"), Threshold: 0.5, MinCalls: 2, Open: time.Hour}},
	}, WithMaxResources(100), WithIdleTimeout(time.Minute))
	// what holds state in use
	require.Equal(t, 5, passes(e, "day1", 9))
	call(e, "sick1", errBoom)
	call(e, "sick1", errBoom)
	running, err := e.Enter(bg, Request{Resource: "running"})
	require.NoError(t, err)
	handle := e.Resource("handle")
	for i := range 200 {
		call(e, fmt.Sprint("x", i), nil)
	}
	require.Equal(t, 101, resources(e))
	for range 3 {
		clk.Advance(2 * time.Minute)
		for i := range 200 {
			call(e, fmt.Sprint("y", i), nil)
		}
	}
	require.LessOrEqual(t, resources(e), 101)
	require.Positive(t, e.Snapshot().Dropped)
	_, ok := e.ResourceSnapshot("x5")
	require.False(t, ok, "an idle one was dropped")
	require.Zero(t, passes(e, "day1", 9), "a day's limit is in use")
	require.ErrorIs(t, call(e, "sick1", nil), breaker.ErrOpen, "an open breaker is in use")
	require.EqualValues(t, 1, snap(t, e, "running").InFlight)
	running.Exit(nil)
	ent, err := handle.Enter(bg)
	require.NoError(t, err)
	ent.Exit(nil)
	require.EqualValues(t, 1, snap(t, e, "handle").Passed)
}

// A resource that is used again while it rests wakes up with all it had, and one that was dropped is found anew.
func TestRestAndDropRaceWithCalls(t *testing.T) {
	t.Parallel()
	e, clk := newTest(t, flowRules(flow.Rule{ID: "f", Resource: rule.Wildcard("*"), Limit: 10, Per: time.Second}),
		WithMaxResources(50), WithIdleTimeout(time.Second))
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	for round := range rounds {
		var mu sync.Mutex
		admitted := map[string]int{}
		race(func(g int) {
			for i := range 40 {
				name := fmt.Sprint("n", (round*7+g+i)%120)
				if call(e, name, nil) == nil {
					mu.Lock()
					admitted[name]++
					mu.Unlock()
				}
			}
		})
		for name, n := range admitted {
			require.LessOrEqual(t, n, 20, "%s: its own budget, and at most the common one's", name)
		}
		clk.Advance(2100 * time.Millisecond)
	}
	require.Positive(t, e.Snapshot().Dropped)
	require.LessOrEqual(t, resources(e), 60)
}

func TestLongNamesShare(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, Rules{})
	for i := range 10 {
		call(e, strings.Repeat("x", longestName+1+i), nil)
	}
	require.Equal(t, 1, resources(e))
	require.EqualValues(t, 10, e.Snapshot().Overflowed)
}

func TestNamesThatCollideInTheTable(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, Rules{}, WithMaxResources(10_000))
	race(func(g int) {
		for i := range 3000 {
			call(e, fmt.Sprint("n", i), nil)
		}
	})
	require.Equal(t, 3000, resources(e))
	for i := range 3000 {
		require.EqualValues(t, racers, snap(t, e, fmt.Sprint("n", i)).Passed)
	}
}
