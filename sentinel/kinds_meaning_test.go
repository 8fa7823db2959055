package sentinel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cordon "github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/apigroup"
	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/sentinel"
)

// request is a carrier of what a gateway rule may look at, by part and key.
type request map[extractor.Part]map[string]string

func (r request) Lookup(part extractor.Part, key string) (extractor.Value, bool) {
	text, ok := r[part][key]
	return extractor.Text(text), ok
}

func (request) Body(int) ([]byte, error) { return nil, extractor.ErrNoBody }

// routed counts how many of n requests to route r pass at once.
func routed(t *testing.T, eng *cordon.Engine, n int, r request) int {
	t.Helper()
	return asked(t, eng, n, cordon.Request{Resource: "r", Carrier: r})
}

// TestGatewayInAnEngine: the limit and what may be saved up pass at once, then as much as comes back; of values only those that the pattern is for are limited, each by itself, and calls without the value pass.
func TestGatewayInAnEngine(t *testing.T) {
	t.Parallel()
	eng, now := engineOf(t, sentinel.Gateway, `[{"resource":"r","count":3,"burst":2}]`)
	require.Equal(t, 5, routed(t, eng, 50, nil))
	now.Advance(1001 * time.Millisecond) // a third of a second is no whole number of nanoseconds
	require.Equal(t, 3, routed(t, eng, 50, nil))
	now.Advance(10 * time.Second)
	require.Equal(t, 5, routed(t, eng, 50, nil))

	eng, now = engineOf(t, sentinel.Gateway, `[{"resource":"r","count":2,"intervalSec":60,"paramItem":{"parseStrategy":0}},
		{"resource":"r","count":1,"paramItem":{"parseStrategy":2,"fieldName":"x-user","pattern":"v*p","matchStrategy":3}},
		{"resource":"r","count":4,"paramItem":{"parseStrategy":3,"fieldName":"q","pattern":"a+","matchStrategy":2}},
		{"resource":"r","count":5,"paramItem":{"parseStrategy":1,"pattern":"shop.test"}},
		{"resource":"r","count":6,"paramItem":{"parseStrategy":4,"fieldName":"sid","pattern":"x","matchStrategy":1}}]`)
	client := func(ip string) request { return request{extractor.Client: {"ip": ip, "": ip}} }
	require.Equal(t, 2, routed(t, eng, 50, client("1.1.1.1")))
	require.Equal(t, 2, routed(t, eng, 50, client("1.1.1.2")))
	now.Advance(29 * time.Second)
	require.Zero(t, routed(t, eng, 50, client("1.1.1.1")))
	now.Advance(time.Second)
	require.Equal(t, 1, routed(t, eng, 50, client("1.1.1.1")))
	header := func(user string) request { return request{extractor.Header: {"X-User": user}} }
	require.Equal(t, 50, routed(t, eng, 50, header("vip")))
	require.Equal(t, 1, routed(t, eng, 50, header("my v*p")))
	require.Equal(t, 1, routed(t, eng, 50, header("v*p")))
	query := func(q string) request { return request{extractor.Query: {"q": q}} }
	require.Equal(t, 4, routed(t, eng, 50, query("aa")))
	require.Equal(t, 50, routed(t, eng, 50, query("aab"))) // all of the value must match
	require.Equal(t, 5, routed(t, eng, 50, request{extractor.Header: {"Host": "shop.test"}}))
	require.Equal(t, 50, routed(t, eng, 50, request{extractor.Header: {"Host": "shop.test:80"}}))
	require.Equal(t, 6, routed(t, eng, 50, request{extractor.Cookie: {"sid": "y"}})) // a prefix is ignored, as in Sentinel
	require.Equal(t, 50, routed(t, eng, 50, nil))
}

// TestAPIPaths: the paths of an API are those that the gateway adapter takes for it.
func TestAPIPaths(t *testing.T) {
	t.Parallel()
	e := one(t, sentinel.API, `{"apiName":"r","predicateItems":[{"pattern":"/a"},{"pattern":"/b/**","matchStrategy":1},{"pattern":"/u/*/cart","matchStrategy":1},{"pattern":"/v[0-9]+","matchStrategy":2}]}`)
	set, err := apigroup.NewSet(e.Rules.APIGroup)
	require.NoError(t, err)
	for path, of := range map[string]bool{
		"/a": true, "/a/": false, "/b": true, "/b/c/d": true, "/bc": false, "/u/7/cart": true, "/u/cart": false, "/u/7/8/cart": false, "/v1": true, "/v1/": false, "/xv1": false,
	} {
		require.Equal(t, of, len(set.Match(nil, path)) > 0, path)
	}
}

// TestAuthorityInAnEngine: lists hold for names in full, and for calls that say where they come from.
func TestAuthorityInAnEngine(t *testing.T) {
	t.Parallel()
	eng, _ := engineOf(t, sentinel.Authority, `[{"resource":"white","limitApp":"a,b"},{"resource":"black","limitApp":"a,b","strategy":1},{"resource":"/v/.*","regex":true,"limitApp":"a"}]`)
	for origin, want := range map[string][3]int{"a": {1, 0, 1}, "b": {1, 0, 0}, "ab": {0, 1, 0}, "A": {0, 1, 0}, "": {1, 1, 1}} {
		require.Equal(t, want, [3]int{passes(t, eng, "white", origin, 1), passes(t, eng, "black", origin, 1), passes(t, eng, "/v/1", origin, 1)}, origin)
	}
}

// TestSystemInAnEngine: a last element that sets nothing switches nothing off, and only calls that come in are looked at.
func TestSystemInAnEngine(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`[{"qps":5},{"maxThread":3},{"qps":-1}]`, `[{"metricType":3,"triggerCount":5},{"metricType":2,"triggerCount":3}]`} {
		eng, now := engineOf(t, sentinel.System, text)
		inbound := cordon.Request{Resource: "r", Inbound: true}
		require.Equal(t, 5, asked(t, eng, 50, inbound))
		require.Equal(t, 50, passes(t, eng, "r", "", 50))
		now.Advance(2 * time.Second)
		var entries []cordon.Entry
		for {
			ent, err := eng.Enter(t.Context(), inbound)
			if err != nil {
				require.ErrorIs(t, err, cordon.ErrBlocked)
				break
			}
			entries = append(entries, ent)
		}
		require.Len(t, entries, 3, "as many as the document says: Java lets one more in")
		for _, ent := range entries {
			ent.End(cordon.Success)
		}
	}
}
