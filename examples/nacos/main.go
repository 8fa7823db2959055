// Command nacos is a web service whose rules are kept on a Nacos server: a document of cordon's own, and those that Sentinel's dashboards
// keep of the app "shop". From the top of the repository:
//
//	scripts/nacos start
//	go run ./cmd/cordon rules push --yes examples/nacos/rules.yaml nacos://127.0.0.1:8848/public/DEFAULT_GROUP/shop-rules.yaml
//	go run ./examples/nacos                 # or: go run ./examples/nacos -server 10.0.0.5:8848
//
// Then curl -i localhost:9090/orders/7, edit rules.yaml and push it again: what is pushed is in force within a second. examples/nacos/gateway.yaml is a gateway in
// front of it that follows the same documents. scripts/nacos stop ends the server.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/datasource/nacos"
)

func main() {
	server := flag.String("server", "127.0.0.1:8848", "the address of the Nacos server")
	flag.Parse()
	if err := serve(*server); err != nil {
		slog.Error("stopped", "error", err)
		os.Exit(1)
	}
}

// serve serves until it fails. Without the server it starts with the rules that it had last, or with none.
func serve(server string) error {
	client, err := nacos.New(nacos.Config{Servers: []string{server}, Logger: slog.Default()})
	if err != nil {
		return err
	}
	defer client.Close()
	eng, err := cordon.New(cordon.WithLogger(slog.Default()))
	if err != nil {
		return err
	}
	defer eng.Close()
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	if err := follow(context.Background(), eng, client, filepath.Join(cache, "cordon-example-nacos")); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "order", r.PathValue("id"))
	})
	slog.Info("listening", "address", "127.0.0.1:9090")
	return http.ListenAndServe("127.0.0.1:9090", nethttp.Middleware(eng, nethttp.WithMux(mux))(mux))
}
