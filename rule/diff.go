package rule

import "time"

// A Change is one rule that differs between two sets.
type Change struct {
	Kind, ID string
	// Fields names the fields that differ, as documents call them; nil for an added or removed rule.
	Fields []string
}

// Diff compares two sets of rules of one kind by id.
func Diff[R Rule[R]](kind string, old, new []R) (added, changed, removed []Change, unchanged int) {
	panic("stub")
}

// A Report says what became of an offered set of rules.
type Report struct {
	// Source and Version name what was offered; "" for rules applied by code.
	Source, Version string
	// Time is the time of day at which it was decided.
	Time time.Time
	// Applied is false when nothing changed because the whole set was refused.
	Applied bool
	// Added, Changed and Removed are rules by identity.
	Added, Changed, Removed []Change
	// Unchanged counts the rest.
	Unchanged int
	// Kept are rules whose new version was refused and whose last good version stays in force.
	Kept []Change
	// Problems are the refused rules' faults, and warnings.
	Problems Problems
}

// OK reports whether nothing was refused.
func (r *Report) OK() bool { panic("stub") }

// Rules returns how many of the offered rules are in force now (kept ones included).
func (r *Report) Rules() int { panic("stub") }

// String is the report in one line.
func (r *Report) String() string { panic("stub") }
