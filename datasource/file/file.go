// Package file is a datasource over one file, watched through its folders so that every way
// of replacing a file is seen: in-place writes, renames over it, the swap of a Kubernetes
// ConfigMap, a retargeted symlink, deletion and return, also of the folders it is in.
//
// A change is delivered some 20ms after the file has come to rest, 150ms after it began to change at the latest. The file is
// looked at now and then as well, so that a change without a notice (a network file system, a system that has
// no more watches to give) is late rather than lost.
//
// A document is never delivered in part: a file that changes while it is read is read again, a file that is too large is an
// error, and a file that was just emptied, or has just gone, is given 200ms to come back before that is told. What a
// writer leaves lying for longer is what the file holds; writers who want no reader to see their work half done write
// to another name and rename.
package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/datasource"
)

// ErrTooLarge says that the file is larger than Options.MaxBytes.
var ErrTooLarge = errors.New("file is too large")

// ErrPolling says that the system gives no notices of changes (it has no watches left, say), so that they are seen only
// every Options.Poll. It is delivered after the document, at the start and after every change, until there are notices again.
var ErrPolling = errors.New("no notices of changes")

// Options adjusts a file source. The zero value holds the defaults.
type Options struct {
	// Poll is how often the file is looked at even if no notice came: its time and size every time, its
	// content every tenth time. Default 1s, range 10ms to 1h; what is outside counts as the nearer bound.
	Poll time.Duration
	// MaxBytes is the largest document read; default 64 MiB. A larger one is an error (ErrTooLarge), never cut.
	MaxBytes int64
	// Clock is the clock used for pauses; default clock.System().
	Clock clock.Clock
}

const (
	defaultPoll     = time.Second
	minPoll         = 10 * time.Millisecond
	maxPoll         = time.Hour
	defaultMaxBytes = 64 << 20
)

// withDefaults returns the options with every default filled in.
func (o Options) withDefaults() Options {
	if o.Poll == 0 {
		o.Poll = defaultPoll
	}
	o.Poll = min(max(o.Poll, minPoll), maxPoll)
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	return o
}

// Source returns a source over the file at path, with default options.
func Source(path string) datasource.Source { return New(path, Options{}) }

// New returns a source over the file at path. Neither the file nor its folders need exist yet. A relative path is
// taken from the folder that is current now. The source itself holds nothing open; each Watch uses a goroutine of its own besides the caller's and
// those of the system's notices, and ends them all before it returns. A document's version is the file's modification time (UTC) and the beginning of
// its SHA-256. A path that leads to anything but a file (a folder, a pipe) is an error that stays until a file is there.
func New(path string, opts Options) datasource.Source { return newSource(path, opts) }

func newSource(path string, opts Options) *source {
	s := &source{
		path:       path,
		opts:       opts.withDefaults(),
		open:       func(name string) (fs.File, error) { return os.Open(name) },
		newWatcher: fsnotify.NewWatcher,
		resolve:    resolve,
	}
	s.full, s.pathErr = absolute(path)
	return s
}

type source struct {
	path string
	// full is the absolute path, or pathErr says why there is none.
	full    string
	pathErr error
	opts    Options // with defaults
	// open, newWatcher and resolve are what they are called, or a test's.
	open       func(name string) (fs.File, error)
	newWatcher func() (*fsnotify.Watcher, error)
	resolve    func(path string) chain
}

// Name returns "file:" and the path as it was given.
func (s *source) Name() string { return "file:" + s.path }

// Watch is datasource.Source's. Watches of one source are independent of each other.
func (s *source) Watch(ctx context.Context, deliver func(datasource.Update)) error {
	if s.pathErr != nil {
		return s.pathErr
	}
	w := &watch{source: s, clock: s.opts.Clock, deliver: deliver}
	w.run(ctx)
	return nil
}

// absolute makes path absolute without cleaning it: "link/../rules.yaml" is not "rules.yaml" if link leads elsewhere.
func absolute(path string) (string, error) {
	if path == "" {
		return "", errors.New("path is empty, want that of a file")
	}
	if filepath.IsAbs(path) {
		return path, nil
	}
	if filepath.VolumeName(path) != "" || os.IsPathSeparator(path[0]) {
		return filepath.Abs(path) // Windows: relative to a volume, or to the current one
	}
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return folder + string(filepath.Separator) + path, nil
}
