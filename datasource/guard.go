package datasource

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
)

var errGoexit = errors.New("ended its goroutine by runtime.Goexit")

// guard calls f, and makes an error of a panic.
func guard(what string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{what: what, value: v, stack: debug.Stack()}
		}
	}()
	return f()
}

// A panicError is a panic caught in what was handed in.
type panicError struct {
	what  string
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("%s panicked: %v", e.what, e.value) }

// Unwrap returns the error that was panicked with, if it was one.
func (e *panicError) Unwrap() error {
	err, _ := e.value.(error)
	return err
}

// inside reports whether the caller runs on one of the pump's own goroutines, that is within apply or the source:
// waiting for these goroutines would wait for itself.
func (p *Pump) inside() bool {
	id := goroutineID()
	p.mu.Lock()
	defer p.mu.Unlock()
	return id != "" && slices.Contains(p.goroutines, id)
}

// goroutineID returns the number by which the runtime's stack traces ("goroutine 18 [running]: ...") tell goroutines apart, "" if they
// do not any more. It is never given to a second goroutine. It costs about a microsecond; only Start and Close ask.
func goroutineID() string {
	var buf [64]byte
	trace := buf[:runtime.Stack(buf[:], false)]
	rest, ok := bytes.CutPrefix(trace, []byte("goroutine "))
	if !ok {
		return ""
	}
	id, _, ok := bytes.Cut(rest, []byte(" "))
	if !ok {
		return ""
	}
	return string(id)
}
