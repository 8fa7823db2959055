package gateway

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/cordon-go/cordon/clock"
)

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
