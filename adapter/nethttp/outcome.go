package nethttp

import (
	"context"
	"errors"
	"net/http"

	"github.com/cordon-go/cordon"
)

// StatusClientClosed is nginx's code for a client that hung up before it was answered. It never reaches anyone; a server's
// handler sets it to say so, and such a call is Ignored.
const StatusClientClosed = 499

// Ending is how an exchange ended, as far as it is known.
type Ending struct {
	// Request is the request: the one served, or the one sent. Its body must not be touched.
	Request *http.Request
	// Status is the final status; 0 if none came. A handler that wrote nothing has answered 200.
	Status int
	// Header is the response's header; nil if none came. It must not be changed.
	Header http.Header
	// Hijacked is true when the handler took the connection over. The call ended when the handler returned.
	Hijacked bool
	// Panic is what a server's handler panicked with: http.ErrAbortHandler, or a bug. The panic goes on.
	Panic any
	// Err is what a client's transport failed with, before the response or in the middle of its body. When the response was abandoned
	// it is the context's error.
	Err error
	// Default is the outcome by default.
	Default cordon.Outcome
}

// judge asks the option, if there is one, about an ending whose Default is set. If it panics, that is a fault of the engine's user: the call
// has ended all the same, and the engine is told.
func (c *config) judge(eng *cordon.Engine, resource string, e Ending) (o cordon.Outcome) {
	if c.outcome == nil {
		return e.Default
	}
	o = e.Default
	eng.Guard("WithOutcome of adapter/nethttp", resource, func() { o = c.outcome(e) })
	return o
}

// serverOutcome is a server's default: a bug, a status of 500 and above, an aborted answer and one that came after the request's
// deadline are failures, unless the client had hung up: then nobody can say what would have become of it.
func serverOutcome(e Ending) cordon.Outcome {
	if e.Panic != nil && e.Panic != any(http.ErrAbortHandler) {
		return cordon.Failure
	}
	if e.Status == StatusClientClosed || refusedByCordon(e.Status, e.Header) {
		return cordon.Ignored
	}
	end := e.Request.Context().Err()
	if e.Panic == nil && e.Status < 500 && !errors.Is(end, context.DeadlineExceeded) {
		return cordon.Success
	}
	if errors.Is(end, context.Canceled) {
		return cordon.Ignored
	}
	return cordon.Failure
}

// clientOutcome is a client's default: a status of 500 and above is a failure even if the body was not read to its end; else errors
// are judged by classify, the engine's classifier. The refusal of a peer that runs cordon tells nothing about its health.
func clientOutcome(e Ending, classify func(error) cordon.Outcome) cordon.Outcome {
	switch {
	case refusedByCordon(e.Status, e.Header):
		return cordon.Ignored
	case e.Status >= 500:
		return cordon.Failure
	case e.Err == nil:
		return cordon.Success
	}
	// A transport may report the context's cause, or an error of its own, for a request that its caller cancelled.
	if end := callersEnd(e.Request); errors.Is(end, context.Canceled) {
		return classify(end)
	}
	return classify(e.Err)
}

// refusedByCordon reports whether an answer is a refusal written by this package, here or at a peer.
func refusedByCordon(status int, h http.Header) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusForbidden:
		return h.Get(headerRefused) != ""
	}
	return false
}
