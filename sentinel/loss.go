package sentinel

import (
	"fmt"
	"strings"
)

// A Loss is something of a rule that a dialect cannot say.
type Loss struct {
	// Kind and RuleID name the native rule, and Field its field ("maxOpen"), "" for the rule as a whole.
	Kind, RuleID, Field string
	// Reason says what cannot be said, and what was written in its place.
	Reason string
	// Omitted means that the rule was not written, because what could be said of it would refuse other calls than the rule does.
	Omitted bool
}

// String is the loss in one line.
func (l Loss) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): ", l.Kind, l.RuleID)
	if l.Field != "" {
		fmt.Fprintf(&b, "%s: ", l.Field)
	}
	b.WriteString(l.Reason)
	if l.Omitted {
		b.WriteString("; the rule is left out")
	}
	return b.String()
}

// losses collects the losses of one rule.
type losses struct {
	kind, id string
	list     []Loss
	omitted  bool
}

// add notes that the field is written otherwise or not at all.
func (l *losses) add(field, format string, args ...any) {
	l.list = append(l.list, Loss{Kind: l.kind, RuleID: l.id, Field: field, Reason: fmt.Sprintf(format, args...)})
}

// omit notes that the field is the reason not to write the rule.
func (l *losses) omit(field, format string, args ...any) {
	l.add(field, format, args...)
	l.list[len(l.list)-1].Omitted = true
	l.omitted = true
}
