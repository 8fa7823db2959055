package authority

import (
	"slices"

	"github.com/cordon-go/cordon/rule"
)

// Rule says which origins may call the resources it matches. A zero field means its default.
type Rule struct {
	// ID identifies the rule. Default: derived from the resource.
	ID string `rule:"id"`
	// Resource says which resources are guarded. Required in a set of rules; a List used alone needs none.
	Resource rule.Match `rule:"resource"`
	// Allow are the only origins that may call: exact names, or patterns with * (any characters, also none). Exactly one of Allow and Deny is given, with 1 to 10,000 origins, of which up
	// to 1,000 patterns. Spaces around a name are part of it.
	Allow []string `rule:"allow"`
	// Deny are the origins that may not, in the same form.
	Deny []string `rule:"deny"`
	// Anonymous says what becomes of calls without an origin: pass or refuse. Default pass, as Sentinel has it.
	Anonymous Anonymous `rule:"anonymous"`
	// Also makes the rule apply besides more specific ones, instead of being overridden by them. Default false.
	Also bool `rule:"also"`
	// Shadow makes the rule say what it would have refused, and refuse nothing. Default false.
	Shadow bool `rule:"shadow"`
}

// Meta returns what the rule has in common with rules of other kinds.
func (r Rule) Meta() rule.Meta {
	return rule.Meta{ID: r.ID, Resource: r.Resource, Also: r.Also, Shadow: r.Shadow}
}

// WithID returns a copy with another id.
func (r Rule) WithID(id string) Rule {
	r.ID = id
	return r
}

// Equal reports whether both are the same in every field, as written.
func (r Rule) Equal(o Rule) bool {
	return r.ID == o.ID && r.Resource == o.Resource && slices.Equal(r.Allow, o.Allow) && slices.Equal(r.Deny, o.Deny) && r.Anonymous == o.Anonymous && r.Also == o.Also && r.Shadow == o.Shadow
}
