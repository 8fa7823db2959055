// Package rulediff says what changes between two documents of rules, rule by rule and in words: which rules come and go, and what becomes of each field of those that stay.
package rulediff

import (
	"fmt"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/cmd/cordon/internal/rulefile"
	"github.com/cordon-go/cordon/rule"
)

// What says what becomes of a rule.
type What string

// What may become of a rule.
const (
	Added   What = "added"
	Changed What = "changed"
	Removed What = "removed"
	// Refused is a rule whose new version is bad: whoever has the one before keeps it.
	Refused What = "refused"
)

// A Diff is what changes from one document to another. Only good rules are compared.
type Diff struct {
	// Changes are the rules that differ, kind by kind: those of the new document in its order, then those that are gone, or refused.
	Changes []Change
	// Unchanged counts the rules that stay as they are.
	Unchanged int
}

// A Change is a rule that differs.
type Change struct {
	// What says what becomes of it.
	What What
	// Kind and ID identify the rule.
	Kind, ID string
	// Fields are what differs in a changed rule.
	Fields []Field
	// Before and After say in a sentence what the rule meant and means; "" where it does not exist.
	Before, After string
}

// A Field is a field that differs.
type Field struct {
	// Name is what documents call it.
	Name string
	// Before and After are its values as documents write them; "" where it is left out.
	Before, After string
	// Words say what becomes of it.
	Words string
}

// Same reports whether no rule differs, nor is refused.
func (d *Diff) Same() bool { return len(d.Changes) == 0 }

// Count returns how many rules have that become of them.
func (d *Diff) Count(w What) int {
	n := 0
	for _, c := range d.Changes {
		if c.What == w {
			n++
		}
	}
	return n
}

// String counts the changes: "1 added, 2 changed, 0 removed, 7 unchanged".
func (d *Diff) String() string {
	text := fmt.Sprintf("%d added, %d changed, %d removed, %d unchanged", d.Count(Added), d.Count(Changed), d.Count(Removed), d.Unchanged)
	if n := d.Count(Refused); n > 0 {
		text += fmt.Sprintf(", %d refused", n)
	}
	return text
}

// Compare compares the good rules of two documents. A nil one holds none, and so does one that cannot be read.
func Compare(before, after *rulefile.Document) *Diff {
	c := comparison{before: sentences(before), after: sentences(after), refused: map[name]bool{}}
	if after != nil {
		for _, p := range after.Problems.Faults() {
			c.refused[name{p.Kind, p.RuleID}] = true
		}
	}
	a, b := rulesOf(before), rulesOf(after)
	compare(&c, "flow", a.Flow, b.Flow)
	compare(&c, "concurrency", a.Concurrency, b.Concurrency)
	compare(&c, "breaker", a.Breaker, b.Breaker)
	compare(&c, "isolation", a.Isolation, b.Isolation)
	compare(&c, "param", a.Param, b.Param)
	compare(&c, "system", a.System, b.System)
	compare(&c, "authority", a.Authority, b.Authority)
	compare(&c, "apiGroup", a.APIGroup, b.APIGroup)
	return &c.diff
}

type name struct{ kind, id string }

// A comparison collects a Diff.
type comparison struct {
	diff          Diff
	before, after map[name]string // what the rules mean
	refused       map[name]bool   // rules of the new document that are bad
}

func rulesOf(d *rulefile.Document) cordon.Rules {
	if d == nil {
		return cordon.Rules{}
	}
	return d.Rules
}

func sentences(d *rulefile.Document) map[name]string {
	if d == nil {
		return nil
	}
	said := map[name]string{}
	for _, line := range d.Lines() {
		said[name{line.Kind, line.ID}] = line.Sentence
	}
	return said
}

// compare compares the rules of one kind.
func compare[R rule.Rule[R]](c *comparison, kind string, before, after []R) {
	added, changed, removed, unchanged := rule.Diff(kind, before, after)
	c.diff.Unchanged += unchanged
	old, now := byID(before), byID(after)
	isNew := map[string]bool{}
	for _, change := range added {
		isNew[change.ID] = true
	}
	differs := map[string][]string{}
	for _, change := range changed {
		differs[change.ID] = change.Fields
	}
	for _, r := range after {
		id := r.Meta().ID
		at := name{kind, id}
		if isNew[id] {
			c.diff.Changes = append(c.diff.Changes, Change{What: Added, Kind: kind, ID: id, After: c.after[at]})
		} else if names, ok := differs[id]; ok {
			c.diff.Changes = append(c.diff.Changes, Change{
				What: Changed, Kind: kind, ID: id, Fields: fields(old[id], now[id], names), Before: c.before[at], After: c.after[at],
			})
		}
	}
	for _, change := range removed {
		at := name{kind, change.ID}
		what := Removed
		if c.refused[at] {
			what = Refused
		}
		c.diff.Changes = append(c.diff.Changes, Change{What: what, Kind: kind, ID: change.ID, Before: c.before[at]})
	}
}

func byID[R rule.Rule[R]](rules []R) map[string]R {
	m := make(map[string]R, len(rules))
	for _, r := range rules {
		m[r.Meta().ID] = r
	}
	return m
}
