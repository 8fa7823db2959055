package gateway

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

// perValue lets one call of each value of "r" pass, and never another in a test's time.
func perValue(params ...string) Option {
	var rules cordon.Rules
	for i, p := range params {
		rules.Param = append(rules.Param, paramflow.Rule{ID: fmt.Sprint("param-", i), Resource: rule.Name("r"), Param: p, Limit: 1, Per: day})
	}
	return WithEngine(cordon.WithRules(rules))
}

// ask makes a request that a test may change before it is sent, and returns the answer.
func (r *running) ask(method, path, body string, change func(*http.Request)) answer {
	r.t.Helper()
	req, err := http.NewRequest(method, "http://"+r.addr+path, strings.NewReader(body))
	require.NoError(r.t, err)
	if change != nil {
		change(req)
	}
	return r.do(req)
}

// Whatever a rule looks at in a request, each value has its own limit, the upstream sees all of the request, and the admin address shows the hottest values.
func TestParams(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		param  string
		ask    func(g *running, value string) answer
		values []string
	}{
		{param: `header["X-Tenant"]`, ask: func(g *running, v string) answer {
			return g.ask("GET", "/shop/1", "", func(r *http.Request) { r.Header.Set("X-Tenant", v) })
		}},
		{param: `query.uid`, ask: func(g *running, v string) answer { return g.get("/shop/1?uid=" + v) }},
		{param: `cookie.sid`, ask: func(g *running, v string) answer {
			return g.ask("GET", "/shop/1", "", func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "sid", Value: v}) })
		}},
		{param: `path.id`, ask: func(g *running, v string) answer { return g.get("/shop/" + v + "/items") }},
		{param: `client.ip`, ask: func(g *running, v string) answer {
			return g.ask("GET", "/shop/1", "", func(r *http.Request) { r.Header["X-Forwarded-For"] = []string{"6.6.6.6, " + v} })
		}, values: []string{"192.0.2.1", "192.0.2.2"}},
		{param: `body.user.id`, ask: func(g *running, v string) answer {
			return g.ask("POST", "/shop/1", `{"user":{"id":"`+v+`"}}`, func(r *http.Request) { r.Header.Set("Content-Type", "application/json") })
		}},
		{param: `method + query.uid`, ask: func(g *running, v string) answer {
			return g.get("/shop/1?uid=" + strings.TrimPrefix(v, "GET|"))
		}, values: []string{"GET|7", "GET|8"}},
	} {
		t.Run(tt.param, func(t *testing.T) {
			t.Parallel()
			c := oneRoute(upstream(t, seen))
			c.Routes[0].PathPattern, c.Routes[0].Prefix = "/shop/{id}", "/shop"
			c.TrustedProxies = []string{"127.0.0.0/8", "::1"}
			g := run(t, c, perValue(tt.param))
			values := tt.values
			if values == nil {
				values = []string{"acme", "102"}
			}
			for _, v := range values {
				s := sightOf(t, tt.ask(g, v))
				if strings.HasPrefix(tt.param, "body") {
					require.Equal(t, `{"user":{"id":"`+v+`"}}`, s.Body)
				}
				for range 2 {
					a := tt.ask(g, v)
					require.Equal(t, 429, a.status)
					require.Equal(t, "param", a.header.Get("Cordon-Refused"))
					require.NotEmpty(t, a.header.Get("Retry-After"))
					require.Contains(t, a.body, `"rule":"param-0"`)
				}
			}
			e := g.refused(g.Status())
			require.Equal(t, [3]any{"param", "param-0", int64(2 * len(values))}, [3]any{e.Kind, e.Rule, e.Count})

			var status Status
			require.NoError(t, json.Unmarshal([]byte(g.adminGet("/").body), &status))
			param := status.Engine.Resources[0].Rules[0].Param
			require.NotNil(t, param)
			var shown []string
			for _, v := range param.Top {
				require.Equal(t, [2]int64{1, 2}, [2]int64{v.Passed, v.Refused})
				shown = append(shown, v.Value)
			}
			require.ElementsMatch(t, values, shown)
		})
	}
}

// The bound of what a rule looks at is not the bound of what may be sent, either way round.
func TestParamBodyBytes(t *testing.T) {
	t.Parallel()
	isJSON := func(known bool) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Set("Content-Type", "application/json")
			if !known {
				r.ContentLength = -1
			}
		}
	}
	body := func(id, size int) string {
		return fmt.Sprintf(`{"id":%d,"text":"%s"}`, id, strings.Repeat("x", size-len(fmt.Sprintf(`{"id":%d,"text":""}`, id))))
	}
	for _, known := range []bool{true, false} {
		c := oneRoute(upstream(t, seen))
		c.Limits.ParamBodyBytes, c.Limits.BodyBytes = 1000, 100_000
		g := run(t, c, perValue("body.id"))
		for i, want := range []int{200, 429} {
			require.Equal(t, want, g.ask("POST", "/", body(1, 1000), isJSON(known)).status, i)
		}
		for range 2 { // too long to be looked at
			require.Equal(t, body(2, 1001), sightOf(t, g.ask("POST", "/", body(2, 1001), isJSON(known))).Body)
		}
		require.Equal(t, 413, g.ask("POST", "/", body(3, 100_001), isJSON(known)).status)

		c.Limits.ParamBodyBytes, c.Limits.BodyBytes = 0, 500
		g = run(t, c, perValue("body.id"))
		require.Equal(t, 200, g.ask("POST", "/", body(4, 500), isJSON(known)).status)
		require.Equal(t, 429, g.ask("POST", "/", body(4, 500), isJSON(known)).status)
		for range 2 {
			require.Equal(t, 413, g.ask("POST", "/", body(5, 501), isJSON(known)).status)
		}
	}
}

// What a client sends in bad faith is its own affair: no fault, no failure of the upstream's.
func TestParamBodiesInBadFaith(t *testing.T) {
	t.Parallel()
	g := run(t, oneRoute(upstream(t, seen)), perValue("body.id"))
	for _, body := range []string{"", "{", "null", "[]", `{"id":`, `{"id":{}}`, "\xff", strings.Repeat("[", 2000)} {
		for range 2 {
			a := g.ask("POST", "/", body, func(r *http.Request) { r.Header.Set("Content-Type", "application/json") })
			require.Equal(t, strings.ToValidUTF8(body, "\ufffd"), sightOf(t, a).Body)
		}
	}
	status := g.Status()
	require.Zero(t, status.Engine.Resources[0].Rules[0].Param.Faults)
	require.EqualValues(t, 16, status.Engine.Resources[0].Rules[0].Param.Absent)
	g.ends(counts{passed: 16, succeeded: 16})
}

// A client that streams is served as it sends, unless a rule has to see the body first.
func TestStreamsWithParams(t *testing.T) {
	t.Parallel()
	var first atomic.Int64
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		one := make([]byte, 1)
		_, _ = io.ReadFull(r.Body, one)
		first.Add(1)
		_, _ = io.Copy(w, r.Body)
	})
	g := run(t, oneRoute(up), perValue("body.id", `header["X-Tenant"]`))
	in, out := io.Pipe()
	r, err := http.NewRequest("POST", "http://"+g.addr+"/", in)
	require.NoError(t, err)
	done := make(chan answer, 1)
	go func() { done <- g.do(r) }()
	_, err = io.WriteString(out, "a")
	require.NoError(t, err)
	g.waitFor(func() bool { return first.Load() == 1 }) // it has no type that is JSON
	_, err = io.WriteString(out, "bc")
	require.NoError(t, err)
	require.NoError(t, out.Close())
	require.Equal(t, "bc", (<-done).body)
}

func TestTrustedProxies(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		trusted []string
		want    string
	}{{[]string{"127.0.0.1"}, "1.1.1.1, 127.0.0.1"}, {[]string{"::ffff:127.0.0.0/104"}, "127.0.0.1"}, {[]string{"10.0.0.0/8"}, "127.0.0.1"}, {nil, "127.0.0.1"}} {
		c := oneRoute(upstream(t, seen))
		c.TrustedProxies = tt.trusted
		g := run(t, c)
		s := sightOf(t, g.ask("GET", "/", "", func(r *http.Request) { r.Header.Set("X-Forwarded-For", "1.1.1.1") }))
		require.Equal(t, tt.want, s.Header.Get("X-Forwarded-For"), tt.trusted)
	}
}

// Rules that can have no value here are told of: the gateway has no arguments, and names of a path's segments only where a route gives them.
func TestValuelessRules(t *testing.T) {
	t.Parallel()
	c := Config{Routes: []Route{
		{Name: "r", Upstreams: urls("http://h")},
		{Name: "named", Prefix: "/n", PathPattern: "/n/{id}", Upstreams: urls("http://h")},
	}}
	var rules cordon.Rules
	for i, p := range []string{"arg[0].id", "path.id", "query.arg", `header["path"]`, `method + meta.x`, "value.x", "body"} {
		rules.Param = append(rules.Param, paramflow.Rule{ID: fmt.Sprint("p", i), Resource: rule.Name("r"), Param: p, Limit: 1})
	}
	rules.Param = append(rules.Param, paramflow.Rule{ID: "p7", Resource: rule.Wildcard("n*"), Param: "path.id", Limit: 1})
	rules.Param = append(rules.Param, paramflow.Rule{ID: "p8", Resource: rule.Name("nowhere"), Param: "query.x", Limit: 1})
	g := newSite(t, c)
	g.Engine().Apply(rules)
	g.clk.Advance(adviseAfter)
	var warnings []string
	for _, e := range g.Status().Events {
		if e.What == "warning" {
			warnings = append(warnings, e.Text)
		}
	}
	require.ElementsMatch(t, []string{
		`no route has the resource of these rules: param p8 (for "nowhere")`,
		"requests through the gateway have no value for these rules: param p0 (arg[0].id), param p1 (path.id), param p4 (method + meta.x), param p5 (value.x)",
	}, warnings)
}

func TestCrowdedRulesAreEvents(t *testing.T) {
	t.Parallel()
	e := newEvents(clock.NewManual(), nil)
	e.param(cordon.ParamEvent{Resource: "r", RuleID: "p", Crowded: true, Pressure: .71})
	e.param(cordon.ParamEvent{Resource: "r", RuleID: "p", Pressure: .4, Shadow: true})
	list := e.list()
	require.Len(t, list, 2)
	for _, ev := range list {
		require.Equal(t, [4]string{"crowded", "param", "p", "r"}, [4]string{ev.What, ev.Kind, ev.Rule, ev.Resource})
	}
	require.Contains(t, list[0].Text+list[1].Text, "pressure 0.71")
	require.Contains(t, list[0].Text+list[1].Text, "no longer crowded")
}

func TestParamConfigFaults(t *testing.T) {
	t.Parallel()
	_, err := Parse("gateway.yaml", []byte(`trustedProxies: [10.0.0.0/8, 10.1.0.0/8, proxy, "fe80::1%eth0", 1.2.3.4/33, ""]
limits: {paramBodyBytes: -1}
routes:
  - name: a
    prefix: /a
    pathPattern: /b/{id}
    upstreams: [http://h]
  - {name: b, prefix: /b, pathPattern: "/b/{id}", upstreams: [http://h]}
  - {name: c, prefix: /c, pathPattern: "/{any}/{id}/", upstreams: [http://h]}
  - {name: d, prefix: /d/e, pathPattern: "/d/{rest...}", upstreams: [http://h]}
`))
	require.Error(t, err)
	text := err.Error()
	for _, want := range []string{
		"1:30", "bits beyond its prefix, which is 10.0.0.0/8", `"proxy" is no prefix`, `"fe80::1%eth0"`, `"1.2.3.4/33"`,
		"limits.paramBodyBytes", "1 to 1073741824 bytes", "6:18", `"/b/{id}" fits no path below /a`, `routes[2].pathPattern`,
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "routes[1]")
	require.NotContains(t, text, "routes[3]")
	var count int
	for range strings.SplitSeq(text, "trustedProxies[") {
		count++
	}
	require.Equal(t, 5, count-1, text)
}
