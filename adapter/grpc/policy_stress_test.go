package cordongrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"

	"github.com/cordon-go/cordon/adapter/grpc"
	"github.com/cordon-go/cordon/adapter/grpc/testdata/shop"
	"github.com/cordon-go/cordon/isolation"
)

// load makes calls from several goroutines until it is ended; then nothing is in flight, and it returns what went wrong.
func (f *fleet) load(callers int) (end func() []error) {
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		errs []error
		over atomic.Bool
	)
	f.Cleanup(func() { over.Store(true) })
	for i := range callers {
		all.Go(func() {
			for n := i; !over.Load(); n++ {
				if err := f.one(n); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	return func() []error {
		over.Store(true)
		all.Wait()
		for _, g := range f.eng.Groups() {
			for _, in := range g.Snapshot(f.eng.Clock().Now()).Instances {
				require.Zero(f, in.InFlight, in.Address)
			}
		}
		return errs
	}
}

// one makes one call of some kind.
func (f *fleet) one(n int) error {
	ctx := metadata.AppendToOutgoingContext(f.Context(), "x-user", fmt.Sprint(n%17))
	if n%3 == 0 {
		ctx, _ = cordongrpc.WithPicked(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if n%5 != 0 {
		_, err := f.Buy(ctx, &shop.Order{})
		return err
	}
	s, err := f.Chat(ctx)
	if err == nil {
		if err = s.CloseSend(); err == nil {
			_, err = s.Recv()
		}
	}
	if errors.Is(err, io.EOF) || status.Code(err) == codes.Unimplemented { // nodes do not chat, which they say
		return nil
	}
	return err
}

// Endpoints come and go a thousand times under load: no call fails but those under way to who goes, which ends them well, and what is known of a sick one stays.
func TestPolicyUnderResolverChurn(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 200
	}
	f := newFleet(t, 5, `{"strategy":"leastInFlight"}`, isolating(longQuarantine()))
	f.connected()
	f.nodes[4].code.Store(uint32(codes.Unavailable))
	f.until(4, isolation.Quarantined)
	sick := f.nodes[4].seen.Load()
	end := f.load(4)
	for range rounds {
		nodes := []*node{f.nodes[0], f.nodes[1]} // they stay
		for _, n := range f.nodes[2:] {
			if rand.IntN(2) == 0 {
				nodes = append(nodes, n)
			}
		}
		rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
		f.resolver.UpdateState(f.endpoints(nodes...))
		require.NoError(t, f.buy())
	}
	require.Empty(t, end())
	require.Equal(t, sick, f.nodes[4].seen.Load())
	f.resolver.UpdateState(f.endpoints(f.nodes...))
	f.connected()
	require.Equal(t, isolation.Quarantined, f.state(4))
	require.Len(t, f.eng.Groups(), 1)
}

// The config may change under load: strategies, regions, services, other policies and back.
func TestPolicyUnderConfigSwitches(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	f := newFleet(t, 3, `{}`, isolating(sickly()))
	f.connected()
	configs := []string{
		serviceConfig(f.policy, `{}`), serviceConfig(f.policy, `{"strategy":"random"}`), serviceConfig(f.policy, `{"strategy":"leastInFlight","region":"eu"}`),
		serviceConfig(f.policy, `{"strategy":"consistentHash","hashKey":"x-user"}`), serviceConfig(f.policy, `{"service":"other"}`),
		`{"loadBalancingConfig":[{"round_robin":{}}]}`, `{"loadBalancingConfig":[{"pick_first":{}}]}`,
	}
	end := f.load(4)
	for i := range rounds {
		s := f.endpoints(f.nodes...)
		s.ServiceConfig = f.resolver.CC().ParseServiceConfig(configs[rand.IntN(len(configs))])
		require.NoError(t, s.ServiceConfig.Err)
		f.resolver.UpdateState(s)
		if i%10 == 0 {
			_ = f.buy() // so that pending balancers come into use
		}
	}
	require.Empty(t, end())
	require.LessOrEqual(t, len(f.eng.Groups()), 6, "one for each of two services, and more only while older balancers have theirs yet")
}

// A channel may be closed, and be idle, while calls are picked; nothing is left in flight.
func TestPolicyIsClosedUnderLoad(t *testing.T) {
	f := newFleet(t, 3, `{}`, isolating(sickly()))
	for range 20 {
		f.dial(serviceConfig(f.policy, `{}`))
		end := f.load(4)
		require.NoError(t, f.buy())
		require.NoError(t, f.conn.Close())
		for _, err := range end() {
			require.Equal(t, codes.Canceled, status.Code(err), err)
		}
	}
	require.Len(t, f.eng.Groups(), 1)
}

// Everything at once; nothing of it may be lost, or be left.
func TestPolicyStress(t *testing.T) {
	f := newFleet(t, 6, `{}`, isolating(sickly()))
	f.connected()
	end := f.load(4)
	var others sync.WaitGroup
	var over atomic.Bool
	defer over.Store(true)
	others.Go(func() {
		for i := 0; !over.Load(); i++ {
			n := f.nodes[rand.IntN(3)]
			n.code.Store(uint32([]codes.Code{codes.OK, codes.Unavailable, codes.InvalidArgument}[rand.IntN(3)]))
			_, _ = f.eng.Apply(isolating([]isolation.Rule{sickly(), longQuarantine(), {Service: sickly().Service, Shadow: true}}[rand.IntN(3)]))
			_ = f.eng.PinInstance("shop", n.address, i%2 == 0, 0)
			_ = f.eng.UnpinInstance("shop", n.address)
			_ = f.eng.Snapshot()
		}
	})
	rounds := 200
	if testing.Short() {
		rounds = 50
	}
	for i := range rounds {
		s := f.endpoints(f.nodes[:3+rand.IntN(4)]...)
		for j := range s.Endpoints {
			s.Endpoints[j] = cordongrpc.EndpointWeight(cordongrpc.EndpointRegion(s.Endpoints[j], fmt.Sprint(rand.IntN(3))), rand.Float64())
		}
		s.ServiceConfig = f.resolver.CC().ParseServiceConfig(serviceConfig(f.policy, fmt.Sprintf(`{"region":"%d"}`, rand.IntN(3))))
		f.resolver.UpdateState(s)
		f.nodes[5].stop()
		f.nodes[5].serve(t, f.nodes[5].address)
		if i%20 == 0 {
			f.resolver.CC().ReportError(errors.New("no answer"))
			f.conn.ResetConnectBackoff()
		}
		_ = f.buy()
	}
	over.Store(true)
	others.Wait()
	for _, err := range end() {
		require.Contains(t, []codes.Code{codes.Unavailable, codes.InvalidArgument}, status.Code(err), err) // of the sick, and of the one that is stopped all the time
	}
}

// A thousand instances are no trouble: all are connected to, and have their share.
func TestPolicyOfAThousand(t *testing.T) {
	n := 1000
	if raceEnabled {
		n = 250
	}
	w := newWorld(t, nil)
	eng := newEngine(t, isolating(sickly()))
	f := newFleetOf(t, eng, 0, `{}`, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return w.listen.DialContext(ctx) }))
	var s resolver.State
	for i := range n {
		s.Endpoints = append(s.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: fmt.Sprintf("10.0.%d.%d:80", i/250, i%250)}}})
	}
	f.resolver.InitialState(s)
	f.conn.Connect()
	eventually(t, func() bool {
		services := eng.Snapshot().Services
		if len(services) == 0 || len(services[0].Instances) != n {
			return false
		}
		for _, in := range services[0].Instances {
			if in.State != isolation.InService {
				return false
			}
		}
		return true
	})
	require.Zero(t, f.calls(n))
	for _, in := range f.snapshot().Instances {
		require.EqualValues(t, 1, in.Calls, in.Address)
	}
}
