package flow

import (
	"time"

	"github.com/cordon-go/cordon/rule"
)

// Rule limits the rate of calls of the resources it matches. A zero field means its default. Rules are plain comparable
// values.
type Rule struct {
	// ID identifies the rule; its state is kept across edits by it. Default: derived from the resource.
	ID string `rule:"id"`
	// Resource says which resources are limited. Required in a set of rules; a Limiter used alone needs none.
	Resource rule.Match `rule:"resource"`
	// Limit is how many calls (their cost added up) may pass per Per: 0 to 10,000,000 per second; 0 refuses all. Reject
	// and WarmUp count whole calls, so a fractional limit becomes whole calls over a longer interval, never more than
	// asked: below 1 it is one call per Per/Limit, rounded up to the nanosecond (0.5 per second is 1 per 2s), at most 30
	// days; above, whole calls per 2 to 10 intervals where that is exact (12.5 per second is 25 per 2s), else the next
	// whole number over an interval longer by as much, rounded up to the nanosecond (2.71828 is 3 per 1.103639066s).
	Limit float64 `rule:"limit"`
	// Per is the interval of Limit, 1ms to 24h. Default 1s.
	Per time.Duration `rule:"per"`
	// Mode is how the rate is enforced. Default reject.
	Mode Mode `rule:"mode"`
	// Burst is how many calls Smooth lets pass at once after a pause, 1 to 10,000,000, and no more than it earns back in
	// 30 days. Default 1. Only for smooth.
	Burst int `rule:"burst"`
	// MaxWait is how long a call may wait for its turn, 0 to 1h. Default 0: nobody waits, a call that comes before its
	// turn is refused. Only for pace and warmUpPace.
	MaxWait time.Duration `rule:"maxWait"`
	// WarmUp is how long it takes from cold to Limit under full traffic, 1s to 1h. Default 10s. Only for the warm-up modes.
	WarmUp time.Duration `rule:"warmUp"`
	// ColdFactor is how many times slower a cold resource is, above 1 up to 100. Default 3. Only for the warm-up modes.
	ColdFactor float64 `rule:"coldFactor"`
	// Origin restricts the rule to callers: "" is all callers together, a name is that caller, "other" is every caller
	// that no rule of the same resource names, each with its own budget. A Limiter does not look at it.
	Origin string `rule:"origin"`
	// Related makes the rule refuse calls of this resource when the resource named here has passed Limit per Per. Only
	// for reject. A Limiter does not look at it: see Gauge.
	Related string `rule:"related"`
	// Under restricts the rule to calls made under that entrance (the outermost resource, or the one set by the caller).
	// A Limiter does not look at it.
	Under string `rule:"under"`
	// Memory, when set (HighLimit above 0), replaces Limit by one that falls as the process fills its memory. Only for
	// reject.
	Memory Memory `rule:"memory"`
	// Also makes the rule apply besides more specific ones, instead of being overridden by them. Default false.
	Also bool `rule:"also"`
	// Shared makes all resources that the rule matches share one budget. Default false: each has its own.
	Shared bool `rule:"shared"`
	// Shadow makes the rule say what it would have refused, and refuse nothing. Default false.
	Shadow bool `rule:"shadow"`
}

// Memory makes a limit fall linearly as memory fills: LowLimit up to LowMark, HighLimit from HighMark on, and on the
// straight line between them. Memory in use is the resident memory of the process; while it cannot be read (see Sensor),
// LowLimit applies.
type Memory struct {
	// LowLimit is the limit while at most LowMark is in use, per Per, in the range of Rule.Limit. HighLimit is the limit
	// from HighMark on: above 0, below LowLimit; rounded down to whole calls.
	LowLimit  float64 `rule:"lowLimit"`
	HighLimit float64 `rule:"highLimit"`
	// LowMark and HighMark are both bytes, or both shares of the memory limit (the container's, else the machine's
	// memory) when at most 1. Above 0, LowMark below HighMark.
	LowMark  float64 `rule:"lowMark"`
	HighMark float64 `rule:"highMark"`
}

// The defaults of a Rule's fields.
const (
	defaultPer        = time.Second
	defaultBurst      = 1
	defaultWarmUp     = 10 * time.Second
	defaultColdFactor = 3
)

// Meta returns what the rule has in common with rules of other kinds.
func (r Rule) Meta() rule.Meta {
	return rule.Meta{ID: r.ID, Resource: r.Resource, Also: r.Also, Shared: r.Shared, Shadow: r.Shadow}
}

// WithID returns a copy with another id.
func (r Rule) WithID(id string) Rule {
	r.ID = id
	return r
}

// Equal reports whether both are the same in every field, as written: a default left out differs from one spelled out.
func (r Rule) Equal(o Rule) bool { return r == o }

// withDefaults returns the rule with every zero field that has a default set to it.
func (r Rule) withDefaults() Rule {
	setDefault(&r.Per, defaultPer)
	if r.Mode == Smooth {
		setDefault(&r.Burst, defaultBurst)
	}
	if r.Mode.warms() {
		setDefault(&r.WarmUp, defaultWarmUp)
		setDefault(&r.ColdFactor, defaultColdFactor)
	}
	return r
}

func setDefault[T int | float64 | time.Duration](field *T, def T) {
	if *field == 0 {
		*field = def
	}
}
