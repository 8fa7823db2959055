package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// silent is a writer that keeps nothing.
type silent struct{ header http.Header }

func (s *silent) Header() http.Header         { return s.header }
func (s *silent) WriteHeader(int)             {}
func (s *silent) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkGateway is a request through a gateway to one of five real servers on loopback; most of it is net/http's.
func BenchmarkGateway(b *testing.B) {
	var servers []string
	for range 5 {
		srv := httptest.NewServer(says("hello"))
		defer srv.Close()
		servers = append(servers, srv.URL)
	}
	g, err := New(oneRoute(servers...))
	require.NoError(b, err)
	defer g.Close()
	r := httptest.NewRequestWithContext(b.Context(), "GET", "/", nil)
	b.ReportAllocs()
	for b.Loop() {
		w := &silent{http.Header{}}
		g.ServeHTTP(w, r)
	}
}
