package cordongrpc

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/endpointsharding"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/connectivity"

	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/isolation"
)

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

// configure puts a config in force. What is known of the instances stays as long as the service does.
func (c *channel) configure(cfg *policyConfig) error {
	c.mu.Lock()
	defer c.mu.Unlock()
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
	if c.closed || c.group == nil {
		return
	}
	children := endpointsharding.ChildStatesFromPicker(s.Picker)
	list := make([]isolation.Instance, 0, len(children))
	ready := make(map[string]balancer.Picker, len(children))
	for _, child := range children {
		if len(child.Endpoint.Addresses) == 0 {
			continue
		}
		in := instance(child.Endpoint)
		if child.State.ConnectivityState != connectivity.Ready {
			in.Unreachable = true
		} else if ready[in.Address] == nil {
			ready[in.Address] = child.State.Picker
		}
		list = append(list, in)
	}
	// The embedded balancer has them in another order every time; of two endpoints with one first address the connected one counts.
	slices.SortFunc(list, func(a, b isolation.Instance) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), compareBool(a.Unreachable, b.Unreachable))
	})
	c.group.Update(c.policy.clock.Now(), list)
	if s.ConnectivityState == connectivity.Ready {
		s.Picker = &picker{policy: c.policy, balancer: c.balancer, hashKey: c.cfg.HashKey, ready: ready}
	}
	c.ClientConn.UpdateState(s)
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
	defer c.mu.Unlock()
	if !c.closed && c.group != nil {
		c.policy.keep(c.target, c.group)
	}
	c.closed = true
}
