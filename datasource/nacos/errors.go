package nacos

import (
	"errors"
	"fmt"
)

// ErrClosed says that the client was closed.
var ErrClosed = errors.New("nacos client is closed")

// ErrConflict is in the error of a Publish that found another content than IfMD5 wants. It is always a *ConflictError.
var ErrConflict = errors.New("document was changed by somebody else")

// ErrForbidden is in the error of what the server refuses to do for this user: it could not log in, its token is not valid or not
// any more, or it lacks the right.
var ErrForbidden = errors.New("forbidden")

// A ConflictError is the refusal to overwrite what is not what IfMD5 wants. errors.Is finds ErrConflict in it.
type ConflictError struct {
	// Group and DataID name the document.
	Group, DataID string
	// Want is the md5 that was asked for, "" for a document that must not exist yet.
	Want string
	// Have is the md5 of what the server holds, "" if there is no such document.
	Have string
}

// Error says what was wanted and what is there. Which document it is about stands in the error that Publish returns.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%v: want %s, the server has %s; read it again and decide", ErrConflict, state(e.Want), state(e.Have))
}

// Is reports whether target is ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// state names the content that has an md5.
func state(md5 string) string {
	if md5 == "" {
		return "no document"
	}
	return "md5 " + md5
}

// An answerError is a server's answer that it does not do what it was asked to.
type answerError struct {
	server  string
	code    int
	message string
}

func (e *answerError) Error() string {
	if e.message == "" {
		return fmt.Sprintf("%s: refused, code %d", e.server, e.code)
	}
	return fmt.Sprintf("%s: refused, code %d: %s", e.server, e.code, e.message)
}

// Unwrap finds ErrForbidden in refusals for lack of rights.
func (e *answerError) Unwrap() error {
	if e.code == codeForbidden || e.code == codeUnauthorized {
		return ErrForbidden
	}
	return nil
}

// A lostError says that nothing more is to be expected of a connection.
type lostError struct {
	server string
	err    error
}

func (e *lostError) Error() string { return fmt.Sprintf("%s: %v", e.server, e.err) }

func (e *lostError) Unwrap() error { return e.err }

// A timeoutError says that an answer did not come in time.
type timeoutError struct{ within string }

func (e *timeoutError) Error() string { return "no answer within " + e.within }

// Timeout reports true, as the timeouts of package net do.
func (e *timeoutError) Timeout() bool { return true }

// also adds to an error what else went wrong, in one line.
func also(err, more error) error {
	switch {
	case err == nil:
		return more
	case more == nil:
		return err
	}
	return fmt.Errorf("%w; %w", err, more)
}

// text returns an error's text, "" for nil.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// isLost reports whether an error says that the connection is of no use any more.
func isLost(err error) bool {
	_, ok := errors.AsType[*lostError](err)
	return ok
}
