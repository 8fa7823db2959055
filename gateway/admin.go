package gateway

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/cordon-go/cordon"
)

// Status is what the admin handler tells at its root.
type Status struct {
	// State is "not listening", "starting", "serving", "draining" or "stopped".
	State string `json:"state"`
	// NotReady says why the gateway should not be sent requests; empty if it should.
	NotReady []string `json:"notReady,omitempty"`
	// InFlight is how many requests are being served, upgraded connections included.
	InFlight int `json:"inFlight"`
	// Unrouted counts requests that no route took.
	Unrouted int64 `json:"unrouted"`
	// Engine is the engine's state.
	Engine cordon.Snapshot `json:"engine"`
	// Events are what happened last, newest first.
	Events []Event `json:"events"`
}

// Status returns what the gateway is doing.
func (g *Gateway) Status() Status {
	return Status{
		State:    g.current().String(),
		NotReady: g.notReady(),
		InFlight: g.flight.count(),
		Unrouted: g.unrouted.Load(),
		Engine:   g.eng.Snapshot(),
		Events:   g.events.list(),
	}
}

// AdminHandler returns the handler that Run serves on the admin address: / is Status as JSON, /healthz is 200 as long as the process
// answers, /readyz is 200 while the gateway serves and the rules of every source have been applied once (503 with the reasons
// else, and while it drains), /metrics is what WithMetrics gave. With Config.AdminWrite, POST /pin with a Pin takes an upstream out of service or keeps it in it, and
// DELETE /pin with one ends that; without it they are answered with 403.
func (g *Gateway) AdminHandler() http.Handler { return g.admin }

func (g *Gateway) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		_ = enc.Encode(g.Status()) // the reader has gone if this fails
	})
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeText(w, http.StatusOK, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := g.notReady(); len(why) > 0 {
			writeText(w, http.StatusServiceUnavailable, strings.Join(why, "\n"))
			return
		}
		writeText(w, http.StatusOK, "ready")
	})
	// A page in an operator's browser must not do what the operator may.
	guarded := http.NewCrossOriginProtection()
	mux.Handle("POST /pin", guarded.Handler(g.pinHandler((*Gateway).pin)))
	mux.Handle("DELETE /pin", guarded.Handler(g.pinHandler((*Gateway).unpin)))
	if g.opts.metrics != nil {
		mux.Handle("GET /metrics", g.opts.metrics(g.eng))
	}
	return mux
}

func writeText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}
