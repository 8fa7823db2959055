package paramflow

import "errors"

// ErrLimited is the error of a call that the limit of its value refused.
var ErrLimited = errors.New("limit of the value exceeded")
