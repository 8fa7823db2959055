package paramflow

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/rule"
)

func decode(t require.TestingT, document string) (Rule, rule.Problems) {
	n, err := rule.ParseYAML([]byte(document))
	require.NoError(t, err)
	var r Rule
	return r, rule.Decode(n, &r, "")
}

// allFields is a rule with every field set.
func allFields() Rule {
	return Rule{
		ID: "r", Resource: rule.Name("orders"), Param: "arg[0].user.id", Mode: Pace, Limit: 2.5, Per: time.Minute, Burst: 3, MaxWait: time.Second, MaxQueue: 10, Only: rule.Wildcard("*"),
		Overrides: []Override{{Value: "7", Limit: 1}}, Absent: Count, Values: 1000, Redact: true, Origin: "app", Also: true, Shared: true, Shadow: true,
	}
}

// A field that is added must be compared, and be written and read.
func TestEqualLooksAtEveryField(t *testing.T) {
	t.Parallel()
	full := allFields()
	v := reflect.ValueOf(full)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		require.False(t, v.Field(i).IsZero(), "%s is not set in allFields", name)
		other := full
		reflect.ValueOf(&other).Elem().Field(i).SetZero()
		require.False(t, full.Equal(other), name)
		require.NotEmpty(t, v.Type().Field(i).Tag.Get("rule"), name)
	}
	require.True(t, full.Equal(allFields()))
	for _, edit := range []func(o *Override){func(o *Override) { o.Value = "8" }, func(o *Override) { o.Limit = 2 }, func(o *Override) { o.Burst = 2 },
		func(o *Override) { o.Wildcard = "x" }, func(o *Override) { o.Regex = "x" }} {
		other := allFields()
		edit(&other.Overrides[0])
		require.False(t, full.Equal(other))
	}
	require.Equal(t, rule.Meta{ID: "r", Resource: rule.Name("orders"), Also: true, Shared: true, Shadow: true}, full.Meta())
	require.Equal(t, "x", full.WithID("x").ID)
}

func TestDocumentRoundTrip(t *testing.T) {
	t.Parallel()
	n, err := rule.Encode(allFields())
	require.NoError(t, err)
	var back Rule
	require.Empty(t, rule.Decode(n, &back, ""))
	require.Equal(t, allFields(), back)
}

// One value has one form, however a document writes it.
func TestOverrideValuesInDocuments(t *testing.T) {
	t.Parallel()
	_, problems := decode(t, `overrides: [{value: [1]}, {value: .nan}, {value: 1e999}]`)
	require.Len(t, problems, 3)
	n, err := rule.ParseYAML([]byte(`overrides: [{value: 7}, {value: 7.0}, {value: "7"}, {value: +7}, {value: 0x7}, {value: 0.7e1}, {value: -0}, {value: 1.5}, {value: true}, {value: vip}, {value: 123456789012345678901}, {value: "7.0"}]`))
	require.NoError(t, err)
	var r Rule
	require.Empty(t, rule.Decode(n, &r, ""))
	var got []string
	for _, o := range r.Overrides {
		got = append(got, string(o.Value))
	}
	require.Equal(t, []string{"7", "7", "7", "7", "7", "7", "0", "1.5", "true", "vip", "123456789012345678901", "7.0"}, got)
}

func problems(list []rule.Problem) string {
	var b strings.Builder
	for _, p := range list {
		b.WriteString(p.Error() + "\n")
	}
	return b.String()
}

func TestProblems(t *testing.T) {
	t.Parallel()
	good := Rule{Resource: rule.Name("orders"), Param: "header.tenant", Limit: 10}
	require.Empty(t, good.Problems())
	for _, fine := range []func(r *Rule){
		func(r *Rule) { r.Limit = 0 },
		func(r *Rule) { r.Limit, r.Per, r.Burst = 1.0/30+1e-9, 24*time.Hour, 1 },
		func(r *Rule) { r.Limit, r.Per = 1e7*86400, 24*time.Hour },
		func(r *Rule) { r.Mode, r.MaxWait, r.MaxQueue = Pace, time.Hour, 1_000_000 },
		func(r *Rule) { r.Mode, r.Limit = Concurrency, 1e7 },
		func(r *Rule) { r.Values = minValues },
		func(r *Rule) { r.Only = rule.Default() },
		func(r *Rule) {
			r.Only, r.Overrides = rule.Wildcard("7*"), []Override{{Value: "7"}, {Value: AbsentValue}, {Wildcard: "8"}}
		},
		func(r *Rule) { r.Overrides = []Override{{Value: "7"}, {Value: "7.0"}, {Wildcard: "7"}, {Regex: "7"}} },
	} {
		r := good
		fine(&r)
		require.Empty(t, r.Problems(), "%+v", r)
	}
	list := func(n int, o func(i int) Override) (all []Override) {
		for i := range n {
			all = append(all, o(i))
		}
		return all
	}
	for _, c := range []struct {
		edit func(r *Rule)
		want string
	}{
		{func(r *Rule) { r.Resource = rule.Match{} }, "resource: is missing: a rule must say what it limits; want a name, {wildcard: ...}, {regex: ...} or {default: true}"},
		{func(r *Rule) { r.Resource = rule.Regex("(") }, `resource: regex "(" is not valid: missing closing ) in "("`},
		{func(r *Rule) { r.Param = "" }, `param: is missing: a rule must say which value it limits; want a path such as arg[0].user.id or header["X-Tenant"]`},
		{func(r *Rule) { r.Absent = 9 }, "absent: 9 is unknown; want pass or count"},
		{func(r *Rule) { r.Mode = 9 }, "mode: 9 is unknown; want reject, pace or concurrency"},
		{func(r *Rule) { r.Per = time.Microsecond }, "per: 1µs is out of range; want 1ms to 24h"},
		{func(r *Rule) { r.Per = 25 * time.Hour }, "per: 25h is out of range; want 1ms to 24h"},
		{func(r *Rule) { r.Limit = -1 }, "limit: -1 per 1s is out of range; want 0 to 10000000 (10 million per second)"},
		{func(r *Rule) { r.Limit = math.NaN() }, "limit: NaN per 1s is out of range; want 0 to 10000000 (10 million per second)"},
		{func(r *Rule) { r.Limit = 1e-9 }, "limit: 0.000000001 per 1s is less than one call in 30 days; want 0 to refuse all, or a higher limit"},
		{func(r *Rule) { r.Burst = -1 }, "burst: -1 is out of range; want 1 to 10000000"},
		{func(r *Rule) { r.Limit, r.Burst = 1, 1e7 }, "burst: 10000000 calls take more than 30 days to earn back; want a smaller burst or a higher limit"},
		{func(r *Rule) { r.Mode, r.MaxWait, r.Burst = Pace, 1, 2 }, "burst: has no meaning for mode pace; want it left out, or mode: reject"},
		{func(r *Rule) { r.MaxWait, r.MaxQueue = 1, 1 }, "maxWait: has no meaning for mode reject; want it left out, or mode: pace\nmaxQueue: has no meaning for mode reject; want it left out, or mode: pace"},
		{func(r *Rule) { r.Mode = Pace }, "warning: maxWait: is not set: calls that come before their turn are refused, nobody waits; want how long a call may wait, such as 500ms"},
		{func(r *Rule) { r.Mode, r.MaxWait = Pace, 2*time.Hour }, "maxWait: 2h is out of range; want 0s to 1h"},
		{func(r *Rule) { r.Mode, r.MaxWait, r.MaxQueue = Pace, 1, -1 }, "maxQueue: -1 is out of range; want 1 to 1000000"},
		{func(r *Rule) { r.Mode, r.MaxQueue = Pace, 1 }, "maxQueue: has no meaning without maxWait: nobody waits; want set maxWait, or leave maxQueue out"},
		{func(r *Rule) { r.Mode, r.Per, r.Values = Concurrency, time.Second, 100 }, "per: has no meaning for mode concurrency; want it left out, or mode: reject or pace\nvalues: has no meaning for mode concurrency; want it left out, or mode: reject or pace"},
		{func(r *Rule) { r.Mode, r.Limit = Concurrency, 2.5 }, "limit: 2.5 calls in flight are out of range; want a whole number from 0 to 10000000"},
		{func(r *Rule) { r.Values = 99 }, "values: 99 is out of range; want 100 to 10000000"},
		{func(r *Rule) { r.Values = 10_000_001 }, "values: 10000001 is out of range; want 100 to 10000000"},
		{func(r *Rule) { r.Only = rule.Regex("(") }, `only: regex "(" is not valid: missing closing ) in "("`},
		{func(r *Rule) { r.Only = rule.Wildcard("\xff") }, `only: wildcard "\xff" is not valid UTF-8`},
		{func(r *Rule) { r.Only = rule.Wildcard("") }, "only: is an empty wildcard; want what the values look like, or no such field for all (for the empty value, write regex: ^$)"},
		{func(r *Rule) { r.Only = rule.Name(strings.Repeat("a", 1001)) }, "only: is 1001 bytes long; want at most 1000 bytes"},
		{func(r *Rule) { r.Only, r.Overrides = rule.Wildcard("a*"), []Override{{Value: "a"}, {Value: "b"}} },
			`warning: overrides[1].value: has no effect: "b" is not among the values that the rule is for, {wildcard: "a*"}; want a value that only matches, or none`},
		{func(r *Rule) { r.Overrides = []Override{{Limit: 1}} }, "overrides[0]: names no value (for the empty one, write regex: ^$); want one of value, wildcard and regex"},
		{func(r *Rule) { r.Overrides = []Override{{Value: "a", Regex: "b"}} }, "overrides[0]: has 2 of value, wildcard and regex; want one of value, wildcard and regex"},
		{func(r *Rule) { r.Overrides = []Override{{Value: "a", Limit: -1}} }, "overrides[0].limit: -1 per 1s is out of range; want 0 to 10000000 (10 million per second)"},
		{func(r *Rule) { r.Overrides = []Override{{Value: "a", Limit: 1, Burst: -1}} }, "overrides[0].burst: -1 is out of range; want 1 to 10000000"},
		{func(r *Rule) { r.Overrides = []Override{{Value: "7"}, {Value: "x"}, {Value: "7"}} }, "overrides[2].value: is the same as that of overrides[0]; want each value and pattern once"},
		{func(r *Rule) { r.Overrides = []Override{{Regex: "a"}, {Regex: "a"}} }, "overrides[1].regex: is the same as that of overrides[0]; want each value and pattern once"},
		{func(r *Rule) { r.Overrides = []Override{{Regex: "(?=x)"}} }, "overrides[0].regex: regex \"(?=x)\" is not valid: invalid or unsupported Perl syntax in \"(?=\""},
		{func(r *Rule) { r.Overrides = []Override{{Regex: "a{1001}"}} }, "overrides[0].regex: regex \"a{1001}\" is not valid: invalid repeat count in \"{1001}\""},
		{func(r *Rule) { r.Overrides = []Override{{Regex: strings.Repeat("a", 1001)}} }, "overrides[0].regex: is 1001 bytes long; want at most 1000 bytes"},
		{func(r *Rule) { r.Overrides = []Override{{Wildcard: strings.Repeat("a", 1001)}} }, "overrides[0].wildcard: is 1001 bytes long; want at most 1000 bytes"},
		{func(r *Rule) { r.Overrides = []Override{{Wildcard: "\xff*"}} }, "overrides[0].wildcard: wildcard \"\\xff*\" is not valid UTF-8"},
		{func(r *Rule) { r.Overrides = make([]Override, 100_001) }, "overrides: are 100001: too many to be kept; want at most 100000"},
		{func(r *Rule) {
			r.Overrides = list(1001, func(i int) Override { return Override{Wildcard: fmt.Sprintf("t-%d-*", i)} })
		}, "overrides: have 1001 patterns: too many to be tried on a call; want at most 1000 patterns, and values for the rest"},
	} {
		r := good
		c.edit(&r)
		require.Equal(t, c.want+"\n", problems(r.Problems()))
		if !strings.HasPrefix(c.want, "warning") && !strings.HasPrefix(c.want, "resource") && !strings.HasPrefix(c.want, "param") && !strings.HasPrefix(c.want, "absent") {
			_, err := NewLimiter(r, 0, extractor.SeedOf(1))
			require.Error(t, err)
			l := newTestLimiter(t, good, 0)
			kept, err := l.Update(r, 0)
			require.Error(t, err)
			require.True(t, kept)
			require.Equal(t, 10, passes(l, 0, "a", 20), "the rule of before stays in force")
		}
	}
}

func TestString(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule Rule
		want string
	}{
		{Rule{Limit: 10}, "for each value at most 10 calls per 1s with bursts of 10, the rest is refused"},
		{Rule{Limit: 1, Per: time.Hour, Resource: rule.Name("exports"), Param: "header.tenant", Overrides: make([]Override, 3)},
			"exports: for each header.tenant at most 1 call per 1h with bursts of 1, the rest is refused; 3 with a limit of their own"},
		{Rule{Limit: 4, Mode: Pace, MaxWait: time.Second, MaxQueue: 5, Origin: "app", Shadow: true},
			"for app (in shadow): for each value one call every 250ms, what would wait longer than 1s, or with 5 waiting already, is refused"},
		{Rule{Limit: 4, Mode: Pace, Origin: "other", Resource: rule.Default()}, "{default: true} for each other caller: for each value one call every 250ms, what comes earlier is refused"},
		{Rule{Limit: 3, Mode: Concurrency, Param: "arg[0].account", Absent: Count}, "for each arg[0].account at most 3 at once, the rest is refused; calls without it count as one value"},
		{Rule{Limit: 1, Param: "header.tenant", Only: rule.Regex("a|b")}, `for each header.tenant matching {regex: "a|b"} at most 1 call per 1s with bursts of 1, the rest is refused`},
		{Rule{}, "for each value no calls, all are refused"},
	} {
		require.Equal(t, c.want, c.rule.String())
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for _, word := range (Mode(0)).Values() {
		var m Mode
		require.NoError(t, m.UnmarshalText([]byte(word)))
		text, err := m.MarshalText()
		require.NoError(t, err)
		require.Equal(t, word, string(text))
		require.Equal(t, word, m.String())
	}
	for _, word := range (Absent(0)).Values() {
		var a Absent
		require.NoError(t, a.UnmarshalText([]byte(word)))
		text, err := a.MarshalText()
		require.NoError(t, err)
		require.Equal(t, word, string(text))
		require.Equal(t, word, a.String())
	}
	require.Equal(t, "Mode(9) Absent(9)", fmt.Sprint(Mode(9), Absent(9)))
	_, err := Mode(9).MarshalText()
	require.EqualError(t, err, "paramflow: mode 9 is unknown: want 0 to 2")
	_, err = Absent(9).MarshalText()
	require.EqualError(t, err, "paramflow: absent 9 is unknown: want 0 to 1")
	require.EqualError(t, new(Mode).UnmarshalText([]byte("x")), `unknown mode "x"`)
	require.EqualError(t, new(Absent).UnmarshalText([]byte("x")), `unknown word "x"`)
}
