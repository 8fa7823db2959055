package apigroup

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/rule"
)

func allFields() Group {
	return Group{ID: "r", Name: "orders", Paths: []Path{{Exact: "/a", Pattern: "/b/**", Regex: "/c.*"}}}
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
	for i := range reflect.TypeFor[Path]().NumField() {
		other := allFields()
		reflect.ValueOf(&other.Paths[0]).Elem().Field(i).SetZero()
		require.False(t, full.Equal(other))
	}
	require.Equal(t, rule.Meta{ID: "r", Resource: rule.Name("orders")}, full.Meta())
	require.Equal(t, "x", full.WithID("x").ID)
	n, err := rule.Encode(full)
	require.NoError(t, err)
	var back Group
	require.Empty(t, rule.Decode(n, &back, ""))
	require.Equal(t, full, back)
}

func text(problems []rule.Problem) string {
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.Error())
	}
	return strings.Join(lines, "\n")
}

func TestProblems(t *testing.T) {
	t.Parallel()
	fine := []Path{{Exact: "/a"}, {Pattern: "/a/**"}, {Pattern: "/**"}, {Regex: "/a|/b"}, {Regex: ".*"}, {Pattern: "/u/{id}"}, {Exact: "/%E6%97%A5"}}
	require.Empty(t, Group{Name: "g", Paths: fine}.Problems())
	require.Empty(t, many(1, 10_000, func(i int) Path { return Path{Exact: fmt.Sprintf("/%d", i)} })[0].Problems())
	for _, c := range []struct {
		group Group
		want  string
	}{
		{Group{Paths: fine}, "name: is missing: a group must have a name; want the resource that its calls count on"},
		{Group{Name: strings.Repeat("x", 1001), Paths: fine}, "name: is 1001 bytes long; want at most 1000 bytes"},
		{Group{Name: "g"}, "warning: paths: is empty: no request is of the group; want the paths of its requests, such as {pattern: /orders/**}"},
		{Group{Name: "g", Paths: make([]Path, 10_001)}, "paths: are 10001: too many to be kept; want at most 10000"},
		{Group{Name: "g", Paths: []Path{{}}}, "paths[0]: says no path; want one of exact, pattern and regex"},
		{Group{Name: "g", Paths: []Path{{Exact: "/a", Regex: "/b"}}}, "paths[0]: has 2 of exact, pattern and regex; want one of exact, pattern and regex"},
		{Group{Name: "g", Paths: []Path{{Exact: "/" + strings.Repeat("x", 1000)}}}, "paths[0].exact: is 1001 bytes long; want at most 1000 bytes"},
		{Group{Name: "g", Paths: []Path{{Pattern: "/\xff*"}}}, `paths[0].pattern: pattern "/\xff*" is not valid UTF-8`},
		{Group{Name: "g", Paths: []Path{{Regex: "/a("}}}, `paths[0].regex: regex "/a(" is not valid: missing closing ) in "/a("`},
		{Group{Name: "g", Paths: []Path{{Regex: "/a(?=b)"}}}, `paths[0].regex: regex "/a(?=b)" is not valid: invalid or unsupported Perl syntax in "(?="`},
		{Group{Name: "g", Paths: []Path{{Pattern: "/a/{x:(}"}}}, `paths[0].pattern: regex "(" is not valid: missing closing ) in "("`},
		{Group{Name: "g", Paths: []Path{{Exact: "/a"}, {Exact: "/a"}}}, "warning: paths[1]: is the same as paths[0]; want each path once"},
		{Group{Name: "g", Paths: []Path{{Exact: "a"}}}, `warning: paths[0].exact: matches no request: paths begin with a slash, "a" does not; want "/a"`},
		{Group{Name: "g", Paths: []Path{{Pattern: "a/**"}}}, `warning: paths[0].pattern: matches no request: paths begin with a slash, "a/**" does not; want "/a/**"`},
		{Group{Name: "g", Paths: []Path{{Regex: "a.*"}}}, `warning: paths[0].regex: matches no request: paths begin with a slash, what "a.*" matches does not; want "/a.*"`},
		{Group{Name: "g", Paths: []Path{{Exact: "/a?b=1"}}}, `warning: paths[0].exact: matches no request: paths are compared without query, "/a?b=1" has one; want "/a"`},
		{Group{Name: "g", Paths: []Path{{Exact: "/日"}}}, `warning: paths[0].exact: matches no request: clients write characters such as those in "/日" as escapes; want the path as clients write it`},
		{Group{Name: "g", Paths: []Path{{Pattern: "/a/"}}}, `warning: paths[0].pattern: has no ?, * or **: "/a/" matches only itself; want "/a/**" for all that is below too, or exact`},
		{many(1, 1001, func(i int) Path { return Path{Pattern: fmt.Sprintf("/*/%d", i)} })[0],
			"paths: have 1001 patterns and regexes that begin with no text of their own: too many to be tried on a request; want at most 1000 of them, and for the rest paths that begin with their own text"},
	} {
		require.Equal(t, c.want, text(c.group.Problems()))
		_, err := NewSet([]Group{c.group})
		require.Equal(t, !strings.HasPrefix(c.want, "warning"), err != nil)
	}
	problems := many(1, 500, func(i int) Path { return Path{Exact: fmt.Sprint(i)} })[0].Problems()
	require.Len(t, problems, maxSlips+1)
	require.Equal(t, "warning: paths: have 490 more that look like slips; want paths that requests have, each once", problems[maxSlips].Error())
}

func TestString(t *testing.T) {
	t.Parallel()
	require.Equal(t, "g: no requests", Group{Name: "g"}.String())
	require.Equal(t, `g: requests for /a, /b/**, regex "/c"`, Group{Name: "g", Paths: []Path{{Exact: "/a"}, {Pattern: "/b/**"}, {Regex: "/c"}}}.String())
	require.Equal(t, "g: requests for /0, /1, /2 and 7 more", Group{Name: "g", Paths: many(1, 10, func(i int) Path { return Path{Exact: fmt.Sprintf("/%d", i)} })[0].Paths}.String())
}

// FuzzGroup: a document is a group, valid or not; a valid one makes a set, is written and read again as the same, and is worded.
func FuzzGroup(f *testing.F) {
	for _, document := range []string{`{name: g, paths: [{exact: /a}, {pattern: "/b/**"}, {regex: "/c[0-9]+"}]}`, `{name: g, paths: [{pattern: "/{a:[0-9]}/*?"}]}`, `name: x`} {
		f.Add([]byte(document), "/a")
	}
	f.Fuzz(func(t *testing.T, document []byte, path string) {
		n, err := rule.ParseYAML(document)
		if err != nil || n == nil || n.Kind != rule.Object {
			return
		}
		var g Group
		if len(rule.Decode(n, &g, "").Faults()) > 0 {
			return
		}
		s, err := NewSet([]Group{g})
		if err != nil {
			return
		}
		again, err := rule.Encode(g)
		require.NoError(t, err)
		var back Group
		require.Empty(t, rule.Decode(again, &back, ""))
		require.True(t, g.Equal(back))
		require.NotEmpty(t, g.String())
		s.Match(nil, path)
	})
}
