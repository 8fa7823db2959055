package rule

import (
	"fmt"
	"strings"
	"time"
)

// A Report says what became of an offered set of rules.
type Report struct {
	// Source and Version name what was offered; "" for rules applied by code.
	Source, Version string
	// Saved is when the set was put into the last-good file that it comes from; zero if it comes from the source itself.
	Saved time.Time
	// Time is the time of day at which it was decided.
	Time time.Time
	// Applied is false when nothing changed because the whole set was refused.
	Applied bool
	// Added, Changed and Removed are rules by identity.
	Added, Changed, Removed []Change
	// Unchanged counts the rest.
	Unchanged int
	// Kept are rules that stay in force as they were although the document has them no longer, since their new version was refused, or since that of a refused rule may be theirs.
	Kept []Change
	// Problems are the refused rules' faults, and warnings.
	Problems Problems
}

// OK reports whether nothing was refused.
func (r *Report) OK() bool { return r.Applied && len(r.Kept) == 0 && len(r.Problems.Faults()) == 0 }

// Rules returns how many of the offered rules are in force now (kept ones included).
func (r *Report) Rules() int { return len(r.Added) + len(r.Changed) + r.Unchanged + len(r.Kept) }

// Refused returns how many of the offered rules were refused; what is wrong with the document itself, or with a whole list of it, counts as one.
func (r *Report) Refused() int {
	type refused struct {
		kind  string
		index int
		id    string
	}
	seen := map[refused]bool{}
	for _, p := range r.Problems {
		if !p.Warning {
			seen[refused{p.Kind, p.Index, p.RuleID}] = true
		}
	}
	return len(seen)
}

// String is the report in one line: what was offered, what changed, how many faults and warnings, and the first fault.
func (r *Report) String() string {
	var b strings.Builder
	b.WriteString("rules")
	if r.Source != "" {
		b.WriteString(" of " + r.Source)
	}
	if r.Version != "" {
		b.WriteString(" (" + r.Version + ")")
	}
	if !r.Saved.IsZero() {
		b.WriteString(" from the last-good file of " + r.Saved.UTC().Format(time.RFC3339))
	}
	if r.Applied {
		fmt.Fprintf(&b, ": %d added, %d changed, %d removed, %d unchanged", len(r.Added), len(r.Changed), len(r.Removed), r.Unchanged)
		if len(r.Kept) > 0 {
			fmt.Fprintf(&b, ", %d kept at the last good version", len(r.Kept))
		}
	} else {
		b.WriteString(" refused, nothing changed")
	}
	faults := r.Problems.Faults()
	if n := len(faults); n > 0 {
		fmt.Fprintf(&b, "; %s", count(n, "fault"))
	}
	if n := len(r.Problems) - len(faults); n > 0 {
		fmt.Fprintf(&b, "; %s", count(n, "warning"))
	}
	if len(faults) > 0 {
		first, _, _ := strings.Cut(faults[0].Error(), "\n")
		b.WriteString("; first: " + first)
	}
	return b.String()
}

// count says n things in words.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
