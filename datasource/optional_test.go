package datasource_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource"
)

// a spare is a source whose document need not exist.
type spare struct{ feed }

func (spare) Optional() bool { return true }

// A document that never existed and need not is no failure, before an outage and after it; one that did exist and does not any more is.
func TestOptionalDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		f := spare{make(feed)}
		p := datasource.Start(context.Background(), f, func(datasource.Document) error { return nil }, datasource.PumpOptions{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
		defer p.Close()
		f.fail(errBroken)
		synctest.Wait()
		require.ErrorIs(t, p.Health().LastError, errBroken)
		f.fail(datasource.ErrAbsent)
		synctest.Wait()
		require.NoError(t, p.First(t.Context()))
		h := p.Health()
		require.True(t, h.Absent)
		require.NoError(t, h.LastError)
		require.EqualValues(t, 1, h.Failures)
		require.Contains(t, logged.String(), "there is no document and none is needed")

		logged.Reset()
		for range 3 { // an outage of a source without document is for others to tell
			f.fail(errBroken)
			synctest.Wait()
			require.ErrorIs(t, p.Health().LastError, errBroken)
			require.True(t, p.Health().Absent)
			f.fail(datasource.ErrAbsent)
			synctest.Wait()
			require.NoError(t, p.Health().LastError)
		}
		require.Empty(t, logged.String())

		f.say("a")
		time.Sleep(time.Minute)
		require.False(t, p.Health().Absent)
		require.NoError(t, p.First(t.Context()))
		f.fail(datasource.ErrAbsent)
		synctest.Wait()
		require.ErrorIs(t, p.Health().LastError, datasource.ErrAbsent)
		require.False(t, p.Health().Absent)
		require.Contains(t, logged.String(), "level=WARN")
		require.NoError(t, p.First(t.Context()), "what was in force stays")
	})
}

// A document that was refused did exist: without one in force, First says why.
func TestOptionalDocumentThatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := spare{make(feed)}
		p := datasource.Start(context.Background(), f, func(datasource.Document) error { return errRefused }, datasource.PumpOptions{})
		defer p.Close()
		f.fail(datasource.ErrAbsent)
		synctest.Wait()
		f.say("a")
		time.Sleep(time.Minute)
		require.ErrorIs(t, p.First(t.Context()), errRefused)
		require.False(t, p.Health().Absent)
		f.fail(datasource.ErrAbsent)
		synctest.Wait()
		require.ErrorIs(t, p.First(t.Context()), datasource.ErrAbsent)
	})
}

// faults #66: what there was when an earlier process ran is missed, whether the last-good file holds it whole or damaged; where there was nothing, nothing is.
func TestOptionalDocumentThatWasThere(t *testing.T) {
	for what, damage := range map[string]func(path string) error{
		"whole":   func(string) error { return nil },
		"damaged": func(path string) error { return os.WriteFile(path, []byte("x"), 0o600) },
		"none":    os.Remove,
	} {
		t.Run(what, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "kept")
			start := func(first datasource.Update) *datasource.Pump {
				f := spare{make(feed, 1)}
				f.feed <- first
				return datasource.Start(context.Background(), f, func(datasource.Document) error { return nil }, datasource.PumpOptions{LastGood: path})
			}
			p := start(datasource.Update{Document: datasource.Document{Data: []byte("a")}})
			require.NoError(t, p.First(t.Context()))
			require.NoError(t, p.Close())
			require.NoError(t, damage(path))
			p = start(datasource.Update{Err: datasource.ErrAbsent})
			defer p.Close()
			err := p.First(t.Context())
			h := p.Health()
			require.Equal(t, what == "none", h.Absent)
			if what == "none" {
				require.NoError(t, h.LastError)
			} else {
				require.ErrorIs(t, h.LastError, datasource.ErrAbsent)
			}
			require.Equal(t, what == "damaged", err != nil)
			require.Equal(t, what == "whole", h.Stale)
		})
	}
}
