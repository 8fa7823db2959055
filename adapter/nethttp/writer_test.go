package nethttp_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/adapter/nethttp"
)

// bare is a writer that can do nothing besides.
type bare struct {
	header http.Header
	status int
	body   strings.Builder
}

func (b *bare) Header() http.Header {
	if b.header == nil {
		b.header = http.Header{}
	}
	return b.header
}
func (b *bare) WriteHeader(status int)      { b.status = status }
func (b *bare) Write(p []byte) (int, error) { return b.body.Write(p) }

type fakeFlusher struct{ flushed *int }

func (f fakeFlusher) Flush() { *f.flushed++ }

type fakeHijacker struct{}

func (fakeHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, errHijack }

var errHijack = errors.New("no connection here")

type fakeReaderFrom struct{ from *io.Reader }

func (f fakeReaderFrom) ReadFrom(src io.Reader) (int64, error) {
	*f.from = src
	return 7, nil
}

type fakePusher struct{ pushed *string }

func (f fakePusher) Push(target string, _ *http.PushOptions) error {
	*f.pushed = target
	return nil
}

// For every set of abilities of the server's writer the handler is offered these and no others, and they work.
func TestWriterOffersWhatThereIs(t *testing.T) {
	t.Parallel()
	var flushed int
	var from io.Reader
	var pushed string
	b := &bare{}
	f, h, rf, p := fakeFlusher{&flushed}, fakeHijacker{}, fakeReaderFrom{&from}, fakePusher{&pushed}
	writers := map[string]http.ResponseWriter{
		"": b,
		"f": struct {
			*bare
			fakeFlusher
		}{b, f},
		"h": struct {
			*bare
			fakeHijacker
		}{b, h},
		"r": struct {
			*bare
			fakeReaderFrom
		}{b, rf},
		"p": struct {
			*bare
			fakePusher
		}{b, p},
		"fh": struct {
			*bare
			fakeFlusher
			fakeHijacker
		}{b, f, h},
		"fr": struct {
			*bare
			fakeFlusher
			fakeReaderFrom
		}{b, f, rf},
		"fp": struct {
			*bare
			fakeFlusher
			fakePusher
		}{b, f, p},
		"hr": struct {
			*bare
			fakeHijacker
			fakeReaderFrom
		}{b, h, rf},
		"hp": struct {
			*bare
			fakeHijacker
			fakePusher
		}{b, h, p},
		"rp": struct {
			*bare
			fakeReaderFrom
			fakePusher
		}{b, rf, p},
		"fhr": struct {
			*bare
			fakeFlusher
			fakeHijacker
			fakeReaderFrom
		}{b, f, h, rf},
		"fhp": struct {
			*bare
			fakeFlusher
			fakeHijacker
			fakePusher
		}{b, f, h, p},
		"frp": struct {
			*bare
			fakeFlusher
			fakeReaderFrom
			fakePusher
		}{b, f, rf, p},
		"hrp": struct {
			*bare
			fakeHijacker
			fakeReaderFrom
			fakePusher
		}{b, h, rf, p},
		"fhrp": struct {
			*bare
			fakeFlusher
			fakeHijacker
			fakeReaderFrom
			fakePusher
		}{b, f, h, rf, p},
	}
	require.Len(t, writers, 16)
	eng := newEngine(t, cordon.Rules{})
	for abilities, w := range writers {
		flushed, from, pushed = 0, nil, ""
		src := strings.NewReader("x")
		offered := ""
		nethttp.Middleware(eng, named("r"))(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if x, ok := w.(http.Flusher); ok {
				offered += "f"
				x.Flush()
				require.Equal(t, 1, flushed)
			}
			if x, ok := w.(http.Hijacker); ok {
				offered += "h"
				_, _, err := x.Hijack()
				require.ErrorIs(t, err, errHijack)
			}
			if x, ok := w.(io.ReaderFrom); ok {
				offered += "r"
				n, err := x.ReadFrom(src)
				require.NoError(t, err)
				require.Equal(t, int64(7), n)
				require.Same(t, src, from)
			}
			if x, ok := w.(http.Pusher); ok {
				offered += "p"
				require.NoError(t, x.Push("/style", nil))
				require.Equal(t, "/style", pushed)
			}
			rc := http.NewResponseController(w)
			require.Equal(t, strings.Contains(abilities, "f"), rc.Flush() == nil, "flush by controller with %q", abilities)
			_, _, err := rc.Hijack()
			require.Equal(t, strings.Contains(abilities, "h"), errors.Is(err, errHijack), "hijack by controller with %q", abilities)
			require.ErrorIs(t, rc.SetReadDeadline(time.Time{}), http.ErrNotSupported)
		})).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		require.Equal(t, abilities, offered)
	}
}

// On a real server the writer keeps what the protocol's own has.
func TestWriterOfRealServers(t *testing.T) {
	t.Parallel()
	for _, h2 := range []bool{false, true} {
		eng := newEngine(t, cordon.Rules{})
		bare := make(chan [4]bool, 1)
		wrapped := make(chan [4]bool, 1)
		abilities := func(w http.ResponseWriter) [4]bool {
			_, f := w.(http.Flusher)
			_, h := w.(http.Hijacker)
			_, r := w.(io.ReaderFrom)
			_, p := w.(http.Pusher)
			return [4]bool{f, h, r, p}
		}
		inner := nethttp.Middleware(eng, named("r"))(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			wrapped <- abilities(w)
			rc := http.NewResponseController(w)
			require.NoError(t, rc.SetWriteDeadline(time.Time{}))
			require.NoError(t, rc.SetReadDeadline(time.Time{}))
			require.NoError(t, rc.EnableFullDuplex())
		}))
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			bare <- abilities(w)
			inner.ServeHTTP(w, r)
		}))
		srv.EnableHTTP2 = h2
		srv.StartTLS()
		res, err := srv.Client().Get(srv.URL)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, h2, res.ProtoMajor == 2)
		require.Equal(t, <-bare, <-wrapped)
		srv.Close()
	}
}

// What cannot be flushed has not been sent: the status that comes after is the one.
func TestFlushThatDoesNothing(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, cordon.Rules{})
	nethttp.Middleware(eng, named("r"))(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		require.ErrorIs(t, http.NewResponseController(w).Flush(), http.ErrNotSupported)
		w.WriteHeader(500)
	})).ServeHTTP(&bare{}, httptest.NewRequest("GET", "/", nil))
	require.Equal(t, ended(cordon.Failure), countsOf(eng, "r"))
}

func TestFilesAreServed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "big")
	content := strings.Repeat("0123456789", 100_000)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	eng := newEngine(t, cordon.Rules{})
	srv := httptest.NewServer(nethttp.Middleware(eng, named("r"))(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, path)
	})))
	defer srv.Close()
	res, err := srv.Client().Get(srv.URL)
	require.NoError(t, err)
	got, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, len(content), len(got))
}

// faults #68, at the server: a stream holds its place until it ends. Limit 2, three streams.
func TestServerSentEvents(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, atOnce("events", 2))
	leave := make(chan struct{})
	left := make(chan struct{}, 3)
	srv := httptest.NewServer(nethttp.Middleware(eng, named("events"))(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { left <- struct{}{} }()
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n\n")
		w.(http.Flusher).Flush()
		select {
		case <-leave:
			_, _ = io.WriteString(w, "data: bye\n\n")
		case <-r.Context().Done():
		}
	})))
	defer srv.Close()
	open := func() *http.Response {
		res, err := srv.Client().Get(srv.URL)
		require.NoError(t, err)
		return res
	}
	first, second := open(), open()
	for _, res := range []*http.Response{first, second} {
		line, err := bufio.NewReader(res.Body).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "data: 1\n", line, "the event arrives while the handler still runs")
	}
	third := open()
	require.Equal(t, 503, third.StatusCode)
	require.NoError(t, third.Body.Close())

	require.NoError(t, first.Body.Close()) // hang up on one
	<-left
	waitFor(t, func() bool { return countsOf(eng, "events").inFlight == 1 })
	fourth := open()
	require.Equal(t, 200, fourth.StatusCode)
	close(leave)
	for _, res := range []*http.Response{second, fourth} {
		_, err := io.Copy(io.Discard, res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
	}
	waitFor(t, func() bool { return countsOf(eng, "events") == counts{passed: 3, succeeded: 3} })
}

// An upgraded connection holds its place until the handler returns, and bytes flow both ways.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	eng := newEngine(t, atOnce("ws", 1))
	endings := make(chan nethttp.Ending, 1)
	srv := httptest.NewServer(nethttp.Middleware(eng, named("ws"), nethttp.WithOutcome(func(e nethttp.Ending) cordon.Outcome {
		endings <- e
		return e.Default
	}))(http.HandlerFunc(echoUpgrade)))
	defer srv.Close()
	conn, res := upgrade(t, srv.Listener.Addr().String())
	require.Equal(t, 101, res.StatusCode)
	_, err := io.WriteString(conn, "ping\n")
	require.NoError(t, err)
	line, err := conn.r.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ping\n", line)

	refused, res := upgrade(t, srv.Listener.Addr().String())
	require.Equal(t, 503, res.StatusCode)
	require.NoError(t, refused.Close())

	require.NoError(t, conn.Close())
	e := <-endings
	require.True(t, e.Hijacked)
	require.Zero(t, e.Status, "what the handler wrote to the connection is not known")
	waitFor(t, func() bool { return countsOf(eng, "ws") == counts{passed: 1, succeeded: 1} })
}

type upgradedConn struct {
	net.Conn
	r *bufio.Reader
}

// upgrade shakes hands as a WebSocket client does.
func upgrade(t *testing.T, addr string) (*upgradedConn, *http.Response) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	require.NoError(t, err)
	r := bufio.NewReader(conn)
	res, err := http.ReadResponse(r, nil)
	require.NoError(t, err)
	return &upgradedConn{conn, r}, res
}

// echoUpgrade switches protocols and sends back every line until the client leaves.
func echoUpgrade(w http.ResponseWriter, _ *http.Request) {
	conn, rw, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	defer conn.Close()
	_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	for {
		_ = rw.Flush()
		line, err := rw.ReadString('\n')
		if err != nil {
			return
		}
		_, _ = rw.WriteString(line)
	}
}

// waitFor yields until what other goroutines must bring about has come.
func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, time.Minute, time.Millisecond)
}
