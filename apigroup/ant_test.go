package apigroup

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func mustAnt(t require.TestingT, pattern string) *ant {
	a, err := newAnt(pattern)
	require.NoError(t, err, pattern)
	return a
}

// matchesAll reports whether the pattern matches the path, as a group that has nothing else would say.
func matchesAll(t require.TestingT, pattern, path string) bool {
	got := mustAnt(t, pattern).matches(path)
	s, err := NewSet([]Group{{Name: "g", Paths: []Path{{Pattern: pattern}}}})
	require.NoError(t, err)
	if isPattern(pattern) {
		require.Equal(t, got, len(s.Match(nil, path)) == 1, "the index finds what matches: %q on %q", pattern, path)
	}
	return got
}

func TestAnt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"/foo/**", []string{"/foo", "/foo/", "/foo/bar", "/foo/bar/baz/", "/foo//bar", "//foo/bar"}, []string{"/foobar", "/", "foo/bar", "/Foo", ""}},
		{"/foo/*", []string{"/foo/bar", "/foo/", "//foo//bar"}, []string{"/foo", "/foo/bar/", "/foo/bar/baz", "foo/bar"}},
		{"/foo/*/", []string{"/foo/bar/", "/foo/"}, []string{"/foo/bar", "/foo"}},
		{"/foo/b?r", []string{"/foo/bar", "/foo/b日r", "//foo/bar", "/foo//bar"}, []string{"/foo/br", "/foo/bar/", "/foo/baar"}},
		{"/foo/b*r", []string{"/foo/br", "/foo/bar", "/foo/b--r"}, []string{"/foo/b", "/foo/b/r"}},
		{"/**", []string{"/", "/a", "/a/b/", "//"}, []string{"", "a"}},
		{"**", []string{"", "a", "a/b"}, []string{"/a"}},
		{"/*", []string{"/", "/a", "//a"}, []string{"/a/", "/a/b", ""}},
		{"/**/bar", []string{"/bar", "/foo/bar", "/a/b/bar", "/bar/bar"}, []string{"/foo/bar/", "/bar/foo", "/foobar"}},
		{"/**/bar/", []string{"/foo/bar/", "/bar/"}, []string{"/foo/bar"}},
		{"/foo/**/bar", []string{"/foo/bar", "/foo/a/bar", "/foo/a/b/bar", "/foo/bar/bar"}, []string{"/foo", "/bar", "/foobar", "/foo/bar/a", "/foo/a/bar/"}},
		{"/a/**/b/**/c", []string{"/a/b/c", "/a/x/b/y/c", "/a/b/b/c"}, []string{"/a/c", "/a/b", "/a/c/b"}},
		{"/a/**/b/c/**", []string{"/a/b/c", "/a/b/b/c/d", "/a/b/x/b/c"}, []string{"/a/b/x/c"}},
		{"/a/**/**/b", []string{"/a/b", "/a/x/b"}, []string{"/a"}},
		{"/a/**/*", []string{"/a/b", "/a/b/c"}, []string{"/a", "/a/", "/a/b/"}},
		{"/a**b/x", []string{"/ab/x", "/a--b/x"}, []string{"/a/b/x"}},
		{"/foo//b*r", []string{"/foo/bar", "/foo//bar"}, []string{"/foobar"}},
		{"//foo/b*", []string{"/foo/bar"}, nil},
		{"/users/{id}", []string{"/users/1", "/users/"}[:1], []string{"/users", "/users/1/x", "/users/"}},
		{"/users/{id}/cart-{n}x", []string{"/users/1/cart-x", "/users/1/cart-7x"}, []string{"/users/1/cart-7"}},
		{"/users/{id:[0-9]+}/**", []string{"/users/1", "/users/12/x"}, []string{"/users/a", "/users/"}},
		{"/v{major:[0-9]+}.{minor}?/*", []string{"/v1.2x/a"}, []string{"/vx.2x/a", "/v1./a"}},
		{"/{a/b*}", []string{"/{a/b}", "/{a/bc}"}, []string{"/a/bc}"}},
		{"orders/**", []string{"orders/1"}, []string{"/orders/1"}},
	} {
		for _, path := range c.yes {
			require.True(t, matchesAll(t, c.pattern, path), "%q on %q", c.pattern, path)
		}
		for _, path := range c.no {
			require.False(t, matchesAll(t, c.pattern, path), "%q on %q", c.pattern, path)
		}
	}
	for _, bad := range []string{"/a/{x:(}", "/a/{x:a)|(b}", "/a/{x:(?=b)}"} {
		_, err := newAnt(bad)
		require.Error(t, err, bad)
	}
}

// segments are the parts of a path, as patterns see them.
func segments(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(s string) bool { return s == "" })
}

// naiveSegments is what a pattern means for a path's segments, by recursion.
func naiveSegments(pattern, path []string) bool {
	switch {
	case len(pattern) == 0:
		return len(path) == 0
	case pattern[0] == "**":
		return naiveSegments(pattern[1:], path) || len(path) > 0 && naiveSegments(pattern, path[1:])
	}
	return len(path) > 0 && naiveSegment(pattern[0], path[0]) && naiveSegments(pattern[1:], path[1:])
}

func naiveSegment(pattern, name string) bool {
	expr := strings.NewReplacer(`\{n:\[a-b\]\+\}`, `[a-b]+`, `\{n\}`, `.*`, `\*`, `.*`, `\?`, `.`).Replace(regexp.QuoteMeta(pattern))
	return regexp.MustCompile(`(?s)\A` + expr + `\z`).MatchString(name)
}

// naiveAnt is what a pattern means, said as plainly as it can be.
func naiveAnt(pattern, path string) bool {
	if strings.HasPrefix(pattern, "/") != strings.HasPrefix(path, "/") {
		return false
	}
	closed := strings.HasSuffix(path, "/")
	p, names := segments(pattern), segments(path)
	if n := len(p) - 1; n >= 0 && p[n] == "*" && closed && !slices.Contains(p, "**") && naiveSegments(p[:n], names) {
		return true // the slash stands for the segment
	}
	if n := len(p) - 1; (n < 0 || p[n] != "**") && strings.HasSuffix(pattern, "/") != closed {
		return false
	}
	return naiveSegments(p, names)
}

func TestAntModel(t *testing.T) {
	t.Parallel()
	part := rapid.SampledFrom([]string{"/", "/", "/", "//", "a", "b", "ab", "?", "*", "**", "/**/", "{n}", "{n:[a-b]+}"})
	step := rapid.SampledFrom([]string{"/", "/", "/", "//", "a", "b", "ab", "ba", "é"})
	rapid.Check(t, func(t *rapid.T) {
		pattern := strings.Join(rapid.SliceOfN(part, 1, 9).Draw(t, "pattern"), "")
		for range 10 {
			path := strings.Join(rapid.SliceOfN(step, 0, 9).Draw(t, "path"), "")
			if got := matchesAll(t, pattern, path); got != naiveAnt(pattern, path) {
				t.Fatalf("%q on %q: got %v", pattern, path, got)
			}
		}
	})
}

// FuzzAnt: any pattern that compiles matches what the plain reading of it says, and is found by how it begins.
func FuzzAnt(f *testing.F) {
	for _, c := range [][2]string{{"/foo/**", "/foo"}, {"/**/a?/*", "/x/ab/c"}, {"/a/**/b/**/c", "/a/b/b/c/"}, {"//a*/", "/ab/"}, {"/*", "/"}} {
		f.Add(c[0], c[1])
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		if strings.ContainsAny(pattern, "{}\\") || len(pattern) > 60 || len(path) > 100 || len(Path{Pattern: pattern}.faults()) > 0 {
			return
		}
		require.Equal(t, naiveAnt(pattern, path), matchesAll(t, pattern, path), "%q on %q", pattern, path)
	})
}

// Many ** in a pattern and a path that fits almost take time by their product at most; with backtracking this would not end.
func TestAntNeverExponential(t *testing.T) {
	t.Parallel()
	path := strings.Repeat("/a", 20_000)
	require.False(t, mustAnt(t, strings.Repeat("/**/a", 150)+"/**/b").matches(path))
	require.False(t, mustAnt(t, strings.Repeat("/**/a/a", 100)+"/**/a/b/**").matches(path))
	require.True(t, mustAnt(t, strings.Repeat("/**/a", 150)).matches(path))
	require.False(t, mustAnt(t, "/"+strings.Repeat("*a", 300)+"*b").matches("/"+strings.Repeat("a", 20_000)))
}
