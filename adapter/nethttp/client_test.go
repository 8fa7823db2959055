package nethttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/breaker"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answer(status int, body io.ReadCloser) roundTripper {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: body, ContentLength: -1, Request: r}, nil
	}
}

// closeNoter is a body that tells whether it was closed.
type closeNoter struct {
	io.Reader
	closed bool
}

func (c *closeNoter) Close() error {
	c.closed = true
	return nil
}

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

func get(t *testing.T, ctx context.Context) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, "GET", "http://peer.test/", nil)
	require.NoError(t, err)
	return r
}

func TestClientNames(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, cordon.Rules{})
	rt := nethttp.Transport(eng, answer(200, http.NoBody))
	for _, url := range []string{"http://API.Example.com/a/1", "http://api.example.com/b?c=2", "http://api.example.com:8080/"} {
		r, err := http.NewRequest("GET", url, nil)
		require.NoError(t, err)
		_, err = rt.RoundTrip(r)
		require.NoError(t, err)
	}
	_, err := nethttp.Transport(eng, answer(200, http.NoBody), named("mine")).RoundTrip(get(t, t.Context()))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"api.example.com", "api.example.com:8080", "mine"}, resources(eng))
}

func TestClientOutcomes(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	read := func(res *http.Response) { _, _ = io.ReadAll(res.Body) }
	closeIt := func(res *http.Response) { _ = res.Body.Close() }
	text := func() io.ReadCloser { return io.NopCloser(strings.NewReader("hello")) }
	tests := []struct {
		name string
		base roundTripper
		use  func(*http.Response)
		want cordon.Outcome
	}{
		{"read to the end", answer(200, text()), read, cordon.Success},
		{"read and closed", answer(200, text()), func(r *http.Response) { read(r); closeIt(r); closeIt(r) }, cordon.Success},
		{"closed early", answer(200, text()), closeIt, cordon.Success},
		{"404", answer(404, text()), read, cordon.Success},
		{"429 of a peer without cordon", answer(429, text()), read, cordon.Success},
		{"500", answer(500, text()), read, cordon.Failure},
		{"503 closed early", answer(503, text()), closeIt, cordon.Failure},
		{"no body", answer(204, http.NoBody), nil, cordon.Success},
		{"no body, 500", answer(500, http.NoBody), nil, cordon.Failure},
		{"nil body", answer(200, nil), nil, cordon.Success},
		{"breaks off", answer(200, io.NopCloser(io.MultiReader(strings.NewReader("he"), failingReader{broken}))), read, cordon.Failure},
		{"breaks off, then closed", answer(200, io.NopCloser(failingReader{broken})), func(r *http.Response) { read(r); closeIt(r) }, cordon.Failure},
		{"no answer", func(*http.Request) (*http.Response, error) { return nil, broken }, nil, cordon.Failure},
		{"no answer in time", func(*http.Request) (*http.Response, error) { return nil, context.DeadlineExceeded }, nil, cordon.Failure},
		{"refused by a transport beneath", func(*http.Request) (*http.Response, error) {
			return nil, fmt.Errorf("peer: %w", cordon.ErrBlocked)
		}, nil, cordon.Ignored},
		{"neither answer nor error", func(*http.Request) (*http.Response, error) { return nil, nil }, nil, cordon.Failure},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			eng := newEngine(t, cordon.Rules{})
			res, _ := nethttp.Transport(eng, tt.base).RoundTrip(get(t, t.Context()))
			if tt.use != nil {
				require.Equal(t, int64(1), countsOf(eng, "peer.test").inFlight, "the body is still to come")
				tt.use(res)
			}
			require.Equal(t, ended(tt.want), countsOf(eng, "peer.test"))
		})
	}
}

func TestClientPanicGoesOn(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, cordon.Rules{})
	rt := nethttp.Transport(eng, roundTripper(func(*http.Request) (*http.Response, error) { panic("bug") }))
	require.PanicsWithValue(t, "bug", func() { _, _ = rt.RoundTrip(get(t, t.Context())) })
	require.Equal(t, ended(cordon.Failure), countsOf(eng, "peer.test"))
}

func TestClientRefusal(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]nethttp.Option{
		"by a rule":       nil,
		"by a broken ask": {nethttp.WithCost(func(*http.Request) int { return -1 })},
	} {
		eng := newEngine(t, perDay("peer.test", 0))
		rt := nethttp.Transport(eng, roundTripper(func(*http.Request) (*http.Response, error) {
			t.Error("must not be sent")
			return nil, nil
		}), opts...)
		sent := &closeNoter{Reader: strings.NewReader("x")}
		r := get(t, t.Context())
		r.Body = sent
		res, err := rt.RoundTrip(r)
		require.Nil(t, res)
		require.Error(t, err)
		require.True(t, sent.closed, "a refused request's body is closed: %s", name)
	}
	t.Run("panicking option", func(t *testing.T) {
		t.Parallel()
		eng := newEngine(t, cordon.Rules{})
		sent := &closeNoter{Reader: strings.NewReader("x")}
		r := get(t, t.Context())
		r.Body = sent
		rt := nethttp.Transport(eng, answer(200, http.NoBody), nethttp.WithName(func(*http.Request) string { panic("bug") }))
		require.Panics(t, func() { _, _ = rt.RoundTrip(r) })
		require.True(t, sent.closed)
	})
	t.Run("through http.Client", func(t *testing.T) {
		t.Parallel()
		eng := newEngine(t, perDay("peer.test", 0))
		client := &http.Client{Transport: nethttp.Transport(eng, nil)}
		_, err := client.Get("http://peer.test/")
		var blocked *cordon.BlockedError
		require.ErrorAs(t, err, &blocked)
		require.Equal(t, "per-day", blocked.RuleID)
	})
}

// faults #37 over HTTP: what the caller cancelled says nothing about the peer; what the peer let time out does.
func TestCancelledAndTimedOut(t *testing.T) {
	t.Parallel()
	wait := roundTripper(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, context.Cause(r.Context())
	})
	t.Run("cancelled with a cause, then timed out", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			eng := newEngine(t, failuresInRow("peer.test", 100))
			rt := nethttp.Transport(eng, wait)
			for range 100 {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Millisecond, func() { cancel(errors.New("changed my mind")) })
				_, err := rt.RoundTrip(get(t, ctx))
				require.ErrorContains(t, err, "changed my mind")
			}
			require.Equal(t, counts{passed: 100, ignored: 100}, countsOf(eng, "peer.test"))
			for range 100 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				_, err := rt.RoundTrip(get(t, ctx))
				require.ErrorIs(t, err, context.DeadlineExceeded)
				cancel()
			}
			require.Equal(t, counts{passed: 200, ignored: 100, failed: 100}, countsOf(eng, "peer.test"))
			_, err := rt.RoundTrip(get(t, t.Context()))
			require.ErrorIs(t, err, breaker.ErrOpen)
		})
	})
	t.Run("timed out by http.Client", func(t *testing.T) {
		t.Parallel()
		release := make(chan struct{})
		srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
		defer srv.Close()
		defer close(release)
		eng := newEngine(t, cordon.Rules{})
		client := &http.Client{Transport: nethttp.Transport(eng, srv.Client().Transport, named("r")), Timeout: 20 * time.Millisecond}
		_, err := client.Get(srv.URL)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, ended(cordon.Failure), countsOf(eng, "r"))
	})
	t.Run("in the middle of the body", func(t *testing.T) {
		t.Parallel()
		release := make(chan struct{})
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "begin")
			w.(http.Flusher).Flush()
			<-release
		}))
		defer srv.Close()
		defer close(release)
		eng := newEngine(t, cordon.Rules{})
		rt := nethttp.Transport(eng, srv.Client().Transport, named("r"))
		ctx, cancel := context.WithCancel(t.Context())
		r := get(t, ctx)
		r.URL.Host = srv.Listener.Addr().String()
		res, err := rt.RoundTrip(r)
		require.NoError(t, err)
		_, err = io.ReadFull(res.Body, make([]byte, 5))
		require.NoError(t, err)
		cancel()
		_, err = io.ReadAll(res.Body)
		require.ErrorIs(t, err, context.Canceled)
		waitFor(t, func() bool { return countsOf(eng, "r") == ended(cordon.Ignored) })
		require.NoError(t, res.Body.Close())
		require.Equal(t, ended(cordon.Ignored), countsOf(eng, "r"))
	})
}

// faults #68, at the client: limit 2, three streams are opened; one fails at message 5.
func TestStreamsCountUntilTheyEnd(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, atOnce("peer.test", 2))
	broken := errors.New("stream broke")
	messages := strings.NewReader("1\n2\n3\n4\n5\n")
	rt := nethttp.Transport(eng, answer(200, io.NopCloser(io.MultiReader(messages, failingReader{broken}))))
	first, err := rt.RoundTrip(get(t, t.Context()))
	require.NoError(t, err)
	second, err := rt.RoundTrip(get(t, t.Context()))
	require.NoError(t, err)
	_, err = rt.RoundTrip(get(t, t.Context()))
	require.ErrorIs(t, err, cordon.ErrBlocked)
	_, err = io.ReadAll(first.Body)
	require.ErrorIs(t, err, broken)
	require.Equal(t, counts{passed: 2, failed: 1, inFlight: 1}, countsOf(eng, "peer.test"))
	third, err := rt.RoundTrip(get(t, t.Context()))
	require.NoError(t, err)
	require.NoError(t, second.Body.Close())
	require.NoError(t, third.Body.Close())
	require.Equal(t, counts{passed: 3, failed: 1, succeeded: 2}, countsOf(eng, "peer.test"))
}

func TestAbandonedBodies(t *testing.T) {
	t.Parallel()
	silent := func() io.ReadCloser { return io.NopCloser(strings.NewReader("never read")) }
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			for status, want := range map[int]cordon.Outcome{200: cordon.Ignored, 500: cordon.Failure} {
				eng := newEngine(t, cordon.Rules{})
				ctx, cancel := context.WithCancel(t.Context())
				_, err := nethttp.Transport(eng, answer(status, silent())).RoundTrip(get(t, ctx))
				require.NoError(t, err)
				cancel()
				synctest.Wait()
				require.Equal(t, ended(want), countsOf(eng, "peer.test"))
			}
		})
	})
	t.Run("deadline", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			eng := newEngine(t, cordon.Rules{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := nethttp.Transport(eng, answer(200, silent())).RoundTrip(get(t, ctx))
			require.NoError(t, err)
			time.Sleep(time.Second)
			synctest.Wait()
			require.Equal(t, ended(cordon.Failure), countsOf(eng, "peer.test"))
		})
	})
	t.Run("without a context", func(t *testing.T) {
		t.Parallel()
		eng := newEngine(t, cordon.Rules{})
		_, err := nethttp.Transport(eng, answer(200, silent())).RoundTrip(get(t, context.Background()))
		require.NoError(t, err)
		waitFor(t, func() bool {
			runtime.GC()
			return countsOf(eng, "peer.test") == ended(cordon.Success)
		})
	})
}

// The reader's end, a close and the context's end may come at once: one of them ends the call.
func TestEndsOnce(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, cordon.Rules{})
	var judged atomic.Int64
	rt := nethttp.Transport(eng, roundTripper(func(r *http.Request) (*http.Response, error) {
		return answer(200, io.NopCloser(strings.NewReader("x")))(r)
	}), nethttp.WithOutcome(func(e nethttp.Ending) cordon.Outcome {
		judged.Add(1)
		return e.Default
	}))
	const n = 500
	for range n {
		ctx, cancel := context.WithCancel(t.Context())
		res, err := rt.RoundTrip(get(t, ctx))
		require.NoError(t, err)
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = io.ReadAll(res.Body) })
		wg.Go(func() { _ = res.Body.Close() })
		wg.Go(cancel)
		wg.Wait()
	}
	waitFor(t, func() bool { return countsOf(eng, "peer.test").inFlight == 0 }) // the context's end may still be at it
	c := countsOf(eng, "peer.test")
	require.Equal(t, int64(n), c.succeeded+c.ignored)
	require.Equal(t, int64(n), judged.Load())
}

// faults #70: the refusals of a peer that runs cordon are not counted against it.
func TestPeersRefusalIsNoIllness(t *testing.T) {
	t.Parallel()
	for _, rules := range []cordon.Rules{perDay("r", 0), atOnce("r", 0)} {
		peer := newEngine(t, rules)
		srv := httptest.NewServer(nethttp.Middleware(peer, named("r"))(http.HandlerFunc(ok)))
		eng := newEngine(t, failuresInRow("peer", 3))
		client := &http.Client{Transport: nethttp.Transport(eng, srv.Client().Transport, named("peer"))}
		for range 10 {
			res, err := client.Get(srv.URL)
			require.NoError(t, err)
			require.GreaterOrEqual(t, res.StatusCode, 429)
			_, err = io.Copy(io.Discard, res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
		}
		require.Equal(t, counts{passed: 10, ignored: 10}, countsOf(eng, "peer"))
		srv.Close()
	}
}

// faults #70: ten failed answers are ten failures, and nothing stays in flight.
func TestEveryFailureIsReported(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(status(500))
	defer srv.Close()
	eng := newEngine(t, failuresInRow("peer", 10))
	client := &http.Client{Transport: nethttp.Transport(eng, srv.Client().Transport, named("peer"))}
	for range 10 {
		res, err := client.Get(srv.URL)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
	}
	require.Equal(t, counts{passed: 10, failed: 10}, countsOf(eng, "peer"))
	_, err := client.Get(srv.URL)
	require.ErrorIs(t, err, breaker.ErrOpen)
}

// An upgraded connection outlives the context it was asked for with, and counts until it is closed.
func TestClientUpgrade(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(echoUpgrade))
	defer srv.Close()
	eng := newEngine(t, cordon.Rules{})
	rt := nethttp.Transport(eng, srv.Client().Transport, named("ws"))
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, "GET", srv.URL, nil)
	require.NoError(t, err)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "echo")
	res, err := rt.RoundTrip(r)
	require.NoError(t, err)
	require.Equal(t, 101, res.StatusCode)
	conn, ok := res.Body.(io.ReadWriteCloser)
	require.True(t, ok, "an upgraded body can be written to")
	_, err = io.WriteString(conn, "ping\n")
	require.NoError(t, err)
	got := make([]byte, 5)
	_, err = io.ReadFull(conn, got)
	require.NoError(t, err)
	require.Equal(t, "ping\n", string(got))
	require.Equal(t, counts{passed: 1, inFlight: 1}, countsOf(eng, "ws"))
	require.NoError(t, conn.Close())
	require.Equal(t, ended(cordon.Success), countsOf(eng, "ws"))
	cancel()
}

func TestPlainBodiesAreNotWritable(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, cordon.Rules{})
	res, err := nethttp.Transport(eng, answer(200, io.NopCloser(strings.NewReader("x")))).RoundTrip(get(t, t.Context()))
	require.NoError(t, err)
	_, writable := res.Body.(io.Writer)
	require.False(t, writable)
	require.NoError(t, res.Body.Close())
}

func TestCloseIdleConnections(t *testing.T) {
	t.Parallel()
	closed := make(chan net.Conn, 1)
	srv := httptest.NewUnstartedServer(http.HandlerFunc(ok))
	srv.Config.ConnState = func(c net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			closed <- c
		}
	}
	srv.Start()
	defer srv.Close()
	eng := newEngine(t, cordon.Rules{})
	client := &http.Client{Transport: nethttp.Transport(eng, &http.Transport{})}
	res, err := client.Get(srv.URL)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	client.CloseIdleConnections()
	<-closed
}

func TestClientSkip(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, perDay("peer.test", 0))
	rt := nethttp.Transport(eng, answer(200, http.NoBody), nethttp.WithSkip(func(*http.Request) bool { return true }))
	_, err := rt.RoundTrip(get(t, t.Context()))
	require.NoError(t, err)
	require.Zero(t, countsOf(eng, "peer.test"))
}
