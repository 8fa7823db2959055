package nethttp_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

// perValue lets one call of each value of "r" pass, and never another in a test's time.
func perValue(params ...string) cordon.Rules {
	var rules cordon.Rules
	for i, p := range params {
		rules.Param = append(rules.Param, paramflow.Rule{ID: fmt.Sprint("param-", i), Resource: rule.Name("r"), Param: p, Limit: 1, Per: day})
	}
	return rules
}

// hottest returns the values that the engine's only rule on hot parameters has seen, with how often each passed.
func hottest(eng *cordon.Engine) map[string]int64 {
	values := map[string]int64{}
	for _, r := range eng.Snapshot().Resources {
		for _, rule := range r.Rules {
			if rule.Param != nil {
				for _, v := range rule.Param.Top {
					values[v.Value] += v.Passed
				}
			}
		}
	}
	return values
}

// Each part of a request can be what is limited.
func TestServerParams(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/users/{id}", ok)
	type claims struct{}
	tests := []struct {
		param  string
		set    func(r *http.Request, v string)
		opts   []nethttp.Option
		values []string // different ones, as rules see them; "a b" is written there
	}{
		{param: `header["x-tenant"]`, set: func(r *http.Request, v string) { r.Header.Set("X-Tenant", v) }},
		{param: `header.host`, set: func(r *http.Request, v string) { r.Host = v }},
		{param: `query.uid`, set: func(r *http.Request, v string) { r.URL.RawQuery = "x=1&uid=" + strings.ReplaceAll(v, " ", "+") }},
		{param: `cookie.sid`, set: func(r *http.Request, v string) { r.Header.Set("Cookie", "a=b; sid="+v) }},
		{param: `method`, set: func(r *http.Request, v string) { r.Method = v }},
		{param: `peer.ip`, set: func(r *http.Request, v string) { r.RemoteAddr = v + ":80" }, values: []string{"192.0.2.1", "192.0.2.2"}},
		{param: `client.ip`, set: func(r *http.Request, v string) { r.RemoteAddr = "[" + v + "]:80" }, values: []string{"2001:db8::1", "fe80::1%eth0", "fe80::1%eth1"}},
		{param: `path.id`, set: func(r *http.Request, v string) { r.SetPathValue("id", v) }},
		{param: `path.id`, opts: []nethttp.Option{nethttp.WithMux(mux)}, set: func(r *http.Request, v string) { r.URL.Path = "/users/" + v }},
		{param: `path.id`, opts: []nethttp.Option{nethttp.WithPathPattern("/u/{id}")}, set: func(r *http.Request, v string) { r.URL.Path = "/u/" + v + "/x" }},
		{param: `body.user.id`, set: func(r *http.Request, v string) {
			r.Header.Set("Content-Type", "application/json")
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(`{"user":{"id":"`+v+`"}}`)), -1
		}},
		{param: `value.plan`, set: func(r *http.Request, v string) { *r = *r.WithContext(context.WithValue(r.Context(), claims{}, v)) },
			opts: []nethttp.Option{nethttp.WithValues(func(r *http.Request, name string) any {
				if name != "plan" {
					return nil
				}
				return r.Context().Value(claims{})
			})}},
	}
	for _, tt := range tests {
		t.Run(tt.param, func(t *testing.T) {
			t.Parallel()
			eng := newEngine(t, perValue(tt.param))
			served := 0
			h := nethttp.Middleware(eng, append(tt.opts, named("r"))...)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
			values := tt.values
			if values == nil {
				values = []string{"acme", "102", "a b"}
			}
			want := map[string]int64{}
			for _, v := range values {
				want[v] = 1
				for i := range 3 {
					r := httptest.NewRequest("POST", "/", nil)
					tt.set(r, v)
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					if i == 0 {
						require.Equal(t, 200, w.Code)
						continue
					}
					require.Equal(t, 429, w.Code)
					require.Equal(t, "param", w.Header().Get("Cordon-Refused"))
					require.NotEmpty(t, w.Header().Get("Retry-After"))
				}
			}
			require.Equal(t, len(values), served)
			require.Equal(t, want, hottest(eng))
		})
	}
}

// Requests without what a rule looks at pass, or count as one value: whatever they are like, they are no fault of the server's.
func TestServerParamsThatAreAbsent(t *testing.T) {
	t.Parallel()
	params := []string{`header["X-Tenant"]`, `query.uid`, `cookie.sid`, `path.id`, `value.x`, `peer.ip`, `client.ip`, `body.id`, `meta.x`, `attachment.x`, `arg[0].x`}
	for _, p := range params {
		for _, absent := range []paramflow.Absent{paramflow.Pass, paramflow.Count} {
			rules := perValue(p)
			rules.Param[0].Absent = absent
			var faults atomic.Int64
			eng := newEngine(t, rules, cordon.WithObserver(cordon.Observer{Fault: func(cordon.FaultEvent) { faults.Add(1) }}), cordon.WithFaultPolicy(cordon.BlockOnFault))
			h := nethttp.Middleware(eng, named("r"), nethttp.WithValues(func(*http.Request, string) any { return nil }), nethttp.WithPathPattern("/x/{id}"))(http.HandlerFunc(ok))
			for i := range 3 {
				r := httptest.NewRequest("GET", "/users/7?uid=%zz;uid", nil)
				r.RemoteAddr = "@"
				r.Header.Set("Cookie", "sid=\x01")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				want := 200
				if absent == paramflow.Count && i > 0 {
					want = 429
				}
				require.Equal(t, want, w.Code, "%s, %v", p, absent)
			}
			require.Zero(t, faults.Load(), p)
		}
	}
}

// faults #18: whoever is not behind a proxy that is trusted cannot choose what it is limited by, and who is can choose nothing but what stands before its own address.
func TestClientsCannotChooseTheirAddress(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, perValue("client.ip"))
	h := nethttp.Middleware(eng, named("r"), nethttp.WithTrustedProxies(netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")))(http.HandlerFunc(ok))
	ask := func(remote string, forwarded ...string) int {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = remote
		r.Header["X-Forwarded-For"] = forwarded
		r.Header.Set("Forwarded", "for=192.0.2.99")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	require.Equal(t, 200, ask("203.0.113.9:1", "192.0.2.1"))
	require.Equal(t, 429, ask("203.0.113.9:2", "192.0.2.2"), "no proxy: what it claims does not matter")
	require.Equal(t, 200, ask("10.0.0.1:1", "192.0.2.1"))
	require.Equal(t, 429, ask("10.0.0.2:1", "192.0.2.77, 192.0.2.1"), "the same client claims to be a proxy's")
	require.Equal(t, 429, ask("[::1]:9", "192.0.2.78", "192.0.2.1, 10.9.9.9"), "by way of two proxies")
	require.Equal(t, 200, ask("[::1]:9", "192.0.2.79:4711"), "with a port, as some proxies write")
	require.Equal(t, 429, ask("[::1]:9", "[::ffff:192.0.2.79]:4712"))
	require.Equal(t, map[string]int64{"203.0.113.9": 1, "192.0.2.1": 1, "192.0.2.79": 1}, hottest(eng))
	require.Panics(t, func() { nethttp.WithTrustedProxies(netip.Prefix{}) })
}

func TestClientIP(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "[::ffff:10.0.0.1]:80"
	r.Header.Set("X-Forwarded-For", "192.0.2.1, 192.0.2.2")
	got, ok := nethttp.ClientIP(r)
	require.True(t, ok)
	require.Equal(t, "10.0.0.1", got.String())
	got, ok = nethttp.ClientIP(r, netip.MustParsePrefix("::ffff:10.0.0.0/120"))
	require.True(t, ok)
	require.Equal(t, "192.0.2.2", got.String())
	r.RemoteAddr = "@"
	_, ok = nethttp.ClientIP(r)
	require.False(t, ok)
}

// A real server: the handler gets the whole body and its trailers however it is sent, whether a rule looks into it or not.
func TestServerBodies(t *testing.T) {
	t.Parallel()
	for _, version := range []int{1, 2} {
		t.Run(fmt.Sprint("HTTP/", version), func(t *testing.T) {
			t.Parallel()
			eng := newEngine(t, perValue("body.user.id", "body.account"), cordon.WithMaxBody(1000))
			srv := httptest.NewUnstartedServer(nethttp.Middleware(eng, named("r"))(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Length", fmt.Sprint(r.ContentLength))
				body, err := io.ReadAll(r.Body)
				if err != nil {
					w.WriteHeader(500)
					return
				}
				w.Header().Set("Sum", r.Trailer.Get("Sum"))
				_, _ = w.Write(body)
			})))
			srv.EnableHTTP2 = version == 2
			srv.StartTLS()
			t.Cleanup(srv.Close)
			post := func(body string, known bool) (status int, got string, h http.Header) {
				r, err := http.NewRequest("POST", srv.URL, strings.NewReader(body))
				require.NoError(t, err)
				r.Header.Set("Content-Type", "application/json")
				if !known {
					r.ContentLength, r.Trailer = -1, http.Header{"Sum": {"42"}}
				}
				res, err := srv.Client().Do(r)
				require.NoError(t, err)
				require.Equal(t, version, res.ProtoMajor)
				all, err := io.ReadAll(res.Body)
				require.NoError(t, err)
				require.NoError(t, res.Body.Close())
				return res.StatusCode, string(all), res.Header
			}
			for i, known := range []bool{true, false} {
				small := fmt.Sprintf(`{"user":{"id":%d},"account":"a%d"}`, i, i)
				status, got, h := post(small, known)
				require.Equal(t, 200, status)
				require.Equal(t, small, got)
				if known {
					require.Equal(t, fmt.Sprint(len(small)), h.Get("Length"))
				} else {
					require.Equal(t, "-1", h.Get("Length"))
					require.Equal(t, "42", h.Get("Sum"))
				}
				status, _, _ = post(small, known)
				require.Equal(t, 429, status)

				large := `{"user":{"id":"` + strings.Repeat("x", 200_000) + `"}}`
				for range 2 { // absent, and so not limited
					status, got, _ = post(large, known)
					require.Equal(t, 200, status)
					require.True(t, large == got)
				}
				for _, odd := range []string{`{"user":`, `not JSON`, `[]`, `{"user":{"id":null}}`, `{"user":{"id":{}}}`} {
					for range 2 {
						status, got, _ = post(odd, known)
						require.Equal(t, 200, status)
						require.Equal(t, odd, got)
					}
				}
			}
		})
	}
}

// A client that waits to be told to go on is told so only when the body is looked at.
func TestServerExpectContinue(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, perValue("body.id"), cordon.WithMaxBody(100))
	srv := httptest.NewServer(nethttp.Middleware(eng, named("r"))(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength < 100 {
			body, _ := io.ReadAll(r.Body)
			_, _ = w.Write(body)
		}
	})))
	t.Cleanup(srv.Close)
	ask := func(length int) (net.Conn, *bufio.Reader) {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		_, err = fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", length)
		require.NoError(t, err)
		return conn, bufio.NewReader(conn)
	}
	conn, in := ask(8)
	res, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.Equal(t, 100, res.StatusCode)
	_, err = io.WriteString(conn, `{"id":1}`)
	require.NoError(t, err)
	res, err = http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.Equal(t, 200, res.StatusCode)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, `{"id":1}`, string(body))

	_, in = ask(1000) // by its length not to be looked at
	res, err = http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.Equal(t, 200, res.StatusCode)
}

// A client that breaks off its body is no fault, and the handler finds out for itself.
func TestServerBodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	var faults atomic.Int64
	eng := newEngine(t, perValue("body.id"), cordon.WithFaultPolicy(cordon.BlockOnFault),
		cordon.WithObserver(cordon.Observer{Fault: func(cordon.FaultEvent) { faults.Add(1) }}))
	seen := make(chan error, 1)
	srv := httptest.NewServer(nethttp.Middleware(eng, named("r"))(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		seen <- err
	})))
	t.Cleanup(srv.Close)
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	require.NoError(t, err)
	_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{\"id\":1}")
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.Error(t, <-seen)
	require.Zero(t, faults.Load())
}

// A panic in what the caller's own function does is a fault: calls pass, or are refused as a fault is.
func TestServerValuesThatPanic(t *testing.T) {
	t.Parallel()
	for policy, want := range map[cordon.FaultPolicy]int{cordon.PassOnFault: 200, cordon.BlockOnFault: 503} {
		eng := newEngine(t, perValue("value.x"), cordon.WithFaultPolicy(policy))
		h := nethttp.Middleware(eng, named("r"), nethttp.WithValues(func(*http.Request, string) any { panic("bug") }))(http.HandlerFunc(ok))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		require.Equal(t, want, w.Code)
		require.EqualValues(t, 1, eng.Snapshot().Faults)
	}
}

// A request that is limited per value while it runs holds its place until it ends.
func TestServerParamConcurrency(t *testing.T) {
	t.Parallel()
	rules := cordon.Rules{Param: []paramflow.Rule{{ID: "p", Resource: rule.Name("r"), Param: "query.u", Mode: paramflow.Concurrency, Limit: 1}}}
	eng := newEngine(t, rules)
	var h http.Handler
	inner := map[string]int{}
	h = nethttp.Middleware(eng, named("r"))(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Again") != "" {
			return
		}
		for _, u := range []string{"a", "b"} {
			again := httptest.NewRequest("GET", "/?u="+u, nil)
			again.Header.Set("Again", "1")
			w := httptest.NewRecorder()
			h.ServeHTTP(w, again)
			inner[u] = w.Code
		}
	}))
	for range 2 {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/?u=a", nil))
		require.Equal(t, 200, w.Code)
		require.Equal(t, map[string]int{"a": 429, "b": 200}, inner)
	}
}

// A client's rules look at what it is about to send, and at the body only where a copy can be had.
func TestTransportParams(t *testing.T) {
	t.Parallel()
	for _, param := range []string{`header["X-Tenant"]`, `header.host`, `query.uid`, `cookie.sid`, `method`, `body.id`, `value.x`} {
		t.Run(param, func(t *testing.T) {
			t.Parallel()
			eng := newEngine(t, perValue(param))
			var sent []string
			base := roundTripper(func(r *http.Request) (*http.Response, error) {
				body, err := io.ReadAll(r.Body)
				sent = append(sent, string(body))
				return &http.Response{StatusCode: 200, Body: http.NoBody}, err
			})
			rt := nethttp.Transport(eng, base, named("r"), nethttp.WithValues(func(*http.Request, string) any { return "v" }))
			for i := range 2 {
				r, err := http.NewRequest("POST", "http://service/?uid=7", strings.NewReader(`{"id":7}`))
				require.NoError(t, err)
				r.Header.Set("X-Tenant", "acme")
				r.Header.Set("Content-Type", "application/json")
				r.AddCookie(&http.Cookie{Name: "sid", Value: "s"})
				_, err = rt.RoundTrip(r)
				if i == 0 {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, cordon.ErrBlocked)
				}
			}
			require.Equal(t, []string{`{"id":7}`}, sent)
		})
	}
}

func TestTransportLeavesBodiesAlone(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, perValue("body.id"), cordon.WithMaxBody(20))
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		return &http.Response{StatusCode: 200, Body: http.NoBody, Header: http.Header{"Got": {string(body)}}}, err
	})
	rt := nethttp.Transport(eng, base, named("r"))
	large := `{"id":7,"text":"` + strings.Repeat("x", 30) + `"}`
	for name, change := range map[string]func(*http.Request){
		"no copy":                  func(r *http.Request) { r.GetBody = nil },
		"copy fails":               func(r *http.Request) { r.GetBody = func() (io.ReadCloser, error) { return nil, io.ErrUnexpectedEOF } },
		"copy is nil":              func(r *http.Request) { r.GetBody = func() (io.ReadCloser, error) { return nil, nil } },
		"not JSON":                 func(r *http.Request) { r.Header.Del("Content-Type") },
		"too long":                 func(r *http.Request) { *r = *jsonRequest(t, large) },
		"too long, unknown length": func(r *http.Request) { *r = *jsonRequest(t, large); r.ContentLength = -1 },
	} {
		for range 2 {
			r := jsonRequest(t, `{"id":7}`)
			change(r)
			res, err := rt.RoundTrip(r)
			require.NoError(t, err, name)
			require.Contains(t, res.Header.Get("Got"), `{"id":7`, name)
		}
	}
	// What is refused is closed, and nothing of it read.
	_, err := rt.RoundTrip(jsonRequest(t, `{"id":7}`))
	require.NoError(t, err)
	r := jsonRequest(t, `{"id":7}`)
	watched := &closing{Reader: r.Body}
	r.Body = watched
	_, err = rt.RoundTrip(r)
	require.ErrorIs(t, err, cordon.ErrBlocked)
	require.True(t, watched.closed)
	rest, err := io.ReadAll(watched.Reader)
	require.NoError(t, err)
	require.Equal(t, `{"id":7}`, string(rest))
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error {
	c.closed = true
	return nil
}

func jsonRequest(t *testing.T, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequest("POST", "http://service/", bytes.NewReader([]byte(body)))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	return r
}

// What a checker keeps of a request is nobody else's, and gone once the call has ended.
func TestCarriersOfCheckedCalls(t *testing.T) {
	t.Parallel()
	k := &keeper{}
	eng := newEngine(t, cordon.Rules{}, cordon.WithChecker(k))
	h := nethttp.Middleware(eng, named("r"), nethttp.WithValues(func(r *http.Request, _ string) any { return r.URL.Path }))(http.HandlerFunc(ok))
	for _, path := range []string{"/a", "/b"} {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
	}
	require.Equal(t, []string{"/a", "/b"}, k.seen)
	_, found := k.carrier.Lookup(extractor.Values, "path")
	require.False(t, found)
}

// keeper is a checker that looks at what is called when the call has ended.
type keeper struct {
	seen    []string
	carrier extractor.Carrier
}

func (*keeper) Name() string                    { return "keeper" }
func (*keeper) Check(*cordon.CheckedCall) error { return nil }
func (k *keeper) Done(c *cordon.CheckedCall, _ cordon.Outcome, _ time.Duration, _ bool) {
	k.carrier = c.Request.Carrier
	v, _ := k.carrier.Lookup(extractor.Values, "path")
	k.seen = append(k.seen, v.String())
}

// A tenant can be a resource of its own, by what is in the request.
func TestNamer(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, cordon.Rules{})
	namer, err := eng.Namer(`resource + header["X-Tenant"] + body.id`)
	require.NoError(t, err)
	var seen string
	h := nethttp.Middleware(eng, named("orders"), nethttp.WithNamer(namer))(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen = string(body)
	}))
	r := jsonRequest(t, `{"id":7}`)
	h.ServeHTTP(httptest.NewRecorder(), r) // without a tenant
	r = jsonRequest(t, `{"id":7}`)
	r.Header.Set("X-Tenant", "acme")
	h.ServeHTTP(httptest.NewRecorder(), r)
	require.Equal(t, `{"id":7}`, seen)

	rt := nethttp.Transport(eng, answer(200, http.NoBody), nethttp.WithNamer(namer))
	r = jsonRequest(t, `{"id":8}`)
	r.Header.Set("X-Tenant", "acme")
	_, err = rt.RoundTrip(r)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"orders", "orders|acme|7", "service|acme|8"}, resources(eng))
}

// Rules on values cost requests of other resources nothing, and those of their own no more than the engine's part.
func TestParamAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	rules := cordon.Rules{Param: []paramflow.Rule{
		{ID: "h", Resource: rule.Name("r"), Param: `header["X-Tenant"]`, Limit: 1_000_000},
		{ID: "q", Resource: rule.Name("r"), Param: `query.uid`, Limit: 1_000_000},
		{ID: "c", Resource: rule.Name("r"), Param: `client.ip`, Limit: 1_000_000},
		{ID: "p", Resource: rule.Name("r"), Param: `path.id`, Limit: 1_000_000},
		{ID: "s", Resource: rule.Name("r"), Param: `cookie.sid`, Limit: 1_000_000},
		{ID: "n", Resource: rule.Name("refused"), Param: `header["X-Tenant"]`, Limit: 0},
	}, Flow: []flow.Rule{{ID: "f", Resource: rule.Name("r"), Limit: 1_000_000}}}
	eng := newEngine(t, rules)
	r := httptest.NewRequest("GET", "/u/7?uid=7", nil)
	r.Header.Set("X-Tenant", "acme")
	r.Header.Set("Cookie", "sid=7")
	opts := []nethttp.Option{nethttp.WithTrustedProxies(netip.MustParsePrefix("192.0.2.0/24")), nethttp.WithPathPattern("/u/{id}"),
		nethttp.WithRefusal(func(http.ResponseWriter, *http.Request, nethttp.Refusal) {})}
	w := &bare{}
	for name, most := range map[string]float64{"r": 2, "other": 2, "refused": 4} {
		h := nethttp.Middleware(eng, append(opts, named(name))...)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() { h.ServeHTTP(w, r) }), most, name)
	}
	rt := nethttp.Transport(eng, answer(200, http.NoBody), named("refused"), nethttp.WithValues(func(*http.Request, string) any { return nil }))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := rt.RoundTrip(r); err == nil {
			t.Error("must be refused")
		}
	}))
}

func BenchmarkMiddlewareParam(b *testing.B) {
	eng := newEngine(b, cordon.Rules{Param: []paramflow.Rule{{ID: "h", Resource: rule.Name("r"), Param: `header["X-Tenant"]`, Limit: 10_000_000}}})
	h := nethttp.Middleware(eng, named("r"))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-Tenant", "acme")
	w := &bare{}
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
}
