package breaker

import (
	"fmt"
	"time"
)

// State returns the current state. An open breaker whose time is over is still Open until a call probes it.
func (b *Breaker) State() State { return b.phase.Load().state }

// Force sets ForcedOpen, ForcedClosed or Disabled by hand, or releases the breaker with Closed: it is then as new,
// whatever state it was in. In that state already, it stays as it is. Open and HalfOpen cannot be forced and give an error.
func (b *Breaker) Force(s State, now time.Duration) error {
	reason := "forced " + s.String() + " by hand"
	switch s {
	case Closed:
		reason = "released by hand"
	case ForcedOpen, ForcedClosed, Disabled:
	default:
		return fmt.Errorf("breaker: cannot be forced %v; want forcedOpen, forcedClosed, disabled, or closed to release it", s)
	}
	b.mu.Lock()
	ph := b.phase.Load()
	changes := ph.state != s
	if changes {
		b.change(now, s, ph.counts(now), reason)
	}
	b.mu.Unlock()
	if changes {
		b.tell()
	}
	return nil
}

// Update puts an edited rule in force. The state stays, with its timer, its probes and what is forced by hand: an edit
// never closes a breaker. Edited times and numbers of probes apply to what begins after.
//
// The counts stay too. If Window or Buckets changed they are carried into the new window, to the precision of a bucket (a call that ends
// in that very moment may be missed). What an edit of Trip makes meaningless is dropped: then kept is false, and
// counting starts anew. A lower Threshold decides at the next call that ends.
//
// A rule with faults changes nothing and is returned as an error, see New.
func (b *Breaker) Update(r Rule, now time.Duration) (kept bool, err error) {
	if err := r.faults(); err != nil {
		return true, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	ph := b.phase.Load()
	next := *ph
	next.settings = newSettings(r)
	kept = true
	if ph.tally != nil {
		next.tally, kept = ph.tally.edited(now, &ph.settings, &next.settings)
	}
	if ph.recovery != nil {
		ph.recovery.settle(&next.settings)
	}
	b.phase.Store(&next)
	if next.tally != nil {
		next.tally.watch.alarm()
	}
	return kept, nil
}

// Status is a breaker at one moment.
type Status struct {
	// State is as the method State returns it.
	State State
	// Calls, Failures and Slow are the window's counts, the probes' so far when half-open, else 0. Slow is counted for slowRatio
	// only; for consecutive, Calls and Failures are the failures in a row.
	Calls, Failures, Slow int64
	// RetryIn is how long until an open breaker probes; 0 otherwise.
	RetryIn time.Duration
	// Reopened counts failed recoveries in a row. ProbesInFlight are, half-open, those whose lease is not over.
	Reopened, ProbesInFlight int
	// Last is the last transition; At 0 with From == To if there was none.
	Last Transition
}

// Status returns the breaker's state and counts at now.
func (b *Breaker) Status(now time.Duration) Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	ph := b.phase.Load()
	n := ph.counts(now)
	st := Status{State: ph.state, Calls: n.calls, Failures: n.failures, Slow: n.slow, Reopened: int(b.reopened)}
	if ph.state == Open {
		st.RetryIn = max(0, ph.until-now)
	}
	if ph.recovery != nil {
		st.ProbesInFlight = ph.recovery.inFlight(now)
	}
	if b.last != nil {
		st.Last = *b.last
	}
	return st
}

// Idle reports whether dropping the breaker and making it anew would lose nothing: it is closed, and its window is
// empty.
func (b *Breaker) Idle(now time.Duration) bool {
	ph := b.phase.Load()
	return ph.state == Closed && ph.tally.counts(now, ph.settings.trip) == counts{}
}
