package nethttp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/isolation"
)

var errReset = errors.New("connection reset by peer")

// What may be sent again, after which end, by method.
func TestRetries(t *testing.T) {
	t.Parallel()
	marked := func(r *http.Request) (*http.Response, error) {
		res, err := answer(503, http.NoBody)(r)
		res.Header.Set("Cordon-Refused", "breaker")
		return res, err
	}
	const never, idempotent, always = 0, 1, 2
	ends := map[string]struct {
		first func(*http.Request) (*http.Response, error)
		when  int
	}{
		"refused":        {fails(errRefused), always},
		"reset":          {fails(errReset), idempotent},
		"reset on read":  {fails(&net.OpError{Op: "read", Err: syscall.ECONNRESET}), idempotent},
		"a TLS alert":    {fails(&net.OpError{Op: "remote error", Err: errReset}), idempotent}, // it may come after the request
		"timeout":        {fails(os.ErrDeadlineExceeded), idempotent},
		"502":            {answer(502, http.NoBody), idempotent},
		"503":            {answer(503, http.NoBody), idempotent},
		"504":            {answer(504, http.NoBody), idempotent},
		"503 of cordon":  {marked, never},
		"500":            {answer(500, http.NoBody), never},
		"501":            {answer(501, http.NoBody), never},
		"429":            {answer(429, http.NoBody), never},
		"404":            {answer(404, http.NoBody), never},
		"200":            {answer(200, http.NoBody), never},
		"neither answer": {fails(nil), never},
	}
	methods := map[string]bool{
		"GET": true, "": true, "HEAD": true, "OPTIONS": true, "TRACE": true, "PUT": true, "DELETE": true,
		"POST": false, "PATCH": false, "CONNECT": false, "BREW": false,
		"POST with a key": true, "PATCH with an X key": true,
	}
	for name, end := range ends {
		for method, again := range methods {
			p := newPool(t, hosts("a", "b"), answers{"a": end.first, "b": end.first})
			req := get(t, t.Context())
			name2, key, _ := strings.Cut(method, " with ")
			req.Method = name2
			switch key {
			case "a key":
				req.Header.Set("Idempotency-Key", "1")
			case "an X key":
				req.Header.Set("X-Idempotency-Key", "1")
			}
			_, _ = p.RoundTrip(req)
			want := 1
			if end.when == always || end.when == idempotent && again {
				want = 2 // and not a third time: both have had it
			}
			require.Len(t, p.sent, want, "%s after %s", method, name)
			_, _, inFlight := p.all()
			require.Zero(t, inFlight)
		}
	}
}

// The answer is that of the last one asked, and what failed before is reported and let go.
func TestRetryTakesAnother(t *testing.T) {
	t.Parallel()
	left := &closeNoter{Reader: strings.NewReader("sorry")}
	p := newPool(t, hosts("a", "b", "c"), answers{"a": answer(503, left), "b": answer(503, left)})
	for range 6 {
		status, err := p.ask("GET")
		require.NoError(t, err)
		require.Equal(t, 200, status)
		require.True(t, left.closed || p.sent[len(p.sent)-1] == p.sent[0])
	}
	require.True(t, left.closed)
	all := p.instances()
	require.EqualValues(t, 6, all["c"].Calls)
	require.Zero(t, all["c"].Failures)
	require.Equal(t, all["a"].Calls, all["a"].Failures)
	require.Equal(t, all["b"].Calls, all["b"].Failures)
	require.Positive(t, all["a"].Calls+all["b"].Calls)
}

// With one instance, or when all have had the request, its own answer is passed on, its body whole, and no budget is used up.
func TestNoOtherInstance(t *testing.T) {
	t.Parallel()
	for _, list := range [][]nethttp.Target{hosts("a"), hosts("a", "b")} {
		body := func(r *http.Request) (*http.Response, error) {
			return answer(503, io.NopCloser(strings.NewReader("sorry, from "+r.URL.Host)))(r)
		}
		p := newPool(t, list, answers{"a": body, "b": body})
		for range 100 {
			res, err := p.RoundTrip(get(t, t.Context()))
			require.NoError(t, err)
			got, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Equal(t, "sorry, from "+p.sent[len(p.sent)-1], string(got))
		}
		if len(list) == 1 {
			require.Len(t, p.sent, 100)
			_, err := p.Update(hosts("a", "b"))
			require.NoError(t, err)
			p.sent = nil
			for range 50 {
				_, err := p.ask("GET")
				require.NoError(t, err)
			}
			// Thirty were saved up by time and ten by requests, and these are not added up. The last twenty requests bring two more.
			require.Equal(t, 32, len(p.sent)-50)
		}
	}
}

// The budget, to the request: thirty at the start, then a tenth of the requests, or three a second.
func TestRetriesWithinBudget(t *testing.T) {
	t.Parallel()
	sick := answers{"a": answer(503, http.NoBody), "b": answer(503, http.NoBody)}
	p := newPool(t, hosts("a", "b"), sick)
	retries := func(requests int) int {
		before := len(p.sent)
		for range requests {
			_, err := p.ask("GET")
			require.NoError(t, err)
		}
		return len(p.sent) - before - requests
	}
	require.Equal(t, 30, retries(30))
	for range 20 {
		require.Equal(t, 10, retries(100))
	}
	p.clk.Advance(time.Second)
	require.Equal(t, 3, retries(5))
	p.clk.Advance(2 * time.Second)
	require.Equal(t, 6+4, retries(6+44), "six at once, and a tenth of the rest")
}

func TestTries(t *testing.T) {
	t.Parallel()
	all := hosts("a", "b", "c", "d", "e")
	sick := answers{}
	for _, h := range all {
		sick[strings.TrimPrefix(h.URL, "http://")] = fails(errRefused)
	}
	for tries, want := range map[int]int{0: 3, 1: 1, 2: 2, 4: 4, 10: 5} {
		p := newPool(t, all, sick, func(c *nethttp.PoolConfig) { c.Retry.Tries = tries })
		_, err := p.ask("POST")
		require.ErrorIs(t, err, errRefused)
		require.Len(t, p.sent, want)
		slices.Sort(p.sent)
		require.Len(t, slices.Compact(p.sent), want, "none twice")
	}
	p := newPool(t, all, sick, func(c *nethttp.PoolConfig) { c.Retry = nethttp.Retry{Off: true} })
	_, err := p.ask("GET")
	require.ErrorIs(t, err, errRefused)
	require.Len(t, p.sent, 1)
}

// A body is sent again if it is whole: it can be had anew, or nothing of it was read.
func TestRetriedBodies(t *testing.T) {
	t.Parallel()
	type end = func(*http.Request) (*http.Response, error)
	reading := func(n int64, then end) end {
		return func(r *http.Request) (*http.Response, error) {
			_, _ = io.CopyN(io.Discard, r.Body, n)
			_ = r.Body.Close()
			return then(r)
		}
	}
	anew := func() *http.Request { // http.NewRequest sets GetBody
		r, err := http.NewRequestWithContext(t.Context(), "PUT", "http://s/", strings.NewReader("hello"))
		require.NoError(t, err)
		return r
	}
	once := func() *http.Request {
		r := anew()
		r.GetBody = nil
		return r
	}
	broken := func() *http.Request {
		r := anew()
		r.GetBody = func() (io.ReadCloser, error) { return nil, errBug }
		return r
	}
	for _, tt := range []struct {
		name    string
		request func() *http.Request
		method  string
		first   end
		again   bool
	}{
		{"had anew, read in part", anew, "PUT", reading(2, fails(errReset)), true},
		{"had anew, read", anew, "PUT", reading(5, answer(503, http.NoBody)), true},
		{"had anew, not idempotent", anew, "POST", reading(2, fails(errReset)), false},
		{"had anew, not idempotent, never sent", anew, "POST", reading(0, fails(errRefused)), true},
		{"cannot be had", broken, "PUT", reading(2, fails(errReset)), false},
		{"once, read in part", once, "PUT", reading(2, fails(errReset)), false},
		{"once, read in part and refused", once, "PUT", reading(2, fails(errRefused)), false},
		{"once, unread", once, "PUT", reading(0, answer(503, http.NoBody)), true},
		{"once, never sent", once, "POST", reading(0, fails(errRefused)), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			first := true
			p := newPool(t, hosts("a", "b"), roundTripper(func(r *http.Request) (*http.Response, error) {
				if first {
					first = false
					return tt.first(r)
				}
				body, err := io.ReadAll(r.Body)
				require.NoError(t, err)
				require.NoError(t, r.Body.Close())
				got = append(got, string(body))
				return answer(200, http.NoBody)(r)
			}))
			req := tt.request()
			req.Method = tt.method
			watched := &closeNoter{Reader: req.Body}
			if req.GetBody == nil {
				req.Body = watched
			}
			_, _ = p.RoundTrip(req)
			if tt.again {
				require.Equal(t, []string{"hello"}, got)
			} else {
				require.Empty(t, got)
			}
			require.Equal(t, req.GetBody == nil, watched.closed)
		})
	}
}

// A retry waits for nobody: a context that ends in between ends it all.
func TestNoRetryAfterContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := newPool(t, hosts("a", "b"), roundTripper(func(r *http.Request) (*http.Response, error) {
		cancel()
		return answer(503, http.NoBody)(r)
	}))
	res, err := p.RoundTrip(get(t, ctx))
	require.NoError(t, err)
	require.Equal(t, 503, res.StatusCode)
	require.Len(t, p.sent, 1)
}

// Once a response has been handed on nothing is sent again, however it ends.
func TestNoRetryAfterResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		half := func(r *http.Request) (*http.Response, error) {
			return answer(200, io.NopCloser(io.MultiReader(strings.NewReader("half"), failingReader{errReset})))(r)
		}
		p := newPool(t, hosts("a", "b"), answers{"a": half, "b": half})
		res, err := p.RoundTrip(get(t, t.Context()))
		require.NoError(t, err)
		got, err := io.ReadAll(res.Body)
		require.ErrorIs(t, err, errReset)
		require.Equal(t, "half", string(got))
		require.Len(t, p.sent, 1)
		require.Equal(t, []isolation.Outcome{isolation.Failure}, p.outcomes())
	})
}

// Nobody pays for a probe that fails, if the request may be seen twice: an instance that fails with 500 is found by its failures, and after that none is seen.
func TestFailedProbesAreRetried(t *testing.T) {
	t.Parallel()
	for method, hidden := range map[string]bool{"GET": true, "POST": false} {
		clk := clock.NewManual()
		group, err := isolation.NewGroup("s", isolation.Config{Rule: &isolation.Rule{}})
		require.NoError(t, err)
		defer group.Close()
		pool, err := nethttp.NewGroupPool(group, hosts("a", "b", "c"), nethttp.PoolConfig{Clock: clk, Base: answers{"a": answer(500, http.NoBody)}})
		require.NoError(t, err)
		failed, before := 0, int64(0)
		for range 12_000 {
			clk.Advance(10 * time.Millisecond)
			before = group.Snapshot(clk.Now()).Quarantines
			req := get(t, t.Context())
			req.Method = method
			res, err := pool.RoundTrip(req)
			require.NoError(t, err)
			if res.StatusCode == 500 && before > 0 {
				failed++
			}
		}
		require.GreaterOrEqual(t, before, int64(4), "it was probed, and failed")
		require.Equal(t, hidden, failed == 0, method)
	}
}

// Of many POSTs through instances that answer, fail, break off and cannot be reached, none arrives twice, while lists change; every one ends, and nothing stays in flight.
func TestPostsArriveOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	arrived := map[string]int{}
	sick := func(how int) string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			arrived[r.Header.Get("Number")]++
			mu.Unlock()
			_, _ = io.Copy(io.Discard, r.Body)
			switch how {
			case 0:
				_, _ = w.Write(bytes.Repeat([]byte("x"), 100_000))
			case 1:
				w.WriteHeader(503)
			case 2:
				panic(http.ErrAbortHandler)
			}
		}))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	dead := httptest.NewServer(nil)
	dead.Close()
	list := []nethttp.Target{{URL: sick(0)}, {URL: sick(1)}, {URL: sick(2)}, {URL: dead.URL}}
	for _, strategy := range []balance.Strategy{balance.RoundRobin, balance.Random, balance.LeastInFlight} {
		mu.Lock()
		clear(arrived)
		mu.Unlock()
		base := &http.Transport{MaxIdleConnsPerHost: 64}
		p := newPool(t, list, base, func(c *nethttp.PoolConfig) {
			c.Balance.Strategy = strategy
			c.Retry = nethttp.Retry{Budget: 1, MinPerSecond: 10_000, Tries: 4}
		})
		var callers sync.WaitGroup
		var number, reached atomic.Int64
		for range 16 {
			callers.Go(func() {
				for range 50 {
					n := number.Add(1)
					req, err := http.NewRequestWithContext(t.Context(), "POST", "http://s/", io.MultiReader(strings.NewReader("body")))
					require.NoError(t, err)
					req.Header.Set("Number", fmt.Sprint(n))
					res, err := p.RoundTrip(req)
					if err != nil {
						continue
					}
					_, _ = io.Copy(io.Discard, res.Body)
					require.NoError(t, res.Body.Close())
					reached.Add(1)
				}
			})
		}
		callers.Go(func() {
			for i := range 50 {
				from := i % len(list)
				_, err := p.Update(append(slices.Clone(list[from:]), list[:max(from-1, 0)]...))
				require.NoError(t, err)
			}
			_, err := p.Update(list)
			require.NoError(t, err)
		})
		callers.Wait()
		require.Positive(t, reached.Load())
		mu.Lock()
		for n, times := range arrived {
			require.Equal(t, 1, times, "request %s", n)
		}
		require.LessOrEqual(t, len(arrived), 800)
		mu.Unlock()
		waitFor(t, func() bool { _, _, inFlight := p.all(); return inFlight == 0 })
		p.CloseIdleConnections()
		base.CloseIdleConnections()
	}
}
