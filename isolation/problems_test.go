package isolation

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/rule"
)

// bounds are the ends of every numeric field's range, and values just out of it.
var bounds = map[string]struct{ in, out []any }{
	"MinGap":         {[]any{.01, .5}, []any{.0099, .51, -1.}},
	"MinRatio":       {[]any{1.5, 10.}, []any{1.49, 10.1, -3.}},
	"Evidence":       {[]any{8., 20.}, []any{7.9, 20.1, -14.}},
	"RateRef":        {[]any{1., 1e6}, []any{.9, 1.1e6, -1.}},
	"MinFailures":    {[]any{3, 20}, []any{2, 21, -4}},
	"GrossRate":      {[]any{.1, 1.}, []any{.09, 1.01, -.1}},
	"MaxWindowCalls": {[]any{1000, 100_000}, []any{999, 100_001, -1}},
	"MaxWindowAge":   {[]any{time.Minute, 24 * time.Hour}, []any{59 * sec, 25 * time.Hour, -sec}},
	"LevelCalls":     {[]any{20, 100_000}, []any{19, 100_001, -1}},
	"LevelTime":      {[]any{sec, 10 * time.Minute}, []any{999 * ms, 11 * time.Minute, -sec}},
	"FlightFactor":   {[]any{1e-9, 4.}, []any{4.1, -1.}},
	"LocalErrors":    {[]any{2, 1000}, []any{1, 1001, -1}},
	"MinSuccessRate": {[]any{1e-9, .999}, []any{1., 1.5, -.5}},
	"Window":         {[]any{sec, time.Hour}, []any{999 * ms, 61 * time.Minute, -sec}},
	"MinCalls":       {[]any{1, 1_000_000}, []any{1_000_001, -1}},
	"Base":           {[]any{100 * ms, time.Hour}, []any{99 * ms, 61 * time.Minute, -sec}},
	"Max":            {[]any{5 * sec, 24 * time.Hour}, []any{4 * sec, 25 * time.Hour, -sec}},
	"Jitter":         {[]any{1e-12, .5}, []any{.51, -.1}},
	"StrikeHalfLife": {[]any{sec, 24 * time.Hour}, []any{999 * ms, 25 * time.Hour, -sec}},
	"Remember":       {[]any{sec, 24 * time.Hour}, []any{999 * ms, 25 * time.Hour, -sec}},
	"Probes":         {[]any{1, 100}, []any{101, -1}},
	"ProbeEvery":     {[]any{ms, time.Minute}, []any{time.Duration(1), 61 * sec, -sec}},
	"ProbeLease":     {[]any{100 * ms, time.Hour}, []any{99 * ms, 61 * time.Minute, -sec}},
	"PeersNoisy":     {[]any{1e-9, 1.}, []any{1.1, -.1}},
	"PeersFailing":   {[]any{.05, 1.}, []any{.049, 1.1, -.1}},
	"PeersMinCalls":  {[]any{1, 100_000}, []any{100_001, -1}},
	"SlowStart":      {[]any{ms, time.Hour}, []any{time.Duration(1), 61 * time.Minute, -sec}},
	"SlowStartFrom":  {[]any{.01, 1.}, []any{.009, 1.1, -.1}},
	"MaxShare":       {[]any{1e-9, 1.}, []any{1.1, -.1}},
	"FallbackAt":     {[]any{1e-9, 1.}, []any{1.1, -.1}},
	"FallbackHold":   {[]any{sec, time.Hour}, []any{999 * ms, 61 * time.Minute, -sec}},
	"FallbackRate":   {[]any{1e-9, 1.}, []any{1.1, -.1}},
	"RegionMin":      {[]any{1e-9, 1.}, []any{1.1, -.1}},
	"RegionBack":     {[]any{1e-9, .5}, []any{.51, -.1}},
}

// offByDefault are the numeric fields that no preset but quick sets: what they stand for is off then.
var offByDefault = []string{"LocalErrors", "MinSuccessRate"}

// with returns a rule with a field set, and what that field needs.
func with(field string, v any) Rule {
	r := Rule{Service: rule.Name("orders")}
	if field == "Window" || field == "MinCalls" {
		r.MinSuccessRate = .9
	}
	reflect.ValueOf(&r).Elem().FieldByName(field).Set(reflect.ValueOf(v))
	return r
}

// Every numeric field has a range, held at both ends, with a problem that names the field and says what would be right.
func TestEveryNumberHasARange(t *testing.T) {
	t.Parallel()
	typ := reflect.TypeFor[Rule]()
	for i := range typ.NumField() {
		f := typ.Field(i)
		switch f.Type.Kind() {
		case reflect.Int, reflect.Int64, reflect.Float64:
		default:
			continue
		}
		b, ok := bounds[f.Name]
		require.True(t, ok, "field %s has no range in this test", f.Name)
		if f.Type.Kind() == reflect.Float64 {
			b.out = append(b.out, math.NaN(), math.Inf(1), math.Inf(-1))
		}
		for _, v := range b.in {
			require.Empty(t, rule.Problems(with(f.Name, v).Problems()).Faults(), "%s: %v", f.Name, v)
		}
		for _, v := range b.out {
			problems := with(f.Name, v).Problems()
			require.NotEmpty(t, problems, "%s: %v", f.Name, v)
			require.Equal(t, f.Tag.Get("rule"), problems[0].Field, "%s: %v", f.Name, v)
			require.NotEmpty(t, problems[0].Want)
			require.NotEmpty(t, problems[0].Message)
			require.False(t, problems[0].Warning)
		}
	}
}

// Every field is written in documents, every number has a default within its range in each preset, and a comment on it with what Rule says.
func TestEveryFieldIsComplete(t *testing.T) {
	t.Parallel()
	typ := reflect.TypeFor[Rule]()
	tag := regexp.MustCompile(`^[a-z][a-zA-Z]*$`)
	for preset := range Default.Values() {
		full := Rule{Service: rule.Name("orders"), Preset: Preset(preset), MinSuccessRate: .9}.WithDefaults()
		require.Empty(t, full.Problems(), "%v", full.Preset)
		require.Equal(t, full, full.WithDefaults())
		for i := range typ.NumField() {
			f, v := typ.Field(i), reflect.ValueOf(full).Field(i)
			require.Regexp(t, tag, f.Tag.Get("rule"), f.Name)
			require.Equal(t, strings.ToLower(f.Name[:1]), f.Tag.Get("rule")[:1], f.Name)
			if _, numeric := bounds[f.Name]; numeric && !slices.Contains(offByDefault, f.Name) {
				require.False(t, v.IsZero(), "%s has no default in %v", f.Name, full.Preset)
			}
			// A value of one's own is never overwritten.
			if b, ok := bounds[f.Name]; ok {
				for _, own := range b.in {
					r := with(f.Name, own)
					r.Preset = full.Preset
					require.Equal(t, own, reflect.ValueOf(r.WithDefaults()).FieldByName(f.Name).Interface(), f.Name)
				}
			}
		}
	}
}

func TestContradictions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r              Rule
		field, message string
	}{
		{Rule{}, "service", "a rule must say for which services it is"},
		{Rule{Service: rule.Regex("(")}, "service", ""},
		{Rule{Service: rule.Name("x"), Preset: 9}, "preset", "there is no preset 9"},
		{Rule{Service: rule.Name("x"), AbsoluteOnly: true}, "absoluteOnly", "leaves the rule without any criterion"},
		{Rule{Service: rule.Name("x"), Window: sec}, "window", "is used only by minSuccessRate, which is not given"},
		{Rule{Service: rule.Name("x"), MinCalls: 3}, "minCalls", "is used only by minSuccessRate, which is not given"},
		{Rule{Service: rule.Name("x"), Base: time.Minute, Max: sec}, "max", "1s is less than base (1m0s)"},
		{Rule{Service: rule.Name("x"), Max: 3 * sec}, "max", "3s is less than base (5s)"},
		{Rule{Service: rule.Name("x"), PeersNoisy: .4, PeersFailing: .3}, "peersFailing", "0.3 is less than peersNoisy (0.4)"},
	} {
		problems := c.r.Problems()
		require.Len(t, problems, 1, "%+v", c.r)
		require.Equal(t, c.field, problems[0].Field)
		require.Contains(t, problems[0].Message, c.message)
	}
	require.Empty(t, Rule{Service: rule.Name("x"), Preset: Quick, Max: 3 * sec}.Problems(), "quick's base is 2s")
	require.Equal(t, time.Hour, Rule{Base: time.Hour}.WithDefaults().Max, "a long base takes the default of max with it")
	require.Equal(t, .9, Rule{PeersNoisy: .9}.WithDefaults().PeersFailing)
}

// A rule with several faults names all of them.
func TestAllProblemsAreNamed(t *testing.T) {
	t.Parallel()
	_, err := NewGroup("orders", Config{Rule: &Rule{ID: "r", MinGap: 2, Probes: -1, MaxShare: math.NaN()}})
	var problems rule.Problems
	require.True(t, errors.As(err, &problems))
	require.Len(t, problems, 3)
	for i, field := range []string{"minGap", "probes", "maxShare"} {
		require.Equal(t, field, problems[i].Field)
		require.Equal(t, "isolation", problems[i].Kind)
		require.Equal(t, "r", problems[i].RuleID)
	}
	require.Contains(t, err.Error(), "0.01 to 0.5")
}

func TestPresets(t *testing.T) {
	t.Parallel()
	for i, name := range []string{"default", "careful", "quick"} {
		p := Preset(i)
		require.Equal(t, name, p.String())
		text, err := p.MarshalText()
		require.NoError(t, err)
		var back Preset
		require.NoError(t, back.UnmarshalText(text))
		require.Equal(t, p, back)
	}
	require.Equal(t, "preset(7)", Preset(7).String())
	_, err := Preset(7).MarshalText()
	require.ErrorContains(t, err, "no such preset: 7; want one of default, careful, quick")
	p := Quick
	require.ErrorContains(t, p.UnmarshalText([]byte("hasty")), `no such preset: "hasty"`)
	require.Equal(t, Quick, p)
	different := func(p Preset) (fields []string) {
		a, b := reflect.ValueOf(Default.values()), reflect.ValueOf(p.values())
		for i := range a.NumField() {
			if !a.Field(i).Equal(b.Field(i)) {
				fields = append(fields, fmt.Sprint(a.Type().Field(i).Name, "=", b.Field(i)))
			}
		}
		return fields
	}
	require.Equal(t, []string{"MinGap=0.1", "Evidence=18", "MinFailures=6", "GrossRate=0.4", "SlowStart=30s", "MaxShare=0.3"}, different(Careful))
	require.Equal(t, []string{"Evidence=10", "MinFailures=3", "LocalErrors=3", "Base=2s", "SlowStart=5s"}, different(Quick))
}

func TestRuleIsAValue(t *testing.T) {
	t.Parallel()
	r := Rule{ID: "a", Service: rule.Name("x"), Shadow: true}
	require.Equal(t, rule.Meta{ID: "a", Resource: rule.Name("x"), Shadow: true}, r.Meta())
	require.Equal(t, "b", r.WithID("b").ID)
	require.Equal(t, "a", r.ID)
	require.True(t, r.Equal(r))
	require.False(t, r.Equal(r.WithDefaults()))
}
