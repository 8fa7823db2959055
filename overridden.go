package cordon

import (
	"fmt"

	"github.com/cordon-go/cordon/rule"
)

// overridden warns of the isolation rules of a set that decide for no service, since one that stands before them is for the same services. Rules of other kinds with one
// match all apply, so that there is nothing to warn of.
func overridden[M interface{ Meta() rule.Meta }](rules []M) rule.Problems {
	var problems rule.Problems
	first := make(map[rule.Match]rule.Meta, len(rules))
	for i, r := range rules {
		meta := r.Meta()
		before, ok := first[meta.Resource]
		if !ok {
			first[meta.Resource] = meta
			continue
		}
		if meta.Resource == (rule.Match{}) {
			continue
		}
		shadow := ""
		if before.Shadow && !meta.Shadow {
			shadow = ", in shadow,"
		}
		problems = append(problems, rule.Problem{
			Kind: "isolation", Index: i, RuleID: meta.ID, Field: "service", Warning: true,
			Message: fmt.Sprintf("the rule is never used: %q%s stands before it for the same service, and of several the first one decides", before.ID, shadow),
			Want:    "one rule for each service",
		})
	}
	return problems
}
