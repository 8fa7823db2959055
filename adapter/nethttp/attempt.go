package nethttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/isolation"
)

// Attempt is how an exchange with one instance ended, as far as it is known.
type Attempt struct {
	// Request is what was sent to the instance. Its body must not be touched.
	Request *http.Request
	// Address is the instance's, as its Target's URL in one form.
	Address string
	// Status is the response's; 0 if none came.
	Status int
	// Header is the response's header; nil if none came. It must not be changed.
	Header http.Header
	// Err is what it failed with, before the response or in the middle of its body. When the response was abandoned it is the context's error.
	Err error
	// Probe is true when the outcome decides over the instance's return from quarantine.
	Probe bool
	// Default is the outcome by default.
	Default isolation.Outcome
}

// attemptOutcome is the default. An instance that protects itself is told from one that fails, and one that cannot be connected to from both; what the caller
// did says nothing about it.
func attemptOutcome(a *Attempt) isolation.Outcome {
	switch {
	case a.Status == http.StatusTooManyRequests || a.Status != http.StatusForbidden && refusedByCordon(a.Status, a.Header):
		return isolation.Throttled
	case a.Status >= 500:
		return isolation.Failure
	case a.Err == nil:
		return isolation.Success
	case errors.Is(a.Err, cordon.ErrBlocked), cancelledBeneath(a):
		return isolation.Ignored
	case givenUp(a):
		if a.Status != 0 {
			return isolation.Ignored // how much of an answer somebody reads is his affair
		}
		return isolation.Abandoned
	case localError(a.Err):
		return isolation.LocalError
	}
	return isolation.Failure
}

// givenUp reports whether the caller gave an exchange up, before his deadline. A transport may report the context's cause, or an error of its own, for that.
func givenUp(a *Attempt) bool {
	return !tooSlow(a.Err) && errors.Is(callersEnd(a.Request), context.Canceled)
}

// cancelledBeneath reports whether a transport gave an exchange up that its caller still waits for.
func cancelledBeneath(a *Attempt) bool {
	return !tooSlow(a.Err) && errors.Is(a.Err, context.Canceled) && callersEnd(a.Request) == nil
}

// judge asks PoolConfig.Outcome, if there is one, about an attempt whose Default is set.
func (p *Pool) judge(a *Attempt) (o isolation.Outcome) {
	if p.cfg.Outcome == nil {
		return a.Default
	}
	o = a.Default
	defer func() {
		switch r := recover().(type) {
		case nil:
		case error:
			p.fault(r)
		default:
			p.fault(fmt.Errorf("panic: %v", r))
		}
	}()
	return p.cfg.Outcome(*a)
}

func (p *Pool) fault(err error) {
	if p.cfg.Fault != nil {
		p.cfg.Fault(err)
	}
}

// An attempt is an exchange with one instance, under way. It holds the request that it sends.
type attempt struct {
	pool     *Pool
	call     balance.Call
	req      http.Request
	url      url.URL
	status   int
	header   http.Header
	answered time.Duration // the reading at which the response's header came
	limit    *tryLimit     // nil: no bound
	held     *heldBody     // the request's body; nil if it is not watched
	ended    atomic.Bool   // whoever reads, whoever closes, and the context may all end it
}

// pick begins an attempt at the instance that is to have the request.
func (p *Pool) pick(req *http.Request, ask balance.Request) (*attempt, error) {
	call, err := p.balancer.Pick(p.cfg.Clock.Now(), ask)
	if err != nil {
		return nil, err
	}
	a := &attempt{pool: p, call: call, req: *req, url: *req.URL}
	a.req.URL = &a.url
	host := a.req.Host
	if host == "" {
		host = req.URL.Host
	}
	(&httputil.ProxyRequest{In: req, Out: &a.req}).SetURL(p.url(call.Address()))
	if p.cfg.PreserveHost {
		a.req.Host = host
	}
	return a, nil
}

// url returns an instance's base URL. One that has just left the list is not among them any more: its address says it all the same.
func (p *Pool) url(address string) *url.URL {
	if u := (*p.urls.Load())[address]; u != nil {
		return u
	}
	u, err := baseURL(address)
	if err != nil {
		panic(err) // it was one when it was listed
	}
	return u
}

// send makes the exchange.
func (a *attempt) send(body io.ReadCloser) (*http.Response, error) {
	a.req.Body = body
	a.held, _ = body.(*heldBody)
	caller := a.req.Context()
	returned := false
	defer func() {
		if !returned {
			a.drop() // a panic of Base, which goes on and is not the instance's doing
		}
	}()
	res, err := a.exchange()
	returned = true
	switch {
	case err != nil:
		a.finish(err)
	case res == nil:
		a.finish(errNoResponse)
	default:
		a.status, a.header, a.answered = res.StatusCode, res.Header, a.pool.cfg.Clock.Now()
		a.answer(caller, res)
	}
	return res, err
}

// answer waits for the end of a response whose header has come.
func (a *attempt) answer(caller context.Context, res *http.Response) {
	if !lasting(res) {
		follow(caller, res, a)
		return
	}
	limit := a.limit
	a.limit = nil
	a.finish(nil)
	if limit != nil {
		follow(caller, res, limit)
	}
}

// lasting reports whether a response goes on for as long as somebody listens.
func lasting(res *http.Response) bool {
	if res.StatusCode == http.StatusSwitchingProtocols {
		return true
	}
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "text/event-stream")
}

// drop ends an attempt that says nothing about the instance.
func (a *attempt) drop() {
	if a.ended.CompareAndSwap(false, true) {
		a.call.End(a.pool.cfg.Clock.Now(), isolation.Ignored)
		a.limit.release()
	}
}

// finish ends the attempt, with the error that the exchange ended with, unless it has ended. It reports whether it did.
func (a *attempt) finish(err error) bool {
	if !a.ended.CompareAndSwap(false, true) {
		return false
	}
	e := Attempt{Request: &a.req, Address: a.call.Address(), Status: a.status, Header: a.header, Err: err, Probe: a.call.Probe()}
	e.Default = attemptOutcome(&e)
	if err != nil && a.status == 0 && a.held.broke() {
		e.Default = isolation.Ignored // the caller could not say what it wanted
	}
	o := a.pool.judge(&e)
	at := a.answered // how long somebody took to read is not the instance's latency
	if o != isolation.Success || at == 0 || e.Probe {
		at = a.pool.cfg.Clock.Now()
	}
	a.call.End(at, o)
	a.limit.release()
	return true
}
