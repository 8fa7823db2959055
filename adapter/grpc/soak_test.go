package cordongrpc_test

import (
	"context"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/cordon-go/cordon"
	cordongrpc "github.com/cordon-go/cordon/adapter/grpc"
	"github.com/cordon-go/cordon/adapter/grpc/testdata/shop"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

// soaks is how many streams are opened: a million with CORDON_SOAK.
func soaks() int {
	switch {
	case os.Getenv("CORDON_SOAK") != "":
		return 1_000_000
	case testing.Short() || raceEnabled:
		return 5_000
	}
	return 100_000
}

// Streams without number are opened and abandoned in every way, while connections break and values come that never come again (faults #44): no place, goroutine or entry of a
// map is left on either side.
func TestAbandonedStreamsLeaveNothing(t *testing.T) {
	most := 64
	rules := func() cordon.Rules {
		var r cordon.Rules
		for _, method := range []string{watch, upload, chat} {
			at := atOnce(method, most).Concurrency[0]
			queue := flow.ConcurrencyRule{ID: "queue " + method, Resource: rule.Name(method), Limit: most, MaxWait: time.Second}
			at.ID += method
			value := paramflow.Rule{ID: "hot " + method, Resource: rule.Name(method), Param: "arg[0].customer.id", Mode: paramflow.Concurrency, Limit: 2}
			r.Concurrency = append(r.Concurrency, at, queue)
			r.Param = append(r.Param, value)
		}
		return r
	}
	here, there := newEngine(t, rules(), withWalker()), newEngine(t, rules(), withWalker())
	hold := cordongrpc.WithMaxHold(time.Hour)
	w := newWorld(t, tapping(there, hold, cordongrpc.WithMessages(nil)), cordongrpc.DialOptions(here, hold)...)
	close(w.impl.hold)
	run := func(total int) {
		var left atomic.Int64
		left.Store(int64(total))
		var workers sync.WaitGroup
		for range 8 {
			workers.Go(func() {
				for left.Add(-1) >= 0 {
					abandon(w)
				}
			})
		}
		workers.Wait()
		quiet(t, here, there)
	}
	run(1000)
	goroutines := runtime.NumGoroutine()
	memory := heap()
	resources := len(there.Snapshot().Resources)
	n := soaks()
	run(n)
	eventually(t, func() bool { return runtime.NumGoroutine() <= goroutines+8 }, "%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
	require.Len(t, there.Snapshot().Resources, resources)
	w.cut() // and let go of connections' buffers
	eventually(t, func() bool { return heap() < memory+16<<20 }, "a stream may leave 160 bytes, or it leaves something")
	for _, eng := range []*cordon.Engine{here, there} {
		var passed, over int64
		for _, r := range eng.Snapshot().Resources {
			passed += r.Passed
			over += r.Succeeded + r.Failed + r.Ignored
			for _, u := range r.Rules {
				if u.Param != nil {
					require.Zero(t, u.Param.Values, "%s remembers values of streams that have ended", u.ID)
				}
			}
		}
		require.Equal(t, passed, over)
		require.Greater(t, passed, int64(n/20)) // the busier the machine is, the more give up before they begin
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// abandon opens a stream and leaves it in one of many ways.
func abandon(w *world) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if rand.N(8) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.N(int64(2*time.Millisecond))))
		defer cancel()
	}
	order := of(rand.Int64(), "")
	if rand.N(4) == 0 {
		order.Customer.Id = rand.Int64N(3)
	}
	if rand.N(500) == 0 {
		w.cut()
	}
	if rand.N(4) == 0 {
		order.Wish = "Internal"
	}
	// What becomes of a stream is not the point here.
	switch rand.N(3) {
	case 0:
		if s, err := w.Watch(ctx, order); err == nil {
			leave(cancel, s)
		}
	case 1:
		if s, err := w.Upload(ctx); err == nil {
			_ = s.Send(order)
			if rand.N(2) == 0 {
				_, _ = s.CloseAndRecv()
			}
		}
	default:
		if s, err := w.Chat(ctx); err == nil {
			sent, closed := rand.N(4) > 0, rand.N(2) == 0
			if sent {
				_ = s.Send(order)
			}
			if closed {
				_ = s.CloseSend()
			}
			if sent || closed { // or the server has nothing to say
				leave(cancel, s)
			}
		}
	}
}

// leave stops reading at some point.
func leave(cancel context.CancelFunc, s grpc.ServerStreamingClient[shop.Receipt]) {
	switch rand.N(4) {
	case 0:
		_, _ = s.Recv()
	case 1:
		cancel()
		_, _ = s.Recv()
	case 2:
		_, _ = s.Header()
	}
}
