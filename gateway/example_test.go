package gateway_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/gateway"
	"github.com/cordon-go/cordon/rule"
)

func Example() {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "served %s", r.URL.Path)
	}))
	defer upstream.Close()

	cfg, err := gateway.Parse("gateway.yaml", []byte(`
routes:
  - name: orders
    prefix: /orders
    upstreams: [`+upstream.URL+`]
`))
	if err != nil {
		log.Fatal(err)
	}
	rules := cordon.Rules{Flow: []flow.Rule{{ID: "orders", Resource: rule.Name("orders"), Limit: 1, Per: time.Hour}}}
	public, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	cfg.Admin = "none"
	g, err := gateway.New(cfg, gateway.WithEngine(cordon.WithRules(rules)), gateway.WithListener(public))
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- g.Run(ctx) }()

	for _, path := range []string{"/orders/7", "/orders/8", "/else"} {
		res, err := http.Get("http://" + public.Addr().String() + path)
		if err != nil {
			log.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		fmt.Println(res.StatusCode, res.Header.Get("Content-Type"))
		if res.StatusCode == http.StatusOK {
			fmt.Println(string(body))
		}
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	fmt.Println(<-ended)
	// Output:
	// 200 text/plain; charset=utf-8
	// served /orders/7
	// 429 application/problem+json
	// 404 application/problem+json
	// <nil>
}
