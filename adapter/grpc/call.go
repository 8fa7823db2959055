package cordongrpc

import (
	"context"

	"github.com/cordon-go/cordon"
)

// guard is what an interceptor has.
type guard struct {
	eng *cordon.Engine
	cfg *config
}

// newGuard panics if there is no engine, naming what needs one.
func newGuard(name string, eng *cordon.Engine, opts []Option) *guard {
	if eng == nil {
		panic("cordongrpc: " + name + " needs an engine; got nil")
	}
	return &guard{eng, newConfig(opts)}
}

// call is what is asked of the engine about one call.
type call struct {
	guard *guard
	carrier
	method   string
	resource string
	origin   string
	args     [1]any // the message, if it is there
	costs    int
}

// describe fills in what is known of a call, whose message may be nil.
func (k *call) describe(g *guard, ctx context.Context, method string, message any, inbound bool) {
	c := g.cfg
	k.guard, k.method, k.resource = g, method, method
	k.carrier = carrier{ctx: ctx, cfg: c, inbound: inbound}
	k.args[0] = message
	if c.name != nil {
		if name := c.name(ctx, method); name != "" {
			k.resource = name
		}
	}
	if c.origin != nil {
		k.origin = c.origin(ctx)
	}
	if c.cost != nil {
		k.costs = c.cost(ctx, method)
	}
	if c.namer != nil {
		req := k.request(0)
		k.resource = c.namer.Name(ctx, &req)
	}
}

// request describes the call to the engine. The request is looked at for as long as the entry lasts.
func (k *call) request(part cordon.Part) cordon.Request {
	req := cordon.Request{
		Resource: k.resource, Inbound: k.inbound, Method: k.method, Origin: k.origin, Cost: k.costs, Carrier: &k.carrier, Part: part,
	}
	if k.args[0] != nil {
		req.Args = k.args[:]
	}
	return req
}

// enter asks for parts of the call.
func (k *call) enter(part cordon.Part) (cordon.Entry, error) {
	ent, err := k.guard.eng.Enter(k.ctx, k.request(part))
	if err != nil {
		return cordon.Entry{}, k.cfg.refuse(err)
	}
	return ent, nil
}

// outcome judges how the call ended.
func (k *call) outcome(ent *cordon.Entry, err error, panicked bool) cordon.Outcome {
	if err == nil && !panicked && k.cfg.outcome == nil && len(k.cfg.codes) == 0 && (!k.inbound || k.ctx.Err() == nil) {
		return cordon.Success // as mostly
	}
	e := Ending{Context: k.ctx, Method: k.method, Resource: k.resource, Inbound: k.inbound, Err: err, Panicked: panicked}
	return k.cfg.judge(k.guard.eng, &e, ent)
}

// unaryCall is a call that begins and ends in one function.
type unaryCall struct {
	call
	own  cordon.Entry
	ent  *cordon.Entry // the call's entry: own, or the one that TapHandle made
	rest cordon.Entry  // what TapHandle left to ask
}

// end ends the call, and lets others use what described it.
func (k *unaryCall) end(err error, panicked bool) {
	k.ent.End(k.outcome(k.ent, err, panicked))
	k.rest.End(cordon.Success) // it only gives back what it holds
	k.free()
}

// free lets other calls use k.
func (k *unaryCall) free() {
	cfg := k.cfg
	*k = unaryCall{}
	cfg.calls.Put(k)
}

// unary returns a call to be described.
func (g *guard) unary() *unaryCall {
	if k, _ := g.cfg.calls.Get().(*unaryCall); k != nil {
		return k
	}
	return new(unaryCall)
}
