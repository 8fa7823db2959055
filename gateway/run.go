package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// A state is where in its life a gateway is.
type state int32

const (
	idle state = iota
	starting
	serving
	draining
	stopped
)

func (s state) String() string {
	return [...]string{"not listening", "starting", "serving", "draining", "stopped"}[s]
}

func (g *Gateway) current() state { return state(g.state.Load()) }

// ErrRunning says that Run was called before: a gateway runs once.
var ErrRunning = errors.New("gateway: it runs or has run already")

// afterCut is how long requests that were cut off may take to notice.
const afterCut = 5 * time.Second

// Run listens and serves until ctx is done, then stops accepting and lets what is being served end: requests, streams and upgraded
// connections. What has not ended after Config.Grace is cut off. It closes the gateway before it returns.
//
// The error says why the gateway could not listen or had to stop serving; it is nil when ctx ended it.
func (g *Gateway) Run(ctx context.Context) (err error) {
	if !g.state.CompareAndSwap(int32(idle), int32(starting)) {
		return ErrRunning
	}
	defer func() {
		g.state.Store(int32(stopped))
		err = errors.Join(err, g.Close())
	}()
	public, admin, err := g.listen()
	if err != nil {
		return err
	}
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	server, adminServer := g.server(base), g.adminServer()
	failed := make(chan error, 2)
	var serves sync.WaitGroup
	serve := func(s *http.Server, l net.Listener) {
		serves.Go(func() {
			if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		})
	}
	serve(server, public)
	attrs := []slog.Attr{slog.String("address", public.Addr().String())}
	if admin != nil {
		serve(adminServer, admin)
		attrs = append(attrs, slog.String("admin", admin.Addr().String()))
	}
	g.state.Store(int32(serving))
	g.log.log(slog.LevelInfo, "gateway serves", "", attrs...)
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	g.state.Store(int32(draining))
	g.drain(server, cut)
	_ = adminServer.Close() // it answers until the end, so that the draining can be seen
	serves.Wait()
	return err
}

// listen returns the listeners handed in, or makes them; admin is nil if there is to be none.
func (g *Gateway) listen() (public, admin net.Listener, err error) {
	public, admin = g.opts.listener, g.opts.adminListener
	if public == nil {
		public, err = net.Listen("tcp", g.cfg.Listen)
	}
	if err == nil && admin == nil && g.cfg.Admin != adminNone {
		admin, err = net.Listen("tcp", g.cfg.Admin)
	}
	if err == nil {
		return public, admin, nil
	}
	for _, l := range []net.Listener{public, admin} {
		if l != nil {
			_ = l.Close()
		}
	}
	return nil, nil, err
}

func (g *Gateway) server(base context.Context) *http.Server {
	t := g.cfg.Timeouts
	return &http.Server{
		Handler:           g,
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: t.ReadHeader,
		ReadTimeout:       t.Read,
		IdleTimeout:       t.Idle,
		MaxHeaderBytes:    g.cfg.Limits.HeaderBytes,
		ErrorLog:          g.log.std("server"),
	}
}

func (g *Gateway) adminServer() *http.Server {
	return &http.Server{
		Handler:     g.admin,
		ReadTimeout: 10 * time.Second,
		IdleTimeout: g.cfg.Timeouts.Idle,
		ErrorLog:    g.log.std("admin server"),
	}
}

// drain waits until everything being served has ended, at most as long as the grace period, and then cuts off the rest.
func (g *Gateway) drain(server *http.Server, cut context.CancelFunc) {
	ctx, expire := context.WithCancel(context.Background())
	defer expire()
	timer := g.opts.clk.AfterFunc(g.cfg.Grace, expire)
	defer timer.Stop()
	_ = server.Shutdown(ctx) // it knows nothing of hijacked connections, so the flight is asked next
	select {
	case <-g.flight.landed():
		return
	case <-ctx.Done():
	}
	g.log.log(slog.LevelWarn, "requests cut off", "", slog.Int("count", g.flight.count()))
	cut()
	_ = server.Close()
	last := g.opts.clk.NewTimer(afterCut)
	defer last.Stop()
	select {
	case <-g.flight.landed():
	case <-last.C():
	}
}
