package breaker

import (
	"time"

	"github.com/cordon-go/cordon/stat"
)

// A Permit is what an admitted call holds of a Breaker; it belongs to the state it was given in. The zero Permit
// holds nothing.
//
// It is a stamp, taken from one counter of the breaker for each state it enters and for each probe it admits, and a flag
// that marks a probe. Stamps are only compared for equality, so that the counter may wrap around: a permit is
// mistaken for another only if it is held for exactly 2^31 of them.
type Permit uint32

// probeFlag marks the permit of a probe.
const probeFlag Permit = 1 << 31

// nextStamp returns the stamp after s. It is never 0, the zero Permit's.
func nextStamp(s Permit) Permit {
	s = (s + 1) &^ probeFlag
	if s == 0 {
		s = 1
	}
	return s
}

// A phase is one stay in one state. A breaker points to its current phase with one atomic pointer; entering a
// state makes a new phase and leaves the old one to those still looking at it. So whoever was slow to count a call
// counts it where no one looks any more.
//
// Its fields never change. An edit of the rule replaces the phase by one that differs in settings only (and in tally,
// when the counting itself changed): the permit stays, and so does what tally and recovery hold.
type phase struct {
	// permit is what calls admitted while closed hold. It identifies the phase.
	permit Permit
	state  State
	// until is when an open breaker may probe.
	until time.Duration
	// tally counts the calls while Closed and ForcedClosed; nil otherwise.
	tally *tally
	// recovery keeps the probes while HalfOpen; nil otherwise.
	recovery *recovery
	settings settings
}

// counts are numbers of calls.
type counts struct{ calls, failures, slow int64 }

// add counts one call.
func (c *counts) add(s *settings, outcome stat.Outcome, latency time.Duration) {
	c.calls++
	if outcome == stat.Failure {
		c.failures++
	}
	if s.trip == SlowRatio && latency > s.slowerThan {
		c.slow++
	}
}

// counts returns what the phase has counted.
func (p *phase) counts(now time.Duration) counts {
	switch {
	case p.tally != nil:
		return p.tally.counts(now, p.settings.trip)
	case p.recovery != nil:
		return p.recovery.counts
	}
	return counts{}
}
