package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestInputIsReadAsItIs(t *testing.T) {
	text := strings.Repeat("0123456789", 1000)
	got, err := io.ReadAll(&interruptible{t.Context(), iotest.OneByteReader(strings.NewReader(text))})
	require.NoError(t, err)
	require.Equal(t, text, string(got))
	got, err = io.ReadAll(&interruptible{t.Context(), iotest.DataErrReader(strings.NewReader(text))})
	require.NoError(t, err)
	require.Equal(t, text, string(got))
	_, err = io.ReadAll(&interruptible{t.Context(), iotest.ErrReader(io.ErrUnexpectedEOF)})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// A signal ends a question, and a wait for a document, at once: nobody has to press Enter first.
func TestInterruptedInput(t *testing.T) {
	for name, args := range map[string][]string{
		"question": {"push", "--history", "none", "testdata/rules.yaml", target},
		"document": {"push", "--yes", "--history", "none", "-", target},
		"diff":     {"diff", "-", "testdata/rules.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPushes(t, oneRule)
			p.terminal = true
			ctx, cancel := context.WithCancel(t.Context())
			in, keyboard := io.Pipe()
			defer keyboard.Close()
			asked := make(chan struct{})
			go func() {
				<-asked
				cancel()
			}()
			var out, errs bytes.Buffer
			waiting := readerFunc(func(b []byte) (int, error) {
				close(asked)
				return in.Read(b)
			})
			code := p.on(ctx, streams{in: &interruptible{ctx, waiting}, out: &out, err: &errs}, args...)
			if name == "question" {
				require.Equal(t, exitBad, code)
				require.Contains(t, errs.String(), "store it? [y/N] \ncordon: nothing is stored")
			} else {
				require.Equal(t, exitMisuse, code)
				require.Contains(t, errs.String(), "interrupted")
			}
			require.Equal(t, oneRule, string(p.s.content.Data))
		})
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
