package nethttp_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/isolation"
)

// Real servers behind a pool, with HTTP/1.1 and HTTP/2: large bodies both ways, trailers, and what cannot be connected to for lack of trust.
func TestPoolOfRealServers(t *testing.T) {
	t.Parallel()
	const size = 3 << 20
	for _, h2 := range []bool{false, true} {
		var served [2]atomic.Int64
		roots := x509.NewCertPool()
		var list []nethttp.Target
		for i := range served {
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				served[i].Add(1)
				require.Equal(t, h2, r.ProtoMajor == 2)
				w.Header().Set("Trailer", "Sum")
				n, err := io.Copy(w, r.Body)
				require.NoError(t, err)
				require.EqualValues(t, size, n)
				w.Header().Set("Sum", "7")
			}))
			srv.EnableHTTP2 = h2
			srv.StartTLS()
			defer srv.Close()
			roots.AddCert(srv.Certificate())
			list = append(list, nethttp.Target{URL: srv.URL})
		}
		distrusted := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("must not be asked") }))
		distrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
		distrusted.StartTLS()
		defer distrusted.Close()
		plain := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("must not be asked") }))
		plain.Config.ErrorLog = log.New(io.Discard, "", 0)
		plain.Start()
		defer plain.Close()
		list = append(list,
			nethttp.Target{URL: strings.Replace(distrusted.URL, "127.0.0.1", "localhost", 1)}, // the certificate is not for that name
			nethttp.Target{URL: strings.Replace(plain.URL, "http:", "https:", 1)})

		base := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: h2}
		p := newPool(t, list, base, func(c *nethttp.PoolConfig) { c.Retry.Tries = 4 })
		client := &http.Client{Transport: p}
		for range 8 {
			res, err := client.Post("http://service/", "text/plain", strings.NewReader(strings.Repeat("x", size)))
			if err != nil { // whether anything reached a server that speaks no TLS is not known to all
				require.ErrorContains(t, err, "HTTP response to HTTPS client")
				continue
			}
			n, err := io.Copy(io.Discard, res.Body)
			require.NoError(t, err)
			require.EqualValues(t, size, n)
			require.Equal(t, "7", res.Trailer.Get("Sum"))
			require.NoError(t, res.Body.Close())
		}
		require.Positive(t, served[0].Load())
		require.Positive(t, served[1].Load())
		for _, o := range p.outcomes() {
			require.Contains(t, []isolation.Outcome{isolation.Success, isolation.LocalError}, o)
		}
		require.Contains(t, p.outcomes(), isolation.LocalError)
		_, _, inFlight := p.all()
		require.Zero(t, inFlight)
		client.CloseIdleConnections()
		base.CloseIdleConnections()
	}
}

// An upgraded connection works, outlives its request's context, and is not held against anybody.
func TestPoolUpgrade(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(echoUpgrade))
	defer srv.Close()
	p := newPool(t, []nethttp.Target{{URL: srv.URL}}, srv.Client().Transport)
	ctx, cancel := context.WithCancel(t.Context())
	req := get(t, ctx)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	res, err := p.RoundTrip(req)
	require.NoError(t, err)
	require.Equal(t, 101, res.StatusCode)
	require.Equal(t, []isolation.Outcome{isolation.Success}, p.outcomes())
	cancel()
	conn := res.Body.(io.ReadWriteCloser)
	_, err = io.WriteString(conn, "ping\n")
	require.NoError(t, err)
	got := make([]byte, 5)
	_, err = io.ReadFull(conn, got)
	require.NoError(t, err)
	require.Equal(t, "ping\n", string(got))
	require.NoError(t, conn.Close())
}

// Many callers over real connections while lists and rules change: every request is answered, nothing stays in flight, and nobody's goroutine is left.
func TestPoolConcurrently(t *testing.T) {
	t.Parallel()
	var sick atomic.Bool
	var list []nethttp.Target
	for i := range 4 {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if i == 0 && sick.Load() {
				w.WriteHeader(500)
			}
			_, _ = io.WriteString(w, "hello")
		}))
		defer srv.Close()
		list = append(list, nethttp.Target{URL: srv.URL, Region: []string{"a", "b"}[i%2], Weight: float64(i + 1)})
	}
	clk := clock.System()
	quick := isolation.Rule{Preset: isolation.Quick, Base: 100 * time.Millisecond, SlowStart: 100 * time.Millisecond, ProbeEvery: time.Millisecond}
	group, err := isolation.NewGroup("s", isolation.Config{Rule: &quick, Now: clk.Now()})
	require.NoError(t, err)
	defer group.Close()
	base := &http.Transport{MaxIdleConnsPerHost: 64}
	defer base.CloseIdleConnections()
	pool, err := nethttp.NewGroupPool(group, list, nethttp.PoolConfig{Base: base, Clock: clk})
	require.NoError(t, err)
	client := &http.Client{Transport: pool}
	var callers sync.WaitGroup
	for range 16 {
		callers.Go(func() {
			for range 150 {
				res, err := client.Get("http://s/")
				require.NoError(t, err)
				_, err = io.Copy(io.Discard, res.Body)
				require.NoError(t, err)
				require.NoError(t, res.Body.Close())
			}
		})
	}
	callers.Go(func() {
		for i := range 100 {
			sick.Store(i%4 == 0)
			_, err := pool.Update(list[:1+i%4])
			require.NoError(t, err)
			rule := quick
			rule.Base += time.Duration(i) * time.Millisecond
			require.NoError(t, group.SetRule(clk.Now(), &rule))
			require.NotEmpty(t, group.View(clk.Now()).Candidates)
		}
		_, err := pool.Update(list)
		require.NoError(t, err)
	})
	callers.Wait()
	for _, i := range group.Snapshot(clk.Now()).Instances {
		require.Zero(t, i.InFlight)
	}
}
