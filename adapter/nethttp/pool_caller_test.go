package nethttp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/isolation"
)

// waiting answers by host, and hangs at the first one until the request is given up in one way or the other.
func waiting(host string) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		if r.URL.Host != host {
			return answer(200, http.NoBody)(r)
		}
		select {
		case <-r.Context().Done():
			return nil, context.Cause(r.Context())
		case <-r.Cancel: //lint:ignore SA1019 it is what http.Client uses
			return nil, errors.New("net/http: request canceled")
		}
	}
}

// http.Client tells a pool of its time-out by Request.Cancel before the context's deadline is over: what is then sent to another instance could only fail there too, and be held
// against one that is well. The one that hangs is found.
func TestPoolUnderClientTimeout(t *testing.T) {
	t.Parallel()
	var list []nethttp.Target
	for i := range 3 {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if i == 0 {
				<-r.Context().Done()
				return
			}
			_, _ = io.WriteString(w, "hello")
		}))
		defer srv.Close()
		list = append(list, nethttp.Target{URL: srv.URL})
	}
	clk := clock.System()
	group, err := isolation.NewGroup("s", isolation.Config{Rule: &isolation.Rule{Base: time.Hour, Max: time.Hour}, Now: clk.Now()})
	require.NoError(t, err)
	defer group.Close()
	base := &http.Transport{MaxIdleConnsPerHost: 64}
	defer base.CloseIdleConnections()
	pool, err := nethttp.NewGroupPool(group, list, nethttp.PoolConfig{Base: base, Clock: clk})
	require.NoError(t, err)
	client := &http.Client{Transport: pool, Timeout: 300 * time.Millisecond}
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 12 {
				res, err := client.Get("http://s/")
				if err != nil {
					var timeout net.Error
					require.ErrorAs(t, err, &timeout)
					require.True(t, timeout.Timeout(), err)
					continue
				}
				_, err = io.Copy(io.Discard, res.Body)
				require.NoError(t, err)
				require.NoError(t, res.Body.Close())
			}
		})
	}
	callers.Wait()
	s := group.Snapshot(clk.Now())
	require.Equal(t, isolation.Quarantined, s.Instances[0].State)
	require.Zero(t, s.Instances[1].Failures)
	require.Zero(t, s.Instances[2].Failures)
}

// Whoever gives up by Request.Cancel is treated as one whose context is done: nothing is sent again, no retry is paid for, and a deadline that is over is told from a change of mind.
func TestPoolRequestCancel(t *testing.T) {
	t.Parallel()
	for deadline, want := range map[time.Duration]isolation.Outcome{
		0: isolation.Abandoned, time.Minute: isolation.Abandoned, time.Second: isolation.Failure,
	} {
		synctest.Test(t, func(t *testing.T) {
			refuses := false
			base := roundTripper(func(r *http.Request) (*http.Response, error) {
				if refuses && r.URL.Host == "b" {
					return fails(errRefused)(r)
				}
				return waiting("a")(r)
			})
			p := newPool(t, hosts("a", "b"), base, func(c *nethttp.PoolConfig) { c.Retry.MinPerSecond = .1 }) // one retry is saved up
			for len(p.outcomes()) == 0 || p.sent[len(p.sent)-1] != "a" {
				ctx := t.Context()
				if deadline > 0 {
					var stop context.CancelFunc
					ctx, stop = context.WithTimeout(ctx, deadline+time.Nanosecond) // Cancel is a moment earlier
					defer stop()
				}
				req := get(t, ctx)
				cancel := make(chan struct{})
				req.Cancel = cancel //lint:ignore SA1019 it is what http.Client uses
				timer := time.AfterFunc(time.Second, func() { close(cancel) })
				_, _ = p.RoundTrip(req)
				timer.Stop()
			}
			require.Equal(t, want, p.outcomes()[len(p.outcomes())-1])
			all := p.instances()
			require.Zero(t, all["b"].Failures)
			require.Zero(t, all["a"].InFlight)

			_, err := p.Update(hosts("b", "c"))
			require.NoError(t, err)
			refuses = true
			for range 2 {
				status, err := p.ask("GET")
				require.NoError(t, err, "the retry is still there")
				require.Equal(t, 200, status)
			}
			require.EqualValues(t, 1, p.instances()["b"].Failures)
		})
	}
}

// A client's own cancellation of what a transport sends is no failure of the resource's.
func TestTransportRequestCancel(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, atOnce("r", 5))
	cancel := make(chan struct{})
	req := get(t, t.Context())
	req.Cancel = cancel //lint:ignore SA1019 some still use it
	close(cancel)
	_, err := nethttp.Transport(eng, roundTripper(fails(errors.New("net/http: request canceled"))), named("r")).RoundTrip(req)
	require.Error(t, err)
	require.EqualValues(t, 1, countsOf(eng, "r").ignored)
}

// An instance that hangs costs a request no more than the time-out of a try, and is blamed; the last try may take longer, and so may what must not be sent again.
func TestTryTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clk := clock.System()
		p := newPool(t, hosts("a", "b", "c"), waiting("a"), func(c *nethttp.PoolConfig) {
			c.Clock, c.Retry.TryTimeout = clk, 200*time.Millisecond
		})
		longest := time.Duration(0)
		for range 9 {
			began := clk.Now()
			status, err := p.ask("GET")
			require.NoError(t, err)
			require.Equal(t, 200, status)
			longest = max(longest, clk.Now()-began)
		}
		require.Equal(t, 200*time.Millisecond, longest)
		all := p.instances()
		require.Positive(t, all["a"].Failures)
		require.Zero(t, all["b"].Failures+all["c"].Failures)
		for host, i := range all {
			require.Zero(t, i.InFlight, host)
		}
	})
}

// What comes of a request all of whose instances hang, by how often it may be sent.
func TestTryTimeoutOfAll(t *testing.T) {
	t.Parallel()
	hang := roundTripper(func(r *http.Request) (*http.Response, error) {
		select {
		case <-r.Context().Done():
			return nil, context.Cause(r.Context())
		case <-time.After(10 * time.Second):
			return answer(200, http.NoBody)(r)
		}
	})
	for _, tt := range []struct {
		method string
		tries  int
		took   time.Duration
		fails  int
	}{
		{"GET", 3, 11 * time.Second, 1}, // there are only two instances
		{"GET", 2, 11 * time.Second, 1},
		{"GET", 1, 10 * time.Second, 0},
		{"POST", 3, 10 * time.Second, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			clk := clock.System()
			p := newPool(t, hosts("a", "b"), hang, func(c *nethttp.PoolConfig) {
				c.Clock, c.Retry.TryTimeout, c.Retry.Tries = clk, time.Second, tt.tries
			})
			status, err := p.ask(tt.method)
			require.Equal(t, tt.took, clk.Now(), "%v", tt)
			require.NoError(t, err)
			require.Equal(t, 200, status)
			_, failures, _ := p.all()
			require.EqualValues(t, tt.fails, failures)
		})
	}
}

// What a bounded try was answered with is read without hurry, and a stream goes on; a bound that passes while the header comes is a time-out, and one that the caller did not wait for is
// his doing.
func TestTryTimeoutAndBodies(t *testing.T) {
	t.Parallel()
	const limit = time.Second
	bounded := func(t *testing.T, base roundTripper) (*poolTest, clock.Clock) {
		clk := clock.System()
		return newPool(t, hosts("a", "b"), base, func(c *nethttp.PoolConfig) { c.Clock, c.Retry.TryTimeout = clk, limit }), clk
	}
	for _, kind := range []string{"text/plain", "text/event-stream"} {
		synctest.Test(t, func(t *testing.T) {
			var sent *http.Request
			p, _ := bounded(t, func(r *http.Request) (*http.Response, error) {
				sent = r
				res, err := answer(200, io.NopCloser(&contextReader{r, 3}))(r)
				res.Header.Set("Content-Type", kind)
				return res, err
			})
			res, err := p.RoundTrip(get(t, t.Context()))
			require.NoError(t, err)
			time.Sleep(2 * limit)
			got, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Equal(t, "xxx", string(got))
			require.Equal(t, []isolation.Outcome{isolation.Success}, p.outcomes())
			require.Error(t, sent.Context().Err(), "what was made for the bound is freed")
		})
	}
	synctest.Test(t, func(t *testing.T) {
		late := &closeNoter{Reader: strings.NewReader("x")}
		p, _ := bounded(t, func(r *http.Request) (*http.Response, error) {
			if r.URL.Host == "a" {
				time.Sleep(limit)
				return answer(200, late)(r)
			}
			return answer(200, http.NoBody)(r)
		})
		for range 2 {
			status, err := p.ask("GET")
			require.NoError(t, err)
			require.Equal(t, 200, status)
		}
		require.True(t, late.closed)
		require.EqualValues(t, 1, p.instances()["a"].Failures)
	})
	synctest.Test(t, func(t *testing.T) {
		p, clk := bounded(t, waiting("a"))
		for len(p.outcomes()) == 0 || p.sent[len(p.sent)-1] != "a" {
			ctx, cancel := context.WithCancel(t.Context())
			timer := clk.AfterFunc(limit/2, cancel)
			_, _ = p.RoundTrip(get(t, ctx))
			timer.Stop()
			cancel()
		}
		require.Equal(t, isolation.Abandoned, p.outcomes()[len(p.outcomes())-1])
	})
}

// A contextReader is a body that breaks off when its request is given up.
type contextReader struct {
	r    *http.Request
	left int
}

func (c *contextReader) Read(p []byte) (int, error) {
	if err := c.r.Context().Err(); err != nil {
		return 0, err
	}
	if c.left == 0 {
		return 0, io.EOF
	}
	c.left--
	p[0] = 'x'
	return 1, nil
}

// When no retry may be paid for any more, a try that took too long is a time-out as net/http's own are.
func TestTryTimeoutWithoutBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, hosts("a", "b"), waiting("a"), func(c *nethttp.PoolConfig) {
			c.Clock, c.Retry.TryTimeout, c.Retry.MinPerSecond, c.Retry.Budget = clock.System(), time.Second, .01, .001
		})
		var timeout net.Error
		for timeout == nil {
			_, err := p.ask("GET")
			errors.As(err, &timeout)
		}
		require.True(t, timeout.Timeout())
		require.ErrorContains(t, timeout, "http://a has not answered within 1s")
	})
}
