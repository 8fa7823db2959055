package nethttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/clock"
)

// The adapter adds two objects to an admitted request (the recorder and the writer the handler sees), none to a refused one but
// what its answer needs, and to a client's exchange those that watch the body.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	r := httptest.NewRequest("GET", "/", nil)
	w := &bare{}
	eng := newEngine(t, perDay("refused", 0))

	admitted := nethttp.Middleware(eng, named("admitted"))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { admitted.ServeHTTP(w, r) }), 2.0)

	silent := nethttp.WithRefusal(func(http.ResponseWriter, *http.Request, nethttp.Refusal) {})
	refused := nethttp.Middleware(eng, named("refused"), silent)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	// Two header values of one string each, and the number.
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { refused.ServeHTTP(w, r) }), 4.0)

	req := get(t, t.Context())
	rt := nethttp.Transport(eng, answer(200, http.NoBody), named("refused"))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if _, err := rt.RoundTrip(req); err == nil {
			t.Error("must be refused")
		}
	}))

	header, body := http.Header{}, http.NoBody
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: header, Body: body}, nil
	})
	rt = nethttp.Transport(eng, base, named("admitted"))
	bare := testing.AllocsPerRun(100, func() { _, _ = base.RoundTrip(req) })
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { _, _ = rt.RoundTrip(req) }), bare+1)
}

// A pool adds one object, which holds the request that is sent, and one more to an exchange whose body it watches.
func TestPoolAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	req := get(t, context.Background())
	for _, body := range []io.ReadCloser{http.NoBody, io.NopCloser(strings.NewReader(""))} {
		header := http.Header{}
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: header, Body: body, ContentLength: -1}, nil
		})
		p := newPool(t, hosts("a", "b", "c"), nil, func(c *nethttp.PoolConfig) { c.Base, c.Outcome = base, nil })
		bare := testing.AllocsPerRun(100, func() { _, _ = base.RoundTrip(req) })
		most := bare + 1
		if body != http.NoBody {
			most += 3 // with the wait for a body that is abandoned
		}
		require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
			res, err := p.RoundTrip(req)
			if err != nil {
				t.Error(err)
				return
			}
			_ = res.Body.Close()
		}), most)
	}
}

func BenchmarkPool(b *testing.B) {
	header := http.Header{}
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: header, Body: http.NoBody}, nil
	})
	p := newPool(b, hosts("a", "b", "c", "d", "e"), nil, func(c *nethttp.PoolConfig) { c.Base, c.Outcome, c.Clock = base, nil, clock.System() })
	req, err := http.NewRequest("GET", "http://s/v1/items", nil)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.RoundTrip(req); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMiddleware(b *testing.B) {
	eng := newEngine(b, cordon.Rules{})
	h := nethttp.Middleware(eng, named("r"))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	r := httptest.NewRequest("GET", "/", nil)
	w := &bare{}
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
}
