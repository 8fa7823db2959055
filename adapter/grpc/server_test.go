package cordongrpc_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/cordon-go/cordon"
	cordongrpc "github.com/cordon-go/cordon/adapter/grpc"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

// What is the caller's fault, or a limit's, is no illness of the called, on either side (faults #69).
var outcomes = map[string]cordon.Outcome{
	"": cordon.Success, "plain": cordon.Failure, "eof": cordon.Failure,
	"Canceled": cordon.Ignored, "Unknown": cordon.Failure, "InvalidArgument": cordon.Success, "DeadlineExceeded": cordon.Failure,
	"NotFound": cordon.Success, "AlreadyExists": cordon.Success, "PermissionDenied": cordon.Success, "ResourceExhausted": cordon.Ignored,
	"FailedPrecondition": cordon.Success, "Aborted": cordon.Success, "OutOfRange": cordon.Success, "Unimplemented": cordon.Failure,
	"Internal": cordon.Failure, "Unavailable": cordon.Failure, "DataLoss": cordon.Failure, "Unauthenticated": cordon.Success,
}

func TestOutcomes(t *testing.T) {
	for w, want := range outcomes {
		t.Run("wish "+w, func(t *testing.T) {
			t.Parallel()
			here, there := newEngine(t, cordon.Rules{}), newEngine(t, cordon.Rules{})
			world := newWorld(t, cordongrpc.ServerOptions(there), cordongrpc.DialOptions(here)...)
			_, err := world.Buy(t.Context(), wish(w))
			require.Equal(t, w == "", err == nil)
			in, err := world.Watch(t.Context(), wish(w))
			require.NoError(t, err)
			n, err := drain(in)
			require.Equal(t, 3, n)
			require.Equal(t, w == "", err == nil)
			quiet(t, here, there)
			for _, method := range []string{buy, watch} {
				require.Equal(t, ended(want), countsOf(here, method), "client of %s", method)
				require.Equal(t, ended(want), countsOf(there, method), "server of %s", method)
			}
		})
	}
}

// A handler that returns its context's error is as good as one that makes a status of it. The client sees Unknown, for gRPC knows no better.
func TestContextErrorsOfHandlers(t *testing.T) {
	eng := newEngine(t, cordon.Rules{})
	w := newWorld(t, cordongrpc.ServerOptions(eng))
	_, err := w.Buy(t.Context(), wish("cancelled"))
	require.Error(t, err)
	require.Equal(t, ended(cordon.Ignored), countsOf(eng, buy))
	_, err = w.Buy(t.Context(), wish("deadline"))
	require.Error(t, err)
	require.Equal(t, counts{passed: 2, ignored: 1, failed: 1}, countsOf(eng, buy))
}

// Callers who cancel open no breaker, however many they are; time-outs do (faults #37).
func TestCancelledCallersOpenNothing(t *testing.T) {
	rules := failuresInRow(buy, 100)
	here, there := newEngine(t, rules), newEngine(t, rules)
	w := newWorld(t, cordongrpc.ServerOptions(there), cordongrpc.DialOptions(here)...)
	for i := range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		came := make(chan error, 1)
		go func() {
			_, err := w.Buy(ctx, wish("hold"))
			came <- err
		}()
		eventually(t, func() bool { return countsOf(there, buy).passed == int64(i+1) })
		cancel()
		require.Equal(t, codes.Canceled, status.Code(<-came))
	}
	quiet(t, here, there)
	require.Equal(t, counts{passed: 100, ignored: 100}, countsOf(here, buy))
	require.Equal(t, counts{passed: 100, ignored: 100}, countsOf(there, buy))
	for range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		_, err := w.Buy(ctx, wish("hold"))
		require.Error(t, err)
		cancel()
	}
	quiet(t, here, there)
	// A time so short may be over before the engine is asked, or before the server has the call.
	require.Zero(t, countsOf(here, buy).succeeded)
	require.EqualValues(t, 100, countsOf(here, buy).ignored, "a deadline is no cancellation")
	require.EqualValues(t, 100, countsOf(there, buy).ignored, "a deadline is no cancellation")
	require.Positive(t, countsOf(here, buy).failed)
}

// An answer after the caller's deadline has failed, even if the handler does not look at the time.
func TestAnswersThatComeTooLate(t *testing.T) {
	eng := newEngine(t, cordon.Rules{})
	w := newWorld(t, cordongrpc.ServerOptions(eng))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _ = w.Buy(ctx, wish("dawdle")) // whose clock rings first is not said
	quiet(t, eng)
	require.Equal(t, ended(cordon.Failure), countsOf(eng, buy))

	// One that comes after the caller has given up is as good as it is.
	ctx, cancel = context.WithCancel(t.Context())
	came := make(chan error, 1)
	go func() {
		_, err := w.Buy(ctx, wish("dawdle"))
		came <- err
	}()
	eventually(t, func() bool { return countsOf(eng, buy).inFlight == 1 })
	cancel()
	require.Error(t, <-came)
	quiet(t, eng)
	require.Equal(t, counts{passed: 2, failed: 1, succeeded: 1}, countsOf(eng, buy))
}

// Failures of a handler whose caller has gone tell nothing: everything under it was cancelled.
func TestFailuresAfterTheCallerHasGone(t *testing.T) {
	eng := newEngine(t, cordon.Rules{})
	serve := cordongrpc.UnaryServerInterceptor(eng)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := serve(ctx, nil, &grpc.UnaryServerInfo{FullMethod: buy}, func(context.Context, any) (any, error) {
		cancel()
		return nil, status.Error(codes.Unavailable, "the database has cancelled")
	})
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.Equal(t, ended(cordon.Ignored), countsOf(eng, buy))
}

// A panic of a handler is a failure and goes on, and so does what ends the goroutine.
func TestPanicsGoOn(t *testing.T) {
	eng := newEngine(t, atOnce(buy, 1))
	serve := cordongrpc.UnaryServerInterceptor(eng)
	require.PanicsWithValue(t, "boom", func() {
		_, _ = serve(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: buy}, func(context.Context, any) (any, error) { panic("boom") })
	})
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = serve(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: buy}, func(context.Context, any) (any, error) {
			runtime.Goexit()
			return nil, nil
		})
	}()
	<-gone
	require.Equal(t, counts{passed: 2, failed: 2}, countsOf(eng, buy))

	stream := cordongrpc.StreamServerInterceptor(eng)
	require.PanicsWithValue(t, "boom", func() {
		_ = stream(nil, bareStream{ctx: t.Context()}, &grpc.StreamServerInfo{FullMethod: chat}, func(any, grpc.ServerStream) error { panic("boom") })
	})
	require.Equal(t, ended(cordon.Failure), countsOf(eng, chat))

	call := cordongrpc.UnaryClientInterceptor(eng)
	require.PanicsWithValue(t, "boom", func() {
		_ = call(t.Context(), "/out", nil, nil, nil, func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { panic("boom") })
	})
	require.Equal(t, ended(cordon.Failure), countsOf(eng, "/out"))
}

// bareStream is a server's stream with nothing but a context.
type bareStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s bareStream) Context() context.Context { return s.ctx }

func (bareStream) SetTrailer(metadata.MD) {}

// Health checks and reflection pass by default; options say otherwise.
func TestExcludedMethods(t *testing.T) {
	rules := cordon.Rules{Flow: []flow.Rule{{ID: "none", Resource: rule.Default(), Limit: 0, Per: day}}}
	here, there := newEngine(t, rules), newEngine(t, rules)
	w := newWorld(t, cordongrpc.ServerOptions(there), cordongrpc.DialOptions(here)...)
	hs := health.NewServer()
	check := func(conn grpc.ClientConnInterface) error {
		_, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
		return err
	}
	// A server must not get a service when it serves: the method is unknown to it, but it is not refused.
	require.Equal(t, codes.Unimplemented, status.Code(check(w.conn)))
	require.Empty(t, here.Snapshot().Resources)

	serve := cordongrpc.UnaryServerInterceptor(there, cordongrpc.WithExcluded("cordon.test.shop.Shop", "/a.B/C"))
	run := func(method string) error {
		_, err := serve(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: method}, func(context.Context, any) (any, error) { return nil, nil })
		return err
	}
	require.NoError(t, run(buy))
	require.NoError(t, run("/a.B/C"))
	require.ErrorIs(t, run("/a.B/D"), cordon.ErrBlocked)
	require.ErrorIs(t, run("/a.B"), cordon.ErrBlocked)
	require.ErrorIs(t, run("/cordon.test.shop.Shop2/Buy"), cordon.ErrBlocked)
	require.ErrorIs(t, run(grpc_health_v1.Health_Check_FullMethodName), cordon.ErrBlocked)
	for _, bad := range []string{"", "/", "/a.B", "/a.B/", "a.B/C", "/a.B/*", "a.*", "/a/b/c"} {
		require.PanicsWithValue(t, fmt.Sprintf(`cordongrpc: WithExcluded: %q is no method; want one as "/orders.Orders/Create", or a service as "orders.Orders"`, bad),
			func() { cordongrpc.WithExcluded(bad) })
	}
	hs.Shutdown()
}

// Names, origins, costs and outcomes by option.
func TestOptionsDescribeCalls(t *testing.T) {
	rules := cordon.Rules{Flow: []flow.Rule{{ID: "web", Resource: rule.Name("orders"), Limit: 5, Per: day, Origin: "web"}}}
	var ending cordongrpc.Ending
	eng := newEngine(t, rules)
	w := newWorld(t, cordongrpc.ServerOptions(eng,
		cordongrpc.WithName(func(_ context.Context, method string) string {
			if method == buy {
				return "orders"
			}
			return ""
		}),
		cordongrpc.WithOrigin(cordongrpc.MetadataKey("X-Caller")),
		cordongrpc.WithCost(func(context.Context, string) int { return 2 }),
		cordongrpc.WithOutcome(func(e cordongrpc.Ending) cordon.Outcome {
			ending = e
			if e.Code == codes.NotFound {
				return cordon.Failure
			}
			return e.Default
		})))
	web := metadata.AppendToOutgoingContext(t.Context(), "x-caller", "web")
	for range 2 {
		_, err := w.Buy(web, wish("NotFound"))
		require.Equal(t, codes.NotFound, status.Code(err))
	}
	_, err := w.Buy(web, wish(""))
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "5 of 2 each are spent")
	_, err = w.Buy(t.Context(), wish(""))
	require.NoError(t, err)
	require.Equal(t, counts{passed: 3, failed: 2, succeeded: 1}, countsOf(eng, "orders"))
	require.Equal(t, buy, ending.Method)
	require.Equal(t, "orders", ending.Resource)
	require.True(t, ending.Inbound)
	in, err := w.Watch(t.Context(), wish(""))
	require.NoError(t, err)
	_, err = drain(in)
	require.NoError(t, err)
	quiet(t, eng)
	require.Equal(t, ended(cordon.Success), countsOf(eng, watch))
}

// A hook that panics changes nothing, and is reported.
func TestOutcomeHooksMayPanic(t *testing.T) {
	faults := make(chan cordon.FaultEvent, 1)
	eng := newEngine(t, cordon.Rules{}, cordon.WithObserver(cordon.Observer{Fault: func(f cordon.FaultEvent) { faults <- f }}))
	serve := cordongrpc.UnaryServerInterceptor(eng, cordongrpc.WithOutcome(func(cordongrpc.Ending) cordon.Outcome { panic("hook") }))
	_, err := serve(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: buy}, func(context.Context, any) (any, error) { return nil, nil })
	require.NoError(t, err)
	require.Equal(t, ended(cordon.Success), countsOf(eng, buy))
	f := <-faults
	require.Equal(t, "WithOutcome of adapter/grpc", f.Where)
	require.Equal(t, buy, f.Resource)
}

// Codes are judged as options say, of methods or of all; the last word counts.
func TestWithCodes(t *testing.T) {
	eng := newEngine(t, cordon.Rules{})
	serve := cordongrpc.UnaryServerInterceptor(eng,
		cordongrpc.WithCodes(map[codes.Code]cordon.Outcome{codes.NotFound: cordon.Failure, codes.Unimplemented: cordon.Success}),
		cordongrpc.WithCodes(map[codes.Code]cordon.Outcome{codes.NotFound: cordon.Ignored}, buy),
		cordongrpc.WithCodes(map[codes.Code]cordon.Outcome{codes.OK: cordon.Ignored}, "a.B"))
	do := func(method string, code codes.Code) {
		_, _ = serve(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: method}, func(context.Context, any) (any, error) { return nil, status.Error(code, "") })
	}
	do(buy, codes.NotFound)
	require.Equal(t, ended(cordon.Ignored), countsOf(eng, buy))
	do("/x.Y/Z", codes.NotFound)
	require.Equal(t, ended(cordon.Failure), countsOf(eng, "/x.Y/Z"))
	do("/x.Y/Z2", codes.Unimplemented)
	require.Equal(t, ended(cordon.Success), countsOf(eng, "/x.Y/Z2"))
	do("/a.B/C", codes.OK)
	require.Equal(t, ended(cordon.Ignored), countsOf(eng, "/a.B/C"))
	do("/a.B/D", codes.Internal)
	require.Equal(t, ended(cordon.Failure), countsOf(eng, "/a.B/D"))
	require.Panics(t, func() { cordongrpc.WithCodes(map[codes.Code]cordon.Outcome{codes.OK: 9}) })
	require.Panics(t, func() { cordongrpc.WithCodes(nil, "nothing/") })
}

// Rules by entrance see what a call came in by.
func TestAsEntrance(t *testing.T) {
	eng := newEngine(t, cordon.Rules{Flow: []flow.Rule{{ID: "under", Resource: rule.Name("db"), Limit: 0, Per: day, Under: buy}}})
	query := func(ctx context.Context) error { return eng.Do(ctx, "db", func(context.Context) error { return nil }) }
	for _, opts := range [][]cordongrpc.Option{nil, {cordongrpc.AsEntrance()}} {
		var err error
		serve := cordongrpc.UnaryServerInterceptor(eng, opts...)
		_, _ = serve(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: buy}, func(ctx context.Context, _ any) (any, error) {
			err = query(ctx)
			return nil, nil
		})
		require.Equal(t, len(opts) > 0, err != nil)
		stream := cordongrpc.StreamServerInterceptor(eng, opts...)
		_ = stream(nil, bareStream{ctx: t.Context()}, &grpc.StreamServerInfo{FullMethod: buy}, func(_ any, ss grpc.ServerStream) error {
			err = query(ss.Context())
			return nil
		})
		require.Equal(t, len(opts) > 0, err != nil)
	}
}

// The engine's own classifier judges errors without a status, and nothing else.
func TestTheEnginesClassifierJudgesPlainErrors(t *testing.T) {
	errKnown := errors.New("known")
	eng := newEngine(t, cordon.Rules{}, cordon.WithClassifier(func(err error) cordon.Outcome {
		if errors.Is(err, errKnown) {
			return cordon.Success
		}
		return cordon.Failure
	}))
	serve := cordongrpc.UnaryServerInterceptor(eng)
	for err, want := range map[error]cordon.Outcome{errKnown: cordon.Success, errors.New("x"): cordon.Failure, status.Error(codes.NotFound, ""): cordon.Success} {
		method := "/x/" + err.Error()
		_, _ = serve(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: method}, func(context.Context, any) (any, error) { return nil, err })
		require.Equal(t, ended(want), countsOf(eng, method), err)
	}
}

// The probe of a half-open breaker whose call was cancelled gives its place back (faults #31), and so does one that another rule refuses (faults #28).
func TestProbesGiveTheirPlaceBack(t *testing.T) {
	clk := clock.NewManual()
	rules := cordon.Rules{
		Breaker: []breaker.Rule{{ID: "b", Resource: rule.Name(buy), Trip: breaker.Consecutive, Threshold: 1, Open: time.Second}},
		Flow:    []flow.Rule{{ID: "tenant", Resource: rule.Name(buy), Limit: 0, Origin: "greedy"}},
	}
	eng := newEngine(t, rules, cordon.WithClock(clk))
	origin := cordongrpc.WithOrigin(cordongrpc.MetadataKey("x-caller"))
	w := newWorld(t, append(cordongrpc.ServerOptions(eng, origin), grpc.InTapHandle(cordongrpc.TapHandle(eng, origin))))
	_, err := w.Buy(t.Context(), wish("Internal"))
	require.Equal(t, codes.Internal, status.Code(err))
	quiet(t, eng)
	_, err = w.Buy(t.Context(), wish(""))
	ref, ok := cordongrpc.FromStatus(err)
	require.True(t, ok)
	require.Equal(t, "breaker", ref.Kind)

	clk.Advance(time.Second)
	greedy := metadata.AppendToOutgoingContext(t.Context(), "x-caller", "greedy")
	_, err = w.Buy(greedy, wish(""))
	ref, ok = cordongrpc.FromStatus(err)
	require.True(t, ok)
	require.Equal(t, "flow", ref.Kind)

	ctx, cancel := context.WithCancel(t.Context())
	came := make(chan error, 1)
	go func() {
		_, err := w.Buy(ctx, wish("hold"))
		came <- err
	}()
	eventually(t, func() bool { return countsOf(eng, buy).inFlight == 1 })
	cancel()
	require.Error(t, <-came)
	quiet(t, eng)
	_, err = w.Buy(t.Context(), wish(""))
	require.NoError(t, err, "the next call is the probe")
	_, err = w.Buy(t.Context(), wish(""))
	require.NoError(t, err, "the breaker is closed")
}

func TestNothingWithoutAnEngine(t *testing.T) {
	require.PanicsWithValue(t, "cordongrpc: UnaryServerInterceptor needs an engine; got nil", func() { cordongrpc.UnaryServerInterceptor(nil) })
	require.Panics(t, func() { cordongrpc.StreamServerInterceptor(nil) })
	require.Panics(t, func() { cordongrpc.TapHandle(nil) })
	require.Panics(t, func() { cordongrpc.DialOptions(nil) })
	require.Panics(t, func() { cordongrpc.StreamClientInterceptor(nil) })
}
