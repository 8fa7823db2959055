package rulestore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cordon-go/cordon/cmd/cordon/internal/wholefile"
	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/datasource/file"
)

// File returns the store that is a file.
func File(path string) Store { return fileStore(path) }

type fileStore string

func (f fileStore) Read(context.Context) (Content, error) {
	data, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return Content{Absent: true}, nil
	}
	return Content{Data: data}, err
}

// Write compares and then replaces: files cannot do both at once, so a writer in between is not seen.
func (f fileStore) Write(ctx context.Context, data []byte, was Content) error {
	now, err := f.Read(ctx)
	if err != nil {
		return err
	}
	if now.Sum() != was.Sum() {
		return ErrConflict
	}
	path := string(f)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link stays one
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return wholefile.Write(path, data, mode)
}

func (f fileStore) Source() datasource.Source { return file.Source(string(f)) }

func (f fileStore) Close() error { return nil }
