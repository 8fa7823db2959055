package isolation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/rule"
)

// What is written and has no effect is said, and keeps no rule from being used.
func TestFieldsWithoutEffect(t *testing.T) {
	t.Parallel()
	const (
		compares = "has no effect: absoluteOnly switches the comparison with the peers off; want neither, or no absoluteOnly"
		falls    = "has no effect: noFallback switches the fallback off; want neither, or no noFallback"
	)
	absolute := func(set func(*Rule)) Rule {
		r := Rule{AbsoluteOnly: true, MinSuccessRate: .9}
		set(&r)
		return r
	}
	for _, c := range []struct {
		rule Rule
		want []string
	}{
		{rule: Rule{}},
		{rule: Rule{Preset: Careful}},
		{rule: absolute(func(*Rule) {})},
		{rule: absolute(func(r *Rule) { r.LocalErrors, r.Preset = 3, Quick })},
		{absolute(func(r *Rule) { r.MinGap = .5 }), []string{"minGap: " + compares}},
		{absolute(func(r *Rule) { r.MinRatio = 3 }), []string{"minRatio: " + compares}},
		{absolute(func(r *Rule) { r.Evidence = 14 }), []string{"evidence: " + compares}},
		{absolute(func(r *Rule) { r.RateRef = 20 }), []string{"rateRef: " + compares}},
		{absolute(func(r *Rule) { r.MinFailures = 4 }), []string{"minFailures: " + compares}},
		{absolute(func(r *Rule) { r.GrossRate = .1 }), []string{"grossRate: " + compares}},
		{absolute(func(r *Rule) { r.MaxWindowCalls = 8000 }), []string{"maxWindowCalls: " + compares}},
		{absolute(func(r *Rule) { r.MaxWindowAge = time.Hour }), []string{"maxWindowAge: " + compares}},
		{absolute(func(r *Rule) { r.LevelCalls = 200 }), []string{"levelCalls: " + compares}},
		{absolute(func(r *Rule) { r.LevelTime = sec }), []string{"levelTime: " + compares}},
		{absolute(func(r *Rule) { r.FlightFactor = 2 }), []string{"flightFactor: " + compares}},
		{rule: Rule{NoFallback: true}},
		{rule: Rule{FallbackAt: .7, FallbackHold: sec, FallbackRate: .5}},
		{Rule{NoFallback: true, FallbackAt: .7, FallbackHold: sec, FallbackRate: .5}, []string{"fallbackAt: " + falls, "fallbackHold: " + falls, "fallbackRate: " + falls}},
		{rule: Rule{MinGap: .25}},
		{rule: Rule{MinGap: .3}},
		{Rule{MinGap: .3, GrossRate: .25}, []string{"grossRate: 0.25 is below minGap (0.3): the quicker test finds nothing that the other does not; want more than minGap, or 1 to switch it off"}},
		{Rule{GrossRate: .1, MinGap: .2}, []string{"grossRate: 0.1 is below minGap (0.2): the quicker test finds nothing that the other does not; want more than minGap, or 1 to switch it off"}},
		{rule: Rule{GrossRate: 1, MinGap: .5}},
		{rule: Rule{RegionMin: .95}},
		{rule: Rule{RegionMin: .9, RegionBack: .1}},
		{Rule{RegionMin: .9, RegionBack: .2}, []string{"regionBack: with regionMin (0.9) it is more than 1: all calls go back once the whole region is in service; want at most 0.1, or a smaller regionMin"}},
		{rule: Rule{MayEmpty: true, MaxShare: 1, NoFallback: true}},
		{Rule{MayEmpty: true}, []string{"mayEmpty: the last instance hardly goes: maxShare keeps 50% of them in service, rounded down, and a fallback puts all back when more than 70% are sick; want maxShare: 1 and noFallback: true besides"}},
		{Rule{MayEmpty: true, MaxShare: 1, FallbackAt: .9}, []string{"mayEmpty: the last instance hardly goes: a fallback puts all back when more than 90% are sick; want noFallback: true besides"}},
		{Rule{MayEmpty: true, NoFallback: true, Preset: Careful}, []string{"mayEmpty: the last instance hardly goes: maxShare keeps 70% of them in service, rounded down; want maxShare: 1 besides"}},
	} {
		c.rule.Service = rule.Name("orders")
		var got []string
		for _, p := range c.rule.Problems() {
			require.True(t, p.Warning)
			got = append(got, p.Field+": "+p.Message+"; want "+p.Want)
		}
		require.Equal(t, c.want, got, "%+v", c.rule)
		g, err := NewGroup("orders", Config{Rule: &c.rule})
		require.NoError(t, err)
		g.Close()
	}
	// A rule with a fault is mended first.
	for _, p := range (Rule{Service: rule.Name("orders"), MayEmpty: true, Probes: -1}).Problems() {
		require.False(t, p.Warning)
	}
}
