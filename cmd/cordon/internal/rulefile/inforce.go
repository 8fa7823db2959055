package rulefile

import (
	"github.com/cordon-go/cordon/rule"
)

// InForce returns the document with the rules that who follows it has in force when it comes after another one: its good rules and, in place of those that are refused, their last good versions. A document that is
// refused as a whole changes nothing: then it is the other one. before may be nil.
func (d *Document) InForce(before *Document) *Document {
	switch {
	case d.OK() || before == nil && d.Partial:
		return d
	case d.Broken || !d.Partial:
		return before
	}
	refused := map[[2]string]bool{}
	for _, p := range d.Problems.Faults() {
		refused[[2]string{p.Kind, p.RuleID}] = true
	}
	now, old := *d, before.Rules
	r := &now.Rules
	r.Flow = kept(refused, "flow", r.Flow, old.Flow)
	r.Concurrency = kept(refused, "concurrency", r.Concurrency, old.Concurrency)
	r.Breaker = kept(refused, "breaker", r.Breaker, old.Breaker)
	r.Isolation = kept(refused, "isolation", r.Isolation, old.Isolation)
	r.Param = kept(refused, "param", r.Param, old.Param)
	r.System = kept(refused, "system", r.System, old.System)
	r.Authority = kept(refused, "authority", r.Authority, old.Authority)
	r.APIGroup = kept(refused, "apiGroup", r.APIGroup, old.APIGroup)
	return &now
}

// kept returns good rules and the old ones of those that are refused.
func kept[R rule.Rule[R]](refused map[[2]string]bool, kind string, good, old []R) []R {
	all := good[:len(good):len(good)]
	for _, r := range old {
		if refused[[2]string{kind, r.Meta().ID}] {
			all = append(all, r)
		}
	}
	return all
}
