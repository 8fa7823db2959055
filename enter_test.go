package cordon

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

func TestRefusalSaysWhy(t *testing.T) {
	t.Parallel()
	e, clk := newTest(t, Rules{
		Flow:        []flow.Rule{limit("f", "rate", 2)},
		Concurrency: []flow.ConcurrencyRule{atMost("c", "slots", 1)},
		Breaker:     []breaker.Rule{errorBreaker("b", "sick")},
	})
	require.Equal(t, 2, passes(e, "rate", 3))
	clk.Advance(300 * time.Millisecond)
	var b *BlockedError
	err := call(e, "rate", nil)
	require.ErrorAs(t, err, &b)
	require.ErrorIs(t, err, ErrBlocked)
	require.ErrorIs(t, err, flow.ErrLimited)
	require.Equal(t, KindFlow, b.Kind)
	require.Equal(t, "f", b.RuleID)
	require.Equal(t, "rate", b.Resource)
	require.EqualValues(t, 2, b.Limit)
	require.EqualValues(t, 2, b.Observed)
	require.GreaterOrEqual(t, b.RetryAfter, 700*time.Millisecond)
	require.LessOrEqual(t, b.RetryAfter, 880*time.Millisecond)
	require.ErrorContains(t, err, `flow rule "f" blocked "rate"`)
	clk.Advance(b.RetryAfter)
	require.NoError(t, call(e, "rate", nil), "after RetryAfter a call passes")

	ent, err := e.Enter(bg, Request{Resource: "slots"})
	require.NoError(t, err)
	_, err = e.Enter(bg, Request{Resource: "slots"})
	require.ErrorIs(t, err, flow.ErrSaturated)
	require.ErrorAs(t, err, &b)
	require.Equal(t, KindConcurrency, b.Kind)
	require.EqualValues(t, 1, b.Observed)
	ent.End(Success)
	_, err = e.Enter(bg, Request{Resource: "slots", Cost: 2})
	require.ErrorAs(t, err, &b)
	require.Negative(t, b.RetryAfter, "a cost above the limit never passes")

	for range 4 {
		require.NoError(t, call(e, "sick", errBoom))
	}
	err = call(e, "sick", nil)
	require.ErrorIs(t, err, breaker.ErrOpen)
	require.ErrorAs(t, err, &b)
	require.Equal(t, KindBreaker, b.Kind)
	require.EqualValues(t, 1, b.Observed, "all calls failed")
	require.EqualValues(t, 0.5, b.Limit)
	require.GreaterOrEqual(t, b.RetryAfter, 5*time.Second)
}

func TestRoundRetry(t *testing.T) {
	t.Parallel()
	last, lastIndex := time.Duration(0), retryUnknown
	for d := time.Nanosecond; d < 100*24*time.Hour; d += d/7 + 1 {
		i, above, r := roundRetry(d)
		require.GreaterOrEqual(t, r, d)
		require.Less(t, above, d)
		j, _, _ := roundRetry(above + 1)
		require.Equal(t, i, j, "all above %v up to %v have one index", above, r)
		j, _, _ = roundRetry(above)
		require.Less(t, j, i)
		require.LessOrEqual(t, r, max(d+d/4+time.Millisecond, time.Millisecond))
		require.GreaterOrEqual(t, r, last)
		require.Less(t, i, retrySlots)
		if r > last {
			require.Greater(t, i, lastIndex, "one index for one duration (%v)", d)
		} else {
			require.Equal(t, lastIndex, i)
		}
		last, lastIndex = r, i
	}
	for _, round := range []time.Duration{time.Millisecond, 500 * time.Millisecond, time.Second, 5 * time.Second, time.Minute, 10 * time.Minute} {
		_, _, r := roundRetry(round)
		require.Equal(t, round, r, "times as people write them stay what they are")
	}
	i, _, _ := roundRetry(math.MaxInt64)
	require.Less(t, i, retrySlots)
	i, _, r := roundRetry(-5)
	require.Equal(t, retryNever, i)
	require.EqualValues(t, -1, r)
}

// faults #77: a refused Enter gives an entry that is safe to end.
func TestZeroEntryIsHarmless(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, flowRules(limit("f", "r", 0)))
	ent, err := e.Enter(bg, Request{Resource: "r"})
	require.Error(t, err)
	ent.Exit(nil)
	ent.Exit(&err)
	ent.End(Failure)
	require.Equal(t, Success, ent.Classify(errBoom))
	s := snap(t, e, "r")
	require.Zero(t, s.Passed)
	require.EqualValues(t, map[string]int64{"flow": 1}, s.Blocked)
	var none Resource
	ent, err = none.Enter(bg)
	require.NoError(t, err)
	ent.Exit(nil)
	require.Empty(t, none.Name())
}

func TestEntryEndsOnce(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, bulkRules(atMost("c", "r", 5)))
	ent, err := e.Enter(bg, Request{Resource: "r"})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 16 { // any goroutine may end it; one does
		wg.Go(func() { ent.End(Failure) })
	}
	wg.Wait()
	ent.Exit(nil)
	s := snap(t, e, "r")
	require.EqualValues(t, 1, s.Failed)
	require.Zero(t, s.Succeeded)
	require.Zero(t, s.InFlight)
	require.Equal(t, 5, heldAtOnce(e, "r"), "the place was given back once")
}

// heldAtOnce enters as often as admitted and ends all.
func heldAtOnce(e *Engine, resource string) int {
	var held []*Entry
	for range 1000 {
		ent, err := e.Enter(bg, Request{Resource: resource})
		if err != nil {
			break
		}
		held = append(held, &ent)
	}
	for _, h := range held {
		h.End(Success)
	}
	return len(held)
}

// faults #77: a panic counts as failure and goes on.
func TestPanicsCountAsFailure(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, bulkRules(atMost("c", "exit", 1), atMost("d", "do", 1)))
	func() {
		defer func() { require.Equal(t, "at work", recover()) }()
		var err error
		ent, refused := e.Enter(bg, Request{Resource: "exit"})
		require.NoError(t, refused)
		defer ent.Exit(&err)
		panic("at work")
	}()
	require.PanicsWithValue(t, "in do", func() { e.Do(bg, "do", func(context.Context) error { panic("in do") }) })
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.Do(bg, "do", func(context.Context) error { runtime.Goexit(); return nil })
	}()
	<-done
	require.EqualValues(t, 1, snap(t, e, "exit").Failed)
	require.EqualValues(t, 2, snap(t, e, "do").Failed)
	require.Equal(t, 1, heldAtOnce(e, "exit"))
	require.Equal(t, 1, heldAtOnce(e, "do"))
}

// faults #37: the caller's own cancellation says nothing about the callee; a time-out does.
func TestDefaultClassification(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(bg)
	e, _ := newTest(t, breakerRules(errorBreaker("b", "r")))
	var entries []*Entry
	for range 100 {
		ent, err := e.Enter(cancelled, Request{Resource: "r"})
		require.NoError(t, err)
		entries = append(entries, &ent)
	}
	cancel()
	for _, ent := range entries {
		err := fmt.Errorf("get: %w", context.Canceled)
		ent.Exit(&err)
	}
	s := snap(t, e, "r")
	require.EqualValues(t, 100, s.Ignored)
	require.Equal(t, "closed", s.Rules[0].State)
	for range 100 {
		if ent, err := e.Enter(bg, Request{Resource: "r"}); err == nil {
			err := fmt.Errorf("get: %w", context.DeadlineExceeded)
			ent.Exit(&err)
		}
	}
	require.Equal(t, "open", snap(t, e, "r").Rules[0].State)

	require.Equal(t, Failure, DefaultClassifier(context.DeadlineExceeded))
	require.Equal(t, Success, DefaultClassifier(nil))
	require.Equal(t, Ignored, DefaultClassifier(fmt.Errorf("inner: %w", &BlockedError{})))
}

func TestClassifiers(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	e, _ := newTest(t, Rules{}, WithObserver(rec.observer()), WithClassifier(func(err error) Outcome {
		if errors.Is(err, errBoom) {
			return Ignored
		}
		panic("no idea")
	}))
	require.NoError(t, call(e, "r", errBoom))
	require.NoError(t, call(e, "r", errors.New("other")))
	s := snap(t, e, "r")
	require.EqualValues(t, 1, s.Ignored)
	require.EqualValues(t, 1, s.Failed, "a panicking classifier makes it a failure")
	require.Len(t, rec.faults, 1)
	require.Equal(t, "classifier", rec.faults[0].Where)

	ent, err := e.Enter(bg, Request{Resource: "r", Classify: func(error) Outcome { return Outcome(77) }})
	require.NoError(t, err)
	require.Equal(t, Failure, ent.Classify(errBoom), "an unknown outcome is a failure")
	err = errBoom
	ent.Exit(&err)
	require.EqualValues(t, 2, snap(t, e, "r").Failed)
	ent, err = e.Enter(bg, Request{Resource: "r"})
	require.NoError(t, err)
	ent.End(Outcome(99))
	require.EqualValues(t, 3, snap(t, e, "r").Failed)
}

func TestOddRequests(t *testing.T) {
	t.Parallel()
	e, clk := newTest(t, Rules{
		Flow:        []flow.Rule{limit("f", "r", 10), limit("empty", "\x00\xff", 1)},
		Concurrency: []flow.ConcurrencyRule{atMost("c", "r", 10)},
	})
	_, err := e.Enter(bg, Request{Resource: "r", Cost: -1})
	require.ErrorIs(t, err, ErrInvalidCost)
	_, err = e.Resource("r").EnterWith(bg, Request{Cost: math.MinInt})
	require.ErrorIs(t, err, ErrInvalidCost)
	for _, huge := range []int{11, math.MaxInt32, math.MaxInt} {
		_, err = e.Enter(bg, Request{Resource: "r", Cost: huge})
		require.ErrorIs(t, err, ErrBlocked)
	}
	ent, err := e.Enter(nilContext(), Request{Resource: "r", Cost: 0})
	require.NoError(t, err)
	ent.Exit(nil)
	require.Equal(t, 9, passes(e, "r", 20), "a cost of 0 counts as 1, refused ones as nothing")
	clk.Advance(time.Hour)

	done, cancel := context.WithCancel(bg)
	cancel()
	_, err = e.Enter(done, Request{Resource: "r"})
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrBlocked)
	require.EqualValues(t, 1, snap(t, e, "r").GaveUp)
	require.Equal(t, 10, passes(e, "r", 20), "a caller that has given up takes nothing")

	require.Equal(t, 1, passes(e, "\x00\xff", 3))
	require.Equal(t, 3, passes(e, "", 3))
	require.Equal(t, 1, passes(e, strings.Repeat("long", 1<<18), 1))
}

func TestAfterClose(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, Rules{Flow: []flow.Rule{limit("f", "r", 0)}, Concurrency: []flow.ConcurrencyRule{atMost("c", "s", 1)}})
	ent, err := e.Enter(bg, Request{Resource: "s"})
	require.NoError(t, err)
	h := e.Resource("r")
	_, err = h.Enter(bg)
	require.ErrorIs(t, err, ErrBlocked)
	require.NoError(t, e.Close())
	require.NoError(t, e.Close())
	ent.Exit(nil)
	require.Equal(t, 5, passes(e, "r", 5))
	require.Equal(t, 5, passes(e, "new", 5))
	later, err := h.Enter(bg)
	require.NoError(t, err)
	later.Exit(nil)
	_, err = e.Apply(flowRules(limit("f", "r", 1)))
	require.ErrorContains(t, err, "closed")
	_, err = e.Watch(bg, &fakeSource{}, Native)
	require.ErrorContains(t, err, "closed")
	require.Empty(t, e.Rules())
	e.Snapshot()
	require.ErrorContains(t, e.ForceBreaker("r", "", breaker.ForcedOpen), "no breaker")
}

func TestDoAndCall(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, flowRules(limit("f", "r", 1)))
	v, err := Call(bg, e, "r", func(context.Context) (int, error) { return 42, nil })
	require.NoError(t, err)
	require.Equal(t, 42, v)
	v, err = Call(bg, e, "r", func(context.Context) (int, error) { t.Error("must not run"); return 1, nil })
	require.ErrorIs(t, err, ErrBlocked)
	require.Zero(t, v)
	require.ErrorIs(t, e.Do(bg, "q", func(context.Context) error { return errBoom }), errBoom)
	require.EqualValues(t, 1, snap(t, e, "q").Failed)
}

func TestHandleAndNameAreOneResource(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, flowRules(limit("f", "r", 3)))
	h := e.Resource("r")
	require.Equal(t, "r", h.Name())
	ent, err := h.Enter(bg)
	require.NoError(t, err)
	ent.Exit(nil)
	ent, err = h.EnterWith(bg, Request{Resource: "not looked at"})
	require.NoError(t, err)
	ent.Exit(nil)
	require.Equal(t, 1, passes(e, "r", 5))
	_, ok := e.ResourceSnapshot("not looked at")
	require.False(t, ok)
}

func TestEngineOptions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Option{
		"clock": WithClock(nil), "classifier": WithClassifier(nil), "checker": WithChecker(nil),
		"resources": WithMaxResources(0), "idle": WithIdleTimeout(time.Millisecond), "faults": WithFaultPolicy(9),
		"rules": WithRules(flowRules(flow.Rule{Resource: rule.Name("r"), Limit: -1})),
	} {
		_, err := New(o)
		require.Error(t, err, name)
	}
	e, err := New(nil, WithLogger(nil))
	require.NoError(t, err)
	require.NoError(t, e.Close())
}

// A caller that has given up before takes nothing along: no place, no probe, no admission.
func TestGoneCallersHoldNothing(t *testing.T) {
	t.Parallel()
	e, clk := newTest(t, Rules{
		Flow:        []flow.Rule{limit("f", "r", 1)},
		Concurrency: []flow.ConcurrencyRule{atMost("c", "r", 1)},
		Breaker:     []breaker.Rule{errorBreaker("b", "r"), errorBreaker("b2", "r")},
	})
	for range 4 {
		require.NoError(t, call(e, "r", errBoom))
		clk.Advance(time.Second)
	}
	require.ErrorIs(t, call(e, "r", nil), breaker.ErrOpen)
	clk.Advance(time.Minute) // both breakers want a probe
	gone, cancel := context.WithCancel(bg)
	cancel()
	for range 5 {
		_, err := e.Resource("r").Enter(gone)
		require.ErrorIs(t, err, context.Canceled)
	}
	require.NoError(t, call(e, "r", nil))
	for _, r := range snap(t, e, "r").Rules {
		if r.Kind == "breaker" {
			require.Equal(t, "closed", r.State)
		}
	}
	s := snap(t, e, "r")
	require.EqualValues(t, 5, s.GaveUp)
	require.Zero(t, s.InFlight)
}

// The error of a limit that moves tells the limit as it is.
func TestRefusalsTellAMovingLimit(t *testing.T) {
	t.Parallel()
	e, clk := newTest(t, flowRules(flow.Rule{
		ID: "w", Resource: rule.Name("r"), Limit: 90, Mode: flow.WarmUp, WarmUp: 5 * time.Second, ColdFactor: 3,
	}))
	told := func() float64 {
		for range 200 {
			if err := call(e, "r", nil); err != nil {
				var b *BlockedError
				require.ErrorAs(t, err, &b)
				return b.Limit
			}
		}
		require.Fail(t, "nothing was refused")
		return 0
	}
	cold := told()
	for range 200 {
		clk.Advance(100 * time.Millisecond)
		passes(e, "r", 100)
	}
	require.InDelta(t, 30, cold, 5)
	require.InDelta(t, 90, told(), 9)
}
