package flow

import "errors"

// ErrLimited is the error of a call that a rate refused.
var ErrLimited = errors.New("flow limit exceeded")

// ErrSaturated is the error of a call that a concurrency limit refused.
var ErrSaturated = errors.New("concurrency limit exceeded")
