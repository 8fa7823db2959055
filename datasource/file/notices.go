package file

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/fsnotify/fsnotify"
)

// notices are the system's notices of changes in folders, reduced to the names that matter.
type notices struct {
	watcher *fsnotify.Watcher
	// watching are the folders last asked for. Only the goroutine that calls watch uses it.
	watching []folder
	// names are those that matter.
	names atomic.Pointer[[]string]
	// signal holds at most one: something has changed.
	signal chan struct{}
	stop   chan struct{}
	ended  chan struct{}
}

func newNotices(newWatcher func() (*fsnotify.Watcher, error)) (*notices, error) {
	watcher, err := newWatcher()
	if err != nil {
		return nil, err
	}
	n := &notices{
		watcher: watcher,
		signal:  make(chan struct{}, 1),
		stop:    make(chan struct{}),
		ended:   make(chan struct{}),
	}
	n.names.Store(&[]string{})
	go n.drain()
	return n, nil
}

// drain takes what the watcher has to say, always: the watcher may hold its lock while it waits for that, so whoever
// adds a folder must not be the one to listen.
func (n *notices) drain() {
	defer close(n.ended)
	for {
		select {
		case <-n.stop:
			return
		case event, ok := <-n.watcher.Events:
			if !ok {
				return
			}
			if n.matters(event.Name) {
				n.raise()
			}
		case _, ok := <-n.watcher.Errors:
			if !ok {
				return
			}
			n.raise() // notices were lost, perhaps one that matters
		}
	}
}

// matters reports whether a change of the name can be one of the file or of the way to it. Case is not looked at, some file systems
// do not either.
func (n *notices) matters(path string) bool {
	name := filepath.Base(path)
	return slices.ContainsFunc(*n.names.Load(), func(s string) bool { return strings.EqualFold(s, name) })
}

// raise signals a change.
func (n *notices) raise() {
	select {
	case n.signal <- struct{}{}:
	default:
	}
}

// changed returns the channel of signals, nil if there are no notices.
func (n *notices) changed() <-chan struct{} {
	if n == nil {
		return nil
	}
	return n.signal
}

// watch makes the chain's folders the watched ones. The error says which one that is needed cannot be.
func (n *notices) watch(c chain) error {
	folders := c.watched()
	n.names.Store(&c.names)
	var errs []error
	for _, f := range folders {
		// Always anew, even if it has a watch: the folder at that path may be another one by now.
		if err := n.watcher.Add(f.path); err != nil && f.needed {
			errs = append(errs, fmt.Errorf("%s: %w", f.path, err))
		}
	}
	for _, old := range n.watching {
		if !slices.ContainsFunc(folders, func(f folder) bool { return f.path == old.path }) {
			_ = n.watcher.Remove(old.path) // fails if the system has removed it already
		}
	}
	n.watching = folders
	return errors.Join(errs...)
}

// close ends the notices and waits for it.
func (n *notices) close() {
	_ = n.watcher.Close()
	close(n.stop)
	<-n.ended
}

// watchFolders watches the folders on the way to the file. It reports whether the way was the same before and after, so that no later
// change of it can go unnoticed. Without notices it is: there is nothing to get right.
func (w *watch) watchFolders() (calm bool) {
	if w.notices == nil {
		w.notices, w.noticesErr = newNotices(w.newWatcher)
	}
	if w.notices == nil {
		return true
	}
	way := w.resolve(w.full)
	for range 3 {
		err := w.notices.watch(way)
		if errors.Is(err, fsnotify.ErrClosed) {
			w.dropNotices()
			w.noticesErr = err
			return true
		}
		next := w.resolve(w.full)
		if next.same(way) {
			w.noticesErr = err
			return true
		}
		way = next
	}
	return false
}

// dropNotices ends the notices, if there are any.
func (w *watch) dropNotices() {
	if w.notices != nil {
		w.notices.close()
		w.notices = nil
	}
}
