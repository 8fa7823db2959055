// Package rule holds what all kinds of rules share: which resources a rule is for and
// which rules win (Match, Index), how documents are read strictly with every fault named by position
// (Parse, Decode, Problem), and how two sets of rules differ (Diff, Report).
//
// It knows no kind of rule. A kind is a plain struct that implements Rule; its fields carry the
// names used in documents in the struct tag `rule:"name"`.
package rule

// Meta is what every rule kind has.
type Meta struct {
	// ID identifies the rule within its kind. State is kept across edits by it.
	ID string
	// Resource says which resources the rule is for.
	Resource Match
	// Also makes the rule apply besides more specific ones, instead of being overridden by them.
	Also bool
	// Shared makes all resources that the rule matches share one budget.
	Shared bool
	// Shadow makes the rule count what it would have done and do nothing.
	Shadow bool
}

// Rule is what a kind of rule must offer to be indexed, compared and reported. R is the kind itself.
type Rule[R any] interface {
	// Meta returns the shared part.
	Meta() Meta
	// WithID returns a copy with another id.
	WithID(id string) R
	// Equal reports whether both are the same in every field.
	Equal(R) bool
	// Problems returns everything that is wrong with the rule, with Field and Message set (and Want where it helps); nil if nothing is.
	// Defaults are resolved by the kind itself, not by documents: a zero field means its default.
	Problems() []Problem
}
