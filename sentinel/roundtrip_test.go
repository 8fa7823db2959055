package sentinel_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	cordon "github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/apigroup"
	"github.com/cordon-go/cordon/authority"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sentinel"
	"github.com/cordon-go/cordon/system"
)

// TestRoundTrip: whatever is written is read back without a fault or a warning, one rule for each that was not left out, and a rule without a
// loss is the same rule.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, form := range []struct {
		dialect sentinel.Dialect
		kind    sentinel.Kind
	}{
		{sentinel.Java, sentinel.Flow},
		{sentinel.Go, sentinel.Flow},
		{sentinel.Java, sentinel.Breaker},
		{sentinel.Go, sentinel.Breaker},
		{sentinel.Go, sentinel.Isolation},
		{sentinel.Java, sentinel.Param},
		{sentinel.Go, sentinel.Param},
		{sentinel.Java, sentinel.System},
		{sentinel.Go, sentinel.System},
		{sentinel.Java, sentinel.Authority},
		{sentinel.Java, sentinel.Gateway},
		{sentinel.Java, sentinel.API},
	} {
		t.Run(form.dialect.String()+" "+form.kind.String(), func(t *testing.T) {
			t.Parallel()
			lossless := 0
			rapid.Check(t, func(t *rapid.T) {
				rules := cordon.Rules{
					Flow:        drawRules(t, "flow", drawRate),
					Concurrency: drawRules(t, "concurrency", drawPlaces),
					Breaker:     drawRules(t, "breaker", drawBreaker),
					Param:       drawRules(t, "param", drawParam),
					System:      drawRules(t, "system", drawSystem),
					Authority:   drawRules(t, "authority", drawAuthority),
					APIGroup:    drawRules(t, "apiGroup", drawGroup),
				}
				if form.kind == sentinel.Gateway {
					rules.Flow = drawRules(t, "flow", drawGatewayRate)
					rules.Param = drawRules(t, "param", drawGatewayParam)
				}
				data, lost, err := sentinel.Encode(form.dialect, form.kind, rules)
				require.NoError(t, err)
				require.True(t, json.Valid(data), "%s", data)
				doc, err := sentinel.Decode(form.kind, "written", data)
				require.NoError(t, err, "%s", data)
				require.Empty(t, doc.Problems.Faults(), "%s", data)
				if form.kind != sentinel.API && form.kind != sentinel.Gateway && form.kind != sentinel.System {
					require.Empty(t, doc.Problems, "%s", data) // these warn of what is in force and probably not meant
				}
				back := doc.Rules()
				ways := lossesByRule(lost)
				if form.kind == sentinel.Flow || form.kind == sentinel.Gateway {
					lossless += compare(t, "flow", rules.Flow, back.Flow, ways, canonicalRate)
				}
				if form.kind == sentinel.Isolation || form.kind == sentinel.Flow && form.dialect == sentinel.Java || form.kind == sentinel.Gateway {
					lossless += compare(t, "concurrency", rules.Concurrency, back.Concurrency, ways, func(c flow.ConcurrencyRule) flow.ConcurrencyRule { return c })
				}
				if form.kind == sentinel.Breaker {
					lossless += compare(t, "breaker", rules.Breaker, back.Breaker, ways, canonicalBreaker)
				}
				if form.kind == sentinel.Param || form.kind == sentinel.Gateway {
					lossless += compare(t, "param", rules.Param, back.Param, ways, canonicalParam)
				}
				if form.kind == sentinel.System {
					lossless += compare(t, "system", rules.System, back.System, ways, func(s system.Rule) system.Rule { return s })
				}
				if form.kind == sentinel.Authority {
					lossless += compare(t, "authority", rules.Authority, back.Authority, ways, func(a authority.Rule) authority.Rule { return a })
				}
				if form.kind == sentinel.API {
					lossless += compare(t, "apiGroup", rules.APIGroup, back.APIGroup, ways, func(g apigroup.Group) apigroup.Group {
						g.Paths = append([]apigroup.Path(nil), g.Paths...)
						return g
					})
				}

				// A document knows its own rules again.
				again, lost, err := doc.Encode(back)
				if len(doc.Elements) > 0 {
					require.NoError(t, err)
					require.Empty(t, lost)
					require.Equal(t, string(data), string(again))
				}
			})
			if !testing.Short() { // which draws few
				require.Positive(t, lossless, "no rule was compared")
			}
		})
	}
}

// lossesByRule tells by kind and id which rules have losses, and whether they were left out.
func lossesByRule(lost []sentinel.Loss) map[[2]string]bool {
	ways := make(map[[2]string]bool)
	for _, l := range lost {
		key := [2]string{l.Kind, l.RuleID}
		ways[key] = ways[key] || l.Omitted
	}
	return ways
}

// compare checks that back are the written rules, and returns how many had no loss.
func compare[R rule.Rule[R]](t *rapid.T, kind string, rules, back []R, ways map[[2]string]bool, canonical func(R) R) int {
	rules = append([]R(nil), rules...)
	require.Empty(t, rule.DeriveIDs(kind, rules))
	require.Empty(t, rule.DeriveIDs(kind, back))
	same := 0
	for _, r := range rules {
		omitted, lossy := ways[[2]string{kind, r.Meta().ID}]
		if omitted {
			continue
		}
		require.NotEmpty(t, back, "%+v is gone", r)
		if !lossy {
			same++
			require.Equal(t, canonical(r), canonical(back[0]))
		}
		back = back[1:]
	}
	require.Empty(t, back)
	return same
}

// drawRules draws valid rules of which no two are equal but for the id, as these are one to Java.
func drawRules[R rule.Rule[R]](t *rapid.T, kind string, draw func(*rapid.T) R) []R {
	var rules []R
	ids := rapid.Permutation([]string{"", "", "", "x", "7", "007", "-3", "a#1", "a#2", "\xff"}).Draw(t, "ids")
	for i := range rapid.IntRange(0, 6).Draw(t, "rules") {
		r := draw(t).WithID("")
		if len(faults(r)) > 0 {
			continue
		}
		twice := false
		for _, other := range rules {
			twice = twice || other.WithID("").Equal(r)
		}
		if !twice {
			rules = append(rules, r.WithID(ids[i]))
		}
	}
	return rules
}

func faults[R rule.Rule[R]](r R) rule.Problems { return rule.Problems(r.Problems()).Faults() }

func drawMatch(t *rapid.T) rule.Match {
	return rapid.SampledFrom([]rule.Match{
		rule.Name("a"), rule.Name("a"), rule.Name("a"), rule.Name("GET:/b|c"), rule.Name(" "), rule.Name("<&>\"\\\u2028é"), rule.Name("\xff"),
		rule.Regex("/a/.*"), rule.Regex("a|b"), rule.Regex("^x$"), rule.Regex(`(?s:.*)(?:q)(?s:.*)`), rule.Regex("[[:alpha:]]"), rule.Regex(`^(?:a)$`),
		rule.Wildcard("/s/*.?"), rule.Default(),
	}).Draw(t, "match")
}

// often draws the first value more often than the others.
func often[T any](t *rapid.T, name string, first T, others ...T) T {
	if rapid.IntRange(0, 7).Draw(t, name+"?") > 0 {
		return first
	}
	return rapid.SampledFrom(others).Draw(t, name)
}

func drawRate(t *rapid.T) flow.Rule {
	f := flow.Rule{
		Resource: drawMatch(t),
		Limit:    rapid.SampledFrom([]float64{0, 0.4, 1, 2, 2.5, 20, 1000.0 / 3, 1e6}).Draw(t, "limit"),
		Per:      often(t, "per", 0, time.Second, 100*time.Millisecond, 10*time.Second, 1500*time.Microsecond, 24*time.Hour),
		Mode:     rapid.SampledFrom([]flow.Mode{flow.Reject, flow.Smooth, flow.Pace, flow.WarmUp, flow.WarmUpPace}).Draw(t, "mode"),
		Origin:   often(t, "origin", "", "web", "default", "other", " ", "\xff", "<a>"),
		Under:    often(t, "under", "", "in", " "),
		Also:     rapid.Bool().Draw(t, "also"),
		Shared:   often(t, "shared", false, true),
		Shadow:   often(t, "shadow", false, true),
	}
	switch f.Mode {
	case flow.Reject:
		f.Related = often(t, "related", "", "s", "\xff")
		f.Memory = often(t, "memory", flow.Memory{},
			flow.Memory{LowLimit: 100, HighLimit: 10, LowMark: 1 << 20, HighMark: 1 << 30},
			flow.Memory{LowLimit: 10.5, HighLimit: 1, LowMark: 1 << 20, HighMark: 1 << 30},
			flow.Memory{LowLimit: 100, HighLimit: 10, LowMark: 0.5, HighMark: 0.75})
	case flow.Smooth:
		f.Burst = rapid.IntRange(0, 2).Draw(t, "burst")
	}
	if f.Mode == flow.Pace || f.Mode == flow.WarmUpPace {
		f.MaxWait = rapid.SampledFrom([]time.Duration{0, time.Millisecond, 1500 * time.Microsecond, 500 * time.Millisecond, time.Hour}).Draw(t, "maxWait")
	}
	if f.Mode == flow.WarmUp || f.Mode == flow.WarmUpPace {
		f.WarmUp = rapid.SampledFrom([]time.Duration{0, time.Second, 2500 * time.Millisecond, 10 * time.Second, time.Hour}).Draw(t, "warmUp")
		f.ColdFactor = often(t, "coldFactor", 0, 1.1, 2, 2.5, 3, 100)
	}
	return f
}

// drawGatewayRate draws a rate that a gateway rule can often say.
func drawGatewayRate(t *rapid.T) flow.Rule {
	f := drawRate(t)
	f.Resource, f.Also = often(t, "of", rule.Name("route"), f.Resource), false
	if f.Mode == flow.Smooth || f.Mode == flow.Reject && rapid.Bool().Draw(t, "smooth") {
		f.Mode, f.Related, f.Memory = flow.Smooth, "", flow.Memory{}
		f.Burst = rapid.SampledFrom([]int{0, 1, 20, 25}).Draw(t, "saved")
	}
	return f
}

// drawGatewayParam draws a limit by a value that a gateway rule can often say.
func drawGatewayParam(t *rapid.T) paramflow.Rule {
	p := drawParam(t)
	p.Resource, p.Also = often(t, "of", rule.Name("route"), p.Resource), false
	p.Overrides = often(t, "no overrides", nil, p.Overrides)
	p.Absent, p.Values = paramflow.Pass, 0
	p.Param = often(t, "source", rapid.SampledFrom([]string{"client.ip", "header.Host", "header.X-User", `query["a b"]`, "cookie.sid"}).Draw(t, "usual"),
		p.Param, "header.host", `header["host"]`, "peer.ip", "query['it\\'s']", "query[\" \"]", "query.a + query.b")
	p.Only = often(t, "only", rapid.SampledFrom([]rule.Match{{}, rule.Name("vip"), rule.Name("a*"), rule.Wildcard("*a.b*"), rule.Regex("a|b")}).Draw(t, "usual only"),
		rule.Wildcard("a*"), rule.Wildcard("*"), rule.Wildcard("**"), rule.Wildcard("*a?*"), rule.Default(), rule.Regex("[[:alpha:]]"), rule.Name("\xff"), rule.Regex(" "))
	return p
}

func drawSystem(t *rapid.T) system.Rule {
	s := system.Rule{
		Metric: rapid.SampledFrom([]system.Metric{system.Load, system.CPU, system.ResponseTime, system.Concurrency, system.Rate}).Draw(t, "metric"),
		Shadow: often(t, "shadow", false, true),
	}
	switch s.Metric {
	case system.ResponseTime:
		s.SlowerThan = rapid.OneOf(rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, time.Hour, time.Microsecond}), rapid.Map(rapid.Int64Range(1000, int64(time.Hour)), func(n int64) time.Duration {
			return time.Duration(n)
		})).Draw(t, "slowerThan")
		return s
	case system.Load, system.CPU:
		s.Admission = rapid.SampledFrom([]system.Admission{system.BBR, system.Refuse}).Draw(t, "admission")
		s.Limit = rapid.SampledFrom([]float64{0, 0.1, 0.8, 1, 2.5, 100_000}).Draw(t, "limit")
	default:
		s.Limit = rapid.SampledFrom([]float64{0, 0.001, 1, 2.5, 1000, 10_000_000}).Draw(t, "limit")
	}
	return s
}

func drawAuthority(t *rapid.T) authority.Rule {
	a := authority.Rule{
		Resource:  drawMatch(t),
		Anonymous: often(t, "anonymous", authority.Pass, authority.Refuse),
		Also:      rapid.Bool().Draw(t, "also"),
		Shadow:    often(t, "shadow", false, true),
	}
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "shop", "default", "other", "x*", "*", "a,b", "é", "\xff"}), 1, 4, func(s string) string { return s }).Draw(t, "names")
	if rapid.Bool().Draw(t, "white") {
		a.Allow = names
	} else {
		a.Deny = names
	}
	return a
}

func drawGroup(t *rapid.T) apigroup.Group {
	path := rapid.SampledFrom([]apigroup.Path{
		{Exact: "/a"}, {Exact: "/b"}, {Pattern: "/c/**"}, {Pattern: "/u/{id}"}, {Pattern: "/u/{id:[0-9]+}/x"}, {Regex: "/d/[0-9]+"}, {Regex: "[[:alpha:]]"}, {Exact: "\xff"}, {Exact: " "},
	})
	return apigroup.Group{
		Name:  rapid.SampledFrom([]string{"a", "b", "orders", " ", "é", "\xff"}).Draw(t, "name"),
		Paths: rapid.SliceOfNDistinct(path, 0, 4, func(p apigroup.Path) apigroup.Path { return p }).Draw(t, "paths"),
	}
}

func canonicalRate(f flow.Rule) flow.Rule {
	f.Per = or(f.Per, time.Second)
	if f.Mode == flow.Smooth {
		f.Burst = or(f.Burst, 1)
		if f.Limit == 0 {
			f.Burst = 0 // not looked at
		}
	}
	if f.Memory != (flow.Memory{}) {
		f.Limit = 0 // not looked at
	}
	if f.Mode == flow.WarmUp || f.Mode == flow.WarmUpPace {
		f.WarmUp = or(f.WarmUp, 10*time.Second)
		f.ColdFactor = or(f.ColdFactor, 3)
	}
	return f
}

func or[T comparable](v, zero T) T {
	if v == *new(T) {
		return zero
	}
	return v
}

func drawPlaces(t *rapid.T) flow.ConcurrencyRule {
	return flow.ConcurrencyRule{
		Resource: drawMatch(t),
		Limit:    rapid.SampledFrom([]int{0, 1, 20, 10_000_000}).Draw(t, "limit"),
		MaxWait:  often(t, "maxWait", 0, time.Second),
		Origin:   often(t, "origin", "", "web", "default", "\xff"),
		Under:    often(t, "under", "", "in"),
		Also:     rapid.Bool().Draw(t, "also"),
		Shared:   often(t, "shared", false, true),
		Shadow:   often(t, "shadow", false, true),
	}
}

func drawBreaker(t *rapid.T) breaker.Rule {
	b := breaker.Rule{
		Resource: drawMatch(t),
		Trip:     rapid.SampledFrom([]breaker.Trip{breaker.ErrorRatio, breaker.SlowRatio, breaker.ErrorCount, breaker.Consecutive}).Draw(t, "trip"),
		Above:    rapid.Bool().Draw(t, "above"),
		Open:     often(t, "open", time.Second, 0, time.Millisecond, 2500*time.Millisecond, 1500*time.Microsecond, 24*time.Hour),
		MaxOpen:  often(t, "maxOpen", 0, time.Minute),
		Jitter:   often(t, "jitter", 0, 0.1),
		Probes:   often(t, "probes", 0, 1, 2, 1000), Successes: often(t, "successes", 0, 1, 2, 7),
		ProbeLease: often(t, "probeLease", 0, time.Minute, time.Hour),
		Also:       often(t, "also", false, true),
		Shared:     often(t, "shared", false, true),
		Shadow:     often(t, "shadow", false, true),
	}
	if b.Trip == breaker.ErrorCount || b.Trip == breaker.Consecutive {
		b.Threshold = rapid.SampledFrom([]float64{0, 1, 2, 1e9}).Draw(t, "count")
	} else {
		b.Threshold = rapid.SampledFrom([]float64{0, 1e-9, 0.3, 0.5, 1}).Draw(t, "ratio")
	}
	if b.Trip == breaker.SlowRatio {
		b.SlowerThan = rapid.SampledFrom([]time.Duration{time.Nanosecond, time.Millisecond, 2500 * time.Microsecond, 24 * time.Hour}).Draw(t, "slowerThan")
	}
	if b.Trip != breaker.Consecutive {
		b.Window = rapid.SampledFrom([]time.Duration{0, time.Second, 100500 * time.Microsecond, time.Hour}).Draw(t, "window")
		b.Buckets = often(t, "buckets", 1, 0, 3, 100)
		b.MinCalls = rapid.SampledFrom([]int{0, 1, 5, 1e9}).Draw(t, "minCalls")
	}
	return b
}

// canonicalBreaker spells defaults out, and writes in one way what can be said in two.
func canonicalBreaker(b breaker.Rule) breaker.Rule {
	b.Open = or(b.Open, 5*time.Second)
	b.MaxOpen = or(b.MaxOpen, b.Open)
	b.Probes = or(b.Probes, 1)
	b.Successes = or(b.Successes, b.Probes)
	b.ProbeLease = or(b.ProbeLease, time.Minute)
	b.Window = or(b.Window, 10*time.Second)
	b.Buckets = or(b.Buckets, 10)
	b.MinCalls = or(b.MinCalls, map[bool]int{true: 1, false: 10}[b.Trip == breaker.ErrorCount])
	switch {
	case b.Trip == breaker.ErrorCount && !b.Above:
		b.Threshold, b.Above = b.Threshold-1, true // at n is above n-1, as calls are whole
	case b.Trip == breaker.SlowRatio && b.Threshold == 1:
		b.Above = false // opens at 1 in either case
	}
	return b
}

func drawParam(t *rapid.T) paramflow.Rule {
	p := paramflow.Rule{
		Resource: drawMatch(t),
		Param: often(t, "param", rapid.SampledFrom([]string{"arg[0]", "arg[0][*?]"}).Draw(t, "argument"), "arg[-1]", "arg[ 7 ][ *? ]", "arg[0][*]", "value.uid", `value["x y"]`,
			`value['it\'s \u00e9']`, "arg[0].id", "arg[0] + method", "uid", "header.x", "value.a + value.b"),
		Mode:      rapid.SampledFrom([]paramflow.Mode{paramflow.Reject, paramflow.Reject, paramflow.Pace, paramflow.Concurrency}).Draw(t, "mode"),
		Limit:     often(t, "limit", rapid.SampledFrom([]float64{0, 1, 2, 20, 1e6}).Draw(t, "whole limit"), 2.5, 1000.0/3, 0.4, 1e7),
		Overrides: rapid.SliceOfNDistinct(rapid.Custom(drawOverride), 0, 3, overrideKey).Draw(t, "overrides"),
		Absent:    often(t, "absent", paramflow.Pass, paramflow.Count),
		Redact:    often(t, "redact", false, true),
		Origin:    often(t, "origin", "", "web"),
		Also:      rapid.Bool().Draw(t, "also"),
		Shared:    often(t, "shared", false, true),
		Shadow:    often(t, "shadow", false, true),
	}
	if p.Mode == paramflow.Concurrency {
		return p
	}
	p.Per = often(t, "per", rapid.SampledFrom([]time.Duration{0, time.Second, time.Minute}).Draw(t, "seconds"), 24*time.Hour, 1500*time.Millisecond, time.Millisecond)
	p.Values = often(t, "values", 0, 100, 10_000_000)
	if p.Mode == paramflow.Pace {
		p.MaxWait = rapid.SampledFrom([]time.Duration{0, time.Millisecond, 1500 * time.Microsecond, time.Hour}).Draw(t, "maxWait")
		p.MaxQueue = often(t, "maxQueue", 0, 7)
		return p
	}
	more := often(t, "more", 0, 2, 20)
	burst := func(limit float64) int {
		if more == 0 {
			return often(t, "burst", 0, 1, 22, 10_000_000)
		}
		return often(t, "burst", min(int(math.Ceil(limit))+more, 10_000_000), 0, 1, 22)
	}
	p.Burst = burst(p.Limit)
	for i := range p.Overrides {
		p.Overrides[i].Burst = burst(p.Overrides[i].Limit)
	}
	return p
}

func drawOverride(t *rapid.T) paramflow.Override {
	o := paramflow.Override{Limit: often(t, "limit", rapid.SampledFrom([]float64{0, 1, 2, 20}).Draw(t, "whole limit"), 3e9, 2.5, 0.1)}
	switch rapid.IntRange(0, 19).Draw(t, "of") {
	case 0:
		o.Wildcard = "a*"
	case 1:
		o.Regex = rapid.SampledFrom([]string{"^$", "a.b"}).Draw(t, "regex")
	default:
		o.Value = rapid.SampledFrom([]paramflow.Scalar{"vip", "7", "-9223372036854775808", "true", "1.5", "1e-07", "0.1234567", "+Inf", "007", "\xff", "é\u2028", " ",
			paramflow.Scalar(strings.Repeat("x", 300)), paramflow.Scalar("sha256:" + strings.Repeat("0", 64))}).Draw(t, "value")
	}
	return o
}

// overrideKey is what tells an override from others.
func overrideKey(o paramflow.Override) [3]string {
	return [3]string{string(o.Value), o.Wildcard, o.Regex}
}

// canonicalParam spells defaults out, and writes in one way what can be said in two.
func canonicalParam(p paramflow.Rule) paramflow.Rule {
	if strings.EqualFold(p.Param, "header.host") || strings.EqualFold(p.Param, `header["host"]`) {
		p.Param = "header.Host"
	}
	if p.Only == rule.Default() {
		p.Only = rule.Match{}
	}
	if same := map[string]string{"arg[ 7 ][ *? ]": "arg[7][*?]", `value['it\'s \u00e9']`: `value["it's é"]`, `query['it\'s']`: `query["it's"]`}[p.Param]; same != "" {
		p.Param = same
	}
	p.Overrides = append([]paramflow.Override(nil), p.Overrides...)
	if p.Mode == paramflow.Concurrency {
		return p
	}
	p.Per = or(p.Per, time.Second)
	burst := func(burst int, limit float64) int {
		if limit == 0 || p.Mode != paramflow.Reject {
			return 0
		}
		return or(burst, int(min(math.Ceil(limit), 1e7)))
	}
	p.Burst = burst(p.Burst, p.Limit)
	for i := range p.Overrides {
		p.Overrides[i].Burst = burst(p.Overrides[i].Burst, p.Overrides[i].Limit)
	}
	return p
}

// TestRegexTranslation: a whole-name match of the translation is what a search with Go's expression was, and it comes back as it was.
func TestRegexTranslation(t *testing.T) {
	t.Parallel()
	names := []string{"", "a", "b", "ab", "xab", "abx", "a\nb", "/api/a", "x/api/", "AB", "q\n"}
	for _, expr := range []string{
		"a", "^a", "a$", "^a$", "^(?:a)$", "a|b", "^a|b$", "(?i)ab", "(?m)^b$", "(?U)a+", "a.b", "(?s)a.b", "/api/.*", "[ab]", `\Aa\z`, `^(?:a)$|^(?:b)$`,
		"(?s:.*)(?:a)(?s:.*)", `\Qa\E`, "(a)(b)?", "^(?:^(?:a)$)$",
	} {
		e := one(t, sentinel.Flow, fmt.Sprintf(`{"resource":%q,"regex":true,"threshold":1}`, expr))
		require.Empty(t, e.Problems, expr)
		matcher, err := e.Rules.Flow[0].Resource.Compile()
		require.NoError(t, err, expr)
		for _, name := range names {
			require.Equal(t, find(t, expr, name), matcher.Matches(name), "%s in %q", expr, name)
		}
		data, lost, err := sentinel.Encode(sentinel.Go, sentinel.Flow, e.Rules)
		require.NoError(t, err)
		require.Empty(t, lost)
		doc, err := sentinel.Decode(sentinel.Flow, "again", data)
		require.NoError(t, err)
		require.Equal(t, e.Rules.Flow[0].Resource, doc.Rules().Flow[0].Resource)
	}
	// What breaks out of a group is no expression by itself.
	e := one(t, sentinel.Flow, `{"resource":"a)|(b","regex":true,"threshold":1}`)
	require.Len(t, e.Problems.Faults(), 1)
	e = one(t, sentinel.Flow, `{"resource":"\\Qa","regex":true,"threshold":1}`)
	require.Len(t, e.Problems.Faults(), 1) // a quotation without an end would take the translation's end into it
}

// TestJavaRegex: what RE2 would read otherwise than Java is refused, the rest taken as it is.
func TestJavaRegex(t *testing.T) {
	t.Parallel()
	for expr, ok := range map[string]bool{
		`/api/.*`: true, `a|b`: true, `[a-z]+`: true, `[]a]`: true, `[^]a]`: true, `\[a\]`: true, `[\[a]`: true, `\Q[a[b]\E`: true, `(?i)a`: true, `(?:a)`: true,
		`\d\w`: true, `[&]&&a`: true, `[a&b]`: true,
		`[a[b]`: false, `[a&&b]`: false, `[[:alpha:]]`: false, `(?P<n>a)`: false, `(?U)a`: false, `(?i-U)a`: false, `\1`: false, `\123`: false, `(?=a)`: false, `a++`: false,
		`a(`: false, `\Qa`: false,
	} {
		e := one(t, sentinel.Flow, fmt.Sprintf(`{"resource":%q,"regex":true,"count":1}`, expr))
		require.Equal(t, ok, e.OK(), "%s: %v", expr, e.Problems)
		if ok {
			require.Equal(t, rule.Regex(expr), e.Rules.Flow[0].Resource)
		}
	}
}
