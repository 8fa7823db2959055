package wholefile

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrite(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a")
	for _, text := range []string{"first", "", "second, longer"} {
		require.NoError(t, Write(path, []byte(text), 0o640))
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, text, string(data))
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		require.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	}
	requireOnly(t, folder, "a")
}

// What cannot be written leaves what was there, and nothing beside it.
func TestWriteFails(t *testing.T) {
	folder := t.TempDir()
	require.ErrorIs(t, Write(filepath.Join(folder, "none", "a"), nil, 0o600), os.ErrNotExist)
	taken := filepath.Join(folder, "taken")
	require.NoError(t, os.MkdirAll(filepath.Join(taken, "x"), 0o700))
	require.Error(t, Write(taken, []byte("x"), 0o600))
	requireOnly(t, folder, "taken")
}

func requireOnly(t *testing.T, folder, name string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, name, entries[0].Name())
}
