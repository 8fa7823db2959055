package cordon

import (
	"fmt"
	"slices"

	"github.com/cordon-go/cordon/apigroup"
	"github.com/cordon-go/cordon/authority"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/system"
)

// Rules is a set of rules of all kinds. The zero value holds none.
type Rules struct {
	// Flow are limits by rate.
	Flow []flow.Rule `rule:"flow"`
	// Concurrency are limits of what runs at once.
	Concurrency []flow.ConcurrencyRule `rule:"concurrency"`
	// Breaker are circuit breakers.
	Breaker []breaker.Rule `rule:"breaker"`
	// Isolation take sick instances out of service, in groups that NewGroup makes.
	Isolation []isolation.Rule `rule:"isolation"`
	// Param are limits by a value inside the calls.
	Param []paramflow.Rule `rule:"param"`
	// System protect the whole process from inbound calls.
	System []system.Rule `rule:"system"`
	// Authority say which callers may call what.
	Authority []authority.Rule `rule:"authority"`
	// APIGroup give calls further resources by their paths.
	APIGroup []apigroup.Group `rule:"apiGroup"`
}

func (r *Rules) count() int {
	return len(r.Flow) + len(r.Concurrency) + len(r.Breaker) + len(r.Isolation) + len(r.Param) + len(r.System) + len(r.Authority) + len(r.APIGroup)
}

// owner is who brought rules: code (with Apply) or a source. Each owns what it brought.
type owner struct {
	source string
	rules  ruleRefs // as offered, with ids, kept ones included
}

// Apply puts the rules given by code in force, in place of those given by the last Apply; rules of sources stay. The set is
// checked as a whole: with a fault in it nothing changes, and the error is the rule.Problems that the report holds too. State is kept across edits by
// the rules' ids. The caller may go on using the slices.
func (e *Engine) Apply(rules Rules) (rule.Report, error) {
	rep := e.apply(e.code, Decoded{Rules: rules}, false, rule.Report{})
	if faults := rep.Problems.Faults(); !rep.Applied && len(faults) > 0 {
		return rep, faults
	}
	return rep, nil
}

// apply puts an owner's decoded rules in force and reports, in a report that says already where they come from. keepGood applies good rules beside refused ones.
func (e *Engine) apply(o *owner, d Decoded, keepGood bool, rep rule.Report) rule.Report {
	e.offer(o, d, keepGood, &rep)
	e.stamp(&rep)
	e.notifyReport(rep)
	e.groups.tell()
	return rep
}

// offer is apply without telling anyone.
func (e *Engine) offer(o *owner, d Decoded, keepGood bool, rep *rule.Report) {
	e.applyMu.Lock()
	defer e.applyMu.Unlock()
	rep.Problems = slices.Clone(d.Problems)
	p := offer{source: o.source, rep: rep, checkPath: func(r any) []rule.Problem { return e.pathProblems(r.(paramflow.Rule), d.paramAt) }}
	if keepGood {
		p.keep = newKeeping(rep.Problems, &o.rules)
	}
	next := p.takeAll(d.Rules, &o.rules)
	if !keepGood && len(rep.Problems.Faults()) > 0 || e.closed {
		if e.closed {
			rep.Problems = append(rep.Problems, rule.Problem{Source: o.source, Index: -1, Message: "the engine is closed"})
		}
		*rep = rule.Report{Source: rep.Source, Version: rep.Version, Saved: rep.Saved, Problems: rep.Problems}
		return
	}
	merged, mine := ruleRefs{}, &ruleRefs{} // mine stays empty for those that come before the owner
	for _, other := range e.owners {
		rules := &other.rules
		if other == o {
			rules, mine = &next, &next
		}
		merged.flow = merge(rep, "flow", merged.flow, rules.flow, mine.flow, other.source)
		merged.concurrency = merge(rep, "concurrency", merged.concurrency, rules.concurrency, mine.concurrency, other.source)
		merged.breaker = merge(rep, "breaker", merged.breaker, rules.breaker, mine.breaker, other.source)
		merged.isolation = merge(rep, "isolation", merged.isolation, rules.isolation, mine.isolation, other.source)
		merged.param = merge(rep, "param", merged.param, rules.param, mine.param, other.source)
		merged.system = merge(rep, "system", merged.system, rules.system, mine.system, other.source)
		merged.authority = merge(rep, "authority", merged.authority, rules.authority, mine.authority, other.source)
		merged.apiGroup = merge(rep, "apiGroup", merged.apiGroup, rules.apiGroup, mine.apiGroup, other.source)
	}
	diff(rep, "flow", o.rules.flow, next.flow)
	diff(rep, "concurrency", o.rules.concurrency, next.concurrency)
	diff(rep, "breaker", o.rules.breaker, next.breaker)
	diff(rep, "isolation", o.rules.isolation, next.isolation)
	diff(rep, "param", o.rules.param, next.param)
	diff(rep, "system", o.rules.system, next.system)
	diff(rep, "authority", o.rules.authority, next.authority)
	diff(rep, "apiGroup", o.rules.apiGroup, next.apiGroup)
	rep.Applied = true
	o.rules = next
	e.install(newRuleset(e.set.Load(), merged, e))
}

// offer is one offered set of rules on its way.
type offer struct {
	source string
	// keep says what stays in force of what is not offered; nil if a fault refuses all.
	keep *keeping
	rep  *rule.Report
	// checkPath finds what only the engine can tell of a rule on hot parameters; nil if there is no engine.
	checkPath func(r any) []rule.Problem
	// check is checkPath while such rules are taken, else nil.
	check func(r any) []rule.Problem
}

// takeAll is take for the rules of all kinds.
func (p *offer) takeAll(rules Rules, prev *ruleRefs) (next ruleRefs) {
	next.flow = take(p, "flow", rules.Flow, prev.flow)
	next.concurrency = take(p, "concurrency", rules.Concurrency, prev.concurrency)
	next.breaker = take(p, "breaker", rules.Breaker, prev.breaker)
	next.isolation = take(p, "isolation", rules.Isolation, prev.isolation)
	for _, problem := range overridden(next.isolation) {
		if problem.Source = p.source; !p.knows(problem) {
			p.rep.Problems = append(p.rep.Problems, problem)
		}
	}
	p.check = p.checkPath
	next.param = take(p, "param", own(rules.Param), prev.param)
	p.check = nil
	next.system = take(p, "system", rules.System, prev.system)
	next.authority = take(p, "authority", ownOrigins(rules.Authority), prev.authority)
	next.apiGroup = take(p, "apiGroup", ownGroups(rules.APIGroup), prev.apiGroup)
	return next
}

// knows reports whether the decoder has already said the same of the rule, with its position.
func (p *offer) knows(problem rule.Problem) bool {
	return slices.ContainsFunc(p.rep.Problems, func(known rule.Problem) bool {
		return known.Kind == problem.Kind && known.RuleID == problem.RuleID && known.Field == problem.Field && known.Message == problem.Message
	})
}

// take checks the offered rules of one kind, gives ids to those without, and returns those to be in force: the good
// ones, and the last good versions of the bad ones. Faults go into the report. prev are the rules of the same owner in force.
func take[R rule.Rule[R]](p *offer, kind string, offered []R, prev []ref[R]) []ref[R] {
	var problems rule.Problems
	before := func(i int) int { return i } // where the rule is in prev, -1 if it is not
	if !aligned(offered, prev) {
		offered = slices.Clone(offered)
		problems = rule.DeriveIDs(kind, offered)
		last := make(map[string]int, len(prev))
		for i, f := range prev {
			last[f.Meta().ID] = i
		}
		before = func(i int) int {
			if j, ok := last[offered[i].Meta().ID]; ok {
				return j
			}
			return -1
		}
	}
	unchanged := func(i int) bool {
		j := before(i)
		return j >= 0 && (*prev[j].r).Equal(offered[i])
	}
	for i := range offered {
		if unchanged(i) {
			continue // it was good before
		}
		found := offered[i].Problems()
		if p.check != nil {
			found = append(found, p.check(offered[i])...)
		}
		for _, problem := range found {
			problem.Kind, problem.Index, problem.RuleID = kind, i, offered[i].Meta().ID
			if !p.knows(problem) {
				problems = append(problems, problem)
			}
		}
	}
	refused := map[int]bool{}
	for i := range problems {
		problems[i].Source, problems[i].Resource = p.source, offered[problems[i].Index].Meta().Resource
		if !problems[i].Warning {
			refused[problems[i].Index] = true
		}
	}
	p.rep.Problems = append(p.rep.Problems, problems...)
	p.keep.refused(problems)
	rules := make([]ref[R], 0, len(offered))
	goesOn := make([]bool, len(prev))
	for i := range offered {
		j := before(i)
		switch {
		case refused[i]:
			continue
		case unchanged(i):
			rules = append(rules, prev[j])
		default:
			r := offered[i]
			rules = append(rules, ref[R]{&r})
		}
		if j >= 0 {
			goesOn[j] = true
		}
	}
	for j, f := range prev {
		if !goesOn[j] && p.keep.keeps(kind, f.Meta()) {
			rules = append(rules, f)
			p.rep.Kept = append(p.rep.Kept, rule.Change{Kind: kind, ID: f.Meta().ID})
		}
	}
	return rules
}

// aligned reports whether the rules offered are those of prev one by one, by their ids: mostly few rules of many are edited, and then nothing
// needs to be looked up.
func aligned[R rule.Rule[R]](offered []R, prev []ref[R]) bool {
	if len(offered) != len(prev) {
		return false
	}
	for i := range offered {
		if offered[i].Meta().ID != prev[i].Meta().ID {
			return false
		}
	}
	return true
}

// merge appends the rules of one owner to those of the owners before it. Of two rules with one id the earlier owner's stays; but
// where nobody chose that id, since it was derived, the later rule gets its owner's name besides.
func merge[R rule.Rule[R]](rep *rule.Report, kind string, all, rules, mine []ref[R], source string) []ref[R] {
	if len(all) == 0 {
		return rules[:len(rules):len(rules)] // neither is changed any more, so they may share
	}
	seen := make(map[string]bool, len(all))
	for _, r := range all {
		seen[r.Meta().ID] = true
	}
	var about map[string]bool // the ids of mine, once they are asked for
	for i, r := range rules {
		id := r.Meta().ID
		if other := id + "@" + source; seen[id] && r.Meta().Derived() && !seen[other] {
			id, r = other, r.WithID(other)
		}
		if !seen[id] {
			all = append(all, r)
			continue
		}
		if about == nil {
			about = make(map[string]bool, len(mine))
			for _, r := range mine {
				about[r.Meta().ID] = true
			}
		}
		if !about[id] {
			continue
		}
		rep.Problems = append(rep.Problems, rule.Problem{
			Source: source, Kind: kind, Index: i, RuleID: id, Field: "id", Warning: true,
			Message: "another source watched earlier has a rule with this id, which stays in force instead of this one",
			Want:    "an id of its own",
		})
	}
	return all
}

// diff adds to the report how an owner's rules of one kind differ.
func diff[R rule.Rule[R]](rep *rule.Report, kind string, old, new []ref[R]) {
	added, changed, removed, unchanged := rule.Diff(kind, old, new)
	if len(changed) > 0 { // rule.Diff does not see the fields behind the addresses
		was, is := make([]R, 0, len(changed)), make([]R, 0, len(changed))
		edited := make(map[string]bool, len(changed))
		for _, c := range changed {
			edited[c.ID] = true
		}
		pick := func(from []ref[R], to []R) []R {
			for _, f := range from {
				if edited[f.Meta().ID] {
					to = append(to, *f.r)
				}
			}
			return to
		}
		_, changed, _, _ = rule.Diff(kind, pick(old, was), pick(new, is))
	}
	rep.Added = append(rep.Added, added...)
	rep.Changed = append(rep.Changed, changed...)
	rep.Removed = append(rep.Removed, removed...)
	rep.Unchanged += unchanged
}

// ForceBreaker sets or releases a resource's breakers by hand: see breaker.Breaker.Force for the states. ruleID "" means all of
// the resource's breakers. It fails if there is none. A rule with a shared breaker is forced for all its resources.
func (e *Engine) ForceBreaker(resource, ruleID string, s breaker.State) error {
	t := e.resources.get(resource).current()
	for t == nil { // the resource was dropped meanwhile
		t = e.resources.get(resource).current()
	}
	found := false
	for _, b := range t.checks().breakers {
		if ruleID != "" && b.rule.ID != ruleID {
			continue
		}
		found = true
		if err := b.breaker.Force(s, e.clock.Now()); err != nil {
			return fmt.Errorf("cordon: breaker rule %q on %q: %w", b.rule.ID, resource, err)
		}
	}
	if !found {
		return fmt.Errorf("cordon: resource %q has no breaker rule %q", resource, ruleID)
	}
	return nil
}
