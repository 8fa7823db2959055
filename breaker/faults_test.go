package breaker_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/stat"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

// newBreaker returns a breaker at reading 0 and the list of its transitions.
func newBreaker(t testing.TB, r breaker.Rule) (*breaker.Breaker, *[]breaker.Transition) {
	t.Helper()
	var events []breaker.Transition
	b, err := breaker.New(r, 0, func(e breaker.Transition) { events = append(events, e) })
	require.NoError(t, err)
	return b, &events
}

// call makes one call and reports whether it was admitted.
func call(b *breaker.Breaker, now time.Duration, outcome stat.Outcome, latency time.Duration) bool {
	p, _, ok := b.Acquire(now)
	if ok {
		b.Done(now, p, outcome, latency)
	}
	return ok
}

func calls(b *breaker.Breaker, n int, now time.Duration, outcome stat.Outcome) {
	for range n {
		call(b, now, outcome, 0)
	}
}

// Faults #28: a probe that another check refuses gives its permit back, and the next call is a probe.
func TestProbeRefusedElsewhere(t *testing.T) {
	var both []*breaker.Breaker
	for _, open := range []time.Duration{10 * sec, 20 * sec} {
		b, _ := newBreaker(t, breaker.Rule{Trip: breaker.Consecutive, Threshold: 1, Open: open})
		require.True(t, call(b, 0, stat.Failure, 0))
		both = append(both, b)
	}
	for now := 10 * sec; now <= 21*sec; now += 100 * ms {
		var permits []breaker.Permit
		refused := false
		for _, b := range both { // one after the other, as an engine asks them
			p, _, ok := b.Acquire(now)
			if !ok {
				refused = true
				break
			}
			permits = append(permits, p)
		}
		for i, p := range permits {
			if refused {
				both[i].Cancel(now, p)
			} else {
				both[i].Done(now, p, stat.Success, 0)
			}
		}
		if now < 20*sec {
			require.Equal(t, breaker.HalfOpen, both[0].State())
		}
	}
	require.Equal(t, breaker.Closed, both[0].State())
	require.Equal(t, breaker.Closed, both[1].State())
}

// Faults #28: a probe that never reports is replaced when its lease is over, and its late report decides nothing.
func TestLostProbe(t *testing.T) {
	for _, late := range []stat.Outcome{stat.Success, stat.Failure, stat.Ignored} {
		b, events := newBreaker(t, breaker.Rule{Trip: breaker.Consecutive, Threshold: 1, Open: sec, ProbeLease: 10 * sec})
		call(b, 0, stat.Failure, 0)
		lost, _, ok := b.Acquire(1 * sec)
		require.True(t, ok)
		_, retry, ok := b.Acquire(2 * sec)
		require.False(t, ok)
		require.Equal(t, sec, retry, "the lease may be long; look again after the open time")
		_, retry, ok = b.Acquire(11*sec - 1)
		require.False(t, ok)
		require.Equal(t, time.Duration(1), retry)
		second, _, ok := b.Acquire(11 * sec)
		require.True(t, ok)

		b.Done(12*sec, lost, late, 11*sec)
		require.Equal(t, breaker.HalfOpen, b.State())
		require.Equal(t, 1, b.Status(12*sec).ProbesInFlight)
		_, _, ok = b.Acquire(12 * sec)
		require.False(t, ok, "the late report of the lost probe must not make room beside the second")

		b.Done(13*sec, second, stat.Success, 0)
		require.Equal(t, breaker.Closed, b.State())
		require.Len(t, *events, 3)
	}
}

// A lease that is over but not taken by another still counts.
func TestLateProbeWithoutReplacement(t *testing.T) {
	b, _ := newBreaker(t, breaker.Rule{Trip: breaker.Consecutive, Threshold: 1, Open: sec, ProbeLease: sec})
	call(b, 0, stat.Failure, 0)
	p, _, _ := b.Acquire(1 * sec)
	require.Zero(t, b.Status(100*sec).ProbesInFlight)
	b.Done(100*sec, p, stat.Success, 99*sec)
	require.Equal(t, breaker.Closed, b.State())
}

// Faults #31: an ignored or cancelled probe gives its permit back.
func TestIgnoredProbe(t *testing.T) {
	b, _ := newBreaker(t, breaker.Rule{Trip: breaker.Consecutive, Threshold: 1, Open: sec})
	call(b, 0, stat.Failure, 0)
	for range 3 {
		require.True(t, call(b, sec, stat.Ignored, 0))
		p, _, ok := b.Acquire(sec)
		require.True(t, ok)
		b.Cancel(sec, p)
		require.Equal(t, breaker.HalfOpen, b.State())
	}
	require.True(t, call(b, sec, stat.Success, 0))
	require.Equal(t, breaker.Closed, b.State())
}

// Faults #32: no rounding decides whether a share reaches its threshold.
func TestShareAtThreshold(t *testing.T) {
	third := 1.0 / 3
	one := 1.0
	for _, c := range []struct {
		trip      breaker.Trip
		bad, of   int
		threshold float64
		above     bool
		opens     bool
	}{
		{breaker.SlowRatio, 10, 10, 1, false, true},
		{breaker.SlowRatio, 3, 10, 0.3, false, true},
		{breaker.ErrorRatio, 10, 10, 1, false, true},
		{breaker.ErrorRatio, 3, 10, 0.3, false, true},
		{breaker.ErrorRatio, 3, 10, one - 0.7, false, true}, // 0.30000000000000004
		{breaker.ErrorRatio, 7, 100, 0.07, false, true},
		{breaker.ErrorRatio, 29, 100, 0.29, false, true},
		{breaker.ErrorRatio, 10, 30, third, false, true},
		{breaker.ErrorRatio, 20, 30, 2 * third, false, true},
		{breaker.ErrorRatio, 20, 30, 0.67, false, false},
		{breaker.ErrorRatio, 2, 10, 0.3, false, false},
		{breaker.ErrorRatio, 9, 10, 1, false, false},
		{breaker.ErrorRatio, 0, 10, 0.0000000001, false, false}, // below the tolerance, still no bad call
		// Strictly above, as Sentinel Java compares; at 1 its slow ratio opens at equality, its error ratio never.
		{breaker.SlowRatio, 3, 10, 0.3, true, false},
		{breaker.SlowRatio, 4, 10, 0.3, true, true},
		{breaker.SlowRatio, 10, 10, 1, true, true},
		{breaker.SlowRatio, 9, 10, 1, true, false},
		{breaker.ErrorRatio, 3, 10, one - 0.7, true, false},
		{breaker.ErrorRatio, 4, 10, 0.3, true, true},
		{breaker.ErrorRatio, 10, 10, 1, true, false},
		{breaker.ErrorRatio, 1, 10, 0, true, true},
		{breaker.ErrorRatio, 0, 10, 0, true, false},
		{breaker.ErrorCount, 2, 2, 2, false, true},
		{breaker.ErrorCount, 2, 2, 2, true, false},
		{breaker.ErrorCount, 3, 3, 2, true, true},
		{breaker.ErrorCount, 1, 1, 0, true, true},
		{breaker.Consecutive, 2, 2, 2, true, false},
		{breaker.Consecutive, 3, 3, 2, true, true},
	} {
		r := breaker.Rule{Trip: c.trip, Threshold: c.threshold, Above: c.above}
		if c.trip != breaker.Consecutive {
			r.MinCalls = c.of
		}
		if c.trip == breaker.SlowRatio {
			r.SlowerThan = ms
		}
		for _, goodFirst := range []bool{true, false} { // the last call decides, whichever kind it is of
			b, _ := newBreaker(t, r)
			for i := range c.of {
				isBad := i < c.bad
				if goodFirst {
					isBad = i >= c.of-c.bad
				}
				require.Equal(t, breaker.Closed, b.State())
				switch {
				case !isBad:
					call(b, 0, stat.Success, ms)
				case c.trip == breaker.SlowRatio:
					call(b, 0, stat.Success, ms+1)
				default:
					call(b, 0, stat.Failure, 0)
				}
			}
			require.Equal(t, c.opens, b.State() == breaker.Open, "%+v good first %v", c, goodFirst)
		}
	}
}

// A good call can open a breaker: when it is the one that makes MinCalls, and when older good calls rolled out of the window.
func TestGoodCallOpens(t *testing.T) {
	b, events := newBreaker(t, breaker.Rule{Threshold: 0.5, MinCalls: 4})
	calls(b, 2, 0, stat.Failure)
	calls(b, 1, 0, stat.Success)
	require.Equal(t, breaker.Closed, b.State())
	calls(b, 1, 0, stat.Success)
	require.Equal(t, breaker.Open, b.State())
	require.Equal(t, "2 of 4 calls failed (50%), threshold 50%", (*events)[0].Reason)

	b, events = newBreaker(t, breaker.Rule{Threshold: 0.5, MinCalls: 4, Window: 10 * sec})
	calls(b, 100, 0, stat.Success)
	calls(b, 9, 5*sec, stat.Failure)
	require.Equal(t, breaker.Closed, b.State())
	calls(b, 1, 10*sec, stat.Success)
	require.Equal(t, breaker.Open, b.State())
	require.Equal(t, "9 of 10 calls failed (90%), threshold 50%", (*events)[0].Reason)
}

// Faults #33: onChange runs with no lock held, may call every method, and is told everything in order.
func TestCallbackCallsBack(t *testing.T) {
	var b *breaker.Breaker
	var told []string
	inside := 0
	b, err := breaker.New(breaker.Rule{Trip: breaker.Consecutive, Threshold: 1, Open: sec}, 0, func(e breaker.Transition) {
		inside++
		require.Equal(t, 1, inside, "one at a time")
		told = append(told, e.From.String()+" "+e.To.String())
		now := e.At
		b.State()
		b.Status(now)
		b.Idle(now)
		kept, err := b.Update(breaker.Rule{Trip: breaker.Consecutive, Threshold: 1, Open: 2 * sec}, now)
		require.NoError(t, err)
		require.True(t, kept)
		p, _, _ := b.Acquire(now)
		b.Cancel(now, p)
		call(b, now, stat.Ignored, 0)
		if len(told) == 1 {
			require.NoError(t, b.Force(breaker.ForcedOpen, now))
			require.NoError(t, b.Force(breaker.Closed, now))
			call(b, now, stat.Failure, 0)
			require.Equal(t, breaker.Open, b.State())
		}
		inside--
	})
	require.NoError(t, err)
	call(b, 0, stat.Failure, 0)
	require.Equal(t, []string{"closed open", "open forcedOpen", "forcedOpen closed", "closed open"}, told)
}

// Faults #33: an onChange that panics harms neither the breaker nor the transitions after.
func TestCallbackPanics(t *testing.T) {
	var told []breaker.State
	b, err := breaker.New(breaker.Rule{Trip: breaker.Consecutive, Threshold: 1, Open: sec}, 0, func(e breaker.Transition) {
		told = append(told, e.To)
		if len(told) == 1 {
			panic("listener")
		}
	})
	require.NoError(t, err)
	require.PanicsWithValue(t, "listener", func() { call(b, 0, stat.Failure, 0) })
	require.Equal(t, breaker.Open, b.State())
	require.True(t, call(b, sec, stat.Success, 0))
	require.Equal(t, []breaker.State{breaker.Open, breaker.HalfOpen, breaker.Closed}, told)
}

// Faults #35: refusals are not counted, and a breaker is well again soon after the callee is: within the open time plus one
// probe.
func TestRecoversSoon(t *testing.T) {
	b, _ := newBreaker(t, breaker.Rule{Threshold: 0.5, Window: 10 * sec, MinCalls: 20, Open: 5 * sec})
	passed := 0
	for now := time.Duration(0); now < 85*sec; now += ms {
		outcome := stat.Success
		if now < 60*sec {
			outcome = stat.Failure
		}
		ok := call(b, now, outcome, 0)
		if ok && now >= 65*sec {
			passed++
		}
	}
	require.Equal(t, 20_000, passed)
}

// Faults #36: the window rolls; the share does not depend on when some interval began.
func TestWindowRolls(t *testing.T) {
	b, events := newBreaker(t, breaker.Rule{Threshold: 0.2, Window: 10 * sec})
	for now := time.Duration(0); now < 60*sec; now += ms {
		outcome := stat.Success
		if now%(10*sec) >= 9*sec { // a tenth fails, all in one second of ten
			outcome = stat.Failure
		}
		require.True(t, call(b, now, outcome, 0))
		if now >= 10*sec {
			st := b.Status(now)
			share := float64(st.Failures) / float64(st.Calls)
			require.LessOrEqual(t, share, 0.112)
		}
	}
	require.Empty(t, *events)
}

// Faults #37: a caller that gave up says nothing about the callee; a time-out does.
func TestCallerGaveUp(t *testing.T) {
	for _, trip := range []breaker.Trip{breaker.ErrorRatio, breaker.ErrorCount, breaker.Consecutive} {
		threshold := 100.0
		if trip == breaker.ErrorRatio {
			threshold = 0.5
		}
		b, _ := newBreaker(t, breaker.Rule{Trip: trip, Threshold: threshold})
		calls(b, 100, 0, stat.Ignored)
		require.Equal(t, breaker.Closed, b.State())
		require.True(t, b.Idle(0))
		calls(b, 100, 0, stat.Failure)
		require.Equal(t, breaker.Open, b.State())
	}
}

// Faults #38: an edit never closes an open breaker and never moves its timer.
func TestEditOfOpenBreaker(t *testing.T) {
	b, events := newBreaker(t, breaker.Rule{Threshold: 0.5, MinCalls: 1, Open: 10 * sec})
	call(b, 1*sec, stat.Failure, 0)
	for i, r := range []breaker.Rule{
		{Threshold: 0.9, MinCalls: 100, Open: sec},
		{Threshold: 0.9, Window: 20 * sec, Buckets: 3},
		{Trip: breaker.Consecutive, Threshold: 7},
		{Trip: breaker.SlowRatio, Threshold: 1, SlowerThan: sec, Open: 100 * sec},
	} {
		kept, err := b.Update(r, 2*sec)
		require.NoError(t, err)
		require.True(t, kept, i)
		require.Equal(t, 9*sec, b.Status(2*sec).RetryIn)
	}
	require.False(t, call(b, 11*sec-1, stat.Success, 0))
	require.True(t, call(b, 11*sec, stat.Success, 0))
	require.Equal(t, breaker.Closed, b.State())
	require.Len(t, *events, 3)
}

// Law 2: an edit while half-open leaves the probes in flight in force.
func TestEditOfHalfOpenBreaker(t *testing.T) {
	r := breaker.Rule{Trip: breaker.Consecutive, Threshold: 1, Open: sec, Probes: 3}
	b, _ := newBreaker(t, r)
	call(b, 0, stat.Failure, 0)
	var permits []breaker.Permit
	for range 3 {
		p, _, ok := b.Acquire(sec)
		require.True(t, ok)
		permits = append(permits, p)
	}
	b.Done(sec, permits[0], stat.Success, 0)
	r.Probes, r.Successes = 2, 2
	_, err := b.Update(r, sec)
	require.NoError(t, err)
	_, _, ok := b.Acquire(sec)
	require.False(t, ok, "two are in flight")
	r.Probes = 4
	_, err = b.Update(r, sec)
	require.NoError(t, err)
	for range 2 {
		_, _, ok = b.Acquire(sec)
		require.True(t, ok)
	}
	_, _, ok = b.Acquire(sec)
	require.False(t, ok)
	b.Done(sec, permits[1], stat.Success, 0)
	require.Equal(t, breaker.Closed, b.State())
}

// Faults #38: readings that arrive out of order move no timer by more than their disorder.
func TestReadingsOutOfOrder(t *testing.T) {
	const late = 3 * ms
	b, _ := newBreaker(t, breaker.Rule{Trip: breaker.Consecutive, Threshold: 2, Open: sec, ProbeLease: sec})
	call(b, 10*sec, stat.Failure, 0)
	call(b, 10*sec-late, stat.Failure, 0) // opens
	_, retry, ok := b.Acquire(10 * sec)
	require.False(t, ok)
	require.Equal(t, sec-late, retry)
	_, retry, ok = b.Acquire(10*sec - 2*late)
	require.False(t, ok)
	require.Equal(t, sec+late, retry)

	lost, _, ok := b.Acquire(11 * sec)
	require.True(t, ok)
	_, _, ok = b.Acquire(11*sec - late) // too early to probe, had it come in time
	require.False(t, ok)
	_, _, ok = b.Acquire(12*sec - 1)
	require.False(t, ok)
	p, _, ok := b.Acquire(12 * sec)
	require.True(t, ok)
	b.Done(11*sec, lost, stat.Failure, 0)
	b.Done(12*sec-late, p, stat.Success, 0)
	require.Equal(t, breaker.Closed, b.State())
	call(b, 12*sec-late, stat.Failure, 0)
	require.Equal(t, int64(1), b.Status(12*sec).Failures)
}

// Faults #79: a transition carries the numbers that decided it, transitions balance, and a close says what its probes did.
func TestTransitionNumbers(t *testing.T) {
	b, events := newBreaker(t, breaker.Rule{Threshold: 0.4, MinCalls: 5, Open: sec, Probes: 2, Successes: 3})
	calls(b, 2, 0, stat.Failure)
	calls(b, 3, 0, stat.Success)
	require.True(t, call(b, sec, stat.Success, 0))
	calls(b, 1, sec, stat.Failure)
	calls(b, 3, 2*sec, stat.Success)
	want := []breaker.Transition{
		{From: breaker.Closed, To: breaker.Open, Calls: 5, Failures: 2, OpenFor: sec, Reason: "2 of 5 calls failed (40%), threshold 40%"},
		{From: breaker.Open, To: breaker.HalfOpen, At: sec, Reason: "the open time is over"},
		{From: breaker.HalfOpen, To: breaker.Open, At: sec, Calls: 2, Failures: 1, OpenFor: sec, Reopened: 1, Reason: "a probe failed"},
		{From: breaker.Open, To: breaker.HalfOpen, At: 2 * sec, Reopened: 1, Reason: "the open time is over"},
		{From: breaker.HalfOpen, To: breaker.Closed, At: 2 * sec, Calls: 3, Reason: "3 good probes"},
	}
	require.Equal(t, want, *events)
	require.Equal(t, want[4], b.Status(2*sec).Last)
	require.True(t, b.Idle(2*sec))
}

// The open time doubles with every failed recovery up to its cap, and starts over after a good one.
func TestOpenTimeGrows(t *testing.T) {
	b, events := newBreaker(t, breaker.Rule{Trip: breaker.Consecutive, Threshold: 1, Open: 2 * sec, MaxOpen: 7 * sec})
	now := time.Duration(0)
	fail := func() time.Duration {
		call(b, now, stat.Failure, 0)
		last := (*events)[len(*events)-1]
		now += last.OpenFor
		return last.OpenFor
	}
	var times []time.Duration
	for range 5 {
		times = append(times, fail())
	}
	require.True(t, call(b, now, stat.Success, 0))
	times = append(times, fail(), fail())
	require.Equal(t, []time.Duration{2 * sec, 4 * sec, 7 * sec, 7 * sec, 7 * sec, 2 * sec, 4 * sec}, times)
	for range 100 { // far beyond where doubling would overflow
		require.Equal(t, 7*sec, max(fail(), 7*sec))
	}
}

// Jitter stays within its share and uses all of it.
func TestJitter(t *testing.T) {
	var times []time.Duration
	for range 300 {
		b, events := newBreaker(t, breaker.Rule{Trip: breaker.Consecutive, Threshold: 1, Open: 10 * sec, Jitter: 0.2})
		call(b, 0, stat.Failure, 0)
		times = append(times, (*events)[0].OpenFor)
		require.Equal(t, (*events)[0].OpenFor, b.Status(0).RetryIn)
	}
	slices.Sort(times)
	require.GreaterOrEqual(t, times[0], 8*sec)
	require.LessOrEqual(t, times[299], 12*sec)
	require.Less(t, times[0], 9*sec)
	require.Greater(t, times[299], 11*sec)
}

// A slowRatio looks at latency only, a probe included, and counts failures beside.
func TestSlowRatio(t *testing.T) {
	b, events := newBreaker(t, breaker.Rule{Trip: breaker.SlowRatio, Threshold: 0.5, SlowerThan: 100 * ms, MinCalls: 4, Open: sec})
	call(b, 0, stat.Failure, 100*ms)
	call(b, 0, stat.Success, -ms)
	call(b, 0, stat.Failure, 101*ms)
	require.Equal(t, breaker.Closed, b.State())
	call(b, 0, stat.Success, 200*ms)
	require.Equal(t, breaker.Open, b.State())
	e := (*events)[0]
	require.Equal(t, []int64{4, 2, 2}, []int64{e.Calls, e.Failures, e.Slow})
	require.Equal(t, "2 of 4 calls took longer than 100ms (50%), threshold 50%", e.Reason)

	call(b, sec, stat.Success, 101*ms)
	require.Equal(t, "a probe took 101ms, longer than 100ms", (*events)[2].Reason)
	call(b, 2*sec, stat.Failure, ms)
	require.Equal(t, breaker.Closed, b.State())
}

// What is forced by hand holds until it is released, and then the breaker is as new.
func TestForce(t *testing.T) {
	b, events := newBreaker(t, breaker.Rule{Trip: breaker.ErrorCount, Threshold: 2, Open: sec})
	early, _, _ := b.Acquire(0)
	call(b, 0, stat.Failure, 0)

	require.NoError(t, b.Force(breaker.ForcedOpen, 0))
	require.NoError(t, b.Force(breaker.ForcedOpen, 0))
	require.Len(t, *events, 1)
	require.Equal(t, int64(1), (*events)[0].Failures)
	_, retry, ok := b.Acquire(1000 * sec)
	require.False(t, ok)
	require.Equal(t, sec, retry)
	b.Done(0, early, stat.Failure, 0)

	require.NoError(t, b.Force(breaker.ForcedClosed, 0))
	calls(b, 10, 0, stat.Failure)
	require.Equal(t, breaker.ForcedClosed, b.State())
	require.Equal(t, int64(10), b.Status(0).Failures)
	require.False(t, b.Idle(100*sec), "a forced breaker is not as new")

	require.NoError(t, b.Force(breaker.Disabled, 0))
	calls(b, 10, 0, stat.Failure)
	require.Zero(t, b.Status(0).Calls)

	require.NoError(t, b.Force(breaker.Closed, 0))
	b.Done(0, early, stat.Failure, 0)
	require.True(t, b.Idle(0))
	calls(b, 2, 0, stat.Failure)
	require.Equal(t, breaker.Open, b.State())
	require.NoError(t, b.Force(breaker.Closed, 0), "released from open too")
	require.Equal(t, breaker.Closed, b.State())

	for _, s := range []breaker.State{breaker.Open, breaker.HalfOpen, 99} {
		require.ErrorContains(t, b.Force(s, 0), "want forcedOpen, forcedClosed, disabled")
	}
	require.Len(t, *events, 6)
}

// A breaker forced closed never opens, whatever its trip, and counts all the same.
func TestForcedClosedNeverOpens(t *testing.T) {
	for _, r := range []breaker.Rule{
		{Threshold: 0.1, MinCalls: 1},
		{Trip: breaker.SlowRatio, Threshold: 0.1, MinCalls: 1, SlowerThan: ms},
		{Trip: breaker.ErrorCount, Threshold: 1},
		{Trip: breaker.Consecutive, Threshold: 1},
	} {
		b, events := newBreaker(t, r)
		require.NoError(t, b.Force(breaker.ForcedClosed, 0))
		for range 20 {
			require.True(t, call(b, 0, stat.Failure, sec))
		}
		require.Equal(t, breaker.ForcedClosed, b.State())
		require.Equal(t, int64(20), b.Status(0).Failures)
		require.Len(t, *events, 1)
	}
}

// Law 2: counts survive an edit, and a new window takes them over.
func TestEditKeepsCounts(t *testing.T) {
	r := breaker.Rule{Threshold: 0.5, MinCalls: 4, Window: 10 * sec}
	b, events := newBreaker(t, r)
	calls(b, 1, 500*ms, stat.Success)
	calls(b, 2, 5*sec, stat.Failure)
	for _, edited := range []breaker.Rule{
		{Threshold: 0.9, MinCalls: 4, Window: 10 * sec},
		{Threshold: 0.5, MinCalls: 100, Window: 20 * sec, Buckets: 40},
		{Trip: breaker.ErrorCount, Threshold: 3, Window: 20 * sec, Buckets: 40},
		{Threshold: 0.5, MinCalls: 4, Window: 5 * sec, Buckets: 5},
	} {
		kept, err := b.Update(edited, 5*sec)
		require.NoError(t, err)
		require.True(t, kept)
		require.Equal(t, int64(2), b.Status(5*sec).Failures)
	}
	require.Equal(t, int64(2), b.Status(5*sec).Calls, "the shorter window ends after the first call")
	calls(b, 1, 5*sec, stat.Success)
	require.Empty(t, *events)
	calls(b, 1, 5*sec, stat.Success)
	require.Equal(t, "2 of 4 calls failed (50%), threshold 50%", (*events)[0].Reason)
}

// A rule with faults changes nothing.
func TestUpdateRefusesFaults(t *testing.T) {
	b, _ := newBreaker(t, breaker.Rule{Trip: breaker.Consecutive, Threshold: 2})
	call(b, 0, stat.Failure, 0)
	kept, err := b.Update(breaker.Rule{Trip: breaker.Consecutive, Threshold: 0.5}, 0)
	require.Error(t, err)
	require.True(t, kept)
	call(b, 0, stat.Failure, 0)
	require.Equal(t, breaker.Open, b.State())
}
