package nethttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/cordon-go/cordon/clock"
)

// A tryLimit bounds how long an instance may take to answer.
type tryLimit struct {
	timer  clock.Timer
	slow   error // what the exchange fails with when it has taken too long
	cancel context.CancelCauseFunc
}

// bound makes the attempt end if no header has come after that time. It is called once, before the attempt is sent.
func (a *attempt) bound(after time.Duration) {
	ctx, cancel := context.WithCancelCause(a.req.Context())
	a.req = *a.req.WithContext(ctx)
	slow := &tryTimeoutError{a.call.Address(), after}
	a.limit = &tryLimit{a.pool.cfg.Clock.AfterFunc(after, func() { cancel(slow) }), slow, cancel}
}

// exchange sends the request, and returns what comes of it in time.
func (a *attempt) exchange() (*http.Response, error) {
	res, err := a.pool.cfg.Base.RoundTrip(&a.req)
	if a.limit == nil || a.limit.timer.Stop() {
		return res, err
	}
	a.limit.cancel(a.limit.slow) // which the timer may be about to do
	if context.Cause(a.req.Context()) != a.limit.slow {
		return res, err // the caller was first
	}
	if res != nil && res.Body != nil {
		_ = res.Body.Close() // what comes too late cannot be read any more
	}
	return nil, a.limit.slow
}

// release frees what the bound holds. What is still being read then breaks off.
func (l *tryLimit) release() {
	if l != nil {
		l.timer.Stop()
		l.cancel(nil)
	}
}

// finish is for a response that is followed only so that what the bound holds is freed when it has ended.
func (l *tryLimit) finish(error) bool {
	l.release()
	return true
}

// A tryTimeoutError is what a try fails with that took longer than Retry.TryTimeout. It is a net.Error.
type tryTimeoutError struct {
	address string
	after   time.Duration
}

// tooSlow reports whether an exchange took longer than a try may.
func tooSlow(err error) bool {
	var slow *tryTimeoutError
	return errors.As(err, &slow)
}

func (e *tryTimeoutError) Error() string {
	return fmt.Sprintf("nethttp: %s has not answered within %v, the time-out of a try", e.address, e.after)
}

// Timeout is true.
func (e *tryTimeoutError) Timeout() bool { return true }

// Temporary is true.
func (e *tryTimeoutError) Temporary() bool { return true }
