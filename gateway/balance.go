package gateway

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/balance"
)

// Balance is a balance.Strategy, as documents write it.
type Balance balance.Strategy

// Values returns how documents write the strategies, in the order of their constants.
func (Balance) Values() []string {
	return []string{"roundRobin", "random", "leastInFlight", "consistentHash"}
}

// String returns "roundRobin", "random", "leastInFlight" or "consistentHash".
func (b Balance) String() string {
	if names := b.Values(); int(b) < len(names) {
		return names[b]
	}
	return fmt.Sprintf("Balance(%d)", uint8(b))
}

// UnmarshalText reads what String writes.
func (b *Balance) UnmarshalText(text []byte) error {
	found := slices.Index(b.Values(), string(text))
	if found < 0 {
		return fmt.Errorf("no strategy %q; want one of %s", text, strings.Join(b.Values(), ", "))
	}
	*b = Balance(found)
	return nil
}

// hashBy returns what a route's requests are hashed by. It sees the request that is to be sent, with the client's address as the first one it was
// forwarded for.
func (r Route) hashBy() func(*http.Request) string {
	var own func(*http.Request) string
	switch {
	case r.HashHeader != "":
		own = nethttp.Header(r.HashHeader)
	case r.HashCookie != "":
		own = nethttp.Cookie(r.HashCookie)
	default:
		return clientAddress
	}
	return func(req *http.Request) string {
		if key := own(req); key != "" {
			return key
		}
		return clientAddress(req)
	}
}

func clientAddress(req *http.Request) string {
	first, _, _ := strings.Cut(req.Header.Get("X-Forwarded-For"), ",")
	return strings.TrimSpace(first)
}

// targets returns a route's upstreams as a pool takes them.
func targets(upstreams []Upstream) []nethttp.Target {
	list := make([]nethttp.Target, len(upstreams))
	for i, u := range upstreams {
		list[i] = nethttp.Target{URL: u.URL, Weight: u.Weight, Region: u.Region, Drained: u.Drained}
	}
	return list
}
