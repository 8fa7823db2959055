//go:build unix

package file

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A pipe is never opened: that would wait for a writer, and with it whoever closes the source.
func TestPipeIsNoDocument(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	u := one(t, Source(path))
	require.ErrorContains(t, u.Err, "no regular file")
}
