package gateway

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/clock"
)

// upstreams sends requests to a route's upstreams in turn. What an upstream could not be connected for goes to the next one: nothing
// of it was sent, so that it may be asked for again whatever its method.
type upstreams struct {
	urls         []*url.URL
	transport    http.RoundTripper
	preserveHost bool
	next         atomic.Uint64
}

func (u *upstreams) RoundTrip(req *http.Request) (*http.Response, error) {
	var body *unsentBody
	if req.Body != nil {
		body = &unsentBody{rc: req.Body}
		defer body.release()
	}
	first := u.next.Add(1) - 1
	for i := uint64(0); ; i++ {
		out := u.address(req, u.urls[(first+i)%uint64(len(u.urls))])
		if body != nil {
			out.Body = body
		}
		res, err := u.transport.RoundTrip(out)
		if err == nil || i+1 >= uint64(len(u.urls)) || !neverSent(err) || req.Context().Err() != nil || !body.unread() {
			return res, err
		}
	}
}

// address returns a copy of the request that goes to the upstream.
func (u *upstreams) address(req *http.Request, target *url.URL) *http.Request {
	out := req.WithContext(req.Context())
	out.URL = new(url.URL)
	*out.URL = *req.URL
	host := out.Host
	(&httputil.ProxyRequest{In: req, Out: out}).SetURL(target)
	if u.preserveHost {
		out.Host = host
	}
	return out
}

// neverSent reports whether a round trip failed before there was a connection.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// An unsentBody keeps a request's body open while it may have to be sent to another upstream: a transport closes the body of a
// request that it could not send.
type unsentBody struct {
	rc io.ReadCloser

	mu       sync.Mutex // guards what follows
	read     bool       // something was read: it can be sent only once
	closing  bool       // it was closed before it was read
	released bool       // no other upstream will be tried
}

func (b *unsentBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	b.read = true
	b.mu.Unlock()
	return b.rc.Read(p)
}

func (b *unsentBody) Close() error {
	b.mu.Lock()
	hold := !b.read && !b.released
	b.closing = b.closing || hold
	b.mu.Unlock()
	if hold {
		return nil
	}
	return b.rc.Close()
}

// unread reports whether all of the body is still there to be sent; a missing body is.
func (b *unsentBody) unread() bool {
	if b == nil {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closing = false
	return !b.read
}

// release lets closing through from now on, and makes up for what was held back.
func (b *unsentBody) release() {
	b.mu.Lock()
	b.released = true
	closing := b.closing
	b.mu.Unlock()
	if closing {
		_ = b.rc.Close() // as a transport does: nobody is told
	}
}

// newTransport returns what carries a route's requests. Routes with the same timeouts share one, and with it connections.
func newTransport(t Timeouts, own RouteTimeouts, l Limits) *http.Transport {
	dialer := &net.Dialer{Timeout: own.Dial}
	clk := clock.System() // deadlines of connections are the operating system's, whatever clock the engine has
	return &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return &sendingConn{Conn: conn, clk: clk, timeout: own.Send}, nil
		},
		TLSHandshakeTimeout:    own.Dial,
		ResponseHeaderTimeout:  own.ResponseHeader,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        t.UpstreamIdle,
		MaxIdleConnsPerHost:    256,
		MaxResponseHeaderBytes: l.ResponseHeaderBytes,
		DisableCompression:     true, // what upstream and client agree on passes as it is
		ForceAttemptHTTP2:      true,
	}
}

// A sendingConn fails a write that the other side does not take in time: net/http has no bound for it.
type sendingConn struct {
	net.Conn
	clk     clock.Clock
	timeout time.Duration
}

func (c *sendingConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(c.clk.Wall(c.clk.Now() + c.timeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
