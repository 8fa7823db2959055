package cordongrpc

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/system"
)

// still is a connection's picker that always has it.
type still struct{ err error }

func (s still) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{}, s.err
}

// newPicker returns a picker over n connected instances.
func newPicker(t testing.TB, n int) (*picker, *isolation.Group) {
	eng, err := cordon.New(cordon.WithRules(cordon.Rules{Isolation: []isolation.Rule{{Service: rule.Default()}}}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, eng.Close()) })
	p := &policy{eng: eng, clock: eng.Clock(), cfg: newConfig(nil)}
	g := p.take("target", "service")
	ready := map[*isolation.Member]balancer.Picker{}
	var list []isolation.Instance
	for i := range n {
		list = append(list, isolation.Instance{Address: fmt.Sprintf("10.0.%d.%d:80", i/250, i%250)})
	}
	g.Update(eng.Clock().Now(), list)
	for _, in := range list {
		ready[g.Member(in.Address)] = still{}
	}
	b, err := balance.New(g, balance.Options{Seed: 1})
	require.NoError(t, err)
	return &picker{policy: p, balancer: b, ready: ready}, g
}

func inFlight(g *isolation.Group) (n int) {
	for _, in := range g.Snapshot(0).Instances {
		n += in.InFlight
	}
	return n
}

func TestAttempts(t *testing.T) {
	t.Parallel()
	refusal := func(kind cordon.Kind) error {
		eng, err := cordon.New(cordon.WithRules(cordon.Rules{
			System: []system.Rule{{Metric: system.Concurrency, Limit: 0}},
			Flow:   []flow.Rule{{Resource: rule.Default(), Limit: 0}},
		}))
		require.NoError(t, err)
		defer func() { require.NoError(t, eng.Close()) }()
		_, err = eng.Enter(context.Background(), cordon.Request{Resource: "x", Inbound: kind == cordon.KindSystem})
		return status.FromProto(newConfig(nil).refuse(err).(*refusalError).GRPCStatus().Proto()).Err() // as it comes over the wire
	}
	c := newConfig([]Option{WithCodes(map[codes.Code]cordon.Outcome{codes.NotFound: cordon.Failure}, "/a.B/C")})
	for _, test := range []struct {
		info balancer.DoneInfo
		want isolation.Outcome
	}{
		{balancer.DoneInfo{}, isolation.Ignored}, // gRPC picks again
		{balancer.DoneInfo{Err: status.Error(codes.Unavailable, "the connection is closing")}, isolation.Ignored},
		{balancer.DoneInfo{Err: status.Error(codes.DeadlineExceeded, "")}, isolation.Failure}, // it waited for its turn
		{balancer.DoneInfo{Err: status.Error(codes.Canceled, "")}, isolation.Abandoned},
		{balancer.DoneInfo{BytesSent: true, BytesReceived: true}, isolation.Success},
		{balancer.DoneInfo{BytesSent: true, Err: status.Error(codes.Unavailable, "")}, isolation.Failure},
		{balancer.DoneInfo{BytesSent: true, Err: status.Error(codes.DeadlineExceeded, "")}, isolation.Failure},
		{balancer.DoneInfo{BytesSent: true, Err: context.DeadlineExceeded}, isolation.Failure},
		{balancer.DoneInfo{BytesSent: true, Err: status.Error(codes.NotFound, "")}, isolation.Failure},
		{balancer.DoneInfo{BytesSent: true, Err: status.Error(codes.InvalidArgument, "")}, isolation.Success},
		{balancer.DoneInfo{BytesSent: true, Err: status.Error(codes.Canceled, "")}, isolation.Abandoned},
		{balancer.DoneInfo{BytesSent: true, Err: status.Error(codes.ResourceExhausted, "message larger than max")}, isolation.Ignored},
		{balancer.DoneInfo{BytesSent: true, Err: refusal(cordon.KindFlow)}, isolation.Ignored},
		{balancer.DoneInfo{BytesSent: true, Err: refusal(cordon.KindSystem)}, isolation.Throttled},
	} {
		require.Equal(t, test.want, c.attempt("/a.B/C", &test.info), "%+v", test.info)
	}
	require.Equal(t, isolation.Success, c.attempt("/a.B/D", &balancer.DoneInfo{BytesSent: true, Err: status.Error(codes.NotFound, "")}))
}

// Instances whose connection has gone since the picker was made hold nothing, and gRPC waits for the next picker only if there is nobody else.
func TestPicksOfConnectionsThatHaveGone(t *testing.T) {
	t.Parallel()
	p, g := newPicker(t, 3)
	info := balancer.PickInfo{Ctx: t.Context()}
	for m := range p.ready {
		p.ready[m] = still{balancer.ErrNoSubConnAvailable}
		break
	}
	for range 10 {
		res, err := p.Pick(info)
		require.NoError(t, err)
		res.Done(balancer.DoneInfo{BytesSent: true})
	}
	clear(p.ready)
	_, err := p.Pick(info)
	require.ErrorIs(t, err, balancer.ErrNoSubConnAvailable)
	require.Zero(t, inFlight(g))
	g.Update(0, nil)
	_, err = p.Pick(info)
	require.ErrorIs(t, err, balancer.ErrNoSubConnAvailable)
}

// faults #98: an attempt allocates the function that reports its end, and nothing else, however many instances there are.
func TestPickAllocates(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	for _, n := range []int{3, 100, 1000} {
		p, _ := newPicker(t, n)
		info := balancer.PickInfo{Ctx: t.Context(), FullMethodName: "/a.B/C"}
		require.EqualValues(t, 1, testing.AllocsPerRun(1000, func() {
			res, err := p.Pick(info)
			if err != nil {
				t.Fatal(err)
			}
			res.Done(balancer.DoneInfo{BytesSent: true, BytesReceived: true})
		}))
	}
}

// Groups are kept for a while, and the oldest go first.
func TestKeptGroups(t *testing.T) {
	t.Parallel()
	clk := clock.NewManual()
	eng, err := cordon.New(cordon.WithClock(clk))
	require.NoError(t, err)
	defer func() { require.NoError(t, eng.Close()) }()
	p := &policy{eng: eng, clock: clk, cfg: newConfig(nil)}
	a := p.take("a", "s")
	p.keep("a", a)
	require.Same(t, a, p.take("a", "s"))
	require.NotSame(t, a, p.take("a", "s"), "it is in use")
	p.keep("a", a)
	require.NotSame(t, a, p.take("a", "another service"))
	clk.Advance(keepFor)
	require.NotSame(t, a, p.take("a", "s"), "its time is over")
	for i := range mostKept + 7 {
		clk.Advance(time.Second)
		p.keep(fmt.Sprint(i), p.take(fmt.Sprint(i), "s"))
	}
	require.Len(t, p.kept, mostKept)
	require.Equal(t, "7", p.kept[0].target)
}

func BenchmarkPick(b *testing.B) {
	p, _ := newPicker(b, 100)
	info := balancer.PickInfo{Ctx: b.Context(), FullMethodName: "/a.B/C"}
	b.ReportAllocs()
	for b.Loop() {
		res, err := p.Pick(info)
		if err != nil {
			b.Fatal(err)
		}
		res.Done(balancer.DoneInfo{BytesSent: true, BytesReceived: true})
	}
}
