package rule

// Position is a place in a document; lines and columns count from 1. The zero Position is "unknown".
type Position struct{ Line, Column int }

// A Problem is one fault of a rule or a document: what, where, why, and what would be right.
type Problem struct {
	// Source names the document: a file, a data id.
	Source string
	// Position is where in the document.
	Position Position
	// Kind is the rule kind ("flow"), "" for the document itself.
	Kind string
	// Index is the rule's index in its list, -1 when it is not about one rule.
	Index int
	// RuleID is the rule's id, "" if it has none (yet).
	RuleID string
	// Field is the path of the field within the rule ("limit"), or within the document.
	Field string
	// Message says what is wrong and why.
	Message string
	// Want says what would be right, "" if nothing sensible can be said.
	Want string
	// Warning marks something that is in force as written, but probably not what was meant.
	Warning bool
}

// Error formats the problem as "source:line:column: kind[index] (id): field: message; want ...".
func (p Problem) Error() string { panic("stub") }

// Problems is a list of problems as one error.
type Problems []Problem

// Error lists the problems, one a line (at most 20, then how many more).
func (ps Problems) Error() string { panic("stub") }

// Unwrap gives errors.Is and errors.As access to each.
func (ps Problems) Unwrap() []error { panic("stub") }

// Faults returns those that are not warnings.
func (ps Problems) Faults() Problems { panic("stub") }

// Warnings returns the warnings.
func (ps Problems) Warnings() Problems { panic("stub") }
