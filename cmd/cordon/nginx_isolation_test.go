//go:build unix

package main

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/isolation"
)

// TestNginxIsolation looks at isolation from outside: `cordon gateway`, without a rule, in front of five processes of nginx of which some are sick. To see
// the figures:
//
//	go test -count=1 -run NginxIsolation -v ./cmd/cordon
func TestNginxIsolation(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes half a minute")
	}
	nginxPath := findNginx(t)
	program := buildCordon(t)
	t.Run("one fails", func(t *testing.T) { t.Parallel(); checkOneSick(t, nginxPath, program, itemBroken) })
	t.Run("one fails half", func(t *testing.T) { t.Parallel(); checkOneSick(t, nginxPath, program, itemHalfBroken) })
	t.Run("all fail", func(t *testing.T) { t.Parallel(); checkAllSick(t, nginxPath, program) })
	t.Run("one stops", func(t *testing.T) { t.Parallel(); checkOneStopped(t, nginxPath, program) })
}

const (
	itemSound  = `location = /item { return 200 "an item\n"; }`
	itemBroken = `location = /item { return 500 "broken\n"; }`
	// A request's id is random. What is answered with 503 is sent to another one.
	itemHalfBroken = `location = /item { if ($request_id ~ "^[0-7]") { return 503 "broken\n"; } return 200 "an item\n"; }`

	itemsPerSecond = 200
	itemClients    = 400 // as many as can wait for one another's time outs without keeping a request from being sent when it is due
)

// startShelves starts an nginx for each location, and a gateway without rules in front of them all.
func startShelves(t *testing.T, nginxPath, program string, locations ...string) (*runningGateway, []*nginx) {
	t.Helper()
	var all []*nginx
	var urls []string
	for _, location := range locations {
		n := startNginx(t, nginxPath, location)
		all = append(all, n)
		urls = append(urls, n.url)
	}
	return startGatewayOf(t, program, t.TempDir(), fmt.Sprintf(`
routes:
  - {name: items, upstreams: [%s], timeouts: {responseHeader: 1s}}
`, strings.Join(urls, ", "))), all
}

// since counts the requests sent from a moment on, those that were not answered with 200 by an nginx, and those that took a second.
func (l *load) since(from time.Time) (sent, failed, slow int) {
	for i, a := range l.answers {
		if l.times[i].sent.Before(from) {
			continue
		}
		sent++
		if a != (answer{status: 200, nginx: true}) {
			failed++
		}
		if l.times[i].took >= time.Second {
			slow++
		}
	}
	return sent, failed, slow
}

// checkOneSick: one of five fails from the start on. Ten seconds later hardly any request fails.
func checkOneSick(t *testing.T, nginxPath, program, sick string) {
	gw, all := startShelves(t, nginxPath, program, itemSound, itemSound, sick, itemSound, itemSound)
	begun := time.Now()
	items := startLoad(gw.url+"/item", itemClients, itemsPerSecond)
	defer items.stop()
	time.Sleep(14 * time.Second)
	status := gw.status(t)
	items.stop()

	sent, failed, _ := items.since(begun)
	laterSent, laterFailed, _ := items.since(begun.Add(10 * time.Second))
	for i, in := range status.Engine.Services[0].Instances {
		require.Equal(t, i == 2, in.Quarantines > 0, "%+v", in)
	}
	for _, e := range slices.Backward(status.Events) {
		if e.What == "isolation" {
			t.Log(e.Text)
		}
	}
	t.Logf("%d of %d requests failed, of those after ten seconds %d of %d (%.2f%%); the sick one got %d",
		failed, sent, laterFailed, laterSent, 100*float64(laterFailed)/float64(laterSent), len(all[2].arrivals(t, "/item")))
	require.Greater(t, laterSent, 3*itemsPerSecond)
	require.LessOrEqual(t, float64(laterFailed), .005*float64(laterSent))
	require.LessOrEqual(t, float64(failed), .03*float64(sent))
}

// checkAllSick: all five fail. Requests still reach them all, and what clients get is their own answer.
func checkAllSick(t *testing.T, nginxPath, program string) {
	gw, all := startShelves(t, nginxPath, program, itemBroken, itemBroken, itemBroken, itemBroken, itemBroken)
	items := startLoad(gw.url+"/item", itemClients, itemsPerSecond)
	defer items.stop()
	time.Sleep(6 * time.Second)
	answers := items.stop()
	require.Greater(t, len(answers), 5*itemsPerSecond)
	require.Equal(t, len(answers), answers.count(t, 500, 0, ""))
	var each []int
	for _, n := range all {
		each = append(each, len(n.arrivals(t, "/item")))
	}
	t.Logf("%d requests, by process %v", len(answers), each)
	for _, n := range each {
		require.Greater(t, n, len(answers)/10)
	}
}

// checkOneStopped: one of five stops in the middle of it all (it neither answers nor refuses). Within five seconds it is out, and hardly any request fails or waits for it any more.
func checkOneStopped(t *testing.T, nginxPath, program string) {
	gw, all := startShelves(t, nginxPath, program, itemSound, itemSound, itemSound, itemSound, itemSound)
	items := startLoad(gw.url+"/item", itemClients, itemsPerSecond)
	defer items.stop()
	time.Sleep(2 * time.Second)
	stopped := all[3].cmd.Process
	t.Cleanup(func() { _ = stopped.Signal(syscall.SIGCONT) }) // else it could not be asked to end
	at := time.Now()
	require.NoError(t, stopped.Signal(syscall.SIGSTOP))
	var out time.Duration
	require.True(t, gw.await(func() bool {
		in := gw.status(t).Engine.Services[0].Instances[3]
		out = time.Since(at)
		return in.State == isolation.Quarantined
	}), "%+v", gw.status(t))
	time.Sleep(time.Until(at.Add(11 * time.Second)))
	items.stop()

	total, failedEver, slowEver := items.since(time.Time{})
	sent, failed, slow := items.since(at.Add(5 * time.Second))
	t.Logf("out after %v; of %d requests %d failed and %d took a second; of the %d from five seconds later on %d and %d",
		out.Round(time.Millisecond), total, failedEver, slowEver, sent, failed, slow)
	require.LessOrEqual(t, out, 5*time.Second)
	require.Greater(t, sent, 5*itemsPerSecond)
	require.LessOrEqual(t, float64(failed+slow), .005*float64(sent))
}
