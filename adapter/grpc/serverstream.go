package cordongrpc

import (
	"context"

	"google.golang.org/grpc"

	"github.com/cordon-go/cordon"
)

// StreamServerInterceptor returns an interceptor that makes every stream to a server one call of the engine, which lasts until the handler returns; see
// UnaryServerInterceptor. Rules that look into the message are asked about the first one that comes: the handler's RecvMsg returns their refusal, then and ever after.
func StreamServerInterceptor(eng *cordon.Engine, opts ...Option) grpc.StreamServerInterceptor {
	return newGuard("StreamServerInterceptor", eng, opts).serveStream
}

func (g *guard) serveStream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	if g.cfg.excluded.has(info.FullMethod) {
		return handler(srv, ss)
	}
	s := &serverStream{ServerStream: ss, ctx: ss.Context()}
	if err := s.arrive(g, info.FullMethod); err != nil {
		s.push(err)
		return err
	}
	returned := false
	defer func() {
		if s.holds.claim() {
			s.holds.release(s.call.outcome(s.holds.ent, err, !returned))
		}
	}()
	s.holds.bound(&s.call)
	if g.cfg.entrance {
		s.ctx = cordon.WithEntrance(s.ctx, s.call.resource)
	}
	err = handler(srv, s)
	returned = true
	return g.cfg.told(err)
}

// serverStream is a stream that a server serves.
type serverStream struct {
	grpc.ServerStream
	ctx      context.Context
	call     call
	holds    holds
	messages messages
	refused  error // what RecvMsg returns, if the first message was refused
}

// arrive enters the stream, or takes over what TapHandle has entered.
func (s *serverStream) arrive(g *guard, method string) error {
	tapped, err := tappedCall(s.ctx, g.eng)
	if err != nil {
		return err
	}
	if tapped == nil {
		s.call.describe(g, s.ctx, method, nil, true)
		s.holds.ent = &s.holds.own
		s.holds.own, err = s.call.enter(cordon.PartAtOnce | cordon.PartWaiting)
		return err
	}
	s.call = tapped.call
	s.call.guard, s.call.cfg, s.call.ctx, s.holds.ent = g, g.cfg, s.ctx, &tapped.ent
	admitted := false
	defer func() {
		if !admitted { // or something handed to the engine ended the goroutine
			tapped.ent.End(cordon.Ignored)
		}
	}()
	if s.holds.rest, err = s.call.enter(cordon.PartWaiting); err != nil {
		return err
	}
	admitted = true
	return nil
}

// Context returns the handler's context.
func (s *serverStream) Context() context.Context { return s.ctx }

// RecvMsg receives a message, if rules allow it.
func (s *serverStream) RecvMsg(m any) error {
	if s.refused != nil {
		return s.refused
	}
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	if err := s.messages.first(&s.call, &s.holds, m); err != nil {
		s.refused = err
		s.push(err)
		return err
	}
	if err := s.messages.each(&s.call, m); err != nil {
		s.push(err)
		return err
	}
	return nil
}

// push tells when to come back.
func (s *serverStream) push(err error) {
	if md := trailerOf(err); md != nil {
		s.SetTrailer(md)
	}
}
