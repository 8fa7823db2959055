package sentinel_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	cordon "github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/sentinel"
)

// process runs an engine with one source and a last-good file, as a program would, until body returns.
func process(t *testing.T, kind sentinel.Kind, path string, body func(e *cordon.Engine, w *cordon.Watch, say func(data string))) {
	e, err := cordon.New()
	require.NoError(t, err)
	defer e.Close()
	src := make(ruleSource, 1)
	w, err := e.Watch(t.Context(), src, sentinel.Decoder(kind), cordon.LastGood(path), cordon.FirstWithin(0))
	require.NoError(t, err)
	synctest.Wait()
	body(e, w, func(data string) {
		src <- datasource.Update{Document: datasource.Document{Data: []byte(data)}}
		time.Sleep(time.Second)
		synctest.Wait()
	})
}

// One bad rule does not lose its protection at the next restart, whatever the kind and dialect: faults #64, #66.
func TestRestartAfterABadRule(t *testing.T) {
	t.Parallel()
	for _, sample := range badSamples() {
		t.Run(sample.String(), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "last")
			bad := sample.document("[" + sample.bad() + "]")
			synctest.Test(t, func(t *testing.T) {
				var before cordon.Rules
				process(t, sample.kind, path, func(e *cordon.Engine, w *cordon.Watch, say func(string)) {
					say(sample.document("[" + sample.good + "]"))
					before = e.Rules()
					say(bad)
					rep := w.Report()
					require.True(t, rep.Applied)
					require.Len(t, rep.Kept, 1, "%v", rep.Problems)
					require.Equal(t, before, e.Rules())
				})
				for range 2 {
					process(t, sample.kind, path, func(e *cordon.Engine, w *cordon.Watch, say func(string)) {
						require.NoError(t, w.Health().LastGoodError)
						require.True(t, w.Health().Stale)
						require.Equal(t, before, e.Rules())
						say(bad)
						require.False(t, w.Health().Stale)
						require.Equal(t, before, e.Rules())
						s := e.Snapshot().Sources[0]
						require.Equal(t, []int{1, 1}, []int{s.Refused, s.Kept})
						require.NotEmpty(t, s.Problems)
					})
				}
			})
		})
	}
}

// A bad rule whose id changed as well, was left out or became one of another kind, leaves its resource what it had.
func TestBadRuleOfAnotherID(t *testing.T) {
	t.Parallel()
	const other = `{"id":2,"resource":"z","count":4}`
	for _, c := range []struct{ good, bad string }{
		{`{"id":1,"resource":"orders","count":4}`, `{"resource":"orders","count":"4/s"}`},
		{`{"id":1,"resource":"orders","count":4}`, `{"id":7,"resource":"orders","cuont":4}`},
		{`{"resource":"orders","count":4}`, `{"id":7,"resource":"orders","count":-4}`},
		{`{"id":1,"resource":"orders","count":4}`, `{"resource":"orders","grade":0,"count":-4}`},
		{`{"id":1,"resource":"orders","count":4,"grade":0}`, `{"resource":"orders","grade":"rate","count":4}`},
		{`{"id":1,"resource":"orders","count":4}`, `{"id":9,"count":4}`},
		{`{"id":1,"resource":"orders","count":4}`, `null`},
	} {
		path := filepath.Join(t.TempDir(), "last")
		synctest.Test(t, func(t *testing.T) {
			process(t, sentinel.Flow, path, func(e *cordon.Engine, w *cordon.Watch, say func(string)) {
				say("[" + c.good + "," + other + "]")
				before := e.Rules()
				say("[" + c.bad + "," + other + "]")
				require.True(t, w.Report().Applied)
				require.Len(t, w.Report().Kept, 1, "%s: %v", c.bad, w.Report().Problems)
				now := e.Rules()
				require.ElementsMatch(t, before.Flow, now.Flow, c.bad)
				require.Equal(t, before.Concurrency, now.Concurrency, c.bad)
				say(fmt.Sprintf("[%s]", other))
				require.Len(t, e.Rules().Flow, 1)
				require.Empty(t, e.Rules().Concurrency)
			})
		})
	}
}
