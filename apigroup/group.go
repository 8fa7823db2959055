package apigroup

import (
	"slices"

	"github.com/cordon-go/cordon/rule"
)

// Group is a set of request paths with a name. A request may be of several groups.
type Group struct {
	// ID identifies the group. Default: derived from the name.
	ID string `rule:"id"`
	// Name is the resource that the group's calls count on. Required; 1 to 1,000 bytes.
	Name string `rule:"name"`
	// Paths are what makes a request one of the group: any of them suffices. Up to 10,000, of which up to 1,000 that begin with a wildcard; none matches nothing.
	Paths []Path `rule:"paths"`
}

// Path matches the path of a request, without its query. Exactly one of Exact, Pattern and Regex is given, at most 1,000 bytes.
type Path struct {
	// Exact is the path itself.
	Exact string `rule:"exact"`
	// Pattern is a path with ? (one character but /), * (any characters but /, also none) and ** as a segment (any number of segments, also none), as /orders/**, which matches /orders too, or
	// /users/*/cart: Ant's form, which Sentinel calls a prefix. {name} is a *, and {name:expression} an RE2 expression within a segment. One without any of these matches nothing but itself.
	Pattern string `rule:"pattern"`
	// Regex is an RE2 expression, which must match the whole path.
	Regex string `rule:"regex"`
}

// Meta returns what the group has in common with rules: its id is derived from its name.
func (g Group) Meta() rule.Meta { return rule.Meta{ID: g.ID, Resource: rule.Name(g.Name)} }

// WithID returns a copy with another id.
func (g Group) WithID(id string) Group {
	g.ID = id
	return g
}

// Equal reports whether both are the same in every field, as written.
func (g Group) Equal(o Group) bool {
	return g.ID == o.ID && g.Name == o.Name && slices.Equal(g.Paths, o.Paths)
}
