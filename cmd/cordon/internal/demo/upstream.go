package demo

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/clock"
)

// fromUpstream is the header by which a caller tells an upstream's answer from the gateway's own.
const fromUpstream = "X-Demo-Upstream"

// calledBy is the header by which a caller of a pool says which one it is.
const calledBy = "X-Demo-Caller"

// An upstream is a real HTTP service on loopback with faults that can be switched on and off. It keeps its own books:
// what arrived when, and how much of it was there at once.
type upstream struct {
	name   string
	server *http.Server
	addr   string
	clock  clock.Clock

	// failing makes it answer 500; latency (in nanoseconds) makes it take that long.
	failing atomic.Bool
	latency atomic.Int64

	// mu guards the books.
	mu       sync.Mutex
	arrivals map[string][]time.Duration // by caller
	inFlight int
	peak     int
}

// startUpstream starts the service on a free port of the loopback interface. Arrivals are readings of clk.
func startUpstream(name string, clk clock.Clock) (*upstream, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting the service %s: %w", name, err)
	}
	u := newUpstream(name, clk)
	u.addr = listener.Addr().String()
	u.server = &http.Server{Handler: u, ReadHeaderTimeout: 10 * time.Second}
	go u.server.Serve(listener) //nolint:errcheck // always ErrServerClosed, from close
	return u, nil
}

func newUpstream(name string, clk clock.Clock) *upstream {
	return &upstream{name: name, clock: clk, arrivals: map[string][]time.Duration{}}
}

// url is where the service listens.
func (u *upstream) url() string { return "http://" + u.addr }

// ServeHTTP answers a call as the faults of the moment say.
func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		u.order(w, r)
		return
	}
	u.arrive(r.Header.Get(calledBy))
	defer u.leave()
	if latency := time.Duration(u.latency.Load()); latency > 0 {
		select {
		case <-time.After(latency):
		case <-r.Context().Done():
			return
		}
	}
	w.Header().Set(fromUpstream, u.name)
	if u.failing.Load() {
		http.Error(w, u.name+" is out of order", http.StatusInternalServerError)
		return
	}
	fmt.Fprintf(w, "hello from %s\n", u.name)
}

// order makes the service fall ill or get well at the word of whoever plays with it by hand. It is no call: the books do not have it.
func (u *upstream) order(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/ill":
		u.failing.Store(true)
	case "/well":
		u.failing.Store(false)
	default:
		http.Error(w, "want /ill or /well", http.StatusNotFound)
		return
	}
	fmt.Fprintf(w, "%s is %s\n", u.name, r.URL.Path[1:])
}

func (u *upstream) arrive(caller string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.arrivals[caller] = note(u.arrivals[caller], u.clock.Now())
	u.inFlight++
	u.peak = max(u.peak, u.inFlight)
}

func (u *upstream) leave() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.inFlight--
}

// arrived returns the newest arrivals from a caller, sorted; "" is whoever does not say. Readings are taken under the lock, but sorting costs nothing and needs no proof.
func (u *upstream) arrived(caller string) []time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	times := slices.Clone(u.arrivals[caller])
	slices.Sort(times)
	return times
}

// busy returns how many calls are there now, and the most there ever were at once.
func (u *upstream) busy() (inFlight, peak int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.inFlight, u.peak
}

// close stops the service, letting calls end until ctx is done.
func (u *upstream) close(ctx context.Context) error {
	if err := u.server.Shutdown(ctx); err != nil {
		u.server.Close()
		return fmt.Errorf("stopping the service %s: %w", u.name, err)
	}
	return nil
}
