package paramflow

import (
	"slices"

	"github.com/cordon-go/cordon/extractor"
)

// A plan is a rule made ready. It does not change but for the pasts of named values.
type plan struct {
	rule     Rule // its numbers, defaults set
	gen      uint32
	maxWait  int64 // ticks
	maxQueue int64 // 0 for no bound of its own
	hashed   bool  // values in flight are known by their hashes
	named    roll
	were     []allowance // what the named values might do before, by the old plan
	patterns *patterns   // nil without
	only     *only       // nil if all values are counted
	// classes are the allowances of values without an override of their own: first the rule's, then one for each pattern.
	classes []allowance
	texts   []Override // the pattern of each class; that of the rule is empty
	// measures are what the pasts in cells are measured in: first the classes' allowances, then what allowances were under older plans, for pasts of values of which nobody knows yet what class they are of by
	// now.
	measures []allowance
}

// newPlan makes a valid rule ready. What refuses all keeps the measure that old had for it, if there is an old plan.
func newPlan(r Rule, seed extractor.Seed, old *plan) (*plan, error) {
	r = r.withDefaults().numbers()
	r.Overrides = slices.Clone(r.Overrides)
	p := &plan{rule: r, maxWait: int64(r.MaxWait) << tickBits, maxQueue: int64(r.MaxQueue), hashed: r.Redact}
	if old != nil {
		p.gen = old.gen + 1
		p.hashed = p.hashed || old.hashed // a hash does not tell its value
	}
	p.add(Override{Limit: r.Limit, Burst: r.Burst}, old)
	var err error
	if p.only, err = newOnly(r.Only); err != nil {
		return nil, err
	}
	var values []named
	var byPattern []Override
	for _, o := range r.Overrides {
		if o.Value == "" {
			byPattern = append(byPattern, o)
			p.add(o, old)
			continue
		}
		v := extractor.Text(string(o.Value)).Clone()
		if !p.only.holds(v) {
			continue // it is not asked for
		}
		n := named{value: v, hash: v.Hash(seed)}
		var was allowance
		if old != nil {
			was, _ = old.allowance(v, n.hash)
		}
		n.allowance = r.allow(o.Limit, o.Burst, was)
		values, p.were = append(values, n), append(p.were, was)
	}
	p.named = newRoll(values)
	p.measures = slices.Clone(p.classes)
	if len(byPattern) > 0 {
		if p.patterns, err = newPatterns(byPattern); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// add adds a class.
func (p *plan) add(o Override, old *plan) {
	var was allowance
	if old != nil {
		if i := old.classOf(o); i >= 0 {
			was = old.classes[i]
		} else {
			was = old.classes[0]
		}
	}
	p.classes = append(p.classes, p.rule.allow(o.Limit, o.Burst, was))
	p.texts = append(p.texts, Override{Wildcard: o.Wildcard, Regex: o.Regex})
}

// classOf returns the class of a pattern, -1 if there is none such.
func (p *plan) classOf(o Override) int {
	for i, t := range p.texts {
		if t.Wildcard == o.Wildcard && t.Regex == o.Regex {
			return i
		}
	}
	return -1
}

// class returns the class of a value without an override of its own.
func (p *plan) class(v extractor.Value) uint16 {
	if p.patterns == nil {
		return 0
	}
	return uint16(p.patterns.find(v) + 1)
}

// remembers reports whether finding a value's class takes so long that the class is remembered.
func (p *plan) remembers() bool { return p.patterns != nil || p.only != nil }

// allowance returns what a value that is counted may do, and its class if it has no override of its own.
func (p *plan) allowance(v extractor.Value, hash uint64) (allowance, uint16) {
	if i := p.named.find(v, hash); i >= 0 {
		return p.named.values[i].allowance, 0
	}
	class := p.class(v)
	return p.classes[class], class
}
