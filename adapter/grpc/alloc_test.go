package cordongrpc_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/tap"

	"github.com/cordon-go/cordon"
	cordongrpc "github.com/cordon-go/cordon/adapter/grpc"
)

// allocating is a function and how often it may allocate.
type allocating struct {
	most float64
	run  func()
}

// An admitted unary call costs no allocation of the interceptors' own, whatever rules look into its message. What gRPC itself allocates because there is an interceptor is not
// theirs. Looking at metadata costs one, for gRPC copies them; a tap five, most of them for what waits for the end of a call that reaches nobody; a refusal on a client one.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	order := of(7, "")
	info := &grpc.UnaryServerInfo{FullMethod: buy}
	handler := func(context.Context, any) (any, error) { return order, nil }
	invoker := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }
	server := func(ctx context.Context, rules cordon.Rules) func() {
		serve := cordongrpc.UnaryServerInterceptor(newEngine(t, rules, withWalker()))
		return func() {
			if _, err := serve(ctx, order, info, handler); err != nil {
				t.Error(err)
			}
		}
	}
	client := func(rules cordon.Rules, ok bool) func() {
		call := cordongrpc.UnaryClientInterceptor(newEngine(t, rules, withWalker()))
		return func() {
			if err := call(context.Background(), buy, order, order, nil, invoker); (err == nil) != ok {
				t.Error(err)
			}
		}
	}
	const many = 1e7
	here := metadata.NewIncomingContext(context.Background(), metadata.Pairs("x-user", "ann"))
	tapEngine := newEngine(t, atOnce(buy, 1))
	handle, serve := cordongrpc.TapHandle(tapEngine), cordongrpc.UnaryServerInterceptor(tapEngine)
	cancellable, cancel := context.WithCancel(context.Background())
	defer cancel()
	for name, tt := range map[string]allocating{
		"a server's":                  {0, server(context.Background(), perDay(buy, many))},
		"a server's, by message":      {0, server(context.Background(), perValue(buy, "arg[0].customer.id", many))},
		"a server's, by metadata":     {1, server(here, perValue(buy, `meta["x-user"]`, many))},
		"a client's":                  {0, client(perDay(buy, many), true)},
		"a client's, by message":      {0, client(perValue(buy, "arg[0].customer.id", many), true)},
		"a client's, that is refused": {1, client(perDay(buy, 0), false)},
		"a server's with a tap": {5, func() {
			ctx, err := handle(cancellable, &tap.Info{FullMethodName: buy})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := serve(ctx, order, info, handler); err != nil {
				t.Error(err)
			}
		}},
	} {
		got := testing.AllocsPerRun(200, tt.run)
		t.Log(name, got)
		require.LessOrEqual(t, got, tt.most, name)
	}
}

func BenchmarkUnaryServer(b *testing.B) {
	serve := cordongrpc.UnaryServerInterceptor(newEngine(b, cordon.Rules{}))
	info := &grpc.UnaryServerInfo{FullMethod: buy}
	handler := func(context.Context, any) (any, error) { return nil, nil }
	b.ReportAllocs()
	for b.Loop() {
		if _, err := serve(context.Background(), nil, info, handler); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnaryClient(b *testing.B) {
	call := cordongrpc.UnaryClientInterceptor(newEngine(b, cordon.Rules{}))
	invoker := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		if err := call(context.Background(), buy, nil, nil, nil, invoker); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTap(b *testing.B) {
	eng := newEngine(b, cordon.Rules{})
	handle, serve := cordongrpc.TapHandle(eng), cordongrpc.UnaryServerInterceptor(eng)
	info := &grpc.UnaryServerInfo{FullMethod: buy}
	handler := func(context.Context, any) (any, error) { return nil, nil }
	b.ReportAllocs()
	for b.Loop() {
		stream, cancel := context.WithCancel(context.Background())
		ctx, err := handle(stream, &tap.Info{FullMethodName: buy})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := serve(ctx, nil, info, handler); err != nil {
			b.Fatal(err)
		}
		cancel()
	}
}
