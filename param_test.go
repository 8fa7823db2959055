package cordon

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

func paramRules(rs ...paramflow.Rule) Rules { return Rules{Param: rs} }

// perValue limits calls of one value of the first argument.
func perValue(id, resource string, n float64) paramflow.Rule {
	return paramflow.Rule{ID: id, Resource: rule.Name(resource), Param: "arg[0]", Limit: n}
}

// valuesInFlight limits what is in flight of one value of the first argument.
func valuesInFlight(id, resource string, n float64) paramflow.Rule {
	r := perValue(id, resource, n)
	r.Mode = paramflow.Concurrency
	return r
}

// enterWith enters with arguments.
func enterWith(e *Engine, resource string, args ...any) (*Entry, error) {
	ent, err := e.Enter(bg, Request{Resource: resource, Args: args})
	return &ent, err
}

// with makes one call with arguments, and returns what Enter said.
func with(e *Engine, resource string, args ...any) error {
	ent, err := enterWith(e, resource, args...)
	ent.Exit(nil)
	return err
}

// passesWith makes n calls with one argument at once and returns how many were admitted.
func passesWith(e *Engine, resource string, n int, arg any) (admitted int) {
	for range n {
		if with(e, resource, arg) == nil {
			admitted++
		}
	}
	return admitted
}

// holdsWith enters with one argument as often as admitted, ends all, and returns how many were in flight at once.
func holdsWith(e *Engine, resource string, arg any) (n int) {
	for {
		ent, err := enterWith(e, resource, arg)
		if err != nil {
			return n
		}
		defer ent.End(Success)
		n++
	}
}

func TestParamLimitsEachValue(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	r := perValue("users", "r", 2)
	r.Overrides = []paramflow.Override{{Value: "vip", Limit: 5}, {Value: "7", Limit: 0}}
	e, clk := newTest(t, paramRules(r), WithObserver(rec.observer()))
	require.Equal(t, 2, passesWith(e, "r", 5, "a"))
	require.Equal(t, 2, passesWith(e, "r", 5, "b"))
	require.Equal(t, 5, passesWith(e, "r", 9, "vip"))
	require.Equal(t, 0, passesWith(e, "r", 3, 7), "7 and \"7\" are one value")
	require.NoError(t, with(e, "r"), "a call without the value passes")

	err := with(e, "r", "a")
	var b *BlockedError
	require.ErrorAs(t, err, &b)
	require.ErrorIs(t, err, ErrBlocked)
	require.ErrorIs(t, err, paramflow.ErrLimited)
	require.Equal(t, KindParam, b.Kind)
	require.Equal(t, "users", b.RuleID)
	require.Equal(t, "r", b.Resource)
	require.EqualValues(t, 2, b.Limit)
	require.Equal(t, 500*time.Millisecond, b.RetryAfter)
	require.EqualError(t, err, `cordon: param rule "users" blocked "r": limit of the value exceeded (limit 2), retry after 500ms`)
	require.ErrorAs(t, with(e, "r", "vip"), &b)
	require.EqualValues(t, 5, b.Limit, "the limit of the value")
	require.ErrorContains(t, with(e, "r", 7), "(limit 0), which waiting cannot change")
	values := []string{}
	for _, ev := range rec.blocks[len(rec.blocks)-3:] {
		values = append(values, ev.Value())
	}
	require.Equal(t, []string{"a", "vip", "7"}, values)

	clk.Advance(500 * time.Millisecond)
	require.Equal(t, 1, passesWith(e, "r", 3, "a"))
	s := snap(t, e, "r")
	require.EqualValues(t, 11, s.Passed)
	require.Equal(t, map[string]int64{"param": s.Rules[0].Blocked}, s.Blocked)
	require.Equal(t, "param", s.Rules[0].Kind)
	require.EqualValues(t, 2, s.Rules[0].Limit)
	p := s.Rules[0].Param
	require.Equal(t, "arg[0]", p.Param)
	require.EqualValues(t, 1, p.Absent)
	require.EqualValues(t, 10, p.Passed)
	require.Equal(t, s.Rules[0].Blocked, p.Refused)
	require.Equal(t, "vip", p.Top[0].Value)
	data, err := json.Marshal(s)
	require.NoError(t, err)
	require.Contains(t, string(data), `"param":{"top":[{"value":"vip","passed":5,`)
}

func TestParamCountsCost(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, Rules{Param: []paramflow.Rule{perValue("rate", "r", 10), valuesInFlight("places", "r", 5)}})
	ent, err := e.Enter(bg, Request{Resource: "r", Args: []any{"a"}, Cost: 4})
	require.NoError(t, err)
	var b *BlockedError
	_, err = e.Enter(bg, Request{Resource: "r", Args: []any{"a"}, Cost: 2})
	require.ErrorAs(t, err, &b)
	require.Equal(t, "places", b.RuleID)
	require.EqualValues(t, 4, snap(t, e, "r").Rules[0].Usage)
	ent.End(Success)
	require.Zero(t, snap(t, e, "r").Rules[0].Usage)
	for range 2 { // 6 of 10 are left: what the places refused took nothing
		ent, err = e.Enter(bg, Request{Resource: "r", Args: []any{"a"}, Cost: 3})
		require.NoError(t, err)
		ent.End(Success)
	}
	require.ErrorAs(t, with(e, "r", "a"), &b)
	require.Equal(t, "rate", b.RuleID)
	_, err = e.Enter(bg, Request{Resource: "r", Args: []any{"b"}, Cost: 6})
	require.ErrorAs(t, err, &b)
	require.Negative(t, b.RetryAfter, "a cost above the limit never passes")
}

// What is in flight of a value is ended with the call, however that ends, and once.
func TestParamConcurrencyEndsWithTheCall(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, paramRules(valuesInFlight("p", "r", 3), valuesInFlight("q", "r", 2)))
	for range 3 {
		require.Equal(t, 2, holdsWith(e, "r", "a"))
	}
	ent, err := enterWith(e, "r", "a")
	require.NoError(t, err)
	require.Equal(t, 1, holdsWith(e, "r", "a"))
	require.Equal(t, 2, holdsWith(e, "r", "b"))
	ent.End(Failure)
	ent.End(Success)
	require.Equal(t, 2, holdsWith(e, "r", "a"))
	func() {
		defer func() { require.NotNil(t, recover()) }()
		ent, _ := enterWith(e, "r", "a")
		defer ent.Exit(nil)
		panic("at work")
	}()
	require.Equal(t, 2, holdsWith(e, "r", "a"))
	require.Zero(t, snap(t, e, "r").InFlight)
}

// A call of several values needs a place for each of them; a refusal gives back those of before.
func TestParamOfSeveralValues(t *testing.T) {
	t.Parallel()
	r := perValue("skus", "r", 3)
	r.Param = "arg[0][*]"
	places := valuesInFlight("places", "r", 2)
	places.Param = r.Param
	trial := r
	trial.ID, trial.Resource, trial.Shadow = "trial", rule.Name("shadow"), true
	e, _ := newTest(t, paramRules(r, places, trial))
	require.NoError(t, with(e, "r", []string{"a", "b", "a"}), "each value counts once")
	require.NoError(t, with(e, "r", []string{"b"}))
	require.NoError(t, with(e, "r", []string{"b"}))
	for range 5 {
		require.ErrorIs(t, with(e, "r", []string{"a", "c", "b"}), paramflow.ErrLimited)
	}
	require.Equal(t, 2, passesWith(e, "r", 5, []string{"a"}), "refused calls took nothing of a")
	require.Equal(t, 3, passesWith(e, "r", 5, []string{"c"}))
	require.Equal(t, 2, holdsWith(e, "r", []string{"d", "e"}))
	require.Zero(t, snap(t, e, "r").Rules[0].Usage)

	require.Equal(t, 9, passesWith(e, "shadow", 9, []string{"b"}))
	require.Equal(t, 9, passesWith(e, "shadow", 9, []string{"a", "b"}))
	require.Equal(t, map[string]int64{"param": 6 + 9}, snap(t, e, "shadow").Shadow)
	require.Equal(t, 3, passesWith(e, "shadow", 3, []string{"a"}))
	require.Equal(t, map[string]int64{"param": 6 + 9}, snap(t, e, "shadow").Shadow, "what it would have refused took nothing of a")
}

// The ninth value of a call is no other than the first.
func TestParamOfManyValues(t *testing.T) {
	t.Parallel()
	r := perValue("p", "r", 1)
	r.Param = "arg[*]"
	r.Overrides = []paramflow.Override{{Value: paramflow.FurtherValue, Limit: 2}}
	e, _ := newTest(t, paramRules(r))
	list := func(from, n int) (all []any) {
		for i := range n {
			all = append(all, from+i)
		}
		return all
	}
	require.NoError(t, with(e, "r", list(0, 100)...))
	require.Error(t, with(e, "r", 99))
	require.NoError(t, with(e, "r", 100))
	// Beyond what is looked at all calls share one value, so that nobody hides behind a crowd.
	require.NoError(t, with(e, "r", list(10_000, 2000)...))
	require.NoError(t, with(e, "r", list(20_000, 2000)...))
	require.Error(t, with(e, "r", list(30_000, 2000)...))
	require.EqualValues(t, 3, snap(t, e, "r").Rules[0].Param.Overfull)
	require.NoError(t, with(e, "r", 30_000), "the refused call gave all back")
}

func TestParamAbsent(t *testing.T) {
	t.Parallel()
	r := perValue("p", "r", 2)
	r.Absent = paramflow.Count
	named := perValue("named", "s", 2)
	named.Absent, named.Overrides = paramflow.Count, []paramflow.Override{{Value: paramflow.AbsentValue, Limit: 1}}
	e, _ := newTest(t, paramRules(r, named, perValue("pass", "q", 0)))
	for _, args := range [][]any{nil, {nil}, {(*int)(nil)}} { // all of them without the value: one value of their own
		if err := with(e, "r", args...); err != nil {
			require.ErrorIs(t, err, ErrBlocked)
		}
	}
	require.Equal(t, 2, passesWith(e, "r", 2, "a"))
	require.EqualValues(t, 1, snap(t, e, "r").Blocked["param"])
	require.NoError(t, call(e, "s", nil))
	require.Error(t, call(e, "s", nil), "an override may name it")
	h := e.Resource("q")
	ent, err := h.Enter(bg)
	require.NoError(t, err, "a handle without a request has no values")
	ent.Exit(nil)
	require.EqualValues(t, 1, snap(t, e, "q").Rules[0].Param.Absent)
}

// Of one param the most specific rules apply; rules on different params never override each other.
func TestParamLayers(t *testing.T) {
	t.Parallel()
	by := func(id, param string, m rule.Match, n float64) paramflow.Rule {
		return paramflow.Rule{ID: id, Resource: m, Param: param, Limit: n}
	}
	also := by("also", "arg[0]", rule.Wildcard("r*"), 20)
	also.Also = true
	e, _ := newTest(t, paramRules(
		by("all", "arg[0]", rule.Default(), 3), by("origins", "origin", rule.Default(), 6), by("named", "arg[0]", rule.Name("r1"), 5), also,
		by("seconds", "arg[1]", rule.Name("r1"), 7), by("methods", "method", rule.Regex("q.*"), 1),
	))
	ids := func(name string) (all []string) {
		call(e, name, nil)
		for _, r := range snap(t, e, name).Rules {
			all = append(all, r.ID)
		}
		return all
	}
	require.Equal(t, []string{"origins", "named", "also", "seconds"}, ids("r1"))
	require.Equal(t, []string{"all", "origins", "also"}, ids("r2"))
	require.Equal(t, []string{"all", "origins"}, ids("x"))
	require.Equal(t, []string{"all", "origins", "methods"}, ids("q"))
	require.Equal(t, 5, passesWith(e, "r1", 9, "a"))
	require.Equal(t, 3, passesWith(e, "r2", 9, "a"))
	require.Equal(t, 3, passesWith(e, "x", 9, "a"), "each has its own budget")
	ent, err := e.Enter(bg, Request{Resource: "q", Method: "GET", Origin: "web"})
	require.NoError(t, err)
	ent.Exit(nil)
	_, err = e.Enter(bg, Request{Resource: "q", Method: "GET"})
	require.Error(t, err)
	_, err = e.Enter(bg, Request{Resource: "q", Method: "PUT"})
	require.NoError(t, err)
	require.Len(t, e.Rules().Param, 6)
}

func TestParamOrigins(t *testing.T) {
	t.Parallel()
	web, other := perValue("web", "r", 3), perValue("other", "r", 1)
	web.Origin, other.Origin = "web", "other"
	other.Values = 100
	e, clk := newTest(t, paramRules(web, other))
	pass := func(origin string, n int) (admitted int) {
		for range n {
			if ent, err := e.Enter(bg, Request{Resource: "r", Origin: origin, Args: []any{"a"}}); err == nil {
				ent.Exit(nil)
				admitted++
			}
		}
		return admitted
	}
	require.Equal(t, 3, pass("web", 5))
	require.Equal(t, 1, pass("app", 5))
	require.Equal(t, 1, pass("job", 5))
	require.Equal(t, 5, pass("", 5), "nobody's call is none of the others'")
	all := 0
	for i := range 500 {
		all += pass("made up "+strconv.Itoa(i), 2)
	}
	require.Equal(t, mostParamCallers-2+1, all, "those beyond the bound share one budget")
	p := snap(t, e, "r").Rules[1].Param
	require.EqualValues(t, 2+all, p.Passed)
	require.Less(t, p.Bytes, 2<<20)
	other.Limit = 2
	apply(t, e, paramRules(web, other))
	require.Zero(t, pass("app", 1), "its burst is spent")
	clk.Advance(time.Hour)
	require.Equal(t, 2, pass("app", 5))
	require.True(t, e.Resource("r").r.table.Load().idle(clk.Now()+time.Hour))
	require.False(t, e.Resource("r").r.table.Load().idle(clk.Now()))
}

func TestParamShared(t *testing.T) {
	t.Parallel()
	r := paramflow.Rule{ID: "p", Resource: rule.Wildcard("r*"), Param: "arg[0]", Limit: 3, Shared: true}
	rec := &recorder{}
	e, _ := newTest(t, paramRules(r), WithObserver(rec.observer()))
	require.Equal(t, 2, passesWith(e, "r1", 2, "a"))
	require.Equal(t, 1, passesWith(e, "r2", 2, "a"))
	require.Equal(t, 3, passesWith(e, "r2", 5, "b"))
	r.Limit = 2
	apply(t, e, paramRules(r))
	require.Zero(t, passesWith(e, "r3", 2, "a"), "an edit keeps what is spent, for resources that are new too")
	require.Equal(t, "r3", rec.blocks[len(rec.blocks)-1].Err.Resource)
	require.Equal(t, snap(t, e, "r1").Rules[0].Param, snap(t, e, "r3").Rules[0].Param)
}

// faults #87, #86 and #11: waiting comes last, so that places and rates hold, whatever waits behind them.
func TestParamPaceWaitsLast(t *testing.T) {
	t.Parallel()
	turns := paramflow.Rule{ID: "turns", Resource: rule.Name("r"), Param: "arg[0]", Mode: paramflow.Pace, Limit: 1000, MaxWait: time.Minute}
	e, err := New(WithRules(Rules{
		Concurrency: []flow.ConcurrencyRule{atMost("places", "r", 10)},
		Flow:        []flow.Rule{{ID: "rate", Resource: rule.Name("r"), Limit: 40, Per: time.Hour}},
		Param:       []paramflow.Rule{turns, valuesInFlight("of one", "r", 3)},
	}), WithChecker(slowChecker{}))
	require.NoError(t, err)
	defer e.Close()
	var running, ran, most atomic.Int64
	var of [4]atomic.Int64
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			v := i % len(of)
			ent, err := enterWith(e, "r", v)
			if err != nil {
				return
			}
			ran.Add(1)
			for n := running.Add(1); n > most.Load(); {
				most.Store(n)
			}
			if of[v].Add(1) > 3 {
				t.Error("more than 3 of one value")
			}
			time.Sleep(2 * time.Millisecond)
			of[v].Add(-1)
			running.Add(-1)
			ent.Exit(nil)
		})
	}
	wg.Wait()
	require.LessOrEqual(t, most.Load(), int64(10))
	require.LessOrEqual(t, ran.Load(), int64(40))
	require.Positive(t, ran.Load())
	s := snap(t, e, "r")
	require.Zero(t, s.InFlight)
	for _, r := range s.Rules {
		if r.Kind != "flow" {
			require.Zero(t, r.Usage, r.ID)
		}
	}
}

// slowChecker is a check of one's own that takes a while.
type slowChecker struct{}

func (slowChecker) Name() string                                    { return "slow" }
func (slowChecker) Check(*CheckedCall) error                        { time.Sleep(2 * time.Millisecond); return nil }
func (slowChecker) Done(*CheckedCall, Outcome, time.Duration, bool) {}

// Turns of a pace and of a pace by value pass together, and a caller who gives up gives them back.
func TestParamPace(t *testing.T) {
	t.Parallel()
	turns := paramflow.Rule{ID: "turns", Resource: rule.Name("r"), Param: "arg[0]", Mode: paramflow.Pace, Limit: 10, MaxWait: 250 * time.Millisecond}
	e, clk := newTest(t, Rules{
		Flow: []flow.Rule{{ID: "pace", Resource: rule.Name("r"), Mode: flow.Pace, Limit: 1000, MaxWait: time.Second}}, Param: []paramflow.Rule{turns},
	})
	require.NoError(t, with(e, "r", "a"))
	wait := func(ctx context.Context, value string) chan error {
		done := make(chan error, 1)
		go func() {
			ent, err := e.Enter(ctx, Request{Resource: "r", Args: []any{value}})
			ent.Exit(nil)
			done <- err
		}()
		clk.BlockUntil(1)
		return done
	}
	done := wait(bg, "a")
	clk.Advance(99 * time.Millisecond)
	require.Empty(t, done)
	clk.Advance(time.Millisecond)
	require.NoError(t, <-done)

	ctx, cancel := context.WithCancel(bg)
	done = wait(ctx, "a")
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	done = wait(bg, "a") // the turn was given back
	clk.Advance(100 * time.Millisecond)
	require.NoError(t, <-done)
	require.EqualValues(t, 1, snap(t, e, "r").GaveUp)

	turns.Shadow = true
	apply(t, e, Rules{Param: []paramflow.Rule{turns}})
	require.Equal(t, 9, passesWith(e, "r", 9, "a"), "in shadow nobody waits")
}

// What a breaker, a rate or a checker refuses takes nothing of a value, and what a value's limit refuses takes nothing of them.
func TestParamGivesBack(t *testing.T) {
	t.Parallel()
	refuse := &toggleChecker{}
	probing := errorBreaker("b", "r")
	e, clk := newTest(t, Rules{
		Breaker: []breaker.Rule{probing},
		Flow:    []flow.Rule{limit("f", "r", 4)},
		Param:   []paramflow.Rule{perValue("p", "r", 2), valuesInFlight("c", "r", 1)},
	}, WithChecker(refuse))
	refuse.on.Store(true)
	for range 5 {
		require.ErrorIs(t, with(e, "r", "a"), errBoom)
	}
	refuse.on.Store(false)
	require.Equal(t, 2, passesWith(e, "r", 5, "a"))
	require.Equal(t, 2, passesWith(e, "r", 5, "b"), "what was refused for a took nothing of the rate")
	require.Equal(t, 0, passesWith(e, "r", 1, "c"))
	clk.Advance(time.Second)
	for range 4 {
		ent, err := enterWith(e, "r", clk.Now())
		require.NoError(t, err)
		ent.End(Failure)
		clk.Advance(time.Second)
	}
	require.Equal(t, "open", snap(t, e, "r").Rules[0].State)
	clk.Advance(5 * time.Second)
	held, err := enterWith(e, "r", "probe")
	require.NoError(t, err)
	require.Equal(t, "halfOpen", snap(t, e, "r").Rules[0].State)
	held.End(Success)
}

// toggleChecker refuses while it is on.
type toggleChecker struct{ on atomic.Bool }

func (c *toggleChecker) Name() string { return "toggle" }
func (c *toggleChecker) Check(*CheckedCall) error {
	if c.on.Load() {
		return errBoom
	}
	return nil
}
func (c *toggleChecker) Done(*CheckedCall, Outcome, time.Duration, bool) {}

// Law 1, faults #11, #52, #56 and #92: no value passes its limit by a single call, however many race and whatever else comes by, from the first sight of it on.
func TestParamIsExactUnderRace(t *testing.T) {
	t.Parallel()
	const workers, calls, limit = 16, 300, 7
	rate := perValue("rate", "r", limit)
	rate.Per, rate.Values = time.Hour, 100 // far fewer than come by
	e, _ := newTest(t, Rules{Param: []paramflow.Rule{rate, valuesInFlight("places", "r", 2)}})
	var passed, inFlight [4]atomic.Int64
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range calls {
				hot := (i + w) % len(passed)
				if ent, err := enterWith(e, "r", "hot"+strconv.Itoa(hot)); err == nil {
					if inFlight[hot].Add(1) > 2 {
						t.Error("more than two in flight of one value")
					}
					passed[hot].Add(1)
					inFlight[hot].Add(-1)
					ent.Exit(nil)
				}
				with(e, "r", w<<20|i) // a value that nobody has seen
			}
		})
	}
	wg.Wait()
	for i := range passed {
		require.LessOrEqual(t, passed[i].Load(), int64(limit))
		require.Positive(t, passed[i].Load())
	}
	s := snap(t, e, "r")
	require.Zero(t, s.Rules[0].Usage)
	require.Zero(t, s.Rules[0].Param.Values)
	require.Zero(t, s.InFlight)
}

// faults #52: cold values do not push out a hot one. faults #55: the key is the value, not the object that it is in, and memory does not grow with either.
func TestParamChurn(t *testing.T) {
	t.Parallel()
	type order struct {
		ID   int
		User struct{ Name string }
		Text string
	}
	r := paramflow.Rule{ID: "p", Resource: rule.Name("r"), Param: "arg[0].User.Name", Limit: 1, Per: 100 * time.Second, Values: 1000}
	e, clk := newTest(t, paramRules(r))
	hot, passed := order{Text: "long"}, 0
	hot.User.Name = "hot"
	for i := range 20_000 {
		hot.ID = i
		if with(e, "r", &hot) == nil {
			passed++
		}
		cold := order{ID: i}
		cold.User.Name = "cold" + strconv.Itoa(i)
		with(e, "r", cold)
		clk.Advance(time.Millisecond)
	}
	require.Equal(t, 1, passed)
	p := snap(t, e, "r").Rules[0].Param
	require.Equal(t, "hot", p.Top[0].Value)
	require.EqualValues(t, 19_999, p.Top[0].Refused)
	require.Less(t, p.Bytes, 512<<10)
}

func TestParamPressure(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	r := perValue("p", "r", 1)
	r.Values, r.Per = 100, 10*time.Second
	shadowed := r
	shadowed.ID, shadowed.Resource, shadowed.Shared, shadowed.Shadow = "s", rule.Wildcard("s*"), true, true
	e, clk := newTest(t, paramRules(r, shadowed), WithObserver(rec.observer()))
	flood := func(resource string, n int) {
		for i := range n {
			with(e, resource, i)
		}
	}
	flood("r", 10)
	clk.Advance(time.Second)
	flood("r", 20_000)
	clk.Advance(time.Second)
	with(e, "r", "a")
	require.Len(t, rec.params, 1)
	ev := rec.params[0]
	require.True(t, ev.Crowded)
	require.Greater(t, ev.Pressure, 0.7)
	require.Equal(t, "r", ev.Resource)
	require.Equal(t, "p", ev.RuleID)
	require.False(t, ev.Shadow)
	require.Equal(t, clk.Wall(clk.Now()), ev.Time)
	require.True(t, snap(t, e, "r").Rules[0].Param.Crowded)
	clk.Advance(500 * time.Millisecond)
	with(e, "r", "a")
	require.Len(t, rec.params, 1, "once, and not looked for all the time")
	clk.Advance(time.Hour)
	with(e, "r", "a")
	require.Len(t, rec.params, 2)
	require.False(t, rec.params[1].Crowded)
	require.Less(t, rec.params[1].Pressure, 0.5)

	flood("s1", 20_000)
	clk.Advance(time.Second)
	with(e, "s2", "a")
	with(e, "s1", "a")
	require.Len(t, rec.params, 3, "of a shared budget by one of its resources")
	require.Equal(t, sharedName, rec.params[2].Resource)
	require.True(t, rec.params[2].Shadow)
}

// A call that waits in a queue tells nobody's turn wrong: time goes on while it waits.
func TestParamPaceBehindQueue(t *testing.T) {
	t.Parallel()
	turns := paramflow.Rule{ID: "turns", Resource: rule.Name("r"), Param: "arg[0]", Mode: paramflow.Pace, Limit: 10, MaxWait: time.Minute}
	queue := atMost("q", "r", 1)
	queue.MaxWait = time.Minute
	e, clk := newTest(t, Rules{Concurrency: []flow.ConcurrencyRule{queue}, Param: []paramflow.Rule{turns}})
	first, err := enterWith(e, "r", "a")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- with(e, "r", "a") }()
	clk.BlockUntil(1)
	clk.Advance(time.Second)
	first.Exit(nil)
	require.NoError(t, <-done, "a turn is due at once")
}
