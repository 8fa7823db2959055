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

// Classifier decides the outcome of a call from the error it returned, which is never nil. It must be safe for concurrent use; a
// panic in it is an internal fault, and the call counts as a failure. Who knows more than the error (a context, a status) decides
// by it and ends the call with Entry.End.
type Classifier func(err error) Outcome

// DefaultClassifier judges an error: a cancellation (context.Canceled) is the caller's doing, and a refusal (ErrBlocked) cordon's own; both are
// Ignored, since they say nothing about the callee. Everything else is Failure, deadlines included; nil is Success.
func DefaultClassifier(err error) Outcome {
	switch {
	case err == nil:
		return Success
	case errors.Is(err, ErrBlocked), errors.Is(err, context.Canceled):
		return Ignored
	}
	return Failure
}
