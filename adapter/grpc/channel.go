package cordongrpc

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/balancer/endpointsharding"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/connectivity"

	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/isolation"
)

// patience is how long calls wait for connections that are being made while the only instances that are connected are out of service.
const patience = time.Second

// channel is one channel's balancer. Connections are the affair of the balancer that it embeds, which keeps one to each endpoint by a pick_first of its own; what that says of itself comes by UpdateState.
type channel struct {
	balancer.Balancer
	balancer.ClientConn
	policy *policy
	target string
	host   string // the target's endpoint

	// mu guards what follows. It is taken under the embedded balancer's lock, so that must not be called under it.
	mu       sync.Mutex
	cfg      *policyConfig
	group    *isolation.Group
	balancer *balance.Balancer
	closed   bool
	last     balancer.State // what the embedded balancer said last
	resolved error          // why the resolver found nothing, since it last found something

	// waiting runs while connections are waited for; waited is true from its end until none is being made any more.
	waiting clock.Timer
	waited  bool
}

func newChannel(p *policy, cc balancer.ClientConn, o balancer.BuildOptions) *channel {
	c := &channel{ClientConn: cc, policy: p, target: o.Target.String(), host: o.Target.Endpoint()}
	c.Balancer = endpointsharding.NewBalancer(c, o, balancer.Get(pickfirst.Name).Build, endpointsharding.Options{})
	return c
}

// UpdateClientConnState takes what the resolver says.
func (c *channel) UpdateClientConnState(s balancer.ClientConnState) error {
	cfg, ok := s.BalancerConfig.(*policyConfig)
	if s.BalancerConfig == nil {
		cfg, ok = &policyConfig{}, true
	}
	if !ok {
		return errors.New("cordongrpc: the load balancing config is another policy's")
	}
	if err := c.configure(cfg); err != nil {
		return err
	}
	return c.Balancer.UpdateClientConnState(balancer.ClientConnState{ResolverState: pickfirst.EnableHealthListener(s.ResolverState)})
}

// ResolverError takes why the resolver found nothing. The endpoints that it found before stay.
func (c *channel) ResolverError(err error) {
	c.mu.Lock()
	c.resolved = err
	c.mu.Unlock()
	c.Balancer.ResolverError(err)
}

// configure puts a config in force. What is known of the instances stays as long as the service does.
func (c *channel) configure(cfg *policyConfig) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resolved = nil
	if c.closed || c.cfg != nil && *cfg == *c.cfg {
		return nil
	}
	group, service := c.group, cmp.Or(cfg.Service, c.host)
	if group == nil || group.Service() != service {
		group = c.policy.take(c.target, service)
	}
	b, err := balance.New(group, cfg.options(c.policy.cfg.region))
	if err != nil {
		return err // for a config that was read it does not come to pass
	}
	if c.group != nil && c.group != group {
		c.policy.keep(c.target, c.group)
	}
	c.cfg, c.group, c.balancer = cfg, group, b
	return nil
}

// UpdateState takes what the embedded balancer says of the connections.
func (c *channel) UpdateState(s balancer.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = s
	c.update()
}

// update brings the state of the connections to the group and to gRPC. The caller must hold c.mu.
func (c *channel) update() {
	if c.closed || c.group == nil {
		return
	}
	s, now := c.last, c.policy.clock.Now()
	list, ready, connecting := connections(endpointsharding.ChildStatesFromPicker(s.Picker))
	if c.waits(connecting) {
		if n := c.group.Withhold(now, list); n > 0 {
			c.wait()
			if n == len(ready) {
				s = balancer.State{ConnectivityState: connectivity.Connecting, Picker: base.NewErrPicker(balancer.ErrNoSubConnAvailable)}
			}
		}
	}
	c.group.Update(now, list)
	switch {
	case len(list) == 0:
		s.Picker = base.NewErrPicker(c.nobody())
	case s.ConnectivityState == connectivity.Ready:
		p := &picker{policy: c.policy, balancer: c.balancer, hashKey: c.cfg.HashKey, ready: make(map[*isolation.Member]balancer.Picker, len(ready))}
		for address, child := range ready {
			if m := c.group.Member(address); m != nil { // or the engine was closed
				p.ready[m] = child
			}
		}
		s.Picker = p
	}
	c.ClientConn.UpdateState(s)
}

// connections returns the instances as a group lists them, the pickers of those that are connected, and how many others are about to be.
func connections(children []endpointsharding.ChildState) (list []isolation.Instance, ready map[string]balancer.Picker, connecting int) {
	list = make([]isolation.Instance, 0, len(children))
	ready = make(map[string]balancer.Picker, len(children))
	for _, child := range children {
		if len(child.Endpoint.Addresses) == 0 {
			continue
		}
		in := instance(child.Endpoint)
		switch child.State.ConnectivityState {
		case connectivity.Ready:
			if ready[in.Address] == nil {
				ready[in.Address] = child.State.Picker
			}
		case connectivity.Idle, connectivity.Connecting: // who is idle connects at once
			connecting++
			in.Unreachable = true
		default:
			in.Unreachable = true
		}
		list = append(list, in)
	}
	// The embedded balancer has them in another order every time; of two endpoints with one first address the connected one counts.
	slices.SortFunc(list, func(a, b isolation.Instance) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), compareBool(a.Unreachable, b.Unreachable))
	})
	return slices.CompactFunc(list, func(a, b isolation.Instance) bool { return a.Address == b.Address }), ready, connecting
}

// waits reports whether connections that are being made may be waited for. A channel that was idle may be connected to a sick instance first: without the others there, it would be taken for all there is.
func (c *channel) waits(connecting int) bool {
	if connecting == 0 {
		c.stop()
		c.waited = false
	}
	return connecting > 0 && !c.waited
}

// wait sees to it that the wait ends.
func (c *channel) wait() {
	if c.waiting == nil {
		c.waiting = c.policy.clock.AfterFunc(patience, c.tired)
	}
}

// tired ends the wait.
func (c *channel) tired() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting != nil { // it is not over yet
		c.waiting, c.waited = nil, true
		c.update()
	}
}

// stop ends a wait that is not needed any more.
func (c *channel) stop() {
	if c.waiting != nil {
		c.waiting.Stop()
		c.waiting = nil
	}
}

// nobody says why there is no endpoint.
func (c *channel) nobody() error {
	if c.resolved != nil {
		return fmt.Errorf("cordongrpc: there is no endpoint: the name resolver failed: %w", c.resolved)
	}
	return errors.New("cordongrpc: there is no endpoint: the name resolver found none")
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// Close ends the channel's connections. What is known of the instances is kept for a while.
func (c *channel) Close() {
	c.Balancer.Close()
	c.mu.Lock()
	group, closed := c.group, c.closed
	c.closed = true
	c.stop()
	c.mu.Unlock()
	if !closed && group != nil {
		c.policy.keep(c.target, group)
	}
}
