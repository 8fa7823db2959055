package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

// seen answers with what the upstream was asked.
func seen(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"method": r.Method, "uri": r.RequestURI, "host": r.Host, "header": r.Header, "body": string(body),
	})
}

type sight struct {
	Method, URI, Host, Body string
	Header                  http.Header
}

func sightOf(t *testing.T, a answer) (s sight) {
	t.Helper()
	require.Equal(t, 200, a.status, a.body)
	require.NoError(t, json.Unmarshal([]byte(a.body), &s))
	return s
}

func TestForwarding(t *testing.T) {
	t.Parallel()
	up := upstream(t, seen)
	upHost := strings.TrimPrefix(up, "http://")
	g := run(t, Config{Routes: []Route{
		{Name: "plain", Upstreams: urls(up)},
		{Name: "strip", Prefix: "/strip", StripPrefix: true, Upstreams: urls(up + "/base")},
		{Name: "host", Prefix: "/host", PreserveHost: true, Upstreams: urls(up)},
	}})
	s := sightOf(t, g.get("/a%2Fb/c?x=1&y=%20"))
	require.Equal(t, "/a%2Fb/c?x=1&y=%20", s.URI)
	require.Equal(t, upHost, s.Host)
	require.Empty(t, s.Header.Get("Accept-Encoding"), "the gateway asks for nothing of its own")
	require.Equal(t, "/base/b%2Fc?z", sightOf(t, g.get("/strip/b%2Fc?z")).URI)
	require.Equal(t, "/base/", sightOf(t, g.get("/strip")).URI)
	require.Equal(t, g.addr, sightOf(t, g.get("/host")).Host)

	r, err := http.NewRequest("POST", "http://"+g.addr+"/x", strings.NewReader("hello"))
	require.NoError(t, err)
	r.Header.Set("X-Forwarded-For", "6.6.6.6")
	r.Header.Set("X-Forwarded-Proto", "https")
	r.Header.Set("Connection", "X-Hop")
	r.Header.Set("X-Hop", "secret")
	r.Header.Set("Proxy-Authorization", "secret")
	r.Header.Set("Accept-Encoding", "br")
	s = sightOf(t, g.do(r))
	require.Equal(t, "hello", s.Body)
	require.Equal(t, "POST", s.Method)
	require.Equal(t, "127.0.0.1", s.Header.Get("X-Forwarded-For"), "what the client claims is not believed")
	require.Equal(t, "http", s.Header.Get("X-Forwarded-Proto"))
	require.Equal(t, g.addr, s.Header.Get("X-Forwarded-Host"))
	require.Empty(t, s.Header.Get("X-Hop"))
	require.Empty(t, s.Header.Get("Proxy-Authorization"))
	require.Equal(t, "br", s.Header.Get("Accept-Encoding"))
	g.waitFor(func() bool { return g.counts("plain") == counts{passed: 2, succeeded: 2} })
}

func TestTrustedForwarding(t *testing.T) {
	t.Parallel()
	c := oneRoute(upstream(t, seen))
	c.TrustForwarded = true
	g := run(t, c)
	r, err := http.NewRequest("GET", "http://"+g.addr+"/", nil)
	require.NoError(t, err)
	r.Header["X-Forwarded-For"] = []string{"1.1.1.1", "2.2.2.2"}
	r.Header.Set("X-Forwarded-Proto", "https")
	r.Header.Set("X-Forwarded-Host", "shop.example.com")
	s := sightOf(t, g.do(r))
	require.Equal(t, "1.1.1.1, 2.2.2.2, 127.0.0.1", s.Header.Get("X-Forwarded-For"))
	require.Equal(t, "https", s.Header.Get("X-Forwarded-Proto"))
	require.Equal(t, "shop.example.com", s.Header.Get("X-Forwarded-Host"))
}

func TestRoundRobin(t *testing.T) {
	t.Parallel()
	g := run(t, oneRoute(upstream(t, says("a")), upstream(t, says("b")), upstream(t, says("c"))))
	var got string
	for range 6 {
		got += g.get("/").body
	}
	require.Contains(t, "abcabcabc", got, "in turn, from any of them on")
}

// What one upstream refuses to be connected for goes to the next, body and all.
func TestRefusedConnectionsGoOn(t *testing.T) {
	t.Parallel()
	g := run(t, oneRoute(deadUpstream(t), deadUpstream(t), upstream(t, seen)))
	for range 3 {
		r, err := http.NewRequest("POST", "http://"+g.addr+"/", strings.NewReader("hello"))
		require.NoError(t, err)
		require.Equal(t, "hello", sightOf(t, g.do(r)).Body)
	}
	g.ends(counts{passed: 3, succeeded: 3})
}

func TestAllUpstreamsRefuse(t *testing.T) {
	t.Parallel()
	g := run(t, oneRoute(deadUpstream(t), deadUpstream(t)), failuresInRow(3))
	for range 3 {
		a := g.get("/")
		require.Equal(t, 502, a.status)
		require.Equal(t, "application/problem+json", a.header.Get("Content-Type"))
		require.NotContains(t, a.body, "127.0.0.1", "clients do not learn of upstreams")
	}
	g.ends(counts{passed: 3, failed: 3})
	a := g.get("/")
	require.Equal(t, 503, a.status)
	require.Equal(t, "breaker", a.header.Get("Cordon-Refused"))
	require.NotEmpty(t, a.header.Get("Retry-After"))
}

// A request that an upstream may have seen is not sent to another: the second upstream is never asked.
func TestSentRequestsAreNotRepeated(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	slam := func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	}
	g := run(t, oneRoute(upstream(t, slam), upstream(t, slam)))
	for i, body := range []io.Reader{strings.NewReader("once"), nil} {
		r, err := http.NewRequest("POST", "http://"+g.addr+"/", body)
		require.NoError(t, err)
		require.Equal(t, 502, g.do(r).status)
		require.Equal(t, int64(i+1), asked.Load())
	}
	g.ends(counts{passed: 2, failed: 2})
}

func TestUnroutedRequestsAreNoResources(t *testing.T) {
	t.Parallel()
	c := oneRoute(upstream(t, says("x")))
	c.Routes[0].Prefix, c.Routes[0].Methods = "/r", []string{"GET", "HEAD"}
	g := run(t, c)
	for i := range 50 {
		require.Equal(t, 404, g.get(fmt.Sprintf("/scan/%d", i)).status)
	}
	r, err := http.NewRequest("DELETE", "http://"+g.addr+"/r/1", nil)
	require.NoError(t, err)
	a := g.do(r)
	require.Equal(t, 405, a.status)
	require.Equal(t, "GET, HEAD", a.header.Get("Allow"))
	require.Empty(t, g.Engine().Snapshot().Resources)
	require.Equal(t, int64(51), g.Status().Unrouted)
}

// A path with dots might be read as another route's by the upstream: a limit of /admin must not be got around by /r/../admin.
func TestDotSegmentsAreRefused(t *testing.T) {
	t.Parallel()
	g := run(t, oneRoute(upstream(t, func(http.ResponseWriter, *http.Request) { t.Error("must not be asked") })))
	for _, p := range []string{"/r/../admin", "/r/%2e%2e/admin", "/r%2f..%2fadmin", "/./r"} {
		conn, err := net.Dial("tcp", g.addr)
		require.NoError(t, err)
		_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", p)
		require.NoError(t, err)
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.Equal(t, 400, res.StatusCode, p)
		require.NoError(t, res.Body.Close())
		require.NoError(t, conn.Close())
	}
}

func TestRatesAndRefusals(t *testing.T) {
	t.Parallel()
	g := run(t, oneRoute(upstream(t, says("x"))), perDay(3))
	var statuses []int
	for range 5 {
		statuses = append(statuses, g.get("/").status)
	}
	require.Equal(t, []int{200, 200, 200, 429, 429}, statuses)
	e := g.refused(g.Status())
	require.Equal(t, [3]any{"flow", "per-day", int64(2)}, [3]any{e.Kind, e.Rule, e.Count})
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	up := upstream(t, says("x"))
	c := Config{
		OriginHeader: "X-Client",
		Routes:       []Route{{Name: "r", Upstreams: urls(up)}, {Name: "fixed", Prefix: "/fixed", Origin: "mobile", Upstreams: urls(up)}},
	}
	g := run(t, c, WithEngine(cordon.WithRules(cordon.Rules{Flow: []flow.Rule{
		{ID: "web", Resource: rule.Name("r"), Limit: 0, Origin: "web"},
		{ID: "mobile", Resource: rule.Name("fixed"), Limit: 0, Origin: "mobile"},
	}})))
	ask := func(path, client string) int {
		r, err := http.NewRequest("GET", "http://"+g.addr+path, nil)
		require.NoError(t, err)
		r.Header.Set("X-Client", client)
		return g.do(r).status
	}
	require.Equal(t, 429, ask("/", "web"))
	require.Equal(t, 200, ask("/", "app"))
	require.Equal(t, 429, ask("/fixed", "web"), "a route's own origin wins over the header")
}

// The limit holds over HTTP: never more at the upstream at once, and every place comes back.
func TestConcurrencyLimitHolds(t *testing.T) {
	t.Parallel()
	const limit = 4
	var now, most atomic.Int64
	g := run(t, oneRoute(upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 5000))
	})), atOnce(limit))
	var wg sync.WaitGroup
	var passed atomic.Int64
	for range 16 {
		wg.Go(func() {
			for range 30 {
				if g.get("/").status == 200 {
					passed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	require.LessOrEqual(t, most.Load(), int64(limit))
	g.ends(counts{passed: passed.Load(), succeeded: passed.Load()})
}

// faults #68 through a gateway: streams hold their places until they end; who hangs up is no failure.
func TestServerSentEvents(t *testing.T) {
	t.Parallel()
	g := run(t, oneRoute(upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})), atOnce(2))
	var open []*http.Response
	for range 2 {
		res, err := g.client.Get("http://" + g.addr)
		require.NoError(t, err)
		line, err := bufio.NewReader(res.Body).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "data: 1\n", line, "events are not held back")
		open = append(open, res)
	}
	require.Equal(t, 503, g.get("/").status)
	require.NoError(t, open[0].Body.Close())
	g.ends(counts{passed: 2, ignored: 1, inFlight: 1})
	require.NoError(t, open[1].Body.Close())
	g.ends(counts{passed: 2, ignored: 2})
}

func echoUpgrade(w http.ResponseWriter, r *http.Request) {
	conn, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + r.Header.Get("Upgrade") + "\r\n\r\n")
	for {
		_ = rw.Flush()
		line, err := rw.ReadString('\n')
		if err != nil {
			return
		}
		_, _ = rw.WriteString(line)
	}
}

func (r *running) upgrade(protocol string) (net.Conn, *bufio.Reader, int) {
	r.t.Helper()
	conn, err := net.Dial("tcp", r.addr)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: "+protocol+"\r\n\r\n")
	require.NoError(r.t, err)
	br := bufio.NewReader(conn)
	res, err := http.ReadResponse(br, nil)
	require.NoError(r.t, err)
	return conn, br, res.StatusCode
}

func TestUpgrades(t *testing.T) {
	t.Parallel()
	g := run(t, oneRoute(upstream(t, echoUpgrade)), atOnce(1))
	conn, br, code := g.upgrade("websocket")
	require.Equal(t, 101, code)
	for _, s := range []string{"one\n", "two\n"} {
		_, err := io.WriteString(conn, s)
		require.NoError(t, err)
		line, err := br.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, s, line)
	}
	_, _, code = g.upgrade("websocket")
	require.Equal(t, 503, code)
	require.NoError(t, conn.Close())
	g.ends(counts{passed: 1, succeeded: 1})
}

// What only the client can have done does not count against the upstream: a client must not be able to open the breaker.
func TestClientsFaultsAreIgnored(t *testing.T) {
	t.Parallel()
	reached := make(chan struct{}, 100)
	c := oneRoute(upstream(t, func(w http.ResponseWriter, r *http.Request) {
		reached <- struct{}{}
		if _, err := io.Copy(io.Discard, r.Body); err == nil && r.URL.Path == "/wait" {
			<-r.Context().Done()
		}
	}))
	c.Limits = Limits{BodyBytes: 1000, HeaderBytes: 4096}
	c.Timeouts.Read = 200 * time.Millisecond
	var logged safeBuffer
	g := run(t, c, failuresInRow(1), WithLogger(slog.New(slog.NewTextHandler(&logged, nil))))

	t.Log("a header that is too large")
	r, err := http.NewRequest("GET", "http://"+g.addr, nil)
	require.NoError(t, err)
	r.Header.Set("X-Big", strings.Repeat("x", 20_000))
	require.Equal(t, 431, g.do(r).status)

	t.Log("a body that says that it is too large")
	r, err = http.NewRequest("POST", "http://"+g.addr, strings.NewReader(strings.Repeat("x", 1001)))
	require.NoError(t, err)
	require.Equal(t, 413, g.do(r).status)
	require.Zero(t, g.counts("r"), "the engine hears of neither")

	t.Log("a protocol without a name")
	_, _, code := g.upgrade("\xff")
	require.Equal(t, 400, code)
	require.Zero(t, g.counts("r"))

	t.Log("a body that turns out to be too large")
	r, err = http.NewRequest("POST", "http://"+g.addr, io.MultiReader(strings.NewReader(strings.Repeat("x", 1001))))
	require.NoError(t, err)
	require.Equal(t, 413, g.do(r).status)
	g.ends(counts{passed: 1, ignored: 1})

	t.Log("a body that breaks off")
	conn, err := net.Dial("tcp", g.addr)
	require.NoError(t, err)
	drain(reached)
	_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
	require.NoError(t, err)
	<-reached
	require.NoError(t, conn.Close())
	g.ends(counts{passed: 2, ignored: 2})

	t.Log("a body that takes too long")
	conn, err = net.Dial("tcp", g.addr)
	require.NoError(t, err)
	_, err = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
	require.NoError(t, err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.Equal(t, 408, res.StatusCode)
	require.NoError(t, res.Body.Close())
	require.NoError(t, conn.Close())
	g.ends(counts{passed: 3, ignored: 3})

	t.Log("a client that does not wait")
	ctx, cancel := context.WithCancel(t.Context())
	r, err = http.NewRequestWithContext(ctx, "GET", "http://"+g.addr+"/wait", nil)
	require.NoError(t, err)
	drain(reached)
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := g.client.Do(r)
		require.ErrorIs(t, err, context.Canceled)
	})
	<-reached
	cancel()
	wg.Wait()
	g.ends(counts{passed: 4, ignored: 4})

	require.Equal(t, 200, g.get("/").status, "the breaker is closed")
	for _, status := range []string{"status=413", "status=499", "status=408"} {
		require.Contains(t, logged.String(), status)
	}
	require.NotContains(t, logged.String(), "level=WARN")
}

func drain(c chan struct{}) {
	for {
		select {
		case <-c:
		default:
			return
		}
	}
}

func TestUpstreamsFaults(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	tests := []struct {
		name    string
		handler http.HandlerFunc
		status  int // 0: the answer breaks off
		want    counts
	}{
		{"500", status(500), 500, counts{passed: 1, failed: 1}},
		{"404", status(404), 404, counts{passed: 1, succeeded: 1}},
		{"silence", func(http.ResponseWriter, *http.Request) { <-release }, 504, counts{passed: 1, failed: 1}},
		{"breaks off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, 0, counts{passed: 1, failed: 1}},
		{"huge header", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Big", strings.Repeat("x", 20_000))
		}, 502, counts{passed: 1, failed: 1}},
		{"switches to another protocol", func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Upgrade", "other")
			echoUpgrade(w, r)
		}, 502, counts{passed: 1, failed: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(tt.handler)
			defer srv.Close()
			c := oneRoute(srv.URL)
			c.Limits.ResponseHeaderBytes = 4096
			if tt.name == "silence" {
				c.Timeouts.ResponseHeader = 20 * time.Millisecond
				defer close(release)
			}
			g := run(t, c)
			if tt.status != 0 {
				require.Equal(t, tt.status, g.get("/").status)
			} else {
				res, err := g.client.Get("http://" + g.addr)
				require.NoError(t, err)
				_, err = io.ReadAll(res.Body)
				require.Error(t, err, "a broken answer must not look whole")
				require.NoError(t, res.Body.Close())
			}
			g.ends(tt.want)
		})
	}
}

// An upstream that does not take what it is sent is given up.
func TestUpstreamThatDoesNotRead(t *testing.T) {
	t.Parallel()
	l := listen(t)
	defer l.Close()
	held := make(chan net.Conn, 1)
	go func() {
		if conn, err := l.Accept(); err == nil {
			held <- conn
		}
	}()
	c := oneRoute("http://" + l.Addr().String())
	c.Timeouts.Send = 50 * time.Millisecond
	c.Limits.BodyBytes = -1
	g := run(t, c)
	r, err := http.NewRequest("POST", "http://"+g.addr, zeros{})
	require.NoError(t, err)
	res, err := g.client.Do(r)
	if err == nil { // the gateway may close the connection before the client has read the answer: it is still sending
		require.Equal(t, 504, res.StatusCode)
		require.NoError(t, res.Body.Close())
	}
	g.ends(counts{passed: 1, failed: 1})
	require.NoError(t, (<-held).Close())
}

// zeros is a body without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// faults #70 through a gateway: the refusal of an upstream that runs cordon passes, and does not count against it.
func TestUpstreamsRefusalIsNoFailure(t *testing.T) {
	t.Parallel()
	eng, err := cordon.New(cordon.WithRules(cordon.Rules{Concurrency: []flow.ConcurrencyRule{{ID: "c", Resource: rule.Default(), Limit: 0}}}))
	require.NoError(t, err)
	defer eng.Close()
	srv := httptest.NewServer(nethttp.Middleware(eng)(says("x")))
	defer srv.Close()
	g := run(t, oneRoute(srv.URL), WithEngine(cordon.WithRules(cordon.Rules{Breaker: []breaker.Rule{
		{ID: "b", Resource: rule.Name("r"), Trip: breaker.Consecutive, Threshold: 2, Open: day},
	}})))
	for range 5 {
		a := g.get("/")
		require.Equal(t, 503, a.status)
		require.Equal(t, "concurrency", a.header.Get("Cordon-Refused"))
	}
	g.ends(counts{passed: 5, ignored: 5})
}

func TestTrailersAndEarlyHints(t *testing.T) {
	t.Parallel()
	g := run(t, oneRoute(upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		w.Header().Set("Link", "</a>; rel=preload")
		w.WriteHeader(103)
		_, _ = io.WriteString(w, "body")
		w.Header().Set("X-Sum", "7")
	})))
	res, err := g.client.Get("http://" + g.addr)
	require.NoError(t, err)
	_, err = io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, "7", res.Trailer.Get("X-Sum"))
	g.ends(counts{passed: 1, succeeded: 1})
}
