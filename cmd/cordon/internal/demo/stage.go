package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
)

// A service is one upstream with the load that calls it through the gateway.
type service struct {
	*upstream
	load  *load
	meter meter
}

// A stage is everything the chapters play on: services, the gateway before them, the loads, and the rule document.
type stage struct {
	screen  *screen.Screen
	clock   clock.Clock
	started time.Duration
	journal *journal
	front   *front
	store   ruleStore
	rules   rules

	search, pay, report, cart *service
	others                    *load // of the cart's users but one
	stock                     *pool

	// loading ends the loads; playing waits for them and for the table.
	loading context.CancelFunc
	playing sync.WaitGroup

	chapter int
	summary Summary
}

// newStage starts services, gateway and (paused) loads. close ends it, also when newStage failed.
func newStage(ctx context.Context, scr *screen.Screen, opts Options) (*stage, error) {
	clk := clock.System()
	s := &stage{
		screen:  scr,
		clock:   clk,
		started: clk.Now(),
		journal: newJournal(clk),
		rules:   rules{searchLimit: 200, payThreshold: 0.5, reportLimit: 20, cartLimit: 50, cartBurst: 10, slowStart: 3 * time.Second},
		loading: func() {},
	}
	for _, service := range []struct {
		name string
		into **service
	}{{"search", &s.search}, {"pay", &s.pay}, {"report", &s.report}, {"cart", &s.cart}} {
		up, err := startUpstream(service.name, clk)
		if err != nil {
			return s, err
		}
		*service.into = newService(up)
	}
	var err error
	if s.stock, err = startPool(clk); err != nil {
		return s, err
	}
	if err := s.openStore(ctx, opts); err != nil {
		return s, err
	}
	front, err := startFront(s)
	if err != nil {
		return s, err
	}
	s.front = front
	if err := s.stock.connect(clk, front.engine.NewGroup(poolName)); err != nil {
		return s, err
	}
	s.startLoads(ctx)
	return s, nil
}

func newService(up *upstream) *service { return &service{upstream: up} }

// openStore stores the first rule document.
func (s *stage) openStore(ctx context.Context, opts Options) error {
	if opts.Nacos == "" {
		store, err := newFileStore()
		if err != nil {
			return err
		}
		s.store = store
		return store.overwrite(ctx, s.rules.document())
	}
	store, err := newNacosStore(opts.Nacos)
	if err != nil {
		return err
	}
	s.store = store
	return store.begin(ctx, s.rules.document())
}

// services returns all of them.
func (s *stage) services() []*service { return []*service{s.search, s.pay, s.report, s.cart} }

// loads returns all loads.
func (s *stage) loads() []*load {
	var all []*load
	for _, service := range s.services() {
		all = append(all, service.load)
	}
	if s.others != nil {
		all = append(all, s.others)
	}
	if s.stock != nil {
		for _, c := range s.stock.callers() {
			all = append(all, c.load)
		}
	}
	return all
}

// startLoads starts all loads, at rate 0, and the table that shows them.
func (s *stage) startLoads(ctx context.Context) {
	ctx, s.loading = context.WithCancel(ctx)
	for _, service := range s.services() {
		service.meter.rate(s.clock.Now(), tally{})
		service.load = &load{url: s.front.url + "/" + service.name, client: newClient(newTransport()), clock: s.clock}
	}
	s.cart.load.caller = func(int64) string { return hotUser }
	s.others = &load{url: s.cart.load.url, client: newClient(newTransport()), clock: s.clock, caller: otherUser}
	for _, load := range s.loads() {
		context.AfterFunc(ctx, load.client.CloseIdleConnections)
		s.playing.Go(func() { load.run(ctx) })
	}
	s.playing.Go(func() { s.show(ctx) })
}

// stop ends the loads and waits until every call has been answered.
func (s *stage) stop() {
	s.loading()
	s.playing.Wait()
	s.screen.Clear()
}

// close ends everything that newStage started, in the order in which a call passes through.
func (s *stage) close() error {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var faults []error
	if s.front != nil {
		faults = append(faults, s.front.close())
	}
	for _, service := range s.services() {
		if service == nil {
			continue
		}
		if service.load != nil {
			service.load.client.CloseIdleConnections()
		}
		faults = append(faults, service.close(ctx))
	}
	if s.others != nil {
		s.others.client.CloseIdleConnections()
	}
	if s.stock != nil {
		faults = append(faults, s.stock.close(ctx))
	}
	if s.store != nil {
		faults = append(faults, s.store.close(ctx))
	}
	return errors.Join(faults...)
}

// title opens a chapter.
func (s *stage) title(name, about string) {
	s.chapter++
	s.screen.Printf("\n%s\n   %s", s.screen.Paint(screen.Bold, fmt.Sprintf("%d  %s", s.chapter, name)), s.screen.Paint(screen.Dim, about))
}

// shows is a line of the chapter's rule as it stands in the document.
func (s *stage) shows(rule string, args ...any) {
	s.screen.Printf("   %s", s.screen.Paint(screen.Cyan, fmt.Sprintf(rule, args...)))
}

// say shows what happens just now.
func (s *stage) say(format string, args ...any) {
	s.screen.Printf("   %s  %s", s.screen.Paint(screen.Dim, s.stamp()), fmt.Sprintf(format, args...))
}

// stamp is the time since the start.
func (s *stage) stamp() string { return fmt.Sprintf("%5.1f s", (s.clock.Now() - s.started).Seconds()) }

// let gives the traffic some time. It returns the context's error if that ended first.
func (s *stage) let(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// await waits until condition holds, for at most d, and reports whether it did in time.
func (s *stage) await(ctx context.Context, d time.Duration, condition func() bool) (bool, error) {
	for deadline := s.clock.Now() + d; ; {
		if condition() {
			return true, nil
		}
		if s.clock.Now() >= deadline {
			return false, nil
		}
		if err := s.let(ctx, 5*time.Millisecond); err != nil {
			return false, err
		}
	}
}

// settle ends the service's load and waits until no call is on its way any more, so that books can be compared.
func (s *stage) settle(ctx context.Context, service *service) error {
	return s.settleLoads(ctx, service.name, service.load)
}

// settleLoads does so for several loads of what the engine knows by that name, if it does.
func (s *stage) settleLoads(ctx context.Context, name string, loads ...*load) error {
	for _, l := range loads {
		l.perSecond.Store(0)
	}
	settled, err := s.await(ctx, 12*time.Second, func() bool {
		return s.journal.idle(name) && !slices.ContainsFunc(loads, func(l *load) bool {
			t := l.tally()
			return t.Sent != t.answered()
		})
	})
	if err == nil && !settled {
		s.found(false, "calls to %s were not answered within 12 s", name)
	}
	return err
}

// get makes one call to a service through the gateway, for its answer to be shown.
func (s *stage) get(ctx context.Context, service *service) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, service.load.url, nil)
	if err != nil {
		return nil, err
	}
	return service.load.client.Do(request)
}
