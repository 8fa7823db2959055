package cordongrpc_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/cordon-go/cordon"
	cordongrpc "github.com/cordon-go/cordon/adapter/grpc"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

// tapping makes a server's options with a tap.
func tapping(eng *cordon.Engine, opts ...cordongrpc.Option) []grpc.ServerOption {
	return append(cordongrpc.ServerOptions(eng, opts...), grpc.InTapHandle(cordongrpc.TapHandle(eng, opts...)))
}

// What the tap refuses no handler and no interceptor sees; what it admits is asked and counted once.
func TestTapRefusesBeforeTheMessage(t *testing.T) {
	eng := newEngine(t, perDay(buy, 2))
	reached := 0
	first := grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		reached++
		return next(ctx, req)
	})
	w := newWorld(t, append([]grpc.ServerOption{first}, tapping(eng)...))
	for i := range 5 {
		var trailer metadata.MD
		_, err := w.Buy(t.Context(), wish(""), grpc.Trailer(&trailer))
		require.Equal(t, i >= 2, err != nil)
		if err == nil {
			continue
		}
		require.Equal(t, codes.ResourceExhausted, status.Code(err))
		ref, ok := cordongrpc.FromStatus(err)
		require.True(t, ok)
		require.Equal(t, "per-day", ref.RuleID)
		require.Positive(t, ref.RetryAfter)
	}
	quiet(t, eng)
	require.Equal(t, 2, reached)
	require.Equal(t, counts{passed: 2, succeeded: 2}, countsOf(eng, buy))
	r, _ := eng.ResourceSnapshot(buy)
	require.EqualValues(t, 3, r.Rules[0].Blocked)
}

// Calls and streams that come by the tap end as others do.
func TestTappedCallsEndAsOthers(t *testing.T) {
	for w, want := range outcomes {
		eng := newEngine(t, atOnce(buy, 1))
		world := newWorld(t, tapping(eng))
		_, _ = world.Buy(t.Context(), wish(w))
		in, err := world.Watch(t.Context(), wish(w))
		require.NoError(t, err)
		_, _ = drain(in)
		quiet(t, eng)
		require.Equal(t, ended(want), countsOf(eng, buy), w)
		require.Equal(t, ended(want), countsOf(eng, watch), w)
	}
}

// A call that never reaches an interceptor is ended all the same, when its stream is.
func TestTappedCallsThatReachNobody(t *testing.T) {
	eng := newEngine(t, atOnce("/cordon.test.shop.Shop/Nothing", 1))
	w := newWorld(t, tapping(eng))
	for i := range 50 {
		err := w.conn.Invoke(t.Context(), "/cordon.test.shop.Shop/Nothing", wish(""), wish(""))
		require.Equal(t, codes.Unimplemented, status.Code(err))
		quiet(t, eng)
		n := int64(i + 1)
		require.Equal(t, counts{passed: n, ignored: n}, countsOf(eng, "/cordon.test.shop.Shop/Nothing"))
	}
	// With no interceptor at all it lasts as long as the stream.
	eng = newEngine(t, atOnce(watch, 1))
	w = newWorld(t, []grpc.ServerOption{grpc.InTapHandle(cordongrpc.TapHandle(eng))})
	ctx, cancel := context.WithCancel(t.Context())
	s, err := w.Watch(ctx, wish("hold"))
	require.NoError(t, err)
	_, err = s.Recv()
	require.NoError(t, err)
	require.EqualValues(t, 1, countsOf(eng, watch).inFlight)
	cancel()
	quiet(t, eng)
	require.Equal(t, ended(cordon.Ignored), countsOf(eng, watch))
	_, err = w.Watch(t.Context(), wish(""))
	require.NoError(t, err)
}

// Whoever comes first, the interceptor or the end of the stream, ends the call, and nobody twice.
func TestTappedCallsEndOnce(t *testing.T) {
	eng := newEngine(t, atOnce(buy, 100))
	handle, serve := cordongrpc.TapHandle(eng), cordongrpc.UnaryServerInterceptor(eng)
	var passed, served int64
	for range 2000 {
		ctx, cancel := context.WithCancel(t.Context())
		tapped, err := handle(ctx, &tap.Info{FullMethodName: buy})
		require.NoError(t, err)
		passed++
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			cancel()
		}()
		_, err = serve(tapped, nil, &grpc.UnaryServerInfo{FullMethod: buy}, func(context.Context, any) (any, error) {
			served++
			return nil, nil
		})
		if err != nil {
			require.Equal(t, codes.Canceled, status.Code(err))
		}
		<-gone
	}
	quiet(t, eng)
	c := countsOf(eng, buy)
	require.Equal(t, counts{passed: passed, succeeded: served, ignored: passed - served}, c)

	// A call that has ended before the interceptor sees it is not served.
	ctx, cancel := context.WithCancel(t.Context())
	tapped, err := handle(ctx, &tap.Info{FullMethodName: chat})
	require.NoError(t, err)
	cancel()
	eventually(t, func() bool { return countsOf(eng, chat).ignored == 1 })
	stream := cordongrpc.StreamServerInterceptor(eng)
	err = stream(nil, bareStream{ctx: tapped}, &grpc.StreamServerInfo{FullMethod: chat}, func(any, grpc.ServerStream) error { panic("it is over") })
	require.Equal(t, codes.Canceled, status.Code(err))
	require.Equal(t, ended(cordon.Ignored), countsOf(eng, chat))
}

// The tap does not wait: what may wait is left to the interceptor, as the connection's other calls would wait too.
func TestTapDoesNotWait(t *testing.T) {
	clk := clock.NewManual()
	rules := cordon.Rules{
		Flow:        []flow.Rule{{ID: "pace", Resource: rule.Name(buy), Limit: 1, Mode: flow.Pace, MaxWait: time.Minute}},
		Concurrency: []flow.ConcurrencyRule{{ID: "queue", Resource: rule.Name(watch), Limit: 1, MaxWait: time.Minute}},
	}
	eng := newEngine(t, rules, cordon.WithClock(clk))
	w := newWorld(t, tapping(eng))
	_, err := w.Buy(t.Context(), wish(""))
	require.NoError(t, err)
	came := make(chan error, 1)
	go func() {
		_, err := w.Buy(t.Context(), wish(""))
		came <- err
	}()
	clk.BlockUntil(1)
	s, err := w.Watch(t.Context(), wish("hold"))
	require.NoError(t, err)
	_, err = s.Recv()
	require.NoError(t, err, "the connection does not wait")
	second, err := w.Watch(t.Context(), wish(""))
	require.NoError(t, err)
	clk.BlockUntil(2)
	close(w.impl.hold)
	_, err = drain(s)
	require.NoError(t, err)
	_, err = drain(second)
	require.NoError(t, err)
	clk.Advance(time.Second)
	require.NoError(t, <-came)
	quiet(t, eng)
	require.Equal(t, counts{passed: 2, succeeded: 2}, countsOf(eng, watch))
}

// Excluded methods pass the tap, and a second interceptor of the engine is a call of its own, as without a tap.
func TestTapAndItsNeighbours(t *testing.T) {
	eng := newEngine(t, cordon.Rules{Flow: []flow.Rule{{ID: "none", Resource: rule.Default(), Limit: 0, Per: day}}})
	handle := cordongrpc.TapHandle(eng)
	ctx, err := handle(t.Context(), &tap.Info{FullMethodName: grpc_health_v1.Health_Check_FullMethodName})
	require.NoError(t, err)
	require.Equal(t, t.Context(), ctx)

	eng = newEngine(t, cordon.Rules{})
	w := newWorld(t, append(tapping(eng), cordongrpc.ServerOptions(eng)...))
	_, err = w.Buy(t.Context(), wish(""))
	require.NoError(t, err)
	quiet(t, eng)
	require.Equal(t, counts{passed: 2, succeeded: 2}, countsOf(eng, buy))

	// Another engine's interceptor knows nothing of it.
	other := newEngine(t, cordon.Rules{})
	w = newWorld(t, append(cordongrpc.ServerOptions(other), grpc.InTapHandle(cordongrpc.TapHandle(eng))))
	_, err = w.Buy(t.Context(), wish(""))
	require.NoError(t, err)
	quiet(t, eng, other)
	require.Equal(t, ended(cordon.Success), countsOf(other, buy))
	require.EqualValues(t, 1, countsOf(eng, buy).ignored)
}

// What ends the goroutine while the rest is asked gives back what the tap holds.
func TestTappedCallsSurviveObservers(t *testing.T) {
	rules := perValue(buy, "arg[0].customer.id", 0)
	rules.Concurrency = atOnce(buy, 1).Concurrency
	eng := newEngine(t, rules, withWalker(), cordon.WithObserver(cordon.Observer{Block: func(cordon.BlockEvent) { runtime.Goexit() }}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tapped, err := cordongrpc.TapHandle(eng)(ctx, &tap.Info{FullMethodName: buy})
	require.NoError(t, err)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = cordongrpc.UnaryServerInterceptor(eng)(tapped, of(7, ""), &grpc.UnaryServerInfo{FullMethod: buy}, nil)
	}()
	<-gone
	quiet(t, eng)
	require.Equal(t, ended(cordon.Ignored), countsOf(eng, buy))
}

// What a call holds because of its message it gives back too, when it came by a tap.
func TestTappedCallsHoldTheirValue(t *testing.T) {
	eng := newEngine(t, valuesAtOnce(buy, "arg[0].customer.id", 1), withWalker())
	w := newWorld(t, tapping(eng))
	came := make(chan error, 1)
	go func() {
		_, err := w.Buy(t.Context(), of(7, "hold"))
		came <- err
	}()
	eventually(t, func() bool {
		r, _ := eng.ResourceSnapshot(buy)
		return len(r.Rules) == 1 && r.Rules[0].Usage == 1
	})
	_, err := w.Buy(t.Context(), of(7, ""))
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	close(w.impl.hold)
	require.NoError(t, <-came)
	quiet(t, eng)
	_, err = w.Buy(t.Context(), of(7, ""))
	require.NoError(t, err)
	quiet(t, eng)
	require.Equal(t, counts{passed: 3, succeeded: 2, ignored: 1}, countsOf(eng, buy))
}
