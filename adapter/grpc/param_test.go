package cordongrpc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/cordon-go/cordon"
	cordongrpc "github.com/cordon-go/cordon/adapter/grpc"
	"github.com/cordon-go/cordon/adapter/grpc/testdata/shop"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/extractor/protobuf"
	"github.com/cordon-go/cordon/extractor/protobuf/testdata/hybridapi"
	"github.com/cordon-go/cordon/extractor/protobuf/testdata/opaqueapi"
	"github.com/cordon-go/cordon/extractor/protobuf/testdata/openapi"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

// perValue limits so that no test ever sees the interval end.
func perValue(resource, param string, limit float64) cordon.Rules {
	return cordon.Rules{Param: []paramflow.Rule{{ID: "hot", Resource: rule.Name(resource), Param: param, Limit: limit, Per: day}}}
}

// valuesAtOnce limits what is in flight of one value.
func valuesAtOnce(resource, param string, limit float64) cordon.Rules {
	rules := perValue(resource, param, limit)
	rules.Param[0].Mode, rules.Param[0].Per = paramflow.Concurrency, 0
	return rules
}

func of(customer int64, wish string) *shop.Order {
	return &shop.Order{Customer: &shop.Customer{Id: customer}, Wish: wish}
}

func withWalker() cordon.Option { return cordon.WithWalker(protobuf.Walker()) }

// Rules look into what a call carries, on both sides: each value has its limit, and other values are not touched.
func TestUnaryCallsByValue(t *testing.T) {
	for param, hot := range map[string]func(ctx context.Context, id int64) (context.Context, *shop.Order){
		"arg[0].customer.id": func(ctx context.Context, id int64) (context.Context, *shop.Order) { return ctx, of(id, "") },
		`meta["x-user"]`: func(ctx context.Context, id int64) (context.Context, *shop.Order) {
			return metadata.AppendToOutgoingContext(ctx, "X-User", time.Duration(id).String()), of(1, "")
		},
		`meta["x-user"]+arg[0].customer.id`: func(ctx context.Context, id int64) (context.Context, *shop.Order) {
			return metadata.AppendToOutgoingContext(ctx, "x-user", "u"), of(id, "")
		},
	} {
		for _, side := range []string{"server", "server with a tap", "client"} {
			t.Run(param+" at a "+side, func(t *testing.T) {
				eng := newEngine(t, perValue(buy, param, 2), withWalker())
				var so []grpc.ServerOption
				var do []grpc.DialOption
				switch side {
				case "client":
					do = cordongrpc.DialOptions(eng)
				case "server with a tap":
					so = append(so, grpc.InTapHandle(cordongrpc.TapHandle(eng)))
					fallthrough
				case "server":
					so = append(so, cordongrpc.ServerOptions(eng)...)
				}
				w := newWorld(t, so, do...)
				for id := range int64(3) {
					for i := range 4 {
						ctx, order := hot(t.Context(), id)
						_, err := w.Buy(ctx, order)
						require.Equal(t, i >= 2, err != nil, "call %d of %d", i, id)
						if err != nil {
							ref, ok := cordongrpc.FromStatus(err)
							require.True(t, ok)
							require.Equal(t, "hot", ref.RuleID)
						}
					}
				}
				quiet(t, eng)
				require.EqualValues(t, 6, countsOf(eng, buy).succeeded)
			})
		}
	}
}

// Messages of every API level are looked into.
func TestEveryAPILevel(t *testing.T) {
	for name, m := range map[string]any{
		"open":   &openapi.Order{Customer: &openapi.Customer{Id: 7}},
		"hybrid": hybridapi.Order_builder{Customer: hybridapi.Customer_builder{Id: 7}.Build()}.Build(),
		"opaque": opaqueapi.Order_builder{Customer: opaqueapi.Customer_builder{Id: 7}.Build()}.Build(),
	} {
		eng := newEngine(t, perValue(buy, "arg[0].customer.id", 1), withWalker())
		serve := cordongrpc.UnaryServerInterceptor(eng)
		run := func() error {
			_, err := serve(t.Context(), m, &grpc.UnaryServerInfo{FullMethod: buy}, func(context.Context, any) (any, error) { return nil, nil })
			return err
		}
		require.NoError(t, run(), name)
		require.ErrorIs(t, run(), cordon.ErrBlocked, name)
	}
}

// The first message of a stream decides, on the server by RecvMsg, whatever the stream's shape; what it holds it holds until the stream ends.
func TestServerStreamsByFirstMessage(t *testing.T) {
	for _, tapped := range []bool{false, true} {
		rules := valuesAtOnce(watch, "arg[0].customer.id", 1)
		rules.Param = append(rules.Param, perValue(chat, "arg[0].customer.id", 1).Param[0])
		rules.Param[1].ID = "chats"
		rules.Concurrency = atOnce(watch, 5).Concurrency
		eng := newEngine(t, rules, withWalker())
		so := cordongrpc.ServerOptions(eng)
		if tapped {
			so = append(so, grpc.InTapHandle(cordongrpc.TapHandle(eng)))
		}
		w := newWorld(t, so)
		ctx, cancel := context.WithCancel(t.Context())
		first, err := w.Watch(ctx, of(7, "hold"))
		require.NoError(t, err)
		_, err = first.Recv()
		require.NoError(t, err)
		again := func(id int64) error {
			s, err := w.Watch(t.Context(), of(id, ""))
			require.NoError(t, err)
			_, err = drain(s)
			return err
		}
		var trailer metadata.MD
		err = again(7)
		ref, ok := cordongrpc.FromStatus(err)
		require.True(t, ok, "%v", err)
		require.Equal(t, "param", ref.Kind)
		require.NoError(t, again(8))
		cancel()
		quiet(t, eng)
		require.NoError(t, again(7))
		quiet(t, eng)
		require.Equal(t, counts{passed: 4, succeeded: 2, ignored: 2}, countsOf(eng, watch))

		for _, want := range []codes.Code{codes.OK, codes.ResourceExhausted} {
			s, err := w.Chat(t.Context())
			require.NoError(t, err)
			require.NoError(t, s.Send(of(7, "")))
			_, err = s.Recv()
			require.Equal(t, want, status.Code(err))
			if err == nil {
				require.NoError(t, s.Send(of(7, "")), "only the first message counts")
				_, err = s.Recv()
				require.NoError(t, err)
				require.NoError(t, s.CloseSend())
				_, err = s.Recv()
				require.ErrorIs(t, err, io.EOF)
			} else {
				trailer = s.Trailer()
			}
		}
		require.Len(t, trailer.Get("grpc-retry-pushback-ms"), 1)
		quiet(t, eng)
	}
}

// A handler that goes on after a refusal gets no further message.
func TestARefusedFirstMessageStaysRefused(t *testing.T) {
	eng := newEngine(t, perValue(chat, "arg[0].customer.id", 0), withWalker())
	stream := cordongrpc.StreamServerInterceptor(eng)
	received := 0
	ss := bareReceiver{bareStream{ctx: t.Context()}, &received}
	err := stream(nil, ss, &grpc.StreamServerInfo{FullMethod: chat}, func(_ any, ss grpc.ServerStream) error {
		err := ss.RecvMsg(of(7, ""))
		require.ErrorIs(t, err, cordon.ErrBlocked)
		require.ErrorIs(t, ss.RecvMsg(of(7, "")), cordon.ErrBlocked)
		return err
	})
	require.ErrorIs(t, err, cordon.ErrBlocked)
	require.Equal(t, 1, received)
	require.Equal(t, ended(cordon.Ignored), countsOf(eng, chat))

	// One that takes messages after it has returned leaves nothing behind.
	eng = newEngine(t, valuesAtOnce(chat, "arg[0].customer.id", 1), withWalker())
	var late grpc.ServerStream
	stream = cordongrpc.StreamServerInterceptor(eng)
	require.NoError(t, stream(nil, ss, &grpc.StreamServerInfo{FullMethod: chat}, func(_ any, ss grpc.ServerStream) error {
		late = ss
		return nil
	}))
	require.NoError(t, late.RecvMsg(of(7, "")))
	quiet(t, eng)
}

// bareReceiver is a server's stream on which any message comes.
type bareReceiver struct {
	bareStream
	received *int
}

func (s bareReceiver) RecvMsg(any) error {
	*s.received++
	return nil
}

// On the client SendMsg refuses, and the stream is over: nobody is left with one that cannot be used.
func TestClientStreamsByFirstMessage(t *testing.T) {
	here := newEngine(t, valuesAtOnce(watch, "arg[0].customer.id", 1), withWalker())
	there := newEngine(t, cordon.Rules{})
	w := newWorld(t, cordongrpc.ServerOptions(there), cordongrpc.DialOptions(here)...)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := w.Watch(ctx, of(7, "hold"))
	require.NoError(t, err)
	_, err = w.Watch(t.Context(), of(7, "hold"))
	require.ErrorIs(t, err, cordon.ErrBlocked)
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	eventually(t, func() bool { return countsOf(there, watch).inFlight <= 1 })
	cancel()
	quiet(t, here, there)
	require.Equal(t, counts{passed: 2, ignored: 2}, countsOf(here, watch))

	here = newEngine(t, perValue(chat, "arg[0].customer.id", 0), withWalker())
	w = newWorld(t, cordongrpc.ServerOptions(there), cordongrpc.DialOptions(here)...)
	s, err := w.Chat(t.Context())
	require.NoError(t, err)
	require.ErrorIs(t, s.Send(of(7, "")), cordon.ErrBlocked)
	require.ErrorIs(t, s.Send(of(8, "")), cordon.ErrBlocked, "the stream is over")
	_, err = s.Recv()
	require.ErrorIs(t, err, cordon.ErrBlocked)
	_, err = s.Header()
	require.ErrorIs(t, err, cordon.ErrBlocked)
	quiet(t, here, there)
	require.Equal(t, ended(cordon.Ignored), countsOf(here, chat))
}

// Each message is a call of a resource of its own; what is refused is told to whoever receives or sends it.
func TestMessages(t *testing.T) {
	name := chat + cordongrpc.MessageSuffix
	here, there := newEngine(t, cordon.Rules{}), newEngine(t, perDay(name, 3))
	w := newWorld(t, cordongrpc.ServerOptions(there, cordongrpc.WithMessages(nil)), cordongrpc.DialOptions(here)...)
	s, err := w.Chat(t.Context())
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, s.Send(wish("")))
		_, err = s.Recv()
		require.NoError(t, err)
	}
	require.NoError(t, s.Send(wish("")))
	_, err = s.Recv()
	ref, ok := cordongrpc.FromStatus(err)
	require.True(t, ok)
	require.Equal(t, name, ref.Resource)
	require.Len(t, s.Trailer().Get("grpc-retry-pushback-ms"), 1)
	quiet(t, here, there)
	require.Equal(t, counts{passed: 3, succeeded: 3}, countsOf(there, name))
	require.Equal(t, ended(cordon.Ignored), countsOf(there, chat))
	require.Equal(t, ended(cordon.Ignored), countsOf(here, chat), "a refusal is not the peer's illness")

	// A client keeps its stream and may send others; one that has a single message does not.
	here = newEngine(t, perValue("order", "arg[0].customer.id", 1), withWalker())
	byOrder := cordongrpc.WithMessages(func(_ context.Context, resource string, m any) string {
		if m.(*shop.Order).GetCustomer() == nil {
			return ""
		}
		require.Contains(t, []string{chat, watch}, resource)
		return "order"
	})
	w = newWorld(t, nil, cordongrpc.DialOptions(here, byOrder)...)
	s, err = w.Chat(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Send(of(7, "")))
	require.ErrorIs(t, s.Send(of(7, "")), cordon.ErrBlocked)
	require.NoError(t, s.Send(of(8, "")))
	require.NoError(t, s.Send(wish("")))
	require.NoError(t, s.CloseSend())
	n, err := drain(s)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	_, err = w.Watch(t.Context(), of(7, "hold"))
	require.ErrorIs(t, err, cordon.ErrBlocked)
	quiet(t, here)
}

// A rule that may wait slows a stream down instead of breaking it.
func TestMessagesWait(t *testing.T) {
	clk := clock.NewManual()
	rules := cordon.Rules{Flow: []flow.Rule{{ID: "pace", Resource: rule.Name("m"), Limit: 1, Mode: flow.Pace, MaxWait: time.Minute}}}
	eng := newEngine(t, rules, cordon.WithClock(clk))
	w := newWorld(t, cordongrpc.ServerOptions(eng, cordongrpc.WithMessages(func(context.Context, string, any) string { return "m" })))
	s, err := w.Chat(t.Context())
	require.NoError(t, err)
	for i := range 3 {
		require.NoError(t, s.Send(wish("")))
		if i > 0 {
			clk.BlockUntil(1)
			clk.Advance(time.Second)
		}
		_, err = s.Recv()
		require.NoError(t, err)
	}
	// Who waits stops waiting when the stream ends.
	require.NoError(t, s.Send(wish("")))
	clk.BlockUntil(1)
	w.cut()
	quiet(t, eng)
}

// The peer's address, values by code and a namer.
func TestCarriers(t *testing.T) {
	at := func(addr net.Addr) context.Context { return peer.NewContext(t.Context(), &peer.Peer{Addr: addr}) }
	tcp := func(ip string) context.Context { return at(&net.TCPAddr{IP: net.ParseIP(ip), Port: 7}) }
	for param, ctxs := range map[string][3]context.Context{ // the first two have the same value, the last another one
		"peer.ip":      {tcp("10.0.0.1"), tcp("::ffff:10.0.0.1"), tcp("10.0.0.2")},
		"client.ip":    {tcp("2001:db8::1"), at(&net.UDPAddr{IP: net.ParseIP("2001:db8::1"), Port: 9}), at(&net.UnixAddr{Name: "@"})},
		"value.tenant": {context.WithValue(t.Context(), tenantKey{}, "acme"), context.WithValue(t.Context(), tenantKey{}, "acme"), t.Context()},
	} {
		eng := newEngine(t, perValue(buy, param, 1))
		serve := cordongrpc.UnaryServerInterceptor(eng, cordongrpc.WithValues(func(ctx context.Context, key string) any {
			require.Equal(t, "tenant", key)
			return ctx.Value(tenantKey{})
		}))
		for i, ctx := range ctxs {
			_, err := serve(ctx, nil, &grpc.UnaryServerInfo{FullMethod: buy}, func(context.Context, any) (any, error) { return nil, nil })
			require.Equal(t, i == 1, errors.Is(err, cordon.ErrBlocked), "%s, call %d", param, i)
		}
	}
	eng := newEngine(t, cordon.Rules{}, withWalker())
	namer, err := eng.Namer("resource+arg[0].customer.id")
	require.NoError(t, err)
	w := newWorld(t, cordongrpc.ServerOptions(eng, cordongrpc.WithNamer(namer)))
	_, err = w.Buy(t.Context(), of(7, ""))
	require.NoError(t, err)
	require.Equal(t, ended(cordon.Success), countsOf(eng, buy+"|7"))
}

type tenantKey struct{}

// A stream whose first message has not come yet lacks no value: rules that count absent ones wait for the message, on both sides.
func TestStreamsLackNothingBeforeTheirFirstMessage(t *testing.T) {
	rules := perValue(chat, "arg[0].customer.id", 1)
	rules.Param[0].Absent = paramflow.Count
	for _, tapped := range []bool{false, true} {
		here, there := newEngine(t, rules, withWalker()), newEngine(t, rules, withWalker())
		so := cordongrpc.ServerOptions(there)
		if tapped {
			so = tapping(there)
		}
		w := newWorld(t, so, cordongrpc.DialOptions(here)...)
		for i, order := range []*shop.Order{of(1, ""), of(2, ""), wish(""), wish("")} {
			s, err := w.Chat(t.Context())
			require.NoError(t, err)
			err = s.Send(order)
			require.Equal(t, i == 3, errors.Is(err, cordon.ErrBlocked), "stream %d", i)
			if err == nil {
				_, err = s.Recv()
				require.NoError(t, err)
				require.NoError(t, s.CloseSend())
				_, err = drain(s)
				require.NoError(t, err)
			}
		}
		quiet(t, here, there)
	}
}
