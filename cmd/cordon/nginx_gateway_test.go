package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/gateway"
)

// buildCordon builds the program, with the race detector if the test has it.
func buildCordon(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cordon")
	args := []string{"build", "-buildvcs=false", "-o", path}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			if setting.Key == "-race" && setting.Value == "true" {
				args = append(args, "-race")
			}
		}
	}
	out, err := exec.Command("go", append(args, ".")...).CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}

// A process is a running program.
type process struct {
	cmd   *exec.Cmd
	log   log // what it writes
	ended chan struct{}
	err   error // how it ended, once ended is closed
}

func startProcess(t *testing.T, path string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(path, args...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	require.NoError(t, p.cmd.Start())
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p
}

// await waits until ready is true: false if the process ends before, or if it takes unreasonably long.
func (p *process) await(ready func() bool) bool {
	for began := time.Now(); time.Since(began) < 20*time.Second; {
		if ready() {
			return true
		}
		select {
		case <-p.ended:
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
	return false
}

// stop asks the process to end, which it must do without complaint, and does not leave it behind in any case.
func (p *process) stop() error {
	_ = p.cmd.Process.Signal(os.Interrupt) // it may have ended
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		_ = p.cmd.Process.Kill() // as above
		<-p.ended
		return fmt.Errorf("it had to be killed")
	}
	return p.err
}

// A runningGateway is a process that runs `cordon gateway`.
type runningGateway struct {
	*process
	url, admin string
}

// startGateway starts a gateway to the upstream with the rules in folder/rules.yaml, and waits until it is ready. It ends with the test.
func startGateway(t *testing.T, program, folder, upstream string) *runningGateway {
	t.Helper()
	return startGatewayOf(t, program, folder, fmt.Sprintf(`
rules:
  - file: rules.yaml
routes:
  - {name: shop, prefix: /shop, upstreams: [%[1]q]}
  - {name: broken, prefix: /broken, upstreams: [%[1]q]}
`, upstream))
}

// startGatewayOf starts a gateway by a configuration without addresses.
func startGatewayOf(t *testing.T, program, folder, more string) *runningGateway {
	t.Helper()
	config := filepath.Join(folder, "gateway.yaml")
	const addresses = "listen: 127.0.0.1:0\nadmin: 127.0.0.1:0\ngrace: 10s\n"
	require.NoError(t, os.WriteFile(config, []byte(addresses+more), 0o644))
	g := &runningGateway{process: startProcess(t, program, "gateway", "-c", config)}
	t.Cleanup(func() {
		require.NoError(t, g.stop(), g.log.String())
		require.Contains(t, g.log.String(), "gateway stopped")
		require.NotContains(t, g.log.String(), "level=ERROR")
	})
	serves := regexp.MustCompile(`msg="gateway serves" address=(\S+) admin=(\S+)`)
	require.True(t, g.await(func() bool { return serves.MatchString(g.log.String()) }), g.log.String())
	found := serves.FindStringSubmatch(g.log.String())
	g.url, g.admin = "http://"+found[1], "http://"+found[2]
	require.True(t, g.await(func() bool { return reachable(g.admin + "/readyz") }), g.log.String())
	return g
}

// gatewayState is what the gateway's snapshot says of the two rules.
type gatewayState struct {
	limit    int
	breaker  string
	retryAt  time.Time // when the breaker's open time is over
	reopened int
}

// status asks the admin address.
func (g *runningGateway) status(t *testing.T) gateway.Status {
	t.Helper()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(g.admin + "/")
	require.NoError(t, err)
	defer response.Body.Close()
	var status gateway.Status
	require.NoError(t, json.NewDecoder(response.Body).Decode(&status))
	return status
}

// state looks for the two rules.
func (g *runningGateway) state(t *testing.T) gatewayState {
	t.Helper()
	status := g.status(t)
	var s gatewayState
	for _, resource := range status.Engine.Resources {
		for _, r := range resource.Rules {
			switch r.ID {
			case "shop":
				s.limit = int(r.Limit)
			case "broken":
				s.breaker, s.retryAt, s.reopened = r.State, status.Engine.Time.Add(r.RetryIn), r.Reopened
			}
		}
	}
	return s
}

// eventually waits for a state.
func (g *runningGateway) eventually(t *testing.T, what string, is func(gatewayState) bool) gatewayState {
	t.Helper()
	var s gatewayState
	require.True(t, g.await(func() bool {
		s = g.state(t)
		return is(s)
	}), "%s: %+v\n%s", what, s, g.log.String())
	return s
}
