package cordongrpc

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/cordon-go/cordon"
)

// Option adjusts what guards servers and clients; where one means something only to one of them, it says so.
//
// The functions handed in are called by the goroutine that serves or makes the call, by TapHandle under a lock of the connection, and must be safe for concurrent use. Those that name and describe a call run
// before the engine is asked: if one panics, nothing is held and the panic goes on.
type Option interface{ apply(*config) }

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

type config struct {
	name        func(ctx context.Context, method string) string
	namer       *cordon.Namer
	origin      func(context.Context) string
	cost        func(ctx context.Context, method string) int
	values      func(ctx context.Context, key string) any
	excluded    methods
	codes       []codeRule
	outcome     func(Ending) cordon.Outcome
	unavailable [256]bool // by kind
	entrance    bool
	maxHold     time.Duration
	region      string
	messages    func(ctx context.Context, resource string, m any) string

	calls sync.Pool // of *unaryCall
}

func newConfig(opts []Option) *config {
	c := &config{excluded: defaultExcluded()}
	for _, o := range opts {
		o.apply(c)
	}
	return c
}

// WithName sets how a call's resource is named; where f returns "", and by default, it is the full method. Names should come from a small set: whoever can choose them freely can make the
// engine keep one resource for each, up to its bound.
func WithName(f func(ctx context.Context, method string) string) Option {
	return optionFunc(func(c *config) { c.name = f })
}

// WithNamer names calls by what they carry: n sees what WithName, or the default, says as the resource. With streams and TapHandle the message is not there yet.
func WithNamer(n *cordon.Namer) Option {
	return optionFunc(func(c *config) { c.namer = n })
}

// WithOrigin sets how a call's origin is told, for rules by caller; default: no origin. For servers there are MetadataKey, PeerCommonName, PeerURI and PeerDNS.
func WithOrigin(f func(context.Context) string) Option {
	return optionFunc(func(c *config) { c.origin = f })
}

// WithCost sets what a call counts against limits; default 1. 0 counts as 1; a negative cost is a mistake, which is answered with the code Internal.
func WithCost(f func(ctx context.Context, method string) int) Option {
	return optionFunc(func(c *config) { c.cost = f })
}

// WithValues sets what calls carry besides, for rules on value.tenant: f returns the value of a key, nil if there is none.
func WithValues(f func(ctx context.Context, key string) any) Option {
	return optionFunc(func(c *config) { c.values = f })
}

// WithExcluded lets methods pass unchecked and uncounted, instead of those of grpc.health.v1.Health and of server reflection (v1, v1alpha), which are excluded by default. A
// method is written "/orders.Orders/Create", all those of a service "orders.Orders"; without any, none is excluded. It panics if one is written otherwise.
func WithExcluded(methods ...string) Option {
	set := newMethods("WithExcluded", methods)
	return optionFunc(func(c *config) { c.excluded = set })
}

// WithCodes changes how statuses with these codes are judged, of the methods that are given as to WithExcluded, or of all if none is. Of several options the last that has a word on the code and the
// method counts. The default is DefaultOutcome. Refusals of cordon stay ignored whatever their code. It panics if a method or an outcome is none.
func WithCodes(outcomes map[codes.Code]cordon.Outcome, methods ...string) Option {
	r := codeRule{outcomes: make(map[codes.Code]cordon.Outcome, len(outcomes)), of: newMethods("WithCodes", methods), all: len(methods) == 0}
	for code, o := range outcomes {
		if o > cordon.Ignored {
			panic(fmt.Sprintf("cordongrpc: WithCodes: %v: the outcome %d is none; want cordon.Success, Failure or Ignored", code, o))
		}
		r.outcomes[code] = o
	}
	return optionFunc(func(c *config) { c.codes = append(c.codes, r) })
}

// WithOutcome sets how endings are judged: f sees what the codes say in Ending.Default and returns that or another. If f panics, the default stands and the engine reports
// a fault (cordon.Observer.Fault). For streams it may be called by a goroutine of gRPC or of the context, and must be quick.
func WithOutcome(f func(Ending) cordon.Outcome) Option {
	return optionFunc(func(c *config) { c.outcome = f })
}

// WithUnavailable answers refusals by rules of these kinds with the code Unavailable instead of ResourceExhausted: clients with a usual retry policy, and balancers, then try
// another instance, but those without cordon take the refusal for an illness. It suits cordon.KindBreaker and cordon.KindSystem. Authority rules refuse with PermissionDenied whatever is given.
func WithUnavailable(kinds ...cordon.Kind) Option {
	return optionFunc(func(c *config) {
		for _, k := range kinds {
			c.unavailable[k] = true
		}
	})
}

// AsEntrance makes the call's resource the entrance of the calls made while serving it, for rules with `under`. For servers.
func AsEntrance() Option {
	return optionFunc(func(c *config) { c.entrance = true })
}

// WithMaxHold bounds how long a stream holds its place, 0 for no bound, which is the default: legitimate streams last for days. When the time is over the engine gets back what the stream
// holds, as Ignored, and reports it as a fault; the stream itself goes on. It is for clients whose callers neither read a stream to its end nor cancel it: gRPC keeps such streams for ever.
func WithMaxHold(d time.Duration) Option {
	return optionFunc(func(c *config) { c.maxHold = max(d, 0) })
}

// WithRegion sets the own region of channels whose service config does not name it, for Register.
func WithRegion(region string) Option {
	return optionFunc(func(c *config) { c.region = region })
}

// WithMessages makes each message that a server receives and a client sends on a stream a call of a resource of its own, besides the stream's: name is given the stream's resource, and the
// message, and returns the resource's name, "" for messages that are not limited. A nil name is the stream's resource and MessageSuffix. Rates refuse, or slow down if they may wait, and
// nothing is held: the call ends at once. A message that a server refuses was received, and RecvMsg returns the refusal; one that a client refuses is not sent, and SendMsg returns it. The stream goes on,
// but for a client's whose only message it is.
func WithMessages(name func(ctx context.Context, resource string, m any) string) Option {
	if name == nil {
		name = func(_ context.Context, resource string, _ any) string { return resource + MessageSuffix }
	}
	return optionFunc(func(c *config) { c.messages = name })
}

// MessageSuffix follows a stream's resource in the name of that of its messages; see WithMessages.
const MessageSuffix = "#message"
