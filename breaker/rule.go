// Package breaker stops calls to what keeps failing, and lets single probes find out when it is well again.
//
// A Breaker is usable alone, without the engine. Its methods take the time as an argument and are safe for concurrent use.
package breaker

import (
	"errors"
	"time"

	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/stat"
)

// ErrOpen is the error of a call that an open (or probing) breaker refused.
var ErrOpen = errors.New("circuit breaker is open")

// Trip says what opens a breaker.
type Trip uint8

const (
	// ErrorRatio opens at a share of failed calls of at least Threshold.
	ErrorRatio Trip = iota
	// SlowRatio opens at a share of calls slower than SlowerThan of at least Threshold.
	SlowRatio
	// ErrorCount opens at Threshold failed calls in the window.
	ErrorCount
	// Consecutive opens at Threshold failed calls in a row.
	Consecutive
)

// Rule breaks the circuit of the resources it matches.
type Rule struct {
	// ID identifies the rule; its state is kept across edits by it. Default: derived from the resource.
	ID string `rule:"id"`
	// Resource says which resources are guarded. Required.
	Resource rule.Match `rule:"resource"`
	// Trip is what opens the breaker; default errorRatio.
	Trip Trip `rule:"trip"`
	// Threshold: a ratio above 0 up to 1 (errorRatio, slowRatio), or a count of at least 1 (errorCount, consecutive). Required.
	Threshold float64 `rule:"threshold"`
	// Above makes the breaker open only strictly above Threshold (Sentinel Java's comparison), not at it.
	Above bool `rule:"above"`
	// SlowerThan is the latency above which a call is slow, for slowRatio; required there.
	SlowerThan time.Duration `rule:"slowerThan"`
	// Window is the length of the rolling window, 100ms... to 1h; default 10s. Buckets is into how many parts it rolls, 1 to 100; default 10.
	Window  time.Duration `rule:"window"`
	Buckets int           `rule:"buckets"`
	// MinCalls is how many calls the window must hold before a ratio decides, 1 to ...; default 10.
	MinCalls int `rule:"minCalls"`
	// Open is how long the breaker stays open before it probes, 1ms to 24h; default 5s.
	Open time.Duration `rule:"open"`
	// MaxOpen, when above Open, lets the open time double with every failed recovery in a row up to this.
	MaxOpen time.Duration `rule:"maxOpen"`
	// Jitter varies every open time by up to this share up and down, 0 to 0.5; default 0.
	Jitter float64 `rule:"jitter"`
	// Probes is how many calls may be in flight while half-open, 1 to 1000; default 1. Successes is how many must succeed to close, 1 to 1000; default Probes.
	Probes    int `rule:"probes"`
	Successes int `rule:"successes"`
	// ProbeLease is after what time a probe that never reported is given up and replaced, 100ms to 24h; default 1m.
	ProbeLease time.Duration `rule:"probeLease"`
	// Also, Shared and Shadow: see rule.Meta.
	Also   bool `rule:"also"`
	Shared bool `rule:"shared"`
	Shadow bool `rule:"shadow"`
}

// State is a breaker's state.
type State uint8

const (
	// Closed lets all calls pass and watches them.
	Closed State = iota
	// Open refuses all calls until its time is over.
	Open
	// HalfOpen lets single probes pass.
	HalfOpen
	// ForcedOpen refuses all calls until it is released by hand.
	ForcedOpen
	// ForcedClosed lets all calls pass and never opens, still counting, until it is released by hand.
	ForcedClosed
	// Disabled lets all calls pass and counts nothing.
	Disabled
)

// A Transition is one change of state with the numbers that decided.
type Transition struct {
	From, To State
	// At is the reading of the clock.
	At time.Duration
	// Reason says in words why ("12 of 20 calls failed (60%), threshold 50%").
	Reason string
	// Calls, Failures and Slow are the window's counts that decided (the half-open probes' when leaving half-open).
	Calls, Failures, Slow int64
	// OpenFor is how long the breaker now stays open; 0 unless To is Open.
	OpenFor time.Duration
	// Reopened counts failed recoveries in a row.
	Reopened int
}

// A Permit is what an admitted call holds of a Breaker; it belongs to the state it was given in. The zero Permit holds nothing.
type Permit uint32

// A Breaker is one circuit breaker. Its methods are safe for concurrent use.
type Breaker struct{}

// New returns a closed breaker for the rule, which must be valid. onChange, if not nil, is called for every transition in order, with no
// lock held, by the goroutine that caused it; it may call any method of the breaker.
func New(r Rule, now time.Duration, onChange func(Transition)) (*Breaker, error) { panic("stub") }

// Update puts an edited rule in force: state, timer and, unless Window or Buckets changed, counts stay.
func (b *Breaker) Update(r Rule, now time.Duration) (kept bool, err error) { panic("stub") }

// Acquire admits a call at time now, or refuses it: then retryAfter is how long to wait before it is worth trying again.
func (b *Breaker) Acquire(now time.Duration) (p Permit, retryAfter time.Duration, ok bool) {
	panic("stub")
}

// Done reports how an admitted call ended, once. A result of an older state is ignored; an Ignored outcome gives a probe's permit back.
func (b *Breaker) Done(now time.Duration, p Permit, outcome stat.Outcome, latency time.Duration) {
	panic("stub")
}

// Cancel gives back the permit of a call that was not made.
func (b *Breaker) Cancel(now time.Duration, p Permit) { panic("stub") }

// State returns the state at now. An open breaker whose time is over is still Open until a call probes it.
func (b *Breaker) State() State { panic("stub") }

// Force sets ForcedOpen, ForcedClosed or Disabled by hand, or releases the breaker with Closed (fresh). Open and HalfOpen are refused.
func (b *Breaker) Force(s State, now time.Duration) error { panic("stub") }

// Status is a breaker at one moment.
type Status struct {
	State State
	// Calls, Failures and Slow are the window's counts.
	Calls, Failures, Slow int64
	// RetryIn is how long until an open breaker probes; 0 otherwise.
	RetryIn time.Duration
	// Reopened counts failed recoveries in a row. ProbesInFlight is for half-open.
	Reopened, ProbesInFlight int
	// Last is the last transition; At 0 with From == To if there was none.
	Last Transition
}

// Status returns the breaker's state and counts at now.
func (b *Breaker) Status(now time.Duration) Status { panic("stub") }

// Idle reports whether dropping the breaker and making it anew would lose nothing.
func (b *Breaker) Idle(now time.Duration) bool { panic("stub") }
