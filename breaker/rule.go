package breaker

import (
	"time"

	"github.com/cordon-go/cordon/rule"
)

// Rule breaks the circuit of the resources it matches. A zero field means its default. Rules are plain comparable
// values.
type Rule struct {
	// ID identifies the rule; its state is kept across edits by it. Default: derived from the resource.
	ID string `rule:"id"`
	// Resource says which resources are guarded. Required in a set of rules; a Breaker used alone needs none.
	Resource rule.Match `rule:"resource"`
	// Trip is what opens the breaker: errorRatio, slowRatio, errorCount or consecutive. Default errorRatio.
	Trip Trip `rule:"trip"`
	// Threshold is the share of bad calls (errorRatio, slowRatio), above 0 up to 1, or their number (errorCount,
	// consecutive), a whole number from 1 to 1,000,000,000, at which the breaker opens. Required. Shares are
	// compared with a tolerance of 1e-9, so that no rounding decides: 3 of 10 are 0.3. With Above it may be 0.
	Threshold float64 `rule:"threshold"`
	// Above makes the breaker open only strictly above Threshold (Sentinel Java's comparison), not at it. A slowRatio
	// of 1 opens at equality all the same (so does Sentinel Java), while an errorRatio of 1 then never opens.
	Above bool `rule:"above"`
	// SlowerThan is the latency above which a call is slow, more than 0 up to 24h. Required for slowRatio, and only
	// for it.
	SlowerThan time.Duration `rule:"slowerThan"`
	// Window is the length of the rolling window in which calls are counted, 100ms to 1h; default 10s. Not for
	// consecutive, which looks at no window.
	Window time.Duration `rule:"window"`
	// Buckets is into how many parts the window is cut, 1 to 100; default 10. A call leaves the window after Window at
	// most, and after Window less one part at least. Not for consecutive.
	Buckets int `rule:"buckets"`
	// MinCalls is how many calls the window must hold before they decide, 1 to 1,000,000,000; default 10 for ratios,
	// 1 for errorCount. Not for consecutive.
	MinCalls int `rule:"minCalls"`
	// Open is how long the breaker stays open before it probes, 1ms to 24h; default 5s.
	Open time.Duration `rule:"open"`
	// MaxOpen, Open to 24h, lets the open time double with every failed recovery in a row up to this. Default: it
	// does not grow.
	MaxOpen time.Duration `rule:"maxOpen"`
	// Jitter varies every open time (the longest too) by up to this share up and down, 0 to 0.5; default 0.
	Jitter float64 `rule:"jitter"`
	// Probes is how many calls may be in flight while half-open, 1 to 1000; default 1.
	Probes int `rule:"probes"`
	// Successes is how many probes must be good, and none bad, to close, 1 to 1000; default Probes.
	Successes int `rule:"successes"`
	// ProbeLease is after what time a probe that never reported is given up and may be replaced, 100ms to 24h;
	// default 1m.
	ProbeLease time.Duration `rule:"probeLease"`
	// Also makes the rule apply besides more specific ones, instead of being overridden by them. Default false.
	Also bool `rule:"also"`
	// Shared makes all resources that the rule matches share one breaker. Default false: each has its own.
	Shared bool `rule:"shared"`
	// Shadow makes the rule say when it would have opened, and refuse nothing. Default false.
	Shadow bool `rule:"shadow"`
}

// The defaults of a Rule's fields.
const (
	defaultWindow     = 10 * time.Second
	defaultBuckets    = 10
	defaultMinCalls   = 10
	defaultOpen       = 5 * time.Second
	defaultProbes     = 1
	defaultProbeLease = time.Minute
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
	setDefault(&r.Open, defaultOpen)
	setDefault(&r.MaxOpen, r.Open)
	setDefault(&r.Probes, defaultProbes)
	setDefault(&r.Successes, r.Probes)
	setDefault(&r.ProbeLease, defaultProbeLease)
	if r.Trip == Consecutive {
		return r
	}
	setDefault(&r.Window, defaultWindow)
	setDefault(&r.Buckets, defaultBuckets)
	if r.Trip == ErrorCount {
		setDefault(&r.MinCalls, 1)
	} else {
		setDefault(&r.MinCalls, defaultMinCalls)
	}
	return r
}

func setDefault[T int | time.Duration](field *T, def T) {
	if *field == 0 {
		*field = def
	}
}
