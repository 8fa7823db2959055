package isolation

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Every field of the rule may be changed under way: a quarantine, its strikes and what was counted go on.
func TestEveryFieldChangesWithoutLosingAQuarantine(t *testing.T) {
	t.Parallel()
	typ := reflect.TypeFor[Rule]()
	for i := range typ.NumField() {
		f := typ.Field(i)
		if f.Name == "Shadow" {
			continue
		}
		p := newPlay(t, Rule{Jitter: still, MinSuccessRate: .5, MinCalls: 100_000}, 10)
		e := p.sicken(0)
		p.failProbe(0)
		until, strikes, calls := p.member(0).until, p.member(0).strikes, p.member(1).calls()
		change := func(v reflect.Value) {
			r := Rule{Jitter: still, MinSuccessRate: .5, MinCalls: 100_000}
			reflect.ValueOf(&r).Elem().Field(i).Set(v)
			require.NoError(t, p.g.SetRule(p.now, &r), f.Name)
			require.Equal(t, Quarantined, p.state(0), f.Name)
			require.Equal(t, until, p.member(0).until, f.Name)
			require.Equal(t, strikes, p.member(0).strikes, f.Name)
			require.Equal(t, calls, p.member(1).calls(), f.Name)
			check(t, p.g, p.now)
		}
		switch b := bounds[f.Name]; {
		case len(b.in) > 0:
			for _, v := range b.in {
				change(reflect.ValueOf(v))
			}
		case f.Type.Kind() == reflect.Bool:
			change(reflect.ValueOf(true))
		case f.Name == "ID":
			change(reflect.ValueOf("other"))
			require.Equal(t, "other", p.g.Snapshot(p.now).RuleID)
		case f.Name == "Preset":
			change(reflect.ValueOf(Careful))
			change(reflect.ValueOf(Quick))
		default:
			require.Equal(t, "Service", f.Name, "a field without a test")
		}
		require.NoError(t, p.g.SetRule(p.now, &Rule{Jitter: still, MinSuccessRate: .5, MinCalls: 100_000, Probes: 1}))
		require.Equal(t, address(0), e.Address)
		p.heal(0)
	}
}

// A rule with a fault is refused, and the old one stays.
func TestAFaultyRuleIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{ID: "good", Jitter: still}, 5)
	p.sicken(0)
	require.ErrorContains(t, p.g.SetRule(p.now, &Rule{ID: "bad", MinGap: 3}), "minGap")
	require.Equal(t, "good", p.g.Snapshot(p.now).RuleID)
	require.Equal(t, Quarantined, p.state(0))
}

// Without a rule all are in service, and nothing is held against anybody when there is one again.
func TestWithoutARuleAllAreInService(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still, Remember: time.Hour, LocalErrors: 5, MinSuccessRate: .1}, 5)
	p.sicken(0)
	p.sicken(1, 0)
	require.NoError(t, p.g.Pin(p.now, address(2), false, 0))
	p.g.Update(p.now, instances(5)[1:]) // 0 is remembered
	require.NoError(t, p.g.SetRule(p.now, nil))
	check(t, p.g, p.now)
	require.False(t, p.g.Enforces())
	require.Equal(t, []State{InService, PinnedOut}, []State{p.state(1), p.state(2)})
	p.g.Update(p.now, instances(5))
	require.Equal(t, InService, p.state(0), "quarantines are forgotten")
	check(t, p.g, p.now)
	for range 100 {
		p.now += 10 * ms
		require.True(t, p.call(0, Failure))
		p.call(3, Success)
	}
	require.Equal(t, InService, p.state(0))
	require.Nil(t, p.member(0).criteria.Load(), "what the rule had is freed")
	p.wait(time.Hour)
	require.NoError(t, p.g.SetRule(p.now, &Rule{Jitter: still}))
	require.Equal(t, InService, p.state(0))
	check(t, p.g, p.now)
	require.InDelta(t, 5*sec, lasts(t, p.sicken(0)), 1, "the first strike")
}

// In shadow the rule says whom it would put out, and all go on serving.
func TestShadow(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{ID: "try", Shadow: true, Jitter: still}, 5)
	require.False(t, p.g.Enforces())
	e := p.sicken(0)
	require.Equal(t, EventQuarantined, e.Kind)
	require.True(t, e.Shadow)
	require.Equal(t, "try", e.RuleID)
	require.InDelta(t, 5*sec, lasts(t, e), 1)
	v := p.g.View(p.now)
	require.Len(t, v.Candidates, 5)
	require.Zero(t, v.Out)
	s := p.g.Snapshot(p.now)
	require.Equal(t, Quarantined, s.Instances[0].State)
	require.Equal(t, 1., s.Instances[0].Weight)
	require.True(t, s.Shadow)
	for range 100 {
		p.calm(1, 0)
		require.True(t, p.call(0, Failure))
	}
	require.Equal(t, 1, p.count(EventQuarantined), "it is out, so it is not put out again")
	p.till(e.Until)
	require.Equal(t, EventInService, p.events[len(p.events)-1].Kind)
	require.Equal(t, InService, p.state(0))
	require.Equal(t, EventQuarantined, p.sicken(0).Kind)
	require.Equal(t, 2., p.events[len(p.events)-1].Strikes, "it would be back sick")
	check(t, p.g, p.now)

	// The fallback is said as well, and does nothing.
	p = newPlay(t, Rule{Shadow: true}, 5)
	require.True(t, p.outage().Shadow)
	require.False(t, p.g.View(p.now).Fallback)
	require.True(t, p.g.Snapshot(p.now).Fallback)
}

// Switching shadow on puts all in service; off, it begins anew, with the strikes.
func TestShadowIsSwitched(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still, Remember: time.Hour}, 5)
	p.sicken(0)
	p.g.Update(p.now, instances(5)[1:])
	require.NoError(t, p.g.SetRule(p.now, &Rule{Jitter: still, Remember: time.Hour, Shadow: true}))
	p.g.Update(p.now, instances(5))
	require.Equal(t, InService, p.state(0))
	require.Len(t, p.g.View(p.now).Candidates, 5)
	check(t, p.g, p.now)
	p.sicken(1)
	require.NoError(t, p.g.SetRule(p.now, &Rule{Jitter: still, Remember: time.Hour}))
	require.Equal(t, InService, p.state(1), "what was only said is not done later")
	check(t, p.g, p.now)
	e := p.sicken(0)
	require.Equal(t, 2., e.Strikes)
	require.Equal(t, Quarantined, p.state(0))
}

// Strikes that were only said do not lengthen what is done; those of before the shadow do, less what good service took away meanwhile.
func TestStrikesOfTheShadow(t *testing.T) {
	t.Parallel()
	live := Rule{Jitter: still, Remember: time.Hour, StrikeHalfLife: 24 * time.Hour, NoFallback: true}
	shadow := live
	shadow.Shadow = true
	p := newPlay(t, live, 5)
	p.sicken(1)
	require.NoError(t, p.g.SetRule(p.now, &shadow))
	for range 4 {
		for i := range 3 {
			p.till(p.sicken(i).Until)
		}
	}
	require.Equal(t, []float64{4, 5, 4}, []float64{math.Round(p.member(0).strikes), math.Round(p.member(1).strikes), math.Round(p.member(2).strikes)})
	p.g.Update(p.now, instances(5)[:2]) // the third returns under the rule in force
	require.NoError(t, p.g.SetRule(p.now, &live))
	p.g.Update(p.now, instances(5))
	require.InDelta(t, 5*sec, lasts(t, p.sicken(0)), 1, "the first quarantine")
	require.InDelta(t, 10*sec, lasts(t, p.sicken(1, 0)), 1, "the second")
	require.InDelta(t, 5*sec, lasts(t, p.sicken(2, 0, 1)), 1)
	check(t, p.g, p.now)

	p = newPlay(t, Rule{Shadow: true}, 5)
	p.outage()
	require.NotZero(t, p.g.holding.length)
	require.NoError(t, p.g.SetRule(p.now, &Rule{}))
	require.Zero(t, p.g.holding.length, "nor does a fallback that was only said lengthen the next one")
}

// A smaller share brings the least sick back at once.
func TestASmallerShare(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Base: time.Hour, Max: time.Hour}, 10)
	p.failAt(2000, map[int]float64{0: .4, 1: .7, 2: 1})
	require.Equal(t, 3, p.g.Snapshot(p.now).Out)
	require.NoError(t, p.g.SetRule(p.now, &Rule{Base: time.Hour, Max: time.Hour, MaxShare: .1}))
	require.Equal(t, []State{Held, Held, Quarantined}, []State{p.state(0), p.state(1), p.state(2)})
	check(t, p.g, p.now)
}
