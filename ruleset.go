package cordon

import (
	"slices"
	"time"

	"github.com/cordon-go/cordon/apigroup"
	"github.com/cordon-go/cordon/authority"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/system"
)

// ruleset is all rules in force at one moment, ready to be asked. It is immutable.
type ruleset struct {
	version uint32 // from 1 on

	flow        *rule.Index[ref[flow.Rule]]
	concurrency *rule.Index[ref[flow.ConcurrencyRule]]
	breaker     *rule.Index[ref[breaker.Rule]]
	isolation   *rule.Index[ref[isolation.Rule]] // by service, not by resource
	param       *paramIndex
	system      []ref[system.Rule]
	authority   *rule.Index[ref[authority.Rule]]
	apiGroup    []ref[apigroup.Group]

	// origins are the lists of the rules on origins made ready, by the rules' ids, and apiGroups the groups of paths.
	origins   map[string]originList
	apiGroups *apigroup.Set
	// paths are the compiled paths of the rules on hot parameters, by the rules' ids.
	paths map[string]*paramPath

	// related holds what rules need to know of other resources' traffic, by the other resource's name.
	related map[string][]*relatedGauge
	// shared holds the state of rules whose budget all matched resources share, by kind and id.
	shared map[sharedKey]any
	// asksUnder is true when some rule asks under which entrance a call came in.
	asksUnder bool
	// closed is true for the last ruleset of a closed engine, which has nothing else.
	closed bool
}

// sharedName stands for all resources of a rule whose state they share.
const sharedName = "(shared)"

type sharedKey struct {
	kind Kind
	id   string
}

// relatedGauge counts how much the related resource has passed per interval.
type relatedGauge struct {
	per    time.Duration
	passes *flow.Gauge
}

// matched are the rules that apply to one resource, in written order.
type matched struct {
	flow        []ref[flow.Rule]
	concurrency []ref[flow.ConcurrencyRule]
	breaker     []ref[breaker.Rule]
	param       []ref[paramflow.Rule]
	authority   []ref[authority.Rule]
}

// newRuleset makes the rules ready to be asked, taking over from old what did not change.
func newRuleset(old *ruleset, rules ruleRefs, e *Engine) *ruleset {
	s := &ruleset{related: map[string][]*relatedGauge{}, shared: map[sharedKey]any{}}
	if old == nil || old.closed {
		s.flow = rule.NewIndex(rules.flow)
		s.concurrency = rule.NewIndex(rules.concurrency)
		s.breaker = rule.NewIndex(rules.breaker)
		s.isolation = rule.NewIndex(rules.isolation)
		s.param = newParamIndex(nil, rules.param)
		s.authority = rule.NewIndex(rules.authority)
		old = &ruleset{}
	} else {
		s.flow = old.flow.Update(rules.flow)
		s.concurrency = old.concurrency.Update(rules.concurrency)
		s.breaker = old.breaker.Update(rules.breaker)
		s.isolation = old.isolation.Update(rules.isolation)
		s.param = newParamIndex(old.param, rules.param)
		s.authority = old.authority.Update(rules.authority)
	}
	s.system, s.apiGroup = rules.system, rules.apiGroup
	s.origins, s.apiGroups = compileOrigins(old.origins, rules.authority), compileGroups(old, rules.apiGroup)
	s.paths = e.compilePaths(old.paths, rules.param)
	for _, f := range rules.flow {
		r := f.r
		s.asksUnder = s.asksUnder || r.Under != ""
		if r.Related != "" {
			s.relate(old, r)
		} else if r.Shared {
			s.shared[sharedKey{KindFlow, r.ID}] = carryRate(old.sharedFlow(r.ID), r, nil, &ruleset{}, e)
		}
	}
	for _, f := range rules.concurrency {
		r := f.r
		s.asksUnder = s.asksUnder || r.Under != ""
		if r.Shared {
			s.shared[sharedKey{KindConcurrency, r.ID}] = carryBulkhead(old.sharedBulkhead(r.ID), r, nil, nil, e)
		}
	}
	for _, f := range rules.breaker {
		if r := f.r; r.Shared {
			s.shared[sharedKey{KindBreaker, r.ID}] = carryBreaker(old.sharedBreaker(r.ID), r, nil, nil, e)
		}
	}
	for _, f := range rules.param {
		if r := f.r; r.Shared {
			s.shared[sharedKey{KindParam, r.ID}] = carryParam(old.sharedParam(r.ID), r, nil, s.paths[r.ID], nil, e)
		}
	}
	return s
}

func (s *ruleset) sharedFlow(id string) *flowState {
	st, _ := s.shared[sharedKey{KindFlow, id}].(*flowState)
	return st
}

func (s *ruleset) sharedBulkhead(id string) *bulkheadState {
	st, _ := s.shared[sharedKey{KindConcurrency, id}].(*bulkheadState)
	return st
}

func (s *ruleset) sharedBreaker(id string) *breakerState {
	st, _ := s.shared[sharedKey{KindBreaker, id}].(*breakerState)
	return st
}

func (s *ruleset) sharedParam(id string) *paramState {
	st, _ := s.shared[sharedKey{KindParam, id}].(*paramState)
	return st
}

// retire lets the calls go that wait at shared bulkheads which no rule of the ruleset in force has any more.
func (s *ruleset) retire(now *ruleset) {
	for key := range s.shared {
		if key.kind != KindConcurrency {
			continue
		}
		o, is := s.sharedBulkhead(key.id), now.sharedBulkhead(key.id)
		if o != nil && (is == nil || is.bulkheadPlaces != o.bulkheadPlaces) {
			o.open()
		}
	}
}

// relate makes sure that there is a gauge for the related resource of r.
func (s *ruleset) relate(old *ruleset, r *flow.Rule) {
	if s.gauge(r.Related, interval(r)) != nil {
		return
	}
	g := &relatedGauge{per: interval(r), passes: old.gauge(r.Related, interval(r))}
	if g.passes == nil {
		g.passes = flow.NewGauge(interval(r))
	}
	s.related[r.Related] = append(s.related[r.Related], g)
}

// gauge returns the gauge of a related resource for an interval, or nil.
func (s *ruleset) gauge(name string, per time.Duration) *flow.Gauge {
	for _, g := range s.related[name] {
		if g.per == per {
			return g.passes
		}
	}
	return nil
}

func interval(r *flow.Rule) time.Duration {
	if r.Per == 0 {
		return time.Second
	}
	return r.Per
}

// match returns the rules that apply to a resource.
func (s *ruleset) match(name string) matched {
	if s.closed {
		return matched{}
	}
	var m matched
	m.flow, _ = s.flow.Match(name)
	m.concurrency, _ = s.concurrency.Match(name)
	m.breaker, _ = s.breaker.Match(name)
	m.param, _ = s.param.Match(name)
	m.authority, _ = s.authority.Match(name)
	return m
}

// service returns the rule that applies to a service's groups, or nil: of the most specific layer that matches, the first one written.
func (s *ruleset) service(name string) *isolation.Rule {
	if s.closed {
		return nil
	}
	rules, _ := s.isolation.Match(name)
	if len(rules) == 0 {
		return nil
	}
	return rules[0].r
}

// isolatesAs reports whether all services have the same isolation rules as before.
func (s *ruleset) isolatesAs(old *ruleset) bool {
	return old != nil && s.closed == old.closed && (s.closed || slices.Equal(s.isolation.Rules(), old.isolation.Rules()))
}

// names reports whether a rule is for that resource by name, or about it.
func (s *ruleset) names(name string) bool {
	if s.closed {
		return false
	}
	if _, ok := s.related[name]; ok {
		return true
	}
	_, f := s.flow.Match(name)
	if f {
		return true
	}
	if _, c := s.concurrency.Match(name); c {
		return true
	}
	if _, b := s.breaker.Match(name); b {
		return true
	}
	if _, p := s.param.Match(name); p {
		return true
	}
	_, a := s.authority.Match(name)
	return a
}

// all returns the rules.
func (s *ruleset) all() ruleRefs {
	if s.closed {
		return ruleRefs{}
	}
	return ruleRefs{flow: s.flow.Rules(), concurrency: s.concurrency.Rules(), breaker: s.breaker.Rules(), isolation: s.isolation.Rules(), param: s.param.Rules(),
		system: s.system, authority: s.authority.Rules(), apiGroup: s.apiGroup}
}
