package nethttp

import (
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/extractor"
)

// Transport returns a round tripper that makes every exchange over base a call of the engine; a nil base is
// http.DefaultTransport. A refused request is not sent: its error is a *cordon.BlockedError (http.Client wraps it; errors.As finds it).
//
// The resource is named by WithName, else by the request's host.
//
// The call lasts until the response's body was read to its end, failed, or was closed; for a response without a body, until it
// came. If a body is abandoned, the call ends when the request's context does; without such a context (and for
// an upgraded connection, which outlives it) when the garbage collector finds the body.
//
// By default a status of 500 and above is a failure, and so are a transport's error, a deadline that passed, and a body that broke
// off, as the engine's classifier says; the caller's own cancellation, and 429 and 503 that a
// peer's cordon refused with, are ignored. All else is success, a body closed early too. WithOutcome changes that.
//
// CloseIdleConnections is passed on to base. It panics if eng is nil.
func Transport(eng *cordon.Engine, base http.RoundTripper, opts ...Option) http.RoundTripper {
	if eng == nil {
		panic("nethttp: Transport needs an engine; got nil")
	}
	if base == nil {
		base = http.DefaultTransport
	}
	return &transport{eng: eng, base: base, cfg: newConfig(opts)}
}

type transport struct {
	eng  *cordon.Engine
	base http.RoundTripper
	cfg  *config
}

// CloseIdleConnections is what http.Client.CloseIdleConnections looks for.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.cfg.skip != nil && t.cfg.skip(req) {
		return t.base.RoundTrip(req)
	}
	c, err := t.enter(req)
	if err != nil {
		return nil, err
	}
	returned := false
	defer func() {
		if !returned {
			c.ent.End(cordon.Failure) // a panic of base, which goes on
		}
	}()
	res, err := t.base.RoundTrip(req)
	returned = true
	switch {
	case err != nil:
		c.finish(err)
	case res == nil:
		c.finish(errNoResponse)
	default:
		c.status, c.header = res.StatusCode, res.Header
		follow(req.Context(), res, c)
	}
	return res, err
}

// enter asks the engine, and closes the body of a request that is not sent, as a RoundTripper must.
func (t *transport) enter(req *http.Request) (*call, error) {
	entered := false
	defer func() {
		if !entered && req.Body != nil {
			_ = req.Body.Close() // nothing was sent: there is no one to tell
		}
	}()
	asks := t.cfg.request(req, t.cfg.clientName(req), false)
	ent, err := t.eng.Enter(req.Context(), asks)
	if err != nil {
		t.cfg.release(asks.Carrier)
		return nil, err
	}
	entered = true
	return &call{ent: ent, eng: t.eng, cfg: t.cfg, name: asks.Resource, req: req, carrier: asks.Carrier}, nil
}

// errNoResponse judges a base that broke the RoundTripper's contract; http.Client has an error of its own for it.
var errNoResponse = errors.New("nethttp: the round tripper returned neither a response nor an error")

// A call is an admitted exchange.
type call struct {
	ent     cordon.Entry
	eng     *cordon.Engine
	cfg     *config
	name    string
	req     *http.Request
	carrier extractor.Carrier
	status  int
	header  http.Header
	ended   atomic.Bool // whoever reads, whoever closes, and the context may all end the call
}

// finish ends the call, with the error that the exchange ended with, unless it has ended. It reports whether it did.
func (c *call) finish(err error) bool {
	if !c.ended.CompareAndSwap(false, true) {
		return false
	}
	e := Ending{Request: c.req, Status: c.status, Header: c.header, Err: err}
	e.Default = clientOutcome(e, c.ent.Classify)
	c.ent.End(c.cfg.judge(c.eng, c.name, e))
	c.cfg.release(c.carrier)
	return true
}
