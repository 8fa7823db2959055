package main

import (
	"context"
	"errors"
	"io"
)

// errInterrupted ends what waits for input when the program is told to end.
var errInterrupted = errors.New("interrupted")

// interruptible is an input of which nobody waits once ctx is done. A read of a terminal or a pipe goes on until something comes; nothing but the program's end ends it.
type interruptible struct {
	ctx context.Context
	in  io.Reader
}

// Read reads, and fails once ctx is done. What is read by then is lost.
func (i *interruptible) Read(p []byte) (int, error) {
	type outcome struct {
		data []byte
		err  error
	}
	done := make(chan outcome, 1)
	own := make([]byte, len(p)) // the reader may still write to it when the caller uses p again
	go func() {
		n, err := i.in.Read(own)
		done <- outcome{own[:n], err}
	}()
	select {
	case o := <-done:
		return copy(p, o.data), o.err
	case <-i.ctx.Done():
		return 0, errInterrupted
	}
}
