package breaker

import (
	"fmt"
	"time"
)

// A Transition is one change of state with the numbers that decided.
type Transition struct {
	// From is the state that was left, To the one entered.
	From, To State
	// At is the reading of the clock that the call that caused it came with.
	At time.Duration
	// Reason says in words why ("12 of 20 calls failed (60%), threshold 50%").
	Reason string
	// Calls, Failures and Slow are the window's counts that decided, or the half-open probes' when leaving half-open.
	// Slow is counted for slowRatio only. For consecutive, Calls and Failures are the failures in a row.
	Calls, Failures, Slow int64
	// OpenFor is how long the breaker now stays open; 0 unless To is Open.
	OpenFor time.Duration
	// Reopened counts failed recoveries in a row, this one included.
	Reopened int
}

// change enters a state and returns its phase. The caller must hold b.mu, and call tell when it has let it go.
func (b *Breaker) change(now time.Duration, to State, n counts, reason string) *phase {
	from := b.phase.Load()
	b.stamp = nextStamp(b.stamp)
	next := &phase{permit: b.stamp, state: to, settings: from.settings}
	switch {
	case to == HalfOpen:
	case to == Open && from.state == HalfOpen:
		b.reopened++
	default:
		b.reopened = 0
	}
	var openFor time.Duration
	switch to {
	case Closed, ForcedClosed:
		next.tally = newTally(&next.settings)
	case HalfOpen:
		next.recovery = newRecovery(&next.settings)
	case Open:
		openFor = next.settings.openTime(int(b.reopened), b.random)
		next.until = now + openFor
	}
	b.phase.Store(next)
	b.last = &Transition{
		From: from.state, To: to, At: now, Reason: reason,
		Calls: n.calls, Failures: n.failures, Slow: n.slow,
		OpenFor: openFor, Reopened: int(b.reopened),
	}
	if b.onChange != nil {
		b.pending = append(b.pending, *b.last)
	}
	return next
}

// tell calls onChange for the pending transitions, unless someone is at it: then that one goes on with ours. The
// caller must not hold b.mu.
func (b *Breaker) tell() {
	b.mu.Lock()
	if b.telling {
		b.mu.Unlock()
		return
	}
	b.telling = true
	b.mu.Unlock()

	told := false
	defer func() {
		if !told { // onChange panicked (or ended the goroutine): leave the rest to the next one
			b.mu.Lock()
			b.telling = false
			b.mu.Unlock()
		}
	}()
	for t, ok := b.untold(); ok; t, ok = b.untold() {
		b.onChange(t)
	}
	told = true
}

// untold takes the oldest pending transition. If there is none, it ends the telling.
func (b *Breaker) untold() (Transition, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.pending) == 0 {
		b.pending, b.telling = nil, false
		return Transition{}, false
	}
	t := b.pending[0]
	b.pending = b.pending[1:]
	return t, true
}

// tripReason words what opened the breaker.
func (s *settings) tripReason(n counts) string {
	limit := "threshold "
	if s.above {
		limit = "threshold above "
	}
	switch s.trip {
	case Consecutive:
		return fmt.Sprintf("%s failed in a row, %s%v", plural(n.failures, "call"), limit, s.threshold)
	case ErrorCount:
		return fmt.Sprintf("%d of %s failed within %s, %s%v", n.failures, plural(n.calls, "call"), text(s.window), limit, s.threshold)
	}
	bad, what := n.failures, "failed"
	if s.trip == SlowRatio {
		bad, what = n.slow, "took longer than "+text(s.slowerThan)
	}
	share := percent(float64(bad) / float64(n.calls))
	return fmt.Sprintf("%d of %s %s (%s), %s%s", bad, plural(n.calls, "call"), what, share, limit, percent(s.threshold))
}

// probeReason words what was bad about a probe.
func (s *settings) probeReason(latency time.Duration) string {
	if s.trip == SlowRatio {
		return fmt.Sprintf("a probe took %s, longer than %s", text(latency), text(s.slowerThan))
	}
	return "a probe failed"
}
