package flow

import (
	"errors"
	"time"
)

// ErrLimited is the error of a call that a rate refused.
var ErrLimited = errors.New("flow limit exceeded")

// ErrSaturated is the error of a call that a concurrency limit refused.
var ErrSaturated = errors.New("concurrency limit exceeded")

// A Limiter is one budget of one rate rule. Its methods are safe for concurrent use.
type Limiter struct{}

// A Permit is what an admitted call holds of a Limiter. It is a small value: keep it to give the admission back.
// The zero Permit holds nothing.
type Permit struct {
	ref  uint64
	cost int32
}

// NewLimiter returns a limiter for the rule, which must be valid, as of now.
func NewLimiter(r Rule, now time.Duration) (*Limiter, error) { panic("stub") }

// Update puts the edited rule in force, keeping what was counted: admissions within the interval, tokens, warmth and promised turns. It may
// race with any other method and loses no admission. kept is false where the edit changed what is counted so that
// nothing could be carried over (say, another mode without a common measure).
func (l *Limiter) Update(r Rule, now time.Duration) (kept bool, err error) { panic("stub") }

// Acquire admits a call of the given cost (at least 1) at time now, or refuses it.
// When admitted, wait is how long the caller must still wait for its turn (0 but for the pacing modes): whoever gives up before gives the permit back by Cancel.
// When refused, retryAfter is when the call could pass if nothing else came (a cost above what can ever pass: -1).
func (l *Limiter) Acquire(now time.Duration, cost int) (p Permit, wait, retryAfter time.Duration, ok bool) {
	panic("stub")
}

// Cancel gives an admission back, as if it had not been made as far as that is still possible. It never lets the bound be passed.
func (l *Limiter) Cancel(now time.Duration, p Permit) { panic("stub") }

// Limit returns the limit in force at now (per Per), which moves for warm-up and memory rules, and Usage what counts against it now.
func (l *Limiter) Limit(now time.Duration) float64 { panic("stub") }

// Usage returns how much counts against the limit at now: admissions in the interval (Reject, WarmUp), or turns promised and not yet due (Pace).
func (l *Limiter) Usage(now time.Duration) float64 { panic("stub") }

// Idle reports whether at now the limiter is in the same state as a new one, so that it may be dropped and made anew.
func (l *Limiter) Idle(now time.Duration) bool { panic("stub") }
