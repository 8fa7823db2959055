package rule

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxListed is how many problems Problems.Error lists.
const maxListed = 20

// Position is a place in a document. The zero Position is "unknown".
type Position struct {
	// Line counts from 1; 0 is unknown.
	Line int
	// Column is the character on the line, counted from 1.
	Column int
}

// String returns "line:column", "" when unknown.
func (p Position) String() string {
	if p.Line == 0 {
		return ""
	}
	return strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column)
}

// A Problem is one fault of a rule or a document: what, where, why, and what would be right.
type Problem struct {
	// Source names the document: a file, a data id.
	Source string
	// Position is where in the document.
	Position Position
	// Kind is the rule kind ("flow"), "" for the document itself.
	Kind string
	// Index is the rule's index in its list, -1 when it is not about one rule. It means nothing without a Kind.
	Index int
	// RuleID is the rule's id, "" if it has none (yet).
	RuleID string
	// Resource is the rule's match, as far as it could be read; the zero Match otherwise. It is not part of the text.
	Resource Match
	// Field is the path of the field within the rule ("limit"), or within the document.
	Field string
	// Message says what is wrong and why.
	Message string
	// Want says what would be right, "" if nothing sensible can be said.
	Want string
	// Warning marks something that is in force as written, but probably not what was meant.
	Warning bool
}

// Error formats the problem as "source:line:column: kind[index] (id): field: message; want ...", leaving out what is
// not known. A warning says "warning: " before the kind.
func (p Problem) Error() string {
	var b strings.Builder
	place := p.Source
	if at := p.Position.String(); at != "" {
		if place != "" {
			place += ":"
		}
		place += at
	}
	part := func(s string) {
		if s != "" {
			b.WriteString(s)
			b.WriteString(": ")
		}
	}
	part(place)
	if p.Warning {
		part("warning")
	}
	part(p.subject())
	part(p.Field)
	b.WriteString(p.Message)
	if p.Want != "" {
		b.WriteString("; want ")
		b.WriteString(p.Want)
	}
	return b.String()
}

// subject names the rule: kind[index] (id).
func (p Problem) subject() string {
	s := p.Kind
	if s != "" && p.Index >= 0 {
		s += "[" + strconv.Itoa(p.Index) + "]"
	}
	if p.RuleID != "" {
		if s != "" {
			s += " "
		}
		s += "(" + p.RuleID + ")"
	}
	return s
}

// Problems is a list of problems as one error.
type Problems []Problem

// Error lists the problems, one a line (at most 20, then how many more).
func (ps Problems) Error() string {
	var b strings.Builder
	for i, p := range ps {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == maxListed {
			fmt.Fprintf(&b, "... and %d more", len(ps)-i)
			break
		}
		b.WriteString(p.Error())
	}
	return b.String()
}

// Unwrap gives errors.Is and errors.As access to each.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errs
}

// Err returns the faults as an error, nil if there are none. (What Faults returns is never to be returned as an error as it is: an
// error that holds empty Problems is not nil.)
func (ps Problems) Err() error {
	if faults := ps.Faults(); len(faults) > 0 {
		return faults
	}
	return nil
}

// Faults returns those that are not warnings. Err is what returns them as an error.
func (ps Problems) Faults() Problems { return ps.warnings(false) }

// Warnings returns the warnings.
func (ps Problems) Warnings() Problems { return ps.warnings(true) }

// warnings returns those that are, or are not, warnings; nil if none.
func (ps Problems) warnings(yes bool) Problems {
	var out Problems
	for _, p := range ps {
		if p.Warning == yes {
			out = append(out, p)
		}
	}
	return out
}

// Sort orders the problems by position in the document; those at the same place (or at none, which come first) keep their order.
func (ps Problems) Sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Position.Line, b.Position.Line), cmp.Compare(a.Position.Column, b.Position.Column))
	})
}
