package nethttp_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/isolation"
)

// What the caller cannot read of its own body is no instance's fault, and is not sent to another.
func TestPoolCallersBody(t *testing.T) {
	t.Parallel()
	for _, retry := range []nethttp.Retry{{}, {Off: true}} {
		var arrived atomic.Int64
		reads := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			arrived.Add(1)
			_, _ = io.Copy(io.Discard, r.Body)
		}))
		t.Cleanup(reads.Close)
		base := &http.Transport{}
		t.Cleanup(base.CloseIdleConnections)
		put := func(p *poolTest, body io.ReadCloser) error {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://s/", body)
			require.NoError(t, err)
			res, err := p.RoundTrip(req)
			if err == nil {
				_ = res.Body.Close()
			}
			return err
		}
		set := func(c *nethttp.PoolConfig) { c.Retry = retry }

		torn := errors.New("the disk has a hole")
		p := newPool(t, []nethttp.Target{{URL: reads.URL}, {URL: reads.URL + "/2"}}, base, set)
		err := put(p, io.NopCloser(io.MultiReader(strings.NewReader("begun"), failing{torn})))
		require.ErrorIs(t, err, torn)
		require.Equal(t, []isolation.Outcome{isolation.Ignored}, p.outcomes())
		require.LessOrEqual(t, arrived.Load(), int64(1))
	}
}

// failing cannot be read.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
