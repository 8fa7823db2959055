package gateway

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/rule"
)

// A site is a gateway by a clock of its own, asked without a network in front of it.
type site struct {
	*Gateway
	t   *testing.T
	clk *clock.Manual
}

func newSite(t *testing.T, cfg Config, opts ...Option) *site {
	t.Helper()
	clk := clock.NewManual()
	g, err := New(cfg, append(opts, WithClock(clk))...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, g.Close()) })
	return &site{g, t, clk}
}

// ask sends a request to path, 10 ms after the one before.
func (s *site) ask(method, path string) *httptest.ResponseRecorder {
	s.t.Helper()
	s.clk.Advance(10 * time.Millisecond)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w
}

// service returns what is known of the only group of a service.
func (s *site) service(name string) isolation.Snapshot {
	s.t.Helper()
	services := slices.DeleteFunc(s.Engine().Snapshot().Services, func(g isolation.Snapshot) bool { return g.Service != name })
	require.Len(s.t, services, 1)
	return services[0]
}

// sickOf returns three upstreams of which the first fails while sick is true.
func sickOf(t *testing.T, sick *atomic.Bool) []Upstream {
	t.Helper()
	return urls(upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		if sick.Load() {
			w.WriteHeader(500)
		}
	}), upstream(t, says("b")), upstream(t, says("c")))
}

func writeRules(t *testing.T, rules ...string) RuleSource {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(path, []byte(lines(append([]string{"cordon: 1"}, rules...)...)), 0o600))
	return RuleSource{File: path}
}

// A sick upstream goes without anybody having written a rule, and the events say why, with numbers; of two routes with one resource each judges by its own requests.
func TestSickUpstreamGoes(t *testing.T) {
	t.Parallel()
	var sick atomic.Bool
	sick.Store(true)
	s := newSite(t, Config{Routes: []Route{
		{Name: "orders", Upstreams: sickOf(t, &sick)},
		{Name: "other", Prefix: "/other", Resource: "orders", Upstreams: sickOf(t, &sick)},
	}})
	failed := 0
	for range 600 {
		if s.ask("GET", "/").Code == 500 {
			failed++
		}
	}
	require.Positive(t, failed)
	require.Less(t, failed, 20)
	services := s.Engine().Snapshot().Services
	require.Len(t, services, 2)
	require.Equal(t, "orders", services[0].Service)
	require.Equal(t, "orders", services[1].Service)
	require.Equal(t, OwnIsolation, services[0].RuleID)
	require.Equal(t, []int{1, 0}, []int{services[0].Out, services[1].Out})

	events := slices.DeleteFunc(s.Status().Events, func(e Event) bool { return e.What != "isolation" })
	require.NotEmpty(t, events)
	e := events[len(events)-1]
	require.Equal(t, [3]string{"isolation", OwnIsolation, "orders"}, [3]string{e.Kind, e.Rule, e.Resource})
	require.Regexp(t, `^http://127\.0\.0\.1:\d+ quarantined for \d+(\.\d)?s: \d+ of \d+ calls failed .+ while 0 of \d+ calls to its peers did.*; 1 of 3 sick$`, e.Text)
	require.False(t, strings.Contains(e.Text, "\n"))

	// It comes back sick, and then well.
	quarantined := func() (n int) {
		for _, e := range s.Status().Events {
			if strings.Contains(e.Text, "quarantined for") {
				n++
			}
		}
		return n
	}
	for range 1000 {
		s.ask("GET", "/")
	}
	require.GreaterOrEqual(t, quarantined(), 2)
	require.True(t, slices.ContainsFunc(s.Status().Events, func(e Event) bool { return strings.Contains(e.Text, "(2 strikes)") }))
	sick.Store(false)
	for range 9000 {
		s.ask("GET", "/")
	}
	require.Zero(t, s.Engine().Snapshot().Services[0].Out)
	for _, what := range []string{" probing", " readmitted", " in service"} {
		require.True(t, slices.ContainsFunc(s.Status().Events, func(e Event) bool { return strings.Contains(e.Text, what) }), what)
	}
}

// Whatever the rules say comes before the gateway's own rule: one by name, one by pattern, and one for all others. Without it, and without rules, nobody is taken out.
func TestWhoseIsolationRule(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		isolation Isolation
		rules     []string
		by        string
		preset    isolation.Preset
	}{
		{"nothing said", StandardIsolation, nil, OwnIsolation, isolation.Default},
		{"careful", CarefulIsolation, nil, OwnIsolation, isolation.Careful},
		{"quick", QuickIsolation, nil, OwnIsolation, isolation.Quick},
		{"off", NoIsolation, nil, "", 0},
		{"off, but a rule", NoIsolation, []string{"isolation: [{id: mine, service: r}]"}, "mine", 0},
		{"by name", QuickIsolation, []string{"isolation: [{id: mine, service: r}]"}, "mine", 0},
		{"by pattern", QuickIsolation, []string{"isolation: [{id: mine, service: {wildcard: '*'}}]"}, "mine", 0},
		{"by default", QuickIsolation, []string{"isolation: [{id: mine, service: {default: true}}]"}, "mine", 0},
		{"of the same id", QuickIsolation, []string{"isolation: [{id: gateway-default, preset: careful, service: {default: true}}]"}, OwnIsolation, isolation.Careful},
		{"for another", StandardIsolation, []string{"isolation: [{id: mine, service: other}]"}, OwnIsolation, isolation.Default},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var sick atomic.Bool
			sick.Store(true)
			c := Config{Isolation: tt.isolation, Routes: []Route{{Name: "r", Upstreams: sickOf(t, &sick)}}}
			if tt.rules != nil {
				c.Rules = []RuleSource{writeRules(t, tt.rules...)}
			}
			s := newSite(t, c)
			require.Equal(t, tt.by, s.service("r").RuleID)
			for _, r := range s.Engine().Rules().Isolation {
				if r.ID == tt.by && r.ID == OwnIsolation {
					require.Equal(t, tt.preset, r.Preset)
				}
			}
			for range 600 {
				s.ask("GET", "/")
			}
			require.Equal(t, tt.by != "", s.service("r").Out == 1)
		})
	}
	t.Run("of code", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, oneRoute("http://a"), WithEngine(cordon.WithRules(cordon.Rules{Isolation: []isolation.Rule{{ID: "mine", Service: rule.Default()}}})))
		require.Equal(t, "mine", s.service("r").RuleID)
	})
}

// One upstream stays in service however sick it is, and its answers are its own.
func TestOnlyUpstreamStays(t *testing.T) {
	t.Parallel()
	s := newSite(t, oneRoute(upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(503)
		_, _ = io.WriteString(w, "full disk")
	})))
	for range 500 {
		w := s.ask("GET", "/")
		require.Equal(t, 503, w.Code)
		require.Equal(t, "full disk", w.Body.String())
	}
	require.Zero(t, s.service("r").Out)
}

// When all are sick all are asked, and what clients get is the upstreams' own answer.
func TestAllUpstreamsSick(t *testing.T) {
	t.Parallel()
	var asked [5]atomic.Int64
	var list []Upstream
	for i := range asked {
		list = append(list, urls(upstream(t, func(w http.ResponseWriter, _ *http.Request) {
			asked[i].Add(1)
			w.WriteHeader(500)
			_, _ = io.WriteString(w, "mine")
		}))...)
	}
	s := newSite(t, Config{Routes: []Route{{Name: "r", Upstreams: list}}})
	for range 1500 {
		w := s.ask("GET", "/")
		require.Equal(t, 500, w.Code)
		require.Equal(t, "mine", w.Body.String())
	}
	for i := range asked {
		require.Greater(t, asked[i].Load(), int64(200))
	}
}

// All out at once can only be wished for. Then it is said, with a status of its own.
func TestAllUpstreamsOut(t *testing.T) {
	t.Parallel()
	c := Config{
		Routes: []Route{{Name: "r", Upstreams: urls(upstream(t, status(500)), upstream(t, status(500)))}},
		Rules: []RuleSource{writeRules(t,
			"isolation: [{service: r, minSuccessRate: 0.5, absoluteOnly: true, mayEmpty: true, maxShare: 1, noFallback: true}]")},
	}
	s := newSite(t, c)
	var w *httptest.ResponseRecorder
	for range 100 {
		w = s.ask("GET", "/")
	}
	require.Equal(t, 503, w.Code)
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
}

// What the client does to its own request, and what an upstream that runs cordon refuses, says nothing about an upstream.
func TestNoUpstreamIsBlamed(t *testing.T) {
	t.Parallel()
	c := oneRoute(upstream(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }), upstream(t, says("b")))
	c.Limits.BodyBytes = 10
	s := newSite(t, c)
	for range 100 {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("PUT", "/", io.MultiReader(strings.NewReader(strings.Repeat("x", 1000)))))
		require.Equal(t, 413, w.Code)
	}
	for _, i := range s.service("r").Instances {
		require.Zero(t, i.Failures)
		require.Zero(t, i.InFlight)
	}
}

// A request goes on to another upstream as its route says.
func TestGatewayRetries(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	slam := func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	}
	var list []Upstream
	for range 5 {
		list = append(list, urls(upstream(t, slam))...)
	}
	c := Config{Isolation: NoIsolation, Routes: []Route{{Name: "r", Upstreams: list}, {Name: "once", Prefix: "/once", Upstreams: list}, {Name: "all", Prefix: "/all", Upstreams: list}}}
	c.Routes[1].Retry.Off = true
	c.Routes[2].Retry.Tries = 10
	s := newSite(t, c)
	for _, tt := range []struct {
		method, path string
		want         int64
	}{{"GET", "/", 3}, {"POST", "/", 1}, {"GET", "/once", 1}, {"GET", "/all", 5}, {"DELETE", "/all", 5}, {"POST", "/all", 1}} {
		asked.Store(0)
		require.Equal(t, 502, s.ask(tt.method, tt.path).Code)
		require.Equal(t, tt.want, asked.Load(), "%s %s", tt.method, tt.path)
	}
}

// A route by hash keeps a client at one upstream: by a header, a cookie, or where it comes from.
func TestGatewayByHash(t *testing.T) {
	t.Parallel()
	var list []Upstream
	for i := range 5 {
		list = append(list, urls(upstream(t, says(fmt.Sprint(i))))...)
	}
	hash := Balance(balance.ConsistentHash)
	s := newSite(t, Config{Routes: []Route{
		{Name: "address", Upstreams: list, Balance: hash},
		{Name: "header", Prefix: "/header", Upstreams: list, Balance: hash, HashHeader: "X-User"},
		{Name: "cookie", Prefix: "/cookie", Upstreams: list, Balance: hash, HashCookie: "user"},
	}})
	for _, way := range []func(r *http.Request, i int){
		func(r *http.Request, i int) { r.RemoteAddr = fmt.Sprintf("10.0.0.%d:1234", i) },
		func(r *http.Request, i int) { r.URL.Path = "/header"; r.Header.Set("X-User", fmt.Sprint(i)) },
		func(r *http.Request, i int) { r.URL.Path = "/header"; r.RemoteAddr = fmt.Sprintf("10.0.0.%d:1234", i) },
		func(r *http.Request, i int) {
			r.URL.Path = "/cookie"
			r.Header.Set("Cookie", fmt.Sprintf("user=%d", i))
		},
	} {
		used := map[string]bool{}
		for client := range 30 {
			var first string
			for n := range 3 {
				r := httptest.NewRequest("GET", "/", nil)
				way(r, client)
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				if n == 0 {
					first = w.Body.String()
					used[first] = true
				}
				require.Equal(t, first, w.Body.String())
			}
		}
		require.Len(t, used, 5)
	}
}

func TestGatewaysRegion(t *testing.T) {
	t.Parallel()
	near, far := upstream(t, says("near")), upstream(t, says("far"))
	c := Config{Region: "eu", Routes: []Route{{Name: "r", Upstreams: []Upstream{{URL: near, Region: "eu"}, {URL: far, Region: "us", Weight: 100}}}}}
	s := newSite(t, c)
	for range 50 {
		require.Equal(t, "near", s.ask("GET", "/").Body.String())
	}
	warned := func(e Event) bool { return e.What == "warning" && strings.Contains(e.Text, "region") }
	require.False(t, slices.ContainsFunc(s.Status().Events, warned))
	c.Region = "eu1"
	s = newSite(t, c)
	require.True(t, slices.ContainsFunc(s.Status().Events, warned), "a misspelt region is told")
}

func TestWeights(t *testing.T) {
	t.Parallel()
	c := Config{Routes: []Route{{Name: "r", Upstreams: []Upstream{{URL: upstream(t, says("a")), Weight: 3}, {URL: upstream(t, says("b"))}}}}}
	s := newSite(t, c)
	got := map[string]int{}
	for range 400 {
		got[s.ask("GET", "/").Body.String()]++
	}
	require.InDelta(t, 300, got["a"], 2)
}

// An isolation rule for a service that no route is, is idle as others are.
func TestIdleIsolationRules(t *testing.T) {
	t.Parallel()
	c := oneRoute("http://a")
	c.Rules = []RuleSource{writeRules(t, "isolation: [{id: i, service: rr}, {id: d, service: {default: true}}]")}
	s := newSite(t, c)
	require.Equal(t, []string{`isolation i (for "rr")`}, s.idleRules())
}

func TestBalanceNames(t *testing.T) {
	t.Parallel()
	for b, want := range map[balance.Strategy]string{
		balance.RoundRobin: "roundRobin", balance.Random: "random", balance.LeastInFlight: "leastInFlight", balance.ConsistentHash: "consistentHash",
	} {
		require.Equal(t, want, Balance(b).String())
		var back Balance
		require.NoError(t, back.UnmarshalText([]byte(want)))
		require.Equal(t, Balance(b), back)
	}
	require.Equal(t, "Balance(9)", Balance(9).String())
	require.Error(t, new(Balance).UnmarshalText([]byte("RoundRobin")))
	for i := StandardIsolation; i <= NoIsolation; i++ {
		var back Isolation
		require.NoError(t, back.UnmarshalText([]byte(i.String())))
		require.Equal(t, i, back)
	}
	require.Equal(t, "Isolation(9)", Isolation(9).String())
	require.Error(t, new(Isolation).UnmarshalText([]byte("on")))
}

// faults #47: one of three upstreams hangs, and clients give up long before the gateway would. Where they had more patience than it ever takes, that is enough to find it.
func TestUpstreamThatHangsIsFound(t *testing.T) {
	t.Parallel()
	var hung atomic.Bool
	list := urls(upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		if hung.Load() {
			<-r.Context().Done()
		}
	}), upstream(t, says("b")), upstream(t, says("c")))
	s := run(t, Config{Routes: []Route{{Name: "r", Upstreams: list}}})
	s.client.Timeout = 1200 * time.Millisecond
	for range 12 { // else nobody knows how long it takes
		s.get("/")
	}
	hung.Store(true)
	var clients sync.WaitGroup
	var found atomic.Bool
	for range 20 {
		clients.Go(func() {
			for !found.Load() {
				if res, err := s.client.Get("http://" + s.addr + "/"); err == nil {
					_ = res.Body.Close()
				}
			}
		})
	}
	s.waitFor(func() bool {
		found.Store(s.Engine().Snapshot().Services[0].Instances[0].State == isolation.Quarantined)
		return found.Load()
	})
	clients.Wait()
	for _, i := range s.Engine().Snapshot().Services[0].Instances[1:] {
		require.Zero(t, i.Failures)
	}
}

// With a time-out for each try a hanging upstream costs its clients little, and no answer.
func TestUpstreamThatHangsCostsLittle(t *testing.T) {
	t.Parallel()
	c, err := Parse("gateway.yaml", []byte(lines(
		"routes:", "- name: r", "  retry: {tryTimeout: 100ms, tries: 2}", "  upstreams: ["+upstream(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })+", "+upstream(t, says("b"))+"]",
	)))
	require.NoError(t, err)
	s := run(t, c)
	for range 20 {
		require.Equal(t, "b", s.get("/").body)
	}
	require.Equal(t, isolation.Quarantined, s.Engine().Snapshot().Services[0].Instances[0].State)
	require.EqualValues(t, 20, s.counts("r").passed)
}
