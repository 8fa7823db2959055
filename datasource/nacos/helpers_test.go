package nacos

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/datasource/nacos/internal/fakenacos"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rules is the document that most tests are about.
var rules = fakenacos.Key{Group: DefaultGroup, DataID: "rules.yaml"}

// A world is a server in memory and what a client of it needs. It is made and used in a bubble of virtual time.
type world struct {
	t       *testing.T
	network fakenacos.Network
	server  *fakenacos.Server
	log     *lines
}

// inWorld runs body in a bubble of virtual time with a server that listens at a:8848 and a:9848.
func inWorld(t *testing.T, body func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, log: &lines{}}
		w.server = w.start("a")
		body(t, w)
	})
}

// start starts a server that is stopped when the test ends.
func (w *world) start(host string) *fakenacos.Server {
	s := fakenacos.New(w.network.Listen, nil)
	require.NoError(w.t, s.Start(host+":8848", host+":9848"))
	w.t.Cleanup(s.Stop)
	return s
}

// config returns the configuration of most clients.
func (w *world) config() Config {
	return Config{Servers: []string{"a"}, Logger: slog.New(slog.NewTextHandler(w.log, nil))}
}

// client returns a client that is closed when the test ends, before the servers stop.
func (w *world) client(c Config) *Client {
	client, err := newClient(c, w.network.Dial)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { require.NoError(w.t, client.Close()) })
	return client
}

// lines are what was logged.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A reader notes what a source delivers, and when.
type reader struct {
	began time.Time
	done  chan struct{}
	stop  context.CancelFunc

	mu   sync.Mutex // guards all below
	said []string
	at   []time.Duration
	err  error
}

// read watches a source until the test ends, or stopped is called.
func (w *world) read(s *Source) *reader {
	ctx, cancel := context.WithCancel(w.t.Context())
	r := &reader{began: time.Now(), done: make(chan struct{}), stop: cancel}
	go func() {
		defer close(r.done)
		err := s.Watch(ctx, r.deliver)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.err = err
	}()
	w.t.Cleanup(func() {
		cancel()
		<-r.done
	})
	return r
}

func (r *reader) deliver(u datasource.Update) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := string(u.Document.Data)
	if u.Err != nil {
		text = "error: " + u.Err.Error()
	}
	r.said = append(r.said, text)
	r.at = append(r.at, time.Since(r.began))
}

// took returns what was delivered since the last call.
func (r *reader) took() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	said := r.said
	r.said, r.at = nil, nil
	return said
}

// timed returns what was delivered since the last call with the times, cut to tenths of a second, as "1s a".
func (r *reader) timed() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []string
	for i, s := range r.said {
		all = append(all, fmt.Sprintf("%v %s", r.at[i].Truncate(100*time.Millisecond), s))
	}
	r.said, r.at = nil, nil
	return all
}

// connecting is longer than it takes to be connected.
const connecting = 3 * registerPause

// rest lets virtual time pass and everything that it wakes come to rest.
func rest(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// newPanicLogger returns a logger that is of no use.
func newPanicLogger() *slog.Logger { return slog.New(panicHandler{}) }

type panicHandler struct{ slog.Handler }

func (panicHandler) Enabled(context.Context, slog.Level) bool { panic("no") }
