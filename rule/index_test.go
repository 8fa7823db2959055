package rule

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// ids returns the ids of rules.
func ids(rules []limitRule) []string {
	var out []string
	for _, r := range rules {
		out = append(out, r.ID)
	}
	return out
}

func TestIndexPrecedence(t *testing.T) {
	t.Parallel()
	x := NewIndex([]limitRule{
		{ID: "default", Resource: Default()},
		{ID: "regex1", Resource: Regex("/a.*")},
		{ID: "regex2", Resource: Regex("/ab.*")},
		{ID: "short", Resource: Wildcard("/a/*")},
		{ID: "long", Resource: Wildcard("/a/b*")},
		{ID: "longToo", Resource: Wildcard("/a/*c")},
		{ID: "name", Resource: Name("/a/bc")},
		{ID: "long2", Resource: Wildcard("/a/b*")},
		{ID: "besides", Resource: Wildcard("/a*"), Also: true},
		{ID: "name2", Resource: Name("/a/bc")},
		{ID: "onlyBesides", Resource: Name("/x"), Also: true},
	})
	for name, want := range map[string][]string{
		"/a/bc": {"name", "besides", "name2"},
		"/a/bx": {"long", "long2", "besides"},
		"/a/xc": {"longToo", "besides"},
		"/a/x":  {"short", "besides"},
		"/abc":  {"regex1", "besides"},
		"/x":    {"default", "onlyBesides"},
		"/y":    {"default"},
		"":      {"default"},
	} {
		rules, byName := x.Match(name)
		require.Equal(t, want, ids(rules), name)
		require.Equal(t, name == "/a/bc" || name == "/x", byName, name)
	}
}

// How specific a wildcard is does not depend on how many bytes its characters take.
func TestIndexCountsCharacters(t *testing.T) {
	t.Parallel()
	x := NewIndex([]limitRule{{ID: "first", Resource: Wildcard("x*")}, {ID: "second", Resource: Wildcard("*日")}, {ID: "third", Resource: Wildcard("*日本")}})
	rules, _ := x.Match("x日")
	require.Equal(t, []string{"first"}, ids(rules))
	rules, _ = x.Match("x日本")
	require.Equal(t, []string{"third"}, ids(rules))
}

// A name overrides a wildcard, however small its limit is (faults #9).
func TestIndexNameOverridesWildcard(t *testing.T) {
	t.Parallel()
	x := NewIndex([]limitRule{{ID: "all", Resource: Wildcard("/*"), Limit: 10}, {ID: "one", Resource: Name("/vip"), Limit: 100}})
	rules, byName := x.Match("/vip")
	require.True(t, byName)
	require.Equal(t, []string{"one"}, ids(rules))
	rules, byName = x.Match("/other")
	require.False(t, byName)
	require.Equal(t, []string{"all"}, ids(rules))
}

// A rule by pattern stays one at the next update, and is compiled once (faults #8, #94: not per request, not per name).
func TestIndexUpdateKeepsCompiled(t *testing.T) {
	t.Parallel()
	rules := []limitRule{{ID: "a", Resource: Regex("/api/.*")}, {ID: "b", Resource: Wildcard("/b*")}, {ID: "c", Resource: Regex("/api/.*")}}
	x := NewIndex(rules)
	require.Len(t, x.patterns, 2, "one layer per match")
	edited := slices.Clone(rules)
	edited[0].Limit = 5
	edited = append(edited, limitRule{ID: "d", Resource: Regex("/d.*")})
	y := x.Update(edited)
	require.Same(t, x.patterns[1].matcher.regex, y.patterns[1].matcher.regex)
	require.Same(t, x.patterns[0].matcher.wildcard, y.patterns[0].matcher.wildcard)
	for range 2 {
		found, byName := y.Match("/api/x")
		require.False(t, byName)
		require.Equal(t, []string{"a", "c"}, ids(found))
		y = y.Update(edited)
	}
	found, _ := x.Match("/d1")
	require.Empty(t, found, "the old index stays as it was")
}

func TestIndexEdges(t *testing.T) {
	t.Parallel()
	var none *Index[limitRule]
	rules, byName := none.Match("a")
	require.Nil(t, rules)
	require.False(t, byName)
	require.Nil(t, none.Rules())
	none.Names(func(string) { t.Fatal("a nil index names nothing") })

	given := []limitRule{{ID: "b", Resource: Name("b")}, {ID: "a", Resource: Name("a")}, {ID: "b2", Resource: Name("b")}, {ID: "w", Resource: Wildcard("w*")}}
	x := none.Update(given)
	given[0].ID = "changed"
	require.Equal(t, []string{"b", "a", "b2", "w"}, ids(x.Rules()), "the index has its own copy")
	var names []string
	x.Names(func(name string) { names = append(names, name) })
	require.Equal(t, []string{"b", "a"}, names)

	require.PanicsWithValue(t, `rule: index over an invalid rule (bad): regex "(" is not valid: missing closing ) in "("`, func() {
		NewIndex([]limitRule{{ID: "bad", Resource: Regex("(")}})
	})
	require.Panics(t, func() { NewIndex([]limitRule{{ID: "nameless"}}) })
}

// naiveMatch is the definition of precedence, rule by rule.
func naiveMatch(rules []limitRule, name string) (found []limitRule, byName bool) {
	matches := func(r limitRule) bool {
		m, _ := r.Resource.Compile()
		return m.Matches(name)
	}
	best := -1
	for i, r := range rules {
		if !matches(r) || r.Also {
			continue
		}
		if best < 0 || moreSpecific(r.Resource, rules[best].Resource) {
			best = i
		}
	}
	for _, r := range rules {
		if matches(r) && (r.Also || r.Resource == rules[best].Resource) {
			found = append(found, r)
			byName = byName || r.Resource.Kind() == ByName
		}
	}
	return found, byName
}

// moreSpecific compares two matches of which the second is written first.
func moreSpecific(a, b Match) bool {
	if a.Kind() != b.Kind() {
		return a.Kind() < b.Kind()
	}
	return a.Kind() == ByWildcard && utf8.RuneCountInString(a.Pattern()) > utf8.RuneCountInString(b.Pattern())
}

func drawRules(t *rapid.T) []limitRule {
	name := rapid.SampledFrom([]string{"a", "b", "ab", "aé"})
	match := rapid.OneOf(
		rapid.Map(name, Name),
		rapid.Map(rapid.SampledFrom([]string{"*", "a*", "*b", "??", "é*", "a?"}), Wildcard),
		rapid.Map(rapid.SampledFrom([]string{"a.*", "a|b", ".", "[ab]+"}), Regex),
		rapid.Just(Default()),
	)
	rules := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) limitRule {
		return limitRule{Resource: match.Draw(t, "match"), Also: rapid.IntRange(0, 3).Draw(t, "also") == 0}
	}), 0, 12).Draw(t, "rules")
	for i := range rules {
		rules[i].ID = fmt.Sprint("r", i)
	}
	return rules
}

func TestIndexModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := NewIndex(drawRules(t))
		rules := drawRules(t)
		x = x.Update(rules)
		for _, name := range []string{"a", "b", "ab", "aé", "é", "", "zz"} {
			got, byName := x.Match(name)
			want, wantByName := naiveMatch(rules, name)
			if !slices.Equal(ids(got), ids(want)) || byName != wantByName {
				t.Fatalf("%q: got %v %v, want %v %v", name, ids(got), byName, ids(want), wantByName)
			}
		}
	})
}

func TestIndexConcurrentSafe(t *testing.T) {
	t.Parallel()
	x := NewIndex([]limitRule{{ID: "a", Resource: Regex("a+")}, {ID: "b", Resource: Name("b")}, {ID: "w", Resource: Wildcard("*c?"), Also: true}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				if rules, _ := x.Match("aaa"); len(rules) != 1 {
					panic("no rule for aaa")
				}
				if y := x.Update(x.Rules()[:2]); len(y.Rules()) != 2 {
					panic("an update lost rules")
				}
			}
		})
	}
	wg.Wait()
}

// manyRules returns n rules by name and a few hundred by wildcard.
func manyRules(n int) []limitRule {
	rules := make([]limitRule, 0, n+300)
	for i := range n {
		rules = append(rules, limitRule{ID: fmt.Sprint("id", i), Resource: Name(fmt.Sprint("service.Method.", i)), Limit: float64(i)})
	}
	for i := range 300 {
		rules = append(rules, limitRule{ID: fmt.Sprint("w", i), Resource: Wildcard(fmt.Sprint("/path", i, "/*"))})
	}
	return rules
}

func BenchmarkIndex(b *testing.B) {
	rules := manyRules(10_000)
	x := NewIndex(rules)
	b.Run("New", func(b *testing.B) {
		for b.Loop() {
			NewIndex(rules)
		}
	})
	b.Run("Update", func(b *testing.B) {
		for b.Loop() {
			x.Update(rules)
		}
	})
	b.Run("MatchByName", func(b *testing.B) {
		for b.Loop() {
			x.Match("service.Method.5000")
		}
	})
	b.Run("MatchByLastWildcard", func(b *testing.B) {
		for b.Loop() {
			x.Match("/path1/x")
		}
	})
}
