package nethttp_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/adapter/nethttp"
)

// faultList is what an engine reported.
type faultList struct {
	mu   sync.Mutex
	list []cordon.FaultEvent
}

func (l *faultList) note(e cordon.FaultEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, e)
}

// newFaultyEngine returns an engine and what it reports, to an observer that panics itself.
func newFaultyEngine(t *testing.T) (*cordon.Engine, *faultList) {
	t.Helper()
	var l faultList
	return newEngine(t, cordon.Rules{}, cordon.WithObserver(cordon.Observer{Fault: func(e cordon.FaultEvent) {
		l.note(e)
		panic("a bug in the observer")
	}})), &l
}

var errBug = errors.New("a bug in the option")

// TestPanickingOutcomeIsReported: WithOutcome's function may panic at whatever ending it is asked about. Each time the call ends with its default, what
// else happens goes on as it would, and the fault is told once, with the resource.
func TestPanickingOutcomeIsReported(t *testing.T) {
	t.Parallel()
	for name, thrown := range map[string]any{"an error": errBug, "a text": "a bug in the option", "nil": nil} {
		broken := nethttp.WithOutcome(func(nethttp.Ending) cordon.Outcome { panic(thrown) })
		check := func(t *testing.T, eng *cordon.Engine, l *faultList, want cordon.Outcome) {
			t.Helper()
			require.Equal(t, ended(want), countsOf(eng, "r"))
			l.mu.Lock()
			defer l.mu.Unlock()
			require.Len(t, l.list, 1)
			require.Equal(t, "WithOutcome of adapter/nethttp", l.list[0].Where)
			require.Equal(t, "r", l.list[0].Resource)
			require.Error(t, l.list[0].Err)
			switch thrown := thrown.(type) {
			case error:
				require.ErrorIs(t, l.list[0].Err, thrown)
			case string:
				require.EqualError(t, l.list[0].Err, "panic: "+thrown)
			}
			require.EqualValues(t, 2, eng.Snapshot().Faults) // the observer's own is the other
		}
		for _, server := range []struct {
			name    string
			handler http.HandlerFunc
			panics  any
			want    cordon.Outcome
		}{
			{"answered", func(http.ResponseWriter, *http.Request) {}, nil, cordon.Success},
			{"failed", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, nil, cordon.Failure},
			{"hung up", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(nethttp.StatusClientClosed) }, nil, cordon.Ignored},
			{"panicked", func(http.ResponseWriter, *http.Request) { panic("a bug in the handler") }, "a bug in the handler", cordon.Failure},
			{"aborted", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, http.ErrAbortHandler, cordon.Failure},
		} {
			t.Run("server "+server.name+", "+name, func(t *testing.T) {
				t.Parallel()
				eng, l := newFaultyEngine(t)
				h := nethttp.Middleware(eng, named("r"), broken)(server.handler)
				require.Equal(t, server.panics, panicOf(func() { h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)) }))
				check(t, eng, l, server.want)
			})
		}
		t.Run("client without an answer, "+name, func(t *testing.T) {
			t.Parallel()
			eng, l := newFaultyEngine(t)
			lost := errors.New("connection lost")
			rt := nethttp.Transport(eng, roundTripper(func(*http.Request) (*http.Response, error) { return nil, lost }), named("r"), broken)
			_, err := rt.RoundTrip(get(t, t.Context()))
			require.ErrorIs(t, err, lost)
			check(t, eng, l, cordon.Failure)
		})
		t.Run("client at the body's end, "+name, func(t *testing.T) {
			t.Parallel()
			eng, l := newFaultyEngine(t)
			rt := nethttp.Transport(eng, answer(200, &closeNoter{Reader: http.NoBody}), named("r"), broken)
			res, err := rt.RoundTrip(get(t, t.Context()))
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, res.Body)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			check(t, eng, l, cordon.Success)
		})
		t.Run("client whose context ends, "+name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				eng, l := newFaultyEngine(t)
				ctx, cancel := context.WithCancel(t.Context())
				rt := nethttp.Transport(eng, answer(200, &closeNoter{Reader: http.NoBody}), named("r"), broken)
				res, err := rt.RoundTrip(get(t, ctx))
				require.NoError(t, err)
				cancel()
				synctest.Wait()
				require.NoError(t, res.Body.Close())
				check(t, eng, l, cordon.Ignored)
			})
		})
	}
}
