package nethttp_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What no transport would send is refused at once, and no instance is blamed; what net/http takes is sent.
func TestPoolRefusesWhatCannotBeSent(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(srv.Close)
	base := &http.Transport{}
	t.Cleanup(base.CloseIdleConnections)
	for _, change := range []func(*http.Request){
		func(r *http.Request) { r.Header["X"] = []string{"fine", "a\nb"} },
		func(r *http.Request) { r.Header["X"] = []string{"a\x00"} },
		func(r *http.Request) { r.Header["X"] = []string{"a\x7f"} },
		func(r *http.Request) { r.Header["a b"] = []string{"x"} },
		func(r *http.Request) { r.Header[""] = []string{"x"} },
		func(r *http.Request) { r.Header["\u00e4"] = []string{"x"} },
		func(r *http.Request) { r.Method = "BAD METHOD" },
		func(r *http.Request) { r.Header["X"] = []string{"\ttab, \u00e4 and \xff"} },
		func(r *http.Request) { r.Header["x-!#$%&'*+-.^_`|~09"] = nil },
		func(r *http.Request) { r.Method = "M-SEARCH" },
	} {
		request := func(url string) *http.Request {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, strings.NewReader("body"))
			require.NoError(t, err)
			change(r)
			return r
		}
		res, want := base.RoundTrip(request(srv.URL))
		if want == nil {
			require.NoError(t, res.Body.Close())
		}
		p := newPool(t, hosts(strings.TrimPrefix(srv.URL, "http://"), "other"), answers{})
		r := request("http://s/")
		body := &closeCounter{Reader: r.Body}
		r.Body = body
		_, err := p.RoundTrip(r)
		require.Equal(t, want == nil, err == nil, "%v, net/http: %v", err, want)
		if err != nil {
			require.Empty(t, p.outcomes())
			require.ErrorContains(t, err, "cannot be sent")
			require.Equal(t, 1, body.closed)
		}
	}
}

type closeCounter struct {
	io.Reader
	closed int
}

func (c *closeCounter) Close() error {
	c.closed++
	return nil
}
