package cordongrpc

import (
	"errors"
	"sync"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/clock"
)

// errHeld is the fault of a stream that lasts longer than it may hold its place.
var errHeld = errors.New("cordongrpc: a stream is held for longer than WithMaxHold says: its place was given back")

// holds is what a stream holds of the engine: until its end, or for as long as it may. Whoever sees the end first claims it.
type holds struct {
	mu    sync.Mutex
	ended bool
	own   cordon.Entry
	ent   *cordon.Entry // the call's entry: own, or the one that TapHandle made
	rest  cordon.Entry  // what TapHandle left to ask
	first cordon.Entry  // what is held because of the first message
	timer clock.Timer   // nil: the stream may hold its place for ever
}

// claim ends the holding; it reports whether it had not ended. Who claims it calls release.
func (h *holds) claim() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return false
	}
	h.ended = true
	if h.timer != nil {
		h.timer.Stop()
	}
	return true
}

// release gives back what was held.
func (h *holds) release(o cordon.Outcome) {
	h.ent.End(o)
	h.rest.End(cordon.Success)
	h.first.End(cordon.Success)
}

// begun adds what is held because of the first message, which may come when the stream has ended already.
func (h *holds) begun(ent cordon.Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		ent.End(cordon.Success)
		return
	}
	h.first = ent
}

// bound gives the place back when the stream has lasted too long.
func (h *holds) bound(k *call) {
	if k.cfg.maxHold == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return
	}
	h.timer = k.guard.eng.Clock().AfterFunc(k.cfg.maxHold, func() {
		if h.claim() {
			h.release(cordon.Ignored)
			k.guard.eng.ReportFault("WithMaxHold of adapter/grpc", k.resource, errHeld)
		}
	})
}
