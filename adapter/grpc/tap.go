package cordongrpc

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"

	"github.com/cordon-go/cordon"
)

// TapHandle returns a handle for grpc.InTapHandle that refuses calls before their message is read, decoded and given to a goroutine. It asks what can be asked by the method and the metadata
// (cordon.PartAtOnce): breakers, concurrency and rates, but no rule that waits or looks into the message. The interceptors of the same engine, which must be there too, take
// the call over and ask the rest, so that nothing is asked twice. A call that never gets to them (of an unknown method, or cancelled before) is ended, as Ignored, when gRPC ends its stream.
//
// gRPC calls the handle in the goroutine that reads the connection, under its lock: whatever options and observers do there must be quick. What is refused so gets no trailer, which gRPC cannot send here. The
// options should be those of the interceptors; what names and describes a call is called here and not again.
//
// It panics if eng is nil.
func TapHandle(eng *cordon.Engine, opts ...Option) tap.ServerInHandle {
	return newGuard("TapHandle", eng, opts).tap
}

func (g *guard) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	if g.cfg.excluded.has(info.FullMethodName) {
		return ctx, nil
	}
	t := &tapped{Context: ctx}
	t.call.describe(g, ctx, info.FullMethodName, nil, true)
	var err error
	if t.ent, err = t.call.enter(cordon.PartAtOnce); err != nil {
		return nil, err
	}
	t.stop = context.AfterFunc(ctx, t.abandon)
	return t, nil
}

// tapped is the context of a call that TapHandle has admitted, with the call.
type tapped struct {
	context.Context
	call  call
	ent   cordon.Entry
	state atomic.Uint32
	stop  func() bool // what waits for the end of a call that nobody takes over
}

// The states of a tapped call.
const (
	tapWaits     = iota // for an interceptor
	tapTaken            // by an interceptor, which ends it
	tapAbandoned        // and ended
)

// tappedKey finds the call that the engine's TapHandle has admitted.
type tappedKey struct{ eng *cordon.Engine }

// Value returns what the context has under a key.
func (t *tapped) Value(key any) any {
	if k, ok := key.(tappedKey); ok && k.eng == t.call.guard.eng {
		return t
	}
	return t.Context.Value(key)
}

// abandon ends a call that nobody took over.
func (t *tapped) abandon() {
	if t.state.CompareAndSwap(tapWaits, tapAbandoned) {
		t.ent.End(cordon.Ignored)
	}
}

// tappedCall takes over the call that TapHandle has admitted. It is nil if there is none, or another interceptor has it; the error says that the call has ended meanwhile.
func tappedCall(ctx context.Context, eng *cordon.Engine) (*tapped, error) {
	t, _ := ctx.Value(tappedKey{eng}).(*tapped)
	switch {
	case t == nil:
		return nil, nil
	case t.state.CompareAndSwap(tapWaits, tapTaken):
		t.stop()
		return t, nil
	case t.state.Load() == tapAbandoned:
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	return nil, nil
}
