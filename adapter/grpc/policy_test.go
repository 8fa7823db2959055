package cordongrpc_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/adapter/grpc"
	"github.com/cordon-go/cordon/adapter/grpc/testdata/shop"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/rule"
)

// node is a server of a fleet.
type node struct {
	shop.UnimplementedShopServer
	address string
	region  string
	listen  net.Listener
	server  *grpc.Server
	code    atomic.Uint32 // calls are answered with it
	every   atomic.Int64  // but only every so many, if it is above 1
	seen    atomic.Int64
	hang    atomic.Bool
	health  *health.Server
}

func (n *node) Buy(ctx context.Context, _ *shop.Order) (*shop.Receipt, error) {
	seen := n.seen.Add(1)
	if n.hang.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if code := codes.Code(n.code.Load()); code != codes.OK && (n.every.Load() <= 1 || seen%n.every.Load() == 0) {
		return nil, status.Error(code, n.address)
	}
	return &shop.Receipt{}, nil
}

func (n *node) serve(t testing.TB, address string, opts ...grpc.ServerOption) {
	l, err := net.Listen("tcp", address)
	require.NoError(t, err)
	n.listen = l
	n.address, n.server, n.health = l.Addr().String(), grpc.NewServer(opts...), health.NewServer()
	shop.RegisterShopServer(n.server, n)
	grpc_health_v1.RegisterHealthServer(n.server, n.health)
	go func(s *grpc.Server) { _ = s.Serve(l) }(n.server)
}

// stop kills the server; one that has not begun to serve does not close its listener in time.
func (n *node) stop() {
	n.server.Stop()
	_ = n.listen.Close()
}

// fleet is a service of several servers and a channel to them, by a policy of its own.
type fleet struct {
	testing.TB
	shop.ShopClient
	eng      *cordon.Engine
	nodes    []*node
	resolver *manual.Resolver
	conn     *grpc.ClientConn
	policy   string
	target   string
}

// sickly finds instances soon, and takes little time for everything.
func sickly() isolation.Rule {
	return isolation.Rule{ID: "shop", Service: rule.Default(), Preset: isolation.Quick, Base: 200 * time.Millisecond, ProbeEvery: 10 * time.Millisecond, SlowStart: 50 * time.Millisecond}
}

func serviceConfig(policy, config string) string {
	return fmt.Sprintf(`{"loadBalancingConfig":[{%q:%s}]}`, policy, config)
}

// newPolicyName returns a name that no test of this process has taken.
func newPolicyName() string { return fmt.Sprintf("cordon-test-%x", rand.Uint64()) }

func newFleet(t testing.TB, n int, config string, rules cordon.Rules, opts ...grpc.DialOption) *fleet {
	t.Helper()
	return newFleetOf(t, newEngine(t, rules), n, config, opts...)
}

func newFleetOf(t testing.TB, eng *cordon.Engine, n int, config string, opts ...grpc.DialOption) *fleet {
	t.Helper()
	f := &fleet{TB: t, eng: eng, policy: newPolicyName()}
	require.NoError(t, cordongrpc.Register(f.eng, f.policy))
	for range n {
		f.join()
	}
	f.resolver = manual.NewBuilderWithScheme("fleet")
	f.resolver.InitialState(f.endpoints(f.nodes...))
	f.target = "fleet:///shop"
	f.dial(serviceConfig(f.policy, config), opts...)
	return f
}

// join starts another server.
func (f *fleet) join(opts ...grpc.ServerOption) {
	n := &node{}
	n.serve(f, "127.0.0.1:0", opts...)
	f.Cleanup(func() { n.server.Stop() })
	f.nodes = append(f.nodes, n)
}

func (f *fleet) dial(config string, opts ...grpc.DialOption) {
	conn, err := grpc.NewClient(f.target, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithResolvers(f.resolver), grpc.WithDefaultServiceConfig(config))...)
	require.NoError(f, err)
	f.conn, f.ShopClient = conn, shop.NewShopClient(conn)
	f.Cleanup(func() { _ = conn.Close() })
}

func (f *fleet) endpoints(nodes ...*node) resolver.State {
	var s resolver.State
	for _, n := range nodes {
		e := resolver.Endpoint{Addresses: []resolver.Address{{Addr: n.address}}}
		if n.region != "" {
			e = cordongrpc.EndpointRegion(e, n.region)
		}
		s.Endpoints = append(s.Endpoints, e)
	}
	return s
}

func (f *fleet) buy() error {
	ctx, cancel := context.WithTimeout(f.Context(), 10*time.Second)
	defer cancel()
	_, err := f.Buy(ctx, &shop.Order{})
	return err
}

// calls makes n calls and returns how many failed.
func (f *fleet) calls(n int) (failed int) {
	for range n {
		if f.buy() != nil {
			failed++
		}
	}
	return failed
}

// shares makes n calls and returns how many each server saw.
func (f *fleet) shares(n int) []int {
	before := make([]int64, len(f.nodes))
	for i, nd := range f.nodes {
		before[i] = nd.seen.Load()
	}
	f.calls(n)
	got := make([]int, len(f.nodes))
	for i, nd := range f.nodes {
		got[i] = int(nd.seen.Load() - before[i])
	}
	return got
}

// requireShares checks how calls were shared. The first of them may go by the picker of a moment before, which did not know all connections yet.
func requireShares(t testing.TB, want, got []int) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		delta := 12.
		if want[i] == 0 {
			delta = 0
		}
		require.InDelta(t, want[i], got[i], delta, "%v, want %v", got, want)
	}
}

func (f *fleet) snapshot() isolation.Snapshot {
	services := f.eng.Snapshot().Services
	require.NotEmpty(f, services)
	return services[len(services)-1]
}

func (f *fleet) state(i int) isolation.State {
	for _, in := range f.snapshot().Instances {
		if in.Address == f.nodes[i].address {
			return in.State
		}
	}
	f.Fatalf("%s is not listed", f.nodes[i].address)
	return 0
}

// connected waits until the channel has a connection to everyone.
func (f *fleet) connected() {
	f.Helper()
	f.conn.Connect()
	eventually(f, func() bool {
		s := f.eng.Snapshot().Services
		return len(s) > 0 && len(s[0].Instances) == len(f.nodes) && !slices.ContainsFunc(s[0].Instances, func(in isolation.InstanceSnapshot) bool { return in.State == isolation.Unreachable })
	}, "nobody is connected")
}

func (f *fleet) until(i int, s isolation.State) {
	f.Helper()
	eventually(f, func() bool {
		_ = f.buy()
		return f.state(i) == s
	}, "%s is not %v", f.nodes[i].address, s)
}

func isolating(r isolation.Rule) cordon.Rules { return cordon.Rules{Isolation: []isolation.Rule{r}} }

// A server that fails is taken out, and gets single probes until it is well; then it has its share again.
func TestPolicyIsolates(t *testing.T) {
	f := newFleet(t, 3, `{}`, isolating(sickly()))
	f.connected()
	requireShares(t, []int{100, 100, 100}, f.shares(300))
	f.nodes[1].code.Store(uint32(codes.Unavailable))
	f.until(1, isolation.Quarantined)
	before := f.nodes[1].seen.Load()
	failed := f.calls(300)
	require.LessOrEqual(t, failed, int(f.nodes[1].seen.Load()-before), "only probes fail")
	f.nodes[1].code.Store(0)
	f.until(1, isolation.InService)
	require.Zero(t, f.calls(300))
	requireShares(t, []int{100, 100, 100}, f.shares(300))
}

// faults #69: answers that say no are no illness.
func TestPolicyJudgesByCodes(t *testing.T) {
	for _, code := range []codes.Code{codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied, codes.FailedPrecondition, codes.Aborted, codes.OutOfRange, codes.Unauthenticated, codes.ResourceExhausted} {
		t.Run(code.String(), func(t *testing.T) {
			f := newFleet(t, 3, `{}`, isolating(sickly()))
			f.connected()
			f.nodes[0].code.Store(uint32(code))
			requireShares(t, []int{100}, []int{f.calls(300)})
			require.Equal(t, isolation.InService, f.state(0))
		})
	}
}

// When all are sick calls flow all the same, and it is said.
func TestPolicyFallsBack(t *testing.T) {
	f := newFleet(t, 3, `{}`, isolating(sickly()))
	f.connected()
	for _, n := range f.nodes {
		n.code.Store(uint32(codes.Internal))
	}
	f.calls(200)
	got := f.shares(300)
	for _, n := range got {
		require.NotZero(t, n, got)
	}
	for _, n := range f.nodes {
		n.code.Store(0)
	}
	require.Zero(t, f.calls(100))
}

// A server that is killed under load costs the calls under way and no more; it comes back at its address with an even share.
func TestPolicyOfAKilledServer(t *testing.T) {
	f := newFleet(t, 3, `{}`, isolating(sickly()))
	f.connected()
	var failed atomic.Int64
	var writers sync.WaitGroup
	var made atomic.Int64
	for range 4 {
		writers.Go(func() {
			for made.Add(1) <= 2000 {
				if made.Load() == 500 {
					f.nodes[2].server.Stop()
				}
				if f.buy() != nil {
					failed.Add(1)
				}
			}
		})
	}
	writers.Wait()
	require.LessOrEqual(t, failed.Load(), int64(10))
	eventually(t, func() bool { return f.state(2) == isolation.Unreachable })
	f.nodes[2].serve(t, f.nodes[2].address)
	f.conn.ResetConnectBackoff()
	f.until(2, isolation.InService)
	require.Zero(t, f.calls(300))
	require.InDelta(t, 100, f.shares(300)[2], 10)
}

// An instance that hangs is found by its deadlines.
func TestPolicyOfAHungServer(t *testing.T) {
	f := newFleet(t, 3, `{}`, isolating(sickly()))
	f.connected()
	f.calls(300)
	f.nodes[0].hang.Store(true)
	eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, _ = f.Buy(ctx, &shop.Order{})
		return f.state(0) == isolation.Quarantined
	})
	f.nodes[0].hang.Store(false)
	f.until(0, isolation.InService)
}

// Calls stay in the own region while enough of it is connected.
func TestPolicyPrefersItsRegion(t *testing.T) {
	f := newFleet(t, 6, `{"region":"eu"}`, isolating(sickly()))
	for i, n := range f.nodes {
		n.region = []string{"eu", "us"}[i/3]
	}
	f.resolver.UpdateState(f.endpoints(f.nodes...))
	f.connected()
	eventually(t, func() bool {
		return slices.Equal([]int{0, 0, 0}, f.shares(30)[3:])
	})
	requireShares(t, []int{100, 100, 100, 0, 0, 0}, f.shares(300))
	f.nodes[0].server.Stop()
	f.nodes[1].server.Stop()
	eventually(t, func() bool { return f.state(0) == isolation.Unreachable && f.state(1) == isolation.Unreachable })
	got := f.shares(300)
	require.InDelta(t, 300/3/.8, got[2], 20)
	require.InDelta(t, 300-got[2], got[3]+got[4]+got[5], 0)
}

// The resolver may leave nobody but the one in quarantine: it is called.
func TestPolicyServesWhoIsLeft(t *testing.T) {
	f := newFleet(t, 3, `{}`, isolating(sickly()))
	f.connected()
	f.nodes[1].code.Store(uint32(codes.Unavailable))
	f.until(1, isolation.Quarantined)
	f.nodes[1].code.Store(0)
	f.resolver.UpdateState(f.endpoints(f.nodes[1]))
	eventually(t, func() bool { return f.buy() == nil && len(f.snapshot().Instances) == 1 })
	require.Zero(t, f.calls(100))
}

// What is known of instances outlives the balancer: idle mode, and another policy in between.
func TestPolicyRemembers(t *testing.T) {
	r := sickly()
	r.Base = time.Minute
	f := newFleet(t, 3, `{}`, isolating(r), grpc.WithIdleTimeout(300*time.Millisecond))
	f.connected()
	f.nodes[1].code.Store(uint32(codes.Unavailable))
	f.until(1, isolation.Quarantined)
	eventually(t, func() bool { return f.state(0) == isolation.Unreachable }, "the channel does not become idle")
	f.until(1, isolation.Quarantined) // at first it may be the only one that is connected
	require.Len(t, f.eng.Groups(), 1)

	for _, config := range []string{`{"loadBalancingConfig":[{"round_robin":{}}]}`, serviceConfig(f.policy, `{"strategy":"leastInFlight"}`)} {
		s := f.endpoints(f.nodes...)
		s.ServiceConfig = f.resolver.CC().ParseServiceConfig(config)
		require.NoError(t, s.ServiceConfig.Err)
		f.resolver.UpdateState(s)
		eventually(t, func() bool {
			_ = f.buy()
			return (f.state(0) == isolation.Unreachable) == strings.Contains(config, "round_robin")
		})
	}
	f.until(1, isolation.Quarantined)
	require.Len(t, f.eng.Groups(), 1)
}

// Calls with the same key go to the same server; others anywhere.
func TestPolicyHashes(t *testing.T) {
	f := newFleet(t, 5, `{"strategy":"consistentHash","hashKey":"X-User"}`, cordon.Rules{})
	f.connected()
	for user := range 10 {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x-user", fmt.Sprint(user))
		ctx, picked := cordongrpc.WithPicked(ctx)
		_, err := f.Buy(ctx, &shop.Order{})
		require.NoError(t, err)
		for range 10 {
			again, p := cordongrpc.WithPicked(metadata.AppendToOutgoingContext(t.Context(), "x-user", fmt.Sprint(user)))
			_, err := f.Buy(again, &shop.Order{})
			require.NoError(t, err)
			require.Equal(t, picked.Addresses(), p.Addresses())
		}
	}
	for _, n := range f.shares(300) {
		require.NotZero(t, n)
	}
}

// Attempts of a retry policy are judged one by one, and go elsewhere; the interceptor sees one call.
func TestPolicyUnderRetries(t *testing.T) {
	calls := newEngine(t, cordon.Rules{})
	f := newFleet(t, 3, `{}`, isolating(sickly()))
	require.NoError(t, f.conn.Close())
	f.dial(fmt.Sprintf(`{"loadBalancingConfig":[{%q:{}}],"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":3,"initialBackoff":".001s","maxBackoff":".001s","backoffMultiplier":1,"retryableStatusCodes":["UNAVAILABLE"]}}]}`, f.policy),
		cordongrpc.DialOptions(calls)...)
	f.connected()
	f.nodes[1].code.Store(uint32(codes.Unavailable))
	var picked *cordongrpc.Picked
	for picked == nil || len(picked.Addresses()) < 2 {
		var ctx context.Context
		ctx, picked = cordongrpc.WithPicked(t.Context())
		_, err := f.Buy(ctx, &shop.Order{})
		require.NoError(t, err)
	}
	require.Equal(t, f.nodes[1].address, picked.Addresses()[0])
	require.NotEqual(t, picked.Addresses()[0], picked.Addresses()[1])
	require.Zero(t, f.calls(300))
	require.Equal(t, isolation.Quarantined, f.state(1))
	require.Zero(t, countsOf(calls, buy).failed)
}

// Who judges a call's ending is told which instances its attempts went to.
func TestPolicyTellsInstances(t *testing.T) {
	var ending cordongrpc.Ending
	f := newFleet(t, 3, `{}`, cordon.Rules{}, cordongrpc.DialOptions(newEngine(t, cordon.Rules{}), cordongrpc.WithOutcome(func(e cordongrpc.Ending) cordon.Outcome {
		ending = e
		return e.Default
	}))...)
	f.connected()
	for range 3 {
		ctx, picked := cordongrpc.WithPicked(t.Context())
		_, err := f.Buy(ctx, &shop.Order{})
		require.NoError(t, err)
		require.Len(t, ending.Instances, 1)
		require.Equal(t, picked.Addresses(), ending.Instances)
		require.NoError(t, f.buy())
		require.Len(t, ending.Instances, 1)
	}
}

func TestPolicyConfigIsStrict(t *testing.T) {
	eng := newEngine(t, cordon.Rules{})
	name := newPolicyName()
	require.NoError(t, cordongrpc.Register(eng, name))
	require.ErrorContains(t, cordongrpc.Register(eng, name), "registered already")
	require.ErrorContains(t, cordongrpc.Register(eng, ""), "needs a name")
	require.ErrorContains(t, cordongrpc.Register(nil, "x"), "needs an engine")
	parse := balancer.Get(name).(balancer.ConfigParser).ParseConfig
	for _, good := range []string{``, `{}`, `{"strategy":"roundRobin","region":"eu","service":"orders"}`, `{"strategy":"consistentHash","hashKey":"x-user","loadBound":2}`} {
		_, err := parse([]byte(good))
		require.NoError(t, err, good)
	}
	for bad, says := range map[string]string{
		`{"strategie":"random"}`:        "unknown field",
		`{"strategy":"least"}`:          "want one of roundRobin, random, leastInFlight, consistentHash",
		`{"strategy":"consistentHash"}`: "hashKey is missing",
		`{"hashKey":"x"}`:               "the strategy is roundRobin",
		`{"loadBound":2}`:               "the strategy is roundRobin",
		`{"strategy":1}`:                "cannot unmarshal",
		`[]`:                            "cannot unmarshal",
		`{"strategy":"consistentHash","hashKey":"x","loadBound":1}`: "loadBound 1 is out of range",
		`{"strategy":"consistentHash","hashKey":"x-bin"}`:           "not the caller's to set",
	} {
		_, err := parse([]byte(bad))
		require.ErrorContains(t, err, says, bad)
	}
}

// Nothing is left of channels that were closed but what is kept for them, which has a bound.
func TestPolicyKeepsNoMoreThanItSays(t *testing.T) {
	f := newFleet(t, 1, `{}`, cordon.Rules{})
	f.connected()
	for i := range 150 {
		f.target = fmt.Sprintf("fleet:///shop-%d", i)
		f.dial(serviceConfig(f.policy, `{}`))
		require.NoError(t, f.buy())
		require.NoError(t, f.conn.Close())
	}
	eventually(t, func() bool { return len(f.eng.Groups()) == 101 })
}

// A call that no instance may have fails at once, and says why.
func TestPolicyWithoutInstances(t *testing.T) {
	f := newFleet(t, 2, `{}`, isolating(isolation.Rule{ID: "r", Service: rule.Default(), MaxShare: 1, MayEmpty: true, NoFallback: true}))
	f.connected()
	for _, n := range f.nodes {
		require.NoError(t, f.eng.PinInstance("shop", n.address, false, 0))
	}
	err := f.buy()
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorContains(t, err, "cordongrpc: ")
}
