package datasource_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cordon-go/cordon/datasource"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(writerEnv); path != "" {
		writeLastGood(path)
	}
	goleak.VerifyTestMain(m)
}

// sourceFunc is a source that is one function.
type sourceFunc func(ctx context.Context, deliver func(datasource.Update)) error

func (sourceFunc) Name() string { return "test" }

func (f sourceFunc) Watch(ctx context.Context, deliver func(datasource.Update)) error {
	return f(ctx, deliver)
}

// a feed is a source that delivers what a test tells it to. It is unbuffered: what was said was delivered once the bubble is at rest.
type feed chan datasource.Update

func (feed) Name() string { return "feed" }

func (f feed) Watch(ctx context.Context, deliver func(datasource.Update)) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case u := <-f:
			deliver(u)
		}
	}
}

func (f feed) say(content string) {
	f <- datasource.Update{Document: datasource.Document{Data: []byte(content), Version: "v-" + content}}
}

func (f feed) fail(err error) { f <- datasource.Update{Err: err} }

var (
	errRefused = errors.New("refused")
	errBroken  = errors.New("broken")
)

// an applier records what it is given, with the time since it was made, and refuses what begins with "bad".
type applier struct {
	began time.Time

	mu    sync.Mutex // guards all below
	calls []string
	at    []time.Duration
}

func newApplier() *applier { return &applier{began: time.Now()} }

func (a *applier) apply(d datasource.Document) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, string(d.Data))
	a.at = append(a.at, time.Since(a.began))
	if isBad(string(d.Data)) {
		return errRefused
	}
	return nil
}

func isBad(content string) bool { return len(content) >= 3 && content[:3] == "bad" }

// took returns what was offered since the last call.
func (a *applier) took() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	calls := a.calls
	a.calls, a.at = nil, nil
	return calls
}

// times returns when it was offered something since the last call of took.
func (a *applier) times() []time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]time.Duration(nil), a.at...)
}

// pumping runs body in a bubble of virtual time, with a pump between a feed and an applier.
func pumping(t *testing.T, opts datasource.PumpOptions, body func(t *testing.T, f feed, a *applier, p *datasource.Pump)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f, a := make(feed), newApplier()
		p := datasource.Start(t.Context(), f, a.apply, opts)
		defer func() { require.NoError(t, p.Close()) }()
		body(t, f, a, p)
	})
}

// rest lets virtual time pass and everything that it wakes come to rest.
func rest(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
