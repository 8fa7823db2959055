package authority

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/rule"
)

// allFields is a rule with every field set, valid or not.
func allFields() Rule {
	return Rule{ID: "r", Resource: rule.Name("orders"), Allow: []string{"a"}, Deny: []string{"b"}, Anonymous: Refuse, Also: true, Shadow: true}
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
	other := allFields()
	other.Allow[0] = "c"
	require.False(t, full.Equal(other))
	require.Equal(t, rule.Meta{ID: "r", Resource: rule.Name("orders"), Also: true, Shadow: true}, full.Meta())
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

func text(problems []rule.Problem) string {
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.Error())
	}
	return strings.Join(lines, "\n")
}

func many(n int, format string) (origins []string) {
	for i := range n {
		origins = append(origins, fmt.Sprintf(format, i))
	}
	return origins
}

func TestProblems(t *testing.T) {
	t.Parallel()
	for _, fine := range []Rule{
		{Allow: []string{"a"}}, {Deny: []string{"a", "A", "a?", "a*"}}, {Allow: many(10_000, "app-%d")}, {Allow: many(1000, "app-%d-*"), Anonymous: Refuse},
		{Deny: []string{"日本", "\xff", "a b"}},
	} {
		fine.Resource = rule.Name("orders")
		require.Empty(t, fine.Problems(), "%.200v", fine)
		_, err := NewList(fine)
		require.NoError(t, err)
	}
	for _, c := range []struct {
		rule Rule
		want string
	}{
		{Rule{}, "allow: is missing, and so is deny: the rule says nothing of any origin; want one of allow and deny, with at least one origin"},
		{Rule{Allow: []string{"a"}, Deny: []string{"b"}}, "deny: has no meaning beside allow, which refuses all others already; want one of allow and deny"},
		{Rule{Allow: []string{"a"}, Anonymous: 7}, "anonymous: 7 is unknown; want pass or refuse"},
		{Rule{Allow: []string{"a", ""}}, "allow[1]: is empty; want a name; anonymous says what becomes of calls without one"},
		{Rule{Deny: []string{strings.Repeat("x", 1001)}}, "deny[0]: is 1001 bytes long; want at most 1000 bytes"},
		{Rule{Deny: []string{"\xff*"}}, `deny[0]: pattern "\xff*" is not valid UTF-8`},
		{Rule{Allow: many(10_001, "a%d")}, "allow: has 10001 origins: too many to be kept; want at most 10000, and patterns for the rest"},
		{Rule{Allow: many(1001, "a%d*")}, "allow: has 1001 patterns: too many to be tried on a call; want at most 1000 patterns, and names for the rest"},
	} {
		c.rule.Resource = rule.Name("orders")
		require.Equal(t, c.want, text(c.rule.Problems()))
		_, err := NewList(c.rule)
		require.Error(t, err)
	}
	for want, m := range map[string]rule.Match{
		"resource: is missing: a rule must say what it guards; want a name, {wildcard: ...}, {regex: ...} or {default: true}": {},
		`resource: regex "(" is not valid: missing closing ) in "("`:                                                          rule.Regex("("),
	} {
		require.Equal(t, want, text(Rule{Resource: m, Allow: []string{"a"}}.Problems()))
	}
}

// Origins are not trimmed, as Sentinel does not; so a space is mostly a slip, and a rule with one is in force as it is written.
func TestSlipsAreWarnedOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule Rule
		want string
	}{
		{Rule{Allow: []string{"x", " y"}}, `warning: allow[1]: looks like a slip: " y" matches only origins that have the spaces too; want "y"`},
		{Rule{Deny: []string{"x\n"}}, `warning: deny[0]: looks like a slip: "x\n" matches only origins that have the spaces too; want "x"`},
		{Rule{Allow: []string{"x", "y", "x"}}, `warning: allow[2]: is the same as allow[0]; want each origin once`},
		{Rule{Deny: []string{"*"}}, "warning: deny[0]: looks like a slip: it denies every origin; want names of those who may not call"},
		{Rule{Allow: []string{"**"}}, "warning: allow[0]: looks like a slip: it allows every origin; want names of those who may call"},
	} {
		c.rule.Resource = rule.Name("orders")
		require.Equal(t, c.want, text(c.rule.Problems()))
		_, err := NewList(c.rule)
		require.NoError(t, err)
	}
	problems := Rule{Resource: rule.Default(), Deny: many(5000, " app-%d")}.Problems()
	require.Len(t, problems, maxSlips+1)
	require.Equal(t, "warning: deny: has 4990 more origins that look like slips; want each origin once, without spaces around it", problems[maxSlips].Error())
}

func TestString(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]Rule{
		`only "a" may call; calls without an origin pass`:                                                             {Allow: []string{"a"}},
		`orders: only "a" and "b*" may call; calls without an origin are refused`:                                     {Resource: rule.Name("orders"), Allow: []string{"a", "b*"}, Anonymous: Refuse},
		`{default: true} (in shadow): "a", "b" and "c" may not call, all others may; calls without an origin pass`:    {Resource: rule.Default(), Deny: []string{"a", "b", "c"}, Shadow: true},
		`(in shadow) "app-0", "app-1", "app-2" and 7 more may not call, all others may; calls without an origin pass`: {Deny: many(10, "app-%d"), Shadow: true},
		`only nobody may call; calls without an origin pass`:                                                          {},
	} {
		require.Equal(t, want, r.String())
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"pass", "refuse"}, Anonymous(0).Values())
	for i, word := range Anonymous(0).Values() {
		var a Anonymous
		require.NoError(t, a.UnmarshalText([]byte(word)))
		require.Equal(t, Anonymous(i), a)
		got, err := a.MarshalText()
		require.NoError(t, err)
		require.Equal(t, word, string(got))
		require.Equal(t, word, a.String())
	}
	require.Equal(t, "Anonymous(9)", Anonymous(9).String())
	_, err := Anonymous(9).MarshalText()
	require.EqualError(t, err, "authority: anonymous 9 is unknown: want 0 to 1")
	var a Anonymous
	require.EqualError(t, a.UnmarshalText([]byte("x")), `unknown value "x" of anonymous`)
}
