package nethttp_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/rule"
)

// A poolTest is a pool by a clock of its own, with what its instances were sent and how they did.
type poolTest struct {
	*nethttp.Pool
	t   testing.TB
	clk *clock.Manual

	mu    sync.Mutex // guards what follows
	sent  []string   // the hosts, in order
	ended []isolation.Outcome
}

// newPool returns a pool whose base is asked with the host alone. A base of nil is http.DefaultTransport's kind.
func newPool(t testing.TB, list []nethttp.Target, base http.RoundTripper, change ...func(*nethttp.PoolConfig)) *poolTest {
	t.Helper()
	p := &poolTest{t: t, clk: clock.NewManual()}
	group, err := isolation.NewGroup("s", isolation.Config{})
	require.NoError(t, err)
	t.Cleanup(group.Close)
	cfg := nethttp.PoolConfig{Clock: p.clk, Balance: balance.Options{Seed: 1}, Outcome: func(a nethttp.Attempt) isolation.Outcome {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.ended = append(p.ended, a.Default)
		return a.Default
	}}
	cfg.Base = roundTripper(func(r *http.Request) (*http.Response, error) {
		p.mu.Lock()
		p.sent = append(p.sent, r.URL.Host)
		p.mu.Unlock()
		return base.RoundTrip(r)
	})
	for _, c := range change {
		c(&cfg)
	}
	p.Pool, err = nethttp.NewGroupPool(group, list, cfg)
	require.NoError(t, err)
	return p
}

// hosts returns targets of these hosts.
func hosts(names ...string) []nethttp.Target {
	var list []nethttp.Target
	for _, n := range names {
		list = append(list, nethttp.Target{URL: "http://" + n})
	}
	return list
}

// instances returns the group's instances by host.
func (p *poolTest) instances() map[string]isolation.InstanceSnapshot {
	all := map[string]isolation.InstanceSnapshot{}
	for _, i := range p.Group().Snapshot(p.clk.Now()).Instances {
		all[strings.TrimPrefix(i.Address, "http://")] = i
	}
	return all
}

// all adds up what all instances have seen.
func (p *poolTest) all() (calls, failures int64, inFlight int) {
	for _, i := range p.instances() {
		calls, failures, inFlight = calls+i.Calls, failures+i.Failures, inFlight+i.InFlight
	}
	return calls, failures, inFlight
}

func (p *poolTest) outcomes() []isolation.Outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.ended)
}

// ask sends a request of that method without a body, reads the answer, and returns its status.
func (p *poolTest) ask(method string) (int, error) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, "http://s/", nil)
	require.NoError(p.t, err)
	res, err := p.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	require.NoError(p.t, res.Body.Close())
	return res.StatusCode, err
}

// answers answers by host; what it has no answer for is answered with 200.
type answers map[string]func(*http.Request) (*http.Response, error)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if f := a[r.URL.Host]; f != nil {
		return f(r)
	}
	return answer(200, http.NoBody)(r)
}

func fails(err error) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, err
	}
}

var errRefused error = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}

// addressOf returns the address that a URL makes.
func addressOf(t *testing.T, url string) string {
	t.Helper()
	p := newPool(t, []nethttp.Target{{URL: url}}, answers{})
	return p.Group().Snapshot(0).Instances[0].Address
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"HTTP://API.Example.com:80/":   "http://api.example.com",
		"https://a:443/x/":             "https://a/x",
		"https://a:80":                 "https://a:80",
		"http://a:/":                   "http://a",
		"http://[::1]:80/a%2Fb/":       "http://[::1]/a%2Fb",
		"http://[FE80::1%25Eth0]:80":   "http://[fe80::1%25Eth0]",
		"http://10.0.0.1:8080/v1/api/": "http://10.0.0.1:8080/v1/api",
	} {
		require.Equal(t, want, addressOf(t, url))
	}
}

// A request goes below its instance's URL, with the instance's host unless the one asked for is to be kept. It is not changed itself.
func TestPoolAddressesRequests(t *testing.T) {
	t.Parallel()
	var got *http.Request
	look := roundTripper(func(r *http.Request) (*http.Response, error) {
		got = r
		return answer(200, http.NoBody)(r)
	})
	keep := func(c *nethttp.PoolConfig) { c.PreserveHost = true }
	for _, tt := range []struct {
		target, url string
		change      func(*nethttp.PoolConfig)
		want, host  string
	}{
		{"http://10.0.0.1:80", "http://orders/a%2Fb?x=1", nil, "http://10.0.0.1/a%2Fb?x=1", ""},
		{"https://a:8443/base/", "http://orders/v1", nil, "https://a:8443/base/v1", ""},
		{"http://a/base", "http://orders", nil, "http://a/base/", ""},
		{"http://a/x%2Fy", "http://orders/z", nil, "http://a/x%2Fy/z", ""},
		{"http://a", "http://orders:9/v1", keep, "http://a/v1", "orders:9"},
	} {
		var opts []func(*nethttp.PoolConfig)
		if tt.change != nil {
			opts = append(opts, tt.change)
		}
		p := newPool(t, []nethttp.Target{{URL: tt.target}}, look, opts...)
		req := httptest.NewRequest("GET", tt.url, nil)
		res, err := p.RoundTrip(req)
		require.NoError(t, err)
		require.Equal(t, tt.want, got.URL.String())
		require.Equal(t, tt.host, got.Host)
		require.Equal(t, tt.url, req.URL.String())
		require.NotSame(t, req, got)
		require.Same(t, got, res.Request)
	}
}

func TestPoolOutcomes(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	read := func(res *http.Response) { _, _ = io.ReadAll(res.Body) }
	closeIt := func(res *http.Response) { _ = res.Body.Close() }
	text := func() io.ReadCloser { return io.NopCloser(strings.NewReader("hello")) }
	timeout := &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
	marked := func(status int) roundTripper {
		return func(r *http.Request) (*http.Response, error) {
			res, err := answer(status, text())(r)
			res.Header.Set("Cordon-Refused", "flow")
			return res, err
		}
	}
	tests := []struct {
		name string
		base roundTripper
		use  func(*http.Response)
		want isolation.Outcome
	}{
		{"read to the end", answer(200, text()), read, isolation.Success},
		{"read and closed twice", answer(200, text()), func(r *http.Response) { read(r); closeIt(r); closeIt(r) }, isolation.Success},
		{"closed early", answer(200, text()), closeIt, isolation.Success},
		{"404", answer(404, text()), read, isolation.Success},
		{"429", answer(429, text()), read, isolation.Throttled},
		{"429 of cordon", marked(429), read, isolation.Throttled},
		{"503 of cordon", marked(503), read, isolation.Throttled},
		{"500 with the mark", marked(500), read, isolation.Failure},
		{"500", answer(500, text()), read, isolation.Failure},
		{"503 closed early", answer(503, text()), closeIt, isolation.Failure},
		{"507", answer(507, http.NoBody), nil, isolation.Failure},
		{"no body", answer(204, http.NoBody), nil, isolation.Success},
		{"nil body", answer(200, nil), nil, isolation.Success},
		{"breaks off", answer(200, io.NopCloser(io.MultiReader(strings.NewReader("he"), failingReader{broken}))), read, isolation.Failure},
		{"breaks off, then closed", answer(200, io.NopCloser(failingReader{broken})), func(r *http.Response) { read(r); closeIt(r) }, isolation.Failure},
		{"no answer", fails(broken), nil, isolation.Failure},
		{"neither answer nor error", fails(nil), nil, isolation.Failure},
		{"connection refused", fails(errRefused), nil, isolation.LocalError},
		{"unknown name", fails(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}), nil, isolation.LocalError},
		{"bad certificate", fails(&tls.CertificateVerificationError{Err: broken}), nil, isolation.LocalError},
		{"no TLS", fails(tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}), nil, isolation.LocalError},
		{"a TLS alert", fails(&net.OpError{Op: "remote error", Err: broken}), nil, isolation.LocalError},
		{"no connection in time", fails(timeout), nil, isolation.Failure},
		{"no name in time", fails(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "i/o timeout", IsTimeout: true}}), nil, isolation.Failure},
		{"no answer in time", fails(context.DeadlineExceeded), nil, isolation.Failure},
		{"reset", fails(&net.OpError{Op: "read", Err: syscall.ECONNRESET}), nil, isolation.Failure},
		{"refused by a transport beneath", fails(fmt.Errorf("peer: %w", cordon.ErrBlocked)), nil, isolation.Ignored},
		{"cancelled beneath", fails(fmt.Errorf("peer: %w", context.Canceled)), nil, isolation.Ignored},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, hosts("a"), tt.base)
			res, _ := p.RoundTrip(get(t, t.Context()))
			if tt.use != nil {
				require.Equal(t, 1, p.instances()["a"].InFlight, "the body is still to come")
				require.Empty(t, p.outcomes())
				tt.use(res)
			}
			require.Equal(t, []isolation.Outcome{tt.want}, p.outcomes(), "once")
			calls, failures, inFlight := p.all()
			require.Zero(t, inFlight)
			require.Equal(t, tt.want != isolation.Ignored, calls == 1)
			require.Equal(t, tt.want != isolation.Ignored && tt.want != isolation.Success, failures == 1)
		})
	}
}

// The hook decides, and if it panics the default stands and somebody is told.
func TestPoolOutcomeHook(t *testing.T) {
	t.Parallel()
	var faults []error
	judge := func(o isolation.Outcome) func(*nethttp.PoolConfig) {
		return func(c *nethttp.PoolConfig) {
			c.Fault = func(err error) { faults = append(faults, err) }
			c.Outcome = func(a nethttp.Attempt) isolation.Outcome {
				require.Equal(t, "http://a", a.Address)
				require.Equal(t, 404, a.Status)
				require.Equal(t, isolation.Success, a.Default)
				if o == isolation.Ignored {
					panic(errBug)
				}
				return o
			}
		}
	}
	p := newPool(t, hosts("a"), answer(404, http.NoBody), judge(isolation.Failure))
	_, err := p.ask("GET")
	require.NoError(t, err)
	require.EqualValues(t, 1, p.instances()["a"].Failures)
	require.Empty(t, faults)

	p = newPool(t, hosts("a"), answer(404, http.NoBody), judge(isolation.Ignored))
	_, err = p.ask("GET")
	require.NoError(t, err)
	require.Zero(t, p.instances()["a"].Failures)
	require.EqualValues(t, 1, p.instances()["a"].Calls)
	require.Equal(t, []error{errBug}, faults)
}

// A success's latency is the time until its header came, however long its reader took.
func TestPoolLatency(t *testing.T) {
	t.Parallel()
	var p *poolTest
	p = newPool(t, hosts("a"), roundTripper(func(r *http.Request) (*http.Response, error) {
		p.clk.Advance(70 * time.Millisecond)
		return answer(200, io.NopCloser(strings.NewReader("x")))(r)
	}))
	res, err := p.RoundTrip(get(t, t.Context()))
	require.NoError(t, err)
	p.clk.Advance(time.Hour)
	_, err = io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, 70*time.Millisecond, p.instances()["a"].Latency)
}

// The caller may give up for reasons of its own; its deadline is the instance's failure, as with Transport.
func TestPoolCallersContext(t *testing.T) {
	t.Parallel()
	wait := roundTripper(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, context.Cause(r.Context())
	})
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, hosts("a", "b"), wait)
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Millisecond, func() { cancel(errors.New("changed my mind")) })
		_, err := p.RoundTrip(get(t, ctx))
		require.ErrorContains(t, err, "changed my mind")
		deadline, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		_, err = p.RoundTrip(get(t, deadline))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, []isolation.Outcome{isolation.Abandoned, isolation.Failure}, p.outcomes())
		require.Len(t, p.sent, 2, "a context that is done is not tried again with")
	})
}

func TestPoolAbandonedBodies(t *testing.T) {
	t.Parallel()
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			p := newPool(t, hosts("a"), answer(200, io.NopCloser(strings.NewReader("never read"))))
			ctx, cancel := context.WithCancel(t.Context())
			_, err := p.RoundTrip(get(t, ctx))
			require.NoError(t, err)
			cancel()
			synctest.Wait()
			require.Equal(t, []isolation.Outcome{isolation.Ignored}, p.outcomes())
			require.Zero(t, p.instances()["a"].InFlight)
		})
	})
	t.Run("without a context", func(t *testing.T) {
		t.Parallel()
		p := newPool(t, hosts("a"), answer(200, io.NopCloser(strings.NewReader("never read"))))
		_, err := p.RoundTrip(get(t, context.Background()))
		require.NoError(t, err)
		waitFor(t, func() bool {
			runtime.GC()
			return p.instances()["a"].InFlight == 0
		})
		require.Equal(t, []isolation.Outcome{isolation.Success}, p.outcomes())
	})
}

// A stream has ended well once it has begun, so that a quarantine's probe need not wait for it, and thousands of them do not look like calls under way.
func TestPoolStreams(t *testing.T) {
	t.Parallel()
	for kind, lasting := range map[string]bool{
		"text/event-stream": true, "Text/Event-Stream ; charset=utf-8": true, "text/plain": false, "": false, "text/event-streamer": false,
	} {
		p := newPool(t, hosts("a"), roundTripper(func(r *http.Request) (*http.Response, error) {
			res, err := answer(200, io.NopCloser(strings.NewReader("data: 1\n\n")))(r)
			res.Header.Set("Content-Type", kind)
			return res, err
		}))
		res, err := p.RoundTrip(get(t, t.Context()))
		require.NoError(t, err)
		require.Equal(t, lasting, p.instances()["a"].InFlight == 0, kind)
		got, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Equal(t, "data: 1\n\n", string(got))
		require.Equal(t, []isolation.Outcome{isolation.Success}, p.outcomes())
	}
}

func TestPoolPanicGoesOn(t *testing.T) {
	t.Parallel()
	p := newPool(t, hosts("a", "b"), roundTripper(func(*http.Request) (*http.Response, error) { panic("bug") }))
	require.PanicsWithValue(t, "bug", func() { _, _ = p.RoundTrip(get(t, t.Context())) })
	calls, _, inFlight := p.all()
	require.Zero(t, inFlight)
	require.Zero(t, calls, "a bug of the transport is not the instance's")
}

// What cannot be sent is not sent, says why, and has its body closed.
func TestPoolRefusals(t *testing.T) {
	t.Parallel()
	body := &closeNoter{Reader: strings.NewReader("x")}
	req := get(t, t.Context())
	req.Body = body
	_, err := newPool(t, nil, answers{}).RoundTrip(req)
	require.ErrorIs(t, err, isolation.ErrNoInstance)
	require.ErrorContains(t, err, `service "s"`)
	require.True(t, body.closed)

	body.closed = false
	req.URL.Opaque = "//a/b"
	_, err = newPool(t, hosts("a"), answers{}).RoundTrip(req)
	require.ErrorContains(t, err, "Opaque")
	require.True(t, body.closed)
	req.URL = nil
	_, err = newPool(t, hosts("a"), answers{}).RoundTrip(req)
	require.Error(t, err)

	body.closed = false
	bug := newPool(t, hosts("a"), answers{}, func(c *nethttp.PoolConfig) {
		c.Balance.Strategy = balance.ConsistentHash
		c.HashBy = func(*http.Request) string { panic("bug") }
	})
	req = get(t, t.Context())
	req.Body = body
	require.PanicsWithValue(t, "bug", func() { _, _ = bug.RoundTrip(req) })
	require.True(t, body.closed)
}

func TestPoolFaultySettings(t *testing.T) {
	t.Parallel()
	group, err := isolation.NewGroup("s", isolation.Config{})
	require.NoError(t, err)
	defer group.Close()
	eng := newEngine(t, cordon.Rules{})
	for _, tt := range []struct {
		list   []nethttp.Target
		change func(*nethttp.PoolConfig)
		says   string
	}{
		{hosts("a"), func(c *nethttp.PoolConfig) { c.Clock = nil }, "Clock"},
		{hosts("a"), func(c *nethttp.PoolConfig) { c.Balance.Strategy = balance.ConsistentHash }, "HashBy"},
		{hosts("a"), func(c *nethttp.PoolConfig) { c.Balance.Strategy = 99 }, "99"},
		{hosts("a"), func(c *nethttp.PoolConfig) { c.Retry.Tries = 11 }, "retry.tries"},
		{hosts("a"), func(c *nethttp.PoolConfig) { c.Retry.Tries = -1 }, "retry.tries"},
		{hosts("a"), func(c *nethttp.PoolConfig) { c.Retry.Budget = 1.01 }, "retry.budget"},
		{hosts("a"), func(c *nethttp.PoolConfig) { c.Retry.MinPerSecond = 1e5 }, "retry.minPerSecond"},
		{hosts("a"), func(c *nethttp.PoolConfig) { c.Retry.TryTimeout = time.Microsecond }, "retry.tryTimeout"},
		{hosts("a", "a"), func(*nethttp.PoolConfig) {}, "targets[1].url"},
	} {
		cfg := nethttp.PoolConfig{Clock: clock.NewManual()}
		tt.change(&cfg)
		_, err := nethttp.NewGroupPool(group, tt.list, cfg)
		require.ErrorContains(t, err, tt.says)
		if cfg.Clock != nil {
			_, err = nethttp.NewPool(eng, "s", tt.list, cfg)
			require.ErrorContains(t, err, tt.says)
		}
	}
	_, err = nethttp.NewGroupPool(nil, nil, nethttp.PoolConfig{Clock: clock.NewManual()})
	require.Error(t, err)
	_, err = nethttp.NewPool(nil, "s", nil, nethttp.PoolConfig{})
	require.Error(t, err)
	require.Empty(t, eng.Groups(), "what could not be made is not kept")
}

// A new list is in force at once; a faulty one changes nothing.
func TestPoolUpdates(t *testing.T) {
	t.Parallel()
	p := newPool(t, hosts("a"), answers{})
	change, err := p.Update([]nethttp.Target{{URL: "http://b"}, {URL: "http://c", Drained: true}})
	require.NoError(t, err)
	require.Equal(t, isolation.Change{Added: 2, Removed: 1}, change)
	var problems rule.Problems
	_, err = p.Update([]nethttp.Target{{URL: "http://d"}, {URL: "d"}})
	require.ErrorAs(t, err, &problems)
	require.Equal(t, "targets[1].url", problems[0].Field)
	for range 4 {
		_, err := p.ask("GET")
		require.NoError(t, err)
	}
	require.Equal(t, []string{"b", "b", "b", "b"}, p.sent)
	_, err = p.Update(nil)
	require.NoError(t, err)
	_, err = p.ask("GET")
	require.ErrorIs(t, err, isolation.ErrNoInstance)
}

// A call to an instance that leaves while it is under way ends as any other.
func TestPoolUpdateDuringCall(t *testing.T) {
	t.Parallel()
	p := newPool(t, hosts("a"), answer(200, io.NopCloser(strings.NewReader("x"))))
	res, err := p.RoundTrip(get(t, t.Context()))
	require.NoError(t, err)
	_, err = p.Update(hosts("b"))
	require.NoError(t, err)
	_, err = io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Equal(t, []isolation.Outcome{isolation.Success}, p.outcomes())
}

func TestPoolByHash(t *testing.T) {
	t.Parallel()
	by := func(key func(*http.Request) string) func(*nethttp.PoolConfig) {
		return func(c *nethttp.PoolConfig) {
			c.Balance.Strategy, c.HashBy = balance.ConsistentHash, key
		}
	}
	p := newPool(t, hosts("a", "b", "c", "d", "e"), answers{}, by(nethttp.Cookie("user")))
	other := newPool(t, hosts("e", "d", "c", "b", "a"), answers{}, by(nethttp.Header("X-User")))
	for user := range 50 {
		for range 3 {
			for _, pool := range []*poolTest{p, other} {
				req := get(t, t.Context())
				req.Header.Set("Cookie", fmt.Sprintf("x=y; user=%d", user))
				req.Header.Set("X-User", fmt.Sprint(user))
				_, err := pool.RoundTrip(req)
				require.NoError(t, err)
			}
		}
	}
	require.Equal(t, p.sent, other.sent, "the same in every process")
	used := map[string]bool{}
	for i := 0; i < len(p.sent); i += 3 {
		require.Equal(t, p.sent[i], p.sent[i+1])
		require.Equal(t, p.sent[i], p.sent[i+2])
		used[p.sent[i]] = true
	}
	require.Len(t, used, 5)
	p.sent = nil
	for range 200 {
		_, err := p.ask("GET")
		require.NoError(t, err)
	}
	slices.Sort(p.sent)
	require.Len(t, slices.Compact(p.sent), 5, "requests without the cookie go anywhere")
}

func TestPoolOwnRegion(t *testing.T) {
	t.Parallel()
	list := []nethttp.Target{{URL: "http://a", Region: "eu"}, {URL: "http://b", Region: "us"}, {URL: "http://c", Region: "eu"}}
	p := newPool(t, list, answers{}, func(c *nethttp.PoolConfig) { c.Balance.Region = "eu" })
	for range 20 {
		_, err := p.ask("GET")
		require.NoError(t, err)
	}
	require.NotContains(t, p.sent, "b")
	require.Empty(t, p.Problems())
	_, err := p.Update(list[1:2])
	require.NoError(t, err)
	require.EqualError(t, p.Problems()[0], `warning: balance.region: no instance is in "eu"; want one of us`)
	_, err = p.Update(hosts("a"))
	require.NoError(t, err)
	require.EqualError(t, p.Problems()[0], `warning: balance.region: no instance is in "eu"; want a region that instances are in`)
	require.True(t, p.Problems()[0].Warning)
	require.Empty(t, newPool(t, hosts("a"), answers{}).Problems())
}

// The pool isolates by the engine's rules, and the rules edited; the guard around it sees each request once.
func TestPoolOfEngine(t *testing.T) {
	t.Parallel()
	clk := clock.NewManual()
	eng := newEngine(t, cordon.Rules{
		Isolation: []isolation.Rule{{ID: "i", Service: rule.Name("orders")}},
		Breaker:   []breaker.Rule{{ID: "b", Resource: rule.Name("orders"), Trip: breaker.Consecutive, Threshold: 1000, Open: day}},
	}, cordon.WithClock(clk))
	base := answers{"b": answer(500, http.NoBody), "c": answer(503, http.NoBody)}
	pool, err := nethttp.NewPool(eng, "orders", hosts("a", "b", "c", "d", "e"), nethttp.PoolConfig{Base: base, Name: "mine"})
	require.NoError(t, err)
	require.Equal(t, "mine", eng.Snapshot().Services[0].Group)
	client := &http.Client{Transport: nethttp.Transport(eng, pool, named("orders"))}
	failed := 0
	for range 3000 {
		clk.Advance(10 * time.Millisecond)
		res, err := client.Get("http://orders/")
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		if res.StatusCode >= 500 {
			failed++
		}
	}
	require.Less(t, failed, 60, "30 s at 100/s, two of five sick")
	require.EqualValues(t, 3000, countsOf(eng, "orders").passed)
	require.EqualValues(t, failed, countsOf(eng, "orders").failed)
	out := 0
	for _, i := range eng.Snapshot().Services[0].Instances {
		if i.State == isolation.Quarantined || i.State == isolation.Probing {
			out++
			require.Contains(t, []string{"http://b", "http://c"}, i.Address)
		}
	}
	require.Equal(t, 2, out)
	_, err = eng.Apply(cordon.Rules{})
	require.NoError(t, err)
	require.Zero(t, eng.Snapshot().Services[0].Out, "no rule, no quarantine")
	pool.Close()
	require.Empty(t, eng.Groups())
}

// A panic in the hook of an engine's pool is a fault of the engine.
func TestPoolOfEngineReportsFaults(t *testing.T) {
	t.Parallel()
	eng, l := newFaultyEngine(t)
	var told error
	pool, err := nethttp.NewPool(eng, "r", hosts("a"), nethttp.PoolConfig{
		Base: answers{}, Outcome: func(nethttp.Attempt) isolation.Outcome { panic("a bug") }, Fault: func(err error) { told = err },
	})
	require.NoError(t, err)
	defer pool.Close()
	_, err = pool.RoundTrip(get(t, t.Context()))
	require.NoError(t, err)
	require.Len(t, l.list, 1)
	require.Equal(t, "r", l.list[0].Resource)
	require.EqualError(t, told, "panic: a bug")
}

// faults #41 and #40 over HTTP: of a quarantined instance one request at a time is a probe, and a single instance stays in service however sick it is.
func TestPoolProbesOneAtATime(t *testing.T) {
	t.Parallel()
	group, err := isolation.NewGroup("s", isolation.Config{Rule: &isolation.Rule{Jitter: .01}})
	require.NoError(t, err)
	defer group.Close()
	clk := clock.NewManual()
	var sick, slow atomic.Bool
	var atOnce, most atomic.Int64
	release := make(chan struct{})
	base := answers{"a": func(r *http.Request) (*http.Response, error) {
		n := atOnce.Add(1)
		defer atOnce.Add(-1)
		most.Store(max(most.Load(), n))
		if slow.Load() {
			<-release
		}
		if sick.Load() {
			return answer(500, http.NoBody)(r)
		}
		return answer(200, http.NoBody)(r)
	}}
	pool, err := nethttp.NewGroupPool(group, hosts("a", "b", "c"), nethttp.PoolConfig{Base: base, Clock: clk})
	require.NoError(t, err)
	send := func() int {
		clk.Advance(10 * time.Millisecond)
		res, err := pool.RoundTrip(get(t, t.Context()))
		require.NoError(t, err)
		return res.StatusCode
	}
	sick.Store(true)
	state := func() isolation.State { return group.Snapshot(clk.Now()).Instances[0].State }
	for range 1000 {
		if send(); state() == isolation.Quarantined {
			break
		}
	}
	require.Equal(t, isolation.Quarantined, state())
	sick.Store(false)
	slow.Store(true)
	most.Store(0)
	clk.Advance(6 * time.Second)
	var probing sync.WaitGroup
	probing.Go(func() { // one of these is the probe, and hangs
		for range 20 {
			if send(); atOnce.Load() > 0 {
				return
			}
		}
	})
	waitFor(t, func() bool { return atOnce.Load() == 1 })
	for range 300 {
		require.Equal(t, 200, send())
	}
	require.EqualValues(t, 1, most.Load())
	slow.Store(false)
	close(release)
	probing.Wait()
	for range 300 {
		send()
	}
	require.Contains(t, []isolation.State{isolation.SlowStart, isolation.InService}, state())

	sick.Store(true)
	_, err = pool.Update(hosts("a"))
	require.NoError(t, err)
	for range 1000 {
		require.Equal(t, 500, send())
	}
	require.Equal(t, 1, len(group.View(clk.Now()).Candidates))
}
