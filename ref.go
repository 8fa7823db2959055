package cordon

import (
	"github.com/cordon-go/cordon/apigroup"
	"github.com/cordon-go/cordon/authority"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/system"
)

// ref is a rule by its address. All that hold the rule (its owner, the index, the states of its resources, through all versions
// that did not change it) share the one copy, which nobody changes.
type ref[R rule.Rule[R]] struct{ r *R }

// Meta, WithID, Equal and Problems make ref a rule.Rule of its own.
func (f ref[R]) Meta() rule.Meta { return (*f.r).Meta() }

func (f ref[R]) WithID(id string) ref[R] {
	r := (*f.r).WithID(id)
	return ref[R]{&r}
}

func (f ref[R]) Equal(o ref[R]) bool { return same(f.r, o.r) }

func (f ref[R]) Problems() []rule.Problem { return (*f.r).Problems() }

// deref returns copies of the rules.
func deref[R rule.Rule[R]](refs []ref[R]) []R {
	if len(refs) == 0 {
		return nil
	}
	rules := make([]R, len(refs))
	for i, f := range refs {
		rules[i] = *f.r
	}
	return rules
}

// same reports whether two rules are the same, which those that no edit touched are by their address.
func same[R rule.Rule[R]](a, b *R) bool { return a == b || (*a).Equal(*b) }

// ruleRefs is Rules by address.
type ruleRefs struct {
	flow        []ref[flow.Rule]
	concurrency []ref[flow.ConcurrencyRule]
	breaker     []ref[breaker.Rule]
	isolation   []ref[isolation.Rule]
	param       []ref[paramflow.Rule]
	system      []ref[system.Rule]
	authority   []ref[authority.Rule]
	apiGroup    []ref[apigroup.Group]
}

// deref returns copies of the rules, which share the slices in them.
func (r *ruleRefs) deref() Rules {
	return Rules{
		Flow: deref(r.flow), Concurrency: deref(r.concurrency), Breaker: deref(r.breaker), Isolation: deref(r.isolation), Param: deref(r.param),
		System: deref(r.system), Authority: deref(r.authority), APIGroup: deref(r.apiGroup),
	}
}

func (r *ruleRefs) count() int {
	return len(r.flow) + len(r.concurrency) + len(r.breaker) + len(r.isolation) + len(r.param) + len(r.system) + len(r.authority) + len(r.apiGroup)
}
