package nethttp_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/apigroup"
	"github.com/cordon-go/cordon/authority"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/system"
)

func pathGroup(name string, patterns ...string) apigroup.Group {
	g := apigroup.Group{Name: name}
	for _, p := range patterns {
		g.Paths = append(g.Paths, apigroup.Path{Pattern: p})
	}
	return g
}

// twoGroups are two groups, of which all requests for orders are, with a limit of the second.
func twoGroups(limit float64) cordon.Rules {
	rules := perDay("orders-api", limit)
	rules.APIGroup = []apigroup.Group{pathGroup("all", "/**"), pathGroup("orders-api", "/orders/**"), pathGroup("search-api", "/search/**")}
	return rules
}

func serve(h http.Handler, target string) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest("GET", target, nil))
	return rec
}

// A request is a call of its own resource and of each of its groups, which end alike; and one that a group refuses is no call of any.
func TestAPIGroups(t *testing.T) {
	t.Parallel()
	rules := twoGroups(2)
	rules.Concurrency = atOnce("route", 1).Concurrency
	rules.Flow = append(rules.Flow, flow.Rule{ID: "route", Resource: rule.Name("route"), Limit: 3, Per: day})
	eng := newEngine(t, rules)
	fail := false
	h := nethttp.Middleware(eng, named("route"), nethttp.WithAPIGroups())(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"route", "all", "orders-api"} {
			require.EqualValues(t, 1, countsOf(eng, name).inFlight, name)
		}
		if fail {
			w.WriteHeader(500)
		}
	}))
	require.Equal(t, 200, serve(h, "/orders/1?x=/search/").Code)
	fail = true
	require.Equal(t, 500, serve(h, "/orders").Code)
	for range 5 {
		rec := serve(h, "/orders/2")
		require.Equal(t, http.StatusTooManyRequests, rec.Code)
		var p nethttp.Problem
		require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &p))
		require.Equal(t, [3]string{"flow", "per-day", "orders-api"}, [3]string{p.Kind, p.Rule, p.Resource}, "the answer names the rule, and the group")
	}
	require.Equal(t, counts{passed: 7, succeeded: 1, failed: 1, ignored: 5}, countsOf(eng, "route"))
	require.Equal(t, counts{passed: 7, succeeded: 1, failed: 1, ignored: 5}, countsOf(eng, "all"))
	require.Equal(t, counts{passed: 2, succeeded: 1, failed: 1}, countsOf(eng, "orders-api"))
	require.Zero(t, countsOf(eng, "search-api"))

	// What was refused took nothing from the route's limit: there is one call left.
	only := nethttp.Middleware(eng, named("route"))(http.HandlerFunc(ok))
	require.Equal(t, 200, serve(only, "/orders/1").Code)
	require.Equal(t, 429, serve(only, "/orders/1").Code)
}

// The order is the resource's own, then that of the groups as they are written; the first that refuses answers, and the others do not hear of the request.
func TestAPIGroupsOrder(t *testing.T) {
	t.Parallel()
	for want, refusing := range map[string][]string{
		"route": {"route", "all", "orders-api"}, "all": {"orders-api", "all"}, "orders-api": {"orders-api"},
	} {
		rules := twoGroups(1)
		rules.Flow = nil
		for _, name := range refusing {
			rules.Flow = append(rules.Flow, flow.Rule{Resource: rule.Name(name)})
		}
		eng := newEngine(t, rules)
		h := nethttp.Middleware(eng, named("route"), nethttp.WithAPIGroups())(http.HandlerFunc(ok))
		var p nethttp.Problem
		require.NoError(t, json.Unmarshal(serve(h, "/orders/1").Body.Bytes(), &p))
		require.Equal(t, want, p.Resource)
	}
}

// Paths are compared as they are written, and as they are meant, so that there is no way around a group by writing.
func TestAPIGroupsOfPaths(t *testing.T) {
	t.Parallel()
	rules := cordon.Rules{APIGroup: []apigroup.Group{
		pathGroup("orders", "/orders/*"), {Name: "exact", Paths: []apigroup.Path{{Exact: "/login"}}}, {Name: "escaped", Paths: []apigroup.Path{{Exact: "/a%2Fb"}}},
		{Name: "folder", Paths: []apigroup.Path{{Exact: "/folder/"}}}, {Name: "root", Paths: []apigroup.Path{{Exact: "/"}}},
	}}
	eng := newEngine(t, rules)
	h := nethttp.Middleware(eng, named("route"), nethttp.WithAPIGroups())(http.HandlerFunc(ok))
	for target, want := range map[string]string{
		"/orders/1": "orders", "/%6frders/1": "orders", "//orders/1": "orders", "/x/../orders/1": "orders", "/./orders/1": "orders", "/orders/a%20b": "orders",
		"/login": "exact", "/%6Cogin": "exact", "//login": "exact", "/login?a=b": "exact", "/a%2Fb": "escaped", "/folder//": "folder", "/": "root", "/x/..": "root",
		"/login/": "", "/orders": "", "/orders/1/2": "", "/Login": "", "/a/b": "",
	} {
		before := map[string]int64{}
		for _, g := range rules.APIGroup {
			before[g.Name] = countsOf(eng, g.Name).passed
		}
		require.Equal(t, 200, serve(h, target).Code)
		for _, g := range rules.APIGroup {
			n := int64(0)
			if g.Name == want {
				n = 1
			}
			require.Equal(t, before[g.Name]+n, countsOf(eng, g.Name).passed, "%s of %s", target, g.Name)
		}
	}
	// A request for a proxy, one for the server itself, and one that no server got.
	rec := serve(h, "http://other.test/login")
	require.Equal(t, 200, rec.Code)
	star := httptest.NewRequest("OPTIONS", "*", nil)
	h.ServeHTTP(httptest.NewRecorder(), star)
	h.ServeHTTP(httptest.NewRecorder(), &http.Request{Method: "GET"})
}

// A request without a path is one for /, as servers have it; one for a connection has no path.
func TestAPIGroupsOfNoPath(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, cordon.Rules{APIGroup: []apigroup.Group{
		{Name: "root", Paths: []apigroup.Path{{Exact: "/"}}}, pathGroup("all", "/**"), pathGroup("any", "**"), {Name: "regex", Paths: []apigroup.Path{{Regex: "/.*"}}},
	}})
	h := nethttp.Middleware(eng, named("route"), nethttp.WithAPIGroups())(http.HandlerFunc(ok))
	server := httptest.NewServer(h)
	defer server.Close()
	send := func(line string) {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, line+" HTTP/1.1\r\nHost: other.test\r\nConnection: close\r\n\r\n")
		require.NoError(t, err)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, 200, res.StatusCode, line)
	}
	for i, line := range []string{"GET /", "GET http://other.test", "GET http://other.test?a=b"} {
		send(line)
		for _, name := range []string{"root", "all", "regex"} {
			require.EqualValues(t, i+1, countsOf(eng, name).passed, "%s of %s", line, name)
		}
	}
	for _, line := range []string{"CONNECT other.test:443", "OPTIONS *"} {
		send(line)
		for _, name := range []string{"root", "all", "regex"} {
			require.EqualValues(t, 3, countsOf(eng, name).passed, "%s of %s", line, name)
		}
	}
}

// A group of the resource's own name is the resource: the request is one call of it.
func TestAPIGroupOfTheOwnName(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, twoGroups(10))
	h := nethttp.Middleware(eng, named("all"), nethttp.WithAPIGroups())(http.HandlerFunc(ok))
	require.Equal(t, 200, serve(h, "/orders/1").Code)
	require.EqualValues(t, 1, countsOf(eng, "all").passed)
	require.EqualValues(t, 1, countsOf(eng, "orders-api").passed)
}

// Groups are found without a restart, and only where the option is.
func TestAPIGroupsAreHot(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, cordon.Rules{})
	h := nethttp.Middleware(eng, named("route"), nethttp.WithAPIGroups())(http.HandlerFunc(ok))
	require.Equal(t, 200, serve(h, "/orders/1").Code)
	_, err := eng.Apply(twoGroups(0))
	require.NoError(t, err)
	require.Equal(t, 429, serve(h, "/orders/1").Code)
	require.Equal(t, 200, serve(h, "/search/1").Code)
	require.Equal(t, 200, serve(nethttp.Middleware(eng, named("route"))(http.HandlerFunc(ok)), "/orders/1").Code)
}

// Rules on values and on origins hold for groups, and system rules see a request once.
func TestAPIGroupsLookAtRequests(t *testing.T) {
	t.Parallel()
	rules := twoGroups(100)
	rules.Param = []paramflow.Rule{{Resource: rule.Name("orders-api"), Param: `header["X-Tenant"]`, Limit: 1, Per: day, Only: rule.Name("acme")}}
	rules.Authority = []authority.Rule{{Resource: rule.Name("search-api"), Allow: []string{"shop"}}}
	rules.System = []system.Rule{{ID: "rate", Metric: system.Rate, Limit: 5}}
	eng := newEngine(t, rules)
	h := nethttp.Middleware(eng, named("route"), nethttp.WithAPIGroups(), nethttp.WithOrigin(nethttp.Header("X-Origin")))(http.HandlerFunc(ok))
	do := func(target, tenant, origin string) int {
		r := httptest.NewRequest("GET", target, nil)
		r.Header.Set("X-Tenant", tenant)
		r.Header.Set("X-Origin", origin)
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		return rec.Code
	}
	require.Equal(t, 200, do("/orders/1", "acme", ""))
	require.Equal(t, 429, do("/orders/1", "acme", ""))
	require.Equal(t, 200, do("/orders/1", "other", ""))
	require.Equal(t, 403, do("/search/1", "", "robot"))
	require.Equal(t, 200, do("/search/1", "", "shop"))
	require.EqualValues(t, 5, countsOf(eng, "route").passed)
	require.EqualValues(t, 2, countsOf(eng, "route").ignored)
	for range 2 {
		require.Equal(t, 200, do("/", "", ""), "what was refused is not counted, and what passed is counted once")
	}
	require.Equal(t, 503, do("/", "", ""))
}

// A request whose connection goes on as something else is a call of its groups until the handler returns; a group that refuses leaves nothing of the route's call behind.
func TestAPIGroupsOfStreams(t *testing.T) {
	t.Parallel()
	rules := twoGroups(100)
	rules.Concurrency = []flow.ConcurrencyRule{{ID: "one", Resource: rule.Name("orders-api"), Limit: 1}, {ID: "two", Resource: rule.Name("route"), Limit: 2}}
	rules.System = []system.Rule{{ID: "two", Metric: system.Concurrency, Limit: 2}}
	eng := newEngine(t, rules)
	server := httptest.NewServer(nethttp.Middleware(eng, named("route"), nethttp.WithAPIGroups())(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_, _ = io.Copy(conn, rw)
	})))
	defer server.Close()
	open := func() (net.Conn, int) {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		require.NoError(t, err)
		_, err = io.WriteString(conn, "GET /orders/1 HTTP/1.1\r\nHost: a.test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		require.NoError(t, err)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		return conn, res.StatusCode
	}
	conn, status := open()
	require.Equal(t, 101, status)
	for range 5 {
		refused, status := open()
		require.Equal(t, 503, status)
		require.NoError(t, refused.Close())
	}
	require.EqualValues(t, 1, eng.Snapshot().System.InFlight)
	route, _ := eng.ResourceSnapshot("route")
	require.EqualValues(t, 1, route.InFlight)
	_, err := io.WriteString(conn, "hello")
	require.NoError(t, err)
	_, err = io.ReadFull(conn, make([]byte, len("hello")))
	require.NoError(t, err)
	// Groups that are gone meanwhile are ended as well.
	rules.APIGroup = nil
	_, err = eng.Apply(rules)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.Eventually(t, func() bool { return eng.Snapshot().System.InFlight == 0 }, 10*time.Second, time.Millisecond)
	for _, name := range []string{"route", "all", "orders-api"} {
		s, ok := eng.ResourceSnapshot(name)
		require.True(t, ok)
		require.Zero(t, s.InFlight, name)
	}
}

// Groups that are edited while requests run leave nothing behind.
func TestAPIGroupsEditsRace(t *testing.T) {
	t.Parallel()
	sets := []cordon.Rules{twoGroups(1e6), twoGroups(0), {}, twoGroups(3)}
	for i := range sets {
		sets[i].System = []system.Rule{{ID: "c", Metric: system.Concurrency, Limit: 5}}
		sets[i].Concurrency = []flow.ConcurrencyRule{{ID: "o", Resource: rule.Name("orders-api"), Limit: 2}, {ID: "r", Resource: rule.Name("route"), Limit: 4}}
	}
	eng := newEngine(t, sets[0])
	h := nethttp.Middleware(eng, named("route"), nethttp.WithAPIGroups())(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { runtime.Gosched() }))
	var passed atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 200 {
				if n%20 == i {
					_, err := eng.Apply(sets[(n/20+i)%len(sets)])
					assert.NoError(t, err)
				}
				if serve(h, []string{"/orders/1", "/search/x", "/other"}[(n+i)%3]).Code == 200 {
					passed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.Positive(t, passed.Load())
	s := eng.Snapshot()
	require.Zero(t, s.System.InFlight)
	for _, r := range s.Resources {
		require.Zero(t, r.InFlight, r.Name)
		if r.Name == "route" {
			require.Equal(t, passed.Load(), r.Succeeded)
		}
	}
	_, err := eng.Apply(cordon.Rules{APIGroup: sets[0].APIGroup, System: sets[0].System, Concurrency: sets[0].Concurrency})
	require.NoError(t, err)
	for range 10 {
		require.Equal(t, 200, serve(h, "/orders/1").Code, "no place is lost")
	}
}

// A handler that panics has failed for the groups too, and one that ends the goroutine.
func TestAPIGroupsOfPanics(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, twoGroups(10))
	h := nethttp.Middleware(eng, named("route"), nethttp.WithAPIGroups())(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("bug") }))
	require.PanicsWithValue(t, "bug", func() { serve(h, "/orders/1") })
	for _, name := range []string{"route", "all", "orders-api"} {
		require.Equal(t, counts{passed: 1, failed: 1}, countsOf(eng, name))
	}
}

// Where no rules have groups the option costs no allocation, nor where none of them is the request's.
func TestAPIGroupsAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	r := httptest.NewRequest("GET", "/nothing", nil)
	w := &bare{}
	eng := newEngine(t, cordon.Rules{})
	h := nethttp.Middleware(eng, named("route"), nethttp.WithAPIGroups())(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { h.ServeHTTP(w, r) }), 2.0)
	_, err := eng.Apply(cordon.Rules{APIGroup: []apigroup.Group{pathGroup("orders-api", "/orders/**")}})
	require.NoError(t, err)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { h.ServeHTTP(w, r) }), 2.0)
}

// Who is refused for its origin is told that there is no point in coming again, and a client or server further out takes it for no failure of the service.
func TestAuthorityAnswers403(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, cordon.Rules{Authority: []authority.Rule{{ID: "who", Resource: rule.Name("r"), Deny: []string{"robot"}}}})
	h := nethttp.Middleware(eng, named("r"), nethttp.WithOrigin(nethttp.Header("X-Origin")))(http.HandlerFunc(ok))
	outer := nethttp.Middleware(eng, named("outer"))(h)
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-Origin", "robot")
	rec := httptest.NewRecorder()
	outer.ServeHTTP(rec, r)
	require.Equal(t, http.StatusForbidden, rec.Code)
	require.Equal(t, "authority", rec.Header().Get("Cordon-Refused"))
	require.Empty(t, rec.Header().Get("Retry-After"))
	require.Equal(t, counts{passed: 1, ignored: 1}, countsOf(eng, "outer"))
}

func ExampleWithAPIGroups() {
	eng, err := cordon.New(cordon.WithRules(cordon.Rules{
		APIGroup: []apigroup.Group{{Name: "orders-api", Paths: []apigroup.Path{{Pattern: "/orders/**"}}}},
		Flow:     []flow.Rule{{ID: "orders", Resource: rule.Name("orders-api"), Limit: 1, Per: day}},
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(http.ResponseWriter, *http.Request) {})
	handler := nethttp.Middleware(eng, nethttp.WithMux(mux), nethttp.WithAPIGroups())(mux)
	for range 2 {
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, httptest.NewRequest("GET", "/orders/7", nil))
		fmt.Println(rec.Code)
	}
	// Output:
	// 200
	// 429
}
