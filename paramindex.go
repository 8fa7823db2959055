package cordon

import (
	"cmp"
	"slices"

	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

// paramIndex finds the rules on hot parameters that apply to a resource. Those with different params do not override each other, so each param has an index of its own.
type paramIndex struct {
	rules []ref[paramflow.Rule]
	place map[ref[paramflow.Rule]]int // of each rule, in written order
	of    map[string]*rule.Index[ref[paramflow.Rule]]
	// named are the params that have rules for a resource by its name, patterns those that have rules by pattern, so that not all need be asked.
	named    map[string][]string
	patterns []string
}

// newParamIndex makes an index, taking over from old what did not change. It panics as rule.NewIndex does.
func newParamIndex(old *paramIndex, rules []ref[paramflow.Rule]) *paramIndex {
	x := &paramIndex{
		rules: rules,
		place: make(map[ref[paramflow.Rule]]int, len(rules)),
		of:    map[string]*rule.Index[ref[paramflow.Rule]]{},
		named: map[string][]string{},
	}
	byParam := map[string][]ref[paramflow.Rule]{}
	patterns := map[string]bool{}
	for i, r := range rules {
		x.place[r] = i
		param := r.r.Param
		byParam[param] = append(byParam[param], r)
		if m := r.r.Resource; m.Kind() != rule.ByName {
			if !patterns[param] {
				patterns[param] = true
				x.patterns = append(x.patterns, param)
			}
		} else if !slices.Contains(x.named[m.Pattern()], param) {
			x.named[m.Pattern()] = append(x.named[m.Pattern()], param)
		}
	}
	for param, rules := range byParam {
		var was *rule.Index[ref[paramflow.Rule]]
		if old != nil {
			was = old.of[param]
		}
		x.of[param] = was.Update(rules)
	}
	return x
}

// Rules returns all rules in written order. The caller must not change the slice.
func (x *paramIndex) Rules() []ref[paramflow.Rule] { return x.rules }

// Match returns the rules that apply to the resource, in written order: of each param those that rule.Index.Match says. It also reports whether any rule was found by name.
func (x *paramIndex) Match(name string) (found []ref[paramflow.Rule], byName bool) {
	named := x.named[name]
	for _, param := range named {
		rules, by := x.of[param].Match(name)
		found, byName = append(found, rules...), byName || by
	}
	for _, param := range x.patterns {
		if !slices.Contains(named, param) {
			rules, _ := x.of[param].Match(name)
			found = append(found, rules...)
		}
	}
	slices.SortFunc(found, func(a, b ref[paramflow.Rule]) int { return cmp.Compare(x.place[a], x.place[b]) })
	return found, byName
}
