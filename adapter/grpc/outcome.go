package cordongrpc

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/clock"
)

// Ending is how a call ended, as far as it is known.
type Ending struct {
	// Context is the call's.
	Context context.Context
	// Method is the full method, Resource what the call was counted as.
	Method, Resource string
	// Inbound is true for a call that was served, false for one that was made.
	Inbound bool
	// Instances are the first addresses of those that the attempts of a client's call went to, in order, where Register's policy chose them.
	Instances []string
	// Err is what the handler returned, or the caller got; nil for a success. Code is its code.
	Err  error
	Code codes.Code
	// Panicked is true when the handler, or what sends a client's call, panicked or ended the goroutine. The panic goes on.
	Panicked bool
	// Default is the outcome by default.
	Default cordon.Outcome
}

// codeRule is what one WithCodes says.
type codeRule struct {
	outcomes map[codes.Code]cordon.Outcome
	of       methods
	all      bool
}

// DefaultOutcome is how codes are judged without options. Failures are Unavailable, DeadlineExceeded, Internal, Unknown (a handler's error without a status), DataLoss and Unimplemented. Canceled is
// the caller's doing and ResourceExhausted a limit's, there or here; they are ignored. All else is success: the called answered.
func DefaultOutcome(code codes.Code) cordon.Outcome {
	switch code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Internal, codes.Unknown, codes.DataLoss, codes.Unimplemented:
		return cordon.Failure
	case codes.Canceled, codes.ResourceExhausted:
		return cordon.Ignored
	}
	return cordon.Success
}

// byCode judges a code.
func (c *config) byCode(method string, code codes.Code) cordon.Outcome {
	for i := len(c.codes) - 1; i >= 0; i-- {
		if r := &c.codes[i]; r.all || r.of.has(method) {
			if o, ok := r.outcomes[code]; ok {
				return o
			}
		}
	}
	return DefaultOutcome(code)
}

// codeOf returns an error's code. That of an error without a status is what gRPC makes of it, but for those of contexts, which gRPC does not know when a handler returns them; known is false for all others of these.
func codeOf(err error) (code codes.Code, known bool) {
	if err == nil {
		return codes.OK, true
	}
	if st, ok := status.FromError(err); ok {
		return st.Code(), true
	}
	code = status.FromContextError(err).Code()
	return code, code != codes.Unknown
}

// judge returns the outcome of a call that ended with an error, or with none. The engine's classifier judges errors that are no statuses, which only servers' handlers return.
func (c *config) judge(eng *cordon.Engine, e *Ending, ent *cordon.Entry) (o cordon.Outcome) {
	var known bool
	e.Code, known = codeOf(e.Err)
	switch {
	case e.Panicked:
		e.Code, e.Default = codes.Unknown, cordon.Failure
	case e.Err == nil:
		e.Default = c.byCode(e.Method, codes.OK)
	case refused(e.Err):
		e.Default = cordon.Ignored
	case known:
		e.Default = c.byCode(e.Method, e.Code)
	default:
		e.Default = ent.Classify(e.Err)
		if e.Default == cordon.Failure {
			e.Default = c.byCode(e.Method, e.Code)
		}
	}
	if e.Inbound && !e.Panicked {
		c.lateness(e)
	}
	if c.outcome == nil {
		return e.Default
	}
	if p := pickedOf(e.Context); p != nil && !e.Inbound {
		e.Instances = p.Addresses()
	}
	o = e.Default
	eng.Guard("WithOutcome of adapter/grpc", e.Resource, func() { o = c.outcome(*e) })
	return o
}

// lateness is about callers who waited no longer when a server's answer came. After their deadline even a good one has failed; when they gave up before it, a bad one tells nothing, for nobody can say what
// would have become of it.
func (c *config) lateness(e *Ending) {
	switch end := callersEnd(e.Context); {
	case end == nil:
	case errors.Is(end, context.DeadlineExceeded):
		if e.Code == codes.Canceled || e.Err == nil && e.Default == cordon.Success {
			e.Default = c.byCode(e.Method, codes.DeadlineExceeded)
		}
	case e.Default == cordon.Failure:
		e.Default = c.byCode(e.Method, codes.Canceled)
	}
}

// almost is how much earlier than the server's own timer the word of a client whose deadline has passed may come. Both count from when the call began for them, so
// it is only what two messages may differ by in how long they are under way.
const almost = 10 * time.Millisecond

// callersEnd returns why a call's caller waits for it no more, nil if he still does. A client whose deadline has passed resets the stream, as one that cancels does.
func callersEnd(ctx context.Context) error {
	err := ctx.Err()
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	clk := clock.System() // by which contexts go, whatever clock the engine has
	if deadline, ok := ctx.Deadline(); ok && !deadline.After(clk.Wall(clk.Now()+almost)) {
		return context.DeadlineExceeded
	}
	return err
}
