package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An answer may switch to the protocol that was asked for, and to no other.
func TestWhatMayBeSwitchedTo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status                 int
		asked, got, connection string
		ok                     bool
	}{
		{101, "websocket", "WebSocket", "keep-alive, upgrade", true},
		{101, "websocket", "other", "Upgrade", false},
		{101, "websocket", "websocket", "keep-alive", false},
		{101, "", "other", "Upgrade", false},
		{101, "", "", "Upgrade", false},
		{200, "", "other", "", true},
	} {
		req := &http.Request{Header: http.Header{"Upgrade": {tt.asked}}}
		res := &http.Response{StatusCode: tt.status, Request: req, Header: http.Header{"Upgrade": {tt.got}, "Connection": {tt.connection}}}
		require.Equal(t, tt.ok, checkSwitch(res) == nil, "%+v", tt)
	}
}

// The connection of an upstream that switched unasked is closed at once, and left to nobody.
func TestUnaskedSwitchIsClosed(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(closed)
		r.Header.Set("Upgrade", "other")
		echoUpgrade(w, r)
	}))
	defer srv.Close()
	g := run(t, oneRoute(srv.URL))
	require.Equal(t, 502, g.get("/").status)
	require.Eventually(t, func() bool {
		select {
		case <-closed:
			return true
		default:
			return false
		}
	}, time.Second, time.Millisecond)
}
