package paramflow

import (
	"math"
	"slices"
	"time"

	"github.com/cordon-go/cordon/rule"
)

// Rule limits calls by a value inside them. A zero field means its default.
type Rule struct {
	// ID identifies the rule; what was counted is kept across edits by it. Default: derived from the resource.
	ID string `rule:"id"`
	// Resource says which resources are limited. Required in a set of rules; a Limiter used alone needs none.
	Resource rule.Match `rule:"resource"`
	// Param says which value is limited: a path (package extractor), as `arg[0].user.id` or `header["X-Tenant"]`. Required in a set of rules.
	Param string `rule:"param"`
	// Mode is how the limit is enforced: reject, pace or concurrency. Default reject.
	Mode Mode `rule:"mode"`
	// Limit is how many calls (their cost added up) of one value may pass per Per: 0 to 10,000,000 per second, fractions too, not less than one call in 30 days. For
	// concurrency, how many may be in flight, a whole number from 0 to 10,000,000. Default 0: all are refused.
	Limit float64 `rule:"limit"`
	// Per is the interval of Limit, 1ms to 24h; default 1s. Not for concurrency.
	Per time.Duration `rule:"per"`
	// Burst is how many calls of one value may pass at once after a pause, 1 to 10,000,000, and no more than it earns back in 30 days; default: Limit rounded up, at least
	// 1. Only for reject.
	Burst int `rule:"burst"`
	// MaxWait is how long a call may wait for its turn, 0 to 1h; default 0: nobody waits. Only for pace.
	MaxWait time.Duration `rule:"maxWait"`
	// MaxQueue is how many calls of one value may wait at one time, 1 to 1,000,000; a call of cost n counts as the n turns that it takes. Default: as many as MaxWait
	// allows. Only for pace, with MaxWait.
	MaxQueue int `rule:"maxQueue"`
	// Overrides give values a limit of their own: up to 100,000, of which up to 1,000 by pattern. Of several that fit a value the exact one decides, else the first
	// pattern.
	Overrides []Override `rule:"overrides"`
	// Only restricts the rule to the values whose canonical text (see extractor.Value) it matches; others pass and are not counted. Calls that count as (absent) or
	// (further) are counted whatever it says. At most 1,000 bytes. Default: all values.
	Only rule.Match `rule:"only"`
	// Absent says what becomes of calls without the value: pass, or count as one value of their own. Default pass.
	Absent Absent `rule:"absent"`
	// Values is how many different values are expected to be in use at one time, 100 to 10,000,000: a value is in use from a call on until that call is earned back
	// (Per/Limit later), with a burst spent until all of it is (at most Burst×Per/Limit), and for pace until its last turn is over. The memory follows from it. Default: 512 KiB, which is
	// good for 22,900 (and some 100 KiB besides). Not for concurrency, which takes 100 KiB and what is in flight.
	Values int `rule:"values"`
	// Redact keeps and shows keyed hashes instead of values. Those that Overrides name are in the rule as written. Default false.
	Redact bool `rule:"redact"`
	// Origin restricts the rule to calls of that caller; default: all callers.
	Origin string `rule:"origin"`
	// Also makes the rule apply besides more specific ones, instead of being overridden by them. Default false. Rules of one resource with different Params never override each other.
	Also bool `rule:"also"`
	// Shared makes all resources that the rule matches share one budget per value. Default false: each has its own.
	Shared bool `rule:"shared"`
	// Shadow makes the rule say what it would have refused, and refuse nothing. Default false.
	Shadow bool `rule:"shadow"`
}

// The bounds and defaults of the fields.
const (
	minPer       = time.Millisecond
	maxPer       = 24 * time.Hour
	defaultPer   = time.Second
	maxPerSecond = 10_000_000
	maxInterval  = 30 * 24 * time.Hour // of one call of the slowest rate, and to earn the largest burst
	maxBurst     = 10_000_000
	maxInFlight  = 10_000_000
	maxWait      = time.Hour
	maxQueue     = 1_000_000
	minValues    = 100
	maxValues    = 10_000_000
	maxOverrides = 100_000
	maxPatterns  = 1000
	maxPattern   = 1000 // bytes of a pattern
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
func (r Rule) Equal(o Rule) bool {
	a, b := r.Overrides, o.Overrides
	return slices.Equal(a, b) && r.equalButOverrides(o)
}

func (r Rule) equalButOverrides(o Rule) bool {
	return r.ID == o.ID && r.Resource == o.Resource && r.Param == o.Param && r.Mode == o.Mode && r.Limit == o.Limit && r.Per == o.Per && r.Burst == o.Burst &&
		r.MaxWait == o.MaxWait && r.MaxQueue == o.MaxQueue && r.Only == o.Only && r.Absent == o.Absent && r.Values == o.Values && r.Redact == o.Redact && r.Origin == o.Origin &&
		r.Also == o.Also && r.Shared == o.Shared && r.Shadow == o.Shadow
}

// withDefaults returns the rule with its defaults set.
func (r Rule) withDefaults() Rule {
	if r.Per == 0 {
		r.Per = defaultPer
	}
	if r.Mode == Reject {
		r.Burst = burstOr(r.Burst, r.Limit)
	}
	return r
}

// burstOr returns the burst, or its default for a limit.
func burstOr(burst int, limit float64) int {
	if burst != 0 {
		return burst
	}
	return int(min(max(math.Ceil(limit), 1), maxBurst))
}

// numbers returns the rule without what a Limiter does not look at.
func (r Rule) numbers() Rule {
	return Rule{Mode: r.Mode, Limit: r.Limit, Per: r.Per, Burst: r.Burst, MaxWait: r.MaxWait, MaxQueue: r.MaxQueue,
		Only: r.Only, Overrides: r.Overrides, Values: r.Values, Redact: r.Redact}
}
