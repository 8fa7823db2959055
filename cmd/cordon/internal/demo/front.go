package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/gateway"
)

// A front is the gateway before the services.
type front struct {
	engine *cordon.Engine
	// url is where callers call it, admin the address of its administration.
	url, admin string

	stop  context.CancelFunc
	ended chan error
}

// startFront starts a gateway that takes its rules from the stage's store and tells the stage's journal what it does.
func startFront(s *stage) (*front, error) {
	config := gateway.Config{
		Grace: 5 * time.Second,
	}
	for _, service := range s.services() {
		config.Routes = append(config.Routes, gateway.Route{
			Name: service.name, Prefix: "/" + service.name, Upstreams: []gateway.Upstream{{URL: service.upstream.url()}},
		})
	}
	public, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting the gateway: %w", err)
	}
	admin, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the gateway: %w", err), public.Close())
	}
	options := append(s.store.watchedBy(&config),
		gateway.WithClock(s.clock),
		gateway.WithEngine(cordon.WithObserver(s.journal.observer()), cordon.WithChecker(s.journal)),
		gateway.WithListener(public), gateway.WithAdminListener(admin))
	g, err := gateway.New(config, options...)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting the gateway: %w", err), public.Close(), admin.Close())
	}
	if len(g.Engine().Rules().Flow) == 0 {
		return nil, errors.Join(fmt.Errorf("starting the gateway: its rules are not in force: %v", g.Status().NotReady),
			g.Close(), public.Close(), admin.Close())
	}
	// Not bound to the context of the demo: what calls the gateway has to end first.
	ctx, stop := context.WithCancel(context.Background())
	f := &front{
		engine: g.Engine(), url: "http://" + public.Addr().String(), admin: admin.Addr().String(),
		stop: stop, ended: make(chan error, 1),
	}
	go func() { f.ended <- g.Run(ctx) }()
	return f, nil
}

// close ends the gateway when it has answered what it was asked.
func (f *front) close() error {
	f.stop()
	if err := <-f.ended; err != nil {
		return fmt.Errorf("stopping the gateway: %w", err)
	}
	return nil
}

// sourceError is what is wrong with the rule document right now, "" if nothing is.
func (f *front) sourceError() string {
	for _, source := range f.engine.Snapshot().Sources {
		if source.LastError != "" {
			return source.LastError
		}
	}
	return ""
}
