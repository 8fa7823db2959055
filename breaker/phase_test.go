package breaker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/stat"
)

// A caller that saw the open time over, but comes to probe only when the breaker is open anew, must not cut that short.
func TestProbeComesTooLate(t *testing.T) {
	b, err := New(Rule{Trip: Consecutive, Threshold: 1, Open: time.Second}, 0, nil)
	require.NoError(t, err)
	fail := func(now time.Duration) {
		p, _, ok := b.Acquire(now)
		require.True(t, ok)
		b.Done(now, p, stat.Failure, 0)
	}
	fail(0)
	fail(time.Second) // the probe of another
	_, ok := b.probe(time.Second)
	require.False(t, ok)
	require.Equal(t, Open, b.State())

	require.NoError(t, b.Force(Closed, 0))
	_, ok = b.probe(time.Second)
	require.False(t, ok)
	require.Equal(t, Closed, b.State())
}

// Faults #29: callers that all saw room for a probe, and come to take it one after the other, get no more than there is.
func TestProbesComeTooLate(t *testing.T) {
	for probes := 1; probes <= 4; probes++ {
		b, err := New(Rule{Trip: Consecutive, Threshold: 1, Open: time.Second, Probes: probes}, 0, nil)
		require.NoError(t, err)
		p, _, _ := b.Acquire(0)
		b.Done(0, p, stat.Failure, 0)
		for i := range 2 * probes {
			_, ok := b.probe(time.Second)
			require.Equal(t, i < probes, ok)
		}
		require.Equal(t, probes, b.Status(time.Second).ProbesInFlight)
	}
}

// A failure judged by callers that looked at a phase before it passed opens nothing: one trip, one transition.
func TestTripComesTooLate(t *testing.T) {
	b, err := New(Rule{Trip: Consecutive, Threshold: 1}, 0, nil)
	require.NoError(t, err)
	old := b.phase.Load()
	b.countBad(old, 0, stat.Failure)
	require.Equal(t, Open, b.State())
	require.NoError(t, b.Force(Closed, 0))
	b.countBad(old, 0, stat.Failure)
	require.Equal(t, Closed, b.State())
	require.True(t, b.Idle(0))
}

// A call judged by the rule of before an edit must not keep the next one from being judged by the edited rule.
func TestJudgementComesTooLate(t *testing.T) {
	b, err := New(Rule{Threshold: 0.5, MinCalls: 4}, 0, nil)
	require.NoError(t, err)
	end := func(outcome stat.Outcome) {
		p, _, _ := b.Acquire(0)
		b.Done(0, p, outcome, 0)
	}
	end(stat.Failure)
	for range 4 {
		end(stat.Success)
	}
	old := b.phase.Load()
	_, err = b.Update(Rule{Threshold: 0.1, MinCalls: 4}, 0)
	require.NoError(t, err)
	b.judge(old, 0, 0)
	require.Equal(t, Closed, b.State())
	end(stat.Success)
	require.Equal(t, Open, b.State())
}

// What was concluded before a bad call must not be noted after it.
func TestWatch(t *testing.T) {
	var w watch
	require.True(t, w.calm(1))
	before := w.word.Load()
	w.alarm()
	require.False(t, w.calm(1))
	w.note(before, 1, judgeNone)
	require.False(t, w.calm(1))

	before = w.word.Load()
	w.alarm()
	w.note(before, 1, judgeOthers)
	require.False(t, w.calm(1))

	w.note(w.word.Load(), 1<<40|7, judgeOthers)
	require.True(t, w.calm(1<<40|7))
	require.False(t, w.calm(1<<40|8))
	w.note(w.word.Load(), 0, judgeNone)
	require.True(t, w.calm(1<<40|8))

	w.word.Store(^uint64(0)) // the version wraps around
	w.alarm()
	require.Equal(t, uint64(judgeAll), w.word.Load())
}

// Stamps go round without ever being the zero Permit's, or a probe's.
func TestStamps(t *testing.T) {
	require.Equal(t, Permit(2), nextStamp(1))
	require.Equal(t, Permit(1), nextStamp(probeFlag-1))
}
