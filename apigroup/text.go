package apigroup

import (
	"strconv"
	"strings"
)

// shown is how many paths a group's text names.
const shown = 3

// String describes the group in one sentence for people.
func (g Group) String() string {
	var b strings.Builder
	b.WriteString(g.Name + ": ")
	if len(g.Paths) == 0 {
		return b.String() + "no requests"
	}
	b.WriteString("requests for ")
	for i, p := range g.Paths[:min(len(g.Paths), shown)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.String())
	}
	if more := len(g.Paths) - shown; more > 0 {
		b.WriteString(" and " + strconv.Itoa(more) + " more")
	}
	return b.String()
}

// String returns the path, the pattern, or "regex" and the expression.
func (p Path) String() string {
	if p.Regex != "" {
		return "regex " + strconv.Quote(p.Regex)
	}
	return p.Exact + p.Pattern
}
