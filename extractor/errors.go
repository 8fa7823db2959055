package extractor

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrNoBody says that a call has no body, or that it was read already.
	ErrNoBody = errors.New("extractor: the call has no body to look into")
	// ErrNotJSON says that a body, or a json.RawMessage in the arguments, is not JSON.
	ErrNotJSON = errors.New("extractor: what should be JSON is not")
	// ErrTooLarge says that a body is longer than may be read, or JSON nested deeper than 1000.
	ErrTooLarge = errors.New("extractor: the body is too large to look into")
)

// SyntaxError is a fault in a path.
type SyntaxError struct {
	// Path is the path, Offset the byte at which the fault is, Message what it is and Want what would be right.
	Path    string
	Offset  int
	Message string
	Want    string
}

// Error says what is wrong where, and what would be right.
func (e *SyntaxError) Error() string {
	text := fmt.Sprintf("extractor: path %q: byte %d: %s", e.Path, e.Offset, e.Message)
	if e.Want != "" {
		text += "; want " + e.Want
	}
	return text
}

// TypeError says that a path does not fit a type. Extract returns it once for each type.
type TypeError struct {
	// Path is the path, Type the type at which it does not go on. Step is the step below that type, "" if it is the path's end, and Message says why.
	Path, Type, Step, Message string
}

// Error says what does not fit.
func (e *TypeError) Error() string {
	at := "at its end"
	if e.Step != "" {
		at = "at " + e.Step
	}
	return fmt.Sprintf("extractor: path %q does not fit %s: %s, %s", e.Path, e.Type, at, e.Message)
}

// CallError says that something of the caller's own failed in one call: an extractor, or a method of an object in the arguments. It keeps nothing of the call.
type CallError struct {
	// Path is the path, What what failed: `extractor "uid"`, `GetOwner of *shop.Order`.
	Path, What string
	// Message is what the error or the panic said, up to 256 bytes.
	Message string
	// Panicked says that it panicked, rather than returned an error.
	Panicked bool
}

// Error says what failed and how.
func (e *CallError) Error() string {
	verb := "failed"
	if e.Panicked {
		verb = "panicked"
	}
	return fmt.Sprintf("extractor: path %q: %s %s: %s", e.Path, e.What, verb, e.Message)
}

// bounded returns the text, or what there is room for of it.
func bounded(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
