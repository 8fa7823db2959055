package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/clock"
)

// What is being served when the gateway stops is served to its end; nothing new is taken; /readyz says so all the while.
func TestDraining(t *testing.T) {
	t.Parallel()
	reached, release := make(chan struct{}), make(chan struct{})
	g := run(t, oneRoute(upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		close(reached)
		<-release
		_, _ = io.WriteString(w, "whole")
	})))
	require.Equal(t, 200, g.adminGet("/readyz").status)
	var a answer
	var wg sync.WaitGroup
	wg.Go(func() { a = g.get("/") })
	<-reached
	require.Equal(t, 1, g.Status().InFlight)
	g.stop()
	g.waitFor(func() bool { return g.current() == draining })
	ready := g.adminGet("/readyz")
	require.Equal(t, 503, ready.status)
	require.Contains(t, ready.body, "draining")
	require.Equal(t, 200, g.adminGet("/healthz").status)
	g.waitFor(func() bool { // Shutdown has closed the listener
		conn, err := net.Dial("tcp", g.addr)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	close(release)
	wg.Wait()
	require.Equal(t, "whole", a.body)
	require.NoError(t, g.ended())
	require.Equal(t, "stopped", g.Status().State)
}

// Upgraded connections are waited for too, and cut off when the grace is over.
func TestGraceEnds(t *testing.T) {
	t.Parallel()
	clk := clock.NewManual()
	g := run(t, oneRoute(upstream(t, echoUpgrade)), WithClock(clk))
	conn, br, code := g.upgrade("websocket")
	require.Equal(t, 101, code)
	g.stop()
	clk.BlockUntil(1)
	_, err := io.WriteString(conn, "still here\n")
	require.NoError(t, err)
	line, err := br.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "still here\n", line)
	clk.Advance(30 * time.Second)
	require.NoError(t, g.ended())
	_, err = br.ReadByte()
	require.Error(t, err, "the connection was cut")
	require.Zero(t, g.Status().InFlight)
}

// A stream that is cut off at the end of the grace was not the upstream's failure.
func TestStreamsAreCutOff(t *testing.T) {
	t.Parallel()
	clk := clock.NewManual()
	g := run(t, oneRoute(upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})), WithClock(clk))
	res, err := g.client.Get("http://" + g.addr)
	require.NoError(t, err)
	g.stop()
	clk.BlockUntil(1)
	clk.Advance(30 * time.Second)
	require.NoError(t, g.ended())
	_, err = io.ReadAll(res.Body)
	require.Error(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, counts{passed: 1, ignored: 1}, g.counts("r"))
}

func TestRunsOnce(t *testing.T) {
	t.Parallel()
	g := run(t, oneRoute("http://127.0.0.1:1"))
	require.ErrorIs(t, g.Run(t.Context()), ErrRunning)
	require.Equal(t, 200, g.adminGet("/readyz").status)
}

func TestRunFailsToListen(t *testing.T) {
	t.Parallel()
	taken := listen(t)
	defer taken.Close()
	c := oneRoute("http://127.0.0.1:1")
	c.Listen, c.Admin = "127.0.0.1:0", taken.Addr().String()
	g, err := New(c)
	require.NoError(t, err)
	err = g.Run(t.Context())
	require.ErrorContains(t, err, "address already in use")
	require.NoError(t, g.Close(), "closed already")
}

func TestRunWithoutAdmin(t *testing.T) {
	t.Parallel()
	c := oneRoute("http://127.0.0.1:1")
	c.Listen, c.Admin = "127.0.0.1:0", "none"
	g, err := New(c)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, g.Run(ctx))
}

func TestRunReturnsWhenServingFails(t *testing.T) {
	t.Parallel()
	l := listen(t)
	require.NoError(t, l.Close())
	c := oneRoute("http://127.0.0.1:1")
	c.Admin = "none"
	g, err := New(c, WithListener(l))
	require.NoError(t, err)
	require.ErrorIs(t, g.Run(t.Context()), net.ErrClosed)
}

// A gateway is not ready until every file's rules have been in force once; then a broken file changes nothing.
func TestReadiness(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rules.yaml")
	c := oneRoute(upstream(t, says("x")))
	c.Rules = []RuleSource{{File: path}}
	var logged safeBuffer
	g := run(t, c, WithLogger(slog.New(slog.NewTextHandler(&logged, nil))))
	ready := g.adminGet("/readyz")
	require.Equal(t, 503, ready.status)
	require.Contains(t, ready.body, path)
	require.Equal(t, 200, g.get("/").status, "it serves all the same")
	require.Contains(t, logged.String(), "rules are not in force")

	require.NoError(t, os.WriteFile(path, []byte("cordon: 1\nflow: [{id: none, resource: r, limit: 0}]\n"), 0o600))
	g.waitFor(func() bool { return g.adminGet("/readyz").status == 200 })
	require.Equal(t, 429, g.get("/").status)

	require.NoError(t, os.WriteFile(path, []byte("cordon: 1\nflow: [{id: none, resource: r, limit: many}]\n"), 0o600))
	g.waitFor(func() bool {
		sources := g.Engine().Snapshot().Sources
		return len(sources) == 2 && sources[0].LastError != "" // the other one is the gateway's own
	})
	require.Equal(t, 200, g.adminGet("/readyz").status)
	require.Equal(t, 429, g.get("/").status, "the last good rules stay")
}

func TestAdmin(t *testing.T) {
	t.Parallel()
	g := run(t, oneRoute(upstream(t, says("x"))), perDay(1), WithMetrics(func(eng *cordon.Engine) http.Handler {
		require.NotNil(t, eng)
		return says("metrics")
	}))
	g.get("/")
	g.get("/")
	require.Equal(t, "metrics", g.adminGet("/metrics").body)
	require.Equal(t, "ok\n", g.adminGet("/healthz").body)
	a := g.adminGet("/")
	require.Equal(t, 200, a.status)
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
	var s Status
	require.NoError(t, json.Unmarshal([]byte(a.body), &s))
	require.Equal(t, "serving", s.State)
	require.Empty(t, s.NotReady)
	require.Len(t, s.Engine.Resources, 1)
	require.Equal(t, int64(1), s.Engine.Resources[0].Blocked["flow"])
	require.Equal(t, "r", g.refused(s).Resource)
	require.Equal(t, 404, g.adminGet("/else").status)
	res, err := http.Post(g.admin+"/", "text/plain", nil)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, 405, res.StatusCode)
	http.DefaultClient.CloseIdleConnections()
}

// Mounted elsewhere, a gateway serves without Run.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	g, err := New(oneRoute(upstream(t, says("x"))))
	require.NoError(t, err)
	defer g.Close()
	srv := newServer(t, g)
	res, err := srv.Client().Get(srv.URL)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, 200, res.StatusCode)
}

// safeBuffer is a buffer that may be written and read at once.
type safeBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// A rule for a resource that no route has protects nothing, and mostly means a misspelt name: it is said.
func TestRulesThatNoRouteHasAreTold(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(path, []byte(`cordon: 1
flow: [{id: typo, resource: ordres, limit: 1}, {id: good, resource: r, limit: 9}, {id: any, resource: {wildcard: "x*"}, limit: 9}]
`), 0o600))
	c := oneRoute(upstream(t, says("x")))
	c.Rules = []RuleSource{{File: path}}
	var logged safeBuffer
	g := run(t, c, WithLogger(slog.New(slog.NewTextHandler(&logged, nil))))
	require.Contains(t, logged.String(), `flow typo (for \"ordres\")`)
	require.NotContains(t, logged.String(), "flow good")
	require.Contains(t, g.adminGet("/").body, "no route has the resource of these rules: flow typo")

	require.NoError(t, os.WriteFile(path, []byte("cordon: 1\nflow: [{id: good, resource: r, limit: 9}]\n"), 0o600))
	g.waitFor(func() bool { return len(g.Engine().Rules().Flow) == 1 })
	require.Empty(t, g.idleRules())
}
