package nethttp

import (
	"cmp"
	"net/http"
	"net/netip"
	"sync"

	"github.com/cordon-go/cordon"
)

// Option adjusts Middleware and Transport; where one means something only to one of them, it says so.
//
// The functions handed in are called by the goroutine that serves or makes the request, and must be safe for concurrent
// use. Those that look at the request run before the engine is asked: if one panics, nothing is held and the
// panic goes on.
type Option interface{ apply(*config) }

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

type config struct {
	name     func(*http.Request) string
	mux      *http.ServeMux
	skip     func(*http.Request) bool
	origin   func(*http.Request) string
	cost     func(*http.Request) int
	args     func(*http.Request) []any
	outcome  func(Ending) cordon.Outcome
	refusal  func(http.ResponseWriter, *http.Request, Refusal)
	entrance bool
	// apiGroups makes requests calls of their groups of paths too.
	apiGroups bool

	// What rules on hot parameters look at; see carrier.
	namer       *cordon.Namer
	values      func(*http.Request, string) any
	trusted     []netip.Prefix // unmapped
	pathPattern string
	carriers    sync.Pool // of *configured
}

func newConfig(opts []Option) *config {
	c := &config{refusal: WriteRefusal}
	for _, o := range opts {
		o.apply(c)
	}
	return c
}

// request describes r, called name, to the engine.
func (c *config) request(r *http.Request, name string, inbound bool) cordon.Request {
	req := cordon.Request{Resource: name, Inbound: inbound, Method: cmp.Or(r.Method, http.MethodGet), Carrier: c.carrier(r, inbound)}
	if c.origin != nil {
		req.Origin = c.origin(r)
	}
	if c.cost != nil {
		req.Cost = c.cost(r)
	}
	if c.args != nil {
		req.Args = c.args(r)
	}
	if c.namer != nil {
		req.Resource = c.namer.Name(r.Context(), &req)
	}
	return req
}

// WithName sets how a request's resource is named. Where f returns "", the default name is taken. Names should come from
// a small set: whoever can choose them freely (by the path, say) can make the engine keep one resource for each,
// up to its bound.
//
// By default a server names by the pattern that the request matched (see Middleware), a client by the host.
func WithName(f func(*http.Request) string) Option {
	return optionFunc(func(c *config) { c.name = f })
}

// WithMux names requests after the pattern that they will match in mux. It is for middleware that wraps the whole
// mux, which runs before the mux has matched; it costs a second match. A request that matches nothing has the default name. For
// servers.
func WithMux(mux *http.ServeMux) Option {
	return optionFunc(func(c *config) { c.mux = mux })
}

// WithSkip lets the requests for which f is true pass unchecked and uncounted: health checks, say.
func WithSkip(f func(*http.Request) bool) Option {
	return optionFunc(func(c *config) { c.skip = f })
}

// WithOrigin sets how a request's origin is told, for rules by caller; default: no origin. Trust a header only
// if something in front sets it.
func WithOrigin(f func(*http.Request) string) Option {
	return optionFunc(func(c *config) { c.origin = f })
}

// Header returns a function for WithOrigin that takes a request's first header field of that name.
func Header(name string) func(*http.Request) string {
	return func(r *http.Request) string { return r.Header.Get(name) }
}

// WithCost sets what a request counts against limits; default 1. 0 counts as 1; a negative cost is a mistake: servers answer
// 500, clients return cordon.ErrInvalidCost.
func WithCost(f func(*http.Request) int) Option {
	return optionFunc(func(c *config) { c.cost = f })
}

// WithArgs sets a request's arguments, for rules that look into them; default: none.
func WithArgs(f func(*http.Request) []any) Option {
	return optionFunc(func(c *config) { c.args = f })
}

// WithOutcome sets how endings are judged: f sees what the default would be in Ending.Default and returns that or another.
// If f panics, the default stands and the engine reports a fault (cordon.Observer.Fault). With a client it may be called by a goroutine of the request's context.
func WithOutcome(f func(Ending) cordon.Outcome) Option {
	return optionFunc(func(c *config) { c.outcome = f })
}

// WithRefusal sets how refused requests are answered; default WriteRefusal. The headers Cordon-Refused and Retry-After are set
// already when f is called, and may be changed. For servers.
func WithRefusal(f func(http.ResponseWriter, *http.Request, Refusal)) Option {
	return optionFunc(func(c *config) { c.refusal = f })
}

// AsEntrance makes the request's resource the entrance of the calls made while serving it, for rules with `under`. It
// gives the handler a copy of the request with another context. For servers.
func AsEntrance() Option {
	return optionFunc(func(c *config) { c.entrance = true })
}
