package cordongrpc_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/cordon-go/cordon"
	cordongrpc "github.com/cordon-go/cordon/adapter/grpc"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

// What a client without cordon sees of a refusal is documented: the code, the details and the trailer.
func TestARefusalOnTheWire(t *testing.T) {
	clk := clock.NewManual()
	eng := newEngine(t, cordon.Rules{Flow: []flow.Rule{{ID: "per-second", Resource: rule.Name(buy), Limit: 4}}}, cordon.WithClock(clk))
	w := newWorld(t, cordongrpc.ServerOptions(eng))
	var trailer metadata.MD
	var err error
	for err == nil {
		_, err = w.Buy(t.Context(), wish(""), grpc.Trailer(&trailer))
	}
	st, ok := status.FromError(err)
	require.True(t, ok)
	require.Equal(t, codes.ResourceExhausted, st.Code())
	require.Contains(t, st.Message(), `cordon: flow rule "per-second" blocked "/cordon.test.shop.Shop/Buy"`)
	require.Len(t, st.Details(), 2)
	info := st.Details()[0].(*errdetails.ErrorInfo)
	require.Equal(t, "cordon", info.GetDomain())
	require.Equal(t, "RATE_LIMITED", info.GetReason())
	require.Equal(t, map[string]string{"kind": "flow", "rule": "per-second", "resource": buy, "limit": "4"}, info.GetMetadata())
	retry := st.Details()[1].(*errdetails.RetryInfo).GetRetryDelay().AsDuration()
	require.Positive(t, retry)
	require.Equal(t, []string{fmt.Sprint(retry.Milliseconds())}, trailer.Get("grpc-retry-pushback-ms"))

	ref, ok := cordongrpc.FromStatus(fmt.Errorf("buying: %w", err))
	require.True(t, ok)
	require.Equal(t, &cordongrpc.Refusal{
		Code: codes.ResourceExhausted, Message: "buying: " + err.Error(), Reason: "RATE_LIMITED", Kind: "flow", RuleID: "per-second", Resource: buy, Limit: 4, RetryAfter: retry,
	}, ref)
	clk.Advance(retry)
	_, err = w.Buy(t.Context(), wish(""))
	require.NoError(t, err, "it is worth trying then")
}

// A client's own refusal is both: an error of cordon's, and a status as a server would have sent.
func TestARefusalHere(t *testing.T) {
	eng := newEngine(t, perDay(buy, 0))
	w := newWorld(t, nil, cordongrpc.DialOptions(eng)...)
	_, err := w.Buy(t.Context(), wish(""))
	require.ErrorIs(t, err, cordon.ErrBlocked)
	require.ErrorIs(t, err, flow.ErrLimited)
	var blocked *cordon.BlockedError
	require.ErrorAs(t, err, &blocked)
	require.Equal(t, blocked.Error(), err.Error())
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	ref, ok := cordongrpc.FromStatus(err)
	require.True(t, ok)
	require.Equal(t, "per-day", ref.RuleID)
	require.Negative(t, ref.RetryAfter, "waiting never helps where the limit is 0")
	_, err = w.Watch(t.Context(), wish(""))
	require.NoError(t, err)
}

// Each kind of rule has its code, and options change that of those that say something about health.
func TestCodesOfRefusals(t *testing.T) {
	rules := cordon.Rules{
		Flow:        []flow.Rule{{ID: "flow", Resource: rule.Name("/flow"), Limit: 0}},
		Concurrency: []flow.ConcurrencyRule{{ID: "concurrency", Resource: rule.Name("/concurrency"), Limit: 0}},
		Breaker:     []breaker.Rule{{ID: "breaker", Resource: rule.Name("/breaker"), Trip: breaker.Consecutive, Threshold: 1, Open: time.Hour}},
	}
	eng := newEngine(t, rules, cordon.WithChecker(quota{}))
	authority := &cordon.BlockedError{Kind: cordon.KindAuthority, RuleID: "authority", Resource: "/authority"}
	system := &cordon.BlockedError{Kind: cordon.KindSystem, RuleID: "system", Resource: "/system"}
	for _, tt := range []struct {
		opts   []cordongrpc.Option
		codes  map[string]codes.Code
		reason string
	}{
		{nil, map[string]codes.Code{
			"flow": codes.ResourceExhausted, "concurrency": codes.ResourceExhausted, "breaker": codes.ResourceExhausted, "custom": codes.ResourceExhausted,
			"authority": codes.PermissionDenied, "system": codes.ResourceExhausted,
		}, ""},
		{[]cordongrpc.Option{cordongrpc.WithUnavailable(cordon.KindBreaker, cordon.KindSystem, cordon.KindAuthority)}, map[string]codes.Code{
			"flow": codes.ResourceExhausted, "concurrency": codes.ResourceExhausted, "breaker": codes.Unavailable, "custom": codes.ResourceExhausted,
			"authority": codes.PermissionDenied, "system": codes.Unavailable,
		}, ""},
	} {
		serve := cordongrpc.UnaryServerInterceptor(eng, tt.opts...)
		run := func(method string, err error) error {
			_, err = serve(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: method}, func(context.Context, any) (any, error) { return nil, err })
			return err
		}
		_ = run("/breaker", status.Error(codes.Internal, "x"))
		for kind, want := range tt.codes {
			var err error
			switch kind {
			case "authority":
				err = run("/ok", authority) // a handler passes on what an engine said
			case "system":
				err = run("/ok", fmt.Errorf("below: %w", system))
			default:
				err = run("/"+kind, nil)
			}
			require.Equal(t, want, status.Code(err), kind)
			ref, ok := cordongrpc.FromStatus(err)
			require.True(t, ok)
			require.Equal(t, kind, ref.Kind)
			require.Equal(t, want, ref.Code)
		}
	}
	require.EqualValues(t, 4, countsOf(eng, "/ok").ignored)
}

// quota refuses one resource.
type quota struct{}

func (quota) Name() string { return "quota" }

func (quota) Check(call *cordon.CheckedCall) error {
	if call.Request.Resource == "/custom" {
		return errors.New("nothing is left")
	}
	return nil
}

func (quota) Done(*cordon.CheckedCall, cordon.Outcome, time.Duration, bool) {}

// What fails in the engine's users, and what is no refusal.
func TestOtherErrorsOfEntering(t *testing.T) {
	eng := newEngine(t, cordon.Rules{}, cordon.WithFaultPolicy(cordon.BlockOnFault), cordon.WithChecker(broken{}))
	serve := cordongrpc.UnaryServerInterceptor(eng)
	_, err := serve(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: buy}, nil)
	require.Equal(t, codes.Unavailable, status.Code(err))

	eng = newEngine(t, cordon.Rules{})
	serve = cordongrpc.UnaryServerInterceptor(eng, cordongrpc.WithCost(func(context.Context, string) int { return -1 }))
	_, err = serve(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: buy}, nil)
	require.Equal(t, codes.Internal, status.Code(err))
	require.ErrorIs(t, err, cordon.ErrInvalidCost)
	_, ok := cordongrpc.FromStatus(err)
	require.False(t, ok)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = cordongrpc.UnaryServerInterceptor(eng)(ctx, nil, &grpc.UnaryServerInfo{FullMethod: buy}, nil)
	require.Equal(t, codes.Canceled, status.Code(err))
	require.ErrorIs(t, err, context.Canceled)

	for _, err := range []error{nil, errors.New("x"), status.Error(codes.ResourceExhausted, "another's"), context.Canceled} {
		_, ok := cordongrpc.FromStatus(err)
		require.False(t, ok)
	}
	other, err := status.New(codes.ResourceExhausted, "x").WithDetails(&errdetails.ErrorInfo{Domain: "pubsub.example", Reason: "RATE_LIMITED"})
	require.NoError(t, err)
	_, ok = cordongrpc.FromStatus(other.Err())
	require.False(t, ok)
}

// broken is a checker with a bug.
type broken struct{ quota }

func (broken) Check(*cordon.CheckedCall) error { panic("bug") }

// A name that cannot be sent makes no refusal fail.
func TestRefusalsWithBytesThatAreNoText(t *testing.T) {
	eng := newEngine(t, perDay("\xff", 0))
	w := newWorld(t, cordongrpc.ServerOptions(eng, cordongrpc.WithName(func(context.Context, string) string { return "\xff" })))
	_, err := w.Buy(t.Context(), wish(""))
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
}

// A server that limits itself opens no breaker of its clients (faults #70), nor does one that passes on what another refused it.
func TestRefusalsAreNoIllness(t *testing.T) {
	here, there := newEngine(t, failuresInRow(buy, 1)), newEngine(t, perDay(buy, 0))
	w := newWorld(t, cordongrpc.ServerOptions(there, cordongrpc.WithUnavailable(cordon.KindFlow)), cordongrpc.DialOptions(here)...)
	middle := newEngine(t, failuresInRow(buy, 1))
	serve := cordongrpc.UnaryServerInterceptor(middle)
	for range 100 {
		_, err := serve(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: buy}, func(ctx context.Context, _ any) (any, error) {
			return w.Buy(ctx, wish(""))
		})
		require.Equal(t, codes.Unavailable, status.Code(err))
	}
	require.Equal(t, counts{passed: 100, ignored: 100}, countsOf(here, buy))
	require.Equal(t, counts{passed: 100, ignored: 100}, countsOf(middle, buy))
}

// gRPC's own retries come back when the server says.
func TestPushbackIsObeyed(t *testing.T) {
	// The limit can never let a call pass: the pushback tells not to try again, whatever the policy says.
	eng := newEngine(t, perDay(buy, 0))
	policy := `{"methodConfig":[{"name":[{}],"retryPolicy":{"maxAttempts":5,"initialBackoff":"0.001s","maxBackoff":"0.001s","backoffMultiplier":1,"retryableStatusCodes":["RESOURCE_EXHAUSTED"]}}]}`
	w := newWorld(t, cordongrpc.ServerOptions(eng), grpc.WithDefaultServiceConfig(policy))
	_, err := w.Buy(t.Context(), wish(""))
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	r, _ := eng.ResourceSnapshot(buy)
	require.EqualValues(t, 1, r.Rules[0].Blocked)

	// One that lets them pass in a while is tried then. The client's interceptor sees one call.
	eng = newEngine(t, cordon.Rules{Flow: []flow.Rule{{ID: "slow", Resource: rule.Name(buy), Limit: 20}}})
	here := newEngine(t, cordon.Rules{})
	w = newWorld(t, cordongrpc.ServerOptions(eng), append(cordongrpc.DialOptions(here), grpc.WithDefaultServiceConfig(policy))...)
	for range 22 {
		_, err := w.Buy(t.Context(), wish(""))
		require.NoError(t, err)
	}
	require.Equal(t, counts{passed: 22, succeeded: 22}, countsOf(here, buy))
}
