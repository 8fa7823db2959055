package cordon

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync/atomic"
	"time"
)

var (
	// ErrBlocked is in every refusal: errors.Is(err, cordon.ErrBlocked).
	ErrBlocked = errors.New("blocked")
	// ErrInvalidCost refuses a request with a negative cost. It is not a refusal by a rule and is counted nowhere.
	ErrInvalidCost = errors.New("cordon: cost must not be negative")
	// ErrFault is in the refusal of a call in which something handed to the engine panicked, under BlockOnFault.
	ErrFault = errors.New("internal fault")

	errNoFunction = errors.New("cordon: Do and Call need a function to run: it is nil")
)

// Kind is the kind of rule that refused a call.
type Kind uint8

// The kinds of rules. KindCustom stands for the checks added with WithChecker.
const (
	KindFlow Kind = iota + 1
	KindConcurrency
	KindBreaker
	KindParam
	KindSystem
	KindAuthority
	KindCustom
)

const kinds = int(KindCustom) + 1

// String returns the kind as rule documents call it: "flow", "concurrency", "breaker", "param", "system", "authority", "custom".
func (k Kind) String() string {
	switch k {
	case KindFlow:
		return "flow"
	case KindConcurrency:
		return "concurrency"
	case KindBreaker:
		return "breaker"
	case KindParam:
		return "param"
	case KindSystem:
		return "system"
	case KindAuthority:
		return "authority"
	case KindCustom:
		return "custom"
	}
	return "kind(" + strconv.Itoa(int(k)) + ")"
}

// MarshalText writes the kind as String does.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// BlockedError says why a call was refused. It is immutable, may be kept for as long as one
// likes, and is shared between calls that were refused for the same reason, so that a refusal
// costs no allocation. errors.Is finds ErrBlocked in it and the policy's own error
// (flow.ErrLimited, flow.ErrSaturated, breaker.ErrOpen, paramflow.ErrLimited, system.ErrOverloaded, authority.ErrRefused, or what a Checker returned). For the same reason it does
// not tell the value that a rule on hot parameters refused: the caller knows it, and BlockEvent.Value tells observers.
type BlockedError struct {
	// above is what RetryAfter was rounded from at least, exclusive.
	above time.Duration
	// RetryAfter is when it is worth trying again, rounded up to a millisecond and by at most a quarter. 0
	// means that nothing can be said; negative that waiting never helps, because the cost is
	// above what the rule can ever let pass, or the origin may not call.
	RetryAfter time.Duration
	// Limit is the limit that was hit, in the rule's own unit, and Observed what was seen when it
	// was: admissions in the interval, cost in flight, a failure ratio or count. Of a smooth rule Limit is the burst, and Observed how many calls of it were in use, a started one as one. Since errors
	// are shared, Observed is that of the first call refused alike; of a system rule it is about what was measured, and response times are in seconds. For KindParam the limit is that of the value, and Observed is not told: 0.
	Limit, Observed float64
	// Kind, RuleID and Resource say which rule refused, where. A call to a resource beyond the
	// engine's bound names the resource it was counted with.
	Kind     Kind
	RuleID   string
	Resource string

	cause error
	turn  uint32 // how often the breaker had changed its state by then
}

// Error says what refused the call and why.
func (b *BlockedError) Error() string {
	s := fmt.Sprintf("cordon: %s rule %q blocked %q", b.Kind, b.RuleID, b.Resource)
	if b.cause != nil {
		s += ": " + b.cause.Error()
	}
	switch {
	case b.Kind == KindParam && b.Limit >= 0:
		s += " (limit " + number(b.Limit) + ")"
	case b.Kind != KindParam && (b.Limit != 0 || b.Observed != 0):
		s += fmt.Sprintf(" (limit %s, observed %s)", number(b.Limit), number(b.Observed))
	}
	switch {
	case b.RetryAfter > 0:
		s += ", retry after " + b.RetryAfter.String()
	case b.RetryAfter < 0:
		s += ", which waiting cannot change"
	}
	return s
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }

// Unwrap returns ErrBlocked and the policy's own error.
func (b *BlockedError) Unwrap() []error {
	if b.cause == nil {
		return []error{ErrBlocked}
	}
	return []error{ErrBlocked, b.cause}
}

// Retry-after times are rounded up, to whole milliseconds up to 10ms and from there to 13 steps a decade (1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 10),
// so that the refusals of one rule on one resource share few errors, and the round times that people write in rules stay what they are.
const (
	retryNever   = 0  // negative
	retryUnknown = 1  // zero
	retryFirst   = 1  // and whole milliseconds on it
	retryDecade  = 12 // the first step above 10ms
	retrySteps   = 13
	retryDecades = 9 // up to 10^10 ms, four months
	retrySlots   = retryDecade + retrySteps*retryDecades
)

// quarters returns the i-th step of a decade, in quarters of where the decade begins.
func quarters(i int) time.Duration {
	return [retrySteps]time.Duration{5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40}[i]
}

// roundRetry rounds d up to a step; it returns the step's index, and the time above which, up to rounded, times are rounded to it.
func roundRetry(d time.Duration) (index int, above, rounded time.Duration) {
	const ms = time.Millisecond
	switch {
	case d < 0:
		return retryNever, math.MinInt64, -1
	case d == 0:
		return retryUnknown, -1, 0
	case d <= 10*ms:
		n := (d + ms - 1) / ms
		return retryFirst + int(n), (n - 1) * ms, n * ms
	}
	begin := 10 * ms
	above = begin
	for decade := range retryDecades {
		for i := range retrySteps {
			rounded = begin / 4 * quarters(i)
			if d <= rounded {
				return retryDecade + decade*retrySteps + i, above, rounded
			}
			above = rounded
		}
		begin *= 10
	}
	return retrySlots - 1, begin / 10 / 4 * quarters(retrySteps-2), above // longer than any rule makes wait
}

// refusals keeps the errors of one version of a rule on one resource, by retry-after: those of an edited rule start anew, so that no call that still
// runs by the old version can leave an error with the old numbers. The table is made with the first refusal.
type refusals struct {
	last  atomic.Pointer[BlockedError]
	table atomic.Pointer[[retrySlots]atomic.Pointer[BlockedError]]
}

// again returns the last error if it does for this refusal too, as it mostly does, which saves the rounding; or nil.
func (f *refusals) again(retryAfter time.Duration) *BlockedError {
	if b := f.last.Load(); b != nil && retryAfter <= b.RetryAfter && retryAfter > b.above {
		return b
	}
	return nil
}

// find returns the kept error for a refusal, or nil if there is none.
func (f *refusals) find(retryAfter time.Duration) *BlockedError {
	if b := f.again(retryAfter); b != nil {
		return b
	}
	t := f.table.Load()
	if t == nil {
		return nil
	}
	i, _, _ := roundRetry(retryAfter)
	b := t[i].Load()
	if b != nil {
		f.last.Store(b)
	}
	return b
}

// keep sets the error's retry-after and keeps it for calls refused alike.
func (f *refusals) keep(b *BlockedError, retryAfter time.Duration) *BlockedError {
	var i int
	i, b.above, b.RetryAfter = roundRetry(retryAfter)
	t := f.table.Load()
	if t == nil {
		t = new([retrySlots]atomic.Pointer[BlockedError])
		if !f.table.CompareAndSwap(nil, t) {
			return b // another call made the table: the next refusal keeps its own
		}
	}
	t[i].Store(b)
	f.last.Store(b)
	return b
}
