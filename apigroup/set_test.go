package apigroup

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cordon-go/cordon/rule"
)

// faults returns the faults of a group with this one path.
func (p Path) faults() rule.Problems {
	return rule.Problems(Group{Name: "g", Paths: []Path{p}}.Problems()).Faults()
}

func newTestSet(t require.TestingT, groups ...Group) *Set {
	s, err := NewSet(groups)
	require.NoError(t, err)
	return s
}

func TestMatch(t *testing.T) {
	t.Parallel()
	s := newTestSet(t,
		Group{Name: "orders", Paths: []Path{{Pattern: "/orders/**"}, {Exact: "/orders"}}},
		Group{Name: "one", Paths: []Path{{Regex: "/orders/[0-9]+"}}},
		Group{Name: "all", Paths: []Path{{Pattern: "/**"}}},
		Group{ID: "again", Name: "one", Paths: []Path{{Exact: "/one"}, {Exact: "/one"}, {Pattern: "/1"}}},
		Group{Name: "none"},
	)
	for path, want := range map[string][]string{
		"/orders":    {"orders", "all"},
		"/orders/7":  {"orders", "one", "all"},
		"/orders/x":  {"orders", "all"},
		"/one":       {"one", "all"},
		"/1":         {"one", "all"},
		"//orders/7": {"orders", "all"},
		"/":          {"all"},
		"":           nil,
		"*":          nil,
	} {
		require.Equal(t, want, s.Match(nil, path), path)
	}
	require.Equal(t, []string{"before", "orders", "all"}, s.Match([]string{"before"}, "/orders"))
	require.Equal(t, []string{"orders", "one", "all", "none"}, s.Names())
	var none *Set
	require.Empty(t, none.Match(nil, "/"))
	require.Empty(t, none.Names())
	_, err := NewSet([]Group{{Name: "x", Paths: []Path{{Regex: "("}}}})
	require.ErrorContains(t, err, `apigroup: "x": paths[0].regex: regex "(" is not valid`)
}

// naiveMatch asks every path of every group.
func naiveMatch(groups []Group, path string) (names []string) {
	for _, g := range groups {
		for _, p := range g.Paths {
			ok := p.Exact == path
			switch {
			case p.Pattern != "" && isPattern(p.Pattern):
				ok = naiveAnt(p.Pattern, path)
			case p.Pattern != "":
				ok = p.Pattern == path
			case p.Regex != "":
				ok = regexp.MustCompile(`\A(?:` + p.Regex + `)\z`).MatchString(path)
			}
			if ok && !slices.Contains(names, g.Name) {
				names = append(names, g.Name)
			}
		}
	}
	// Of groups of one name the place of the first counts.
	slices.SortStableFunc(names, func(a, b string) int {
		at := func(name string) int { return slices.IndexFunc(groups, func(g Group) bool { return g.Name == name }) }
		return at(a) - at(b)
	})
	return names
}

func TestMatchModel(t *testing.T) {
	t.Parallel()
	path := rapid.Custom(func(t *rapid.T) Path {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"/", "/", "a", "b", "/a", "/ab"}), 1, 4).Draw(t, "text"), "")
		switch rapid.IntRange(0, 3).Draw(t, "form") {
		case 0:
			return Path{Exact: text}
		case 1:
			return Path{Regex: text + rapid.SampledFrom([]string{"", ".*", "[ab]", "|/b", "?"}).Draw(t, "regex")}
		}
		return Path{Pattern: text + rapid.SampledFrom([]string{"", "*", "/**", "/*", "?", "/**/b"}).Draw(t, "wildcard")}
	})
	group := rapid.Custom(func(t *rapid.T) Group {
		return Group{Name: rapid.SampledFrom([]string{"g", "h", "i", "j"}).Draw(t, "name"), Paths: rapid.SliceOfN(path, 0, 5).Draw(t, "paths")}
	})
	rapid.Check(t, func(t *rapid.T) {
		var s *Set
		for range rapid.IntRange(1, 3).Draw(t, "edits") {
			groups := rapid.SliceOfN(group, 0, 5).Draw(t, "groups")
			var err error
			s, err = s.Update(groups)
			require.NoError(t, err)
			for range 10 {
				request := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"/", "a", "b", "/a", "/ab"}), 0, 5).Draw(t, "request"), "")
				require.Equal(t, naiveMatch(groups, request), s.Match(nil, request), request)
			}
		}
	})
}

// many returns groups with so many paths in all.
func many(groups, paths int, p func(i int) Path) []Group {
	all := make([]Group, groups)
	for i := range all {
		all[i].Name = fmt.Sprintf("group-%d", i)
		for j := range paths {
			all[i].Paths = append(all[i].Paths, p(i*paths+j))
		}
	}
	return all
}

// Ten thousand paths in a group are no reason to allocate, nor are slashes that are written twice; and of ten thousand patterns only those are tried that begin as the path does.
func TestMatchAllocatesNothing(t *testing.T) {
	s := newTestSet(t, append(many(2, 10_000, func(i int) Path { return Path{Pattern: fmt.Sprintf("/api/v%d/*/x", i)} }),
		Group{Name: "long", Paths: []Path{{Pattern: "/" + strings.Repeat("long", 20) + "/*"}}},
		Group{Name: "exact", Paths: many(1, 10_000, func(i int) Path { return Path{Exact: fmt.Sprintf("/exact/%d", i)} })[0].Paths},
		Group{Name: "regex", Paths: many(1, 1000, func(i int) Path { return Path{Regex: fmt.Sprintf("/r%d/[0-9]+", i)} })[0].Paths},
	)...)
	require.Equal(t, []string{"group-1"}, s.Match(nil, "/api/v10001//7/x"))
	require.Equal(t, []string{"exact"}, s.Match(nil, "/exact/9999"))
	require.Equal(t, []string{"regex"}, s.Match(nil, "/r999/42"))
	tried := 0
	for _, n := range s.patterns.lengths {
		if path := "/api/v10001/7/x"; n <= len(path) {
			tried += len(s.patterns.of[path[:n]])
		}
	}
	require.LessOrEqual(t, tried, 6, "v1, v10, ... v10001")
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	dst := make([]string, 0, 8)
	for _, path := range []string{"/api/v10001/7/x", "/api//v10001/7/x", "/exact/9999", "/r999/42", "/nothing/of/all", "//nothing//of/all", "/" + strings.Repeat("x", 400), "/" + strings.Repeat("long", 20) + "//x"} {
		require.Zero(t, testing.AllocsPerRun(100, func() { s.Match(dst, path) }), path)
	}
}

// More groups than are kept on the stack are found too.
func TestMatchManyGroups(t *testing.T) {
	t.Parallel()
	groups := many(200, 3, func(i int) Path { return []Path{{Pattern: "/**"}, {Regex: ".*"}, {Exact: "/x"}}[i%3] })
	s := newTestSet(t, groups...)
	require.Equal(t, naiveMatch(groups, "/x"), s.Match(nil, "/x"))
	require.Len(t, s.Match(nil, "/x"), 200)
}

// An edit compiles nothing again that stays.
func TestUpdateTakesOver(t *testing.T) {
	t.Parallel()
	groups := []Group{{Name: "a", Paths: []Path{{Pattern: "/a/**"}}}, {Name: "b", Paths: []Path{{Regex: "/b+"}}}}
	s := newTestSet(t, groups...)
	again, err := s.Update([]Group{{Name: "c", Paths: []Path{{Exact: "/c"}}}, {Name: "b2", Paths: []Path{{Regex: "/b+"}, {Pattern: "/a/**"}}}})
	require.NoError(t, err)
	require.Same(t, s.matchers[0].ant, again.matchers[1].ant)
	require.Equal(t, []string{"b2"}, again.Match(nil, "/bb"))
	require.Equal(t, []string{"a"}, s.Match(nil, "/a"), "the set of before stays as it is")
	_, err = s.Update([]Group{groups[0], {Name: ""}})
	require.Error(t, err)
}

func BenchmarkMatch(b *testing.B) {
	s := newTestSet(b, append(many(10, 1000, func(i int) Path { return Path{Pattern: fmt.Sprintf("/service-%d/**", i)} }), many(10, 1000, func(i int) Path { return Path{Exact: fmt.Sprintf("/exact/%d", i)} })...)...)
	few := newTestSet(b, Group{Name: "orders", Paths: []Path{{Pattern: "/orders/**"}}})
	dst := make([]string, 0, 8)
	for name, c := range map[string]struct {
		set  *Set
		path string
	}{"one, no match": {few, "/search"}, "one, match": {few, "/orders/7"}, "20000, no match": {s, "/search/7"}, "20000, match": {s, "/service-7777/orders/7"}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c.set.Match(dst, c.path)
			}
		})
	}
}

func ExampleSet() {
	set, err := NewSet([]Group{
		{Name: "orders-api", Paths: []Path{{Pattern: "/orders/**"}, {Regex: "/v[0-9]+/orders"}}},
		{Name: "reads", Paths: []Path{{Exact: "/orders/recent"}, {Exact: "/search"}}},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(set.Match(nil, "/orders/recent"), set.Match(nil, "/v2/orders"), set.Match(nil, "/cart"))
	// Output: [orders-api reads] [orders-api] []
}
