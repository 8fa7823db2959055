package nacos

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Client is what is had of one namespace of a server: sources to watch, and documents to get and to publish. All share one connection,
// which is made when something is first asked for, and made again whenever it is lost. Its methods are safe for concurrent use.
type Client struct {
	config Config // with defaults
	// names are those of all servers.
	names  string
	dialer *dialer
	login  *login

	ctx    context.Context // done once the client is closed
	cancel context.CancelFunc
	wake   chan struct{} // holds at most one: the worker has something to look at
	done   sync.WaitGroup

	mu      sync.Mutex // guards all below; never held while calling anybody
	started bool
	watches []*watch
	// notices are the documents that the server has given notice of.
	notices map[key]bool
	// conn is the connection, nil while there is none. wanted is whether somebody waits for one.
	conn   *conn
	wanted bool
	// attempts is how many times all servers have been tried in vain, failure is why at the last time.
	attempts int
	failure  error
	// changed is closed, and made anew, when one of the three above changes.
	changed chan struct{}

	// servers begin with the one to try next, connections counts those there have been. Both are the worker's alone.
	servers     []server
	connections uint64
}

// New returns a client, or what is wrong with the configuration. Nothing is connected yet, and no goroutine runs.
func New(c Config) (*Client, error) {
	var dial net.Dialer
	return newClient(c, func(ctx context.Context, address string) (net.Conn, error) {
		return dial.DialContext(ctx, "tcp", address)
	})
}

// newClient is New with a network of its own.
func newClient(c Config, network func(ctx context.Context, address string) (net.Conn, error)) (*Client, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	servers, err := parseServers(c.Servers, c.TLS != nil)
	if err != nil {
		return nil, err
	}
	certs, err := newCertificates(c.TLS)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range servers {
		names = append(names, s.name)
	}
	// Many clients with one configuration share the servers among them.
	rand.Shuffle(len(servers), func(i, k int) { servers[i], servers[k] = servers[k], servers[i] })
	client := &Client{
		config:  c,
		names:   strings.Join(names, ", "),
		servers: servers,
		login:   newLogin(c, servers, certs, network),
		wake:    make(chan struct{}, 1),
		notices: map[key]bool{},
		changed: make(chan struct{}),
	}
	client.dialer = &dialer{
		namespace: c.Namespace,
		timeout:   c.Timeout,
		largest:   maxMessage,
		clock:     c.Clock,
		certs:     certs,
		network:   network,
		noticed:   client.noticed,
		oldCerts: func(err error) {
			client.log(slog.LevelWarn, "nacos: certificates cannot be read, the last good ones stay in use", slog.Any("error", err))
		},
	}
	client.ctx, client.cancel = context.WithCancel(context.Background())
	return client, nil
}

// Close ends the connection and all that uses it: Watch and what else is under way return ErrClosed. It waits until
// nothing of the client runs any more, but not for the calls to return. It is idempotent and never fails.
func (c *Client) Close() error {
	c.mu.Lock()
	c.cancel()
	c.mu.Unlock()
	c.done.Wait()
	return nil
}

// namespace returns what the namespace is called.
func (c *Client) namespace() string {
	if c.config.Namespace == "" {
		return publicNamespace
	}
	return c.config.Namespace
}

// join adds a watch.
func (c *Client) join(s *Source) (*watch, error) {
	w := &watch{key: s.key, clears: s.clears, empty: s.empty, mail: newMailbox(), warn: func(msg string, attrs ...slog.Attr) { c.log(slog.LevelWarn, msg, attrs...) }}
	w.track = track{emptyCounts: s.clears, reread: c.config.Reread}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.start(); err != nil {
		return nil, err
	}
	c.watches = append(slices.Clip(c.watches), w) // the worker may be going through the old ones
	c.raise()
	return w, nil
}

// leave removes a watch.
func (c *Client) leave(w *watch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watches = slices.DeleteFunc(slices.Clone(c.watches), func(o *watch) bool { return o == w })
	c.raise()
}

// start starts the worker if it does not run yet. The caller holds c.mu.
func (c *Client) start() error {
	if c.ctx.Err() != nil {
		return ErrClosed
	}
	if !c.started {
		c.started = true
		c.done.Go(c.work)
	}
	return nil
}

// noticed takes a notice of a change.
func (c *Client) noticed(k key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notices[k] = true
	c.raise()
}

// raise wakes the worker.
func (c *Client) raise() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// now reads the clock.
func (c *Client) now() time.Duration { return c.config.Clock.Now() }

// log writes a line. A logger that panics is no reason to stop.
func (c *Client) log(level slog.Level, msg string, attrs ...slog.Attr) {
	if c.config.Logger == nil {
		return
	}
	defer func() { _ = recover() }()
	c.config.Logger.LogAttrs(context.Background(), level, msg, attrs...)
}
