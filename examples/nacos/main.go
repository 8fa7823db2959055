// Command nacos is a web service whose rules are kept on a Nacos server: a document of cordon's own, and those that Sentinel's dashboards
// keep of the app "shop". From the top of the repository:
//
//	scripts/nacos start
//	go run ./cmd/cordon rules push --yes examples/nacos/rules.yaml nacos://127.0.0.1:8848/public/DEFAULT_GROUP/shop-rules.yaml
//	go run ./examples/nacos
//
// Then curl -i localhost:9090/orders/7, edit rules.yaml and push it again: what is pushed is in force within a second. examples/nacos/gateway.yaml is a gateway in
// front of it that follows the same documents. scripts/nacos stop ends the server.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/datasource/nacos"
	"github.com/cordon-go/cordon/sentinel"
)

func main() {
	server := "127.0.0.1:8848"
	if len(os.Args) == 2 {
		server = os.Args[1]
	}
	if err := serve(server); err != nil {
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
	if err := follow(eng, client); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "order", r.PathValue("id"))
	})
	slog.Info("listening", "address", "127.0.0.1:9090")
	return http.ListenAndServe("127.0.0.1:9090", nethttp.Middleware(eng, nethttp.WithMux(mux))(mux))
}

// follow takes rules from every document of the service. Each is a source of its own: one that is broken or missing takes nothing from the others.
func follow(eng *cordon.Engine, client *nacos.Client) error {
	if err := watch(eng, client.Source("shop-rules.yaml"), cordon.Native); err != nil {
		return err
	}
	for _, d := range client.Sentinel("shop") {
		var kind sentinel.Kind
		if err := kind.UnmarshalText([]byte(d.Kind)); err != nil {
			return err
		}
		// An app has only some of these documents, so nobody waits for them.
		if err := watch(eng, d.Source, sentinel.Decoder(kind), cordon.FirstWithin(0)); err != nil {
			return err
		}
	}
	return nil
}

// watch takes rules from one document, and keeps a copy for a start without the server.
func watch(eng *cordon.Engine, src datasource.Source, decode cordon.Decoder, opts ...cordon.WatchOption) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	lastGood := filepath.Join(cache, "cordon-example-nacos", filepath.Base(src.Name()))
	// The client merges bursts of notices itself.
	opts = append(opts, cordon.LastGood(lastGood))
	w, err := eng.Watch(context.Background(), src, decode, opts...)
	if w == nil {
		return err
	}
	if err != nil {
		slog.Warn("starting without rules", "source", src.Name(), "error", err)
	}
	return nil
}
