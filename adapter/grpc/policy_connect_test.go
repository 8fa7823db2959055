package cordongrpc_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/adapter/grpc"
	"github.com/cordon-go/cordon/adapter/grpc/testdata/shop"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/rule"
)

// dialler dials for a channel, and lets connections to some wait.
type dialler struct {
	mu   sync.Mutex
	held map[string]chan struct{}
}

func (d *dialler) dial(ctx context.Context, address string) (net.Conn, error) {
	d.mu.Lock()
	held := d.held[address]
	d.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// hold lets connections to a server wait until the function that it returns is called.
func (d *dialler) hold(address string) (release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held == nil {
		d.held = map[string]chan struct{}{}
	}
	c := make(chan struct{})
	d.held[address] = c
	return sync.OnceFunc(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.held, address)
		close(c)
	})
}

// longQuarantine is a rule under which nobody comes back in time.
func longQuarantine() isolation.Rule {
	r := sickly()
	r.Base = time.Hour
	return r
}

// redial closes the channel and makes another, as gRPC does with balancers when a channel becomes idle.
func (f *fleet) redial(config string, opts ...grpc.DialOption) {
	require.NoError(f, f.conn.Close())
	f.dial(serviceConfig(f.policy, config), opts...)
}

// A channel that was idle and is connected to the one in quarantine first lets its calls wait for the others, and the quarantine goes on.
func TestPolicyWaitsForConnections(t *testing.T) {
	var d dialler
	dialling := grpc.WithContextDialer(d.dial)
	f := newFleet(t, 3, `{}`, isolating(longQuarantine()), dialling)
	f.connected()
	f.nodes[1].code.Store(uint32(codes.Unavailable))
	f.until(1, isolation.Quarantined)

	release := d.hold(f.nodes[0].address)
	defer release()
	releaseOther := d.hold(f.nodes[2].address)
	defer releaseOther()
	f.redial(`{}`, dialling)
	before := f.nodes[1].seen.Load()
	called := make(chan error, 1)
	go func() { called <- f.buy() }()
	eventually(t, func() bool { return f.conn.GetState() == connectivity.Connecting })
	release()
	require.NoError(t, <-called)
	require.Zero(t, f.calls(50))
	releaseOther()
	f.still(1, isolation.Quarantined)
	require.Equal(t, before, f.nodes[1].seen.Load(), "the quarantine is over too early")
}

// still waits until everybody is connected, and holds that a server stands so then.
func (f *fleet) still(i int, s isolation.State) {
	f.Helper()
	f.connected()
	require.Equal(f, s, f.state(i))
}

// The wait has an end: if the others cannot be connected to, the sick one is all there is.
func TestPolicyWaitsNoLongerThanThat(t *testing.T) {
	var d dialler
	dialling := grpc.WithContextDialer(d.dial)
	f := newFleet(t, 3, `{}`, isolating(longQuarantine()), dialling)
	f.connected()
	f.nodes[1].code.Store(uint32(codes.Unavailable))
	f.until(1, isolation.Quarantined)
	f.nodes[1].code.Store(0)
	defer d.hold(f.nodes[0].address)()
	defer d.hold(f.nodes[2].address)()
	f.redial(`{}`, dialling)
	require.NoError(t, f.buy())
	require.Equal(t, isolation.Held, f.state(1))
	require.Zero(t, f.calls(10))
}

// A pin by hand outlives it too.
func TestPolicyKeepsPins(t *testing.T) {
	var d dialler
	dialling := grpc.WithContextDialer(d.dial)
	f := newFleet(t, 3, `{}`, isolating(longQuarantine()), dialling)
	f.connected()
	require.NoError(t, f.eng.PinInstance("shop", f.nodes[1].address, false, 0))
	release := d.hold(f.nodes[0].address)
	defer release()
	releaseOther := d.hold(f.nodes[2].address)
	defer releaseOther()
	f.redial(`{}`, dialling)
	called := make(chan error, 1)
	go func() { called <- f.buy() }()
	eventually(t, func() bool { return f.conn.GetState() == connectivity.Connecting })
	release()
	releaseOther()
	require.NoError(t, <-called)
	f.still(1, isolation.PinnedOut)
}

// Servers that say by grpc.health.v1 that they do not serve get no calls.
func TestPolicyRespectsHealth(t *testing.T) {
	f := newFleet(t, 3, `{}`, isolating(sickly()))
	require.NoError(t, f.conn.Close())
	f.dial(fmt.Sprintf(`{"loadBalancingConfig":[{%q:{}}],"healthCheckConfig":{"serviceName":"shop"}}`, f.policy))
	for _, n := range f.nodes {
		n.health.SetServingStatus("shop", grpc_health_v1.HealthCheckResponse_SERVING)
	}
	f.connected()
	f.nodes[2].health.SetServingStatus("shop", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	eventually(t, func() bool { return f.state(2) == isolation.Unreachable })
	requireShares(t, []int{150, 150, 0}, f.shares(300))
	f.nodes[2].health.SetServingStatus("shop", grpc_health_v1.HealthCheckResponse_SERVING)
	eventually(t, func() bool { return f.state(2) == isolation.InService })
	requireShares(t, []int{100, 100, 100}, f.shares(300))
}

// Without any endpoint calls fail at once, and say why.
func TestPolicyWithoutEndpoints(t *testing.T) {
	f := newFleet(t, 2, `{}`, isolating(sickly()))
	f.connected()
	f.resolver.CC().ReportError(errors.New("no such name"))
	require.Zero(t, f.calls(10), "what was found before stays")
	f.resolver.UpdateState(resolver.State{})
	err := f.buy()
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorContains(t, err, "the name resolver found none")
	f.resolver.CC().ReportError(errors.New("no such name"))
	eventually(t, func() bool {
		err := f.buy()
		return status.Code(err) == codes.Unavailable && strings.Contains(err.Error(), "the name resolver failed: no such name")
	})
	f.resolver.UpdateState(f.endpoints(f.nodes...))
	eventually(t, func() bool { return f.buy() == nil })
}

// Endpoints of several addresses are known by the first one, whichever is connected to, and twice the same endpoint is one.
func TestPolicyOfSeveralAddresses(t *testing.T) {
	f := newFleet(t, 3, `{}`, isolating(sickly()))
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nowhere := resolver.Address{Addr: gone.Addr().String()}
	require.NoError(t, gone.Close())
	at := func(n *node) resolver.Address { return resolver.Address{Addr: n.address} }
	f.resolver.UpdateState(resolver.State{Endpoints: []resolver.Endpoint{
		{Addresses: []resolver.Address{nowhere, at(f.nodes[0])}},
		{Addresses: []resolver.Address{at(f.nodes[1])}},
		{Addresses: []resolver.Address{at(f.nodes[1])}},                 // the same
		{Addresses: []resolver.Address{at(f.nodes[2]), nowhere}},        // up
		{Addresses: []resolver.Address{at(f.nodes[2]), at(f.nodes[0])}}, // another endpoint with the same first address
		{},
	}})
	f.conn.Connect()
	eventually(t, func() bool { return f.buy() == nil && len(f.snapshot().Instances) == 3 })
	eventually(t, func() bool {
		for _, in := range f.snapshot().Instances {
			if in.State != isolation.InService {
				return false
			}
		}
		return true
	})
	requireShares(t, []int{100, 100, 100}, f.shares(300))
	f.nodes[0].code.Store(uint32(codes.Internal))
	eventually(t, func() bool {
		_ = f.buy()
		for _, in := range f.snapshot().Instances {
			if in.Address == nowhere.Addr {
				return in.State == isolation.Quarantined
			}
		}
		return false
	})
}

// Weights and regions may change from one list to the next.
func TestPolicyOfChangedAttributes(t *testing.T) {
	f := newFleet(t, 4, `{"region":"eu"}`, isolating(sickly()))
	f.connected()
	weighted := func(weights ...float64) resolver.State {
		s := f.endpoints(f.nodes...)
		for i, w := range weights {
			s.Endpoints[i] = cordongrpc.EndpointWeight(s.Endpoints[i], w)
		}
		return s
	}
	f.resolver.UpdateState(weighted(3, 1, 1, 1))
	requireShares(t, []int{300, 100, 100, 100}, f.shares(600))
	f.resolver.UpdateState(weighted(1, 1, 1, 3))
	requireShares(t, []int{100, 100, 100, 300}, f.shares(600))
	f.nodes[0].region, f.nodes[1].region, f.nodes[2].region, f.nodes[3].region = "eu", "eu", "us", "us"
	f.resolver.UpdateState(f.endpoints(f.nodes...))
	requireShares(t, []int{150, 150, 0, 0}, f.shares(300))
	f.nodes[1].region, f.nodes[2].region = "us", "eu"
	f.resolver.UpdateState(f.endpoints(f.nodes...))
	requireShares(t, []int{150, 0, 150, 0}, f.shares(300))
}

// Two channels to one target judge apart, and each finds a state of its own again.
func TestPolicyOfTwoChannels(t *testing.T) {
	f := newFleet(t, 3, `{}`, isolating(longQuarantine()))
	f.connected()
	f.nodes[1].code.Store(uint32(codes.Unavailable))
	f.until(1, isolation.Quarantined)
	first := f.conn
	f.dial(serviceConfig(f.policy, `{}`))
	f.until(1, isolation.Quarantined)
	groups := f.eng.Groups()
	require.Len(t, groups, 2)
	require.NoError(t, first.Close())
	require.Zero(t, f.calls(30))
	require.NoError(t, f.conn.Close())
	f.dial(serviceConfig(f.policy, `{}`))
	f.dial(serviceConfig(f.policy, `{}`))
	require.Zero(t, f.calls(30))
	require.ElementsMatch(t, groups, f.eng.Groups())
}

// A server that takes no more streams is sick as well, though no call is sent to it.
func TestPolicyOfAServerWithoutStreams(t *testing.T) {
	f := newFleet(t, 2, `{}`, isolating(sickly()))
	f.join(grpc.MaxConcurrentStreams(1))
	f.resolver.UpdateState(f.endpoints(f.nodes...))
	f.connected()
	f.calls(30)
	f.nodes[2].hang.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := f.nodes[2].seen.Load()
	for range 3 { // one of them takes the only stream, and never ends
		go func() { _, _ = f.Buy(ctx, &shop.Order{}) }()
	}
	eventually(t, func() bool { return f.nodes[2].seen.Load() == seen+1 })
	eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, _ = f.Buy(ctx, &shop.Order{})
		return f.state(2) == isolation.Quarantined
	})
	require.Equal(t, seen+1, f.nodes[2].seen.Load())
}

// A probe that lands on a stream that never ends is given up after a while, and another call takes its place.
func TestPolicyLeasesProbes(t *testing.T) {
	r := sickly()
	r.Base, r.ProbeLease = 100*time.Millisecond, 100*time.Millisecond
	f := newFleet(t, 3, `{}`, isolating(r))
	f.connected()
	f.nodes[1].code.Store(uint32(codes.Unavailable))
	f.until(1, isolation.Quarantined)
	f.nodes[1].code.Store(0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	eventually(t, func() bool { return f.state(1) == isolation.Probing })
	eventually(t, func() bool { // until a stream is the probe
		with, picked := cordongrpc.WithPicked(ctx)
		_, err := f.Chat(with)
		require.NoError(t, err)
		return picked.Addresses()[0] == f.nodes[1].address
	})
	f.until(1, isolation.InService)
}

// Observers of decisions may ask the engine whatever they like, and change its rules.
func TestPolicyWithCuriousObservers(t *testing.T) {
	var eng atomic.Pointer[cordon.Engine]
	var told atomic.Int64
	rules := isolating(sickly())
	f := newFleetOf(t, newEngine(t, rules, cordon.WithObserver(cordon.Observer{Isolation: func(ev cordon.IsolationEvent) {
		told.Add(1)
		e := eng.Load()
		if e == nil {
			return
		}
		_ = e.Snapshot()
		_ = e.PinInstance(ev.Service, "nowhere", true, 0)
		_ = e.UnpinInstance(ev.Service, "nowhere")
		other := rules
		other.Isolation = append(other.Isolation[:1:1], isolation.Rule{ID: "other", Service: rule.Name("other"), MaxShare: .3 + float64(told.Load()%5)/10})
		_, _ = e.Apply(other)
		for _, g := range e.Groups() {
			_ = g.Snapshot(e.Clock().Now())
		}
	}})), 3, `{}`)
	eng.Store(f.eng)
	f.connected()
	for range 3 {
		f.nodes[1].code.Store(uint32(codes.Unavailable))
		f.until(1, isolation.Quarantined)
		f.resolver.UpdateState(f.endpoints(f.nodes[1])) // which holds it
		eventually(t, func() bool { return len(f.snapshot().Instances) == 1 })
		f.nodes[1].code.Store(0)
		_ = f.calls(10)
		f.resolver.UpdateState(f.endpoints(f.nodes...))
		eventually(t, func() bool { return len(f.snapshot().Instances) == 3 })
		f.until(1, isolation.InService)
	}
	require.NotZero(t, told.Load())
	require.NoError(t, f.conn.Close())
}

// Channels go on when the engine is closed before them, with everybody in service; new ones too.
func TestPolicyAfterTheEngine(t *testing.T) {
	f := newFleet(t, 3, `{}`, isolating(longQuarantine()))
	f.connected()
	f.nodes[1].code.Store(uint32(codes.Unavailable))
	f.until(1, isolation.Quarantined)
	require.NoError(t, f.eng.Close())
	f.nodes[1].code.Store(0)
	require.Zero(t, f.calls(30))
	require.NoError(t, f.conn.Close())
	f.dial(serviceConfig(f.policy, `{}`))
	require.Zero(t, f.calls(30))
}
