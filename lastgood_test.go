package cordon

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/rule"
)

// faults #66: a service that starts while its source is away is protected by the rules of its last run; the log, the events, the reports and the
// snapshot say since when, and when that ends.
func TestLastGoodProtectsAStartWithoutItsSource(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.last")
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		run := func(say func(src *fakeSource), body func(e *Engine, w *Watch, src *fakeSource, rec *recorder, log *bytes.Buffer)) {
			rec, log := &recorder{}, &bytes.Buffer{}
			e, err := New(WithObserver(rec.observer()), WithLogger(slog.New(slog.NewTextHandler(log, nil))))
			require.NoError(t, err)
			defer e.Close()
			src := newFake("nacos:public/G/D")
			say(src)
			w, err := e.Watch(bg, src, Native, LastGood(path))
			require.NoError(t, err)
			synctest.Wait()
			body(e, w, src, rec, log)
		}
		run(func(src *fakeSource) { src.send(oneRule) }, func(e *Engine, w *Watch, _ *fakeSource, rec *recorder, _ *bytes.Buffer) {
			require.Equal(t, 2, passes(e, "r", 5))
			require.Empty(t, rec.sources)
			require.Zero(t, w.Report().Saved)
			require.Equal(t, path, e.Snapshot().Sources[0].LastGood)
		})
		time.Sleep(time.Hour)
		away := func(src *fakeSource) { src.updates <- datasource.Update{Err: errors.New("connection refused")} }
		run(away, func(e *Engine, w *Watch, src *fakeSource, rec *recorder, log *bytes.Buffer) {
			require.Equal(t, 2, passes(e, "r", 5), "it is protected")
			s := e.Snapshot().Sources[0]
			require.True(t, s.Stale)
			require.True(t, s.StaleSince.Equal(began))
			require.Contains(t, s.LastError, "connection refused")
			require.True(t, w.Report().Saved.Equal(began))
			rep := w.Report()
			require.Contains(t, rep.String(), "from the last-good file of "+began.UTC().Format(time.RFC3339))
			require.Len(t, rec.sources, 1)
			ev := rec.sources[0]
			require.Equal(t, []any{"nacos:public/G/D", "vcor", true}, []any{ev.Source, ev.Version, ev.Stale})
			require.True(t, ev.StaleSince.Equal(began))
			require.True(t, ev.Time.Equal(began.Add(time.Hour)))
			require.Contains(t, log.String(), "the rules in force are those of the last-good file")

			src.updates <- datasource.Update{Err: datasource.ErrAbsent}
			src.send("cordon: 1\nflow: [")
			time.Sleep(time.Second)
			synctest.Wait()
			require.Len(t, e.Rules().Flow, 1)
			require.True(t, e.Snapshot().Sources[0].Stale)

			reports := len(rec.reports)
			src.send(oneRule)
			time.Sleep(time.Second)
			synctest.Wait()
			require.Len(t, rec.reports, reports, "it is in force already")
			require.False(t, e.Snapshot().Sources[0].Stale)
			require.Len(t, rec.sources, 2)
			require.Equal(t, SourceEvent{Source: "nacos:public/G/D", Version: "vcor", Time: rec.sources[1].Time}, rec.sources[1])
			require.Contains(t, log.String(), "stale no longer")
			text, err := json.Marshal(e.Snapshot().Sources[0])
			require.NoError(t, err)
			require.NotContains(t, string(text), "stale", "only what is stale says so")
		})
	})
}

// What an engine in a later version, or with other extractors, does not accept is not in force because it once was.
func TestLastGoodIsJudgedLikeAnyDocument(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.last")
	synctest.Test(t, func(t *testing.T) {
		e, err := New()
		require.NoError(t, err)
		src := newFake("s")
		src.send("3")
		_, err = e.Watch(bg, src, func(string, []byte) (Decoded, error) { return Decoded{Rules: flowRules(limit("f", "r", 3))}, nil }, LastGood(path))
		require.NoError(t, err)
		require.NoError(t, e.Close())

		e, err = New()
		require.NoError(t, err)
		w, err := e.Watch(bg, newFake("s"), Native, LastGood(path))
		require.ErrorContains(t, err, "no rules of s are in force yet")
		require.ErrorContains(t, w.Health().LastGoodError, "its document is refused")
		require.Contains(t, e.Snapshot().Sources[0].LastGoodError, path)
		require.False(t, e.Snapshot().Sources[0].Stale)
		require.Empty(t, e.Rules().Flow)
		require.NotEmpty(t, w.Report().Problems)
		require.NotZero(t, w.Report().Saved)
		require.NoError(t, e.Close())
	})
}

// A watch that takes the place of one that has ended never goes back to older rules.
func TestLastGoodNeverReplacesNewerRules(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.last")
	synctest.Test(t, func(t *testing.T) {
		e, err := New()
		require.NoError(t, err)
		defer e.Close()
		src := newFake("s")
		watch := func(opts ...WatchOption) *Watch {
			w, err := e.Watch(bg, src, Native, opts...)
			require.NoError(t, err)
			return w
		}
		src.send(oneRule)
		require.NoError(t, watch(LastGood(path)).Close())
		time.Sleep(time.Minute)
		src.send(strings.Replace(oneRule, "limit: 2", "limit: 7", 1))
		require.NoError(t, watch().Close()) // keeps no file
		time.Sleep(time.Minute)
		w := watch(LastGood(path), FirstWithin(0))
		time.Sleep(time.Minute)
		require.Equal(t, 7.0, e.Rules().Flow[0].Limit)
		require.ErrorContains(t, w.Health().LastGoodError, "older than the rules in force")
		require.NoError(t, w.Close())
		w = watch(LastGood(path), FirstWithin(0)) // the rules are still the second watch's
		time.Sleep(time.Minute)
		require.Equal(t, 7.0, e.Rules().Flow[0].Limit)
		src.send(strings.Replace(oneRule, "limit: 2", "limit: 9", 1))
		time.Sleep(time.Minute)
		require.NoError(t, w.Health().LastGoodError)
		require.NoError(t, w.Close())
		w = watch(LastGood(path)) // what the file has is what is in force
		require.True(t, w.Health().Stale)
		require.Equal(t, 9.0, e.Rules().Flow[0].Limit)
	})
}

func TestLastGoodBelongsToOneSource(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	synctest.Test(t, func(t *testing.T) {
		e, err := New()
		require.NoError(t, err)
		defer e.Close()
		_, err = e.Watch(bg, newFake("a"), Native, LastGood("x"), FirstWithin(0))
		require.NoError(t, err)
		w, err := e.Watch(bg, newFake("b"), Native, LastGood(filepath.Join(dir, "sub", "..", "x")), FirstWithin(0))
		require.Nil(t, w)
		require.ErrorContains(t, err, "watch b: the last-good file")
		require.ErrorContains(t, err, "is that of a: every source needs one of its own")
		_, err = e.Watch(bg, newFake("b"), Native, LastGood("y"), FirstWithin(0))
		require.NoError(t, err)
		_, err = e.Watch(bg, newFake("c"), Native, FirstWithin(0))
		require.NoError(t, err)
		_, err = e.Watch(bg, newFake("d"), Native, FirstWithin(0))
		require.NoError(t, err)
	})
}

// A panic in an observer of sources hurts nobody.
func TestSourceObserverMayPanic(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.last")
	synctest.Test(t, func(t *testing.T) {
		for range 2 {
			rec := &recorder{}
			e, err := New(WithObserver(Observer{Source: func(SourceEvent) { panic(errBoom) }}), WithObserver(rec.observer()))
			require.NoError(t, err)
			src := newFake("s")
			src.send(oneRule)
			w, err := e.Watch(bg, src, Native, LastGood(path))
			require.NoError(t, err)
			require.Equal(t, 2, passes(e, "r", 5))
			require.NoError(t, w.Close())
			require.NoError(t, e.Close())
			require.Len(t, rec.faults, len(rec.sources))
		}
	})
	var rep rule.Report
	require.NotContains(t, rep.String(), "last-good")
}
