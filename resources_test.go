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

// A handle of a name beyond the bound is not tied to the common resource: a rule for the name, or for another set of names, holds for it at once.
func TestHandlesBeyondTheBoundFollowTheRules(t *testing.T) {
	t.Parallel()
	var asked string
	e, _ := newTest(t, flowRules(flow.Rule{ID: "w", Resource: rule.Wildcard("/w/*"), Limit: 3}), WithMaxResources(1),
		WithChecker(stalling{func(c *CheckedCall) error { asked = c.Request.Resource; return nil }}))
	call(e, "the only one", nil)
	enterAll := func(h Resource, n int) (admitted int) {
		for range n {
			if ent, err := h.Enter(bg); err == nil {
				admitted++
				ent.Exit(nil)
			}
		}
		return admitted
	}
	h, other := e.Resource("/w/x"), e.Resource("plain")
	require.Equal(t, 3, enterAll(h, 5))
	require.Equal(t, 5, enterAll(other, 5))
	require.Equal(t, "plain", asked, "a checker sees the name that was called")
	require.NoError(t, call(e, "plain2", nil))
	require.Equal(t, "plain2", asked)
	ent, err := other.EnterWith(bg, Request{Resource: "not looked at"})
	require.NoError(t, err)
	ent.Exit(nil)
	require.Equal(t, "plain", asked)
	apply(t, e, flowRules(flow.Rule{ID: "w", Resource: rule.Wildcard("/w/*"), Limit: 3}, limit("x", "/w/x", 9), limit("p", "plain", 2)))
	require.Equal(t, 9, enterAll(h, 20))
	require.Equal(t, 2, enterAll(other, 5))
	require.EqualValues(t, 2, snap(t, e, "plain").Passed)
	s, ok := e.ResourceSnapshot("(others)")
	require.True(t, ok)
	require.EqualValues(t, 7, s.Passed)
}

// What names beyond the bound have used up stays used up, whatever becomes of the names it was used by, and whoever looks first after an edit.
func TestCommonResourcesOutliveEdits(t *testing.T) {
	t.Parallel()
	w := flow.Rule{ID: "w", Resource: rule.Wildcard("/w/*"), Limit: 5}
	c := flow.ConcurrencyRule{ID: "c", Resource: rule.Wildcard("/w/*"), Limit: 1, MaxWait: time.Hour}
	e, _ := newTest(t, Rules{Flow: []flow.Rule{w}, Concurrency: []flow.ConcurrencyRule{c}}, WithMaxResources(1))
	call(e, "the only one", nil)
	require.Equal(t, 5, passes(e, "/w/first", 9))
	apply(t, e, Rules{Flow: []flow.Rule{w, limit("own", "/w/first", 100)}, Concurrency: []flow.ConcurrencyRule{c, atMost("own", "/w/first", 7)}})
	e.Snapshot()
	require.Zero(t, passes(e, "/w/second", 9))
	require.Equal(t, 100, passes(e, "/w/first", 200))
}

// Law 7: with more sets of rules than common resources every name beyond the bound is still limited by its rules.
func TestManyCommonResources(t *testing.T) {
	t.Parallel()
	if raceEnabled {
		t.Skip("nothing races, and it takes long")
	}
	n := mostCommons + 200
	rules := func(lim float64) (all Rules) {
		for i := range n {
			all.Flow = append(all.Flow, flow.Rule{ID: fmt.Sprint("f", i), Resource: rule.Wildcard(fmt.Sprintf("/%d/*", i)), Limit: lim, Per: time.Hour})
		}
		return all
	}
	e, clk := newTest(t, rules(2), WithMaxResources(1))
	require.Equal(t, 4, passes(e, "unruled", 4))
	require.Equal(t, 4, passes(e, "unruled too", 4))
	use := func(most int) {
		t.Helper()
		for i := range n {
			admitted := passes(e, fmt.Sprintf("/%d/a", i), 3) + passes(e, fmt.Sprintf("/%d/b", i), 3)
			require.LessOrEqual(t, admitted, most, "rule %d", i)
		}
	}
	use(2)
	require.LessOrEqual(t, resources(e), mostCommons+3)
	apply(t, e, rules(3))
	use(1)
	apply(t, e, Rules{})
	require.Equal(t, 4, passes(e, "/5/a", 4))
	apply(t, e, rules(2))
	clk.Advance(time.Hour)
	use(2)
	require.LessOrEqual(t, resources(e), mostCommons+3)
}

// A resource that was woken from its rest by a refused call, or looked at, can still be dropped later, and one that a late call found
// while it rested is not dropped with a count in use.
func TestRestingResources(t *testing.T) {
	t.Parallel()
	e, clk := newTest(t, flowRules(
		flow.Rule{ID: "none", Resource: rule.Wildcard("none*"), Limit: 0},
		flow.Rule{ID: "day", Resource: rule.Wildcard("day*"), Limit: 5, Per: 24 * time.Hour},
	), WithMaxResources(1000), WithIdleTimeout(time.Second))
	sweep := func() {
		e.resources.mu.Lock()
		e.resources.look(clk.Now(), 1<<20)
		e.resources.mu.Unlock()
	}
	require.Error(t, call(e, "none", nil))
	day := e.resources.get("day")
	late := day.current() // a call has found the table, and is slow
	clk.Advance(2 * time.Second)
	sweep()
	require.Nil(t, day.table.Load())
	require.Error(t, call(e, "none", nil))
	_, _, _, ok := late.rate.limiter.Acquire(clk.Now(), 5)
	require.True(t, ok)
	day.passed.Add(1)
	day.ended[Success].Add(1)
	for range 6 {
		clk.Advance(2 * time.Second)
		sweep()
		apply(t, e, e.Rules())
		e.Snapshot()
	}
	_, ok = e.ResourceSnapshot("none")
	require.False(t, ok, "dropped in the end")
	require.Zero(t, passes(e, "day", 9), "all five are used up")
}

// Names that are known to be beyond the bound get resources of their own once idle ones can be dropped, though no other new name comes.
func TestKnownNamesGetRoom(t *testing.T) {
	t.Parallel()
	e, clk := newTest(t, Rules{}, WithMaxResources(100), WithIdleTimeout(time.Minute))
	for i := range 100 {
		call(e, fmt.Sprint("x", i), nil)
	}
	for range 5 {
		for range 2 * lookAgain {
			call(e, "late", nil)
		}
		clk.Advance(2 * time.Minute)
	}
	require.Positive(t, snap(t, e, "late").Passed)
	require.Positive(t, e.Snapshot().Dropped)
}
