package cordon

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

// The naive model of an engine: every rule on every resource has a list of what it let pass and of what it holds.
type model struct {
	t   *rapid.T
	e   *Engine
	now time.Duration

	rules  Rules
	states map[string]map[stateKey]*modelState // by resource; "" for those shared
	totals map[string]*modelTotals
	open   []*modelCall
}

type stateKey struct {
	kind Kind
	id   string
}

type modelState struct {
	shared   bool
	inFlight int
	passed   []modelPass

	// Of rules on values: what is in flight of each, until when each one's past counts, and until when that is not known, for the rule was edited.
	flights map[string]int
	until   map[string]time.Duration
	unknown time.Duration
}

// modelFlight is what a call holds of a value.
type modelFlight struct {
	state *modelState
	value string
}

type modelPass struct {
	at   time.Duration
	cost int
}

type modelTotals struct {
	passed  int64
	ended   [3]int64
	blocked map[string]int64
	shadow  int64 // of concurrency rules
}

type modelCall struct {
	ent      Entry
	resource string
	cost     int
	holds    []*modelState
	flights  []modelFlight
}

var modelResources = []string{"r0", "r1", "r2"}

// matches returns the rules of a resource: those by its name, else those by pattern.
func matches[R rule.Rule[R]](rules []R, name string) (found []R) {
	for _, m := range []rule.Match{rule.Name(name), rule.Wildcard("r*")} {
		for _, r := range rules {
			if r.Meta().Resource == m {
				found = append(found, r)
			}
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// state returns the state of a rule on a resource, made if it is new.
func (m *model) state(resource string, kind Kind, id string, shared bool) *modelState {
	if shared {
		resource = ""
	}
	k := stateKey{kind, id}
	if m.states[resource] == nil {
		m.states[resource] = map[stateKey]*modelState{}
	}
	s := m.states[resource][k]
	if s == nil {
		s = &modelState{shared: shared, flights: map[string]int{}, until: map[string]time.Duration{}}
		m.states[resource][k] = s
	}
	return s
}

// apply puts rules in force and drops the states of rules that no longer apply.
func (m *model) apply(rules Rules) {
	_, err := m.e.Apply(rules)
	require.NoError(m.t, err)
	old := m.rules
	m.rules = rules
	m.e.Snapshot() // every resource compiles now, so that the model knows what is kept
	kept := map[string]map[stateKey]bool{"": {}}
	for _, name := range modelResources {
		kept[name] = map[stateKey]bool{}
		for _, r := range matches(rules.Flow, name) {
			if !r.Shared {
				kept[name][stateKey{KindFlow, r.ID}] = true
			}
		}
		for _, r := range matches(rules.Concurrency, name) {
			if !r.Shared {
				kept[name][stateKey{KindConcurrency, r.ID}] = true
			}
		}
		for _, r := range matches(rules.Param, name) {
			if !r.Shared {
				kept[name][paramKey(r)] = true
			}
		}
	}
	for _, r := range rules.Param {
		if r.Shared {
			kept[""][paramKey(r)] = true
		}
	}
	for _, r := range rules.Flow {
		if r.Shared {
			kept[""][stateKey{KindFlow, r.ID}] = true
		}
	}
	for _, r := range rules.Concurrency {
		if r.Shared {
			kept[""][stateKey{KindConcurrency, r.ID}] = true
		}
	}
	for name, states := range m.states {
		maps.DeleteFunc(states, func(k stateKey, _ *modelState) bool { return !kept[name][k] })
	}
	for _, r := range rules.Param {
		if i := slices.IndexFunc(old.Param, func(o paramflow.Rule) bool { return o.ID == r.ID }); i < 0 || old.Param[i].Limit == r.Limit {
			continue
		}
		for _, states := range m.states {
			if s := states[paramKey(r)]; s != nil {
				s.unknown = m.now + modelRoom
			}
		}
	}
}

// paramKey is the key of a rule on values, whose state begins anew when it counts something else.
func paramKey(r paramflow.Rule) stateKey { return stateKey{KindParam, r.ID + " " + r.Mode.String()} }

// modelRoom is how long the past of a value can count: all these rules have bursts that are earned back within a second.
const modelRoom = time.Second + time.Millisecond

// modelLimit is the limit of a value.
func modelLimit(r paramflow.Rule, value string) int {
	for _, o := range r.Overrides {
		if string(o.Value) == value {
			return int(o.Limit)
		}
	}
	return int(r.Limit)
}

// places asks the rules on what is in flight of a value. It returns the one that refuses, "" for none.
func (m *model) places(c *modelCall, resource, value string, cost int) (refusedBy string) {
	for _, r := range matches(m.rules.Param, resource) {
		if r.Mode != paramflow.Concurrency || refusedBy != "" {
			continue
		}
		s := m.state(resource, KindParam, paramKey(r).id, r.Shared)
		switch {
		case s.flights[value]+cost <= modelLimit(r, value):
			c.flights = append(c.flights, modelFlight{s, value})
		case !r.Shadow:
			refusedBy = r.ID
		}
	}
	return refusedBy
}

// rates asks the rules on the rate of a value. It returns the one that refuses, "" for none; sure is false if that cannot be known. What admit does is done for a call that passes.
func (m *model) rates(resource, value string, cost int) (refusedBy string, sure bool, admit func()) {
	var dos []func()
	sure = true
	for _, r := range matches(m.rules.Param, resource) {
		if r.Mode != paramflow.Reject || refusedBy != "" {
			continue
		}
		s, limit := m.state(resource, KindParam, paramKey(r).id, r.Shared), modelLimit(r, value)
		if m.now < s.unknown {
			sure = false
			dos = append(dos, func() { s.unknown = m.now + modelRoom })
			continue
		}
		next := m.now
		if limit > 0 {
			gap := time.Second / time.Duration(limit)
			next = max(s.until[value], m.now) + time.Duration(cost)*gap
		}
		switch {
		case cost <= limit && next <= m.now+time.Second:
			dos = append(dos, func() { s.until[value] = next })
		case !r.Shadow:
			refusedBy = r.ID
		}
	}
	return refusedBy, sure, func() {
		for _, do := range dos {
			do()
		}
	}
}

// enter makes a call and checks that it is admitted or refused as the rules say.
func (m *model) enter(resource string, arg any, cost int, byHandle bool) {
	value := fmt.Sprint(arg)
	tot := m.totals[resource]
	var c modelCall
	refusedBy := ""
	try := func(queues bool) {
		for _, r := range matches(m.rules.Concurrency, resource) {
			if refusedBy != "" || (r.MaxWait > 0) != queues {
				continue
			}
			s := m.state(resource, KindConcurrency, r.ID, r.Shared)
			switch {
			case s.inFlight+cost <= r.Limit:
				c.holds = append(c.holds, s)
			case r.Shadow:
				tot.shadow++
			default:
				refusedBy = r.ID
			}
		}
	}
	shadowed := tot.shadow
	try(false)
	afterPlaces := tot.shadow
	first := refusedBy
	try(true)
	if refusedBy != first {
		tot.shadow = shadowed
		return // it would wait: not asked
	}
	byPlace := ""
	if first == "" {
		byPlace = m.places(&c, resource, value, cost)
	}
	byRate, sure, admit := m.rates(resource, value, cost)
	req := Request{Resource: resource, Cost: cost, Args: []any{arg}}
	var err error
	if byHandle {
		c.ent, err = m.e.Resource(resource).EnterWith(bg, req)
	} else {
		c.ent, err = m.e.Enter(bg, req)
	}
	if err != nil {
		var b *BlockedError
		require.ErrorAs(m.t, err, &b)
		require.Equal(m.t, resource, b.Resource)
		tot.blocked[b.Kind.String()]++
		if first != "" {
			require.Equal(m.t, KindConcurrency, b.Kind)
			require.Equal(m.t, first, b.RuleID)
			return
		}
		tot.shadow = afterPlaces
		if byPlace != "" || b.Kind == KindParam {
			require.Equal(m.t, KindParam, b.Kind, "%v", err)
			if byPlace != "" {
				require.Equal(m.t, byPlace, b.RuleID)
			} else if sure {
				require.Equal(m.t, byRate, b.RuleID)
			}
			return
		}
		require.Equal(m.t, KindFlow, b.Kind, "concurrency lets the call pass: %v", err)
		m.justify(b, resource, cost)
		return
	}
	require.Empty(m.t, first, "rule %s is to refuse it", first)
	require.Empty(m.t, byPlace, "rule %s is to refuse it", byPlace)
	if sure {
		require.Empty(m.t, byRate, "rule %s is to refuse it", byRate)
	}
	admit()
	tot.passed++
	for _, r := range matches(m.rules.Flow, resource) {
		s := m.state(resource, KindFlow, r.ID, r.Shared)
		if r.Shadow {
			continue
		}
		require.LessOrEqual(m.t, float64(s.within(m.now, r.Per)+cost), r.Limit, "rule %s over its limit", r.ID)
		s.passed = append(s.passed, modelPass{m.now, cost})
	}
	for _, s := range c.holds {
		s.inFlight += cost
	}
	for _, f := range c.flights {
		f.state.flights[f.value] += cost
	}
	c.resource, c.cost = resource, cost
	m.open = append(m.open, &c)
}

// within returns what passed in the last interval.
func (s *modelState) within(now, per time.Duration) (n int) {
	for _, p := range s.passed {
		if now-p.at < per {
			n += p.cost
		}
	}
	return n
}

// justify checks that a rate rule had a reason. What it counted in shadow the model does not know, so it tells only of rules that never were.
func (m *model) justify(b *BlockedError, resource string, cost int) {
	i := slices.IndexFunc(m.rules.Flow, func(r flow.Rule) bool { return r.ID == b.RuleID })
	require.GreaterOrEqual(m.t, i, 0)
	r := m.rules.Flow[i]
	require.False(m.t, r.Shadow)
	require.Equal(m.t, r.Limit, b.Limit, "the limit in force")
	if float64(cost) > r.Limit {
		require.Negative(m.t, b.RetryAfter)
	} else {
		require.Positive(m.t, b.RetryAfter)
		require.LessOrEqual(m.t, b.RetryAfter, r.Per+r.Per/3+time.Millisecond)
	}
}

func (m *model) exit(i int, outcome Outcome) {
	c := m.open[i]
	m.open = slices.Delete(m.open, i, i+1)
	for range 2 { // a second end is harmless
		c.ent.End(outcome)
	}
	m.totals[c.resource].ended[outcome]++
	for _, s := range c.holds {
		s.inFlight -= c.cost
	}
	for _, f := range c.flights {
		f.state.flights[f.value] -= c.cost
	}
}

// check compares the engine's totals and places with the model's.
func (m *model) check() {
	for _, name := range modelResources {
		s, ok := m.e.ResourceSnapshot(name)
		if !ok {
			continue
		}
		tot := m.totals[name]
		require.Equal(m.t, []int64{tot.passed, tot.ended[Success], tot.ended[Failure], tot.ended[Ignored]},
			[]int64{s.Passed, s.Succeeded, s.Failed, s.Ignored})
		require.Equal(m.t, s.Passed, s.Succeeded+s.Failed+s.Ignored+s.InFlight)
		for kind, n := range tot.blocked {
			require.Equal(m.t, n, s.Blocked[kind], kind)
		}
		require.Equal(m.t, tot.shadow, s.Shadow["concurrency"])
		for _, r := range s.Rules {
			if r.Kind == "concurrency" {
				i := slices.IndexFunc(m.rules.Concurrency, func(c flow.ConcurrencyRule) bool { return c.ID == r.ID })
				held := m.state(name, KindConcurrency, r.ID, m.rules.Concurrency[i].Shared).inFlight
				require.EqualValues(m.t, held, r.Usage, "rule %s on %s", r.ID, name)
			}
			if r.Kind == "param" {
				i := slices.IndexFunc(m.rules.Param, func(p paramflow.Rule) bool { return p.ID == r.ID })
				held := 0
				for _, n := range m.state(name, KindParam, paramKey(m.rules.Param[i]).id, m.rules.Param[i].Shared).flights {
					held += n
				}
				require.EqualValues(m.t, held, r.Usage, "rule %s on %s", r.ID, name)
			}
		}
	}
}

// randomRules draws rules that often are edits of each other, since there are few ids.
func randomRules(t *rapid.T) (all Rules) {
	match := func() rule.Match {
		if rapid.Bool().Draw(t, "by name") {
			return rule.Name(rapid.SampledFrom(modelResources).Draw(t, "name"))
		}
		return rule.Wildcard("r*")
	}
	flag := func(what string) bool { return rapid.IntRange(0, 3).Draw(t, what) == 0 }
	for i := range 3 {
		if flag("no flow") {
			continue
		}
		all.Flow = append(all.Flow, flow.Rule{
			ID: fmt.Sprint("f", i), Resource: match(), Limit: float64(rapid.IntRange(0, 12).Draw(t, "limit")), Per: time.Second,
			Shadow: flag("shadow"), Shared: flag("shared"),
		})
	}
	for i := range 3 {
		if flag("no concurrency") {
			continue
		}
		c := flow.ConcurrencyRule{
			ID: fmt.Sprint("c", i), Resource: match(), Limit: rapid.IntRange(0, 8).Draw(t, "places"), Shadow: flag("shadow"), Shared: flag("shared"),
		}
		if flag("queue") {
			c.MaxWait = time.Minute
		}
		all.Concurrency = append(all.Concurrency, c)
	}
	for i := range 3 {
		if flag("no param") {
			continue
		}
		// Limits that divide the second, so that the model needs no rounding.
		limits := rapid.SampledFrom([]float64{0, 1, 2, 4, 5, 8, 10})
		p := paramflow.Rule{
			ID: fmt.Sprint("p", i), Resource: match(), Param: "arg[0]", Limit: limits.Draw(t, "limit of values"),
			Overrides: []paramflow.Override{{Value: "7", Limit: 4}}, Values: 1000, Shadow: flag("shadow"), Shared: flag("shared"),
		}
		if flag("in flight") {
			p.Mode, p.Values = paramflow.Concurrency, 0
		}
		all.Param = append(all.Param, p)
	}
	return all
}

// Laws 1, 2, 5 and 11 against the naive model: random calls, ends, edits and pauses.
func TestEngineAgainstModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		clk := clock.NewManual()
		e, err := New(WithClock(clk))
		require.NoError(t, err)
		defer e.Close()
		m := &model{t: t, e: e, states: map[string]map[stateKey]*modelState{}, totals: map[string]*modelTotals{}}
		for _, name := range modelResources {
			m.totals[name] = &modelTotals{blocked: map[string]int64{}}
			e.Resource(name) // kept, so that its totals are
		}
		t.Repeat(map[string]func(*rapid.T){
			"apply": func(t *rapid.T) { m.apply(randomRules(t)) },
			"enter": func(t *rapid.T) {
				arg := rapid.SampledFrom([]any{"a", "b", "7", 7, int8(7), 8}).Draw(t, "argument")
				m.enter(rapid.SampledFrom(modelResources).Draw(t, "resource"), arg, rapid.IntRange(1, 4).Draw(t, "cost"), rapid.Bool().Draw(t, "handle"))
			},
			"exit": func(t *rapid.T) {
				if len(m.open) > 0 {
					m.exit(rapid.IntRange(0, len(m.open)-1).Draw(t, "call"), Outcome(rapid.IntRange(0, 2).Draw(t, "outcome")))
				}
			},
			"wait": func(t *rapid.T) {
				d := time.Duration(rapid.IntRange(1, 1500).Draw(t, "ms")) * time.Millisecond
				clk.Advance(d)
				m.now += d
			},
			"": func(*rapid.T) { m.check() },
		})
		for len(m.open) > 0 {
			m.exit(0, Success)
		}
		m.check()
		for _, name := range modelResources {
			s, _ := e.ResourceSnapshot(name)
			require.Zero(t, s.InFlight)
		}
	})
}
