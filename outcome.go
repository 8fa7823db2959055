package cordon

import (
	"context"
	"errors"

	"github.com/cordon-go/cordon/stat"
)

// Outcome says how an admitted call ended.
type Outcome = stat.Outcome

// The outcomes of a call.
const (
	Success = stat.Success
	Failure = stat.Failure
	Ignored = stat.Ignored
)

// Classifier decides the outcome of a call from the error it returned (never nil) and the caller's context. It must be safe for concurrent use; a
// panic in it is an internal fault, and the call counts as a failure.
type Classifier func(ctx context.Context, err error) Outcome

// DefaultClassifier judges an error: the caller's own cancellation (context.Canceled while ctx is
// cancelled) and a refusal by cordon itself (ErrBlocked) are Ignored, since they say nothing about the callee;
// everything else is Failure, deadlines included.
func DefaultClassifier(ctx context.Context, err error) Outcome {
	switch {
	case err == nil:
		return Success
	case errors.Is(err, ErrBlocked):
		return Ignored
	case errors.Is(err, context.Canceled) && errors.Is(ctx.Err(), context.Canceled):
		return Ignored
	}
	return Failure
}
