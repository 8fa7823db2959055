package cordongrpc

import (
	"context"
	"errors"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"

	"github.com/cordon-go/cordon"
)

// ServerOptions returns what makes every call to a server one of the engine: UnaryServerInterceptor and StreamServerInterceptor. Interceptors given to the server before them
// see calls that are refused, those after them do not. For refusals before the message is read give the server TapHandle besides.
func ServerOptions(eng *cordon.Engine, opts ...Option) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(UnaryServerInterceptor(eng, opts...)),
		grpc.ChainStreamInterceptor(StreamServerInterceptor(eng, opts...)),
	}
}

// UnaryServerInterceptor returns an interceptor that makes every unary call to a server one of the engine.
//
// By default panics, and the codes that DefaultOutcome says, are failures, and so is an answer that came after the caller's deadline; but what comes after the caller has cancelled, and
// refusals by cordon, are ignored. An error that is no status is first shown to the engine's classifier. WithCodes and WithOutcome change that. Panics go on. A handler's error that is a
// *cordon.BlockedError gets the status of a refusal.
//
// It panics if eng is nil.
func UnaryServerInterceptor(eng *cordon.Engine, opts ...Option) grpc.UnaryServerInterceptor {
	return newGuard("UnaryServerInterceptor", eng, opts).serveUnary
}

func (g *guard) serveUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	if g.cfg.excluded.has(info.FullMethod) {
		return handler(ctx, req)
	}
	k := g.unary()
	if err := g.arrive(k, ctx, info.FullMethod, req); err != nil {
		if md := trailerOf(err); md != nil {
			_ = grpc.SetTrailer(ctx, md) // without a stream, in tests, there is nobody to tell
		}
		return nil, err
	}
	returned := false
	defer func() { k.end(err, !returned) }() // without recovering: the stack of a panic still shows where it came from
	if g.cfg.entrance {
		ctx = cordon.WithEntrance(ctx, k.resource)
	}
	resp, err = handler(ctx, req)
	returned = true
	return resp, g.cfg.told(err)
}

// arrive enters a unary call, or takes over what TapHandle has entered.
func (g *guard) arrive(k *unaryCall, ctx context.Context, method string, req any) (err error) {
	tapped, err := tappedCall(ctx, g.eng)
	if err != nil {
		return err
	}
	if tapped == nil {
		k.describe(g, ctx, method, req, true)
		k.ent = &k.own
		if k.own, err = k.enter(0); err != nil {
			k.free()
		}
		return err
	}
	k.call = tapped.call
	k.guard, k.cfg, k.ctx, k.args[0], k.ent = g, g.cfg, ctx, req, &tapped.ent
	admitted := false
	defer func() {
		if !admitted { // or something handed to the engine ended the goroutine
			tapped.ent.End(cordon.Ignored)
		}
	}()
	if k.rest, err = k.enter(cordon.PartWaiting | cordon.PartMessage); err != nil {
		k.free()
		return err
	}
	admitted = true
	return nil
}

// told gives a handler's error that is a refusal of the engine's, and has no status yet, that of a refusal.
func (c *config) told(err error) error {
	if err == nil || !errors.Is(err, cordon.ErrBlocked) {
		return err
	}
	if _, ok := status.FromError(err); ok {
		return err
	}
	return c.refuse(err)
}
