package datasource

import (
	"context"
	"crypto/sha256"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// silent is a source that says one thing, or nothing.
type silent struct{ word string }

func (silent) Name() string { return "nacos:public/G/D" }

func (s silent) Watch(ctx context.Context, deliver func(Update)) error {
	if s.word != "" {
		deliver(Update{Document: Document{Data: []byte(s.word), Version: "v-" + s.word}})
	}
	<-ctx.Done()
	return nil
}

// A disk that hangs while the last-good file is read keeps the source's document away for a second, no longer; what it yields after that
// counts only as long as the source has had nothing to say.
func TestHangingDiskHoldsUpNothing(t *testing.T) {
	for _, word := range []string{"new", ""} {
		s := lastGoodIn(t, t.TempDir())
		require.NoError(t, s.write(savedOf("old")))
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var calls []string
			p := newPump(t.Context(), silent{word}, func(d Document) error {
				calls = append(calls, string(d.Data)+" after "+time.Since(began).String())
				return nil
			}, PumpOptions{LastGood: s.path})
			p.file.disk.open = func(name string) (fs.File, error) {
				time.Sleep(10 * time.Second)
				return s.disk.open(name)
			}
			p.start()
			time.Sleep(5 * time.Second)
			synctest.Wait()
			require.ErrorIs(t, p.Health().LastGoodError, errLastGoodSlow)
			require.NoError(t, p.Health().LastError)
			if word == "" {
				require.Zero(t, p.Health().Updates)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if word == "" {
				require.Equal(t, []string{"old after 10s"}, calls)
				require.True(t, p.Health().Stale)
			} else {
				require.Equal(t, []string{"new after 1s"}, calls)
				require.False(t, p.Health().Stale)
				require.NoError(t, p.Health().LastGoodError)
			}
			require.NoError(t, p.Close())
		})
	}
}

// What the source says while the last-good file is read counts once that has been read: First is content then, or when a document that has come meanwhile is in force.
func TestFirstWhileTheFileIsRead(t *testing.T) {
	for name, test := range map[string]struct {
		says  []Update
		after time.Duration
	}{
		"absent":               {[]Update{{Err: ErrAbsent}}, 500 * time.Millisecond},
		"failing":              {[]Update{{Err: errFull}}, 500 * time.Millisecond},
		"a document, failing":  {[]Update{{Document: Document{Data: []byte("new")}}, {Err: errFull}}, 2500 * time.Millisecond},
		"failing, a document":  {[]Update{{Err: errFull}, {Document: Document{Data: []byte("new")}}}, 2500 * time.Millisecond},
		"what the file has":    {[]Update{{Document: Document{Data: []byte("old")}}}, 500 * time.Millisecond},
		"absent and something": {[]Update{{Document: Document{Data: []byte("new")}}, {Err: ErrAbsent}}, 2500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			s := lastGoodIn(t, t.TempDir())
			require.NoError(t, s.write(savedOf("old")))
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				p := newPump(t.Context(), saying(test.says), func(d Document) error {
					if d.Saved.IsZero() {
						time.Sleep(2 * time.Second)
					}
					return nil
				}, PumpOptions{LastGood: s.path})
				p.file.disk.open = func(name string) (fs.File, error) {
					time.Sleep(500 * time.Millisecond)
					return s.disk.open(name)
				}
				p.start()
				require.NoError(t, p.First(t.Context()))
				require.Equal(t, test.after, time.Since(began))
				require.NoError(t, p.Close())
			})
		})
	}
}

// saying is a source that says all it has at once.
type saying []Update

func (saying) Name() string { return "nacos:public/G/D" }

func (s saying) Watch(ctx context.Context, deliver func(Update)) error {
	for _, u := range s {
		deliver(u)
	}
	<-ctx.Done()
	return nil
}

// A disk that hangs while the file is written holds up no document; what was applied meanwhile is written at the next attempt, without the steps between.
func TestHangingWriteHoldsUpNothing(t *testing.T) {
	s := lastGoodIn(t, t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		said := make(chan string)
		var applied []string
		var writes atomic.Int32
		p := newPump(t.Context(), talking(said), func(d Document) error {
			applied = append(applied, string(d.Data))
			return nil
		}, PumpOptions{LastGood: s.path, Debounce: -1})
		p.file.disk.create = func(dir, pattern string) (tempFile, error) {
			writes.Add(1)
			time.Sleep(time.Minute)
			return s.disk.create(dir, pattern)
		}
		p.start()
		for _, word := range []string{"1", "2", "3"} {
			said <- word
			synctest.Wait()
		}
		require.Equal(t, []string{"1", "2", "3"}, applied)
		require.NoError(t, p.Close())
		require.EqualValues(t, 2, writes.Load())
	})
	got, err := s.read()
	require.NoError(t, err)
	require.Equal(t, sha256.Sum256([]byte("3")), got.sum)
}

// talking is a source that delivers what it is sent.
type talking chan string

func (talking) Name() string { return "nacos:public/G/D" }

func (c talking) Watch(ctx context.Context, deliver func(Update)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case word := <-c:
			deliver(Update{Document: Document{Data: []byte(word), Version: word}})
		}
	}
}

// A path that is a link is replaced by the file: what the link leads to stays as it is.
func TestSavedReplacesALink(t *testing.T) {
	dir := t.TempDir()
	s := lastGoodIn(t, dir)
	other := lastGoodIn(t, t.TempDir())
	require.NoError(t, other.write(savedOf("other")))
	if err := os.Symlink(other.path, s.path); err != nil {
		t.Skip("no links here:", err)
	}
	got, err := s.read()
	require.NoError(t, err)
	require.Equal(t, "other", string(got.data))
	require.NoError(t, s.write(savedOf("new")))
	got, err = other.read()
	require.NoError(t, err)
	require.Equal(t, "other", string(got.data))
	require.Equal(t, dir, filepath.Dir(s.path))
}
