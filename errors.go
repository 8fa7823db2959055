package cordon

import (
	"errors"
	"time"
)

// ErrBlocked is in every refusal: errors.Is(err, cordon.ErrBlocked).
var ErrBlocked = errors.New("blocked")

// ErrInvalidCost refuses a request with a negative cost.
var ErrInvalidCost = errors.New("cordon: cost must not be negative")

// Kind is the kind of rule that refused a call.
type Kind uint8

// The kinds of rules.
const (
	KindFlow Kind = iota + 1
	KindConcurrency
	KindBreaker
	KindCustom
)

// String returns the kind as rule documents call it.
func (k Kind) String() string { panic("stub") }

// BlockedError says why a call was refused. It is immutable and may be kept and compared; it is shared between calls
// refused for the same reason. errors.Is finds ErrBlocked and the policy's own error (flow.ErrLimited, breaker.ErrOpen ...).
type BlockedError struct {
	// Kind, RuleID and Resource say which rule refused, where.
	Kind     Kind
	RuleID   string
	Resource string
	// Limit is the limit that was hit and Observed what was seen when it was hit (both may be rounded).
	Limit, Observed float64
	// RetryAfter is when it is worth trying again, rounded up by at most a fifth; 0 when nothing can be said, negative when never (the cost is above what can ever pass).
	RetryAfter time.Duration

	cause error
}

// Error says what refused the call and why.
func (b *BlockedError) Error() string { panic("stub") }

// Unwrap returns ErrBlocked and the policy's own error.
func (b *BlockedError) Unwrap() []error { panic("stub") }
