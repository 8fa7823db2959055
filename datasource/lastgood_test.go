package datasource_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cordon-go/cordon/datasource"
)

// process runs a pump with a last-good file, as a process of its own would, until body returns.
func process(t *testing.T, opts datasource.PumpOptions, body func(f feed, a *applier, p *datasource.Pump)) {
	f, a := make(feed), newApplier()
	p := datasource.Start(t.Context(), f, a.apply, opts)
	defer func() { require.NoError(t, p.Close()) }()
	body(f, a, p)
}

// leave runs a process that applies content, so that it is in the last-good file.
func leave(t *testing.T, path, content string) {
	process(t, datasource.PumpOptions{LastGood: path}, func(f feed, _ *applier, p *datasource.Pump) {
		f.say(content)
		synctest.Wait()
		require.Equal(t, "v-"+content, p.Health().Version)
	})
}

// faults #66: a process that starts while its source is away starts with what was good, and says that it is old.
func TestStartsFromLastGood(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made", "with the file", "last-good")
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		leave(t, path, "a")
		rest(time.Hour)
		var told []datasource.Health
		opts := datasource.PumpOptions{LastGood: path, OnStale: func(h datasource.Health) { told = append(told, h) }}
		process(t, opts, func(f feed, a *applier, p *datasource.Pump) {
			synctest.Wait()
			require.Equal(t, []string{"a"}, a.took(), "the source has not spoken")
			want := datasource.Health{
				Source: "feed", Running: true, Version: "v-a", Applied: began.Add(time.Hour), Updates: 1, Stale: true, StaleSince: began.UTC(), LastGood: path,
			}
			requireHealth(t, want, nil, p)
			require.Len(t, told, 1)
			require.True(t, told[0].Stale)

			rest(time.Minute)
			f.fail(errBroken)
			synctest.Wait()
			require.ErrorIs(t, p.Health().LastError, errBroken)
			require.True(t, p.Health().Stale)
			f.say("bad")
			synctest.Wait()
			require.ErrorIs(t, p.Health().LastError, errRefused)
			require.True(t, p.Health().Stale, "a refused document changes nothing")
			f.fail(datasource.ErrAbsent)
			synctest.Wait()
			require.True(t, p.Health().Stale)
			require.Equal(t, []string{"bad"}, a.took())
			require.Len(t, told, 1)

			f.say("a") // what is in force
			synctest.Wait()
			require.Empty(t, a.took())
			h := p.Health()
			require.False(t, h.Stale)
			require.Zero(t, h.StaleSince)
			require.NoError(t, h.LastError)
			require.EqualValues(t, 1, h.Updates)
			require.Len(t, told, 2)
			require.Equal(t, h, told[1])
		})
	})
}

// What the source has is applied at once, not after a debounce, however long the stale document has been in force.
func TestFirstWordReplacesLastGoodAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "last-good")
	synctest.Test(t, func(t *testing.T) {
		leave(t, path, "a")
		process(t, datasource.PumpOptions{LastGood: path, Debounce: time.Minute}, func(f feed, a *applier, p *datasource.Pump) {
			f.say("b")
			synctest.Wait()
			require.Equal(t, []string{"a", "b"}, a.took(), "the last good one comes first whoever is quicker")
			require.False(t, p.Health().Stale)
		})
		process(t, datasource.PumpOptions{LastGood: path}, func(_ feed, a *applier, _ *datasource.Pump) {
			synctest.Wait()
			require.Equal(t, []string{"b"}, a.took())
		})
	})
}

// First with a stale document in force waits for the source's first word, whatever that is, and is then content.
func TestFirstWithLastGood(t *testing.T) {
	for name, test := range map[string]struct {
		say   func(f feed)
		after time.Duration
	}{
		"applied":         {func(f feed) { f.say("b") }, time.Second},
		"the same":        {func(f feed) { f.say("a") }, time.Second},
		"refused":         {func(f feed) { f.say("bad") }, time.Second},
		"absent":          {func(f feed) { f.fail(datasource.ErrAbsent) }, time.Second},
		"failing":         {func(f feed) { f.fail(errBroken) }, time.Second},
		"silent for ever": {func(feed) {}, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "last-good")
			synctest.Test(t, func(t *testing.T) {
				leave(t, path, "a")
				process(t, datasource.PumpOptions{LastGood: path}, func(f feed, a *applier, p *datasource.Pump) {
					go func() {
						time.Sleep(time.Second)
						test.say(f)
					}()
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
					defer cancel()
					require.NoError(t, p.First(ctx))
					require.Equal(t, test.after, time.Since(a.began))
				})
			})
		})
	}
}

// A source that fails before the file has been read ends First's wait all the same.
func TestFirstWithAFailureBeforeTheFileIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "last-good")
	for _, content := range []string{"a", ""} {
		synctest.Test(t, func(t *testing.T) {
			if content != "" {
				leave(t, path, content)
			} else {
				require.NoError(t, os.Remove(path))
			}
			process(t, datasource.PumpOptions{LastGood: path}, func(f feed, a *applier, p *datasource.Pump) {
				f.fail(datasource.ErrAbsent)
				err := p.First(t.Context())
				require.Zero(t, time.Since(a.began))
				if content == "" {
					require.ErrorIs(t, err, datasource.ErrAbsent)
				} else {
					require.NoError(t, err)
				}
			})
		})
	}
}

// What is in the way of the file is told, hinders nothing, and is put right by the next good document.
func TestBadLastGoodIsToldAndReplaced(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	synctest.Test(t, func(t *testing.T) { leave(t, good, "a") })
	whole, err := os.ReadFile(good)
	require.NoError(t, err)
	for name, test := range map[string]struct{ content, want string }{
		"empty":       {"", "is no last-good file"},
		"cut off":     {string(whole[:len(whole)-1]), "is damaged"},
		"flipped":     {string(whole[:len(whole)-1]) + "b", "is damaged"},
		"foreign":     {strings.Replace(string(whole), `"feed"`, `"feet"`, 1), "is damaged"},
		"newer":       {"cordon-last-good 2 x\n", "a later version"},
		"a rule file": {"cordon: 1\n", "is no last-good file"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "last-good")
			require.NoError(t, os.WriteFile(path, []byte(test.content), 0o600))
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				process(t, datasource.PumpOptions{LastGood: path, Logger: slog.New(slog.NewTextHandler(&out, nil))}, func(f feed, a *applier, p *datasource.Pump) {
					rest(time.Minute)
					require.Empty(t, a.took())
					h := p.Health()
					require.ErrorContains(t, h.LastGoodError, "feed: last-good file "+path+": ")
					require.ErrorContains(t, h.LastGoodError, test.want)
					require.NoError(t, h.LastError)
					require.Zero(t, h.Failures, "the source has done nothing wrong")
					require.False(t, h.Stale)
					require.Contains(t, out.String(), "last-good file failed")
					f.say("b")
					rest(time.Second)
					require.NoError(t, p.Health().LastGoodError)
				})
				process(t, datasource.PumpOptions{LastGood: path}, func(_ feed, a *applier, p *datasource.Pump) {
					synctest.Wait()
					require.Equal(t, []string{"b"}, a.took())
				})
			})
		})
	}
}

// A file of another source is nobody else's business until this source has something good to put there.
func TestLastGoodOfAnotherSource(t *testing.T) {
	path := filepath.Join(t.TempDir(), "last-good")
	synctest.Test(t, func(t *testing.T) {
		leave(t, path, "a")
		a := newApplier()
		p := datasource.Start(t.Context(), sourceFunc(make(feed).Watch), a.apply, datasource.PumpOptions{LastGood: path})
		synctest.Wait()
		require.ErrorContains(t, p.Health().LastGoodError, "another source, feed")
		require.Empty(t, a.took())
		require.NoError(t, p.Close())
		process(t, datasource.PumpOptions{LastGood: path}, func(_ feed, a *applier, _ *datasource.Pump) {
			synctest.Wait()
			require.Equal(t, []string{"a"}, a.took(), "it is still there")
		})
	})
}

// The document of the file is judged like any other: what this program does not accept is not in force, however good it was.
func TestLastGoodIsRefused(t *testing.T) {
	for name, refuse := range map[string]func() error{
		"error": func() error { return errRefused },
		"panic": func() error { panic(errRefused) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "last-good")
			synctest.Test(t, func(t *testing.T) {
				leave(t, path, "a")
				f := make(feed)
				var offered []datasource.Document
				p := datasource.Start(t.Context(), f, func(d datasource.Document) error {
					if offered = append(offered, d); len(offered) == 1 {
						return refuse()
					}
					return nil
				}, datasource.PumpOptions{LastGood: path})
				synctest.Wait()
				h := p.Health()
				require.ErrorIs(t, h.LastGoodError, errRefused)
				require.ErrorContains(t, h.LastGoodError, "its document is refused")
				require.False(t, h.Stale)
				require.Zero(t, h.Updates)
				f.say("a") // the same, which may be good by now: the source answers for it
				synctest.Wait()
				require.Len(t, offered, 2)
				require.False(t, offered[0].Saved.IsZero())
				require.True(t, offered[1].Saved.IsZero())
				require.NoError(t, p.First(t.Context()))
				require.NoError(t, p.Close())
			})
		})
	}
}

// Only the file says that a document was saved.
func TestSourceCannotSaySaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := make(feed)
		p := datasource.Start(t.Context(), f, func(d datasource.Document) error {
			if !d.Saved.IsZero() {
				return errRefused
			}
			return nil
		}, datasource.PumpOptions{})
		f <- datasource.Update{Document: datasource.Document{Saved: time.Now()}}
		require.NoError(t, p.First(t.Context()))
		require.NoError(t, p.Close())
	})
}

// A path that cannot be written to is told and tried again; rules do not wait for it.
func TestUnwritableLastGood(t *testing.T) {
	dir := t.TempDir()
	inTheWay := filepath.Join(dir, "folder")
	require.NoError(t, os.WriteFile(inTheWay, nil, 0o600))
	path := filepath.Join(inTheWay, "last-good")
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		opts := datasource.PumpOptions{LastGood: path, Logger: slog.New(slog.NewTextHandler(&out, nil))}
		process(t, opts, func(f feed, a *applier, p *datasource.Pump) {
			for _, content := range []string{"a", "b"} {
				f.say(content)
				rest(time.Hour)
				h := p.Health()
				require.Equal(t, "v-"+content, h.Version)
				require.NoError(t, h.LastError)
				require.ErrorContains(t, h.LastGoodError, "feed: last-good file "+path)
			}
			require.LessOrEqual(t, strings.Count(out.String(), "last-good file failed"), 2, "it is told once, not at every attempt")
			require.NoError(t, os.Remove(inTheWay))
			rest(time.Minute)
			require.NoError(t, p.Health().LastGoodError)
		})
		process(t, datasource.PumpOptions{LastGood: path}, func(_ feed, a *applier, _ *datasource.Pump) {
			synctest.Wait()
			require.Equal(t, []string{"b"}, a.took())
		})
	})
}

// A document that comes after one that could not be written is tried at once, however long the pause would have been.
func TestNextDocumentIsWrittenAtOnce(t *testing.T) {
	inTheWay := filepath.Join(t.TempDir(), "folder")
	require.NoError(t, os.WriteFile(inTheWay, nil, 0o600))
	opts := datasource.PumpOptions{LastGood: filepath.Join(inTheWay, "last-good"), MinBackoff: time.Hour, MaxBackoff: time.Hour}
	synctest.Test(t, func(t *testing.T) {
		process(t, opts, func(f feed, _ *applier, p *datasource.Pump) {
			f.say("a")
			rest(time.Second)
			require.Error(t, p.Health().LastGoodError)
			require.NoError(t, os.Remove(inTheWay))
			rest(time.Second)
			require.Error(t, p.Health().LastGoodError)
			f.say("b")
			rest(time.Second)
			require.NoError(t, p.Health().LastGoodError)
		})
	})
}

// A relative path stays the one that it was at the start.
func TestRelativeLastGood(t *testing.T) {
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		process(t, datasource.PumpOptions{LastGood: "last-good"}, func(f feed, _ *applier, p *datasource.Pump) {
			require.NoError(t, os.Mkdir("elsewhere", 0o700))
			require.NoError(t, os.Chdir("elsewhere"))
			f.say("a")
			synctest.Wait()
			require.Equal(t, "last-good", p.Health().LastGood)
		})
		require.NoFileExists(t, "last-good")
		require.FileExists(t, filepath.Join("..", "last-good"))
	})
}

// What a process that died has left beside the file is removed by the next one.
func TestStartSweepsWhatWasLeft(t *testing.T) {
	path := filepath.Join(t.TempDir(), "last-good")
	left := filepath.Join(filepath.Dir(path), ".last-good.123456.tmp")
	require.NoError(t, os.WriteFile(left, nil, 0o600))
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, os.Chtimes(left, time.Now(), time.Now().Add(-24*time.Hour)))
		leave(t, path, "a")
	})
	require.NoFileExists(t, left)
}

// A goroutine that is ended from within while the file's document is applied ends the pump, and Close does not wait for ever.
func TestGoexitWhileLastGoodIsApplied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "last-good")
	synctest.Test(t, func(t *testing.T) {
		leave(t, path, "a")
		p := datasource.Start(t.Context(), make(feed), func(datasource.Document) error {
			runtime.Goexit()
			return nil
		}, datasource.PumpOptions{LastGood: path})
		synctest.Wait()
		require.ErrorContains(t, p.Health().LastError, "Goexit")
		require.NoError(t, p.Close())
		require.False(t, p.Health().Running)
	})
}

// What was applied last is in the file once Close has returned, though writing failed before.
func TestCloseWritesLastGood(t *testing.T) {
	inTheWay := filepath.Join(t.TempDir(), "folder")
	require.NoError(t, os.WriteFile(inTheWay, nil, 0o600))
	path := filepath.Join(inTheWay, "last-good")
	synctest.Test(t, func(t *testing.T) {
		process(t, datasource.PumpOptions{LastGood: path}, func(f feed, a *applier, p *datasource.Pump) {
			f.say("a")
			synctest.Wait()
			require.Error(t, p.Health().LastGoodError)
			require.NoError(t, os.Remove(inTheWay))
		})
		process(t, datasource.PumpOptions{LastGood: path}, func(_ feed, a *applier, _ *datasource.Pump) {
			synctest.Wait()
			require.Equal(t, []string{"a"}, a.took())
		})
	})
}

// OnStale is what was handed in: it may panic, close the pump, and ask it.
func TestOnStaleMayDoAnything(t *testing.T) {
	path := filepath.Join(t.TempDir(), "last-good")
	synctest.Test(t, func(t *testing.T) {
		leave(t, path, "a")
		process(t, datasource.PumpOptions{LastGood: path, OnStale: func(datasource.Health) { panic("no") }}, func(f feed, a *applier, p *datasource.Pump) {
			f.say("b")
			rest(time.Second)
			require.Equal(t, "v-b", p.Health().Version)
		})
		var p *datasource.Pump
		started, closing := make(chan struct{}), make(chan error, 1)
		p = datasource.Start(t.Context(), make(feed), newApplier().apply, datasource.PumpOptions{LastGood: path, OnStale: func(datasource.Health) {
			<-started
			closing <- p.Close()
		}})
		close(started)
		require.ErrorIs(t, <-closing, datasource.ErrClosing)
		require.NoError(t, p.Close())
	})
}

// timeless is a test without a deadline, which one in a bubble must not ask for.
type timeless struct{ rapid.TB }

// A model says what is in force, what is stale and what is in the file, over processes that come and go, a source that fails, and a file that is damaged.
func TestLastGoodAgainstModel(t *testing.T) {
	path := filepath.Join(t.TempDir(), "last-good")
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(timeless{t}, func(rt *rapid.T) {
			_ = os.Remove(path)
			contents := []string{"", "a", "b", "bad 1", "bad 2"}
			var (
				f         feed
				a         *applier
				p         *datasource.Pump
				stop      = func() {}
				saved     *string // what the file holds; nil: nothing good
				force     *string
				stale     bool
				toldStale bool
			)
			defer func() { stop() }()
			start := func() {
				f, a = make(feed), newApplier()
				toldStale = false
				p = datasource.Start(t.Context(), f, a.apply, datasource.PumpOptions{
					LastGood: path, Debounce: -1, OnStale: func(h datasource.Health) { toldStale = h.Stale },
				})
				stop = func() { _ = p.Close() }
				synctest.Wait()
				force, stale = saved, saved != nil
			}
			start()
			check := func() {
				h := p.Health()
				require.Equal(rt, stale, h.Stale)
				require.Equal(rt, stale, toldStale)
				require.Equal(rt, stale, !h.StaleSince.IsZero())
				if force == nil {
					require.Empty(rt, h.Version)
				} else {
					require.Equal(rt, "v-"+*force, h.Version)
				}
			}
			check()
			rt.Repeat(map[string]func(*rapid.T){
				"": func(*rapid.T) { check() },
				"say": func(rt *rapid.T) {
					c := rapid.SampledFrom(contents).Draw(rt, "content")
					f.say(c)
					synctest.Wait()
					if isBad(c) {
						return
					}
					if force == nil || *force != c {
						saved = &c
					}
					force, stale = &c, false
				},
				"fail": func(rt *rapid.T) {
					f.fail(rapid.SampledFrom([]error{errBroken, datasource.ErrAbsent}).Draw(rt, "error"))
					synctest.Wait()
				},
				"restart": func(*rapid.T) {
					stop()
					start()
				},
				"damage": func(rt *rapid.T) {
					if saved == nil {
						return
					}
					data, err := os.ReadFile(path)
					require.NoError(rt, err)
					if rapid.Bool().Draw(rt, "cut") {
						data = data[:rapid.IntRange(0, len(data)-1).Draw(rt, "at")]
					} else {
						data[rapid.IntRange(0, len(data)-1).Draw(rt, "at")] ^= 1
					}
					require.NoError(rt, os.WriteFile(path, data, 0o600))
					saved = nil
				},
				"remove": func(*rapid.T) {
					_ = os.Remove(path)
					saved = nil
				},
			})
		})
	})
}

// Pumps that share a file, in one process here, never leave anything but a whole document of one of them.
func TestPumpsShareLastGood(t *testing.T) {
	path := filepath.Join(t.TempDir(), "last-good")
	var all sync.WaitGroup
	for i := range 4 {
		f := make(feed)
		p := datasource.Start(t.Context(), f, newApplier().apply, datasource.PumpOptions{LastGood: path, Debounce: -1})
		all.Go(func() {
			for j := range 25 {
				f.say(fmt.Sprintf("%d %d %s", i, j, strings.Repeat("x", 1000*i)))
				_ = p.Health()
				_ = p.First(t.Context())
			}
			if err := p.Close(); err != nil || p.Health().LastGoodError != nil {
				t.Errorf("%v, %v", err, p.Health().LastGoodError)
			}
		})
	}
	all.Wait()
	var got string
	p := datasource.Start(t.Context(), make(feed), func(d datasource.Document) error {
		got = string(d.Data)
		return nil
	}, datasource.PumpOptions{LastGood: path})
	require.Eventually(t, func() bool { return p.Health().Stale }, time.Minute, time.Millisecond)
	require.NoError(t, p.Close())
	require.Regexp(t, `^[0-3] \d+ x*$`, got)
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0), info.Mode()&fs.ModeType)
}
