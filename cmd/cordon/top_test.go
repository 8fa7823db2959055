package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/gateway"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/paramflow"
)

// statusAt is a gateway n seconds after noon, when so many calls have passed.
func statusAt(n int, passed int64) gateway.Status {
	return gateway.Status{State: "serving", InFlight: 3, Engine: cordon.Snapshot{
		Time:  time.Date(2026, 1, 2, 12, 0, n, 0, time.UTC),
		Rules: map[string]int{"flow": 1, "breaker": 1},
		Sources: []cordon.SourceSnapshot{{
			Source: "file:/etc/gateway/rules.yaml", Version: "2026-01-02T11:00:00Z", Rules: 2, Updates: 3,
		}},
		Resources: []cordon.ResourceSnapshot{
			{
				Name: "orders.Create", Passed: passed, Succeeded: passed - 3, Failed: passed / 100, InFlight: 3,
				Blocked: map[string]int64{"flow": passed / 2, "breaker": 1},
				Recent: cordon.RecentSnapshot{
					Length: 10 * time.Second, Calls: 1005,
					Mean: 3 * time.Millisecond, P50: 2100 * time.Microsecond, P99: 1500 * time.Millisecond,
				},
				Rules: []cordon.RuleSnapshot{
					{Kind: "flow", ID: "orders", Limit: 100, Usage: 99},
					{Kind: "breaker", ID: "pay", State: "open", RetryIn: 1500 * time.Millisecond, Limit: 0.5, Usage: 0.75},
					{Kind: "concurrency", ID: "db", Limit: 20, Usage: 20, Queued: 4, Shadow: true},
				},
			},
			{Name: "idle"},
		},
	}, Events: []gateway.Event{
		{Time: time.Date(2026, 1, 2, 11, 59, 58, 0, time.UTC), What: "refused", Resource: "orders.Create", Route: "write", Text: "limit 100", Count: 7},
		{Time: time.Date(2026, 1, 2, 11, 0, 1, 0, time.UTC), What: "refused", Kind: "authority", Resource: "pay", Origin: "\x1b[2Jx", Text: "no", Count: 1},
		{Time: time.Date(2026, 1, 2, 11, 0, 0, 0, time.UTC), What: "rules", Text: "2 added"},
	}}
}

func TestTopTableTakesRatesFromWhatChanged(t *testing.T) {
	p := screen.New(&bytes.Buffer{})
	require.Equal(t, strings.TrimPrefix(`
2026-01-02 12:00:12  serving, 3 in flight  rules: 1 breaker, 1 flow
file:/etc/gateway/rules.yaml: 2 rules, version 2026-01-02T11:00:00Z, 3 updates
refused/s: 100 by flow

RESOURCE       PASSED/s  REFUSED/s  FAILED/s  IN FLIGHT    P50   P99  RULES
orders.Create       200        100         2          3  2.1ms  1.5s  orders 99/100, pay open for 1.5s, db 20/20 (4 wait) (shadow)
idle                  0          0         0          0      –     –

EVENTS, newest first
11:59:58  refused orders.Create (write): limit 100 (7 times)
11:00:01  refused pay: no (from "�[2Jx")
11:00:00  rules   2 added`, "\n"),
		strings.Join(topTable(p, statusAt(10, 1000), statusAt(12, 1400)), "\n"))
}

func TestTopTableWithoutAnEarlierLookTakesRatesFromTheRecentWindow(t *testing.T) {
	p := screen.New(&bytes.Buffer{})
	for name, before := range map[string]gateway.Status{
		"the first look":        {},
		"the gateway restarted": statusAt(10, 999_999),
	} {
		line := topTable(p, before, statusAt(12, 1400))[4]
		require.Equal(t, []string{"orders.Create", "100", "–", "–", "3"}, strings.Fields(line)[:5], name)
	}
}

func TestTopTableShowsWhatIsWrong(t *testing.T) {
	s := statusAt(1, 0)
	s.Engine.Sources[0].LastError = "rules.yaml:3:5: flow[0]:\n limti: unknown key"
	s.Engine.Sources[0].Refused, s.Engine.Sources[0].Kept, s.Engine.Sources[0].Problems = 3, 2, []string{"rules.yaml:7:1: flow[1]: odd", "another"}
	s.Engine.Faults = 2
	s.Engine.Resources = nil
	text := strings.Join(topTable(screen.New(&bytes.Buffer{}), gateway.Status{}, s), "\n")
	require.Contains(t, text, "FAILED: rules.yaml:3:5: flow[0]: limti: unknown key")
	require.Contains(t, text, "IN PART: 3 refused, 2 kept as they were: rules.yaml:7:1: flow[1]: odd")
	require.Contains(t, text, "2 internal faults")
	require.Contains(t, text, "no calls yet")
}

// Sources that are stale, absent or not kept say so, and what the whole process is held to stands under them.
func TestTopTableShowsStaleSourcesAndTheSystem(t *testing.T) {
	s, before := statusAt(12, 1000), statusAt(10, 1000)
	f := func(v float64) *float64 { return &v }
	s.Engine.Rules = map[string]int{"flow": 2, "system": 3, "authority": 1, "breaker": 0}
	s.Engine.Sources = []cordon.SourceSnapshot{
		{
			Source: "nacos:public/G/shop-flow-rules", Version: "v1", Rules: 2, Updates: 1, Stale: true, StaleSince: time.Date(2026, 1, 1, 3, 4, 5, 0, time.UTC),
			LastError: "nacos:public/G/shop-flow-rules: connection refused", LastGoodError: "disk full",
		},
		{Source: "nacos:public/G/shop-param-rules", LastError: "nacos:public/G/shop-param-rules: " + datasource.ErrAbsent.Error() + ", or is empty"},
		{Source: "nacos:public/G/shop-api-rules", Absent: true, LastError: "nacos:public/G/shop-api-rules: connection refused"},
		{Source: "nacos:public/G/gone", Updates: 3, LastError: "nacos:public/G/gone: " + datasource.ErrAbsent.Error()},
	}
	s.Engine.System = &cordon.SystemSnapshot{
		CPU: f(.853), Load: f(3.2), InFlight: 12, ResponseTime: 12 * time.Millisecond, Capacity: 40,
		Rules: []cordon.SystemRuleSnapshot{
			{ID: "cpu#1", Metric: "cpu", Limit: .8, Observed: f(.853), Refusing: true, Blocked: 7},
			{ID: "slow", Metric: "responseTime", Limit: .5, Observed: f(.012), Shadow: true, Shadowed: 3},
			{ID: "load#1", Metric: "load", Limit: 8},
			{ID: "rate#1", Metric: "rate", Limit: 1000, Observed: f(250)},
		},
	}
	r := &s.Engine.Resources[0]
	r.Blocked = map[string]int64{"flow": 600, "system": 40, "authority": 2, "breaker": 1}
	r.Rules = []cordon.RuleSnapshot{{Kind: "authority", ID: "callers", Blocked: 2}, {Kind: "flow", ID: "o#1", Limit: 5, Usage: 1}, {Kind: "param", ID: "o#1", Limit: 2, Param: &cordon.ParamSnapshot{}}}
	require.Equal(t, strings.TrimPrefix(`
2026-01-02 12:00:12  serving, 3 in flight  rules: 1 authority, 2 flow, 3 system
nacos:public/G/shop-flow-rules: 2 rules, version v1, 1 updates  STALE: kept on 2026-01-01 03:04:05, not confirmed since the start  FAILED: connection refused  NOT KEPT: disk full
nacos:public/G/gone: 0 rules, version none, 3 updates  FAILED: document does not exist
no document: nacos:public/G/shop-param-rules, nacos:public/G/shop-api-rules
system: CPU 85%, load 3.20, 12 in flight, responds in 12ms, can work on 40 at once
  cpu#1: cpu 85% of 80%  REFUSING  7 refused
  slow: responseTime 12ms of 500ms  (shadow, 3 would be refused)
  load#1: load – of 8.00
  rate#1: rate 250 of 1000
refused/s: 50 by flow, 20 by system, 1 by authority

RESOURCE       PASSED/s  REFUSED/s  FAILED/s  IN FLIGHT    P50   P99  RULES
orders.Create         0         71         0          3  2.1ms  1.5s  callers 2 refused, flow o#1 1/5, param o#1 2 each`, "\n"),
		strings.Join(topTable(screen.New(&bytes.Buffer{}), before, s)[:13], "\n"))
}

// services are one that is well, one with a sick instance, and one in fallback.
func services() []isolation.Snapshot {
	in := func(address string) isolation.InstanceSnapshot {
		return isolation.InstanceSnapshot{Address: address, Weight: 1, Calls: 1000, Failures: 1, InFlight: 2}
	}
	ramp, sick := in("10.0.0.3:80"), in("10.0.0.4:80")
	ramp.State, ramp.Weight, ramp.Strikes, ramp.Left = isolation.SlowStart, 0.25, 0.94, 11200*time.Millisecond
	sick.State, sick.Weight, sick.Region, sick.Failures = isolation.Quarantined, 0, "east", 200
	sick.Strikes, sick.Left, sick.Reason = 2, 18*time.Second, "fails 20% of its calls,\nits peers .1%"
	return []isolation.Snapshot{
		{Service: "mail", Instances: []isolation.InstanceSnapshot{in("10.0.1.1:80"), {Address: "10.0.1.2:80", Weight: 1}}},
		{
			Service: "orders", Group: "orders", RuleID: "all", Out: 1, Quarantines: 3,
			Instances: []isolation.InstanceSnapshot{in("10.0.0.1:80"), in("10.0.0.2:80"), ramp, sick, {Address: "10.0.0.5:80", State: isolation.Drained}},
		},
		{
			Service: "pay", RuleID: "pay", Fallback: true, Fallbacks: 1, Quarantines: 1, Held: 1,
			Instances: []isolation.InstanceSnapshot{{Address: "10.0.2.1:80", State: isolation.Held, Weight: 2}},
		},
		{
			Service: "stock", RuleID: "all", Shadow: true, Out: 1, Quarantines: 1,
			Instances: []isolation.InstanceSnapshot{{Address: "10.0.3.1:80", State: isolation.Quarantined, Weight: 1}},
		},
		{Service: "users", Instances: []isolation.InstanceSnapshot{in("10.0.4.1:80"), {Address: "10.0.4.2:80", State: isolation.Unreachable, Reason: "nobody is connected to it"}}},
		{Service: "void", Group: "void-write", RuleID: "all"},
	}
}

func TestTopTableShowsServicesAndTheirInstances(t *testing.T) {
	s := statusAt(12, 1400)
	s.Engine.Services = services()
	lines := topTable(screen.New(&bytes.Buffer{}), statusAt(10, 1000), s)
	require.Equal(t, strings.TrimPrefix(`

SERVICE               STATE                                WEIGHT  CALLS  FAILED  IN FLIGHT  STRIKES   LEFT  WHY
orders                3 of 4 in service                             4000     203          8                  rule all, 3 quarantines
  10.0.0.3:80         slow start                             0.25   1000       1          2      0.9  11.2s
  10.0.0.4:80 (east)  quarantined                               0   1000     200          2      2.0  18.0s  fails 20% of its calls, its peers .1%
  10.0.0.5:80         drained                                   0      0       0          0
  10.0.0.1:80         in service                                1   1000       1          2
  10.0.0.2:80         in service                                1   1000       1          2
pay                   FALLBACK, 1 of 1 in service, 1 held              0       0          0                  rule pay, 1 quarantine, 1 fallback
  10.0.2.1:80         held                                      2      0       0          0
stock                 1 of 1 in service, 1 would be out                0       0          0                  rule all (shadow), 1 quarantine
  10.0.3.1:80         quarantined                               1      0       0          0
users                 1 of 1 in service, 1 unreachable              1000       1          2                  no rule
  10.0.4.2:80         unreachable                               0      0       0          0                  nobody is connected to it
  10.0.4.1:80         in service                                1   1000       1          2
mail                  2 of 2 in service                             1000       1          2                  no rule
void (void-write)     no instances                                     0       0          0                  rule all

EVENTS, newest first`, "\n"), strings.Join(lines[7:len(lines)-3], "\n"))
}

// What an administration address answers is what top shows: states are read back from their words.
func TestTopReadsServicesFromTheAdministration(t *testing.T) {
	gateway := admin(t, func(n int) any {
		s := statusAt(n, 100)
		s.Engine.Services = services()
		return s
	})
	r := runCordon(t, "", "top", "--once", "--interval", "100ms", "--admin", gateway)
	require.Equal(t, exitGood, r.code, r.err)
	require.Regexp(t, `\n  10.0.0.4:80 \(east\) +quarantined +0 +1000 +200 +2 +2.0 +18.0s +fails 20%`, r.out)
}

func TestTopFitsTheTerminal(t *testing.T) {
	s := statusAt(12, 1400)
	s.Engine.Services = services()
	for range 100 {
		s.Engine.Resources = append(s.Engine.Resources, s.Engine.Resources[1])
	}
	lines := topTable(screen.NewLive(&bytes.Buffer{}, 200, 24, false), gateway.Status{}, s)
	require.Len(t, lines, 23)
	require.Contains(t, strings.Join(lines, "\n"), "quarantined")
	require.Contains(t, strings.Join(lines, "\n"), "more lines")
	require.Contains(t, lines[len(lines)-1], "2 added", "the events are few enough")

	block := func(name string, n int) []string {
		lines := make([]string, n)
		for i := range lines {
			lines[i] = name + strconv.Itoa(i)
		}
		return lines
	}
	require.Len(t, fit(0, block("h", 3), block("a", 500), block("b", 500)), 1003, "no terminal, no bound")
	require.Len(t, fit(10, block("h", 3), block("a", 3), block("b", 3)), 9, "all fit")
	require.Equal(t, []string{"h0", "h1", "a0", "a1", "a2", "a3", "… 496 more lines", "b0", "b1", "b2", "… 37 more lines", "c0"},
		fit(13, block("h", 2), block("a", 500), block("b", 40), block("c", 1)))
	for rows := 1; rows < 40; rows++ {
		lines := fit(rows, block("h", 4), block("a", 500), block("b", 9), nil, block("c", 20))
		require.LessOrEqual(t, len(lines), rows-1)
		if rows > 7 {
			require.Len(t, lines, min(rows-1, 4+500+9+20), "no room is left empty")
		}
	}
}

func TestTopOnce(t *testing.T) {
	gateway := admin(t, func(n int) any { return statusAt(n, int64(n)*100) })
	for _, address := range []string{gateway, strings.TrimPrefix(gateway, "http://")} {
		r := runCordon(t, "", "top", "--once", "--interval", "100ms", "--admin", address)
		require.Equal(t, exitGood, r.code, r.err)
		require.Regexp(t, `orders.Create +100 +50 +1 `, r.out)
		require.Empty(t, r.err)
	}
}

func TestTopSaysWhyItCannotLook(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	for address, want := range map[string]string{
		gone.URL: "asking the gateway",
		admin(t, func(int) any { return map[string]string{"hello": "world"} }): "is this the administration address?",
		admin(t, func(int) any { return "text" }):                              "does not answer with a gateway's status",
	} {
		r := runCordon(t, "", "top", "--once", "--admin", address)
		require.Equal(t, exitMisuse, r.code)
		require.Contains(t, r.err, want)
	}
}

func TestTopOnceFailsIfTheGatewayGoesAway(t *testing.T) {
	gateway := admin(t, func(n int) any {
		if n == 2 {
			return "away"
		}
		return statusAt(n, 100)
	})
	r := runCordon(t, "", "top", "--once", "--interval", "100ms", "--admin", gateway)
	require.Equal(t, exitMisuse, r.code)
	require.Empty(t, r.out)
}

// A gateway that is restarted is watched on.
func TestTopGoesOnWhenTheGatewayIsAwayForAWhile(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	gateway := admin(t, func(n int) any {
		switch n {
		case 2:
			return "away"
		case 4:
			cancel()
		}
		return statusAt(n, int64(n)*100)
	})
	r := runUntil(t, ctx, "", "top", "--interval", "100ms", "--admin", gateway)
	require.Equal(t, exitGood, r.code, r.err)
	require.Contains(t, r.out, "does not answer with a gateway's status")
	require.Contains(t, r.out, "2026-01-02 12:00:03")
}

// admin serves the n-th look's answer as JSON.
func admin(t *testing.T, answer func(n int) any) string {
	t.Helper()
	var looks atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		json.NewEncoder(w).Encode(answer(int(looks.Add(1)))) //nolint:errcheck // the other end tells
	}))
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		server.Close()
	})
	return server.URL
}

// The hottest values are shown of rules that refuse some, whatever callers put into them.
func TestTopTableShowsRefusedValues(t *testing.T) {
	p := screen.New(&bytes.Buffer{})
	states := func(usage float64, crowded bool, top ...paramflow.TopValue) string {
		return ruleStates(p, []cordon.RuleSnapshot{{Kind: "param", ID: "users", Limit: 10, Usage: usage, Param: &cordon.ParamSnapshot{
			Status: paramflow.Status{Top: top, Crowded: crowded},
		}}})
	}
	require.Equal(t, "users 10 each", states(0, false, paramflow.TopValue{Value: "quiet", Passed: 7}))
	require.Equal(t, "users 10 each, 3 in flight [b refused 9 of 10, a refused 5 of 7, c refused 2 of 2] crowded", states(3, true,
		paramflow.TopValue{Value: "a", Passed: 2, Refused: 5}, paramflow.TopValue{Value: "quiet", Passed: 7}, paramflow.TopValue{Value: "c", Refused: 2},
		paramflow.TopValue{Value: "b", Passed: 1, Refused: 9}, paramflow.TopValue{Value: "d", Refused: 1}))
	require.Equal(t, "users 10 each [\uFFFD[2J\uFFFD\uFFFD refused 1 of 1]", states(0, false, paramflow.TopValue{Value: "\x1b[2J\n\xff", Refused: 1}))
	require.Contains(t, states(0, false, paramflow.TopValue{Value: strings.Repeat("é", 300), Refused: 1}), strings.Repeat("é", 40)+"… refused")
}
