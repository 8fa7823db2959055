package cordon

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

const racers = 64

// race runs f in many goroutines that start together.
func race(f func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() { <-start; f(i) })
	}
	close(start)
	wg.Wait()
}

// stalling is a checker that makes every call take its time between the checks and the end of Enter.
type stalling struct{ refuse func(*CheckedCall) error }

func (stalling) Name() string { return "stalling" }
func (s stalling) Check(c *CheckedCall) error {
	for range 50 {
		yield()
	}
	if s.refuse != nil {
		return s.refuse(c)
	}
	return nil
}
func (stalling) Done(*CheckedCall, Outcome, time.Duration, bool) {}

// faults #11: with another check that takes its time in the chain, no limit is passed by one.
func TestLimitsAreExactUnderRaces(t *testing.T) {
	t.Parallel()
	for _, opts := range [][]Option{nil, {WithChecker(stalling{})}} {
		e, _ := newTest(t, Rules{
			Flow:        []flow.Rule{limit("f", "rate", 3)},
			Concurrency: []flow.ConcurrencyRule{atMost("c", "slots", 3)},
		}, opts...)
		var admitted, running, most atomic.Int64
		race(func(int) {
			if call(e, "rate", nil) == nil {
				admitted.Add(1)
			}
			for range 20 {
				ent, err := e.Enter(bg, Request{Resource: "slots"})
				if err != nil {
					continue
				}
				n := running.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				yield()
				running.Add(-1)
				ent.Exit(nil)
			}
		})
		require.EqualValues(t, 3, admitted.Load())
		require.LessOrEqual(t, most.Load(), int64(3))
		require.Equal(t, 3, heldAtOnce(e, "slots"), "all places are back")
	}
}

// faults #11, #28: what was reserved is given back when a later check refuses.
func TestRefusalGivesBackWhatWasReserved(t *testing.T) {
	t.Parallel()
	var refuse atomic.Bool
	e, clk := newTest(t, Rules{
		Flow:        []flow.Rule{limit("f", "r", 5)},
		Concurrency: []flow.ConcurrencyRule{atMost("c", "r", 5)},
		Breaker:     []breaker.Rule{errorBreaker("b", "r"), errorBreaker("b2", "r"), errorBreaker("b3", "r")},
	}, WithChecker(stalling{func(*CheckedCall) error {
		if refuse.Load() {
			return errBoom
		}
		return nil
	}}))
	refuse.Store(true)
	race(func(int) { assert.ErrorIs(t, call(e, "r", nil), ErrBlocked) })
	refuse.Store(false)
	require.Equal(t, 5, passes(e, "r", 10), "refused calls used nothing up")
	clk.Advance(time.Second)
	require.Equal(t, 5, heldAtOnce(e, "r"))

	clk.Advance(time.Minute)
	for range 4 {
		require.NoError(t, call(e, "r", errBoom))
	}
	require.ErrorIs(t, call(e, "r", nil), breaker.ErrOpen)
	clk.Advance(5 * time.Second)
	refuse.Store(true)
	for range 10 {
		require.ErrorIs(t, call(e, "r", nil), errBoom, "the probe is lent and given back")
	}
	refuse.Store(false)
	require.NoError(t, call(e, "r", nil))
	for _, r := range snap(t, e, "r").Rules[:3] {
		require.Equal(t, "closed", r.State)
	}
}

// faults #28: two breakers with different open times on one resource both close.
func TestTwoBreakersBothClose(t *testing.T) {
	t.Parallel()
	slow, quick := errorBreaker("slow", "r"), errorBreaker("quick", "r")
	slow.Open, quick.Open = 20*time.Second, 10*time.Second
	e, clk := newTest(t, breakerRules(quick, slow))
	for range 4 {
		require.NoError(t, call(e, "r", errBoom))
	}
	for range 10 { // traffic goes on from 10s on
		clk.Advance(time.Second)
		require.Error(t, call(e, "r", nil))
	}
	for range 9 {
		clk.Advance(time.Second)
		require.Error(t, call(e, "r", nil), "the slow one is still open")
	}
	clk.Advance(time.Second)
	require.NoError(t, call(e, "r", nil))
	for _, r := range snap(t, e, "r").Rules {
		require.Equal(t, "closed", r.State, r.ID)
	}
}

// faults #29: one probe in flight, whoever races.
func TestHalfOpenAdmitsOneProbe(t *testing.T) {
	t.Parallel()
	e, clk := newTest(t, breakerRules(errorBreaker("b", "r")))
	for range 4 {
		call(e, "r", errBoom)
	}
	clk.Advance(5 * time.Second)
	var mu sync.Mutex
	var probes []*Entry
	race(func(int) {
		if ent, err := e.Enter(bg, Request{Resource: "r"}); err == nil {
			mu.Lock()
			probes = append(probes, &ent)
			mu.Unlock()
		}
	})
	require.Len(t, probes, 1)
	// faults #31: an ignored probe gives its permit back.
	probes[0].End(Ignored)
	require.NoError(t, call(e, "r", nil))
	require.Equal(t, "closed", snap(t, e, "r").Rules[0].State)
}

// faults #10: the cost counts, not the call.
func TestCostCounts(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, Rules{Concurrency: []flow.ConcurrencyRule{atMost("c", "slots", 10)}, Flow: []flow.Rule{limit("f", "rate", 10)}})
	for _, resource := range []string{"slots", "rate"} {
		ent, err := e.Enter(bg, Request{Resource: resource, Cost: 8})
		require.NoError(t, err)
		_, err = e.Enter(bg, Request{Resource: resource, Cost: 8})
		require.ErrorIs(t, err, ErrBlocked)
		ent.Exit(nil)
	}
	ent, err := e.Enter(bg, Request{Resource: "slots", Cost: 10})
	require.NoError(t, err)
	ent.Exit(nil)
}

// faults #86: a rate and a pacing rule on one resource: checks reserve, waiting comes last.
// faults #87: and a bulkhead holds though calls wait for their turn.
func TestWaitingComesLast(t *testing.T) {
	t.Parallel()
	e, clk := newTest(t, Rules{
		Flow: []flow.Rule{
			{ID: "reject", Resource: rule.Name("r"), Limit: 10, Per: time.Hour}, // longer than it can take until the last has come
			{ID: "pace", Resource: rule.Name("r"), Limit: 100, Mode: flow.Pace, MaxWait: time.Minute},
		},
		Concurrency: []flow.ConcurrencyRule{atMost("c", "r", 7)},
	})
	var admitted, running, most atomic.Int64
	var wg sync.WaitGroup
	for range racers {
		wg.Go(func() {
			ent, err := e.Enter(bg, Request{Resource: "r"})
			if err != nil {
				return
			}
			admitted.Add(1)
			n := running.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			running.Add(-1)
			ent.Exit(nil)
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	for waiting := true; waiting; {
		select {
		case <-done:
			waiting = false
		default: // whoever waits, and whoever comes late
			yield()
			clk.Advance(time.Millisecond / 2)
		}
	}
	require.LessOrEqual(t, admitted.Load(), int64(10))
	require.LessOrEqual(t, most.Load(), int64(7))
	require.Positive(t, admitted.Load())
}

func TestPacingSpreadsAndHonoursTheContext(t *testing.T) {
	t.Parallel()
	rules := flowRules(flow.Rule{ID: "p", Resource: rule.Name("r"), Limit: 10, Mode: flow.Pace, MaxWait: 10 * time.Second})
	e, clk := newTest(t, rules)
	require.NoError(t, call(e, "r", nil))
	at := make(chan time.Duration, 1)
	go func() {
		call(e, "r", nil)
		at <- clk.Now()
	}()
	clk.BlockUntil(1)
	ctx, cancel := context.WithCancel(bg)
	gaveUp := make(chan error, 1)
	go func() {
		_, err := e.Enter(ctx, Request{Resource: "r"})
		gaveUp <- err
	}()
	clk.BlockUntil(2)
	cancel()
	require.ErrorIs(t, <-gaveUp, context.Canceled)
	clk.Advance(100 * time.Millisecond)
	require.Equal(t, 100*time.Millisecond, <-at)
	clk.Advance(100 * time.Millisecond)
	require.NoError(t, call(e, "r", nil), "faults #24: the turn that was given up is free again")
	require.EqualValues(t, 1, snap(t, e, "r").GaveUp)
}

// faults #24: waiters that give up hold nothing.
func TestQueueWaitersGiveUp(t *testing.T) {
	t.Parallel()
	q := atMost("q", "r", 1)
	q.MaxWait, q.Queue = time.Minute, 8
	e, clk := newTest(t, bulkRules(q))
	holder, err := e.Enter(bg, Request{Resource: "r"})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(bg)
	errs := make(chan error, 16)
	for range 8 {
		go func() {
			_, err := e.Enter(ctx, Request{Resource: "r"})
			errs <- err
		}()
	}
	require.Eventually(t, func() bool { return snap(t, e, "r").Rules[0].Queued == 8 }, 10*time.Second, time.Millisecond)
	_, err = e.Enter(bg, Request{Resource: "r"})
	require.ErrorIs(t, err, flow.ErrSaturated, "the queue is full")
	cancel()
	for range 8 {
		require.ErrorIs(t, <-errs, context.Canceled)
	}
	holder.Exit(nil)
	require.NoError(t, call(e, "r", nil))
	// and a waiter whose time is over is refused
	holder, err = e.Enter(bg, Request{Resource: "r"})
	require.NoError(t, err)
	go func() {
		_, err := e.Enter(bg, Request{Resource: "r"})
		errs <- err
	}()
	clk.BlockUntil(1)
	clk.Advance(time.Minute)
	require.ErrorIs(t, <-errs, flow.ErrSaturated)
	holder.Exit(nil)
}

// faults #88, #89: a place is held until the call ends, and is free once it has.
func TestPlacesReturnWithTheCall(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, bulkRules(atMost("c", "r", 2)))
	var refused atomic.Int64
	var wg sync.WaitGroup
	for range 2 { // two callers never need more than two places
		wg.Go(func() {
			for range 20_000 {
				if call(e, "r", nil) != nil {
					refused.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.Zero(t, refused.Load())
	ctx, cancel := context.WithCancel(bg)
	ent, err := e.Enter(ctx, Request{Resource: "r", Cost: 2})
	require.NoError(t, err)
	cancel() // the caller is gone, the work is not
	require.ErrorIs(t, call(e, "r", nil), ErrBlocked)
	ent.Exit(nil)
	require.NoError(t, call(e, "r", nil))
}

// faults #76: slots come back after time-outs and panics.
func TestSlotsComeBackAfterPanics(t *testing.T) {
	t.Parallel()
	e, _ := newTest(t, bulkRules(atMost("c", "r", 10)))
	race(func(i int) {
		defer func() { recover() }()
		e.Do(bg, "r", func(context.Context) error {
			if i%2 == 0 {
				panic("at work")
			}
			return context.DeadlineExceeded
		})
	})
	require.Equal(t, 10, heldAtOnce(e, "r"))
}

func TestCheckers(t *testing.T) {
	t.Parallel()
	var log []string
	k := &loggingChecker{log: &log}
	rec := &recorder{}
	e, _ := newTest(t, Rules{}, WithChecker(k), WithChecker(stalling{func(c *CheckedCall) error {
		if c.Request.Origin == "bad" {
			return errBoom
		}
		if c.Request.Origin == "worse" {
			return &BlockedError{Kind: KindCustom, RuleID: "mine", Resource: c.Request.Resource}
		}
		return nil
	}}), WithObserver(rec.observer()))
	ent, err := e.Enter(bg, Request{Resource: "r", Args: []any{7}})
	require.NoError(t, err)
	err = errBoom
	ent.Exit(&err)
	require.Equal(t, []string{"check r 1 [7]", "done failure true"}, log)
	log = nil
	_, err = e.Enter(bg, Request{Resource: "r", Origin: "bad"})
	require.ErrorIs(t, err, errBoom)
	require.ErrorIs(t, err, ErrBlocked)
	require.Equal(t, []string{"check r 1 []", "done ignored false"}, log)
	_, err = e.Resource("r").EnterWith(bg, Request{Origin: "worse"})
	var b *BlockedError
	require.ErrorAs(t, err, &b)
	require.Equal(t, "mine", b.RuleID)
	require.EqualValues(t, 2, snap(t, e, "r").Blocked["custom"])
	require.Len(t, rec.blocks, 2)
	require.Equal(t, "bad", rec.blocks[0].Origin)
}

type loggingChecker struct{ log *[]string }

func (loggingChecker) Name() string { return "logging" }
func (k loggingChecker) Check(c *CheckedCall) error {
	*k.log = append(*k.log, "check "+c.Request.Resource+" "+number(float64(c.Request.Cost))+" "+sprint(c.Request.Args))
	return nil
}
func (k loggingChecker) Done(_ *CheckedCall, o Outcome, _ time.Duration, ran bool) {
	*k.log = append(*k.log, "done "+o.String()+" "+sprint(ran))
}

// Law 9: an internal fault does what the option says, is counted and reported, and never crashes the caller.
func TestFaultPolicy(t *testing.T) {
	t.Parallel()
	for _, policy := range []FaultPolicy{PassOnFault, BlockOnFault} {
		rec := &recorder{}
		o := rec.observer()
		o.Block = func(BlockEvent) { panic("observer") }
		e, _ := newTest(t, Rules{}, WithFaultPolicy(policy), WithObserver(o), WithObserver(Observer{Fault: func(FaultEvent) { panic("again") }}),
			WithChecker(stalling{func(*CheckedCall) error { panic(errBoom) }}))
		err := call(e, "r", nil)
		if policy == PassOnFault {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, ErrFault)
			require.ErrorIs(t, err, ErrBlocked)
		}
		require.Positive(t, e.Snapshot().Faults)
		require.ErrorIs(t, rec.faults[0].Err, errBoom)
		require.Equal(t, "checker stalling", rec.faults[0].Where)
		require.Equal(t, "r", rec.faults[0].Resource)
	}
}

// faults #33: observers may call the engine, since no lock is held.
func TestObserversMayCallTheEngine(t *testing.T) {
	t.Parallel()
	var e *Engine
	var states []string
	seen := func(BlockEvent) { e.Snapshot() }
	e, clk := newTest(t, breakerRules(errorBreaker("b", "r")), WithObserver(Observer{
		Block: seen,
		Breaker: func(ev BreakerEvent) {
			s, _ := e.ResourceSnapshot("r")
			states = append(states, ev.Transition.From.String()+">"+ev.Transition.To.String()+"="+s.Rules[0].State)
			call(e, "other", nil)
		},
	}))
	for range 4 {
		call(e, "r", errBoom)
	}
	call(e, "r", nil)
	clk.Advance(5 * time.Second)
	call(e, "r", nil)
	require.Equal(t, []string{"closed>open=open", "open>halfOpen=halfOpen", "halfOpen>closed=closed"}, states)
}

func TestShadowCountsAndDoesNothing(t *testing.T) {
	t.Parallel()
	f, c, b := limit("f", "r", 2), atMost("c", "r", 1), errorBreaker("b", "r")
	q := atMost("q", "r", 1)
	q.MaxWait = time.Hour
	p := flow.Rule{ID: "p", Resource: rule.Name("r"), Limit: 1, Mode: flow.Pace, MaxWait: time.Hour}
	f.Shadow, c.Shadow, b.Shadow, q.Shadow, p.Shadow = true, true, true, true, true
	rec := &recorder{}
	e, _ := newTest(t, Rules{Flow: []flow.Rule{f, p}, Concurrency: []flow.ConcurrencyRule{c, q}, Breaker: []breaker.Rule{b}}, WithObserver(rec.observer()))
	var held []*Entry
	for range 5 {
		ent, err := e.Enter(bg, Request{Resource: "r", Origin: "me"})
		require.NoError(t, err)
		held = append(held, &ent)
	}
	for _, ent := range held {
		ent.Exit(&errBoomVar)
	}
	require.Equal(t, 3, passes(e, "r", 3), "an open breaker in shadow refuses nothing")
	s := snap(t, e, "r")
	require.Empty(t, s.Blocked)
	require.EqualValues(t, 3+3, s.Shadow["flow"])
	require.EqualValues(t, 4+4, s.Shadow["concurrency"])
	require.EqualValues(t, 3, s.Shadow["breaker"])
	require.EqualValues(t, 8, s.Passed)
	require.Zero(t, s.InFlight)
	for _, r := range s.Rules {
		require.True(t, r.Shadow)
		if r.Kind == "concurrency" {
			require.Zero(t, r.Usage, "what was not taken is not given back")
		}
	}
	require.Len(t, rec.blocks, 17)
	require.True(t, rec.blocks[0].Shadow)
	require.Equal(t, "me", rec.blocks[0].Origin)
	require.True(t, rec.breakers[0].Shadow)
}

var errBoomVar error = errors.New("boom")
