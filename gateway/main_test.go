package gateway

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const day = 24 * time.Hour

// urls are upstreams of the same weight.
func urls(urls ...string) []Upstream {
	list := make([]Upstream, len(urls))
	for i, u := range urls {
		list[i].URL = u
	}
	return list
}

// oneRoute is a configuration of the one route "r" to the upstreams.
func oneRoute(upstreams ...string) Config {
	return Config{Routes: []Route{{Name: "r", Upstreams: urls(upstreams...)}}}
}

func atOnce(limit int) Option {
	return WithEngine(cordon.WithRules(cordon.Rules{Concurrency: []flow.ConcurrencyRule{
		{ID: "at-once", Resource: rule.Name("r"), Limit: limit},
	}}))
}

func perDay(limit float64) Option {
	return WithEngine(cordon.WithRules(cordon.Rules{Flow: []flow.Rule{
		{ID: "per-day", Resource: rule.Name("r"), Limit: limit, Per: day},
	}}))
}

func failuresInRow(n float64) Option {
	return WithEngine(cordon.WithRules(cordon.Rules{Breaker: []breaker.Rule{
		{ID: "in-row", Resource: rule.Name("r"), Trip: breaker.Consecutive, Threshold: n, Open: day},
	}}))
}

// A running gateway.
type running struct {
	*Gateway
	t      *testing.T
	addr   string
	admin  string
	client *http.Client
	stop   func()       // asks Run to end
	ended  func() error // waits for Run to end
}

func run(t *testing.T, cfg Config, opts ...Option) *running {
	t.Helper()
	public, admin := listen(t), listen(t)
	g, err := New(cfg, append(opts, WithListener(public), WithAdminListener(admin))...)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- g.Run(ctx) }()
	transport := &http.Transport{DisableCompression: true}
	r := &running{
		Gateway: g, t: t, addr: public.Addr().String(), admin: "http://" + admin.Addr().String(),
		client: &http.Client{Transport: transport}, stop: stop,
		ended: sync.OnceValue(func() error { return <-result }),
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		stop()
		require.NoError(t, r.ended())
	})
	r.waitFor(func() bool { return g.current() == serving })
	return r
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return l
}

func (r *running) waitFor(ok func() bool) {
	r.t.Helper()
	require.Eventually(r.t, ok, time.Minute, time.Millisecond)
}

// ends waits until the resource's calls are as given: a client may see its answer before the gateway's handler has returned.
func (r *running) ends(want counts) {
	r.t.Helper()
	require.EventuallyWithT(r.t, func(c *assert.CollectT) { require.Equal(c, want, r.counts("r")) }, time.Minute, time.Millisecond)
}

type counts struct{ passed, succeeded, failed, ignored, inFlight int64 }

func (r *running) counts(resource string) counts {
	for _, res := range r.Engine().Snapshot().Resources {
		if res.Name == resource {
			return counts{res.Passed, res.Succeeded, res.Failed, res.Ignored, res.InFlight}
		}
	}
	return counts{}
}

// answer is an exchange's end as a client sees it.
type answer struct {
	status int
	header http.Header
	body   string
}

func (r *running) get(path string) answer {
	r.t.Helper()
	req, err := http.NewRequest("GET", "http://"+r.addr+path, nil)
	require.NoError(r.t, err)
	return r.do(req)
}

func (r *running) do(req *http.Request) answer {
	r.t.Helper()
	res, err := r.client.Do(req)
	require.NoError(r.t, err)
	body, err := io.ReadAll(res.Body)
	require.NoError(r.t, err)
	require.NoError(r.t, res.Body.Close())
	return answer{res.StatusCode, res.Header, string(body)}
}

// refused returns the only event of a refusal.
func (r *running) refused(s Status) Event {
	r.t.Helper()
	i := slices.IndexFunc(s.Events, func(e Event) bool { return e.What == "refused" })
	require.GreaterOrEqual(r.t, i, 0)
	require.False(r.t, slices.ContainsFunc(s.Events[i+1:], func(e Event) bool { return e.What == "refused" }))
	return s.Events[i]
}

// adminGet asks the admin handler.
func (r *running) adminGet(path string) answer {
	r.t.Helper()
	req, err := http.NewRequest("GET", r.admin+path, nil)
	require.NoError(r.t, err)
	return r.do(req)
}

func upstream(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// deadUpstream is an address that refuses connections.
func deadUpstream(t *testing.T) string {
	t.Helper()
	l := listen(t)
	require.NoError(t, l.Close())
	return "http://" + l.Addr().String()
}

// says answers 200 with a text.
func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func lines(s ...string) string { return strings.Join(s, "\n") + "\n" }

func newServer(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}
