package cordongrpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/serviceconfig"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/clock"
)

// PolicyName is the customary name of the load balancing policy.
const PolicyName = "cordon"

// Register makes a load balancing policy known to gRPC by that name, for channels whose service config asks for it:
//
//	{"loadBalancingConfig": [{"cordon": {"strategy": "leastInFlight", "region": "eu-1"}}]}
//
// It keeps connections to all endpoints that the resolver names, and sends each attempt of a call to one of those that are connected: of those that the engine's isolation rules have in service, the own
// region's first, the one that the strategy chooses. How an attempt ends is reported, so a retry policy's attempts are judged one by one while interceptors judge the call. What the members of the
// config mean:
//
//   - service: for which isolation rules it is; default: the target's endpoint, as "orders:50051" of dns:///orders:50051.
//   - strategy: roundRobin, random (by weight both), leastInFlight (of two) or consistentHash; default roundRobin.
//   - hashKey: the metadata key of calls that consistentHash goes by; required there, and only there. Calls without it go anywhere.
//   - loadBound: how many times the mean of calls in flight an instance gets at most with consistentHash, above 1 up to 100; default 1.25.
//   - region: the caller's own; default: WithRegion's, or none.
//
// Weights and regions of endpoints come from the resolver (EndpointWeight, EndpointRegion). Unknown members and values out of range are errors, with which gRPC keeps the config before.
//
// Attempts that end with the codes that DefaultOutcome says are failures of the instance; WithCodes changes that, for the policy as for calls. Attempts that were never sent say nothing, unless their deadline passed while they waited for the instance to take another stream; nor do refusals by a peer's cordon, but for those of its system
// rules, by which an instance says itself that it has too much to do (isolation.Throttled). Canceled ones count only if the caller has been patient (isolation.Abandoned).
//
// While the only instances that are connected are out of service and others are being connected to, as when a channel has been idle, calls wait for these for up to a second.
//
// Observers are told of decisions about instances by gRPC's goroutines, under locks of the channel or of a call: besides what cordon.Observer says, they must not wait for this channel, as by a call on it or by
// closing it.
//
// What is known of instances is the engine's: a channel that is idle for a while, whose resolver loses instances for a moment, or whose config names another policy in between finds it again. Each channel judges
// by its own calls.
//
// gRPC has one list of policies per process, which must not change once a channel has been made: Register comes before that, and once for each name. Two engines use two names. It fails if the name is
// taken.
func Register(eng *cordon.Engine, name string, opts ...Option) error {
	switch {
	case eng == nil:
		return errors.New("cordongrpc: Register needs an engine: it is nil")
	case name == "":
		return errors.New(`cordongrpc: Register needs a name for the policy, as "cordon"`)
	case balancer.Get(name) != nil:
		return fmt.Errorf("cordongrpc: a load balancing policy of the name %q is registered already: want another one, which service configs then name", name)
	}
	balancer.Register(&policy{name: name, eng: eng, clock: eng.Clock(), cfg: newConfig(opts)})
	return nil
}

// policy builds the balancers of channels.
type policy struct {
	name  string
	eng   *cordon.Engine
	clock clock.Clock
	cfg   *config

	mu   sync.Mutex
	kept []keptGroup // the longest kept one first
}

// Name returns the name that the policy was registered by.
func (p *policy) Name() string { return p.name }

// ParseConfig reads the policy's part of a service config.
func (p *policy) ParseConfig(data json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	c, err := parsePolicy(data)
	if err != nil {
		return nil, fmt.Errorf("cordongrpc: config of the load balancing policy %q: %w", p.name, err)
	}
	return c, nil
}

// Build makes a channel's balancer.
func (p *policy) Build(cc balancer.ClientConn, o balancer.BuildOptions) balancer.Balancer {
	return newChannel(p, cc, o)
}
