package cordon

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

func nop(context.Context) error { return nil }

func yield()              { runtime.Gosched() }
func sprint(v any) string { return fmt.Sprint(v) }

// faults #27: edits at one instant give no new budget, in any mode.
func TestEditsForgetNothing(t *testing.T) {
	t.Parallel()
	for _, r := range []flow.Rule{
		{Limit: 10},
		{Limit: 10, Mode: flow.Smooth, Burst: 10},
		{Limit: 10, Mode: flow.Pace},
		{Limit: 10, Mode: flow.WarmUp, WarmUp: 10 * time.Second},
	} {
		r.ID, r.Resource = "f", rule.Name("r")
		e, _ := newTest(t, flowRules(r))
		admitted := passes(e, "r", 50)
		for i := range 20 {
			r.Also = i%2 == 0 // an edit, though not of the budget
			rep := apply(t, e, flowRules(r))
			require.Len(t, rep.Changed, 1)
			require.Equal(t, []string{"also"}, rep.Changed[0].Fields)
			require.Zero(t, passes(e, "r", 50), "%v", r.Mode)
		}
		r.Limit = 12
		apply(t, e, flowRules(r))
		require.LessOrEqual(t, admitted+passes(e, "r", 50), 12, "%v", r.Mode)
	}
}

// faults #38: an edit never closes a breaker.
func TestEditKeepsBreakerOpen(t *testing.T) {
	t.Parallel()
	b := errorBreaker("b", "r")
	rec := &recorder{}
	e, clk := newTest(t, breakerRules(b), WithObserver(rec.observer()))
	for range 4 {
		call(e, "r", errBoom)
	}
	clk.Advance(3 * time.Second)
	b.MinCalls, b.Threshold = 20, 0.9
	apply(t, e, breakerRules(b, errorBreaker("unrelated", "s")))
	require.ErrorIs(t, call(e, "r", nil), breaker.ErrOpen)
	clk.Advance(1999 * time.Millisecond)
	require.ErrorIs(t, call(e, "r", nil), breaker.ErrOpen)
	clk.Advance(time.Millisecond)
	require.NoError(t, call(e, "r", nil), "its timer ran on")
	require.Len(t, rec.breakers, 3)
}

func TestConcurrencyIsKeptAcrossEdits(t *testing.T) {
	t.Parallel()
	c := atMost("c", "r", 3)
	e, _ := newTest(t, bulkRules(c))
	var held []*Entry
	for range 3 {
		ent, err := e.Enter(bg, Request{Resource: "r"})
		require.NoError(t, err)
		held = append(held, &ent)
	}
	c.Limit = 2
	apply(t, e, bulkRules(c))
	held[0].Exit(nil)
	require.ErrorIs(t, call(e, "r", nil), ErrBlocked, "two are still running")
	held[1].Exit(nil)
	require.NoError(t, call(e, "r", nil))
	held[2].Exit(nil)
	require.Equal(t, 2, heldAtOnce(e, "r"))
}

// A raised limit, and a removed rule, let those go who wait in the queue, though no call comes by.
func TestApplyWakesQueues(t *testing.T) {
	t.Parallel()
	c := atMost("c", "r", 1)
	c.MaxWait, c.Queue = time.Hour, 10
	e, _ := newTest(t, bulkRules(c))
	ent, err := e.Enter(bg, Request{Resource: "r"})
	require.NoError(t, err)
	admitted := make(chan Entry, 4)
	for range 4 {
		go func() {
			w, err := e.Enter(bg, Request{Resource: "r"})
			if err == nil {
				admitted <- w
			}
		}()
	}
	require.Eventually(t, func() bool { return snap(t, e, "r").Rules[0].Queued == 4 }, 10*time.Second, time.Millisecond)
	c.Limit = 3
	apply(t, e, bulkRules(c))
	for range 2 {
		w := <-admitted
		defer w.Exit(nil)
	}
	apply(t, e, Rules{})
	for range 2 {
		w := <-admitted
		defer w.Exit(nil)
	}
	ent.Exit(nil)
}

// faults #73: calls and updates race; a call sees the old rules or the new ones, and no limit is passed.
func TestApplyRacesWithCalls(t *testing.T) {
	t.Parallel()
	rules := func(i int) Rules {
		f, c, b := limit("f", "r", 1000), atMost("c", "r", 8), errorBreaker("b", "r")
		f.Also, c.Also, b.MinCalls = i%2 == 0, i%3 == 0, 4+i%5
		f.Limit = float64(1000 - i%2) // the bound of all versions is 1000
		all := Rules{Flow: []flow.Rule{f}, Concurrency: []flow.ConcurrencyRule{c}, Breaker: []breaker.Rule{b}}
		for j := range i % 4 {
			all.Flow = append(all.Flow, flow.Rule{ID: fmt.Sprint("x", j), Resource: rule.Wildcard("r*"), Limit: 2000, Also: true})
		}
		return all
	}
	e, clk := newTest(t, rules(0))
	require.NoError(t, call(e, "r", nil))
	var admitted, running atomic.Int64
	admitted.Add(1)
	var over atomic.Bool
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				ent, err := e.Enter(bg, Request{Resource: "r"})
				if err != nil {
					yield()
					continue
				}
				admitted.Add(1)
				if running.Add(1) > 8 {
					over.Store(true)
				}
				yield()
				running.Add(-1)
				ent.Exit(nil)
			}
		})
	}
	updates := 400
	if testing.Short() {
		updates = 100
	}
	for i := range updates {
		apply(t, e, rules(i))
		if i%10 == 0 {
			e.Snapshot()
		}
	}
	close(stop)
	wg.Wait()
	require.False(t, over.Load(), "more than 8 at once")
	require.LessOrEqual(t, admitted.Load(), int64(1000), "time stood still: one interval")
	require.Zero(t, snap(t, e, "r").InFlight)
	clk.Advance(time.Second)
	require.Equal(t, 8, heldAtOnce(e, "r"))
}

func TestApplyRefusesAsAWhole(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	e, _ := newTest(t, flowRules(limit("f", "r", 1)), WithObserver(rec.observer()))
	rep, err := e.Apply(Rules{Flow: []flow.Rule{limit("f", "r", 5), limit("g", "s", -5), {ID: "h", Limit: 1}}})
	var problems rule.Problems
	require.ErrorAs(t, err, &problems)
	require.False(t, rep.Applied)
	require.GreaterOrEqual(t, len(problems), 2)
	require.Equal(t, "flow", problems[0].Kind)
	require.Equal(t, "g", problems[0].RuleID)
	require.Equal(t, "limit", problems[0].Field)
	require.Equal(t, 1, passes(e, "r", 5), "the old rules stay")
	_, err = e.Apply(flowRules(limit("f", "r", 5), limit("f", "s", 5)))
	require.ErrorContains(t, err, "f")
	require.Len(t, rec.reports, 3)

	// faults #94: a bad pattern is refused at load, and hurts no other resource
	_, err = e.Apply(flowRules(flow.Rule{ID: "bad", Resource: rule.Regex("^/api/("), Limit: 1}))
	require.ErrorContains(t, err, "bad")
	require.ErrorIs(t, call(e, "r", nil), ErrBlocked)
}

func TestReports(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	e, _ := newTest(t, Rules{}, WithObserver(rec.observer()))
	rep := apply(t, e, flowRules(limit("a", "r", 1), limit("", "s", 2)))
	require.Len(t, rep.Added, 2)
	derived := rep.Added[1].ID
	require.NotEmpty(t, derived)
	rules := e.Rules()
	require.Equal(t, derived, rules.Flow[1].ID)
	rules.Flow[0].Limit = 99 // a copy
	require.EqualValues(t, 1, e.Rules().Flow[0].Limit)
	rep = apply(t, e, flowRules(limit("", "s", 3), limit("c", "t", 1)))
	require.Equal(t, []rule.Change{{Kind: "flow", ID: "c"}}, rep.Added)
	require.Equal(t, []rule.Change{{Kind: "flow", ID: derived, Fields: []string{"limit"}}}, rep.Changed)
	require.Equal(t, []rule.Change{{Kind: "flow", ID: "a"}}, rep.Removed)
	require.Len(t, rec.reports, 2)
}

// faults #9: the exact rule overrides the pattern; faults #8: every matched resource has its own budget.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, flowRules(
		flow.Rule{ID: "default", Resource: rule.Default(), Limit: 1},
		flow.Rule{ID: "wild", Resource: rule.Wildcard("/api/*"), Limit: 10},
		flow.Rule{ID: "regex", Resource: rule.Regex("/v[0-9]+/.*"), Limit: 20},
		limit("exact", "/api/orders", 100),
	))
	require.Equal(t, 100, passes(e, "/api/orders", 200))
	require.Equal(t, 10, passes(e, "/api/users", 200))
	require.Equal(t, 10, passes(e, "/api/items", 200))
	require.Equal(t, 20, passes(e, "/v1/x", 200))
	require.Equal(t, 20, passes(e, "/v2/x", 200))
	require.Equal(t, 1, passes(e, "else", 200))
}

func TestSharedBudget(t *testing.T) {
	t.Parallel()
	f := flow.Rule{ID: "f", Resource: rule.Wildcard("a*"), Limit: 10, Shared: true}
	c := flow.ConcurrencyRule{ID: "c", Resource: rule.Wildcard("c*"), Limit: 2, Shared: true}
	b := errorBreaker("b", "")
	b.Resource, b.Shared = rule.Wildcard("b*"), true
	all := Rules{Flow: []flow.Rule{f}, Concurrency: []flow.ConcurrencyRule{c}, Breaker: []breaker.Rule{b}}
	e, _ := newTest(t, all)
	require.Equal(t, 6, passes(e, "a1", 6))
	require.Equal(t, 4, passes(e, "a2", 10))
	held, err := e.Enter(bg, Request{Resource: "c1", Cost: 2})
	require.NoError(t, err)
	require.ErrorIs(t, call(e, "c2", nil), ErrBlocked)
	for i := range 4 {
		call(e, fmt.Sprint("b", i%2), errBoom)
	}
	require.ErrorIs(t, call(e, "b9", nil), breaker.ErrOpen)

	all.Flow[0].Limit = 12
	all.Breaker[0].Open = time.Minute
	apply(t, e, all)
	require.Equal(t, 2, passes(e, "a3", 10), "the shared count is kept")
	require.ErrorIs(t, call(e, "c2", nil), ErrBlocked)
	require.ErrorIs(t, call(e, "b9", nil), breaker.ErrOpen)
	held.Exit(nil)
	require.NoError(t, call(e, "c2", nil))
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	web, other, all := limit("web", "r", 5), limit("other", "r", 2), limit("all", "r", 11)
	web.Origin, other.Origin, all.Origin = "web", "other", "default"
	slots := atMost("slots", "r", 1)
	slots.Origin = "other"
	e, _ := newTest(t, Rules{Flow: []flow.Rule{web, other, all}, Concurrency: []flow.ConcurrencyRule{slots}})
	from := func(origin string, n int) (admitted int) {
		for range n {
			if ent, err := e.Enter(bg, Request{Resource: "r", Origin: origin}); err == nil {
				admitted++
				ent.Exit(nil)
			}
		}
		return admitted
	}
	require.Equal(t, 5, from("web", 10))
	require.Equal(t, 2, from("ios", 10), "each other caller has its own budget")
	require.Equal(t, 2, from("android", 10))
	require.Equal(t, 2, from("", 10), "no caller: only the rule for all")
	require.Zero(t, from("tv", 10), "the rule for all is used up")
	a, err := e.Enter(bg, Request{Resource: "s", Origin: "x"})
	require.NoError(t, err)
	a.Exit(nil)

	// edits keep what each caller has used
	other.Limit = 3
	apply(t, e, Rules{Flow: []flow.Rule{web, other}, Concurrency: []flow.ConcurrencyRule{slots}})
	require.Equal(t, 1, from("ios", 10))
	require.Equal(t, 3, from("new", 10))
	x, err := e.Enter(bg, Request{Resource: "r", Origin: "slow"})
	require.NoError(t, err)
	_, err = e.Enter(bg, Request{Resource: "r", Origin: "slow"})
	require.ErrorIs(t, err, flow.ErrSaturated)
	y, err := e.Enter(bg, Request{Resource: "r", Origin: "slower"})
	require.NoError(t, err, "concurrency by caller")
	x.Exit(nil)
	y.Exit(nil)
	require.NotZero(t, snap(t, e, "r").Rules)
}

func TestCallersAreBounded(t *testing.T) {
	t.Parallel()
	other := limit("other", "r", 1)
	other.Origin = "other"
	e, clk := newTest(t, flowRules(other))
	for i := range 3 * mostCallers {
		ent, err := e.Enter(bg, Request{Resource: "r", Origin: fmt.Sprint("c", i)})
		if i <= mostCallers {
			require.NoError(t, err)
		} else {
			require.Error(t, err, "the further ones share a budget")
		}
		ent.Exit(nil)
	}
	clk.Advance(10 * time.Second)
	ent, err := e.Enter(bg, Request{Resource: "r", Origin: "late"})
	require.NoError(t, err)
	ent.Exit(nil)
	require.LessOrEqual(t, len(e.resources.get("r").current().checks().rates[0].callers.all()), 3, "those not in use were dropped")
}

func TestUnder(t *testing.T) {
	t.Parallel()
	u := limit("u", "db", 2)
	u.Under = "nightly"
	e, _ := newTest(t, flowRules(u))
	require.Equal(t, 5, passes(e, "db", 5), "not under it")
	under := func(n int) (admitted int) {
		for range n {
			if e.Do(WithEntrance(bg, "nightly"), "db", nop) == nil {
				admitted++
			}
		}
		return
	}
	require.Equal(t, 2, under(5))
	_, err := e.Enter(bg, Request{Resource: "db", Under: "nightly"})
	require.ErrorIs(t, err, ErrBlocked)
	_, err = e.Enter(bg, Request{Resource: "db", Under: "other"})
	require.NoError(t, err)
	// Do marks the outermost resource as the entrance.
	require.ErrorIs(t, e.Do(bg, "nightly", func(ctx context.Context) error {
		return e.Do(ctx, "middle", func(ctx context.Context) error { return e.Do(ctx, "db", nop) })
	}), ErrBlocked)
	require.NoError(t, e.Do(nilContext(), "daily", func(ctx context.Context) error { return e.Do(ctx, "db", nop) }))
}

func TestRelated(t *testing.T) {
	t.Parallel()
	r := limit("r", "read", 3)
	r.Related = "write"
	e, clk := newTest(t, flowRules(r))
	require.Equal(t, 10, passes(e, "read", 10), "its own traffic does not count")
	require.Equal(t, 3, passes(e, "write", 3))
	err := call(e, "read", nil)
	require.ErrorIs(t, err, flow.ErrLimited)
	var b *BlockedError
	require.ErrorAs(t, err, &b)
	require.EqualValues(t, 3, b.Observed)
	require.Equal(t, 5, passes(e, "write", 5), "the other resource itself is not limited")
	apply(t, e, flowRules(r, limit("x", "y", 1)))
	require.ErrorIs(t, call(e, "read", nil), ErrBlocked, "kept across a reload")
	clk.Advance(1100 * time.Millisecond)
	require.NoError(t, call(e, "read", nil))
}

func TestForceBreaker(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, breakerRules(errorBreaker("a", "r"), errorBreaker("b", "r")))
	require.NoError(t, e.ForceBreaker("r", "a", breaker.ForcedOpen))
	require.ErrorIs(t, call(e, "r", nil), breaker.ErrOpen)
	require.NoError(t, e.ForceBreaker("r", "", breaker.Closed))
	require.NoError(t, call(e, "r", nil))
	require.NoError(t, e.ForceBreaker("r", "", breaker.Disabled))
	for range 10 {
		require.NoError(t, call(e, "r", errBoom))
	}
	require.Error(t, e.ForceBreaker("r", "zzz", breaker.ForcedOpen))
	require.Error(t, e.ForceBreaker("r", "a", breaker.HalfOpen))
}
