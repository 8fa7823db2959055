package cordongrpc_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/cordon-go/cordon"
	cordongrpc "github.com/cordon-go/cordon/adapter/grpc"
	"github.com/cordon-go/cordon/adapter/grpc/testdata/shop"
	"github.com/cordon-go/cordon/clock"
)

// A stream holds its place for as long as it lives, and what it fails with in the middle counts (faults #68).
func TestStreamsCountUntilTheyEnd(t *testing.T) {
	clk := clock.NewManual()
	here, there := newEngine(t, atOnce(chat, 2), cordon.WithClock(clk)), newEngine(t, atOnce(chat, 2), cordon.WithClock(clk))
	for side, w := range map[*cordon.Engine]*world{
		here:  newWorld(t, nil, cordongrpc.DialOptions(here)...),
		there: newWorld(t, cordongrpc.ServerOptions(there)),
	} {
		open := func() grpc.BidiStreamingClient[shop.Order, shop.Receipt] {
			s, err := w.Chat(t.Context())
			require.NoError(t, err)
			require.NoError(t, s.Send(wish("")))
			_, err = s.Recv()
			require.NoError(t, err)
			return s
		}
		refused := func() error {
			s, err := w.Chat(t.Context())
			if err == nil {
				_, err = s.Recv()
			}
			return err
		}
		first, second := open(), open()
		require.Equal(t, codes.ResourceExhausted, status.Code(refused()))
		for range 4 {
			require.NoError(t, first.Send(wish("")))
			_, err := first.Recv()
			require.NoError(t, err)
		}
		clk.Advance(time.Second)
		require.NoError(t, first.Send(wish("Unavailable")))
		_, err := first.Recv()
		require.Equal(t, codes.Unavailable, status.Code(err))
		eventually(t, func() bool { return countsOf(side, chat) == counts{passed: 2, failed: 1, inFlight: 1} })
		third := open()
		for _, s := range []grpc.BidiStreamingClient[shop.Order, shop.Receipt]{second, third} {
			require.NoError(t, s.CloseSend())
			_, err := s.Recv()
			require.ErrorIs(t, err, io.EOF)
		}
		quiet(t, side)
		require.Equal(t, counts{passed: 3, failed: 1, succeeded: 2}, countsOf(side, chat))
	}
}

// Every way in which a client's stream can end gives its place back, once, and tells how it ended.
func TestClientStreamsEnd(t *testing.T) {
	dropOptions := func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer, _ ...grpc.CallOption) (grpc.ClientStream, error) {
		return next(ctx, desc, cc, method)
	}
	for name, inner := range map[string][]grpc.DialOption{"alone": nil, "an inner interceptor drops options": {grpc.WithChainStreamInterceptor(dropOptions)}} {
		for way, tt := range map[string]struct {
			run  func(t *testing.T, w *world)
			on   string
			want cordon.Outcome
		}{
			"read to its end": {func(t *testing.T, w *world) {
				in, err := w.Watch(t.Context(), wish(""))
				require.NoError(t, err)
				_, err = drain(in)
				require.NoError(t, err)
			}, watch, cordon.Success},
			"failed by the server": {func(t *testing.T, w *world) {
				in, err := w.Watch(t.Context(), wish("Internal"))
				require.NoError(t, err)
				_, err = drain(in)
				require.Error(t, err)
			}, watch, cordon.Failure},
			"abandoned and cancelled": {func(t *testing.T, w *world) {
				ctx, cancel := context.WithCancel(t.Context())
				_, err := w.Watch(ctx, wish("hold"))
				require.NoError(t, err)
				cancel()
			}, watch, cordon.Ignored},
			"abandoned until its deadline": {func(t *testing.T, w *world) {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				t.Cleanup(cancel)
				_, _ = w.Watch(ctx, wish("hold")) // which may take as long itself
			}, watch, cordon.Failure},
			"one reply": {func(t *testing.T, w *world) {
				s, err := w.Upload(t.Context())
				require.NoError(t, err)
				require.NoError(t, s.Send(wish("")))
				_, err = s.CloseAndRecv()
				require.NoError(t, err)
			}, upload, cordon.Success},
			"half-closed, then failed": {func(t *testing.T, w *world) {
				s, err := w.Chat(t.Context())
				require.NoError(t, err)
				require.NoError(t, s.Send(wish("DataLoss")))
				require.NoError(t, s.CloseSend())
				_, err = s.Recv()
				require.Equal(t, codes.DataLoss, status.Code(err))
			}, chat, cordon.Failure},
			"failed while sending": {func(t *testing.T, w *world) {
				s, err := w.Chat(t.Context())
				require.NoError(t, err)
				require.NoError(t, s.Send(wish("Internal")))
				eventually(t, func() bool { return errors.Is(s.Send(wish("")), io.EOF) })
				_, err = s.Recv()
				require.Equal(t, codes.Internal, status.Code(err))
			}, chat, cordon.Failure},
			"the header fails": {func(t *testing.T, w *world) {
				s, err := w.Chat(t.Context())
				require.NoError(t, err)
				require.NoError(t, s.Send(wish("NotFound")))
				_, _ = s.Header()
				_, err = s.Recv()
				require.Equal(t, codes.NotFound, status.Code(err))
			}, chat, cordon.Success},
			"the connection is cut": {func(t *testing.T, w *world) {
				s, err := w.Watch(t.Context(), wish("hold"))
				require.NoError(t, err)
				_, err = s.Recv()
				require.NoError(t, err)
				w.cut()
				_, err = drain(s)
				require.Equal(t, codes.Unavailable, status.Code(err))
			}, watch, cordon.Failure},
			"the server is stopped": {func(t *testing.T, w *world) {
				s, err := w.Watch(t.Context(), wish("hold"))
				require.NoError(t, err)
				_, err = s.Recv()
				require.NoError(t, err)
				w.server.Stop()
				_, err = drain(s)
				require.Error(t, err)
			}, watch, cordon.Failure},
		} {
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				here, there := newEngine(t, atOnce(tt.on, 5)), newEngine(t, atOnce(tt.on, 5))
				w := newWorld(t, cordongrpc.ServerOptions(there), append(cordongrpc.DialOptions(here), inner...)...)
				tt.run(t, w)
				quiet(t, here, there)
				require.Equal(t, ended(tt.want), countsOf(here, tt.on))
			})
		}
	}
}

// The client's connection is closed under a stream that nobody reads, and streams are begun after that.
func TestStreamsOfAClosedClient(t *testing.T) {
	eng := newEngine(t, cordon.Rules{})
	w := newWorld(t, nil, cordongrpc.DialOptions(eng)...)
	s, err := w.Watch(t.Context(), wish("hold"))
	require.NoError(t, err)
	_, err = s.Recv()
	require.NoError(t, err)
	require.NoError(t, w.conn.Close())
	quiet(t, eng)
	_, err = w.Watch(t.Context(), wish(""))
	require.Error(t, err)
	quiet(t, eng)
	require.EqualValues(t, 2, countsOf(eng, watch).passed)
}

// Clients that vanish in the middle of a stream are no failure of the server, and leave nothing there.
func TestClientsThatVanish(t *testing.T) {
	eng := newEngine(t, cordon.Rules{})
	w := newWorld(t, append(cordongrpc.ServerOptions(eng), grpc.InTapHandle(cordongrpc.TapHandle(eng))))
	for i := range 20 {
		s, err := w.Chat(t.Context(), grpc.WaitForReady(true))
		require.NoError(t, err)
		require.NoError(t, s.Send(wish("")))
		_, err = s.Recv()
		require.NoError(t, err)
		w.cut()
		_, err = s.Recv()
		require.Error(t, err)
		quiet(t, eng)
		require.Equal(t, counts{passed: int64(i + 1), ignored: int64(i + 1)}, countsOf(eng, chat))
	}
}

// Inner interceptors may fail, panic, or bring a stream of their own.
func TestStreamersThatFail(t *testing.T) {
	eng := newEngine(t, cordon.Rules{})
	call := cordongrpc.StreamClientInterceptor(eng)
	desc := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	_, err := call(t.Context(), desc, nil, "/fails", func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
		return nil, status.Error(codes.Unavailable, "x")
	})
	require.Error(t, err)
	require.Equal(t, ended(cordon.Failure), countsOf(eng, "/fails"))
	require.PanicsWithValue(t, "boom", func() {
		_, _ = call(t.Context(), desc, nil, "/panics", func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
			panic("boom")
		})
	})
	require.Equal(t, ended(cordon.Failure), countsOf(eng, "/panics"))
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = call(t.Context(), desc, nil, "/exits", func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
			runtime.Goexit()
			return nil, nil
		})
	}()
	<-gone
	require.Equal(t, ended(cordon.Failure), countsOf(eng, "/exits"))

	// The caller's options are not written behind.
	opts := make([]grpc.CallOption, 0, 4)
	_, err = call(t.Context(), desc, nil, "/own", func(_ context.Context, _ *grpc.StreamDesc, _ *grpc.ClientConn, _ string, more ...grpc.CallOption) (grpc.ClientStream, error) {
		require.Len(t, more, 1)
		return ownStream{err: status.Error(codes.NotFound, "x")}, nil
	}, opts...)
	require.NoError(t, err)
	require.Nil(t, opts[:1][0])
	own, err := call(t.Context(), desc, nil, "/own", func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, ...grpc.CallOption) (grpc.ClientStream, error) {
		return ownStream{err: status.Error(codes.Internal, "x")}, nil
	})
	require.NoError(t, err)
	require.Error(t, own.SendMsg(wish("")))
	require.Error(t, own.RecvMsg(wish("")))
	_, err = own.Header()
	require.Error(t, err)
	require.Equal(t, counts{passed: 2, failed: 1, inFlight: 1}, countsOf(eng, "/own"))
}

// ownStream fails at everything.
type ownStream struct {
	grpc.ClientStream
	err error
}

func (s ownStream) SendMsg(any) error            { return s.err }
func (s ownStream) RecvMsg(any) error            { return s.err }
func (s ownStream) Header() (metadata.MD, error) { return nil, s.err }

// A client that neither reads nor cancels holds its place until the time is over; that is reported, and the stream goes on.
func TestMaxHold(t *testing.T) {
	clk := clock.NewManual()
	faults := make(chan cordon.FaultEvent, 9)
	eng := func() *cordon.Engine {
		return newEngine(t, atOnce(watch, 1), cordon.WithClock(clk), cordon.WithObserver(cordon.Observer{Fault: func(f cordon.FaultEvent) { faults <- f }}))
	}
	here, there := eng(), eng()
	hold := cordongrpc.WithMaxHold(time.Hour)
	w := newWorld(t, cordongrpc.ServerOptions(there, hold), cordongrpc.DialOptions(here, hold)...)
	s, err := w.Watch(t.Context(), wish("hold"))
	require.NoError(t, err)
	_, err = s.Recv()
	require.NoError(t, err)
	clk.Advance(time.Hour - 1)
	require.EqualValues(t, 1, countsOf(here, watch).inFlight)
	clk.Advance(1)
	for range 2 {
		f := <-faults
		require.Equal(t, "WithMaxHold of adapter/grpc", f.Where)
		require.Equal(t, watch, f.Resource)
		require.ErrorContains(t, f.Err, "held for longer than WithMaxHold")
	}
	quiet(t, here, there)
	require.Equal(t, ended(cordon.Ignored), countsOf(here, watch))
	other, err := w.Watch(t.Context(), wish(""))
	require.NoError(t, err)
	_, err = drain(other)
	require.NoError(t, err)
	close(w.impl.hold)
	_, err = drain(s)
	require.NoError(t, err)
	quiet(t, here, there)
	require.Equal(t, counts{passed: 2, ignored: 1, succeeded: 1}, countsOf(here, watch))
	require.Equal(t, counts{passed: 2, ignored: 1, succeeded: 1}, countsOf(there, watch))
	require.Empty(t, faults)
	require.Zero(t, clk.Waiters(), "streams that end need no timer")
}
