package gateway

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/cordon-go/cordon/adapter/nethttp"
)

// A clientBody is a request's body that notes whether the client broke it off, sent too much or took too long, so that no upstream is
// blamed for it. What the transport makes of such an error depends on what it sees first: the error, or the request's
// context, which the server cancels then.
type clientBody struct {
	io.ReadCloser
	failure atomic.Pointer[error]
}

type clientBodyKey struct{}

// withClientBody returns a request with its body watched, and the body in its context, for those who see only a clone.
func withClientBody(r *http.Request) *http.Request {
	b := &clientBody{ReadCloser: r.Body}
	r = r.WithContext(context.WithValue(r.Context(), clientBodyKey{}, b))
	r.Body = b
	return r
}

func (b *clientBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF && err != http.ErrBodyReadAfterClose { // whose sender has closed it, since the upstream failed
		b.failure.CompareAndSwap(nil, &err)
	}
	return n, err
}

// clientFailure returns the status for what the client did to its body; ok is false if it did nothing.
func clientFailure(ctx context.Context) (status int, ok bool) {
	b, _ := ctx.Value(clientBodyKey{}).(*clientBody)
	if b == nil {
		return 0, false
	}
	failure := b.failure.Load()
	if failure == nil {
		return 0, false
	}
	var tooLarge *http.MaxBytesError
	var timeout net.Error
	switch {
	case errors.As(*failure, &tooLarge):
		return http.StatusRequestEntityTooLarge, true
	case errors.As(*failure, &timeout) && timeout.Timeout():
		return http.StatusRequestTimeout, true
	}
	return nethttp.StatusClientClosed, true
}
