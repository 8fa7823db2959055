package nethttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/system"
)

const day = 24 * time.Hour

func ok(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }

func named(name string) nethttp.Option {
	return nethttp.WithName(func(*http.Request) string { return name })
}

func TestServerNames(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", ok)
	mux.HandleFunc("/files/", ok)
	mux.HandleFunc("admin.test/", ok)
	tests := []struct {
		name   string
		opts   []nethttp.Option
		target string
		want   string
	}{
		{"pattern with a method", []nethttp.Option{nethttp.WithMux(mux)}, "/users/7", "GET /users/{id}"},
		{"pattern of a folder", []nethttp.Option{nethttp.WithMux(mux)}, "/files/a/b", "/files/"},
		{"pattern with a host", []nethttp.Option{nethttp.WithMux(mux)}, "http://admin.test/x", "admin.test/"},
		{"no pattern", []nethttp.Option{nethttp.WithMux(mux)}, "/nowhere", "GET (unmatched)"},
		{"no mux", nil, "/users/7", "GET (unmatched)"},
		{"own name", []nethttp.Option{nethttp.WithMux(mux), named("mine")}, "/users/7", "mine"},
		{"own name that knows nothing", []nethttp.Option{nethttp.WithMux(mux), named("")}, "/users/7", "GET /users/{id}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eng := newEngine(t, cordon.Rules{})
			h := nethttp.Middleware(eng, tt.opts...)(mux)
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", tt.target, nil))
			require.Equal(t, []string{tt.want}, resources(eng))
		})
	}
	t.Run("behind the mux", func(t *testing.T) {
		t.Parallel()
		eng := newEngine(t, cordon.Rules{})
		outer := http.NewServeMux()
		outer.Handle("POST /orders/{id}", nethttp.Middleware(eng)(http.HandlerFunc(ok)))
		outer.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/orders/9", nil))
		require.Equal(t, []string{"POST /orders/{id}"}, resources(eng))
	})
}

// faults #75: a scan for paths, with methods made up on the way, makes no resource per request.
func TestScanMakesNoResources(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, cordon.Rules{})
	mux := http.NewServeMux()
	mux.HandleFunc("/known/{x}", ok)
	for _, opts := range [][]nethttp.Option{nil, {nethttp.WithMux(mux)}} {
		h := nethttp.Middleware(eng, opts...)(mux)
		for i := range 2000 {
			method := [...]string{"GET", "POST", "M" + strconv.Itoa(i), "CONNECT"}[i%4]
			r := httptest.NewRequest(method, "http://h"+strconv.Itoa(i)+".test/known/"+strconv.Itoa(i)+"/"+strconv.Itoa(i), nil)
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
	}
	require.ElementsMatch(t, []string{
		"GET (unmatched)", "POST (unmatched)", "OTHER (unmatched)", "CONNECT (unmatched)",
	}, resources(eng))
}

func TestServerOutcomes(t *testing.T) {
	t.Parallel()
	gone := func(r *http.Request) *http.Request {
		ctx, cancel := context.WithCancel(r.Context())
		r = r.WithContext(context.WithValue(ctx, hangUp{}, cancel))
		return r
	}
	hang := func(r *http.Request) { r.Context().Value(hangUp{}).(context.CancelFunc)() }
	tests := []struct {
		name    string
		prepare func(*http.Request) *http.Request
		handler http.HandlerFunc
		want    cordon.Outcome
		panics  any
	}{
		{name: "nothing written", handler: func(http.ResponseWriter, *http.Request) {}, want: cordon.Success},
		{name: "implicit 200", handler: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hi") }, want: cordon.Success},
		{name: "404", handler: http.NotFound, want: cordon.Success},
		{name: "429 of one's own", handler: status(429), want: cordon.Success},
		{name: "500", handler: status(500), want: cordon.Failure},
		{name: "503", handler: status(503), want: cordon.Failure},
		{name: "200 then 500", handler: status(200, 500), want: cordon.Success},
		{name: "500 then 200", handler: status(500, 200), want: cordon.Failure},
		{name: "early hints then 500", handler: status(103, 103, 500), want: cordon.Failure},
		{name: "early hints and nothing", handler: status(103), want: cordon.Success},
		{name: "written then 500", handler: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("hi"))
			w.WriteHeader(500)
		}, want: cordon.Success},
		{name: "flushed then 500", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			w.WriteHeader(500)
		}, want: cordon.Success},
		{name: "flushed by controller then 500", handler: func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
			w.WriteHeader(500)
		}, want: cordon.Success},
		{name: "499", handler: status(499), want: cordon.Ignored},
		{name: "panic", handler: func(http.ResponseWriter, *http.Request) { panic("bug") }, want: cordon.Failure, panics: "bug"},
		{name: "panic after 200", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(200)
			panic("bug")
		}, want: cordon.Failure, panics: "bug"},
		{name: "panic with what does not compare", handler: func(http.ResponseWriter, *http.Request) { panic([]int{1}) }, want: cordon.Failure, panics: []int{1}},
		{name: "abort", handler: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, want: cordon.Failure, panics: http.ErrAbortHandler},
		{name: "abort after 200", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(200)
			panic(http.ErrAbortHandler)
		}, want: cordon.Failure, panics: http.ErrAbortHandler},
		{name: "client gone, abort", prepare: gone, handler: func(_ http.ResponseWriter, r *http.Request) {
			hang(r)
			panic(http.ErrAbortHandler)
		}, want: cordon.Ignored, panics: http.ErrAbortHandler},
		{name: "client gone, bug", prepare: gone, handler: func(_ http.ResponseWriter, r *http.Request) {
			hang(r)
			panic("bug")
		}, want: cordon.Failure, panics: "bug"},
		{name: "client gone, 500", prepare: gone, handler: func(w http.ResponseWriter, r *http.Request) {
			hang(r)
			w.WriteHeader(500)
		}, want: cordon.Ignored},
		{name: "client gone, 200", prepare: gone, handler: func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(200)
			hang(r)
		}, want: cordon.Success},
		{name: "refused further in", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Cordon-Refused", "flow")
			w.WriteHeader(429)
		}, want: cordon.Ignored},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eng := newEngine(t, cordon.Rules{})
			h := nethttp.Middleware(eng, named("r"))(tt.handler)
			r := httptest.NewRequest("GET", "/", nil)
			if tt.prepare != nil {
				r = tt.prepare(r)
			}
			require.Equal(t, tt.panics, panicOf(func() { h.ServeHTTP(httptest.NewRecorder(), r) }))
			require.Equal(t, ended(tt.want), countsOf(eng, "r"))
		})
	}
}

type hangUp struct{}

func panicOf(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

func status(codes ...int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, c := range codes {
			w.WriteHeader(c)
		}
	}
}

func TestServerDeadlineIsFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		eng := newEngine(t, cordon.Rules{})
		h := nethttp.Middleware(eng, named("r"))(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		rec := httptest.NewRecorder()
		http.TimeoutHandler(h, time.Second, "late").ServeHTTP(rec, httptest.NewRequest("GET", "/", nil))
		synctest.Wait()
		require.Equal(t, 503, rec.Code)
		require.Equal(t, ended(cordon.Failure), countsOf(eng, "r"))
	})
}

func TestGoexitEndsTheCall(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, cordon.Rules{})
	h := nethttp.Middleware(eng, named("r"))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { runtime.Goexit() }))
	var wg sync.WaitGroup
	wg.Go(func() { h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)) })
	wg.Wait()
	require.Equal(t, ended(cordon.Failure), countsOf(eng, "r"))
}

// The server's log of a panic must still show the handler that panicked.
func TestPanicKeepsItsStack(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, cordon.Rules{})
	var logged lockedBuilder
	srv := httptest.NewUnstartedServer(nethttp.Middleware(eng, named("r"))(http.HandlerFunc(handlerWithBug)))
	srv.Config.ErrorLog = log.New(&logged, "", 0)
	srv.Start()
	_, err := srv.Client().Get(srv.URL)
	require.Error(t, err)
	srv.Close()
	require.Contains(t, logged.String(), "handlerWithBug")
	require.Equal(t, ended(cordon.Failure), countsOf(eng, "r"))
}

func handlerWithBug(http.ResponseWriter, *http.Request) { panic("bug") }

type lockedBuilder struct {
	mu sync.Mutex // guards b
	b  strings.Builder
}

func (l *lockedBuilder) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuilder) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	limited := func(kind cordon.Kind, after time.Duration) error {
		return &cordon.BlockedError{Kind: kind, RuleID: "r1", Resource: "r", RetryAfter: after}
	}
	tests := []struct {
		name   string
		err    error
		status int
		after  string
	}{
		{"flow", limited(cordon.KindFlow, 1500*time.Millisecond), 429, "2"},
		{"flow, whole seconds", limited(cordon.KindFlow, 2*time.Second), 429, "2"},
		{"flow, just more", limited(cordon.KindFlow, 2*time.Second+1), 429, "3"},
		{"flow, a moment", limited(cordon.KindFlow, 1), 429, "1"},
		{"flow, unknown", limited(cordon.KindFlow, 0), 429, ""},
		{"flow, never", limited(cordon.KindFlow, -1), 429, ""},
		{"concurrency", limited(cordon.KindConcurrency, 0), 503, ""},
		{"breaker", limited(cordon.KindBreaker, 30*time.Second), 503, "30"},
		{"own check", limited(cordon.KindCustom, 0), 503, ""},
		{"system", limited(cordon.KindSystem, 1500*time.Millisecond), 503, "2"},
		{"system, unknown", limited(cordon.KindSystem, 0), 503, "1"},
		{"system, never", limited(cordon.KindSystem, -1), 503, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eng := newEngine(t, cordon.Rules{}, cordon.WithChecker(refuser{tt.err}))
			h := nethttp.Middleware(eng, named("r"))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("must not be called") }))
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, httptest.NewRequest("GET", "/", nil))
			require.Equal(t, tt.status, rec.Code)
			require.Equal(t, tt.after, rec.Header().Get("Retry-After"))
			require.Equal(t, "application/problem+json", rec.Header().Get("Content-Type"))
			require.NotEmpty(t, rec.Header().Get("Cordon-Refused"))
			var p nethttp.Problem
			require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &p))
			require.Equal(t, nethttp.ProblemBlocked, p.Type)
			require.Equal(t, tt.status, p.Status)
			require.Equal(t, [3]string{rec.Header().Get("Cordon-Refused"), "r1", "r"}, [3]string{p.Kind, p.Rule, p.Resource})
		})
	}
}

type refuser struct{ err error }

func (refuser) Name() string                                                  { return "refuser" }
func (c refuser) Check(*cordon.CheckedCall) error                             { return c.err }
func (refuser) Done(*cordon.CheckedCall, cordon.Outcome, time.Duration, bool) {}

func TestRefusalOfRealRules(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rules  cordon.Rules
		status int
	}{
		"flow":        {perDay("r", 1), 429},
		"concurrency": {atOnce("r", 1), 503},
		"breaker":     {failuresInRow("r", 1), 503},
		"system":      {cordon.Rules{System: []system.Rule{{Metric: system.Rate, Limit: 1.0 / 3600}}}, 503},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng := newEngine(t, tt.rules)
			var h http.Handler
			inner := httptest.NewRecorder()
			h = nethttp.Middleware(eng, named("r"))(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if name == "concurrency" { // ask while the first is in flight
					h.ServeHTTP(inner, httptest.NewRequest("GET", "/", nil))
				}
				w.WriteHeader(500)
			}))
			first := httptest.NewRecorder()
			h.ServeHTTP(first, httptest.NewRequest("GET", "/", nil))
			require.Equal(t, 500, first.Code)
			if name != "concurrency" {
				h.ServeHTTP(inner, httptest.NewRequest("GET", "/", nil))
			}
			require.Equal(t, tt.status, inner.Code)
			require.Equal(t, name, inner.Header().Get("Cordon-Refused"))
			require.Equal(t, name != "concurrency", inner.Header().Get("Retry-After") != "")
		})
	}
}

// System rules are for what comes in: what a client sends is not theirs.
func TestSystemRulesAreForServers(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, cordon.Rules{System: []system.Rule{{ID: "none", Metric: system.Concurrency, Limit: 0}}})
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	srv := httptest.NewServer(ok)
	defer srv.Close()
	client := &http.Client{Transport: nethttp.Transport(eng, nil)}
	resp, err := client.Get(srv.URL)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	rec := httptest.NewRecorder()
	nethttp.Middleware(eng, named("r"))(ok).ServeHTTP(rec, httptest.NewRequest("GET", "/", nil))
	require.Equal(t, http.StatusServiceUnavailable, rec.Code)
	require.Equal(t, "system", rec.Header().Get("Cordon-Refused"))
	require.Empty(t, rec.Header().Get("Retry-After"), "waiting does not help")
}

func TestRefusalHook(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, perDay("r", 0))
	h := nethttp.Middleware(eng, named("r"), nethttp.WithRefusal(func(w http.ResponseWriter, r *http.Request, ref nethttp.Refusal) {
		require.ErrorIs(t, ref.Err, flow.ErrLimited)
		require.Equal(t, "per-day", ref.Blocked.RuleID)
		ref.Status = http.StatusServiceUnavailable
		nethttp.WriteRefusal(w, r, ref)
	}))(http.HandlerFunc(ok))
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest("GET", "/", nil))
	require.Equal(t, 503, rec.Code)
	require.Equal(t, "flow", rec.Header().Get("Cordon-Refused"))
}

func TestRequestsThatCannotEnter(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, cordon.Rules{})
	mw := nethttp.Middleware(eng, named("r"), nethttp.WithCost(func(r *http.Request) int {
		n, _ := strconv.Atoi(r.Header.Get("Cost"))
		return n
	}))
	h := mw(http.HandlerFunc(ok))

	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Cost", "-1")
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	require.Equal(t, 500, rec.Code)
	require.Empty(t, rec.Header().Get("Cordon-Refused"))

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	rec = httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest("GET", "/", nil).WithContext(ctx))
	require.Equal(t, 503, rec.Code)
	require.Zero(t, countsOf(eng, "r").inFlight)
}

func TestWhatTheEngineIsTold(t *testing.T) {
	t.Parallel()
	var got []cordon.Request
	eng := newEngine(t, cordon.Rules{}, cordon.WithChecker(spy(func(c *cordon.CheckedCall) { got = append(got, c.Request) })))
	h := nethttp.Middleware(eng, named("r"),
		nethttp.WithOrigin(nethttp.Header("X-App")),
		nethttp.WithCost(func(*http.Request) int { return 3 }),
		nethttp.WithArgs(func(r *http.Request) []any { return []any{r.URL.Query().Get("id")} }),
		nethttp.WithSkip(func(r *http.Request) bool { return r.URL.Path == "/healthz" }),
	)(http.HandlerFunc(ok))
	r := httptest.NewRequest("GET", "/?id=7", nil)
	r.Header.Set("X-App", "web")
	h.ServeHTTP(httptest.NewRecorder(), r)
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/healthz", nil))
	require.Len(t, got, 1)
	require.Equal(t, "r", got[0].Resource)
	require.Equal(t, "web", got[0].Origin)
	require.Equal(t, 3, got[0].Cost)
	require.Equal(t, []any{"7"}, got[0].Args)
	require.True(t, got[0].Inbound)
}

type spy func(*cordon.CheckedCall)

func (spy) Name() string                                                  { return "spy" }
func (s spy) Check(c *cordon.CheckedCall) error                           { s(c); return nil }
func (spy) Done(*cordon.CheckedCall, cordon.Outcome, time.Duration, bool) {}

func TestEntrance(t *testing.T) {
	t.Parallel()
	rules := cordon.Rules{Flow: []flow.Rule{{ID: "u", Resource: rule.Name("db"), Limit: 0, Under: "GET /slow"}}}
	eng := newEngine(t, rules)
	errs := map[string]error{}
	query := func(_ http.ResponseWriter, r *http.Request) {
		errs[r.Pattern] = eng.Do(r.Context(), "db", func(context.Context) error { return nil })
	}
	mux := http.NewServeMux()
	mw := nethttp.Middleware(eng, nethttp.AsEntrance())
	mux.Handle("GET /slow", mw(http.HandlerFunc(query)))
	mux.Handle("GET /fast", mw(http.HandlerFunc(query)))
	for _, path := range []string{"/slow", "/fast"} {
		mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
	}
	require.ErrorIs(t, errs["GET /slow"], cordon.ErrBlocked)
	require.NoError(t, errs["GET /fast"])
}

func TestServerOutcomeOption(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, cordon.Rules{})
	var seen nethttp.Ending
	mw := nethttp.Middleware(eng, named("r"), nethttp.WithOutcome(func(e nethttp.Ending) cordon.Outcome {
		seen = e
		switch e.Status {
		case 404:
			return cordon.Failure
		case 405:
			panic("a bug in the option")
		}
		return e.Default
	}))
	for _, code := range []int{404, 200, 500, 405} {
		mw(status(code)).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
	}
	require.Equal(t, counts{passed: 4, succeeded: 2, failed: 2}, countsOf(eng, "r"))
	require.Equal(t, 405, seen.Status)
}

// The limit holds over HTTP whatever the callers do, and every place comes back.
func TestConcurrencyLimitHolds(t *testing.T) {
	t.Parallel()
	const limit, callers, each = 3, 16, 40
	eng := newEngine(t, atOnce("r", limit))
	var now, most, served, refused atomic.Int64
	h := nethttp.Middleware(eng, named("r"))(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		served.Add(1)
		switch served.Load() % 4 {
		case 0:
			panic(http.ErrAbortHandler)
		case 1:
			w.WriteHeader(500)
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 1000))
	}))
	srv := httptest.NewServer(h)
	defer srv.Close()
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range each {
				res, err := srv.Client().Get(srv.URL)
				if err != nil {
					continue // aborted
				}
				if res.StatusCode == 503 {
					refused.Add(1)
				}
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, most.Load(), int64(limit))
	c := countsOf(eng, "r")
	require.Zero(t, c.inFlight)
	require.Equal(t, served.Load(), c.passed)
}

func TestNilEngine(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { nethttp.Middleware(nil) })
	require.Panics(t, func() { nethttp.Transport(nil, nil) })
}

func ExampleMiddleware() {
	rules := cordon.Rules{Flow: []flow.Rule{{ID: "users", Resource: rule.Name("GET /users/{id}"), Limit: 1, Per: time.Hour}}}
	eng, err := cordon.New(cordon.WithRules(rules))
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()

	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{id}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "user %s", r.PathValue("id"))
	})
	srv := httptest.NewServer(nethttp.Middleware(eng, nethttp.WithMux(mux))(mux))
	defer srv.Close()

	for _, id := range []string{"7", "8"} {
		res, err := http.Get(srv.URL + "/users/" + id)
		if err != nil {
			log.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		fmt.Println(res.StatusCode, res.Header.Get("Content-Type"))
		if res.StatusCode == http.StatusOK {
			fmt.Println(string(body))
		}
	}
	http.DefaultClient.CloseIdleConnections()
	// Output:
	// 200 text/plain; charset=utf-8
	// user 7
	// 429 application/problem+json
}

func ExampleTransport() {
	rules := cordon.Rules{Flow: []flow.Rule{{ID: "api", Resource: rule.Name("api"), Limit: 1, Per: time.Hour}}}
	eng, err := cordon.New(cordon.WithRules(rules))
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()

	srv := httptest.NewServer(http.HandlerFunc(ok))
	defer srv.Close()
	client := srv.Client()
	client.Transport = nethttp.Transport(eng, client.Transport, nethttp.WithName(func(*http.Request) string { return "api" }))

	for range 2 {
		res, err := client.Get(srv.URL)
		var blocked *cordon.BlockedError
		if errors.As(err, &blocked) {
			fmt.Println("not sent: refused by", blocked.Kind, "rule", blocked.RuleID)
			continue
		}
		if err != nil {
			log.Fatal(err)
		}
		res.Body.Close()
		fmt.Println(res.Status)
	}
	// Output:
	// 200 OK
	// not sent: refused by flow rule api
}
