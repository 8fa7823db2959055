package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNginxParams looks at limits by value from outside: `cordon gateway` with a limit for each user of a JSON body and one for each tenant of a header, in front of an nginx
// that notes when whose request arrives. (faults #52, #54, #57)
//
//	go test -count=1 -run NginxParams -v ./cmd/cordon
//
// No caller has more than one request on its way, so what arrives of it in a window was, but for one, also admitted in a window of that length. A limit that is held by the time of
// decision thus never shows more than one arrival above it, on the slowest machine.
func TestNginxParams(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some ten seconds")
	}
	nginxPath := findNginx(t)
	program := buildCordon(t)
	limits := valueLimits{users: valueLimit{10, 5}, vip: valueLimit{40, 10}, tenants: valueLimit{20, 10}}
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "rules.yaml"), fmt.Appendf(nil, `cordon: 1
param:
  - {id: users, resource: orders, param: body.user.id, limit: %d, burst: %d, overrides: [{value: vip, limit: %d, burst: %d}]}
  - {id: tenants, resource: reports, param: 'header["X-Tenant"]', limit: %d, burst: %d}
`, limits.users.perSecond, limits.users.burst, limits.vip.perSecond, limits.vip.burst, limits.tenants.perSecond, limits.tenants.burst), 0o644))
	upstream := startNginx(t, nginxPath, `location = /orders { return 200 "ordered\n"; }`, `location = /reports { return 200 "reported\n"; }`)
	gw := startGatewayOf(t, program, folder, fmt.Sprintf(`
rules: [{file: rules.yaml}]
routes:
  - {name: orders, prefix: /orders, upstreams: [%[1]q]}
  - {name: reports, prefix: /reports, upstreams: [%[1]q]}
`, upstream.url))

	callers := startCallers(gw.url, limits)
	time.Sleep(7 * time.Second)
	callers.stop()
	status := gw.status(t)

	arrivals := map[string]map[string]moments{"/orders": upstream.arrivalsOf(t, "/orders"), "/reports": upstream.arrivalsOf(t, "/reports")}
	var fullest, sent, refused int
	for _, c := range callers.list {
		seen := arrivals[c.path][c.name]
		admitted := c.answers.count(t, 200, 429, "param")
		require.Len(t, seen, admitted, c.name)
		sent, refused = sent+len(c.answers), refused+len(c.answers)-admitted
		if c.limit == nil {
			require.Len(t, c.answers, admitted, "%s asks for less than its limit, or each time for somebody else", c.name)
			continue
		}
		bound := c.limit.perSecond + c.limit.burst
		require.LessOrEqual(t, seen.worst(), most(bound), c.name)
		require.GreaterOrEqual(t, seen.rate(), .8*float64(c.limit.perSecond), c.name) // a busy machine may keep the caller from asking for a moment
		require.Less(t, admitted, len(c.answers), c.name)
		fullest = max(fullest, 100*seen.worst()/bound)
	}
	t.Logf("%d requests of %d callers, %d refused; the fullest second of a value held %d%% of what its limit and burst allow", sent, len(callers.list), refused, fullest)

	// The snapshot shows who was refused, and nobody in a scan of values.
	shown := map[string]bool{}
	for _, r := range status.Engine.Resources {
		for _, rule := range r.Rules {
			require.NotNil(t, rule.Param)
			require.Zero(t, rule.Param.Faults+rule.Param.Doubtful)
			for _, v := range rule.Param.Top {
				if v.Refused > 0 {
					shown[v.Value] = true
				}
			}
		}
	}
	for _, c := range callers.list {
		if c.limit != nil {
			require.True(t, shown[c.name], "%s of %v", c.name, shown)
		}
	}
	require.Len(t, shown, len(callers.list)-callers.unlimited)
}

// A valueLimit is what one value may do.
type valueLimit struct{ perSecond, burst int }

// valueLimits are those of the rules.
type valueLimits struct{ users, vip, tenants valueLimit }

// A valueCaller makes requests with a value of its own, one after the other.
type valueCaller struct {
	name, path string
	every      time.Duration
	request    func(url string, i int) (*http.Request, error)
	limit      *valueLimit // nil if it never comes to it
	answers    answerList
}

// valueCallers are those of the test, together.
type valueCallers struct {
	list      []*valueCaller
	unlimited int
	cancel    context.CancelFunc
	running   sync.WaitGroup
}

// startCallers starts users who ask for more than they may, one of them in every form in which its id can be written, users who ask for less, one who scans ids, and tenants.
func startCallers(url string, limits valueLimits) *valueCallers {
	ctx, cancel := context.WithCancel(context.Background())
	all := &valueCallers{cancel: cancel}
	add := func(name, path string, perSecond int, limit *valueLimit, request func(url string, i int) (*http.Request, error)) {
		all.list = append(all.list, &valueCaller{name: name, path: path, every: time.Second / time.Duration(perSecond), request: request, limit: limit})
		if limit == nil {
			all.unlimited++
		}
	}
	for i := range 8 {
		id := fmt.Sprint("greedy-", i)
		add(id, "/orders", 3*limits.users.perSecond, &limits.users, order(func(int) string { return fmt.Sprintf("%q", id) }))
	}
	add("7", "/orders", 3*limits.users.perSecond, &limits.users, order(func(i int) string {
		forms := []string{`7`, `"7"`, `7.0`, `7e0`, `"\u0037"`, `1,"id":7`, "\t7\n"}
		return forms[i%len(forms)]
	}))
	add("vip", "/orders", 3*limits.vip.perSecond, &limits.vip, order(func(int) string { return `"vip"` }))
	for i := range 20 {
		id := fmt.Sprint("modest-", i)
		add(id, "/orders", limits.users.perSecond/3, nil, order(func(int) string { return fmt.Sprintf("%q", id) }))
	}
	add("scan", "/orders", 200, nil, order(func(i int) string { return fmt.Sprint(1000 + i) }))
	for i := range 4 {
		id := fmt.Sprint("tenant-", i)
		add(id, "/reports", 3*limits.tenants.perSecond, &limits.tenants, func(url string, _ int) (*http.Request, error) {
			r, err := http.NewRequest(http.MethodGet, url, nil)
			if err == nil {
				r.Header.Set("X-Tenant", id)
			}
			return r, err
		})
	}
	for _, c := range all.list {
		all.running.Go(func() { c.run(ctx, url+c.path) })
	}
	return all
}

// order makes requests whose body has an id in it, written as it says.
func order(id func(i int) string) func(url string, i int) (*http.Request, error) {
	return func(url string, i int) (*http.Request, error) {
		r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(`{"items":[{"id":1}],"user":{"id":`+id(i)+`}}`))
		if err == nil {
			r.Header.Set("Content-Type", "application/json")
		}
		return r, err
	}
}

// run makes requests until the context is done. One that is to be sent when another one is late is sent when that has been answered, but none is made up for: whoever asks for little would
// else ask for much at once when the machine has stalled.
func (c *valueCaller) run(ctx context.Context, url string) {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxConnsPerHost: 1}}
	defer client.CloseIdleConnections()
	for i := 0; ; i++ {
		due := time.After(c.every)
		r, err := c.request(url, i)
		if err != nil {
			c.answers = append(c.answers, answer{err: err})
			return
		}
		r.Header.Set("X-Caller", c.name)
		c.answers = append(c.answers, do(client, r))
		select {
		case <-ctx.Done():
			return
		case <-due:
		}
	}
}

// stop ends the callers and waits for their last answers.
func (a *valueCallers) stop() {
	a.cancel()
	a.running.Wait()
}
