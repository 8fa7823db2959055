package nacos

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/nacos-group/nacos-sdk-go/v2/common/remote/rpc/rpc_request"
	"github.com/nacos-group/nacos-sdk-go/v2/common/remote/rpc/rpc_response"
	"github.com/nacos-group/nacos-sdk-go/v2/model"
)

const (
	// minPause and maxPause bound the pauses between attempts to connect.
	minPause = 200 * time.Millisecond
	maxPause = 3 * time.Second
	// stable is how long a connection must have lasted for its loss to be none of a row.
	stable = 10 * time.Second
	// healthEvery is how long nothing is said on a connection before the server is asked whether it is still there.
	healthEvery = 5 * time.Second
)

// work is the client's worker: the only goroutine that connects, listens and reads for sources. It runs until the client is closed.
func (c *Client) work() {
	inARow := 0 // attempts and short connections that failed
	for c.ctx.Err() == nil {
		if inARow > 0 && !c.pause(doubled(inARow-1, minPause, maxPause)) {
			return
		}
		conn, err := c.connect()
		if err != nil {
			inARow++
			c.failed(err, true)
			continue
		}
		c.log(slog.LevelInfo, "nacos: connected", slog.String("server", conn.server.name))
		began := c.now()
		err = c.serve(conn)
		c.swap(nil)
		conn.close()
		if c.ctx.Err() != nil {
			return
		}
		c.log(slog.LevelWarn, "nacos: connection lost", slog.Any("error", err))
		if c.now()-began >= stable {
			inARow = 0
			continue
		}
		if inARow++; inARow > 1 {
			c.failed(fmt.Errorf("connection lost: %w", err), false)
		}
	}
}

// connect tries the servers, one after the other, beginning with the one after that used last.
func (c *Client) connect() (*conn, error) {
	failures := map[string]error{}
	for range c.servers {
		s := c.servers[0]
		c.servers = append(slices.Clone(c.servers[1:]), s)
		conn, err := c.dialer.dial(c.ctx, s)
		if err == nil {
			c.swap(conn)
			return conn, nil
		}
		if c.ctx.Err() != nil {
			return nil, ErrClosed
		}
		failures[s.name] = err
	}
	var all error
	for _, name := range slices.Sorted(maps.Keys(failures)) { // the same text every time, so that it is told once
		all = also(all, failures[name])
	}
	return nil, fmt.Errorf("no connection: %w", all)
}

// advise makes the server, if we have been told of it, the one tried next. What its port is called differs; the host will do.
func (c *Client) advise(host, port string) {
	i := slices.IndexFunc(c.servers, func(s server) bool { return s.name == net.JoinHostPort(host, port) })
	if i < 0 {
		i = slices.IndexFunc(c.servers, func(s server) bool { return s.host == host })
	}
	if i > 0 {
		c.servers = slices.Concat(c.servers[i:], c.servers[:i])
	}
}

// swap makes conn the connection in use.
func (c *Client) swap(conn *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = conn
	if conn != nil {
		c.wanted, c.failure = false, nil
	}
	c.change()
}

// failed tells all that wait for a connection, and all watches, why there is none.
func (c *Client) failed(err error, attempt bool) {
	c.mu.Lock()
	c.failure, c.wanted = err, false
	if attempt {
		c.attempts++
	}
	c.change()
	c.mu.Unlock()
	c.tellAll(err)
}

// change wakes those who wait for a connection. The caller holds c.mu.
func (c *Client) change() {
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Client) tellAll(err error) {
	for _, w := range c.watched() {
		w.tell(err)
	}
}

// watched returns the watches there are. The slice does not change.
func (c *Client) watched() []*watch {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.watches
}

// pause waits before the next attempt to connect, shorter if somebody asks for a connection. It reports false if the client is closed.
func (c *Client) pause(d time.Duration) bool {
	until := c.now() + d
	soonest := c.now() + min(d, minPause)
	for {
		c.mu.Lock()
		failure, wanted := c.failure, c.wanted
		c.mu.Unlock()
		if failure != nil {
			c.tellAll(failure) // to watches that have come meanwhile
		}
		if wanted {
			until = min(until, soonest)
		}
		left := until - c.now()
		if left <= 0 {
			return c.ctx.Err() == nil
		}
		timer := c.config.Clock.NewTimer(left)
		select {
		case <-c.ctx.Done():
			timer.Stop()
			return false
		case <-c.wake:
		case <-timer.C():
		}
		timer.Stop()
	}
}

// A service is what the worker does on one connection.
type service struct {
	*Client
	conn *conn
	// number tells this connection from earlier ones.
	number uint64
	// spoke is when the server last answered.
	spoke time.Duration
	// compareAt is when the server is asked for all documents whether they are still the same.
	compareAt time.Duration
	// deaf is why the server gives no notices, nil if it does; hearAt is when to ask for them again.
	deaf   error
	hearAt time.Duration
}

// serve reads and listens on a connection until that is lost or the client closed.
func (c *Client) serve(conn *conn) error {
	c.connections++
	s := &service{Client: c, conn: conn, number: c.connections}
	s.spoke = c.now()
	s.compareAt = s.spoke + jitter(c.config.Reread)
	for _, w := range c.watched() {
		w.track.resume()
	}
	for {
		wait, err := s.step()
		if err != nil {
			c.advise(conn.advised())
			return err
		}
		if wait <= 0 {
			continue
		}
		timer := c.config.Clock.NewTimer(wait)
		select {
		case <-c.ctx.Done():
		case <-conn.lost:
		case <-c.wake:
		case <-timer.C():
		}
		timer.Stop()
	}
}

// step does what is most urgent, and returns how long nothing is. The error says that the connection is of no use any more.
func (s *service) step() (wait time.Duration, err error) {
	if s.ctx.Err() != nil {
		return 0, ErrClosed
	}
	if err := s.conn.why(); err != nil {
		return 0, err
	}
	s.takeNotices()
	watches := s.watched()
	now := s.now()

	// Listening comes before reading, so that what changes after it was read is told.
	if silent := s.silent(watches); len(silent) > 0 && (s.deaf == nil || now >= s.hearAt) {
		return 0, s.listen(silent)
	}
	next, soonest := s.urgent(watches)
	switch {
	case now >= s.compareAt && s.deaf == nil:
		s.compareAt = now + jitter(s.config.Reread)
		return 0, s.listen(watches)
	case next != nil && soonest <= now:
		return 0, s.read(next)
	case now >= s.spoke+healthEvery:
		return 0, s.checkHealth()
	}
	wake := s.spoke + healthEvery
	if next != nil {
		wake = min(wake, soonest)
	}
	if s.deaf == nil {
		wake = min(wake, s.compareAt)
	} else {
		wake = min(wake, s.hearAt)
	}
	return wake - now, nil
}

// takeNotices marks the watches of documents that notices have come for.
func (s *service) takeNotices() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watches {
		if s.notices[w.key] {
			w.track.noticed = true
		}
	}
	clear(s.notices)
}

// silent returns the watches that the server does not know of on this connection.
func (s *service) silent(watches []*watch) []*watch {
	var silent []*watch
	for _, w := range watches {
		if w.listening != s.number {
			silent = append(silent, w)
		}
	}
	return silent
}

// urgent returns the watch to read for first, and when.
func (s *service) urgent(watches []*watch) (first *watch, due time.Duration) {
	for _, w := range watches {
		at := w.track.due()
		if first == nil || at < due || at == due && w.track.readAt < first.track.readAt {
			first, due = w, at
		}
	}
	return first, due
}

// maxListen is how many documents one request asks for notices of.
const maxListen = 1000

// listen asks the server for notices of changes, and whether the documents are still those that were read.
func (s *service) listen(watches []*watch) error {
	for batch := range slices.Chunk(watches, maxListen) {
		req := rpc_request.NewConfigBatchListenRequest(len(batch))
		for _, w := range batch {
			req.ConfigListenContexts = append(req.ConfigListenContexts, model.ConfigListenContext{
				Group: w.key.group, DataId: w.key.dataID, Tenant: s.config.Namespace, Md5: w.track.md5,
			})
		}
		answer, err := request(s.ctx, s.Client, s.conn, req, func() *rpc_response.ConfigChangeBatchListenResponse {
			return &rpc_response.ConfigChangeBatchListenResponse{Response: &rpc_response.Response{}}
		})
		switch {
		case isLost(err):
			return err
		case err != nil:
			return s.deafen(watches, err)
		}
		s.spoke = s.now()
		s.heard(batch, answer.ChangedConfigs)
	}
	s.deaf = nil
	return nil
}

// deafen notes that the server gives no notices. All is read now, and then at the steady pace until it does.
func (s *service) deafen(watches []*watch, err error) error {
	for _, w := range watches {
		w.listening = 0
		w.track.suspected = w.track.suspected || s.deaf == nil
	}
	s.deaf = fmt.Errorf("no notices of changes, looking every %v: %w", s.config.Reread, err)
	s.hearAt = s.now() + jitter(min(maxRetry, s.config.Reread))
	return s.survives(err)
}

// heard takes the answer to listen.
func (s *service) heard(batch []*watch, changed []model.ConfigContext) {
	differs := make(map[key]bool, len(changed))
	for _, c := range changed {
		differs[key{c.Group, c.DataId}] = true
	}
	for _, w := range batch {
		w.listening = s.number
		if differs[w.key] || w.told != "" { // what was told to be wrong is over once the document is read
			w.track.suspected = true
		}
	}
}

// read reads one document and delivers it if that counts.
func (s *service) read(w *watch) error {
	noticed := w.track.begin(s.now())
	r, err := s.query(s.ctx, s.conn, w.key)
	if err != nil {
		w.track.fail(s.now(), noticed)
		if isLost(err) {
			return err
		}
		w.tell(err)
		return s.survives(err)
	}
	s.spoke = s.now()
	unasked := fullLook * s.config.Reread
	if s.deaf != nil {
		unasked = s.config.Reread
		if w.track.failures > 0 {
			s.deaf = nil // what was in the way of reading may have been in the way of listening
		}
	}
	deaf := text(s.deaf)
	counts := w.track.take(s.spoke, r.md5, noticed, unasked)
	// The document in force is delivered again where something was wrong, so that it is known not to be any more.
	if counts || w.track.known && w.track.md5 == r.md5 && w.told != "" && w.told != deaf {
		w.deliver(r, s.conn.server.name)
	}
	if s.deaf != nil && w.told == "" {
		w.tell(s.deaf)
	}
	return nil
}

// survives asks, after an answer that did not come in time, whether the server answers at all.
func (s *service) survives(err error) error {
	if _, ok := errors.AsType[*timeoutError](err); ok {
		return s.checkHealth()
	}
	return nil
}

// checkHealth asks whether the server is there. Any other answer than yes is a loss of the connection.
func (s *service) checkHealth() error {
	ctx, stop := within(s.ctx, s.config.Clock, s.config.Timeout)
	defer stop()
	if err := s.conn.checkHealth(ctx); err != nil {
		return &lostError{s.conn.server.name, err}
	}
	s.spoke = s.now()
	return nil
}
