package nethttp

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/rule"
)

// Retry says when a Pool sends a request once more, to another instance. The zero value means the defaults.
//
// What an instance could not be connected to for is sent to another whatever the method, since nothing of it was sent. A request that an
// instance may have seen is only sent again if that cannot do harm: if its method is GET, HEAD, OPTIONS, TRACE, PUT or DELETE, or it has the header
// Idempotency-Key (or X-Idempotency-Key), after a failed exchange and after the status 502, 503 or 504 (but not after 503 with which a peer's cordon protects
// itself); if it was the probe of an instance in quarantine, after any status of 500 and above, since what comes of that is to be expected. A body must be there to be sent again: none, one with http.Request.GetBody, or one of which nothing was read.
//
// A request is never sent again once its response was handed on, once its context is done, or to an instance that had it before.
type Retry struct {
	// Off switches it off: a request is sent once.
	Off bool `rule:"off"`
	// Tries is how often a request is sent at most, the first time included, 1 to 10; default 3, since two of a few instances may be down before that is known.
	Tries int `rule:"tries"`
	// Budget is how many retries there may be per request of the pool, .001 to 1; default .1. Up to 1000 requests' worth may be saved up.
	Budget float64 `rule:"budget"`
	// MinPerSecond is how many retries there may be per second if Budget allows fewer, .01 to 10,000; default 3. Up to ten seconds' worth may be saved up, and is
	// at the start.
	MinPerSecond float64 `rule:"minPerSecond"`
	// TryTimeout is how long an instance may take until its response's header comes, 1ms to 24h; default: as long as Base and the caller let it. Then it has failed, and another one is
	// asked. It should be well above what slow requests take, and holds only where the request may be seen twice and there is another try to come, and another instance in
	// service: what is sent last may take longer. (If the budget turns out to be empty then, the request fails.)
	TryTimeout time.Duration `rule:"tryTimeout"`
}

const maxTryTimeout = 24 * time.Hour

// WithDefaults returns the settings with every default spelled out.
func (r Retry) WithDefaults() Retry {
	if r.Tries == 0 {
		r.Tries = 3
	}
	if r.Budget == 0 {
		r.Budget = .1
	}
	if r.MinPerSecond == 0 {
		r.MinPerSecond = 3
	}
	return r
}

// Problems returns what is wrong with the settings, each fault with its field.
func (r Retry) Problems() rule.Problems {
	var problems rule.Problems
	within := func(field string, v, least, most float64) {
		if v != 0 && !(v >= least && v <= most) {
			problems = append(problems, rule.Problem{
				Index: -1, Field: field, Message: fmt.Sprintf("%v is out of range", v), Want: fmt.Sprintf("%v to %v", least, most),
			})
		}
	}
	within("tries", float64(r.Tries), 1, 10)
	within("budget", r.Budget, .001, 1)
	within("minPerSecond", r.MinPerSecond, .01, 10_000)
	if d := r.TryTimeout; d != 0 && (d < time.Millisecond || d > maxTryTimeout) {
		problems = append(problems, rule.Problem{
			Index: -1, Field: "tryTimeout", Message: fmt.Sprintf("%v is out of range", d), Want: fmt.Sprintf("%v to %v", time.Millisecond, maxTryTimeout),
		})
	}
	return problems
}

// idempotent reports whether a request may be seen twice.
func idempotent(r *http.Request) bool {
	switch r.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return r.Header.Get("Idempotency-Key") != "" || r.Header.Get("X-Idempotency-Key") != ""
}

// worthRetrying reports whether an exchange ended so that another instance may do better, and it may be made again.
func worthRetrying(r *http.Request, res *http.Response, err error, probe bool) bool {
	if err != nil {
		return neverSent(err) || idempotent(r) && !errors.Is(err, cordon.ErrBlocked)
	}
	switch res.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
	default:
		if !probe || res.StatusCode < 500 {
			return false
		}
	}
	return idempotent(r) && !refusedByCordon(res.StatusCode, res.Header)
}

// neverSent reports whether an exchange failed before there was a connection that anything could have been sent over. What looks like it but may have
// happened later does not count.
func neverSent(err error) bool {
	var op *net.OpError
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &certificate)
}

// localError reports whether an exchange failed since there is no connection to the instance: refused, no way there, a name that is not known, no TLS. A
// time out is none: it may as well be the instance's.
func localError(err error) bool {
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return false
	}
	var op *net.OpError
	var record tls.RecordHeaderError
	return neverSent(err) || errors.As(err, &record) || errors.As(err, &op) && op.Op == "remote error" // a TLS alert
}
