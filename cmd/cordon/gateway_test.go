package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// log is a buffer that is written and read at the same time.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// writeConfig writes a gateway's configuration for one upstream, and returns its path.
func writeConfig(t *testing.T, upstream, listen string) string {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "rules.yaml"),
		[]byte("cordon: 1\nflow:\n  - {id: hello, resource: hello, limit: 2, per: 1h}\n"), 0o644))
	path := filepath.Join(folder, "gateway.yaml")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `
listen: %s
admin: none
rules:
  - file: rules.yaml
routes:
  - {name: hello, prefix: /, upstreams: [%q]}
`, listen, upstream), 0o644))
	return path
}

func TestGatewayHoldsRulesUntilItIsToldToStop(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	defer upstream.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	var err log
	code := make(chan int)
	go func() {
		code <- run(ctx, []string{"gateway", "-c", writeConfig(t, upstream.URL, "127.0.0.1:0")}, streams{out: &out, err: &err})
	}()
	serves := regexp.MustCompile(`msg="gateway serves" address=(\S+)`)
	require.Eventually(t, func() bool { return serves.MatchString(err.String()) }, 30*time.Second, time.Millisecond, err.String())

	client := &http.Client{Transport: &http.Transport{}}
	var answers []int
	for range 3 {
		response, e := client.Get("http://" + serves.FindStringSubmatch(err.String())[1])
		require.NoError(t, e)
		require.NoError(t, response.Body.Close())
		answers = append(answers, response.StatusCode)
	}
	require.Equal(t, []int{200, 200, 429}, answers)
	client.CloseIdleConnections()

	cancel()
	require.Equal(t, exitGood, <-code, err.String())
	require.Contains(t, err.String(), "gateway stopped")
	require.Empty(t, out.String())
}

func TestGatewaySaysWhyItDoesNotStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	faulty := filepath.Join(t.TempDir(), "gateway.yaml")
	require.NoError(t, os.WriteFile(faulty, []byte("listne: :8080\nroutes: []\n"), 0o644))
	good := writeConfig(t, "http://127.0.0.1:1", "127.0.0.1:0")

	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{}, exitMisuse, `required flag(s) "config" not set`},
		{[]string{"-c", "none.yaml"}, exitMisuse, "none.yaml"},
		{[]string{"-c", faulty}, exitBad, "gateway.yaml:1:1"},
		{[]string{"-c", writeConfig(t, "http://127.0.0.1:1", taken.Addr().String())}, exitMisuse, "address already in use"},
		{[]string{"-c", good, "--log", "xml"}, exitMisuse, `--log is "xml", want text or json`},
		{[]string{"-c", good, "--log-level", "loud"}, exitMisuse, "log-level"},
	} {
		r := runCordon(t, "", append([]string{"gateway"}, c.args...)...)
		require.Equal(t, c.code, r.code, "%v: %s", c.args, r.err)
		require.Contains(t, strings.ReplaceAll(r.err, `\`, "/"), c.says)
	}
}

func TestGatewayLogsJSON(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := runUntil(t, ctx, "", "gateway", "--log", "json", "-c", writeConfig(t, "http://127.0.0.1:1", "127.0.0.1:0"))
	require.Equal(t, exitGood, r.code, r.err)
	require.Contains(t, r.err, `"msg":"gateway stopped"`)
}
