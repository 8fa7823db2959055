package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/datasource/nacos"
	"github.com/cordon-go/cordon/gateway"
	"github.com/cordon-go/cordon/scripts/nacosserver"
)

// realNacos starts a Nacos server for the test.
func realNacos(t *testing.T) *nacosserver.Server {
	t.Helper()
	if testing.Short() {
		t.Skip("a real server takes a while to start")
	}
	if why := nacosserver.WhySkip(); why != "" {
		t.Skip(why)
	}
	folder, err := os.MkdirTemp("", "cordon-nacos-")
	require.NoError(t, err)
	s, err := nacosserver.Start(folder)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, s.Stop())
		require.NoError(t, os.RemoveAll(folder))
	})
	return s
}

// The gateway of examples/nacos follows what is pushed, what is published over HTTP, and what a dashboard of Sentinel's stores. Protection outlasts the
// server, its data, and a start without it; the log says what happened (faults #64, #66).
func TestGatewayFollowsNacos(t *testing.T) {
	server := realNacos(t)
	program := buildCordon(t)
	folder := t.TempDir()
	const example = "../../examples/nacos/"
	rules, err := os.ReadFile(example + "rules.yaml")
	require.NoError(t, err)
	document := nacosserver.Document{Group: nacos.DefaultGroup, DataID: "shop-rules.yaml"}
	address := "nacos://" + server.Address() + "/public/DEFAULT_GROUP/shop-rules.yaml"
	history := filepath.Join(folder, "history")
	push := func(args ...string) {
		t.Helper()
		out, code := runProgram(t, program, append([]string{"rules", "push", "--yes", "--history", history}, args...)...)
		require.Zero(t, code, out)
	}

	// By cordon's own command, which shows what changes and refuses what would be refused.
	push(example+"rules.yaml", address)
	gw := startExample(t, program, folder, example+"gateway.yaml", server)
	gw.limits(t, 5)
	edited := filepath.Join(folder, "edited.yaml")
	require.NoError(t, os.WriteFile(edited, bytes.Replace(rules, []byte("limit: 5\n"), []byte("limti: 3\n"), 1), 0o600))
	out, code := runProgram(t, program, "rules", "push", "--yes", "--history", history, edited, address)
	require.Equal(t, exitBad, code, out)
	require.Contains(t, out, `did you mean "limit"?`)
	require.NoError(t, os.WriteFile(edited, bytes.Replace(rules, []byte("limit: 5\n"), []byte("limit: 3\n"), 1), 0o600))
	push(edited, address)
	gw.limits(t, 3)

	// By plain HTTP, as the server's console does; garbage as well.
	require.NoError(t, server.Publish(t.Context(), document, strings.Replace(string(rules), "limit: 5\n", "limit: 4\n", 1)))
	gw.limits(t, 4)
	require.NoError(t, server.Publish(t.Context(), document, "<html>"))
	gw.says(t, "refused")
	gw.limits(t, 4)

	// By a dashboard, beside it.
	dashboard := nacosserver.Document{Group: nacos.SentinelGroup, DataID: "shop-flow-rules"}
	require.NoError(t, server.Publish(t.Context(), dashboard, `[{"app":"shop","resource":"GET /orders/{id}","limitApp":"default","grade":1,"count":2,"strategy":0,"controlBehavior":0}]`))
	gw.limits(t, 2)

	// The server is killed, comes back without its data, and gets it back from the history.
	require.NoError(t, server.Kill())
	gw.says(t, "connection lost")
	gw.limits(t, 2)
	require.NoError(t, gw.stop())
	gw = startExample(t, program, folder, example+"gateway.yaml", server)
	gw.says(t, "last-good")
	gw.limits(t, 2)
	require.NoError(t, server.Wipe())
	require.NoError(t, server.Start())
	gw.says(t, "does not exist")
	gw.limits(t, 2)
	require.NoError(t, server.Publish(t.Context(), dashboard, "[]"))
	push("--version", "2", address)
	gw.limits(t, 3)
}

// startExample starts the gateway of an example with its servers put in place of those that stand there.
func startExample(t *testing.T, program, folder, path string, server *nacosserver.Server) *followingGateway {
	t.Helper()
	upstream := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(upstream.Close)
	_, err := gateway.Load(path)
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	more := string(text)
	for stands, put := range map[string]string{
		"listen: 127.0.0.1:8080\n": "", "admin: 127.0.0.1:8081\n": "", // startGatewayOf has its own
		"[127.0.0.1:8848]":        "[" + server.Address() + "]",
		"[http://127.0.0.1:9090]": "[" + upstream.URL + "]",
	} {
		require.Equal(t, 1, strings.Count(more, stands), stands)
		more = strings.Replace(more, stands, put, 1)
	}
	return &followingGateway{runningGateway: startGatewayOf(t, program, folder, more)}
}

// A followingGateway is a gateway of the example.
type followingGateway struct{ *runningGateway }

// limits waits until the strictest of the limits on orders is so many a second, and finds that they are held to it.
func (g *followingGateway) limits(t *testing.T, limit int) {
	t.Helper()
	g.call(t) // for the gateway to know the resource
	began := time.Now()
	require.True(t, g.await(func() bool { return g.strictest(t) == limit }), "no limit of %d but %d: %s", limit, g.strictest(t), &g.log)
	t.Logf("limit %d in force after %v", limit, time.Since(began).Round(time.Millisecond))
	require.True(t, g.await(func() bool {
		time.Sleep(1100 * time.Millisecond) // nothing counts any more
		passed, began := 0, time.Now()
		for range limit + 5 {
			if g.call(t) == http.StatusOK {
				passed++
			}
		}
		// On a machine that takes so long for these calls it is not known how many may pass.
		return time.Since(began) < 900*time.Millisecond && assert.Equal(t, limit, passed)
	}))
}

// call makes a call and returns its status.
func (g *followingGateway) call(t *testing.T) int {
	t.Helper()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(g.url + "/orders/7")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response.StatusCode
}

// strictest returns the lowest limit that is in force on orders, 0 if there is none.
func (g *followingGateway) strictest(t *testing.T) int {
	t.Helper()
	lowest := 0
	for _, resource := range g.status(t).Engine.Resources {
		for _, r := range resource.Rules {
			if limit := int(r.Limit); r.Kind == "flow" && (lowest == 0 || limit < lowest) {
				lowest = limit
			}
		}
	}
	return lowest
}

// says waits until the log holds it.
func (g *followingGateway) says(t *testing.T, what string) {
	t.Helper()
	require.True(t, g.await(func() bool { return strings.Contains(g.log.String(), what) }), "%q is not in\n%s", what, &g.log)
}

// runProgram runs the program to its end.
func runProgram(t *testing.T, program string, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}
