package authority

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cordon-go/cordon/rule"
)

// shown is how many origins a rule's text names.
const shown = 3

// String describes the rule in one sentence for people, defaults included.
func (r Rule) String() string {
	var b strings.Builder
	if r.Resource != (rule.Match{}) {
		b.WriteString(r.Resource.String())
		if r.Shadow {
			b.WriteString(" (in shadow)")
		}
		b.WriteString(": ")
	} else if r.Shadow {
		b.WriteString("(in shadow) ")
	}
	if len(r.Deny) > 0 {
		fmt.Fprintf(&b, "%s may not call, all others may", names(r.Deny))
	} else {
		fmt.Fprintf(&b, "only %s may call", names(r.Allow))
	}
	if r.Anonymous == Refuse {
		b.WriteString("; calls without an origin are refused")
	} else {
		b.WriteString("; calls without an origin pass")
	}
	return b.String()
}

// names lists a few origins.
func names(origins []string) string {
	var few []string
	for _, o := range origins[:min(len(origins), shown)] {
		few = append(few, strconv.Quote(o))
	}
	more := len(origins) - len(few)
	switch {
	case len(few) == 0:
		return "nobody"
	case more > 0:
		return strings.Join(few, ", ") + " and " + strconv.Itoa(more) + " more"
	case len(few) == 1:
		return few[0]
	}
	return strings.Join(few[:len(few)-1], ", ") + " and " + few[len(few)-1]
}
