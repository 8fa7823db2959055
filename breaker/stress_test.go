package breaker_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/stat"
)

// rounds scales the stress tests.
func rounds(long int) int {
	if testing.Short() || raceEnabled {
		return long / 10
	}
	return long
}

// together runs f in n goroutines that start at once, and waits for them.
func together(n int, f func(i int)) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			<-start
			f(i)
		})
	}
	ready.Wait()
	close(start)
	done.Wait()
}

// Faults #29, law 1: of 200 racing calls exactly Probes are admitted when the open time is over.
func TestProbesRaceForAdmission(t *testing.T) {
	for round := range rounds(1000) {
		probes := round%4 + 1
		b, events := newBreaker(t, breaker.Rule{Trip: breaker.Consecutive, Threshold: 1, Open: sec, Probes: probes})
		call(b, 0, stat.Failure, 0)
		var admitted atomic.Int64
		together(200, func(int) {
			if _, _, ok := b.Acquire(sec); ok {
				admitted.Add(1)
			}
		})
		require.Equal(t, int64(probes), admitted.Load())
		require.Len(t, *events, 2)
	}
}

// Faults #29, law 1: while probes come and go and lease times pass, no more than Probes are ever in flight.
func TestProbesInFlight(t *testing.T) {
	for _, probes := range []int{1, 3} {
		b, _ := newBreaker(t, breaker.Rule{
			Trip: breaker.Consecutive, Threshold: 1, Open: sec, Probes: probes, Successes: 1000, ProbeLease: 24 * time.Hour,
		})
		call(b, 0, stat.Failure, 0)
		var inFlight, admitted atomic.Int64
		var over atomic.Bool
		together(200, func(i int) {
			for n := range rounds(500) {
				p, _, ok := b.Acquire(sec)
				if !ok {
					continue
				}
				admitted.Add(1)
				if inFlight.Add(1) > int64(probes) {
					over.Store(true)
				}
				runtime.Gosched()
				inFlight.Add(-1)
				if (i+n)%2 == 0 {
					b.Cancel(sec, p)
				} else {
					b.Done(sec, p, stat.Ignored, 0)
				}
			}
		})
		require.False(t, over.Load(), "more than %d in flight", probes)
		require.Greater(t, admitted.Load(), int64(probes))
		require.Zero(t, b.Status(sec).ProbesInFlight)
		require.True(t, call(b, sec, stat.Success, 0))
	}
}

// No result is lost and none counts twice: the breaker opens at the very last of all failures, once.
func TestFailuresRace(t *testing.T) {
	const goroutines, each = 16, 25
	for round := range rounds(400) {
		missing := round % 2
		threshold := goroutines*each + missing
		b, events := newBreaker(t, breaker.Rule{Trip: breaker.ErrorCount, Threshold: float64(threshold), Open: sec})
		if round%4 < 2 {
			b, events = newBreaker(t, breaker.Rule{Trip: breaker.Consecutive, Threshold: float64(threshold), Open: sec})
		}
		together(goroutines, func(int) {
			for range each {
				call(b, 0, stat.Failure, 0)
			}
		})
		if missing == 1 {
			require.Equal(t, breaker.Closed, b.State())
			require.Equal(t, int64(threshold-1), b.Status(0).Failures)
			call(b, 0, stat.Failure, 0)
		}
		require.Equal(t, breaker.Open, b.State())
		require.Len(t, *events, 1)
		require.Equal(t, int64(threshold), (*events)[0].Failures)
	}
}

// Law 2: edits lose no result of the calls that race with them.
func TestEditsRace(t *testing.T) {
	const goroutines, each = 8, 100
	for range rounds(100) {
		r := breaker.Rule{Trip: breaker.ErrorCount, Threshold: goroutines * each, Open: sec}
		b, events := newBreaker(t, r)
		var over atomic.Bool
		var edits sync.WaitGroup
		edits.Go(func() {
			for i := 0; !over.Load(); i++ {
				edited := r
				edited.Open = time.Duration(i%5+1) * sec
				kept, err := b.Update(edited, 0)
				assert.NoError(t, err)
				assert.True(t, kept)
			}
		})
		together(goroutines, func(int) {
			for range each {
				call(b, 0, stat.Failure, 0)
			}
		})
		over.Store(true)
		edits.Wait()
		require.Equal(t, breaker.Open, b.State())
		require.Equal(t, int64(goroutines*each), (*events)[0].Failures)
	}
}

// Whoever of racing callers makes the window hold MinCalls, with a good call or a bad one, opens the breaker.
func TestMinCallsRace(t *testing.T) {
	const goroutines = 8
	for round := range rounds(8000) {
		failures := round%(goroutines-1) + 1
		b, events := newBreaker(t, breaker.Rule{Threshold: float64(failures) / goroutines, MinCalls: goroutines, Open: sec})
		together(goroutines, func(i int) {
			outcome := stat.Success
			if i < failures {
				outcome = stat.Failure
			}
			call(b, 0, outcome, 0)
		})
		require.Equal(t, breaker.Open, b.State(), "%d failures", failures)
		require.Len(t, *events, 1)
	}
}

// Racing callers, edits and hands on the switch: every transition is told once, one at a time, each from the state the
// one before led to, and what the last one says is so.
func TestTransitionsRace(t *testing.T) {
	var told []breaker.Transition
	var telling atomic.Int32
	r := breaker.Rule{Trip: breaker.Consecutive, Threshold: 3, Open: ms, Probes: 2, Successes: 3, ProbeLease: 100 * ms}
	var b *breaker.Breaker
	b, err := breaker.New(r, 0, func(e breaker.Transition) {
		assert.Equal(t, int32(1), telling.Add(1))
		told = append(told, e)
		b.Status(e.At)
		telling.Add(-1)
	})
	require.NoError(t, err)
	var clock atomic.Int64
	together(16, func(i int) {
		for n := range rounds(20_000) {
			now := time.Duration(clock.Add(int64(10 * time.Microsecond)))
			switch {
			case i == 0 && n%50 == 0:
				assert.NoError(t, b.Force([]breaker.State{breaker.ForcedOpen, breaker.ForcedClosed, breaker.Disabled, breaker.Closed}[n/50%4], now))
			case i == 1 && n%10 == 0:
				edited := r
				edited.Successes = n%3 + 1
				_, err := b.Update(edited, now)
				assert.NoError(t, err)
			case i == 2 && b.State() != breaker.Closed && n%3 == 0:
				assert.NoError(t, b.Force(breaker.Closed, now))
			}
			p, _, ok := b.Acquire(now)
			if !ok {
				continue
			}
			switch n % 7 {
			case 0: // lost
			case 1:
				b.Cancel(now, p)
			case 2, 3:
				b.Done(now, p, stat.Success, 0)
			default:
				b.Done(now, p, stat.Failure, 0)
			}
		}
	})
	require.NotEmpty(t, told)
	state := breaker.Closed
	seen := map[[2]breaker.State]int{}
	for _, e := range told {
		require.Equal(t, state, e.From)
		state = e.To
		seen[[2]breaker.State{e.From, e.To}]++
	}
	require.Equal(t, state, b.State())
	require.Equal(t, told[len(told)-1], b.Status(0).Last)
	for _, turn := range [][2]breaker.State{{breaker.Closed, breaker.Open}, {breaker.Open, breaker.HalfOpen}, {breaker.HalfOpen, breaker.Open}} {
		require.Positive(t, seen[turn], "%v", turn)
	}
}
