package flow

import (
	"time"

	"github.com/cordon-go/cordon/rule"
)

// ConcurrencyRule limits how much runs at once. A zero field means its default. Rules are plain comparable values.
type ConcurrencyRule struct {
	// ID identifies the rule; its state is kept across edits by it. Default: derived from the resource.
	ID string `rule:"id"`
	// Resource says which resources are limited. Required in a set of rules; a Bulkhead used alone needs none.
	Resource rule.Match `rule:"resource"`
	// Limit is how much cost may be in flight at once, 0 to 10,000,000; 0 refuses all.
	Limit int `rule:"limit"`
	// MaxWait is how long a call may wait for its places, 0 to 1h. Default 0: nobody waits.
	MaxWait time.Duration `rule:"maxWait"`
	// Queue is how many calls may wait at once, first come, first served: 1 to 100,000. Default 100. Only with maxWait.
	Queue int `rule:"queue"`
	// Origin restricts the rule to callers, as in Rule. A Bulkhead does not look at it.
	Origin string `rule:"origin"`
	// Under restricts the rule to calls made under that entrance, as in Rule. A Bulkhead does not look at it.
	Under string `rule:"under"`
	// Also makes the rule apply besides more specific ones, instead of being overridden by them. Default false.
	Also bool `rule:"also"`
	// Shared makes all resources that the rule matches share one budget. Default false: each has its own.
	Shared bool `rule:"shared"`
	// Shadow makes the rule say what it would have refused, and refuse nothing. Default false.
	Shadow bool `rule:"shadow"`
}

// defaultQueue is how many calls may wait where calls may wait at all.
const defaultQueue = 100

// Meta returns what the rule has in common with rules of other kinds.
func (r ConcurrencyRule) Meta() rule.Meta {
	return rule.Meta{ID: r.ID, Resource: r.Resource, Also: r.Also, Shared: r.Shared, Shadow: r.Shadow}
}

// WithID returns a copy with another id.
func (r ConcurrencyRule) WithID(id string) ConcurrencyRule {
	r.ID = id
	return r
}

// Equal reports whether both are the same in every field, as written: a default left out differs from one spelled out.
func (r ConcurrencyRule) Equal(o ConcurrencyRule) bool { return r == o }

// withDefaults returns the rule with every zero field that has a default set to it.
func (r ConcurrencyRule) withDefaults() ConcurrencyRule {
	if r.MaxWait > 0 {
		setDefault(&r.Queue, defaultQueue)
	}
	return r
}
