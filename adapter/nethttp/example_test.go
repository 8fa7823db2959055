package nethttp_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/rule"
)

// A client of a service with two instances, of which one is full: its refusals are sent to the other one, until isolation takes it out.
func ExampleNewPool() {
	well := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "served %s", r.URL.Path)
	}))
	defer well.Close()
	full := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer full.Close()

	eng, err := cordon.New(cordon.WithRules(cordon.Rules{
		Isolation: []isolation.Rule{{ID: "orders", Service: rule.Name("orders")}},
	}))
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	pool, err := nethttp.NewPool(eng, "orders", []nethttp.Target{{URL: well.URL + "/v1"}, {URL: full.URL + "/v1"}}, nethttp.PoolConfig{})
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	client := &http.Client{Transport: pool}

	failed := 0
	for range 200 {
		res, err := client.Get("http://orders/items/7")
		if err != nil {
			log.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil {
			log.Fatal(err)
		}
		if string(body) != "served /v1/items/7" {
			failed++
		}
	}
	fmt.Println("failed:", failed)
	for _, i := range eng.Snapshot().Services[0].Instances {
		fmt.Println(i.Address == full.URL+"/v1", i.State)
	}
	// Output:
	// failed: 0
	// false in service
	// true quarantined
}
