package file

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource"
)

func TestOptionsAreBounded(t *testing.T) {
	for _, test := range []struct {
		given, want time.Duration
	}{
		{0, time.Second}, {-1, minPoll}, {1, minPoll}, {time.Minute, time.Minute}, {math.MaxInt64, maxPoll},
	} {
		require.Equal(t, test.want, newSource("x", Options{Poll: test.given}).opts.Poll)
	}
	require.EqualValues(t, 64<<20, newSource("x", Options{MaxBytes: -1}).opts.MaxBytes)
	require.NotNil(t, newSource("x", Options{}).opts.Clock)
}

func TestNameIsThePathAsGiven(t *testing.T) {
	require.Equal(t, "file:/etc/app/rules.yaml", Source("/etc/app/rules.yaml").Name())
	require.Equal(t, "file:rules.yaml", New("rules.yaml", Options{}).Name())
}

// one returns the first thing the source delivers.
func one(t *testing.T, s datasource.Source) datasource.Update {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var got datasource.Update
	require.NoError(t, s.Watch(ctx, func(u datasource.Update) {
		if ctx.Err() == nil {
			got = u
			cancel()
		}
	}))
	return got
}

func TestVersionIsTimeAndHash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules")
	write(t, path, "content")
	require.NoError(t, os.Chtimes(path, time.Time{}, time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)))
	u := one(t, Source(path))
	require.NoError(t, u.Err)
	require.Equal(t, "content", string(u.Document.Data))
	require.Equal(t, "2026-01-02T03:04:05.006Z-ed7002b439e9", u.Document.Version)
}

func TestRelativePathIsTakenFromTheFolderOfNew(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "rules"), "content")
	t.Chdir(dir)
	s := Source("./rules")
	t.Chdir(t.TempDir())
	require.Equal(t, "content", string(one(t, s).Document.Data))
}

func TestEmptyPathIsAnError(t *testing.T) {
	require.ErrorContains(t, Source("").Watch(t.Context(), func(datasource.Update) {}), "empty")
}

// What stands in the file's place and is none is told, and a file that comes later is taken.
func TestWhatIsNoDocument(t *testing.T) {
	for _, test := range []struct {
		name string
		put  func(t *testing.T, path string)
		want error
		text string
	}{
		{"nothing", func(*testing.T, string) {}, datasource.ErrAbsent, "does not exist"},
		{"folder", func(t *testing.T, path string) { mkdir(t, path) }, nil, "is a folder"},
		{"dangling symlink", func(t *testing.T, path string) { link(t, "nowhere", path) }, datasource.ErrAbsent, ""},
		{"symlink to itself", func(t *testing.T, path string) { link(t, path, path) }, nil, "too many"},
		{"too large", func(t *testing.T, path string) { write(t, path, strings.Repeat("x", 1001)) }, ErrTooLarge, "1000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "rules")
			test.put(t, path)
			u := one(t, New(path, Options{MaxBytes: 1000}))
			require.Error(t, u.Err)
			if test.want != nil {
				require.ErrorIs(t, u.Err, test.want)
			}
			require.ErrorContains(t, u.Err, test.text)
			require.ErrorContains(t, u.Err, path)

			v := watching(t, newSource(path, Options{MaxBytes: 1000, Poll: maxPoll}))
			v.awaitsAnyError()
			remove(t, path)
			write(t, path, document(1))
			v.awaits(1)
			v.awaitsError(nil, "")
			remove(t, path)
			test.put(t, path)
			v.awaitsAnyError()
			require.Equal(t, document(1), v.inForce, "last good stays")
		})
	}
}

func (v *site) awaitsAnyError() {
	v.t.Helper()
	eventually(v.t, func() bool { return v.pump.Health().LastError != nil }, func() string { return "no error came" })
}

func TestLargestDocumentIsReadWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules")
	write(t, path, strings.Repeat("x", 1000))
	require.Len(t, one(t, New(path, Options{MaxBytes: 1000})).Document.Data, 1000)
	require.Len(t, one(t, New(path, Options{MaxBytes: math.MaxInt64})).Document.Data, 1000)
}

// faults #62: no folder of the path need exist, and they may come one by one.
func TestFoldersThatComeLater(t *testing.T) {
	for range rounds() {
		dir := t.TempDir()
		v := watching(t, newSource(filepath.Join(dir, "a", "b", "c", "rules"), Options{Poll: maxPoll}))
		v.awaitsError(datasource.ErrAbsent, "")
		require.ErrorIs(t, v.pump.First(t.Context()), datasource.ErrAbsent)
		for _, sub := range []string{"a", "a/b", "a/b/c"} {
			require.NoError(t, os.Mkdir(filepath.Join(dir, sub), 0o700))
			runtime.Gosched()
		}
		write(t, filepath.Join(dir, "a", "b", "c", "rules"), document(1))
		v.awaits(1)
		require.NoError(t, v.pump.Close())
	}
}

// faults #63, #64: emptied, deleted and half-written files clear nothing, for however long they stay so, and each is told.
func TestLastGoodStaysWhileTheFileIsNot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules")
	write(t, path, document(0))
	v := watching(t, newSource(path, Options{Poll: maxPoll}))
	v.awaits(0)
	for n := 1; n <= 3; n++ {
		write(t, path, "")
		v.awaitsError(errInvalid, "")
		remove(t, path)
		v.awaitsError(datasource.ErrAbsent, "")
		write(t, path, document(n)[:60])
		v.awaitsError(errInvalid, "")
		require.Equal(t, document(n-1), v.inForce)
		write(t, path, document(n))
		v.awaits(n)
		v.awaitsError(nil, "")
	}
}

// An empty file at the start is given the time that a writer needs.
func TestFileThatIsEmptyForAMomentIsNotDelivered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules")
	for n := range rounds() {
		write(t, path, "")
		v := watching(t, newSource(path, Options{Poll: maxPoll}))
		write(t, path, document(n))
		v.awaits(n)
		require.NoError(t, v.pump.Close())
		require.Empty(t, v.refused)
		remove(t, path)
	}
}

func TestPermissionLostAndRegained(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules")
	write(t, path, document(0))
	s := newSource(path, Options{Poll: maxPoll})
	var denied atomic.Bool // a superuser reads whatever the mode is
	s.open = func(name string) (fs.File, error) {
		if denied.Load() {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
		}
		return os.Open(name)
	}
	v := watching(t, s)
	v.awaits(0)
	for range 3 {
		denied.Store(true)
		require.NoError(t, os.Chmod(path, 0))
		v.awaitsError(fs.ErrPermission, path)
		denied.Store(false)
		require.NoError(t, os.Chmod(path, 0o600))
		v.awaitsError(nil, "")
		require.EqualValues(t, 1, v.pump.Health().Updates)
	}
}

// A restless file changes while it is being read, as long as it is told to.
type restless struct {
	fs.File
	change func()
}

func (f restless) Read(p []byte) (int, error) {
	n, err := f.File.Read(p[:min(len(p), 10)])
	f.change()
	return n, err
}

// What was read while it changed is never delivered, whatever it was that changed: read again, and told if that does not help.
func TestFileThatChangesWhileItIsRead(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(path string) error
	}{
		{"grows", func(path string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("more\n")
			return errors.Join(err, f.Close())
		}},
		{"shrinks", func(path string) error { return os.Truncate(path, 5) }},
		{"is replaced", func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte(document(7)), 0o600), os.Rename(path+".new", path))
		}},
		{"is removed", func(path string) error {
			err := os.Remove(path)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "rules")
			write(t, path, document(0))
			s := newSource(path, Options{})
			s.open = func(name string) (fs.File, error) {
				f, err := os.Open(name)
				return restless{File: f, change: func() {
					if err := test.change(path); err != nil {
						t.Error(err)
					}
				}}, err
			}
			c := s.read()
			require.True(t, c.torn)
			require.ErrorIs(t, c.err, errTorn)
		})
	}
	t.Run("for ever, then comes to rest", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "rules")
		write(t, path, document(0))
		s := newSource(path, Options{Poll: minPoll})
		var calm atomic.Bool
		s.open = func(name string) (fs.File, error) {
			f, err := os.Open(name)
			if !calm.Load() {
				_ = os.WriteFile(path+".new", []byte(document(1)), 0o600)
				_ = os.Rename(path+".new", path)
			}
			return f, err
		}
		v := watching(t, s)
		v.awaitsError(errTorn, path)
		require.Empty(t, v.refused)
		calm.Store(true)
		v.awaits(1)
		v.awaitsError(nil, "")
	})
}

// Without notices the source goes on by polling and says so, and takes notices again when there are some.
func TestNoNotices(t *testing.T) {
	for _, test := range []struct {
		name    string
		instead func() (*fsnotify.Watcher, error)
		why     error
	}{
		{"none to be had", noWatcher, errNoWatches},
		{"folders cannot be added", func() (*fsnotify.Watcher, error) {
			w, err := fsnotify.NewWatcher()
			if err != nil {
				return nil, err
			}
			return w, w.Close()
		}, fsnotify.ErrClosed},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "rules")
			write(t, path, document(0))
			s := newSource(path, Options{Poll: minPoll})
			var mended atomic.Bool
			s.newWatcher = func() (*fsnotify.Watcher, error) {
				if mended.Load() {
					return fsnotify.NewWatcher()
				}
				return test.instead()
			}
			v := watching(t, s)
			v.awaits(0)
			v.awaitsError(ErrPolling, "10ms")
			v.awaitsError(test.why, "")
			write(t, path, document(1))
			v.awaits(1)
			v.awaitsError(ErrPolling, "")
			mended.Store(true)
			v.awaitsError(nil, "")
			write(t, path, document(2))
			v.awaits(2)
		})
	}
}

// Notices that were lost may have been about the file.
func TestLostNoticesAreASign(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules")
	write(t, path, document(0))
	s := newSource(path, Options{Poll: maxPoll})
	watchers := make(chan *fsnotify.Watcher, 1)
	s.newWatcher = func() (*fsnotify.Watcher, error) {
		w, err := fsnotify.NewWatcher()
		watchers <- w
		return w, err
	}
	v := watching(t, s)
	v.awaits(0)
	w := <-watchers
	for _, folder := range w.WatchList() {
		require.NoError(t, w.Remove(folder))
	}
	write(t, path, document(1))
	w.Errors <- fsnotify.ErrEventOverflow
	v.awaits(1)
}

// A change that leaves size and time as they are is found by polling too.
func TestPollingReadsNowAndThen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules")
	write(t, path, document(0))
	old := time.Unix(1e9, 0)
	require.NoError(t, os.Chtimes(path, old, old))
	s := newSource(path, Options{Poll: minPoll})
	s.newWatcher = noWatcher
	v := watching(t, s)
	v.awaits(0)
	for range 3 {
		const n = 7 // the same size as document 0
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteString(document(n))
		require.NoError(t, err)
		require.NoError(t, f.Close())
		require.NoError(t, os.Chtimes(path, old, old))
		v.awaits(n)
		write(t, path, document(0))
		require.NoError(t, os.Chtimes(path, old, old))
		v.awaits(0)
	}
}

// A folder on the way that is watched no more is not left watched.
func TestFormerFoldersAreNotWatched(t *testing.T) {
	dir := t.TempDir()
	link(t, release(t, dir, 0), filepath.Join(dir, "current"))
	n, err := newNotices(fsnotify.NewWatcher)
	require.NoError(t, err)
	defer func() {
		n.close()
		select {
		case <-n.ended:
		default:
			t.Error("close did not wait")
		}
	}()
	path := filepath.Join(dir, "current", "rules")
	require.NoError(t, n.watch(resolve(path)))
	before := n.watcher.WatchList()
	require.Contains(t, before, filepath.Join(dir, "release-0"))
	relink(t, release(t, dir, 1), filepath.Join(dir, "current"))
	require.NoError(t, n.watch(resolve(path)))
	after := n.watcher.WatchList()
	require.Len(t, after, len(before))
	require.NotContains(t, after, filepath.Join(dir, "release-0"))
	require.Contains(t, after, filepath.Join(dir, "release-1"))
}

// The way changes between the look at it and the watches on it: what has come meanwhile is watched all the same.
func TestWayThatChangesWhileItIsBeingWatched(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sub", "rules")
	s := newSource(path, Options{Poll: pollRarely()})
	s.resolve = func(name string) chain {
		c := resolve(name)
		if _, err := os.Stat(path); err != nil {
			write(t, filepath.Join(mkdir(t, filepath.Dir(path)), "rules"), document(0))
		}
		return c
	}
	v := watching(t, s)
	v.awaits(0)
	write(t, path, document(1))
	v.awaits(1)
}

// A folder that everybody writes to is not listened to without need: its noise would wake the source all the time.
func TestRestlessFoldersAreNotWatched(t *testing.T) {
	shared := mkdir(t, filepath.Join(t.TempDir(), "shared"))
	require.NoError(t, os.Chmod(shared, 0o777|fs.ModeSticky))
	watched := func(path string) []string {
		var paths []string
		for _, f := range resolve(path).watched() {
			paths = append(paths, f.path)
		}
		return paths
	}
	mine := mkdir(t, filepath.Join(shared, "mine"))
	require.NotContains(t, watched(filepath.Join(mine, "rules")), shared)
	require.Contains(t, watched(filepath.Join(mine, "rules")), mine)
	require.Contains(t, watched(filepath.Join(shared, "rules")), shared, "the file itself lies there")
	require.Contains(t, watched(filepath.Join(shared, "gone", "rules")), shared, "the missing folder will come there")
	link(t, mine, filepath.Join(shared, "link"))
	require.Contains(t, watched(filepath.Join(shared, "link", "rules")), shared, "the link lies there")
	require.NotContains(t, watched(filepath.Join(mine, "rules")), filepath.VolumeName(mine)+string(filepath.Separator))
}

// faults #76: sources that come and go leave no goroutine and no descriptor.
func TestThousandSourcesLeaveNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules")
	write(t, path, document(0))
	goroutines, descriptors := runtime.NumGoroutine(), openDescriptors(t)
	cycles := 1000
	if testing.Short() {
		cycles = 50 // the system takes a while to end its notices
	}
	for range cycles {
		p := datasource.Start(t.Context(), Source(path), func(datasource.Document) error { return nil }, datasource.PumpOptions{})
		require.NoError(t, p.First(t.Context()))
		require.NoError(t, p.Close())
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines+2)
	require.LessOrEqual(t, openDescriptors(t), descriptors+2)
}

// openDescriptors counts the process's open files, where the system tells.
func openDescriptors(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	require.NoError(t, err)
	return len(entries)
}

// faults #78: making a source opens nothing and starts nothing.
func TestSourceIsQuietUntilWatched(t *testing.T) {
	goroutines, descriptors := runtime.NumGoroutine(), openDescriptors(t)
	sources := make([]datasource.Source, 100)
	for i := range sources {
		sources[i] = Source("/nowhere/rules")
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	require.LessOrEqual(t, openDescriptors(t), descriptors)
	runtime.KeepAlive(sources)
}

// One source may be watched more than once.
func TestWatchesAreIndependent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules")
	write(t, path, document(0))
	s := newSource(path, Options{Poll: maxPoll})
	sites := []*site{watching(t, s), watching(t, s), watching(t, s)}
	require.NoError(t, sites[0].pump.Close())
	write(t, path, document(1))
	for _, v := range sites[1:] {
		v.awaits(1)
	}
}
