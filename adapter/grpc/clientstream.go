package cordongrpc

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/cordon-go/cordon"
)

// StreamClientInterceptor returns an interceptor that makes every stream of a client one call of the engine; see UnaryClientInterceptor. It lasts until the stream ends: its status was
// read, it was cancelled, its deadline has passed, or the connection was closed. gRPC keeps a stream that nobody reads or cancels, even if the server is dead; see WithMaxHold.
//
// Rules that look into the message are asked about the first one that is sent: SendMsg returns their refusal, and the stream is cancelled.
func StreamClientInterceptor(eng *cordon.Engine, opts ...Option) grpc.StreamClientInterceptor {
	return newGuard("StreamClientInterceptor", eng, opts).callStream
}

func (g *guard) callStream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (_ grpc.ClientStream, err error) {
	if g.cfg.excluded.has(method) {
		return streamer(ctx, desc, cc, method, opts...)
	}
	ctx = g.cfg.noting(ctx)
	s := &clientStream{oneReply: !desc.ServerStreams, oneRequest: !desc.ClientStreams}
	s.call.describe(g, ctx, method, nil, false)
	s.holds.ent = &s.holds.own
	if s.holds.own, err = s.call.enter(cordon.PartAtOnce | cordon.PartWaiting); err != nil {
		return nil, err
	}
	// The stream ends in one of several ways, of which the first counts: gRPC's own word (OnFinish), what the stream's methods return, for interceptors further in may drop options
	// or bring streams of their own, and the end of the context.
	ctx, s.cancel = context.WithCancel(ctx)
	s.watch(ctx)
	returned := false
	defer func() {
		if !returned {
			s.conclude(nil, true) // a panic, which goes on
		}
	}()
	s.holds.bound(&s.call)
	more := make([]grpc.CallOption, len(opts), len(opts)+1) // there may be room behind opts which is another call's
	copy(more, opts)
	s.ClientStream, err = streamer(ctx, desc, cc, method, append(more, grpc.OnFinish(s.finish))...)
	returned = true
	if err != nil {
		s.finish(err)
		return nil, err
	}
	return s, nil
}

// clientStream is a stream of a client.
type clientStream struct {
	grpc.ClientStream
	call       call
	holds      holds
	messages   messages
	oneReply   bool // which ends the stream
	oneRequest bool // without which there is no stream
	cancel     context.CancelFunc
	stop       func() bool           // what waits for the end of the context
	refused    atomic.Pointer[error] // what the stream was ended for
}

// watch ends the call when the context ends.
func (s *clientStream) watch(ctx context.Context) {
	s.holds.mu.Lock() // until it is known how to stop the watch, nobody ends the call
	defer s.holds.mu.Unlock()
	s.stop = context.AfterFunc(ctx, func() { s.finish(ctx.Err()) })
}

// finish ends the call with the error that the stream ended with, nil if it ended well, unless it has ended.
func (s *clientStream) finish(err error) {
	if errors.Is(err, io.EOF) {
		err = nil
	}
	s.conclude(err, false)
}

func (s *clientStream) conclude(err error, panicked bool) {
	if s.holds.claim() {
		s.holds.release(s.call.outcome(s.holds.ent, err, panicked))
	}
	s.stop()
	s.cancel()
}

// refuse ends a stream whose message was refused.
func (s *clientStream) refuse(err error) error {
	s.refused.Store(&err)
	s.conclude(err, false)
	return err
}

// refusal returns what the stream was ended for, nil if it was not.
func (s *clientStream) refusal() error {
	if err := s.refused.Load(); err != nil {
		return *err
	}
	return nil
}

// SendMsg sends a message, if rules allow it. That it returns io.EOF is not the end: RecvMsg tells how the stream ended.
func (s *clientStream) SendMsg(m any) error {
	if err := s.refusal(); err != nil {
		return err
	}
	if err := s.messages.first(&s.call, &s.holds, m); err != nil {
		return s.refuse(err)
	}
	if err := s.messages.each(&s.call, m); err != nil {
		if s.oneRequest {
			return s.refuse(err)
		}
		return err
	}
	err := s.ClientStream.SendMsg(m)
	if err != nil && !errors.Is(err, io.EOF) {
		s.finish(err)
	}
	return err
}

// RecvMsg receives a message.
func (s *clientStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil || s.oneReply {
		s.finish(err)
	}
	if refused := s.refusal(); refused != nil && err != nil {
		return refused // and not that it was cancelled for that
	}
	return err
}

// Header returns the header.
func (s *clientStream) Header() (metadata.MD, error) {
	if err := s.refusal(); err != nil {
		return nil, err
	}
	md, err := s.ClientStream.Header()
	if err != nil && !errors.Is(err, io.EOF) {
		s.finish(err)
	}
	return md, err
}
