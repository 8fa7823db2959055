package nethttp

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

type closeCounter struct {
	io.Reader
	closed int
}

func (c *closeCounter) Close() error {
	c.closed++
	return nil
}

// A body that cannot be read is the caller's doing, but not when who sends it has closed it.
func TestHeldBodyThatBreaks(t *testing.T) {
	t.Parallel()
	torn := errors.New("torn")
	for _, closed := range []bool{false, true} {
		b := &heldBody{rc: io.NopCloser(io.MultiReader(strings.NewReader("x"), iotest.ErrReader(torn)))}
		_, err := b.Read(make([]byte, 1))
		require.NoError(t, err)
		require.False(t, b.broke())
		if closed {
			require.NoError(t, b.Close())
		}
		_, err = b.Read(make([]byte, 1))
		require.ErrorIs(t, err, torn)
		require.Equal(t, !closed, b.broke())
	}
	require.False(t, (*heldBody)(nil).broke(), "one that is not watched")
}

// A body stays open while another instance may need it, and is closed in the end whoever asked for it and when.
func TestHeldBody(t *testing.T) {
	t.Parallel()
	newBody := func() (*closeCounter, *heldBody) {
		rc := &closeCounter{Reader: strings.NewReader("x")}
		return rc, &heldBody{rc: rc}
	}
	t.Run("closed unread, tried again, read", func(t *testing.T) {
		t.Parallel()
		rc, b := newBody()
		require.NoError(t, b.Close())
		require.True(t, b.unread())
		require.Zero(t, rc.closed)
		got, err := io.ReadAll(b)
		require.NoError(t, err)
		require.Equal(t, "x", string(got))
		require.False(t, b.unread())
		require.NoError(t, b.Close())
		require.Equal(t, 1, rc.closed)
		b.release()
		require.Equal(t, 1, rc.closed)
	})
	t.Run("closed unread by the last", func(t *testing.T) {
		t.Parallel()
		rc, b := newBody()
		require.NoError(t, b.Close())
		require.Zero(t, rc.closed)
		b.release()
		require.Equal(t, 1, rc.closed)
	})
	t.Run("closed unread after the answer", func(t *testing.T) {
		t.Parallel()
		rc, b := newBody()
		b.release()
		require.Zero(t, rc.closed)
		require.NoError(t, b.Close())
		require.Equal(t, 1, rc.closed)
	})
}
