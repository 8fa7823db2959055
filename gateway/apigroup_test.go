package gateway

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/adapter/nethttp"
)

// Whenever rules have groups of paths, requests are calls of theirs besides their route's, as clients wrote the path and before a prefix is taken off; an edit of the file is enough.
func TestAPIGroups(t *testing.T) {
	t.Parallel()
	c := Config{OriginHeader: "X-Client", Routes: []Route{
		{Name: "shop", Prefix: "/shop", StripPrefix: true, Upstreams: urls(upstream(t, func(w http.ResponseWriter, r *http.Request) { w.Write([]byte(r.URL.Path)) }))},
		{Name: "rest", Upstreams: urls(upstream(t, says("rest")))},
	}}
	source := writeRules(t, `apiGroup: [{name: orders-api, paths: [{pattern: "/shop/orders/**"}, {exact: /orders}]}, {name: reads, paths: [{regex: "/shop/(orders|search)/.*"}]}]`,
		`flow: [{id: o, resource: orders-api, limit: 3, per: 24h}, {id: s, resource: shop, limit: 5, per: 24h}]`, `authority: [{id: who, resource: reads, deny: [robot]}]`)
	c.Rules = []RuleSource{source}
	g := run(t, c)
	require.Equal(t, answer{200, nil, "/orders/1"}, bodyOf(g.get("/shop/orders/1")))
	require.Equal(t, 200, g.get("/shop/%6Frders/2?x=1").status, "a group is not gone around by escapes")
	require.Equal(t, 200, g.get("/orders").status, "groups are of all routes")
	for range 10 {
		a := g.get("/shop/orders/1")
		require.Equal(t, 429, a.status)
		var p nethttp.Problem
		require.NoError(t, json.Unmarshal([]byte(a.body), &p))
		require.Equal(t, [3]string{"flow", "o", "orders-api"}, [3]string{p.Kind, p.Rule, p.Resource})
	}
	req, err := http.NewRequest("GET", "http://"+g.addr+"/shop/search/x", nil)
	require.NoError(t, err)
	req.Header.Set("X-Client", "robot")
	refused := g.do(req)
	require.Equal(t, 403, refused.status)
	require.Contains(t, refused.body, "refused by an authority rule")
	require.True(t, slices.ContainsFunc(g.Status().Events, func(e Event) bool { return e.Kind == "authority" && e.Origin == "robot" }))
	// The refused ones took nothing from the route's five.
	for range 3 {
		require.Equal(t, 200, g.get("/shop/else").status)
	}
	require.Equal(t, 429, g.get("/shop/else").status)
	require.Empty(t, g.idleRules())
	require.Empty(t, g.idleGroups())
	require.Empty(t, g.originlessRules())

	require.NoError(t, os.WriteFile(source.File, []byte("cordon: 1\nflow: [{id: o, resource: orders-api, limit: 3, per: 24h}]\n"), 0o600))
	g.waitFor(func() bool { return len(g.Engine().Rules().APIGroup) == 0 })
	require.Equal(t, 200, g.get("/shop/orders/1").status)
	require.Equal(t, []string{`flow o (for "orders-api")`}, g.idleRules())
}

func bodyOf(a answer) answer { return answer{a.status, nil, a.body} }

// Groups and rules that can hold for no request are told, as rules for resources that no route has are.
func TestIdleGroupsAreTold(t *testing.T) {
	t.Parallel()
	c := Config{Routes: []Route{{Name: "shop", Prefix: "/shop", Upstreams: urls("http://h")}, {Name: "files", Prefix: "/files/", PathPattern: "/files/{id}", Upstreams: urls("http://h")}}}
	c.Rules = []RuleSource{writeRules(t,
		`apiGroup:`,
		`- {name: fine, paths: [{pattern: "/shop/**"}]}`,
		`- {name: deep, paths: [{pattern: "/never/*"}, {exact: /files/a/b}]}`,
		`- {name: above, paths: [{pattern: "/**"}]}`,
		`- {name: regex, paths: [{regex: "/sh.*"}]}`,
		`- {name: typo, paths: [{pattern: "/shpo/**"}, {exact: /orders}, {regex: "/never/[0-9]+"}]}`,
		`- {name: empty, paths: []}`,
		`flow: [{id: a, resource: fine, limit: 1}, {id: b, resource: nobody, limit: 1}]`,
		`isolation: [{id: i, service: fine}]`,
		`param: [{id: p, resource: deep, param: path.id, limit: 1}]`,
		`authority: [{id: who, resource: shop, allow: [x]}, {id: lost, resource: lost, allow: [x]}]`)}
	s := newSite(t, c)
	require.Equal(t, []string{"apiGroup typo#1 (typo)"}, s.idleGroups())
	require.ElementsMatch(t, []string{`flow b (for "nobody")`, `isolation i (for "fine")`, `authority lost (for "lost")`}, s.idleRules())
	require.Empty(t, s.valuelessRules())
	require.Equal(t, []string{"authority who", "authority lost"}, s.originlessRules())
	w := httptest.NewRecorder()
	s.admin.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	require.Contains(t, w.Body.String(), "no route takes requests of these groups: apiGroup typo#1 (typo)")
	require.Contains(t, w.Body.String(), "requests through the gateway have no origin for these rules: set originHeader, or a route's origin: authority who, authority lost")
	c.Routes[0].Origin = "shop-front"
	require.Empty(t, newSite(t, c).originlessRules())
}
