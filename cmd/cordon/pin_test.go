package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/gateway"
	"github.com/cordon-go/cordon/isolation"
)

// pinGateway is a gateway of the route orders with two upstreams, and where its administration is.
func pinGateway(t *testing.T, write bool) (*gateway.Gateway, string) {
	t.Helper()
	g, err := gateway.New(gateway.Config{AdminWrite: write, Routes: []gateway.Route{
		{Name: "orders", Upstreams: []gateway.Upstream{{URL: "http://10.0.0.1:9000"}, {URL: "http://10.0.0.2:9000"}}},
	}})
	require.NoError(t, err)
	server := httptest.NewServer(g.AdminHandler())
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		server.Close()
		require.NoError(t, g.Close())
	})
	return g, strings.TrimPrefix(server.URL, "http://")
}

func TestPinAndUnpin(t *testing.T) {
	g, admin := pinGateway(t, true)
	state := func() isolation.State { return g.Engine().Snapshot().Services[0].Instances[0].State }
	r := runCordon(t, "", "pin", "orders", "http://10.0.0.1:9000/", "out", "--for", "10m", "--admin", admin)
	require.Equal(t, result{exitGood, "http://10.0.0.1:9000 of orders is kept out of service for 10m\n", ""}, r)
	require.Equal(t, isolation.PinnedOut, state())
	require.Regexp(t, `\n  http://10.0.0.1:9000 +pinned out +0 .* (10m|\d+\.\ds) +by hand`, runCordon(t, "", "top", "--once", "--interval", "100ms", "--admin", admin).out)
	r = runCordon(t, "", "unpin", "orders", "http://10.0.0.1:9000", "--admin", "http://"+admin)
	require.Equal(t, result{exitGood, "http://10.0.0.1:9000 of orders is not pinned\n", ""}, r)
	require.NotEqual(t, isolation.PinnedOut, state())
	r = runCordon(t, "", "pin", "orders", "http://10.0.0.1:9000", "in", "--admin", admin)
	require.Equal(t, result{exitGood, "http://10.0.0.1:9000 of orders is kept in service until it is unpinned\n", ""}, r)
	require.Equal(t, isolation.PinnedIn, state())
}

func TestPinsThatAreRefused(t *testing.T) {
	_, admin := pinGateway(t, true)
	_, readOnly := pinGateway(t, false)
	gone := httptest.NewServer(nil)
	gone.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }))
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		other.Close()
	})
	for _, tt := range []struct {
		code int
		says string
		args []string
	}{
		{exitBad, "adminWrite: true", []string{"pin", "orders", "http://10.0.0.1:9000", "out", "--admin", readOnly}},
		{exitBad, "adminWrite: true", []string{"unpin", "orders", "http://10.0.0.1:9000", "--admin", readOnly}},
		{exitBad, `instance "http://10.0.0.3" of service "orders": isolation: no such instance`, []string{"pin", "orders", "http://10.0.0.3", "out", "--admin", admin}},
		{exitBad, `want in or out`, []string{"pin", "orders", "http://10.0.0.1:9000", "off", "--admin", admin}},
		{exitMisuse, "--for is 0s, want a time above 0", []string{"pin", "orders", "http://10.0.0.1:9000", "out", "--for", "0s", "--admin", admin}},
		{exitMisuse, "2 arguments given; want cordon pin SERVICE ADDRESS", []string{"pin", "orders", "http://10.0.0.1:9000"}},
		{exitMisuse, "asking the gateway", []string{"pin", "orders", "http://10.0.0.1:9000", "out", "--admin", gone.URL}},
		{exitMisuse, "answers 500", []string{"pin", "orders", "http://10.0.0.1:9000", "out", "--admin", other.URL}},
	} {
		r := runCordon(t, "", tt.args...)
		require.Equal(t, tt.code, r.code, "%v: %s", tt.args, r.err)
		require.Contains(t, r.err, tt.says)
		require.Empty(t, r.out)
	}
}
