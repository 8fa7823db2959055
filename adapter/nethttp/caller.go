package nethttp

import (
	"context"
	"net/http"
	"time"

	"github.com/cordon-go/cordon/clock"
)

// almost is how far from a deadline the time of day may be, after it has been corrected, when it is over.
const almost = 50 * time.Millisecond

// callersEnd returns why the caller of a request waits for it no more: context.Canceled, or context.DeadlineExceeded; nil if he still does.
//
// A http.Client with a Timeout tells round trippers that are not net/http's own by Request.Cancel, a moment before the deadline that it gave the context too.
func callersEnd(r *http.Request) error {
	ctx := r.Context()
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-r.Cancel: //lint:ignore SA1019 nobody else is told of a client's time-out in time
	default:
		return nil
	}
	clk := clock.System() // by which contexts go, whatever clock a pool has
	if deadline, ok := ctx.Deadline(); ok && !deadline.After(clk.Wall(clk.Now()+almost)) {
		return context.DeadlineExceeded
	}
	return context.Canceled
}
