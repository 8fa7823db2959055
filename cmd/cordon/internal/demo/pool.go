package demo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/isolation"
)

const (
	poolName  = "stock"
	poolSize  = 5
	fairShare = 1.0 / poolSize
	stockRate = 200

	guardedCaller = "guarded"
	plainCaller   = "plain"
)

// A pool is a service of several instances, without a gateway: two callers choose an instance for every call, at the same rate and at the same time.
// One of them follows the isolation rule, the other has none.
type pool struct {
	instances      []*upstream
	guarded, plain *caller
}

// startPool starts the instances; connect gives them their callers.
func startPool(clk clock.Clock) (*pool, error) {
	p := &pool{}
	for i := range poolSize {
		u, err := startUpstream(fmt.Sprintf("%s-%d", poolName, i+1), clk)
		if err != nil {
			return p, err
		}
		p.instances = append(p.instances, u)
	}
	return p, nil
}

// connect makes the callers: guarded by a group that follows the engine's rules, plain by one that has no rule.
func (p *pool) connect(clk clock.Clock, guarded *isolation.Group) error {
	bare, err := isolation.NewGroup(poolName, isolation.Config{Now: clk.Now()})
	if err != nil {
		return fmt.Errorf("starting the callers of %s: %w", poolName, err)
	}
	if p.plain, err = newCaller(plainCaller, clk, bare, p.instances); err != nil {
		return err
	}
	p.guarded, err = newCaller(guardedCaller, clk, guarded, p.instances)
	return err
}

// callers returns those that there are.
func (p *pool) callers() []*caller {
	var all []*caller
	for _, c := range []*caller{p.guarded, p.plain} {
		if c != nil {
			all = append(all, c)
		}
	}
	return all
}

// send sets the rate of both callers.
func (p *pool) send(perSecond int64) {
	for _, c := range p.callers() {
		c.load.perSecond.Store(perSecond)
	}
}

// close stops the instances. The loads must have ended.
func (p *pool) close(ctx context.Context) error {
	for _, c := range p.callers() {
		c.load.client.CloseIdleConnections()
		c.group.Close()
	}
	var faults []error
	for _, u := range p.instances {
		faults = append(faults, u.close(ctx))
	}
	return errors.Join(faults...)
}

// A caller is a load whose calls go to the instances of a pool: it is the transport of the load's client.
type caller struct {
	*http.Transport
	name     string
	clock    clock.Clock
	group    *isolation.Group
	balancer *balance.Balancer
	load     *load
	// hosts says where the instances listen, by address.
	hosts map[string]string

	// mu guards the books: when every instance was picked, and what became of the calls to it.
	mu    sync.Mutex
	books map[string]*tally
	picks map[string][]time.Duration

	// meters belong to the goroutine that shows the table.
	meters map[string]*meter
}

func newCaller(name string, clk clock.Clock, group *isolation.Group, instances []*upstream) (*caller, error) {
	balancer, err := balance.New(group, balance.Options{})
	if err != nil {
		return nil, fmt.Errorf("starting the callers of %s: %w", poolName, err)
	}
	c := &caller{
		Transport: newTransport(), name: name, clock: clk, group: group, balancer: balancer,
		hosts: map[string]string{}, books: map[string]*tally{}, picks: map[string][]time.Duration{}, meters: map[string]*meter{},
	}
	var list []isolation.Instance
	for _, u := range instances {
		list = append(list, isolation.Instance{Address: u.name})
		c.hosts[u.name], c.books[u.name], c.meters[u.name] = u.addr, &tally{}, &meter{}
		c.meters[u.name].rate(clk.Now(), tally{})
	}
	group.Update(clk.Now(), list)
	c.load = &load{url: "http://" + poolName + "/", client: newClient(c), clock: clk}
	return c, nil
}

// RoundTrip sends the call to the instance that the balancer picks, and reports what came of it.
func (c *caller) RoundTrip(request *http.Request) (*http.Response, error) {
	now := c.clock.Now()
	call, err := c.balancer.Pick(now, balance.Request{})
	if err != nil {
		return nil, err
	}
	address := call.Address()
	c.pick(address, now)
	request = request.Clone(request.Context())
	request.URL.Host = c.hosts[address]
	request.Header.Set(calledBy, c.name)
	response, err := c.Transport.RoundTrip(request)
	switch {
	case err != nil:
		call.End(c.clock.Now(), isolation.Failure)
		c.note(address, func(t *tally) { t.Broken++ })
	case response.StatusCode >= http.StatusInternalServerError:
		call.End(c.clock.Now(), isolation.Failure)
		c.note(address, func(t *tally) { t.Failed++ })
	default:
		call.End(c.clock.Now(), isolation.Success)
		c.note(address, func(t *tally) { t.OK++ })
	}
	return response, err
}

func (c *caller) pick(address string, now time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.books[address].Sent++
	c.picks[address] = note(c.picks[address], now)
}

// picked returns when the instance was picked lately, sorted.
func (c *caller) picked(address string) []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	times := slices.Clone(c.picks[address])
	slices.Sort(times)
	return times
}

func (c *caller) note(address string, change func(*tally)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c.books[address])
}

// rate returns how many calls to the instance there were a second, of each kind, over about the last second.
func (c *caller) rate(now time.Duration, address string) tally {
	c.mu.Lock()
	t := *c.books[address]
	c.mu.Unlock()
	return c.meters[address].rate(now, t)
}
