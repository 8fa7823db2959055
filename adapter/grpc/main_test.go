package cordongrpc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/adapter/grpc/testdata/shop"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	day = 24 * time.Hour

	buy    = shop.Shop_Buy_FullMethodName
	watch  = shop.Shop_Watch_FullMethodName
	upload = shop.Shop_Upload_FullMethodName
	chat   = shop.Shop_Chat_FullMethodName
)

func newEngine(t testing.TB, rules cordon.Rules, opts ...cordon.Option) *cordon.Engine {
	t.Helper()
	eng, err := cordon.New(append(opts, cordon.WithRules(rules))...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, eng.Close()) })
	return eng
}

func atOnce(resource string, limit int) cordon.Rules {
	return cordon.Rules{Concurrency: []flow.ConcurrencyRule{{ID: "at-once", Resource: rule.Name(resource), Limit: limit}}}
}

// perDay limits so that no test ever sees the interval end.
func perDay(resource string, limit float64) cordon.Rules {
	return cordon.Rules{Flow: []flow.Rule{{ID: "per-day", Resource: rule.Name(resource), Limit: limit, Per: day}}}
}

func failuresInRow(resource string, n float64) cordon.Rules {
	return cordon.Rules{Breaker: []breaker.Rule{{
		ID: "in-row", Resource: rule.Name(resource), Trip: breaker.Consecutive, Threshold: n, Open: day,
	}}}
}

// counts is what a resource has seen: passed, succeeded, failed, ignored, in flight.
type counts struct{ passed, succeeded, failed, ignored, inFlight int64 }

func countsOf(eng *cordon.Engine, resource string) counts {
	r, _ := eng.ResourceSnapshot(resource)
	return counts{r.Passed, r.Succeeded, r.Failed, r.Ignored, r.InFlight}
}

func ended(o cordon.Outcome) counts {
	switch o {
	case cordon.Success:
		return counts{passed: 1, succeeded: 1}
	case cordon.Failure:
		return counts{passed: 1, failed: 1}
	default:
		return counts{passed: 1, ignored: 1}
	}
}

// eventually waits for what another goroutine or the other side does.
func eventually(t testing.TB, f func() bool, what ...any) {
	t.Helper()
	require.Eventually(t, f, 20*time.Second, time.Millisecond, what...)
}

// quiet waits until nothing is in flight in the engines.
func quiet(t testing.TB, engines ...*cordon.Engine) {
	t.Helper()
	eventually(t, func() bool {
		for _, eng := range engines {
			for _, r := range eng.Snapshot().Resources {
				if r.InFlight != 0 {
					return false
				}
				for _, u := range r.Rules {
					if (u.Kind == "concurrency" || u.Kind == "param") && u.Usage != 0 {
						return false
					}
				}
			}
		}
		return true
	}, "something is still in flight")
}

// A server does what orders wish for.
type server struct {
	shop.UnimplementedShopServer
	hold   chan struct{}    // orders that wish to be held wait for it
	served func(string)     // nil, or told each wish that a handler got
	errs   map[string]error // what wishes are answered with
}

func newServer() *server {
	return &server{hold: make(chan struct{}), errs: map[string]error{
		"plain": errors.New("a plain error"), "eof": io.EOF,
		"cancelled": context.Canceled, "deadline": context.DeadlineExceeded,
	}}
}

func (s *server) do(ctx context.Context, wish string) error {
	if s.served != nil {
		s.served(wish)
	}
	switch wish {
	case "":
		return nil
	case "hold":
		select {
		case <-s.hold:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	case "dawdle": // until nobody waits any more
		<-ctx.Done()
		return nil
	}
	if err, ok := s.errs[wish]; ok {
		return err
	}
	for c := codes.OK; c <= codes.Unauthenticated; c++ {
		if c.String() == wish {
			return status.Error(c, wish)
		}
	}
	panic("nobody grants " + wish)
}

func (s *server) Buy(ctx context.Context, o *shop.Order) (*shop.Receipt, error) {
	return &shop.Receipt{From: "buy"}, s.do(ctx, o.GetWish())
}

// Watch sends three receipts.
func (s *server) Watch(o *shop.Order, out grpc.ServerStreamingServer[shop.Receipt]) error {
	for range 3 {
		if err := out.Send(&shop.Receipt{From: "watch"}); err != nil {
			return err
		}
	}
	return s.do(out.Context(), o.GetWish())
}

func (s *server) Upload(in grpc.ClientStreamingServer[shop.Order, shop.Receipt]) error {
	for {
		o, err := in.Recv()
		if err == io.EOF {
			return in.SendAndClose(&shop.Receipt{From: "upload"})
		}
		if err == nil {
			err = s.do(in.Context(), o.GetWish())
		}
		if err != nil {
			return err
		}
	}
}

// Chat answers each order.
func (s *server) Chat(both grpc.BidiStreamingServer[shop.Order, shop.Receipt]) error {
	for {
		o, err := both.Recv()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = s.do(both.Context(), o.GetWish())
		}
		if err == nil {
			err = both.Send(&shop.Receipt{From: "chat"})
		}
		if err != nil {
			return err
		}
	}
}

// world is a server and a client of it, in memory.
type world struct {
	shop.ShopClient
	conn   *grpc.ClientConn
	server *grpc.Server
	impl   *server
	listen *bufconn.Listener

	mu    sync.Mutex
	conns []net.Conn // the client's
}

func newWorld(t testing.TB, so []grpc.ServerOption, do ...grpc.DialOption) *world {
	t.Helper()
	w := &world{server: grpc.NewServer(so...), impl: newServer(), listen: bufconn.Listen(1 << 20)}
	shop.RegisterShopServer(w.server, w.impl)
	served := make(chan error, 1)
	go func() { served <- w.server.Serve(w.listen) }()
	t.Cleanup(func() {
		w.server.Stop()
		<-served
	})
	do = append(do, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(w.dial))
	var err error
	w.conn, err = grpc.NewClient("passthrough:///shop", do...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.conn.Close() })
	w.ShopClient = shop.NewShopClient(w.conn)
	return w
}

func (w *world) dial(ctx context.Context, _ string) (net.Conn, error) {
	c, err := w.listen.DialContext(ctx)
	if err == nil {
		w.mu.Lock()
		w.conns = append(w.conns, c)
		w.mu.Unlock()
	}
	return c, err
}

// cut breaks the client's connections off.
func (w *world) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.conns = nil
}

func wish(s string) *shop.Order { return &shop.Order{Wish: s} }

// drain reads a stream to its end, and returns how many messages came and what ended it; nil is a good end.
func drain(in grpc.ServerStreamingClient[shop.Receipt]) (n int, err error) {
	for {
		if _, err := in.Recv(); err != nil {
			if err == io.EOF {
				err = nil
			}
			return n, err
		}
		n++
	}
}
