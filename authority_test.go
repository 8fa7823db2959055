package cordon

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cordon-go/cordon/authority"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

func authorityRules(rs ...authority.Rule) Rules { return Rules{Authority: rs} }

func allow(id, resource string, origins ...string) authority.Rule {
	return authority.Rule{ID: id, Resource: rule.Name(resource), Allow: origins}
}

func deny(id, resource string, origins ...string) authority.Rule {
	return authority.Rule{ID: id, Resource: rule.Name(resource), Deny: origins}
}

// from makes a call from an origin that ends at once, and returns what Enter said.
func from(e *Engine, resource, origin string) error {
	ent, err := e.Enter(bg, Request{Resource: resource, Origin: origin})
	if err != nil {
		return err
	}
	ent.End(Success)
	return nil
}

// countingChecker counts how often it is asked, and how many of the calls that it admitted did not run.
type countingChecker struct{ asked, notRun *int }

func (k countingChecker) Name() string { return "counting" }

func (k countingChecker) Check(*CheckedCall) error { *k.asked++; return nil }

func (k countingChecker) Done(_ *CheckedCall, _ Outcome, _ time.Duration, ran bool) {
	if !ran {
		*k.notRun++
	}
}

func TestAuthority(t *testing.T) {
	var rec recorder
	e, _ := newTest(t, authorityRules(allow("orders", "orders", "shop", "team-*"), deny("search", "search", "robot")), WithObserver(rec.observer()))
	for _, c := range []struct {
		resource, origin string
		passes           bool
	}{
		{"orders", "shop", true}, {"orders", "team-a", true}, {"orders", "robot", false}, {"orders", "", true}, {"search", "robot", false}, {"search", "shop", true}, {"other", "robot", true},
	} {
		require.Equal(t, c.passes, from(e, c.resource, c.origin) == nil, "%+v", c)
	}
	err := from(e, "orders", "robot")
	var b *BlockedError
	require.ErrorAs(t, err, &b)
	require.ErrorIs(t, err, ErrBlocked)
	require.ErrorIs(t, err, authority.ErrRefused)
	require.Equal(t, KindAuthority, b.Kind)
	require.Negative(t, b.RetryAfter)
	require.EqualError(t, err, `cordon: authority rule "orders" blocked "orders": the origin may not call, which waiting cannot change`)
	require.Len(t, rec.blocks, 3)
	require.Equal(t, "robot", rec.blocks[0].Origin)
	require.Equal(t, b, rec.blocks[0].Err)
	require.Equal(t, "", rec.blocks[0].Value())

	s := snap(t, e, "orders")
	require.EqualValues(t, 3, s.Passed)
	require.EqualValues(t, 3, s.Succeeded, "refusals are no failures, nor calls at all")
	require.Zero(t, s.Failed+s.Ignored+s.InFlight)
	require.Equal(t, map[string]int64{"authority": 2}, s.Blocked)
	require.Equal(t, []RuleSnapshot{{Kind: "authority", ID: "orders", Blocked: 2}}, s.Rules)
	require.Equal(t, 2, e.Snapshot().Rules["authority"])
}

// Who may not call is refused before anything else is asked, and takes nothing from those who may.
func TestAuthorityComesFirst(t *testing.T) {
	rules := authorityRules(allow("who", "r", "shop"))
	rules.Flow, rules.Concurrency = flowRules(limit("rate", "r", 1)).Flow, bulkRules(atMost("at-once", "r", 1)).Concurrency
	rules.Breaker, rules.Param = breakerRules(errorBreaker("b", "r")).Breaker, paramRules(perValue("value", "r", 1)).Param
	asked, notRun := 0, 0
	e, _ := newTest(t, rules, WithChecker(countingChecker{&asked, &notRun}))
	for range 20 {
		_, err := e.Enter(bg, Request{Resource: "r", Origin: "robot", Args: []any{1}})
		require.ErrorIs(t, err, authority.ErrRefused)
	}
	require.Zero(t, asked)
	ent, err := e.Enter(bg, Request{Resource: "r", Origin: "shop", Args: []any{1}})
	require.NoError(t, err)
	_, err = e.Enter(bg, Request{Resource: "r", Origin: "robot", Args: []any{1}})
	require.ErrorIs(t, err, authority.ErrRefused, "though the others would refuse it too")
	ent.End(Success)
	s := snap(t, e, "r")
	require.Equal(t, "authority", s.Rules[0].Kind)
	require.Equal(t, map[string]int64{"authority": 21}, s.Blocked)
	require.NoError(t, e.ForceBreaker("r", "", breaker.ForcedOpen))
	require.ErrorIs(t, from(e, "r", "robot"), authority.ErrRefused)
}

func TestAuthorityInShadow(t *testing.T) {
	var rec recorder
	r := deny("try", "r", "robot")
	r.Shadow = true
	e, _ := newTest(t, authorityRules(r, deny("both", "r", "worm")), WithObserver(rec.observer()))
	require.NoError(t, from(e, "r", "robot"))
	require.Error(t, from(e, "r", "worm"))
	require.Len(t, rec.blocks, 2)
	require.True(t, rec.blocks[0].Shadow)
	require.False(t, rec.blocks[1].Shadow)
	s := snap(t, e, "r")
	require.Equal(t, map[string]int64{"authority": 1}, s.Shadow)
	require.Equal(t, map[string]int64{"authority": 1}, s.Blocked)
	require.Equal(t, RuleSnapshot{Kind: "authority", ID: "try", Shadow: true, Blocked: 1}, s.Rules[0])
}

// An edit holds from the next call on, also for resources that have been called before; what was counted stays, whatever becomes of the rule.
func TestAuthorityEdits(t *testing.T) {
	e, _ := newTest(t, authorityRules(allow("who", "r", "shop")))
	require.Error(t, from(e, "r", "robot"))
	apply(t, e, authorityRules(allow("who", "r", "robot")))
	require.NoError(t, from(e, "r", "robot"))
	require.Error(t, from(e, "r", "shop"))
	require.Equal(t, []RuleSnapshot{{Kind: "authority", ID: "who", Blocked: 2}}, snap(t, e, "r").Rules)
	r := allow("who", "r", "robot")
	r.Anonymous = authority.Refuse
	apply(t, e, authorityRules(r))
	require.Error(t, from(e, "r", ""))
	rep, err := e.Apply(authorityRules(authority.Rule{ID: "who", Resource: rule.Name("r")}))
	require.Error(t, err)
	require.False(t, rep.Applied)
	require.Error(t, from(e, "r", "shop"), "the last good rule stays")
	apply(t, e, Rules{})
	require.NoError(t, from(e, "r", "shop"))
	s := snap(t, e, "r")
	require.Empty(t, s.Rules)
	require.Equal(t, map[string]int64{"authority": 4}, s.Blocked)
	require.True(t, e.resources.lookup("r").table.Load().plain, "a resource without rules on origins pays nothing for them")
}

// The caller may go on using what was applied, and what Rules returns is the caller's.
func TestAuthorityOwnsItsLists(t *testing.T) {
	rules := authorityRules(deny("d", "r", "robot"))
	e, _ := newTest(t, Rules{})
	apply(t, e, rules)
	rules.Authority[0].Deny[0] = "shop"
	e.Rules().Authority[0].Deny[0] = "shop"
	require.Equal(t, []string{"robot"}, e.Rules().Authority[0].Deny)
	require.Error(t, from(e, "r", "robot"))
}

// More specific rules override, as those of other kinds do, and Also makes one hold besides.
func TestAuthorityPrecedence(t *testing.T) {
	all := authority.Rule{ID: "all", Resource: rule.Default(), Deny: []string{"robot"}}
	e, _ := newTest(t, authorityRules(all, deny("own", "r", "worm")))
	require.NoError(t, from(e, "r", "robot"))
	require.Error(t, from(e, "s", "robot"))
	all.Also = true
	apply(t, e, authorityRules(all, deny("own", "r", "worm")))
	require.Error(t, from(e, "r", "robot"))
	require.Error(t, from(e, "r", "worm"))
}

// Names beyond the bound are guarded by the rules that match them.
func TestAuthorityBeyondTheBound(t *testing.T) {
	e, _ := newTest(t, authorityRules(authority.Rule{ID: "all", Resource: rule.Wildcard("r*"), Deny: []string{"robot"}}), WithMaxResources(1))
	require.NoError(t, from(e, "first", "robot"))
	for i := range 20 {
		name := fmt.Sprintf("r%d", i)
		require.Error(t, from(e, name, "robot"))
		require.NoError(t, from(e, name, "shop"))
	}
	require.Equal(t, map[string]int64{"authority": 20}, snap(t, e, "(others of authority all)").Blocked)
	require.NoError(t, from(e, "second", "robot"))
}

// Whatever rules there are, a call passes if none that is in force refuses its origin.
func TestAuthorityModel(t *testing.T) {
	origins := []string{"a", "b", "ab", "abc", ""}
	rapid.Check(t, func(t *rapid.T) {
		e, err := New()
		require.NoError(t, err)
		defer e.Close()
		refused := map[string]int64{}
		for range rapid.IntRange(1, 4).Draw(t, "edits") {
			var rules []authority.Rule
			for i := range rapid.IntRange(0, 4).Draw(t, "rules") {
				r := authority.Rule{ID: fmt.Sprint(i), Resource: rapid.SampledFrom([]rule.Match{rule.Name("x"), rule.Name("y"), rule.Default()}).Draw(t, "resource"),
					Anonymous: authority.Anonymous(rapid.IntRange(0, 1).Draw(t, "anonymous")), Also: rapid.Bool().Draw(t, "also"), Shadow: rapid.IntRange(0, 3).Draw(t, "shadow") == 0}
				list := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "a*", "*c"}), 1, 3).Draw(t, "list")
				if rapid.Bool().Draw(t, "deny") {
					r.Deny = list
				} else {
					r.Allow = list
				}
				rules = append(rules, r)
			}
			if rapid.Bool().Draw(t, "other rules") {
				_, err = e.Apply(Rules{Authority: rules, Flow: []flow.Rule{{ID: "f", Resource: rule.Default(), Limit: 1e6}}, Param: paramRules(perValue("p", "x", 1e6)).Param})
			} else {
				_, err = e.Apply(authorityRules(rules...))
			}
			require.NoError(t, err)
			for range 10 {
				resource, origin := rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "call"), rapid.SampledFrom(origins).Draw(t, "origin")
				want := true
				byName := false
				for _, r := range rules {
					byName = byName || r.Resource == rule.Name(resource) && !r.Also
				}
				for _, r := range rules {
					inForce := r.Resource == rule.Name(resource) || r.Resource == rule.Default() && (r.Also || !byName)
					list, err := authority.NewList(r)
					require.NoError(t, err)
					want = want && (!inForce || r.Shadow || list.Allows(origin))
				}
				got := from(e, resource, origin) == nil
				require.Equal(t, want, got, "%s from %q under %v", resource, origin, rules)
				if !got {
					refused[resource]++
				}
			}
		}
		for name, n := range refused {
			s, ok := e.ResourceSnapshot(name)
			require.True(t, ok)
			require.Equal(t, map[string]int64{"authority": n}, s.Blocked)
		}
	})
}

// A refusal by origin costs no allocation, nor does the check of a call that passes, with ten thousand origins.
func TestAuthorityDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	var many []string
	for i := range 10_000 {
		many = append(many, fmt.Sprintf("app-%d", i))
	}
	shadow := deny("shadow", "shadow", "robot")
	shadow.Shadow = true
	rules := authorityRules(allow("a", "alone", many...), allow("b", "all", many...), shadow, allow("c", "value", many...))
	rules.Flow, rules.Breaker = flowRules(limit("f", "all", 1e7)).Flow, breakerRules(errorBreaker("br", "all")).Breaker
	rules.Param = paramRules(perValue("p", "value", 1e6)).Param
	e, err := New(WithRules(rules), WithObserver(Observer{Block: func(BlockEvent) {}}))
	require.NoError(t, err)
	defer e.Close()
	args := []any{7}
	for _, resource := range []string{"alone", "all", "shadow", "value"} {
		for _, origin := range []string{"app-9999", "robot", ""} {
			one := func() {
				ent, err := e.Enter(bg, Request{Resource: resource, Origin: origin, Args: args})
				ent.Exit(&err)
			}
			for range 200 {
				one()
			}
			require.Zero(t, testing.AllocsPerRun(2000, one), "%s from %q", resource, origin)
		}
	}
}

// Lists are made once for all the resources of a rule, and again only when it is edited.
func TestAuthorityListsAreShared(t *testing.T) {
	all := authority.Rule{ID: "all", Resource: rule.Default(), Deny: []string{"robot"}}
	e, _ := newTest(t, authorityRules(all))
	require.Error(t, from(e, "x", "robot"))
	require.Error(t, from(e, "y", "robot"))
	list := func(name string) *authority.List { return e.resources.lookup(name).current().lists.authority[0].list }
	before := list("x")
	require.Same(t, before, list("y"))
	all.Shadow = true
	apply(t, e, authorityRules(all, deny("another", "z", "a")))
	require.Same(t, before, list("x"))
	all.Deny = []string{"worm"}
	apply(t, e, authorityRules(all))
	require.NotSame(t, before, list("x"))
}

// Rules on origins are edited while calls go on (run with -race); no call is judged by neither list.
func TestAuthorityEditsRace(t *testing.T) {
	e, err := New(WithRules(authorityRules(deny("d", "r", "robot", "a"))))
	require.NoError(t, err)
	defer e.Close()
	stop := make(chan struct{})
	done := make(chan error)
	for range 4 {
		go func() {
			for {
				select {
				case <-stop:
					done <- nil
					return
				default:
				}
				if from(e, "r", "robot") == nil {
					done <- errors.New("a robot passed")
					return
				}
				from(e, "r", "a")
			}
		}()
	}
	for i := range 300 {
		apply(t, e, authorityRules(deny("d", "r", "robot", []string{"a", "b"}[i%2])))
	}
	close(stop)
	for range 4 {
		require.NoError(t, <-done)
	}
}
