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

// Losses lists what matters in the document and is not in the native rules made of it: that a rule is counted by a whole cluster, and that a gateway rule is for an API, whose paths another
// document has. Document.Encode keeps both, but whoever writes the rules in another form loses them. Options that nobody looks at, and what a dashboard keeps beside a rule, are not
// listed; Element.Unused has them.
func (d *Document) Losses() []Loss {
	var lost []Loss
	for i := range d.Elements {
		e := &d.Elements[i]
		if !e.madeAny() {
			continue
		}
		l := losses{kind: e.parts[0].kind, id: e.parts[0].ruleID}
		if e.clustered() {
			l.add("clusterMode", "counted locally until a quota store is configured; clusterMode and clusterConfig are Sentinel Java's own, and are not written")
		}
		if j, ok := e.likeness.(javaGatewayRule); ok && j.mode == javaModeAPI {
			l.add("resource", "it is for the API %q, which is not in this document: the rule needs the group of paths of that name beside it", e.Resource)
		}
		lost = append(lost, l.list...)
	}
	return lost
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
