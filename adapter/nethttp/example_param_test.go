package nethttp_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

// Each user may create two orders a second; who the user is stands in the body, which the handler still sees.
func ExampleMiddleware_limitByBody() {
	eng, err := cordon.New(cordon.WithRules(cordon.Rules{Param: []paramflow.Rule{
		{Resource: rule.Name("POST /orders"), Param: "body.user.id", Limit: 2, Absent: paramflow.Count},
	}}))
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	})
	h := nethttp.Middleware(eng, nethttp.WithMux(mux))(mux)
	for _, user := range []string{"7", "7", `"7"`, "8"} {
		r := httptest.NewRequest("POST", "/orders", strings.NewReader(`{"user":{"id":`+user+`}}`))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Printf("%d %q\n", w.Code, w.Header().Get("Retry-After"))
	}
	// Output:
	// 200 ""
	// 200 ""
	// 429 "1"
	// 200 ""
}

// Behind a proxy the client is who the proxy says, and not who the client says.
func ExampleWithTrustedProxies() {
	eng, err := cordon.New(cordon.WithRules(cordon.Rules{Param: []paramflow.Rule{{Resource: rule.Default(), Param: "client.ip", Limit: 1}}}))
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	trusted := nethttp.WithTrustedProxies(netip.MustParsePrefix("10.0.0.0/8"))
	h := nethttp.Middleware(eng, trusted)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, forwardedFor := range []string{"192.0.2.1", "6.6.6.6, 192.0.2.1", "192.0.2.2"} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = "10.0.0.1:12345"
		r.Header.Set("X-Forwarded-For", forwardedFor)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 200
	// 429
	// 200
}

// Whoever has a network of IPv6 addresses has one limit for all of them.
func ExampleWithValues() {
	eng, err := cordon.New(cordon.WithRules(cordon.Rules{Param: []paramflow.Rule{{Resource: rule.Default(), Param: "value.network", Limit: 1}}}))
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	network := nethttp.WithValues(func(r *http.Request, name string) any {
		ip, ok := nethttp.ClientIP(r)
		if name != "network" || !ok {
			return nil
		}
		p, err := ip.WithZone("").Prefix(min(64, ip.BitLen())) // IPv4 as it is
		if err != nil {
			return nil
		}
		return p.Addr()
	})
	h := nethttp.Middleware(eng, network)(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, from := range []string{"[2001:db8:1:2::3]:80", "[2001:db8:1:2:ffff::4]:80", "192.0.2.1:80", "192.0.2.2:80"} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// 200
	// 429
	// 200
	// 200
}
