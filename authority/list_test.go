package authority

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cordon-go/cordon/rule"
)

func newTestList(t require.TestingT, r Rule) *List {
	l, err := NewList(r)
	require.NoError(t, err)
	return l
}

func TestAllows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule    Rule
		yes, no []string
	}{
		{Rule{Allow: []string{"a", "b"}}, []string{"", "a", "b"}, []string{"c", "A", "a ", "ab", "a,b"}},
		{Rule{Deny: []string{"a", "b"}}, []string{"", "c", "A", " a"}, []string{"a", "b"}},
		{Rule{Allow: []string{"a"}, Anonymous: Refuse}, []string{"a"}, []string{"", "b"}},
		{Rule{Deny: []string{"a"}, Anonymous: Refuse}, []string{"b"}, []string{"", "a"}},
		{Rule{Allow: []string{"team-*", "*-admin", "x*y*z"}}, []string{"team-", "team-a", "a-admin", "xyz", "x1y2z"}, []string{"team", "admin", "xz"}},
		{Rule{Deny: []string{"*"}}, []string{""}, []string{"a", "\xff"}},
		{Rule{Allow: []string{"a?*", "b?"}}, []string{"a?", "a?b", "b?"}, []string{"ab", "a", "bc"}},
		{Rule{Allow: []string{" y"}}, []string{" y"}, []string{"y"}},
	} {
		l := newTestList(t, c.rule)
		for _, o := range c.yes {
			require.True(t, l.Allows(o), "%v %q", c.rule, o)
		}
		for _, o := range c.no {
			require.False(t, l.Allows(o), "%v %q", c.rule, o)
		}
	}
}

// fits is what an origin in a list means, by recursion over bytes.
func fits(pattern, origin string) bool {
	switch {
	case pattern == "":
		return origin == ""
	case pattern[0] == '*':
		return fits(pattern[1:], origin) || origin != "" && fits(pattern, origin[1:])
	}
	return origin != "" && pattern[0] == origin[0] && fits(pattern[1:], origin[1:])
}

func TestAllowsModel(t *testing.T) {
	t.Parallel()
	word := rapid.StringOfN(rapid.RuneFrom([]rune("ab?*")), 1, 6, -1)
	rapid.Check(t, func(t *rapid.T) {
		origins := rapid.SliceOfN(word, 1, 8).Draw(t, "origins")
		r := Rule{Anonymous: Anonymous(rapid.IntRange(0, 1).Draw(t, "anonymous"))}
		deny := rapid.Bool().Draw(t, "deny")
		if deny {
			r.Deny = origins
		} else {
			r.Allow = origins
		}
		l := newTestList(t, r)
		for range 20 {
			origin := rapid.StringOfN(rapid.RuneFrom([]rune("ab?")), 0, 6, -1).Draw(t, "origin")
			want := r.Anonymous == Pass
			if origin != "" {
				named := false
				for _, o := range origins {
					named = named || fits(o, origin)
				}
				want = named != deny
			}
			if got := l.Allows(origin); got != want {
				t.Fatalf("%v allows %q: %v", r, origin, got)
			}
		}
	})
}

// Ten thousand origins cost a call no allocation, nor do a thousand patterns.
func TestAllowsAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	l := newTestList(t, Rule{Allow: append(many(9000, "app-%d"), many(1000, "team-%d-*")...)})
	for _, origin := range []string{"", "app-8999", "team-999-x", "nobody", strings.Repeat("x", 500)} {
		require.Zero(t, testing.AllocsPerRun(100, func() { l.Allows(origin) }), origin)
	}
}

// FuzzRule: a document is a rule, valid or not; a valid one makes a list, is written and read again as the same, and is worded.
func FuzzRule(f *testing.F) {
	for _, document := range []string{`allow: [a, "b*"]`, `{deny: [x, " y", "?*"], anonymous: refuse}`, `allow: ["*"]`} {
		f.Add([]byte(document), "a")
	}
	f.Fuzz(func(t *testing.T, document []byte, origin string) {
		n, err := rule.ParseYAML(document)
		if err != nil || n == nil || n.Kind != rule.Object {
			return
		}
		var r Rule
		if len(rule.Decode(n, &r, "").Faults()) > 0 {
			return
		}
		l, err := NewList(r)
		if err != nil {
			return
		}
		again, err := rule.Encode(r)
		if err != nil { // origins that are no text are in no document
			t.Fatalf("%v of %q", err, document)
		}
		var back Rule
		require.Empty(t, rule.Decode(again, &back, ""))
		require.True(t, r.Equal(back))
		require.NotEmpty(t, r.String())
		for _, o := range append(append([]string{}, r.Allow...), r.Deny...) {
			if !isPattern(o) {
				require.Equal(t, len(r.Allow) > 0, l.Allows(o))
			}
		}
		l.Allows(origin)
	})
}

func BenchmarkAllows(b *testing.B) {
	for name, r := range map[string]Rule{
		"2 names":       {Allow: []string{"shop", "app"}},
		"10000 names":   {Allow: append(many(9999, "app-%d"), "shop")},
		"1000 patterns": {Allow: append(many(1000, "team-%d-*"), "shop")},
	} {
		l := newTestList(b, r)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				l.Allows("shop")
				l.Allows("nobody")
			}
		})
	}
}

func ExampleList() {
	list, err := NewList(Rule{Allow: []string{"checkout", "team-orders-*"}})
	if err != nil {
		panic(err)
	}
	fmt.Println(list.Allows("checkout"), list.Allows("team-orders-7"), list.Allows("search"), list.Allows(""))
	// Output: true true false true
}
