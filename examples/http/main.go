// Command http is a web service guarded by rules from a file, which may be edited while it runs:
//
//	go run ./examples/http examples/http/rules.yaml
//	curl -i localhost:8080/orders/7
package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/datasource/file"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: http RULES")
		os.Exit(2)
	}
	logger := slog.Default()
	eng, err := cordon.New(cordon.WithLogger(logger))
	if err != nil {
		panic(err)
	}
	defer eng.Close()
	if _, err := eng.Watch(context.Background(), file.Source(os.Args[1]), cordon.Native); err != nil {
		logger.Warn("starting without rules", "error", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "order", r.PathValue("id"))
	})
	logger.Info("listening", "address", "127.0.0.1:8080")
	if err := http.ListenAndServe("127.0.0.1:8080", guarded(eng, mux)); err != nil {
		logger.Error("stopped", "error", err)
	}
}

// guarded puts the engine in front of a mux; every pattern is a resource.
func guarded(eng *cordon.Engine, mux *http.ServeMux) http.Handler {
	return nethttp.Middleware(eng, nethttp.WithMux(mux))(mux)
}
