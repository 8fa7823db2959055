package nethttp

import (
	"io"
	"net/http"
	"sync"
)

// An outgoing is a request's body for as long as it may have to be sent again.
type outgoing struct {
	req  *http.Request
	held *heldBody // nil if there is no body, or if it can be had anew
}

func newOutgoing(req *http.Request) outgoing {
	o := outgoing{req: req}
	if req.Body != nil && req.Body != http.NoBody && req.GetBody == nil {
		o.held = &heldBody{rc: req.Body}
	}
	return o
}

// first returns the body to send first.
func (o *outgoing) first() io.ReadCloser {
	if o.held == nil {
		return o.req.Body
	}
	return o.held
}

// again returns the body to send once more; false if it cannot be had.
func (o *outgoing) again() (io.ReadCloser, bool) {
	switch {
	case o.req.Body == nil || o.req.Body == http.NoBody:
		return o.req.Body, true
	case o.held != nil:
		return o.held, o.held.unread()
	}
	body, err := o.req.GetBody()
	return body, err == nil
}

// release lets the body be closed: it will not be sent again.
func (o *outgoing) release() {
	if o.held != nil {
		o.held.release()
	}
}

// A heldBody keeps a request's body open while it may have to be sent to another instance: a transport closes the body of a
// request that it could not send. It notes whether reading it failed, so that no instance is blamed for that.
type heldBody struct {
	rc io.ReadCloser

	mu       sync.Mutex // guards what follows
	read     bool       // something was read: it can be sent only once
	closing  bool       // it was closed before it was read
	closed   bool       // it was closed, after which reading may well fail
	failed   bool       // reading failed
	released bool       // it will not be sent again
}

func (b *heldBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	b.read = true
	b.mu.Unlock()
	n, err := b.rc.Read(p)
	if err != nil && err != io.EOF {
		b.mu.Lock()
		b.failed = b.failed || !b.closed
		b.mu.Unlock()
	}
	return n, err
}

// broke reports whether reading failed, by the caller's doing.
func (b *heldBody) broke() bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

func (b *heldBody) Close() error {
	b.mu.Lock()
	hold := !b.read && !b.released
	b.closing = b.closing || hold
	b.closed = b.closed || !hold
	b.mu.Unlock()
	if hold {
		return nil
	}
	return b.rc.Close()
}

// unread reports whether all of the body is still there to be sent.
func (b *heldBody) unread() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closing = false
	return !b.read
}

// release lets closing through from now on, and makes up for what was held back.
func (b *heldBody) release() {
	b.mu.Lock()
	b.released = true
	closing := b.closing
	b.mu.Unlock()
	if closing {
		_ = b.rc.Close() // as a transport does: nobody is told
	}
}
