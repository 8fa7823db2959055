package cordon

import (
	"slices"

	"github.com/cordon-go/cordon/authority"
)

// authorityState is a rule on origins on one resource.
type authorityState struct {
	*tally
	rule    *authority.Rule
	list    *authority.List // that of all the rule's resources
	refused *BlockedError   // no refusal says anything that others do not
}

func (s *authorityState) ruleID() string { return s.rule.ID }

// carryAuthority is carryBreaker for rules on origins.
func carryAuthority(prev *authorityState, r *authority.Rule, res *resource, list *authority.List) *authorityState {
	if prev != nil && prev.list == list && same(prev.rule, r) {
		return prev
	}
	var s *authorityState
	if prev == nil {
		n := new(newState[authorityState])
		n.kind, n.res = KindAuthority, res
		s = &n.state
		s.tally = &n.tally
	} else {
		s = &authorityState{tally: prev.tally}
	}
	s.rule, s.list = r, list
	s.refused = s.refusal(r.ID, 0, 0, authority.ErrRefused)
	s.refused.RetryAfter = -1
	return s
}

// authorize asks the rules on origins, before anything is reserved.
func (t *table) authorize(c *caller) error {
	for _, s := range t.lists.authority {
		if s.list.Allows(c.origin) {
			continue
		}
		if err := t.refuseAny(s.tally, s.refused, c, s.rule.Shadow); err != nil {
			return err
		}
	}
	return nil
}

// An originList is the list of a rule, for all the rule's resources.
type originList struct {
	rule *authority.Rule
	list *authority.List
}

// compileOrigins makes the lists of rules, which were checked, ready, by the rules' ids. Those of before that did not change are taken over.
func compileOrigins(old map[string]originList, rules []ref[authority.Rule]) map[string]originList {
	if len(rules) == 0 {
		return nil
	}
	lists := make(map[string]originList, len(rules))
	for _, f := range rules {
		was, ok := old[f.r.ID]
		if ok && was.rule.Anonymous == f.r.Anonymous && slices.Equal(was.rule.Allow, f.r.Allow) && slices.Equal(was.rule.Deny, f.r.Deny) {
			lists[f.r.ID] = originList{f.r, was.list}
			continue
		}
		list, err := authority.NewList(*f.r)
		if err != nil {
			panic(err) // rules with a fault are never put in force
		}
		lists[f.r.ID] = originList{f.r, list}
	}
	return lists
}

// ownOrigins returns rules whose slices are nobody else's.
func ownOrigins(rules []authority.Rule) []authority.Rule {
	rules = slices.Clone(rules)
	for i := range rules {
		rules[i].Allow, rules[i].Deny = slices.Clone(rules[i].Allow), slices.Clone(rules[i].Deny)
	}
	return rules
}
