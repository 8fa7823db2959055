package cordon

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/apigroup"
)

func pathGroup(name, pattern string) apigroup.Group {
	return apigroup.Group{Name: name, Paths: []apigroup.Path{{Pattern: pattern}}}
}

func TestAPIGroups(t *testing.T) {
	e, _ := newTest(t, Rules{})
	require.Empty(t, e.APIGroups(nil, "/orders/1"))
	groups := Rules{APIGroup: []apigroup.Group{pathGroup("orders", "/orders/**"), pathGroup("all", "/**")}}
	apply(t, e, groups)
	groups.APIGroup[0].Paths[0].Pattern = "/never" // the caller may go on using it
	require.Equal(t, []string{"orders", "all"}, e.APIGroups(nil, "/orders/1"))
	require.Equal(t, []string{"x", "all"}, e.APIGroups([]string{"x"}, "/search"))
	require.Equal(t, "orders#1", e.Rules().APIGroup[0].ID)
	require.Equal(t, 2, e.Snapshot().Rules["apiGroup"])

	rep := apply(t, e, Rules{APIGroup: []apigroup.Group{pathGroup("orders", "/orders/*"), pathGroup("all", "/**")}})
	require.Len(t, rep.Changed, 1)
	require.Equal(t, []string{"all"}, e.APIGroups(nil, "/orders/1/2"))
	before := e.set.Load().apiGroups
	rules := e.Rules()
	rules.Flow = flowRules(limit("f", "orders", 1)).Flow
	apply(t, e, rules)
	require.Same(t, before, e.set.Load().apiGroups, "an edit of other kinds makes nothing anew")

	_, err := e.Apply(Rules{APIGroup: []apigroup.Group{{Name: "bad", Paths: []apigroup.Path{{Regex: "("}}}}})
	require.ErrorContains(t, err, `apiGroup[0] (bad#1): paths[0].regex: regex "(" is not valid`)
	require.Equal(t, []string{"all"}, e.APIGroups(nil, "/x"), "the last good groups stay")
	apply(t, e, Rules{})
	require.Empty(t, e.APIGroups(nil, "/x"))
	apply(t, e, Rules{APIGroup: []apigroup.Group{pathGroup("all", "/**")}})
	require.NoError(t, e.Close())
	require.Empty(t, e.APIGroups(nil, "/x"))
}

func TestAPIGroupsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	e, _ := newTest(t, Rules{})
	dst := make([]string, 0, 4)
	require.Zero(t, testing.AllocsPerRun(100, func() { e.APIGroups(dst, "/orders/1") }))
	var groups []apigroup.Group
	for i := range 1000 {
		groups = append(groups, pathGroup(fmt.Sprintf("g%d", i), fmt.Sprintf("/service-%d/**", i)))
	}
	apply(t, e, Rules{APIGroup: groups})
	for _, path := range []string{"/service-999/x", "/nothing"} {
		require.Zero(t, testing.AllocsPerRun(100, func() { e.APIGroups(dst, path) }), path)
	}
}
