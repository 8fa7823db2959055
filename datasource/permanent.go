package datasource

import "errors"

// Permanent marks an error of a source's Watch as one that no further attempt mends: the source's name is none, say, or what it reads by was closed. The pump then ends, and First says why at once; what is in
// force stays. The marked error reads as err does, which errors.Is and errors.As find in it; nil stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// IsPermanent reports whether an error is one that Permanent has marked, or has such a one in it.
func IsPermanent(err error) bool {
	_, ok := errors.AsType[*permanentError](err)
	return ok
}

type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }

func (e *permanentError) Unwrap() error { return e.err }
