package cordongrpc

import (
	"context"

	"google.golang.org/grpc"

	"github.com/cordon-go/cordon"
)

// DialOptions returns what makes every call of a client one of the engine: UnaryClientInterceptor and StreamClientInterceptor. Interceptors given to the client
// before them see calls that are refused, those after them do not.
func DialOptions(eng *cordon.Engine, opts ...Option) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithChainUnaryInterceptor(UnaryClientInterceptor(eng, opts...)),
		grpc.WithChainStreamInterceptor(StreamClientInterceptor(eng, opts...)),
	}
}

// UnaryClientInterceptor returns an interceptor that makes every unary call of a client one of the engine, once however often gRPC retries it. A refused call is not sent: in its error errors.Is
// finds cordon.ErrBlocked, errors.As the *cordon.BlockedError, and status.FromError the status that a server would have refused with.
//
// The codes that DefaultOutcome says are failures; refusals by a peer's cordon are ignored. WithCodes and WithOutcome change that.
//
// It panics if eng is nil.
func UnaryClientInterceptor(eng *cordon.Engine, opts ...Option) grpc.UnaryClientInterceptor {
	return newGuard("UnaryClientInterceptor", eng, opts).callUnary
}

func (g *guard) callUnary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) (err error) {
	if g.cfg.excluded.has(method) {
		return invoker(ctx, method, req, reply, cc, opts...)
	}
	ctx = g.cfg.noting(ctx)
	k := g.unary()
	k.describe(g, ctx, method, req, false)
	k.ent = &k.own
	if k.own, err = k.enter(0); err != nil {
		k.free()
		return err
	}
	returned := false
	defer func() { k.end(err, !returned) }()
	err = invoker(ctx, method, req, reply, cc, opts...)
	returned = true
	return err
}
