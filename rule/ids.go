package rule

import (
	"fmt"
	"strconv"
	"strings"
)

// DeriveIDs gives every rule without an id a stable one, made from its match and its place among the rules with the same
// match that have none ("orders.Create#1"), and reports ids that are used twice (the second is the fault). Rules are changed in place. Ids are
// unique within a kind; the kind is for the problems. An id that is given explicitly is never derived again: the count goes on past it.
func DeriveIDs[R Rule[R]](kind string, rules []R) Problems {
	var problems Problems
	given := make(map[string]int, len(rules))
	for i, r := range rules {
		id := r.Meta().ID
		if id == "" {
			continue
		}
		if first, dup := given[id]; dup {
			problems = append(problems, Problem{
				Kind: kind, Index: i, RuleID: id, Field: "id", Message: fmt.Sprintf("%s is used twice, first by %s[%d]", shown(id), kind, first),
				Want: "each id once within its kind",
			})
			continue
		}
		given[id] = i
	}
	counts := make(map[Match]int)
	for i, r := range rules {
		meta := r.Meta()
		if meta.ID != "" {
			continue
		}
		stem := idStem(meta.Resource)
		for {
			counts[meta.Resource]++
			id := stem + "#" + strconv.Itoa(counts[meta.Resource])
			if _, taken := given[id]; !taken {
				given[id] = i
				rules[i] = r.WithID(id)
				break
			}
		}
	}
	return problems
}

// Derived reports whether the rule's id is one that DeriveIDs would give it.
func (m Meta) Derived() bool {
	count, ok := strings.CutPrefix(m.ID, idStem(m.Resource)+"#")
	_, err := strconv.Atoi(count)
	return ok && err == nil
}

// idStem is the part of a derived id that a match gives.
func idStem(m Match) string {
	switch m.kind {
	case ByName:
		return m.pattern
	case ByDefault:
		return m.kind.String()
	}
	return m.kind.String() + ":" + m.pattern
}
