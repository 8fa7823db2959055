package nethttp

import (
	"context"
	"io"
	"net/http"
	"runtime"
)

// An exchange wants to know how it ends. It must not lead to the response or its body: a body that is watched could then never be found abandoned.
type exchange interface {
	// finish ends the exchange with the error that it ended with, unless it has ended. It reports whether it did.
	finish(err error) bool
}

// follow finishes the exchange now if nothing is to come after the response's header, else when its body ends: read to the end, failed,
// closed, or abandoned.
func follow(ctx context.Context, res *http.Response, x exchange) {
	upgraded := res.StatusCode == http.StatusSwitchingProtocols
	if res.Body == nil || res.Body == http.NoBody || res.ContentLength == 0 && !upgraded {
		x.finish(nil)
		return
	}
	b := &body{rc: res.Body, x: x}
	if ctx.Done() != nil && !upgraded {
		b.stop = context.AfterFunc(ctx, func() { x.finish(ctx.Err()) })
	} else {
		runtime.AddCleanup(b, func(x exchange) { x.finish(nil) }, x)
	}
	res.Body = b
	if w, ok := b.rc.(io.Writer); ok {
		res.Body = struct {
			*body
			io.Writer
		}{b, w}
	}
}

// A body ends its exchange when it has been read to the end, has failed, or is closed.
type body struct {
	rc   io.ReadCloser
	x    exchange
	stop func() bool // ends the wait for the context; nil if there is none
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.rc.Read(p)
	switch err {
	case nil:
	case io.EOF:
		b.end(nil)
	default:
		b.end(err)
	}
	return n, err
}

// Close ends the exchange first, so that a reader which fails because of it ends nothing.
func (b *body) Close() error {
	b.end(nil)
	return b.rc.Close()
}

func (b *body) end(err error) {
	if b.x.finish(err) && b.stop != nil {
		b.stop()
	}
}
