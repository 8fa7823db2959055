// Package file is a datasource over one file, watched through its folder so that every way
// of replacing a file is seen: in-place writes, renames over it, the swap of a Kubernetes
// ConfigMap, a retargeted symlink, deletion and return.
package file

import (
	"context"
	"time"

	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/datasource"
)

// Options adjusts a file source. The zero value holds the defaults.
type Options struct {
	// Poll is how often the file is looked at even if no notice came; default 1s... (range 10ms to 1h).
	Poll time.Duration
	// MaxBytes is the largest document read; default 64 MiB. A larger one is an error, never cut.
	MaxBytes int64
	// Clock is the clock used; default clock.System().
	Clock clock.Clock
}

// Source returns a source over the file at path, with default options.
func Source(path string) datasource.Source { return New(path, Options{}) }

// New returns a source over the file at path.
func New(path string, opts Options) datasource.Source { return &source{path: path, opts: opts} }

type source struct {
	path string
	opts Options
}

func (s *source) Name() string { return "file:" + s.path }

func (s *source) Watch(ctx context.Context, deliver func(datasource.Update)) error { panic("stub") }
