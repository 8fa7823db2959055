package file

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/require"
)

// A way is one in which people and programs replace a file.
type way struct {
	name string
	// path is the watched path in the folder, default "rules".
	path string
	// begin puts document 0 there, default: writes the file.
	begin func(t *testing.T, dir string)
	// replace puts document n there.
	replace func(t *testing.T, dir string, n int)
	// atomic says that no reader can see anything but whole documents, so that none may be refused.
	atomic bool
}

func (w way) full(dir string) string {
	if w.path == "" {
		w.path = "rules"
	}
	return dir + string(filepath.Separator) + filepath.FromSlash(w.path)
}

func (w way) start(t *testing.T, dir string) {
	if w.begin == nil {
		write(t, w.full(dir), document(0))
		return
	}
	w.begin(t, dir)
}

// release makes a folder with document n in it and returns its name in dir.
func release(t *testing.T, dir string, n int) string {
	name := fmt.Sprintf("release-%d", n)
	write(t, filepath.Join(mkdir(t, filepath.Join(dir, name)), "rules"), document(n))
	return name
}

var ways = []way{
	{name: "written in place", replace: func(t *testing.T, dir string, n int) {
		write(t, filepath.Join(dir, "rules"), document(n))
	}},
	{name: "truncated, then written in pieces", replace: func(t *testing.T, dir string, n int) {
		f, err := os.OpenFile(filepath.Join(dir, "rules"), os.O_WRONLY|os.O_TRUNC, 0)
		require.NoError(t, err)
		for content := document(n); content != ""; {
			piece := min(50, len(content))
			_, err := f.WriteString(content[:piece])
			require.NoError(t, err)
			content = content[piece:]
			runtime.Gosched()
		}
		require.NoError(t, f.Close())
	}},
	{name: "written in place, time and size the same", replace: func(t *testing.T, dir string, n int) {
		path := filepath.Join(dir, "rules")
		write(t, path, document(n))
		require.NoError(t, os.Chtimes(path, time.Time{}, time.Unix(1e9, 0)))
	}},
	{name: "renamed over", atomic: true, replace: func(t *testing.T, dir string, n int) {
		write(t, filepath.Join(dir, "new"), document(n))
		move(t, filepath.Join(dir, "new"), filepath.Join(dir, "rules"))
	}},
	{name: "renamed over from another folder", atomic: true, replace: func(t *testing.T, dir string, n int) {
		move(t, filepath.Join(dir, release(t, dir, n), "rules"), filepath.Join(dir, "rules"))
	}},
	{name: "hard link renamed over", atomic: true, replace: func(t *testing.T, dir string, n int) {
		require.NoError(t, os.Link(filepath.Join(dir, release(t, dir, n), "rules"), filepath.Join(dir, "new")))
		move(t, filepath.Join(dir, "new"), filepath.Join(dir, "rules"))
	}},
	{name: "moved to a backup, then written", replace: func(t *testing.T, dir string, n int) {
		move(t, filepath.Join(dir, "rules"), filepath.Join(dir, "rules~"))
		write(t, filepath.Join(dir, "rules"), document(n))
		remove(t, filepath.Join(dir, "rules~"))
	}},
	{name: "copied to a backup, then written", replace: func(t *testing.T, dir string, n int) {
		data, err := os.ReadFile(filepath.Join(dir, "rules"))
		require.NoError(t, err)
		write(t, filepath.Join(dir, "rules~"), string(data))
		write(t, filepath.Join(dir, "rules"), document(n))
	}},
	{name: "removed, then renamed to", atomic: true, replace: func(t *testing.T, dir string, n int) {
		write(t, filepath.Join(dir, "new"), document(n))
		remove(t, filepath.Join(dir, "rules"))
		move(t, filepath.Join(dir, "new"), filepath.Join(dir, "rules"))
	}},
	{name: "deleted and written again", replace: func(t *testing.T, dir string, n int) {
		remove(t, filepath.Join(dir, "rules"))
		runtime.Gosched()
		write(t, filepath.Join(dir, "rules"), document(n))
	}},
	{name: "ConfigMap", atomic: true,
		begin: func(t *testing.T, dir string) {
			link(t, release(t, dir, 0), filepath.Join(dir, "..data"))
			link(t, filepath.Join("..data", "rules"), filepath.Join(dir, "rules"))
		},
		replace: func(t *testing.T, dir string, n int) {
			link(t, release(t, dir, n), filepath.Join(dir, "..data_tmp"))
			move(t, filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data"))
			remove(t, filepath.Join(dir, fmt.Sprintf("release-%d", n-1)))
		}},
	{name: "symlink retargeted", atomic: true,
		begin: func(t *testing.T, dir string) {
			link(t, filepath.Join(release(t, dir, 0), "rules"), filepath.Join(dir, "rules"))
		},
		replace: func(t *testing.T, dir string, n int) {
			relink(t, filepath.Join(dir, release(t, dir, n), "rules"), filepath.Join(dir, "rules"))
		}},
	{name: "symlink removed and made again", atomic: true,
		begin: func(t *testing.T, dir string) {
			link(t, filepath.Join(release(t, dir, 0), "rules"), filepath.Join(dir, "rules"))
		},
		replace: func(t *testing.T, dir string, n int) {
			remove(t, filepath.Join(dir, "rules"))
			link(t, filepath.Join(release(t, dir, n), "rules"), filepath.Join(dir, "rules"))
		}},
	{name: "symlink's target written in place",
		begin: func(t *testing.T, dir string) {
			link(t, filepath.Join(release(t, dir, 0), "rules"), filepath.Join(dir, "rules"))
		},
		replace: func(t *testing.T, dir string, n int) {
			write(t, filepath.Join(dir, "release-0", "rules"), document(n))
		}},
	{name: "symlink's target renamed over", atomic: true,
		begin: func(t *testing.T, dir string) {
			link(t, filepath.Join(release(t, dir, 0), "rules"), filepath.Join(dir, "rules"))
		},
		replace: func(t *testing.T, dir string, n int) {
			move(t, filepath.Join(dir, release(t, dir, n), "rules"), filepath.Join(dir, "release-0", "rules"))
		}},
	{name: "symlinked folder retargeted", path: "current/rules", atomic: true,
		begin: func(t *testing.T, dir string) { link(t, release(t, dir, 0), filepath.Join(dir, "current")) },
		replace: func(t *testing.T, dir string, n int) {
			relink(t, release(t, dir, n), filepath.Join(dir, "current"))
		}},
	{name: "path goes up from where a symlink leads", path: "current/../rules", atomic: true,
		begin: func(t *testing.T, dir string) {
			mkdir(t, filepath.Join(dir, "0", "sub"))
			write(t, filepath.Join(dir, "0", "rules"), document(0))
			link(t, filepath.Join("0", "sub"), filepath.Join(dir, "current"))
		},
		replace: func(t *testing.T, dir string, n int) {
			name := fmt.Sprint(n)
			mkdir(t, filepath.Join(dir, name, "sub"))
			write(t, filepath.Join(dir, name, "rules"), document(n))
			relink(t, filepath.Join(name, "sub"), filepath.Join(dir, "current"))
		}},
	{name: "chain of symlinks, each retargeted in turn", atomic: true,
		begin: func(t *testing.T, dir string) {
			link(t, release(t, dir, 0), filepath.Join(dir, "c"))
			link(t, "c", filepath.Join(dir, "b"))
			link(t, filepath.Join(dir, "b"), filepath.Join(dir, "a"))
			link(t, filepath.Join("a", "rules"), filepath.Join(dir, "rules"))
		},
		replace: func(t *testing.T, dir string, n int) {
			name := []string{"c", "b", "a"}[n%3]
			relink(t, release(t, dir, n), filepath.Join(dir, name))
			switch name { // lead the link back over the ones below, which lead to the same folder by then
			case "b":
				relink(t, release(t, dir, n), filepath.Join(dir, "c"))
				relink(t, "c", filepath.Join(dir, "b"))
			case "a":
				relink(t, release(t, dir, n), filepath.Join(dir, "c"))
				relink(t, filepath.Join(dir, "b"), filepath.Join(dir, "a"))
			}
		}},
	{name: "folder removed and made again", path: "conf/rules",
		begin: func(t *testing.T, dir string) {
			write(t, filepath.Join(mkdir(t, filepath.Join(dir, "conf")), "rules"), document(0))
		},
		replace: func(t *testing.T, dir string, n int) {
			remove(t, filepath.Join(dir, "conf"))
			write(t, filepath.Join(mkdir(t, filepath.Join(dir, "conf")), "rules"), document(n))
		}},
	{name: "folder made again, then file written in place, in turn", path: "conf/rules",
		begin: func(t *testing.T, dir string) {
			write(t, filepath.Join(mkdir(t, filepath.Join(dir, "conf")), "rules"), document(0))
		},
		replace: func(t *testing.T, dir string, n int) {
			if n%2 == 1 {
				remove(t, filepath.Join(dir, "conf"))
				mkdir(t, filepath.Join(dir, "conf"))
			}
			write(t, filepath.Join(dir, "conf", "rules"), document(n))
		}},
	{name: "tree removed and made again", path: "conf/app/sub/rules",
		begin: func(t *testing.T, dir string) {
			write(t, filepath.Join(mkdir(t, filepath.Join(dir, "conf", "app", "sub")), "rules"), document(0))
		},
		replace: func(t *testing.T, dir string, n int) {
			remove(t, filepath.Join(dir, "conf"))
			runtime.Gosched()
			write(t, filepath.Join(mkdir(t, filepath.Join(dir, "conf", "app", "sub")), "rules"), document(n))
		}},
	{name: "folder moved away and another moved in", path: "conf/rules", atomic: true,
		begin: func(t *testing.T, dir string) {
			move(t, filepath.Join(dir, release(t, dir, 0)), filepath.Join(dir, "conf"))
		},
		replace: func(t *testing.T, dir string, n int) {
			move(t, filepath.Join(dir, "conf"), filepath.Join(dir, fmt.Sprint("old-", n)))
			move(t, filepath.Join(dir, release(t, dir, n)), filepath.Join(dir, "conf"))
		}},
	{name: "folder further up moved away and another moved in", path: "conf/app/sub/rules", atomic: true,
		begin: func(t *testing.T, dir string) {
			write(t, filepath.Join(mkdir(t, filepath.Join(dir, "conf", "app", "sub")), "rules"), document(0))
		},
		replace: func(t *testing.T, dir string, n int) {
			write(t, filepath.Join(mkdir(t, filepath.Join(dir, "new", "app", "sub")), "rules"), document(n))
			move(t, filepath.Join(dir, "conf"), filepath.Join(dir, fmt.Sprint("old-", n)))
			move(t, filepath.Join(dir, "new"), filepath.Join(dir, "conf"))
		}},
	{name: "folder in the file's place, then a file", atomic: true, replace: func(t *testing.T, dir string, n int) {
		remove(t, filepath.Join(dir, "rules"))
		mkdir(t, filepath.Join(dir, "rules"))
		write(t, filepath.Join(dir, "new"), document(n))
		remove(t, filepath.Join(dir, "rules"))
		move(t, filepath.Join(dir, "new"), filepath.Join(dir, "rules"))
	}},
}

// faults #62, #63: whatever the way of replacing, the new document comes, every time, and what is in force meanwhile is a whole document.
// Notices alone must do, and polling alone.
func TestEveryWayOfReplacing(t *testing.T) {
	for _, kind := range []struct {
		name string
		opts Options
		deaf bool
	}{
		{"notices", Options{Poll: pollRarely()}, false},
		{"polling", Options{Poll: minPoll}, true},
	} {
		t.Run(kind.name, func(t *testing.T) {
			for _, w := range ways {
				t.Run(w.name, func(t *testing.T) {
					t.Parallel()
					dir := t.TempDir()
					busy(t, dir)
					w.start(t, dir)
					s := newSource(w.full(dir), kind.opts)
					if kind.deaf {
						s.newWatcher = noWatcher
					}
					v := watching(t, s)
					v.awaits(0)
					for n := 1; n <= rounds(); n++ {
						w.replace(t, dir, n)
						v.awaits(n)
					}
					require.NoError(t, v.pump.Close())
					if w.atomic {
						require.Empty(t, v.refused)
					}
				})
			}
		})
	}
}

// Changes that come faster than they are looked at: the last one counts.
func TestManyChangesAtOnce(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			w.start(t, dir)
			v := watching(t, newSource(w.full(dir), Options{Poll: pollRarely()}))
			v.awaits(0)
			for n := 1; n <= 10*rounds(); n++ {
				w.replace(t, dir, n)
				if n%20 == 0 {
					v.awaits(n)
				}
			}
		})
	}
}

// pollRarely returns a pause that a test would not live to see the end of, where notices alone must do.
func pollRarely() time.Duration {
	if cheapFolders {
		return maxPoll
	}
	return 100 * time.Millisecond
}

var errNoWatches = errors.New("too many open files")

func noWatcher() (*fsnotify.Watcher, error) { return nil, errNoWatches }
