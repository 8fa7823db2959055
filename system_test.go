package cordon

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/authority"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/system"
)

// fakeMachine is a reader with readings of one's own, below 0 for what is not known.
type fakeMachine struct{ cpu, load atomic.Uint64 }

func newMachine(cpu, load float64) *fakeMachine {
	m := &fakeMachine{}
	m.set(cpu, load)
	return m
}

func (m *fakeMachine) set(cpu, load float64) {
	m.cpu.Store(math.Float64bits(cpu))
	m.load.Store(math.Float64bits(load))
}

func (m *fakeMachine) CPU(time.Duration) (float64, bool) {
	v := math.Float64frombits(m.cpu.Load())
	return v, v >= 0
}

func (m *fakeMachine) Load() (float64, bool) {
	v := math.Float64frombits(m.load.Load())
	return v, v >= 0
}

func systemRules(rs ...system.Rule) Rules { return Rules{System: rs} }

func atOnce(id string, n float64) system.Rule {
	return system.Rule{ID: id, Metric: system.Concurrency, Limit: n}
}

// arrive makes an inbound call to a resource, which goes on.
func arrive(e *Engine, resource string) (Entry, error) {
	return e.Enter(bg, Request{Resource: resource, Inbound: true})
}

// blockedBy returns the id of the system rule that refused, "" for none.
func blockedBy(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	var b *BlockedError
	require.ErrorAs(t, err, &b)
	require.Equal(t, KindSystem, b.Kind)
	require.ErrorIs(t, err, system.ErrOverloaded)
	require.ErrorIs(t, err, ErrBlocked)
	return b.RuleID
}

func TestSystemRulesAreForInboundCalls(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, systemRules(atOnce("two", 2)))
	for range 5 {
		ent, err := e.Enter(bg, Request{Resource: "out"})
		require.NoError(t, err)
		defer ent.Exit(nil)
	}
	a, err := arrive(e, "a")
	require.NoError(t, err)
	b, err := e.Resource("b").EnterWith(bg, Request{Inbound: true})
	require.NoError(t, err)
	_, err = arrive(e, "c")
	require.Equal(t, "two", blockedBy(t, err), "of every resource")
	var refused *BlockedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "c", refused.Resource)
	require.Equal(t, 2.0, refused.Limit)
	require.Equal(t, 2.0, refused.Observed)
	require.Equal(t, `cordon: system rule "two" blocked "c": process overloaded: calls in flight (limit 2, observed 2)`, err.Error())
	_, again := arrive(e, "c")
	require.Same(t, err, again, "a refusal allocates nothing")
	_, err = e.Resource("out").Enter(bg)
	require.NoError(t, err)
	_, err = e.Enter(bg, Request{Resource: "c", Inbound: true, Cost: 3})
	require.ErrorAs(t, err, &refused)
	require.Negative(t, refused.RetryAfter)

	s := e.Snapshot()
	require.EqualValues(t, 2, s.System.InFlight)
	require.Equal(t, 1, s.Rules["system"])
	require.EqualValues(t, 3, snap(t, e, "c").Blocked["system"])
	require.Zero(t, snap(t, e, "c").Passed)
	require.EqualValues(t, 3, s.System.Rules[0].Blocked)
	a.Exit(nil)
	a.Exit(nil)
	b.End(Failure)
	require.Zero(t, e.Snapshot().System.InFlight, "each ends once")
}

// checkFunc is a checker of a function.
type checkFunc func(*CheckedCall) error

func (checkFunc) Name() string                                    { return "function" }
func (f checkFunc) Check(c *CheckedCall) error                    { return f(c) }
func (checkFunc) Done(*CheckedCall, Outcome, time.Duration, bool) {}

// A call that a later check refuses, or that is given up, or that something handed to the engine ends, gives back its place.
func TestSystemPlacesAreGivenBack(t *testing.T) {
	t.Parallel()
	one := atOnce("one", 1)
	gone, cancel := context.WithCancel(bg)
	cancel()
	panics := checkFunc(func(c *CheckedCall) error {
		switch c.Request.Resource {
		case "panics":
			panic("checker")
		case "exits":
			runtime.Goexit()
		case "refused":
			return errBoom
		}
		return nil
	})
	param := paramflow.Rule{ID: "p", Resource: rule.Name("value"), Param: "arg[0]", Limit: 0}
	waits := flow.Rule{ID: "w", Resource: rule.Name("paced"), Limit: 1, Mode: flow.Pace, MaxWait: time.Minute}
	rules := Rules{
		System:      []system.Rule{one, {ID: "rate", Metric: system.Rate, Limit: 100}},
		Flow:        []flow.Rule{limit("f", "flow", 0), limit("f2", "flow2", 0), waits},
		Concurrency: []flow.ConcurrencyRule{atMost("c", "concurrency", 0), atMost("c2", "flow2", 5)},
		Breaker:     []breaker.Rule{errorBreaker("b", "breaker"), errorBreaker("b1", "breakers"), errorBreaker("b2", "breakers"), errorBreaker("b3", "flow2")},
		Param:       []paramflow.Rule{param},
	}
	for name, opts := range map[string][]Option{"plain": nil, "with a checker": {WithChecker(panics)}} {
		e, clk := newTest(t, rules, opts...)
		require.NoError(t, e.ForceBreaker("breaker", "", breaker.ForcedOpen))
		require.NoError(t, e.ForceBreaker("breakers", "b2", breaker.ForcedOpen))
		for range 50 { // the rate too is given back
			for _, resource := range []string{"flow", "flow2", "concurrency", "breaker", "breakers", "value"} {
				_, err := e.Enter(bg, Request{Resource: resource, Inbound: true, Args: []any{"x"}})
				var b *BlockedError
				require.ErrorAs(t, err, &b, name)
				require.NotEqual(t, KindSystem, b.Kind, "%s: %s", name, resource)
			}
			_, err := e.Enter(gone, Request{Resource: "none", Inbound: true})
			require.ErrorIs(t, err, context.Canceled)
		}
		ent, err := arrive(e, "paced")
		require.NoError(t, err)
		ent.Exit(nil)
		_, err = e.Enter(gone, Request{Resource: "paced", Inbound: true})
		require.ErrorIs(t, err, context.Canceled)
		ctx, stop := context.WithCancel(bg)
		done := make(chan error)
		go func() { _, err := e.Enter(ctx, Request{Resource: "paced", Inbound: true}); done <- err }()
		clk.BlockUntil(1)
		require.EqualValues(t, 1, e.Snapshot().System.InFlight, "who waits is in the process")
		_, err = arrive(e, "none")
		require.Equal(t, "one", blockedBy(t, err))
		stop()
		require.ErrorIs(t, <-done, context.Canceled)
		if opts != nil {
			_, err := arrive(e, "refused")
			require.ErrorIs(t, err, errBoom)
			ent, err := arrive(e, "panics") // which lets it pass
			require.NoError(t, err)
			ent.Exit(nil)
			var wg sync.WaitGroup
			wg.Go(func() { _, _ = arrive(e, "exits") })
			wg.Wait()
		}
		err = e.Do(bg, "none", func(context.Context) error { return nil })
		require.NoError(t, err)
		require.Zero(t, e.Snapshot().System.InFlight, name)
		ent, err = arrive(e, "none")
		require.NoError(t, err)
		require.Panics(t, func() {
			defer ent.Exit(&err)
			panic("the call")
		})
		require.Zero(t, e.Snapshot().System.InFlight)
	}
}

// Only calls that were counted are uncounted, whatever becomes of the rules meanwhile.
func TestSystemEdits(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, Rules{})
	before, err := arrive(e, "r")
	require.NoError(t, err)
	apply(t, e, systemRules(atOnce("c", 1)))
	during, err := arrive(e, "r")
	require.NoError(t, err)
	before.Exit(nil)
	require.EqualValues(t, 1, e.Snapshot().System.InFlight, "what came before the rules is none of theirs")
	_, err = arrive(e, "r")
	require.Equal(t, "c", blockedBy(t, err))
	apply(t, e, systemRules(atOnce("c", 2)))
	second, err := arrive(e, "r")
	require.NoError(t, err)
	_, err = arrive(e, "r")
	require.Equal(t, "c", blockedBy(t, err))
	var b *BlockedError
	require.ErrorAs(t, err, &b)
	require.Equal(t, 2.0, b.Limit, "no error of the rule as it was")
	apply(t, e, Rules{})
	require.Nil(t, e.Snapshot().System)
	for range 5 {
		ent, err := arrive(e, "r")
		require.NoError(t, err)
		defer ent.Exit(nil)
	}
	during.Exit(nil)
	apply(t, e, systemRules(atOnce("c", 1), atOnce("d", 10)))
	require.EqualValues(t, 1, e.Snapshot().System.InFlight)
	_, err = arrive(e, "r")
	require.Equal(t, "c", blockedBy(t, err))
	require.EqualValues(t, 3, snap(t, e, "r").Blocked["system"], "counts outlive rules")
	second.Exit(nil)
	require.Zero(t, e.Snapshot().System.InFlight)
	// Rules of other resources are no edit of these.
	apply(t, e, Rules{System: []system.Rule{atOnce("c", 1), atOnce("d", 10)}, Flow: []flow.Rule{limit("f", "x", 1)}})
	require.NoError(t, e.Close())
	for range 5 {
		_, err = arrive(e, "r")
		require.NoError(t, err, "a closed engine stops nobody")
	}
}

// The largest cost has room beside the flags.
func TestLargestCost(t *testing.T) {
	t.Parallel()
	for _, rules := range []Rules{{}, systemRules(system.Rule{ID: "rt", Metric: system.ResponseTime, SlowerThan: time.Hour})} {
		e, _ := newTest(t, rules)
		for _, cost := range []int{maxCost - 1, maxCost, math.MaxInt32, math.MaxInt} {
			ent, err := e.Enter(bg, Request{Resource: "r", Inbound: true, Cost: cost})
			require.NoError(t, err)
			if s := e.Snapshot().System; s != nil {
				require.EqualValues(t, min(cost, maxCost), s.InFlight)
			}
			ent.Exit(nil)
			ent.End(Failure)
			if s := e.Snapshot().System; s != nil {
				require.Zero(t, s.InFlight)
			}
		}
		require.EqualValues(t, 4, snap(t, e, "r").Succeeded)
		require.Zero(t, snap(t, e, "r").Failed)
	}
	require.EqualValues(t, 1<<30-1, maxCost)
}

func TestSystemReadings(t *testing.T) {
	t.Parallel()
	m := newMachine(0.95, 1)
	rec := &recorder{}
	e, clk := newTest(t, systemRules(
		system.Rule{ID: "cpu", Metric: system.CPU, Limit: 0.8, Admission: system.Refuse},
		system.Rule{ID: "load", Metric: system.Load, Limit: 5, Admission: system.Refuse, Shadow: true},
		system.Rule{ID: "rt", Metric: system.ResponseTime, SlowerThan: time.Second},
	), WithSystemReader(m), WithObserver(rec.observer()))
	_, err := arrive(e, "r")
	require.Equal(t, "cpu", blockedBy(t, err))
	var b *BlockedError
	require.ErrorAs(t, err, &b)
	require.Equal(t, 0.95, b.Observed)
	require.Positive(t, b.RetryAfter)
	require.LessOrEqual(t, b.RetryAfter, 250*time.Millisecond)
	m.set(0.99, 1)
	clk.Advance(time.Second)
	_, same := arrive(e, "r")
	require.Same(t, err, same, "about the same is no reason for another error")
	m.set(0.85, 1)
	clk.Advance(time.Second)
	_, err = arrive(e, "r")
	require.ErrorAs(t, err, &b)
	require.Equal(t, 0.85, b.Observed)
	// In shadow: counted, told, and admitted.
	m.set(-1, 9)
	clk.Advance(time.Second)
	ent, err := e.Enter(bg, Request{Resource: "r", Inbound: true, Origin: "me"})
	require.NoError(t, err)
	s := e.Snapshot().System
	require.Nil(t, s.CPU)
	require.Equal(t, 9.0, *s.Load)
	require.Equal(t, SystemRuleSnapshot{ID: "cpu", Metric: "cpu", Limit: 0.8, Blocked: 3}, s.Rules[0])
	require.Equal(t, SystemRuleSnapshot{ID: "load", Metric: "load", Shadow: true, Limit: 5, Observed: s.Load, Refusing: true, Shadowed: 1}, s.Rules[1])
	require.Nil(t, s.Rules[2].Observed)
	require.EqualValues(t, 1, snap(t, e, "r").Shadow["system"])
	last := rec.blocks[len(rec.blocks)-1]
	require.True(t, last.Shadow)
	require.Equal(t, "me", last.Origin)
	require.Equal(t, "load", last.Err.RuleID)
	require.Len(t, rec.blocks, 4)
	// Slow calls.
	clk.Advance(2 * time.Second)
	ent.Exit(nil)
	clk.Advance(100 * time.Millisecond)
	_, err = arrive(e, "other")
	require.Equal(t, "rt", blockedBy(t, err))
	require.ErrorAs(t, err, &b)
	require.Equal(t, 1.0, b.Limit)
	require.Equal(t, 2.0, b.Observed)
	require.Contains(t, err.Error(), "mean response time in seconds (limit 1, observed 2), retry after")
	require.Equal(t, 2*time.Second, e.Snapshot().System.ResponseTime)
	clk.Advance(b.RetryAfter + 50*time.Millisecond)
	_, err = arrive(e, "other")
	require.NoError(t, err, "protection ends with its cause")
	text, err := json.Marshal(e.Snapshot())
	require.NoError(t, err)
	require.Contains(t, string(text), `"cpu":null`)
}

// Of a table that is not plain the same holds, and observers are told once.
func TestSystemRulesOfTablesWithMore(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	e, _ := newTest(t, Rules{
		System:    []system.Rule{atOnce("one", 1), {ID: "trial", Metric: system.Rate, Limit: 0, Shadow: true}},
		Flow:      []flow.Rule{{ID: "mine", Resource: rule.Name("r"), Limit: 100, Origin: "me"}},
		Authority: []authority.Rule{{ID: "not-you", Resource: rule.Default(), Deny: []string{"you"}}},
	}, WithObserver(rec.observer()))
	ent, err := e.Enter(bg, Request{Resource: "r", Inbound: true, Origin: "me"})
	require.NoError(t, err)
	require.Len(t, rec.blocks, 1)
	require.True(t, rec.blocks[0].Shadow)
	_, err = e.Enter(bg, Request{Resource: "r", Inbound: true, Origin: "me"})
	require.Equal(t, "one", blockedBy(t, err))
	require.Len(t, rec.blocks, 2)
	// Who may not call is told that, and is nobody that the system rules count.
	_, err = e.Enter(bg, Request{Resource: "r", Inbound: true, Origin: "you"})
	var b *BlockedError
	require.ErrorAs(t, err, &b)
	require.Equal(t, KindAuthority, b.Kind)
	require.EqualValues(t, 1, e.Snapshot().System.InFlight)
	require.EqualValues(t, 1, snap(t, e, "r").Blocked["system"])
	require.EqualValues(t, 1, snap(t, e, "r").Shadow["system"])
	ent.Exit(nil)
	require.Zero(t, e.Snapshot().System.InFlight)
}

// System rules come before all but authority: a call that they refuse takes no token of anybody.
func TestSystemRulesComeFirst(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, Rules{System: []system.Rule{atOnce("none", 0)}, Flow: []flow.Rule{limit("f", "r", 1)}, Breaker: []breaker.Rule{errorBreaker("b", "r")}})
	require.NoError(t, e.ForceBreaker("r", "", breaker.ForcedOpen))
	for range 3 {
		_, err := arrive(e, "r")
		require.Equal(t, "none", blockedBy(t, err))
	}
	require.NoError(t, e.ForceBreaker("r", "", breaker.Closed))
	apply(t, e, flowRules(limit("f", "r", 1)))
	_, err := arrive(e, "r")
	require.NoError(t, err)
}

func TestSystemReaderOption(t *testing.T) {
	t.Parallel()
	_, err := New(WithSystemReader(nil))
	require.ErrorContains(t, err, "WithSystemReader")
	rec := &recorder{}
	e, _ := newTest(t, systemRules(system.Rule{ID: "cpu", Metric: system.CPU, Limit: 0, Admission: system.Refuse}, system.Rule{ID: "load", Metric: system.Load, Admission: system.Refuse}),
		WithSystemReader(panicking{}), WithObserver(rec.observer()))
	ent, err := arrive(e, "r")
	require.NoError(t, err, "what it would have said is unknown")
	ent.Exit(nil)
	require.Len(t, rec.faults, 2)
	require.Equal(t, "system reader", rec.faults[0].Where)
}

type panicking struct{}

func (panicking) CPU(time.Duration) (float64, bool) { panic("cpu") }
func (panicking) Load() (float64, bool)             { panic(errors.New("load")) }

func TestSystemRulesAreNative(t *testing.T) {
	t.Parallel()
	d, err := Native("doc", []byte(`
cordon: 1
system:
  - {metric: cpu, limit: 0.8}
  - {metric: load, limit: 0, admission: refuse}
  - {id: slow, metric: responseTime, slowerThan: 500ms, shadow: true}
  - {metric: concurrency, limit: 0}
  - {metric: rate, limit: 0.5}
`))
	require.NoError(t, err)
	require.Empty(t, d.Problems)
	require.Equal(t, []system.Rule{
		{ID: "cpu#1", Metric: system.CPU, Limit: 0.8},
		{ID: "load#1", Metric: system.Load, Admission: system.Refuse},
		{ID: "slow", Metric: system.ResponseTime, SlowerThan: 500 * time.Millisecond, Shadow: true},
		{ID: "concurrency#1", Metric: system.Concurrency},
		{ID: "rate#1", Metric: system.Rate, Limit: 0.5},
	}, d.Rules.System)
	text, err := EncodeNative(d.Rules)
	require.NoError(t, err)
	again, err := Native("doc", text)
	require.NoError(t, err)
	require.Empty(t, again.Problems)
	require.Equal(t, d.Rules.System, again.Rules.System)
	for document, want := range map[string]string{
		"system: [{metric: cpu}]":                                                   "limit: is missing",
		"system: [{metric: rate, shadow: true}]":                                    "limit: is missing",
		"system: [{limit: 1}]":                                                      "metric: is missing",
		"system: [{metric: qps, limit: 1}]":                                         "qps",
		"system: [{metric: responseTime}]":                                          "slowerThan: is missing",
		"system: [{metric: responseTime, slowerThan: 0s}]":                          "slowerThan",
		"system: [{metric: responseTime, slowerThan: 1s, limit: 3}]":                "limit: has no meaning",
		"system: [{metric: cpu, limit: 80}]":                                        "such as 0.8",
		"system: [{metric: cpu, limit: 0.5, resource: x}]":                          "resource",
		"system: [{id: a, metric: cpu, limit: 1}, {id: a, metric: load, limit: 1}]": "used twice",
	} {
		d, err := Native("doc", []byte("cordon: 1\n"+document))
		require.NoError(t, err, document)
		require.NotEmpty(t, d.Problems.Faults(), document)
		require.Contains(t, d.Problems.Error(), want)
		require.NotZero(t, d.Problems[0].Position.Line)
	}
}

// Law 6 for inbound calls: nothing is allocated, admitted or refused.
func TestInboundCallsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	m := newMachine(0.5, 1)
	rules := Rules{
		System: []system.Rule{
			{ID: "cpu", Metric: system.CPU, Limit: 0.8}, atOnce("c", 10), {ID: "rt", Metric: system.ResponseTime, SlowerThan: time.Hour}, {ID: "rate", Metric: system.Rate, Limit: 1e7},
			{ID: "trial", Metric: system.Concurrency, Limit: 0, Shadow: true},
		},
		Flow: []flow.Rule{limit("f", "all", 1e7)}, Concurrency: []flow.ConcurrencyRule{atMost("c", "all", 10)}, Breaker: []breaker.Rule{errorBreaker("b", "all"), errorBreaker("b2", "all")},
	}
	e, err := New(WithRules(rules), WithSystemReader(m), WithObserver(Observer{Block: func(BlockEvent) {}}))
	require.NoError(t, err)
	defer e.Close()
	for _, name := range []string{"none", "all"} {
		h := e.Resource(name)
		for _, cost := range []int{1, 11} {
			one := func() {
				ent, err := h.EnterWith(bg, Request{Inbound: true, Cost: cost})
				ent.Exit(&err)
			}
			for range 200 {
				one()
			}
			require.Zero(t, testing.AllocsPerRun(2000, one), "%s, cost %d", name, cost)
		}
	}
}

// Racing inbound calls of many resources, with edits, pass no limit, and in the end nothing is in flight.
func TestSystemRulesUnderRace(t *testing.T) {
	t.Parallel()
	e, err := New(WithRules(systemRules(atOnce("c", 3))), WithClock(clock.System()), WithSystemReader(newMachine(0.1, 1)))
	require.NoError(t, err)
	defer e.Close()
	var inside, most atomic.Int64
	names := []string{"a", "b", "c"}
	race(func(i int) {
		for n := range 100 {
			if n%40 == i%40 {
				e.Apply(systemRules(atOnce("c", 3), system.Rule{ID: "rate", Metric: system.Rate, Limit: float64(1e6 + i)}))
			}
			ent, err := e.Enter(bg, Request{Resource: names[(i+n)%3], Inbound: true})
			if err != nil {
				continue
			}
			now := inside.Add(1)
			for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
			}
			yield()
			inside.Add(-1)
			if n%2 == 0 {
				ent.Exit(nil)
			} else {
				ent.Cancel()
			}
		}
	})
	require.LessOrEqual(t, most.Load(), int64(3))
	s := e.Snapshot()
	require.Zero(t, s.System.InFlight)
	var blocked int64
	for _, r := range s.Resources {
		blocked += r.Blocked["system"]
	}
	require.Equal(t, s.System.Rules[0].Blocked+s.System.Rules[1].Blocked, blocked, "each refusal is counted once by rule and once by resource")
}

// Law 6 for calls that rules of all kinds look at: whichever refuses, nothing is allocated, and what the others had counted is given back, also of names beyond the bound on resources.
func TestRulesOfAllKindsTogether(t *testing.T) {
	anyName := rule.Wildcard("r*")
	rules := Rules{
		System:      []system.Rule{atOnce("c", 10), {ID: "rate", Metric: system.Rate, Limit: 20}, {ID: "rt", Metric: system.ResponseTime, SlowerThan: time.Hour}, {ID: "cpu", Metric: system.CPU, Limit: 0.9}},
		Authority:   []authority.Rule{{ID: "a", Resource: anyName, Allow: []string{"shop", "team-*"}, Anonymous: authority.Refuse}},
		Flow:        []flow.Rule{{ID: "f", Resource: anyName, Limit: 20}, {ID: "f0", Resource: anyName, Limit: 0, Origin: "team-slow", Also: true}},
		Concurrency: []flow.ConcurrencyRule{{ID: "b", Resource: anyName, Limit: 5}},
		Breaker:     []breaker.Rule{{ID: "cb", Resource: anyName, Threshold: 0.5, MinCalls: 4, Window: time.Second, Open: time.Second}},
		Param:       []paramflow.Rule{{ID: "p", Resource: anyName, Param: "arg[0]", Limit: 20, Overrides: []paramflow.Override{{Value: "bad", Limit: 0}}}},
	}
	// The names beyond the bound share a resource, which one of these rules of each kind is for.
	e, clk := newTest(t, rules, WithMaxResources(1), WithSystemReader(newMachine(0.5, 1)))
	args := map[string][]any{"good": {"good"}, "bad": {"bad"}}
	var refused *BlockedError
	enter := func(name, origin, arg string, cost int) error {
		ent, err := e.Enter(bg, Request{Resource: name, Origin: origin, Args: args[arg], Inbound: true, Cost: cost})
		ent.Exit(&err)
		return err
	}
	require.NoError(t, e.Do(bg, "other", nop)) // takes the room there is
	for _, name := range []string{"r1", "r2"} {
		clk.Advance(time.Minute)
		for _, c := range []struct {
			origin, arg string
			cost        int
			want        Kind
		}{
			{"", "good", 1, KindAuthority}, {"robot", "good", 1, KindAuthority}, {"shop", "good", 11, KindSystem}, {"shop", "good", 6, KindConcurrency}, {"shop", "bad", 1, KindParam}, {"team-slow", "good", 1, KindFlow},
		} {
			one := func() {
				if err := enter(name, c.origin, c.arg, c.cost); !errors.As(err, &refused) || refused.Kind != c.want {
					t.Errorf("%s: refused by %v, not by a rule on %s", name, err, c.want)
				}
			}
			for range 100 {
				one()
			}
			if !raceEnabled {
				require.Zero(t, testing.AllocsPerRun(1000, one), "%s, %s", name, c.want)
			}
		}
		for range 20 {
			require.NoError(t, enter(name, "team-fast", "good", 1), "no call that was refused is counted anywhere")
		}
		require.ErrorAs(t, enter(name, "shop", "good", 1), &refused)
		require.Equal(t, "rate", refused.RuleID)
		require.Zero(t, e.Snapshot().System.InFlight)
	}
	_, ok := e.ResourceSnapshot("r1")
	require.False(t, ok, "it is one of many")
}

// Observers are told of a refusal, once, when the call holds nothing any more: no place of the system rules either.
func TestObserversOfCallsThatSystemRulesCount(t *testing.T) {
	t.Parallel()
	rules := Rules{
		System: []system.Rule{{Metric: system.Concurrency, Limit: 10}},
		Flow:   []flow.Rule{{Resource: rule.Name("flow"), Limit: 0}},
		Concurrency: []flow.ConcurrencyRule{
			{Resource: rule.Name("concurrency"), Limit: 0}, {Resource: rule.Name("lists"), Limit: 0}, {Resource: rule.Name("lists"), Limit: 0, Origin: "a"},
		},
	}
	var e *Engine
	var told []string
	observe := Observer{Block: func(b BlockEvent) {
		told = append(told, b.Err.Resource)
		if n := e.Snapshot().System.InFlight; n != 0 {
			told = append(told, "in flight")
		}
	}}
	e, err := New(WithRules(rules), WithObserver(observe))
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	for _, name := range []string{"flow", "concurrency", "lists"} {
		_, err := e.Enter(t.Context(), Request{Resource: name, Inbound: true})
		require.ErrorIs(t, err, ErrBlocked)
	}
	require.Equal(t, []string{"flow", "concurrency", "lists"}, told)
}
