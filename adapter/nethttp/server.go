package nethttp

import (
	"net/http"

	"github.com/cordon-go/cordon"
)

// Middleware returns a wrapper that makes every request to the handler it wraps a call of the engine.
//
// The resource is named by the first of: WithName; the pattern that the request will match, if WithMux gives the mux; the pattern that
// it has matched (http.Request.Pattern), if the wrapped handler is behind one; else the method and Unmatched. The
// path as it was asked for is never a name.
//
// The call lasts until the handler returns, whatever it does to the connection: a stream counts until it ends. Whoever hijacks the
// connection and goes on with it after returning is on their own.
//
// By default a panic that is no http.ErrAbortHandler, a status of 500 and above, an abort, and a deadline of the request's context
// that has passed are failures; but of these last three, what comes after the client hung up is ignored,
// as are StatusClientClosed and refusals that cordon wrote further in. All else is success. WithOutcome changes that. Panics go on.
//
// It panics if eng is nil.
func Middleware(eng *cordon.Engine, opts ...Option) func(http.Handler) http.Handler {
	if eng == nil {
		panic("nethttp: Middleware needs an engine; got nil")
	}
	cfg := newConfig(opts)
	return func(next http.Handler) http.Handler {
		return &handler{eng: eng, cfg: cfg, next: next}
	}
}

type handler struct {
	eng  *cordon.Engine
	cfg  *config
	next http.Handler
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.cfg.skip != nil && h.cfg.skip(r) {
		h.next.ServeHTTP(w, r)
		return
	}
	req := h.cfg.request(r, h.cfg.serverName(r), true)
	name := req.Resource
	defer h.cfg.release(req.Carrier)
	var room [4]string
	ent, err := enter(r.Context(), h.eng, req, h.cfg.groupsOf(h.eng, room[:0], r, name))
	if err != nil {
		ref := newRefusal(err)
		ref.setHeaders(w.Header())
		h.cfg.refusal(w, r, ref)
		return
	}
	rec := &recorder{w: w}
	returned := false
	defer func() {
		panicked := recover()
		if panicked != nil || returned {
			ent.end(h.outcome(name, r, rec, panicked))
		} else {
			ent.end(cordon.Failure) // runtime.Goexit
		}
		if panicked != nil {
			panic(panicked) // from here the stack still shows where it came from
		}
	}()
	if h.cfg.entrance {
		h.next.ServeHTTP(rec.writer(), r.WithContext(cordon.WithEntrance(r.Context(), name)))
	} else {
		h.next.ServeHTTP(rec.writer(), r)
	}
	returned = true
}

func (h *handler) outcome(name string, r *http.Request, rec *recorder, panicked any) cordon.Outcome {
	e := Ending{Request: r, Status: rec.final(), Header: rec.Header(), Hijacked: rec.hijacked, Panic: panicked}
	if panicked != nil {
		e.Status = rec.status // the server sends none of its own for a handler that panicked
	}
	e.Default = serverOutcome(e)
	return h.cfg.judge(h.eng, name, e)
}
