package cordon

import (
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/system"
)

// A keeping says which rules stay in force, of those that a document with refused rules has no longer. A refused rule stands for the rule with its id. Where there is none, or nobody chose
// that id, it may be any of those for the same resource; and where not even that is known, any at all.
type keeping struct {
	all bool
	ids map[ruleName]bool
	// resources are what refused rules are for that cannot be told by their ids.
	resources map[ruleResource]bool
	// inForce are the rules that there are, by their kinds themselves: so the same document, judged again on top of what it has left in force, leaves the same.
	inForce map[ruleName]bool
}

// ruleName and ruleResource are what a rule may be known by, within its kind or its kin.
type (
	ruleName     struct{ kind, id string }
	ruleResource struct {
		kind string
		of   rule.Match
	}
)

// newKeeping returns what stays of an owner's rules, given what a decoder has refused.
func newKeeping(problems rule.Problems, prev *ruleRefs) *keeping {
	k := &keeping{ids: map[ruleName]bool{}, resources: map[ruleResource]bool{}, inForce: make(map[ruleName]bool, prev.count())}
	name(k.inForce, "flow", prev.flow)
	name(k.inForce, "concurrency", prev.concurrency)
	name(k.inForce, "breaker", prev.breaker)
	name(k.inForce, "isolation", prev.isolation)
	name(k.inForce, "param", prev.param)
	name(k.inForce, "system", prev.system)
	name(k.inForce, "authority", prev.authority)
	name(k.inForce, "apiGroup", prev.apiGroup)
	k.refused(problems)
	return k
}

// name adds the names of rules of one kind.
func name[R rule.Rule[R]](names map[ruleName]bool, kind string, rules []ref[R]) {
	for _, f := range rules {
		names[ruleName{kind, f.Meta().ID}] = true
	}
}

// refused takes problems. A nil keeping takes none.
func (k *keeping) refused(problems rule.Problems) {
	if k == nil {
		return
	}
	for _, p := range problems {
		if !p.Warning {
			k.refuse(p)
		}
	}
}

// refuse takes a fault.
func (k *keeping) refuse(p rule.Problem) {
	if p.RuleID == "" {
		k.all = true
		return
	}
	k.ids[ruleName{kin(p.Kind), p.RuleID}] = true
	chosen := p.Field != "id" && !rule.Meta{ID: p.RuleID, Resource: p.Resource}.Derived() // an id that is given twice is another rule's
	switch {
	case chosen && k.inForce[ruleName{p.Kind, p.RuleID}]:
	case readable(p):
		k.resources[ruleResource{kin(p.Kind), p.Resource}] = true
	default:
		k.all = true
	}
}

// keeps reports whether a rule stays that is not offered. A nil keeping keeps none.
func (k *keeping) keeps(kind string, m rule.Meta) bool {
	return k != nil && (k.all || k.ids[ruleName{kin(kind), m.ID}] || k.resources[ruleResource{kin(kind), m.Resource}])
}

// kin names the kinds that other documents than ours tell apart by a field of the rule: limits by rate, of what runs at once, and by a value. One that becomes a limit of another kind, and is refused, must
// not leave its resource without any.
func kin(kind string) string {
	switch kind {
	case "concurrency", "param":
		return "flow"
	}
	return kind
}

// readable reports whether it is known what a refused rule is for.
func readable(p rule.Problem) bool {
	if p.Kind == "system" { // which is for what it measures
		return new(system.Metric).UnmarshalText([]byte(p.Resource.Pattern())) == nil
	}
	return p.Resource.Check() == nil
}
