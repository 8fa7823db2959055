package cordon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

// Law 5: one panic through many frames with deferred Exits is counted once by every entry, and goes on as it was.
func TestPanicThroughNestedEntries(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, bulkRules(atMost("c", "n0", 1)))
	cause := fmt.Errorf("at work: %w", errBoom)
	var nest func(depth int)
	nest = func(depth int) {
		var err error
		a := enter(t, e, fmt.Sprint("n", depth))
		defer a.Exit(&err)
		b := enter(t, e, fmt.Sprint("m", depth))
		defer b.Exit(&err)
		if depth == 4 {
			panic(cause)
		}
		nest(depth + 1)
	}
	func() {
		defer func() { require.Same(t, cause, recover()) }()
		e.Do(bg, "do", func(context.Context) error { nest(0); return nil })
	}()
	for i := range 5 {
		for _, name := range []string{fmt.Sprint("n", i), fmt.Sprint("m", i)} {
			s := snap(t, e, name)
			require.EqualValues(t, []int64{1, 1, 0, 0}, []int64{s.Passed, s.Failed, s.Succeeded, s.InFlight}, name)
		}
	}
	require.EqualValues(t, 1, snap(t, e, "do").Failed)
	require.Equal(t, 1, heldAtOnce(e, "n0"))
	func() { // a panic in the midst of a call to another entry's Exit, which has ended already
		defer func() { require.Equal(t, 7, recover()) }()
		ent := enter(t, e, "late")
		defer ent.Exit(nil)
		ent.Exit(nil)
		panic(7)
	}()
	require.EqualValues(t, 1, snap(t, e, "late").Succeeded, "the first end counts")
}

// What was reserved is given back though a checker, an observer or a classifier ends the goroutine.
func TestGoexitLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	var exit string
	at := func(what string) {
		if exit == what {
			runtime.Goexit()
		}
	}
	c, f := atMost("c", "r", 3), limit("f", "r", 1e6)
	e, _ := newTest(t, Rules{Concurrency: []flow.ConcurrencyRule{c}, Flow: []flow.Rule{f}},
		WithChecker(stalling{func(c *CheckedCall) error {
			at("checker")
			if exit == "observer" {
				return errBoom
			}
			return nil
		}}),
		WithObserver(Observer{Block: func(BlockEvent) { at("observer") }}),
		WithClassifier(func(error) Outcome { at("classifier"); return Failure }))
	for _, exit = range []string{"checker", "observer", "classifier"} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			e.Do(bg, "r", func(context.Context) error { return errBoom })
		}()
		<-done
	}
	exit = ""
	require.Equal(t, 3, heldAtOnce(e, "r"))
	require.Zero(t, snap(t, e, "r").InFlight)
}

// An observer of refusals may make the call again: the refused one holds nothing any more when it is told.
func TestRefusedCallsHoldNothingWhenObserversAreTold(t *testing.T) {
	t.Parallel()
	var e *Engine
	free := -1
	e, _ = newTest(t, Rules{
		Concurrency: []flow.ConcurrencyRule{atMost("c", "r", 5)}, Flow: []flow.Rule{limit("f", "r", 0)},
	}, WithChecker(stalling{}), WithObserver(Observer{Block: func(BlockEvent) { free = 5 - e.resources.get("r").table.Load().lists.bulkheads[0].bulkhead.InFlight() }}))
	require.ErrorIs(t, call(e, "r", nil), flow.ErrLimited)
	require.Equal(t, 5, free)
}

func TestNothingToRunOrWatch(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, Rules{})
	require.ErrorContains(t, e.Do(bg, "r", nil), "nil")
	_, err := Call[int](bg, e, "r", nil)
	require.ErrorContains(t, err, "nil")
	_, ok := e.ResourceSnapshot("r")
	require.False(t, ok, "nothing was called")
	_, err = e.Watch(bg, nil, Native)
	require.ErrorContains(t, err, "nil")
	_, err = e.Watch(bg, newFake("x"), nil)
	require.ErrorContains(t, err, "nil")
	w, err := e.Watch(nilContext(), newFake("x"), Native, nil, FirstWithin(0))
	require.NoError(t, err)
	require.NoError(t, w.Close())
}

// Law 9: a log handler that panics hurts no call, and is counted.
type panickingHandler struct{ slog.Handler }

func (panickingHandler) Enabled(context.Context, slog.Level) bool  { return true }
func (panickingHandler) Handle(context.Context, slog.Record) error { panic("disk full") }

func TestPanickingLogHandler(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, breakerRules(errorBreaker("b", "r")), WithLogger(slog.New(panickingHandler{slog.DiscardHandler})))
	for range 4 {
		require.NoError(t, call(e, "r", errBoom))
	}
	require.ErrorIs(t, call(e, "r", nil), breaker.ErrOpen)
	require.NoError(t, e.ForceBreaker("r", "", breaker.Closed))
	require.Positive(t, e.Snapshot().Faults)
}

// Names may hold any bytes; each is a resource of its own, also those that look like the engine's own.
func TestOddNames(t *testing.T) {
	t.Parallel()
	names := []string{"", "\x00", "\xff", " ", "(others)", "(shared)", "*", "a\nb", strings.Repeat("n", longestName), "\u202e", "é", "e\u0301"}
	var rules Rules
	for i, n := range names {
		if n != "" {
			rules.Flow = append(rules.Flow, limit(fmt.Sprint("f", i), n, 2))
		}
	}
	e, err := New(WithRules(rules))
	if err != nil { // names that no document could hold may be refused, but never half taken
		e, err = New()
		require.NoError(t, err)
	}
	defer e.Close()
	for _, n := range names {
		require.NoError(t, call(e, n, nil), "%q", n)
		require.EqualValues(t, 1, snap(t, e, n).Passed, "%q", n)
		require.Equal(t, n, e.Resource(n).Name())
	}
	require.Equal(t, len(names), resources(e))
}

func TestOddCosts(t *testing.T) {
	t.Parallel()
	for _, opts := range [][]Option{nil, {WithChecker(stalling{})}} {
		e, _ := newTest(t, Rules{Concurrency: []flow.ConcurrencyRule{atMost("c", "r", 10_000_000)}}, opts...)
		_, err := e.Enter(bg, Request{Resource: "r", Cost: math.MinInt})
		require.ErrorIs(t, err, ErrInvalidCost)
		for _, cost := range []int{0, 1, 2, 9_999_999, 10_000_000} {
			ent, err := e.Enter(bg, Request{Resource: "r", Cost: cost})
			require.NoError(t, err)
			require.EqualValues(t, max(cost, 1), snap(t, e, "r").Rules[0].Usage)
			ent.Exit(nil)
			require.Zero(t, snap(t, e, "r").Rules[0].Usage)
		}
		free, err := e.Enter(bg, Request{Resource: "unlimited", Cost: math.MaxInt})
		require.NoError(t, err)
		free.Exit(nil)
		free.Exit(nil)
		require.EqualValues(t, 1, snap(t, e, "unlimited").Succeeded, "the highest cost leaves the ended flag alone")
	}
}

// A call that is retried after RetryAfter passes if nothing else came, in every mode and at every phase.
func TestRetryAfterIsNeverTooEarly(t *testing.T) {
	t.Parallel()
	for _, r := range []flow.Rule{
		{Limit: 7}, {Limit: 3, Per: 7 * time.Millisecond}, {Limit: 0.3}, {Limit: 1000, Per: time.Hour},
		{Limit: 7, Mode: flow.Smooth, Burst: 3}, {Limit: 7, Mode: flow.Pace}, {Limit: 30, Mode: flow.WarmUp}, {Limit: 30, Mode: flow.WarmUpPace},
	} {
		r.ID, r.Resource = "f", rule.Name("r")
		for cost := 1; cost <= 3; cost++ {
			e, clk := newTest(t, flowRules(r))
			refused := 0
			for i := 0; refused < 200; i++ {
				ent, err := e.Enter(bg, Request{Resource: "r", Cost: cost})
				var b *BlockedError
				if !errors.As(err, &b) {
					require.NoError(t, err)
					ent.Exit(nil)
					clk.Advance(time.Duration(i*i) * 17 * time.Microsecond % (20 * time.Millisecond))
					continue
				}
				refused++
				if b.RetryAfter < 0 {
					require.Greater(t, float64(cost), min(r.Limit, float64(max(r.Burst, 1))+1e9*float64(1-min(r.Burst, 1))))
					break
				}
				require.Positive(t, b.RetryAfter, "%+v", r)
				clk.Advance(b.RetryAfter)
				ent, err = e.Enter(bg, Request{Resource: "r", Cost: cost})
				require.NoError(t, err, "%v limit %v cost %d: after %v", r.Mode, r.Limit, cost, b.RetryAfter)
				ent.Exit(nil)
			}
		}
	}
	b := errorBreaker("b", "r")
	for range 3 {
		for offset := time.Duration(1); offset < 5*time.Second; offset *= 3 {
			e, clk := newTest(t, breakerRules(b))
			for range 4 {
				require.NoError(t, call(e, "r", errBoom))
			}
			clk.Advance(offset)
			var refusal *BlockedError
			require.ErrorAs(t, call(e, "r", nil), &refusal)
			clk.Advance(refusal.RetryAfter)
			require.NoError(t, call(e, "r", nil))
		}
	}
}

// A source that is watched again goes on with the rules its earlier watch brought, so that they can be edited and removed, and watches that ended pile up nowhere.
func TestWatchingASourceAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, err := New()
		require.NoError(t, err)
		defer e.Close()
		ctx, cancel := context.WithCancel(bg)
		first := newFake("rules")
		first.send(oneRule)
		_, err = e.Watch(ctx, first, Native)
		require.NoError(t, err)
		require.Equal(t, 2, passes(e, "r", 5))
		cancel()
		synctest.Wait()
		require.False(t, e.Snapshot().Sources[0].Running)
		require.Len(t, e.Rules().Flow, 1, "its rules stay in force")
		for i := range 20 {
			again := newFake("rules")
			again.send(strings.Replace(oneRule, "limit: 2", fmt.Sprint("limit: ", 3+i), 1))
			w, err := e.Watch(bg, again, Native)
			require.NoError(t, err)
			require.Empty(t, w.Report().Problems)
			require.Len(t, w.Report().Changed, 1)
			require.Equal(t, 1, passes(e, "r", 5), "edited, and the count kept")
			require.NoError(t, w.Close())
		}
		require.Len(t, e.Snapshot().Sources, 1)
		last := newFake("rules")
		last.send("cordon: 1\n")
		_, err = e.Watch(bg, last, Native)
		require.NoError(t, err)
		require.Empty(t, e.Rules().Flow)
		w, err := e.Watch(bg, newFake("rules"), Native)
		require.Nil(t, w)
		require.EqualError(t, err, "cordon: watch rules: it is being watched already: close that watch first, or give the source another name if it is another one")
		require.Len(t, e.Snapshot().Sources, 1)
	})
}

// Who ends a watch by its context need not wait for its end to watch the source again.
func TestWatchingASourceAgainAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, err := New()
		require.NoError(t, err)
		defer e.Close()
		for range 50 {
			ctx, cancel := context.WithCancel(bg)
			src := newFake("rules")
			src.send(oneRule)
			_, err = e.Watch(ctx, src, Native)
			require.NoError(t, err)
			cancel()
		}
		require.Len(t, e.Snapshot().Sources, 1)
	})
}
