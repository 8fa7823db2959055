package gateway

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/isolation"
)

// write sends the admin handler a document, and returns the status and the text that it answers.
func (s *site) write(method, document string, header ...string) (int, string) {
	s.t.Helper()
	r := httptest.NewRequest(method, "http://127.0.0.1:8081/pin", strings.NewReader(document))
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.AdminHandler().ServeHTTP(w, r)
	return w.Code, strings.TrimSpace(w.Body.String())
}

// states returns where the first upstream stands, in all routes.
func (s *site) states() (states []isolation.State) {
	for _, g := range s.Engine().Snapshot().Services {
		states = append(states, g.Instances[0].State)
	}
	return states
}

func newPinSite(t *testing.T, write bool) (s *site, a string) {
	t.Helper()
	a, b := upstream(t, says("a")), upstream(t, says("b"))
	return newSite(t, Config{AdminWrite: write, Routes: []Route{
		{Name: "read", Resource: "orders", Upstreams: urls(a, b)},
		{Name: "write", Prefix: "/write", Resource: "orders", Upstreams: urls(a, b)},
	}}), a
}

// Operators take an upstream out of service and let it in again without a restart, in all routes that have it; the events tell of it, and of which route.
func TestPinningByHand(t *testing.T) {
	t.Parallel()
	s, a := newPinSite(t, true)
	spelled := strings.Replace(a, "http://127.0.0.1", "HTTP://127.0.0.1", 1) + "/" // as it may stand in the configuration
	status, text := s.write("POST", `{"service": "orders", "address": "`+spelled+`", "state": "out", "for": "10m"}`)
	require.Equal(t, 200, status, text)
	require.Equal(t, a+" of orders is kept out of service for 10m", text)
	require.Equal(t, []isolation.State{isolation.PinnedOut, isolation.PinnedOut}, s.states())
	for range 20 {
		require.Equal(t, "b", s.ask("GET", "/").Body.String())
	}
	routes := map[string]bool{}
	for _, e := range s.Status().Events {
		if strings.Contains(e.Text, "pinned for 10m") {
			routes[e.Resource+"/"+e.Route] = true
		}
	}
	require.Equal(t, map[string]bool{"orders/read": true, "orders/write": true}, routes)
	s.clk.Advance(10 * time.Minute)
	require.NotContains(t, s.states(), isolation.PinnedOut)

	status, text = s.write("POST", "service: orders\naddress: "+a+"\nstate: in\n")
	require.Equal(t, 200, status, text)
	require.Equal(t, a+" of orders is kept in service until it is unpinned", text)
	require.Equal(t, []isolation.State{isolation.PinnedIn, isolation.PinnedIn}, s.states())
	status, text = s.write("DELETE", `{"service": "orders", "address": "`+a+`"}`)
	require.Equal(t, 200, status, text)
	require.Equal(t, a+" of orders is not pinned", text)
	require.NotContains(t, s.states(), isolation.PinnedIn)
}

// What cannot be pinned is refused with the reason, and nothing has changed.
func TestPinsRefused(t *testing.T) {
	t.Parallel()
	s, a := newPinSite(t, true)
	b := s.Engine().Snapshot().Services[0].Instances[1].Address
	before := s.states()
	for _, tt := range []struct {
		method, document string
		status           int
		says             string
	}{
		{"POST", `{"service": "orders", "address": "http://elsewhere", "state": "out"}`, 404, "no such instance"},
		{"POST", `{"service": "ordres", "address": "` + a + `", "state": "out"}`, 404, "ordres"},
		{"DELETE", `{"service": "orders", "address": "http://elsewhere"}`, 404, "no such instance"},
		{"POST", `{"service": "orders", "address": "` + a + `"}`, 400, `state: "" is none; want in or out`},
		{"POST", `{"service": "orders", "address": "` + a + `", "state": "off"}`, 400, "want in or out"},
		{"POST", `{"state": "out"}`, 400, "service: is missing"},
		{"POST", `{"service": "orders", "state": "out"}`, 400, "address: is missing"},
		{"POST", `{"service": "orders", "address": "` + a + `", "state": "out", "for": 10}`, 400, "unit"},
		{"POST", `{"service": "orders", "address": "` + a + `", "state": "out", "four": "10s"}`, 400, "four"},
		{"DELETE", `{"service": "orders", "address": "` + a + `", "state": "out"}`, 400, "state"},
		{"DELETE", `{"service": "orders", "address": "` + a + `", "for": "1m"}`, 400, "for"},
		{"POST", `{`, 400, ""},
		{"POST", strings.Repeat(" ", maxPinBytes+1), 400, "too large"},
		{"PUT", `{}`, 405, ""},
	} {
		status, text := s.write(tt.method, tt.document)
		require.Equal(t, tt.status, status, "%s %.200s: %s", tt.method, tt.document, text)
		require.Contains(t, text, tt.says)
	}
	require.Equal(t, before, s.states())

	status, text := s.write("POST", `{"service": "orders", "address": "`+b+`", "state": "out"}`)
	require.Equal(t, 200, status, text)
	status, text = s.write("POST", `{"service": "orders", "address": "`+a+`", "state": "out"}`)
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, text, "it is the last instance in service")
}

// The admin address has no password: nothing can be changed over it unless that is asked for, and never by a page of another site in an operator's browser.
func TestAdminWritesOnlyIfAllowed(t *testing.T) {
	t.Parallel()
	s, a := newPinSite(t, false)
	document := `{"service": "orders", "address": "` + a + `", "state": "out"}`
	for _, method := range []string{"POST", "DELETE"} {
		status, text := s.write(method, document)
		require.Equal(t, http.StatusForbidden, status)
		require.Contains(t, text, "adminWrite: true")
	}
	s, a = newPinSite(t, true)
	document = `{"service": "orders", "address": "` + a + `", "state": "out"}`
	status, _ := s.write("POST", document, "Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site")
	require.Equal(t, http.StatusForbidden, status)
	require.NotContains(t, s.states(), isolation.PinnedOut)
}

// A drained upstream is listed, and gets nothing.
func TestDrainedUpstream(t *testing.T) {
	t.Parallel()
	list := urls(upstream(t, says("a")), upstream(t, says("b")))
	list[0].Drained = true
	s := newSite(t, Config{Routes: []Route{{Name: "r", Upstreams: list}}})
	for range 20 {
		require.Equal(t, "b", s.ask("GET", "/").Body.String())
	}
	require.Equal(t, []isolation.State{isolation.Drained}, s.states())
}

// Two routes with one resource are two groups in all that is told: each has its route's name.
func TestRoutesOfOneResourceAreTold(t *testing.T) {
	t.Parallel()
	s, _ := newPinSite(t, false)
	services := s.Engine().Snapshot().Services
	require.Equal(t, []string{"read", "write"}, []string{services[0].Group, services[1].Group})
}
