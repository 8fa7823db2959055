package rule

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func mustCompile(t require.TestingT, m Match) Matcher {
	c, err := m.Compile()
	require.NoError(t, err)
	return c
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		match Match
		yes   []string
		no    []string
	}{
		{Name("a"), []string{"a"}, []string{"", "A", "aa"}},
		{Default(), []string{"", "a", "\xff"}, nil},
		{Wildcard("*"), []string{"", "a", "日本"}, nil},
		{Wildcard("a"), []string{"a"}, []string{"", "ab"}},
		{Wildcard("/search/*"), []string{"/search/", "/search/a/b"}, []string{"/search", "x/search/"}},
		{Wildcard("a*a"), []string{"aa", "aba", "aaa"}, []string{"a", "ab"}},
		{Wildcard("?"), []string{"a", "é", "日", "\xff"}, []string{"", "ab", "\xff\xff"}},
		{Wildcard("*?"), []string{"a", "日本"}, []string{""}},
		{Wildcard("?*"), []string{"a", "日本"}, []string{""}},
		{Wildcard("a**b"), []string{"ab", "axb"}, []string{"a"}},
		{Wildcard("*a?c*"), []string{"abc", "xxabcx", "aabc", "a日c"}, []string{"abbc"}},
		{Wildcard("*日?"), []string{"日本", "x日本"}, []string{"日"}},
		{Wildcard("a*b*b"), []string{"abb", "abxb"}, []string{"ab"}},
		{Wildcard("a*?b*b"), []string{"axbb"}, []string{"axb", "abb"}},
		{Wildcard("a.c"), []string{"a.c"}, []string{"abc"}},
		{Regex("/api/.*"), []string{"/api/", "/api/x"}, []string{"x/api/", "/api"}},
		{Regex("a|bc"), []string{"a", "bc"}, []string{"ac", "abc", "xa"}},
		{Regex("(?i)abc"), []string{"ABC"}, []string{"ABCD"}},
		{Regex("a$"), []string{"a"}, []string{"a\n", "b"}},
		{Regex("(?m)a$"), []string{"a"}, []string{"a\nb"}},
		{Regex("."), []string{"a"}, []string{"\n", ""}},
	} {
		m := mustCompile(t, c.match)
		for _, name := range c.yes {
			require.True(t, m.Matches(name), "%s on %q", c.match, name)
		}
		for _, name := range c.no {
			require.False(t, m.Matches(name), "%s on %q", c.match, name)
		}
	}
}

// What cannot be used is refused when it is loaded and never reaches a request (faults #94).
func TestMatchRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		match Match
		want  string
	}{
		{Match{}, "the resource's name is empty"},
		{Wildcard(""), "the wildcard is empty and matches no resource that has a name"},
		{Regex(""), "the regex is empty and matches no resource that has a name"},
		{Wildcard("\xff*"), `wildcard "\xff*" is not valid UTF-8`},
		{Regex("/api/("), `regex "/api/(" is not valid: missing closing ) in "/api/("`},
		{Regex("a)|(b"), `regex "a)|(b" is not valid: unexpected ) in "a)|(b"`},
		{Regex("a(?=b)"), `regex "a(?=b)" is not valid: invalid or unsupported Perl syntax in "(?="`},
		{Regex(`(a)\1`), `regex "(a)\\1" is not valid: invalid escape sequence in "\\1"`},
		{Regex("((a{100}){100}){100}"), `regex "((a{100}){100}){100}" is not valid: invalid repeat count in "{100}"`},
	} {
		_, err := c.match.Compile()
		require.ErrorContains(t, err, c.want)
		require.EqualError(t, c.match.Check(), err.Error(), "Check and Compile agree")
	}
}

func TestMatchString(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]Match{
		"orders.Create":            Name("orders.Create"),
		`"true"`:                   Name("true"),
		`"a: b"`:                   Name("a: b"),
		`{wildcard: "/search/*"}`:  Wildcard("/search/*"),
		`{regex: "/v[0-9]+/\\w+"}`: Regex(`/v[0-9]+/\w+`),
		"{default: true}":          Default(),
	} {
		require.Equal(t, want, m.String())
	}
	require.Equal(t, "MatchKind(9)", MatchKind(9).String())
}

// naiveWildcard is the definition of a wildcard, by recursion over characters.
func naiveWildcard(pattern, name []rune) bool {
	if len(pattern) == 0 {
		return len(name) == 0
	}
	switch pattern[0] {
	case '*':
		return naiveWildcard(pattern[1:], name) || len(name) > 0 && naiveWildcard(pattern, name[1:])
	case '?':
		return len(name) > 0 && naiveWildcard(pattern[1:], name[1:])
	}
	return len(name) > 0 && name[0] == pattern[0] && naiveWildcard(pattern[1:], name[1:])
}

func TestWildcardModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.RuneFrom([]rune("ab*?é")), 1, 8, -1).Draw(t, "pattern")
		name := rapid.StringOfN(rapid.RuneFrom([]rune("abé")), 0, 12, -1).Draw(t, "name")
		got := mustCompile(t, Wildcard(pattern)).Matches(name)
		if want := naiveWildcard([]rune(pattern), []rune(name)); got != want {
			t.Fatalf("%q on %q: got %v", pattern, name, got)
		}
	})
}

// asRegexp translates a wildcard.
func asRegexp(pattern string) *regexp.Regexp {
	var b strings.Builder
	for _, r := range pattern {
		switch r {
		case '*':
			b.WriteString(".*")
		case '?':
			b.WriteString(".")
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
	}
	return regexp.MustCompile(`(?s)\A` + b.String() + `\z`)
}

// Names may hold any bytes: what is no character counts as one per byte, as it does for the regexp package.
func TestWildcardAgainstRegexp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringOfN(rapid.RuneFrom([]rune("a*?é日")), 1, 8, -1).Draw(t, "pattern")
		name := string(rapid.SliceOfN(rapid.SampledFrom([]byte("aab\xc3\xa9\xe6\x97\xa5\xff")), 0, 12).Draw(t, "name"))
		got := mustCompile(t, Wildcard(pattern)).Matches(name)
		if want := asRegexp(pattern).MatchString(name); got != want {
			t.Fatalf("%q on %q: got %v", pattern, name, got)
		}
	})
}

// A wildcard of many stars on a name that fits almost takes time by their product at most; with backtracking this test would not end.
func TestWildcardNeverExponential(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("a", 10_000)
	require.False(t, mustCompile(t, Wildcard(strings.Repeat("*a", 200)+"*b")).Matches(name))
	require.False(t, mustCompile(t, Wildcard(strings.Repeat("*?a", 200)+"*b*a")).Matches(name))
	require.True(t, mustCompile(t, Wildcard(strings.Repeat("*?", 5_000)+"*")).Matches(name))
}

func TestMatchesAllocatesNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, m := range []Match{
		Name("orders.Create"), Wildcard("/search/*"), Wildcard("*a?c*d"), Regex("/api/v[0-9]+/.*"), Regex(`(a|b)*\w+x`), Default(),
	} {
		c := mustCompile(t, m)
		require.Zero(t, testing.AllocsPerRun(100, func() { c.Matches("/api/v1/abcd") }), m.String())
	}
}

func BenchmarkMatches(b *testing.B) {
	for _, m := range []Match{Name("/search/x"), Wildcard("/search/*"), Wildcard("*/s?arch/*"), Regex("/search/.*")} {
		b.Run(m.Kind().String(), func(b *testing.B) {
			c := mustCompile(b, m)
			for b.Loop() {
				c.Matches("/search/some/longer/path")
			}
		})
	}
}
