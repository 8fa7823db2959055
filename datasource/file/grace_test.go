package file

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/datasource"
)

// a bench is a source without notices under a clock that a test advances.
type bench struct {
	t     *testing.T
	clock *clock.Manual

	mu   sync.Mutex // guards said
	said []datasource.Update
}

// onBench watches s until the test ends.
func onBench(t *testing.T, s *source) *bench {
	b := &bench{t: t, clock: clock.NewManual()}
	s.opts.Clock = b.clock
	s.newWatcher = noWatcher
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- s.Watch(ctx, b.deliver) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	b.clock.BlockUntil(1)
	return b
}

func (b *bench) deliver(u datasource.Update) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !errors.Is(u.Err, ErrPolling) {
		b.said = append(b.said, u)
	}
}

// pass advances the clock in steps of a settle and returns what was delivered meanwhile.
func (b *bench) pass(d time.Duration) []datasource.Update {
	for ; d > 0; d -= settle {
		b.clock.Advance(settle)
		b.clock.BlockUntil(1)
	}
	return b.heard()
}

// heard returns what was delivered since the last call.
func (b *bench) heard() []datasource.Update {
	b.mu.Lock()
	defer b.mu.Unlock()
	said := b.said
	b.said = nil
	return said
}

// A file that was good is missed only once it has been away for a while; one that was not there at the start is missed at once.
func TestAbsenceIsToldAfterGrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules")
	b := onBench(t, newSource(path, Options{Poll: settle}))
	said := b.heard()
	require.Len(t, said, 1)
	require.ErrorIs(t, said[0].Err, datasource.ErrAbsent)

	write(t, path, document(0))
	said = b.pass(10 * settle)
	require.Len(t, said, 1)
	require.NoError(t, said[0].Err)

	remove(t, path)
	require.Empty(t, b.pass(settle+grace-settle))
	write(t, path, document(0))
	require.Empty(t, b.pass(time.Second), "it has come back as it was")

	remove(t, path)
	said = b.pass(time.Second)
	require.Len(t, said, 1)
	require.ErrorIs(t, said[0].Err, datasource.ErrAbsent)
	require.Empty(t, b.pass(time.Minute), "nothing new")
}

// faults #63: an empty file is one that somebody is about to write, at the start as well, until it stays so.
func TestEmptinessIsToldAfterGrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules")
	write(t, path, "")
	b := onBench(t, newSource(path, Options{Poll: settle}))
	require.Empty(t, b.pass(grace-settle))
	write(t, path, document(0))
	said := b.pass(grace)
	require.Len(t, said, 1)
	require.Equal(t, document(0), string(said[0].Document.Data))

	write(t, path, "")
	require.Empty(t, b.pass(grace))
	said = b.pass(grace)
	require.Len(t, said, 1)
	require.NoError(t, said[0].Err)
	require.Empty(t, said[0].Document.Data, "what the file holds, for whoever decodes it to refuse")
}

// A file is read once it has come to rest, and a restless one after maxSettle all the same.
func TestFileIsReadOnceItIsAtRest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules")
	write(t, path, document(0))
	s := newSource(path, Options{Poll: settle})
	var reads atomic.Int32
	s.open = func(name string) (fs.File, error) {
		reads.Add(1)
		return os.Open(name)
	}
	b := onBench(t, s)
	b.pass(time.Minute)
	reads.Store(0)
	b.heard()
	age := time.Unix(1e9, 0)
	touch := func() {
		age = age.Add(time.Second)
		require.NoError(t, os.Chtimes(path, age, age))
	}
	steps := 0
	for ; reads.Load() == 0 && steps < 100; steps++ {
		touch()
		b.pass(settle)
	}
	require.GreaterOrEqual(t, steps, 6, "read before it was at rest")
	require.LessOrEqual(t, steps, 10, "put off for too long")
}
