package cordon

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

// enter enters a call that must be admitted.
func enter(t testing.TB, e *Engine, resource string) *Entry {
	t.Helper()
	ent, err := e.Enter(bg, Request{Resource: resource})
	require.NoError(t, err)
	return &ent
}

// enqueue starts calls that must wait in the queue of a resource's first rule, and returns what becomes of them.
func enqueue(t testing.TB, e *Engine, resource string, n int) <-chan error {
	t.Helper()
	done := make(chan error, n)
	for range n {
		go func() { done <- call(e, resource, nil) }()
	}
	require.Eventually(t, func() bool { return snap(t, e, resource).Rules[0].Queued == n }, 10*time.Second, time.Millisecond)
	return done
}

// Whatever an edit does besides, a bulkhead goes on: with a queue and without, in shadow and out of it, for some callers and for all,
// and what is in flight stays counted.
func TestBulkheadGoesOnThroughEveryEdit(t *testing.T) {
	t.Parallel()
	edits := map[string]func(*flow.ConcurrencyRule){
		"no queue":   func(c *flow.ConcurrencyRule) { c.MaxWait, c.Queue = 0, 0 },
		"queue":      func(c *flow.ConcurrencyRule) { c.MaxWait, c.Queue = time.Hour, 3 },
		"shadow":     func(c *flow.ConcurrencyRule) { c.Shadow = true },
		"no shadow":  func(c *flow.ConcurrencyRule) { c.Shadow = false },
		"under":      func(c *flow.ConcurrencyRule) { c.Under = "night" },
		"not under":  func(c *flow.ConcurrencyRule) { c.Under = "" },
		"web":        func(c *flow.ConcurrencyRule) { c.Origin = "web" },
		"anyone":     func(c *flow.ConcurrencyRule) { c.Origin = "" },
		"also":       func(c *flow.ConcurrencyRule) { c.Also = !c.Also },
		"by pattern": func(c *flow.ConcurrencyRule) { c.Resource = rule.Wildcard("r*") },
		"by name":    func(c *flow.ConcurrencyRule) { c.Resource = rule.Name("r") },
	}
	for from, before := range edits {
		for to, after := range edits {
			c := atMost("c", "r", 3)
			e, _ := newTest(t, bulkRules(c))
			first := enter(t, e, "r")
			before(&c)
			apply(t, e, bulkRules(c))
			second, err := e.Enter(bg, Request{Resource: "r", Origin: "web", Under: "night"})
			require.NoError(t, err)
			after(&c)
			apply(t, e, bulkRules(c))
			third, err := e.Enter(bg, Request{Resource: "r", Origin: "web", Under: "night"})
			require.NoError(t, err)
			c.Shadow, c.Under, c.Origin, c.MaxWait, c.Queue = false, "", "", 0, 0
			apply(t, e, bulkRules(c))
			require.ErrorIs(t, call(e, "r", nil), flow.ErrSaturated, "%s, %s: three are in flight", from, to)
			require.EqualValues(t, 3, snap(t, e, "r").Rules[0].Usage)
			first.Exit(nil)
			second.Exit(nil)
			third.Exit(nil)
			require.Zero(t, snap(t, e, "r").Rules[0].Usage, "%s, %s", from, to)
			require.Equal(t, 3, heldAtOnce(e, "r"), "%s, %s: the limit is the rule's", from, to)
		}
	}
}

// Who waits in a queue is let go when nobody is left to wake it: when its rule goes, or counts elsewhere from now on, or the engine is
// closed; and also when the queue itself had been edited away before.
func TestNobodyWaitsForARuleThatIsGone(t *testing.T) {
	t.Parallel()
	queued := atMost("q", "r", 1)
	queued.MaxWait, queued.Queue = time.Hour, 10
	shared := queued
	shared.Shared = true
	other := queued
	other.Origin = "other"
	noQueue := queued
	noQueue.MaxWait, noQueue.Queue = 0, 0
	raised := noQueue
	raised.Limit = 9
	for name, c := range map[string]struct {
		first flow.ConcurrencyRule
		edits []Rules
	}{
		"removed":                 {queued, []Rules{{}}},
		"shared removed":          {shared, []Rules{{}}},
		"own, then shared":        {queued, []Rules{bulkRules(shared)}},
		"shared, then own":        {shared, []Rules{bulkRules(queued)}},
		"one, then each caller's": {queued, []Rules{bulkRules(other)}},
		"queue, then removed":     {queued, []Rules{bulkRules(noQueue), {}}},
		"queue, then raised":      {queued, []Rules{bulkRules(noQueue), bulkRules(raised)}},
		"closed":                  {queued, nil},
		"shared closed":           {shared, nil},
	} {
		e, _ := newTest(t, bulkRules(c.first))
		running := enter(t, e, "r")
		waiting := enqueue(t, e, "r", 4)
		for _, edit := range c.edits {
			apply(t, e, edit)
		}
		if c.edits == nil {
			require.NoError(t, e.Close())
		}
		for range 4 {
			select {
			case err := <-waiting:
				require.NoError(t, err, name)
			case <-time.After(20 * time.Second):
				require.Fail(t, "still waiting", name)
			}
		}
		running.Exit(nil)
		if c.edits != nil {
			require.Zero(t, snap(t, e, "r").InFlight, name)
		}
	}
}

// An error says what the rule in force says, also to those who are refused while and after it is edited.
func TestRefusalsFollowEdits(t *testing.T) {
	t.Parallel()
	c := atMost("c", "r", 1)
	e, clk := newTest(t, bulkRules(c))
	held := enter(t, e, "r")
	res := e.resources.get("r")
	old := res.table.Load()
	said := func() *BlockedError {
		var b *BlockedError
		require.ErrorAs(t, call(e, "r", nil), &b)
		return b
	}
	require.EqualValues(t, 1, said().Limit)
	c.Limit = 2
	apply(t, e, bulkRules(c))
	require.NoError(t, call(e, "r", nil))
	// a call that was under way by the old table is refused now
	second := enter(t, e, "r")
	require.EqualValues(t, 1, old.bulkhead.refuse(old.bulkhead.bulkhead, 1).Limit)
	require.EqualValues(t, 2, said().Limit)
	held.Exit(nil)
	second.Exit(nil)

	// a breaker that opens again says why it did this time, one shared by resources too
	for _, shared := range []bool{false, true} {
		b := errorBreaker("b", "r")
		b.Shared, b.Resource = shared, rule.Wildcard("r*")
		apply(t, e, breakerRules(b))
		fail := func(failures int) {
			for i := range 4 {
				var err error
				if i < failures {
					err = errBoom
				}
				require.NoError(t, call(e, "r2", err))
			}
		}
		// 2 successes first, so that the window holds four calls when the second failure comes
		require.NoError(t, call(e, "r2", nil))
		require.NoError(t, call(e, "r2", nil))
		require.NoError(t, call(e, "r2", errBoom))
		require.NoError(t, call(e, "r2", errBoom))
		require.EqualValues(t, 0.5, said2(t, e, "r").Observed, "2 of 4")
		clk.Advance(5 * time.Second)
		require.NoError(t, call(e, "r2", nil))
		clk.Advance(time.Minute)
		fail(4)
		require.EqualValues(t, 1, said2(t, e, "r").Observed, "4 of 4, shared %v", shared)
		require.NoError(t, e.ForceBreaker("r2", "", breaker.Closed))
		apply(t, e, Rules{})
		require.NoError(t, call(e, "r2", nil))
	}
}

// said2 is what the refusal of a call that is known to be refused by the breaker of "r2" says: of the same resource if the breaker is its own.
func said2(t testing.TB, e *Engine, resource string) *BlockedError {
	t.Helper()
	var b *BlockedError
	if len(e.Rules().Breaker) > 0 && e.Rules().Breaker[0].Shared {
		require.ErrorAs(t, call(e, resource, nil), &b)
	} else {
		require.ErrorAs(t, call(e, "r2", nil), &b)
	}
	return b
}

// A permit of any breaker, the third and later too, goes back to its breaker, whatever became of the rules meanwhile.
func TestPermitsOfManyBreakers(t *testing.T) {
	t.Parallel()
	var bs []breaker.Rule
	for i := range 6 {
		b := errorBreaker(fmt.Sprint("b", i), "r")
		b.Open = time.Duration(i+1) * time.Second
		bs = append(bs, b)
	}
	e, clk := newTest(t, breakerRules(bs...))
	for range 4 {
		require.NoError(t, call(e, "r", errBoom))
	}
	for _, r := range snap(t, e, "r").Rules {
		require.Equal(t, "open", r.State, r.ID)
	}
	clk.Advance(6 * time.Second)
	probe := enter(t, e, "r")
	for _, r := range snap(t, e, "r").Rules {
		require.Equal(t, "halfOpen", r.State, r.ID)
	}
	require.ErrorIs(t, call(e, "r", nil), breaker.ErrOpen)
	apply(t, e, breakerRules(bs[5], bs[3], bs[4], bs[2], errorBreaker("new", "r")))
	require.ErrorIs(t, call(e, "r", nil), breaker.ErrOpen)
	probe.Exit(nil)
	for _, r := range snap(t, e, "r").Rules {
		require.Equal(t, "closed", r.State, r.ID)
	}
}

// faults #35: what a breaker refused says nothing about the callee: after an outage of a minute all calls pass again within one open time and
// a window.
func TestRefusedCallsAreNotCounted(t *testing.T) {
	t.Parallel()
	e, clk := newTest(t, breakerRules(errorBreaker("b", "r")))
	const rate = 200
	second := func(err error) (passed int) {
		for range rate {
			if call(e, "r", err) == nil {
				passed++
			}
			clk.Advance(time.Second / rate)
		}
		return passed
	}
	for range 60 {
		second(errBoom)
	}
	for range 5 {
		second(nil)
	}
	for range 10 {
		require.Equal(t, rate, second(nil))
	}
}

// faults #79: the event of a transition says the numbers that decided; transitions balance; totals go on.
func TestTransitionsSayTheirNumbers(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	b := errorBreaker("b", "r")
	b.MinCalls, b.Threshold = 5, 0.4
	e, clk := newTest(t, breakerRules(b), WithObserver(rec.observer()))
	for i := range 5 {
		var err error
		if i >= 3 {
			err = errBoom
		}
		require.NoError(t, call(e, "r", err))
	}
	require.Len(t, rec.breakers, 1)
	tr := rec.breakers[0].Transition
	require.EqualValues(t, 5, tr.Calls)
	require.EqualValues(t, 2, tr.Failures)
	clk.Advance(5 * time.Second)
	require.NoError(t, call(e, "r", nil))
	require.Len(t, rec.breakers, 3)
	for i := 1; i < len(rec.breakers); i++ {
		require.Equal(t, rec.breakers[i-1].Transition.To, rec.breakers[i].Transition.From)
	}
	s := snap(t, e, "r")
	require.EqualValues(t, []int64{6, 4, 2}, []int64{s.Passed, s.Succeeded, s.Failed}, "no transition resets a total")
}

// faults #93: nothing a caller can still see is shared with another call: arguments, entries, errors, checked calls.
func TestCallsSeeOnlyTheirOwn(t *testing.T) {
	t.Parallel()
	seen := make(chan *CheckedCall, 2000)
	e, _ := newTest(t, flowRules(limit("f", "r", 1e6)), WithChecker(stalling{func(c *CheckedCall) error { seen <- c; return nil }}))
	race(func(g int) {
		for i := range 20 {
			args := []any{g*1000 + i}
			ent, err := e.Enter(bg, Request{Resource: "r", Args: args, Origin: fmt.Sprint(g*1000 + i)})
			if err != nil {
				panic(err)
			}
			defer ent.Exit(nil)
		}
	})
	close(seen)
	calls := map[*CheckedCall]bool{}
	for c := range seen {
		require.False(t, calls[c])
		calls[c] = true
		require.Equal(t, c.Request.Origin, fmt.Sprint(c.Request.Args[0]))
	}
	require.Len(t, calls, 20*racers)
}

// Refusals that come before an edit stay in the totals from the very moment of the edit.
func TestTotalsNeverGoBackAtAnEdit(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, flowRules(limit("f", "r", 0)))
	for range 7 {
		require.Error(t, call(e, "r", nil))
	}
	apply(t, e, Rules{})
	require.EqualValues(t, 7, snap(t, e, "r").Blocked["flow"])
	apply(t, e, flowRules(limit("f", "r", 0)))
	require.EqualValues(t, 7, snap(t, e, "r").Blocked["flow"])
}

// Ten thousand rules on one name compile in a time that does not grow with their square, and all hold.
func TestManyRulesOnOneName(t *testing.T) {
	t.Parallel()
	n := 10_000
	if testing.Short() || raceEnabled {
		n = 1000
	}
	rules := func(lowest float64) Rules {
		var all Rules
		for i := range n {
			all.Flow = append(all.Flow, limit(fmt.Sprint("f", i), "r", lowest+float64((i+n/2)%n)))
			all.Concurrency = append(all.Concurrency, atMost(fmt.Sprint("c", i), "r", 3+i))
			all.Breaker = append(all.Breaker, errorBreaker(fmt.Sprint("b", i), "r"))
		}
		return all
	}
	e, _ := newTest(t, rules(5))
	require.Equal(t, 5, passes(e, "r", 7))
	apply(t, e, rules(6))
	require.Equal(t, 1, passes(e, "r", 3))
	apply(t, e, rules(50))
	require.Equal(t, 3, heldAtOnce(e, "r"))
	require.Len(t, snap(t, e, "r").Rules, 3*n)
}

// Thousands of patterns are matched once per name and version, not per call.
func TestManyRegexRules(t *testing.T) {
	t.Parallel()
	n := 3000
	if testing.Short() || raceEnabled {
		n = 300
	}
	var all Rules
	for i := range n {
		all.Flow = append(all.Flow, flow.Rule{ID: fmt.Sprint("f", i), Resource: rule.Regex(fmt.Sprintf("/(a|b)/%d/.*", i)), Limit: float64(1 + i)})
	}
	e, _ := newTest(t, all)
	require.Equal(t, 8, passes(e, "/b/7/x", 20))
	require.Equal(t, n, passes(e, fmt.Sprintf("/a/%d/x", n-1), n+5))
	require.Equal(t, 20, passes(e, "/c/7/x", 20))
}

// Calls, edits of every kind, watches that come and go, forced breakers and snapshots race; afterwards nothing is in flight and every limit is what its
// rule says.
func TestEverythingRaces(t *testing.T) {
	t.Parallel()
	version := func(i int) Rules {
		c := atMost("c", "r", 4)
		switch i % 6 {
		case 1:
			c.MaxWait, c.Queue = time.Minute, 2
		case 2:
			c.Shadow = true
		case 3:
			c.Shared = true
		case 4:
			c.Origin = "other"
		case 5:
			return Rules{}
		}
		f, b := limit("f", "r", 1e6), errorBreaker("b", "r")
		f.Mode = []flow.Mode{flow.Reject, flow.Smooth, flow.WarmUp}[i%3]
		b.Shadow, b.Shared = i%4 == 1, i%5 == 1
		return Rules{Flow: []flow.Rule{f}, Concurrency: []flow.ConcurrencyRule{c}, Breaker: []breaker.Rule{b}}
	}
	e, clk := newTest(t, version(0), WithObserver(Observer{Block: func(BlockEvent) {}}))
	rounds := 150
	if testing.Short() {
		rounds = 30
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				ent, err := e.Enter(bg, Request{Resource: "r", Origin: fmt.Sprint(g % 3)})
				if err != nil {
					yield()
					continue
				}
				yield()
				err = []error{nil, errBoom}[g/7]
				ent.Exit(&err)
			}
		})
	}
	wg.Go(func() {
		for i := range rounds {
			w, _ := e.Watch(bg, newFake(fmt.Sprint("w", i%3)), Native, FirstWithin(0))
			e.ForceBreaker("r", "", breaker.Disabled)
			e.Snapshot()
			w.Close()
			e.ForceBreaker("r", "", breaker.Closed)
		}
	})
	for i := range rounds {
		apply(t, e, version(i))
		clk.Advance(time.Second)
		yield()
	}
	close(stop)
	apply(t, e, bulkRules(atMost("c", "r", 4)))
	wg.Wait()
	require.Zero(t, snap(t, e, "r").InFlight)
	require.Equal(t, 4, heldAtOnce(e, "r"))
	require.Len(t, e.Snapshot().Sources, 3, "watches that ended make room for those of the same name")
}
