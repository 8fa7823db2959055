package gateway

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sentinel"
)

func TestLoadExample(t *testing.T) {
	t.Parallel()
	c, err := Load("testdata/gateway.yaml")
	require.NoError(t, err)
	require.Equal(t, Config{
		Listen: "127.0.0.1:8080", Admin: "127.0.0.1:8081", Grace: 20 * time.Second,
		Timeouts:     Timeouts{ReadHeader: 5 * time.Second, ResponseHeader: 10 * time.Second},
		Limits:       Limits{BodyBytes: 1 << 20, ParamBodyBytes: 16 << 10},
		OriginHeader: "X-Client", TrustedProxies: []string{"10.0.0.0/8", "192.0.2.7"}, Region: "eu-1", Isolation: CarefulIsolation,
		Rules: []RuleSource{
			{File: "testdata/rules.yaml"},
			{File: "testdata/legacy.flow.json", Format: Sentinel, Kind: sentinel.Flow, Dialect: sentinel.Java},
		},
		Routes: []Route{
			{
				Name: "orders", Host: "shop.example.com", Prefix: "/orders", PathPattern: "/orders/{id}/items/{item}",
				Upstreams: []Upstream{{URL: "http://10.0.0.1:9000", Region: "eu-1"}, {URL: "http://10.0.0.2:9000", Region: "eu-2", Weight: 2}},
				Balance:   Balance(balance.LeastInFlight),
				Retry:     nethttp.Retry{Tries: 2, Budget: .2, MinPerSecond: 1},
				Timeouts:  RouteTimeouts{ResponseHeader: 2 * time.Second},
			},
			{
				Name: "orders-write", Host: "shop.example.com", Prefix: "/orders", Methods: []string{"POST", "PUT", "DELETE"},
				Upstreams: urls("http://10.0.0.1:9000"),
			},
			{
				Name: "events", Prefix: "/events", StripPrefix: true, PreserveHost: true, Origin: "events",
				Upstreams: urls("https://events.internal/base"),
			},
		},
	}, c)

	g, err := New(c)
	require.NoError(t, err)
	defer g.Close()
	rules := g.Engine().Rules()
	require.Len(t, rules.Flow, 2)
	require.Len(t, rules.Concurrency, 1)
	require.Len(t, rules.Breaker, 1)
}

// A Sentinel list of limits by value is a list like the others.
func TestSentinelParamRules(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "shop-param-rules.json")
	require.NoError(t, os.WriteFile(file, []byte(`[{"resource":"orders","paramIdx":0,"count":5},{"resource":"orders","count":5}]`), 0o600))
	c, err := Parse("gateway.yaml", []byte("listen: 127.0.0.1:0\nrules: [{file: "+file+", format: sentinel, kind: param}]\n"+
		"routes: [{name: orders, prefix: /, upstreams: [{url: \"http://127.0.0.1:1\"}]}]\n"))
	require.NoError(t, err)
	require.Equal(t, sentinel.Param, c.Rules[0].Kind)
	g, err := New(c)
	require.NoError(t, err)
	defer g.Close()
	require.Len(t, g.Engine().Rules().Param, 1)
	require.Equal(t, "arg[0][*?]", g.Engine().Rules().Param[0].Param)
}

func TestLoadMissing(t *testing.T) {
	t.Parallel()
	_, err := Load("testdata/nowhere.yaml")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c := oneRoute("http://a").withDefaults()
	require.Equal(t, Config{
		Listen: ":8080", Admin: "127.0.0.1:8081", Grace: 30 * time.Second,
		Timeouts: Timeouts{
			ReadHeader: 10 * time.Second, Idle: 2 * time.Minute, Dial: 3 * time.Second, Send: 30 * time.Second,
			ResponseHeader: 30 * time.Second, UpstreamIdle: 90 * time.Second,
		},
		Limits: Limits{HeaderBytes: 64 << 10, BodyBytes: 10 << 20, ResponseHeaderBytes: 1 << 20, ParamBodyBytes: 64 << 10},
		Routes: []Route{{
			Name: "r", Resource: "r", Upstreams: []Upstream{{URL: "http://a", Weight: 1}},
			Retry:    nethttp.Retry{Tries: 3, Budget: .1, MinPerSecond: 3},
			Timeouts: RouteTimeouts{Dial: 3 * time.Second, Send: 30 * time.Second, ResponseHeader: 30 * time.Second},
		}},
	}, c)
}

// Every fault is named with its place, and all at once.
func TestFaultyConfigurations(t *testing.T) {
	t.Parallel()
	const good = "routes: [{name: a, upstreams: ['http://a']}]"
	tests := []struct {
		name, doc string
		pos       rule.Position
		field     string
		message   string
	}{
		{"no document", "", rule.Position{}, "", "empty"},
		{"not YAML", "routes: [", rule.Position{}, "", ""},
		{"a list", "- 1", rule.Position{Line: 1, Column: 1}, "", ""},
		{"unknown key", lines("lisen: ':80'", good), rule.Position{Line: 1, Column: 1}, "", "lisen"},
		{"unknown key of a route", "routes: [{name: a, upstream: ['http://a']}]", rule.Position{Line: 1, Column: 20}, "", ""},
		{"no unit", lines("grace: 20", good), rule.Position{Line: 1, Column: 8}, "grace", ""},
		{"negative grace", lines("grace: -1s", good), rule.Position{Line: 1, Column: 8}, "grace", "negative"},
		{"long grace", lines("grace: 2h", good), rule.Position{Line: 1, Column: 8}, "grace", "out of range"},
		{"negative timeout", lines("timeouts:", "  dial: -1s", good), rule.Position{Line: 2, Column: 9}, "timeouts.dial", "negative"},
		{"long timeout", lines("timeouts:", "  dial: 25h", good), rule.Position{Line: 2, Column: 9}, "timeouts.dial", "out of range"},
		{"tiny header", lines("limits: {headerBytes: 10}", good), rule.Position{Line: 1, Column: 23}, "limits.headerBytes", "out of range"},
		{"negative body", lines("limits: {bodyBytes: -2}", good), rule.Position{Line: 1, Column: 21}, "limits.bodyBytes", "out of range"},
		{"no address", lines("listen: localhost", good), rule.Position{Line: 1, Column: 9}, "listen", "no address"},
		{"no header", lines("originHeader: 'a b'", good), rule.Position{Line: 1, Column: 15}, "originHeader", "no header"},
		{"no routes", "routes: []", rule.Position{Line: 1, Column: 9}, "routes", "no route"},
		{"no name", "routes: [{upstreams: ['http://a']}]", rule.Position{Line: 1, Column: 10}, "routes[0].name", "missing"},
		{"no upstream", "routes: [{name: a}]", rule.Position{Line: 1, Column: 10}, "routes[0].upstreams", "no upstream"},
		{"bad upstream", "routes: [{name: a, upstreams: ['http://a', 'ftp://b']}]", rule.Position{Line: 1, Column: 44}, "routes[0].upstreams[1]", "neither"},
		{"upstream without host", "routes: [{name: a, upstreams: ['http:///x']}]", rule.Position{Line: 1, Column: 32}, "routes[0].upstreams[0]", "no host"},
		{"upstream with query", "routes: [{name: a, upstreams: ['http://a?x=1']}]", rule.Position{Line: 1, Column: 32}, "routes[0].upstreams[0]", "more than"},
		{"the same upstream", "routes: [{name: a, upstreams: ['http://a', 'http://A:80/']}]", rule.Position{Line: 1, Column: 44}, "routes[0].upstreams[1]", "[0] already"},
		{"the same upstream as an object", "routes: [{name: a, upstreams: ['http://a', {url: 'http://a'}]}]", rule.Position{Line: 1, Column: 50}, "routes[0].upstreams[1].url", "[0] already"},
		{"a number as upstream", "routes: [{name: a, upstreams: [8080]}]", rule.Position{Line: 1, Column: 32}, "routes[0].upstreams[0].url", "a number"},
		{"a list as upstream", "routes: [{name: a, upstreams: [['http://a']]}]", rule.Position{Line: 1, Column: 32}, "routes[0].upstreams[0].url", "a list"},
		{"nothing as upstream", "routes: [{name: a, upstreams: [~]}]", rule.Position{Line: 1, Column: 32}, "routes[0].upstreams[0].url", "no value"},
		{"a text instead of upstreams", "routes: [{name: a, upstreams: 'http://a'}]", rule.Position{Line: 1, Column: 31}, "routes[0].upstreams", "a text"},
		{"no URL", "routes: [{name: a, upstreams: [{weight: 2}]}]", rule.Position{Line: 1, Column: 32}, "routes[0].upstreams[0].url", "missing"},
		{"unknown key of an upstream", "routes: [{name: a, upstreams: [{url: 'http://a', wieght: 2}]}]", rule.Position{Line: 1, Column: 50}, "", "wieght"},
		{"weight 0", "routes: [{name: a, upstreams: [{url: 'http://a', weight: 0}]}]", rule.Position{Line: 1, Column: 58}, "routes[0].upstreams[0].weight", "no weight"},
		{"negative weight", "routes: [{name: a, upstreams: [{url: 'http://a', weight: -1}]}]", rule.Position{Line: 1, Column: 58}, "routes[0].upstreams[0].weight", "out of range"},
		{"huge weight", "routes: [{name: a, upstreams: [{url: 'http://a', weight: 1e9}]}]", rule.Position{Line: 1, Column: 58}, "routes[0].upstreams[0].weight", "out of range"},
		{"weight beyond numbers", "routes: [{name: a, upstreams: [{url: 'http://a', weight: 1e999}]}]", rule.Position{Line: 1, Column: 58}, "routes[0].upstreams[0].weight", ""},
		{"no region", "routes: [{name: a, upstreams: [{url: 'http://a', region: ' eu'}]}]", rule.Position{Line: 1, Column: 58}, "routes[0].upstreams[0].region", "no region"},
		{"all drained", "routes: [{name: a, upstreams: [{url: 'http://a', drained: true}, {url: 'http://b', drained: true}]}]", rule.Position{Line: 1, Column: 31}, "routes[0].upstreams", "all are drained"},
		{"too long a try", "routes: [{name: a, retry: {tryTimeout: 25h}, upstreams: ['http://a']}]", rule.Position{Line: 1, Column: 40}, "routes[0].retry.tryTimeout", "out of range"},
		{"no strategy", "routes: [{name: a, balance: roundrobin, upstreams: ['http://a']}]", rule.Position{Line: 1, Column: 29}, "routes[0].balance", "roundRobin"},
		{"hash for nothing", "routes: [{name: a, hashHeader: X, upstreams: ['http://a']}]", rule.Position{Line: 1, Column: 32}, "routes[0].hashHeader", "only to choose"},
		{"hash by no name", "routes: [{name: a, balance: consistentHash, hashCookie: 'a b', upstreams: ['http://a']}]", rule.Position{Line: 1, Column: 57}, "routes[0].hashCookie", "no name"},
		{"hash by two", "routes: [{name: a, balance: consistentHash, hashHeader: X, hashCookie: y, upstreams: ['http://a']}]", rule.Position{Line: 1, Column: 72}, "routes[0].hashCookie", "already"},
		{"too many tries", "routes: [{name: a, retry: {tries: 11}, upstreams: ['http://a']}]", rule.Position{Line: 1, Column: 35}, "routes[0].retry.tries", "out of range"},
		{"too large a budget", "routes: [{name: a, retry: {budget: 2}, upstreams: ['http://a']}]", rule.Position{Line: 1, Column: 36}, "routes[0].retry.budget", "out of range"},
		{"too many retries", "routes: [{name: a, retry: {minPerSecond: 1e6}, upstreams: ['http://a']}]", rule.Position{Line: 1, Column: 42}, "routes[0].retry.minPerSecond", "out of range"},
		{"off and on", "routes: [{name: a, retry: {off: true, tries: 2}, upstreams: ['http://a']}]", rule.Position{Line: 1, Column: 27}, "routes[0].retry", "off"},
		{"no isolation", lines("isolation: on", good), rule.Position{Line: 1, Column: 12}, "isolation", "on"},
		{"relative prefix", "routes: [{name: a, prefix: x, upstreams: ['http://a']}]", rule.Position{Line: 1, Column: 28}, "routes[0].prefix", "no path"},
		{"dots in the prefix", "routes: [{name: a, prefix: /x/../y, upstreams: ['http://a']}]", rule.Position{Line: 1, Column: 28}, "routes[0].prefix", "no path"},
		{"host with port", "routes: [{name: a, host: 'a:80', upstreams: ['http://a']}]", rule.Position{Line: 1, Column: 26}, "routes[0].host", "no host"},
		{"star within", "routes: [{name: a, host: 'a.*.b', upstreams: ['http://a']}]", rule.Position{Line: 1, Column: 26}, "routes[0].host", "no host"},
		{"small method", "routes: [{name: a, methods: [get], upstreams: ['http://a']}]", rule.Position{Line: 1, Column: 30}, "routes[0].methods[0]", "no method"},
		{"same name", lines("routes:", "- {name: a, upstreams: ['http://a']}", "- {name: a, prefix: /b, upstreams: ['http://a']}"),
			rule.Position{Line: 3, Column: 10}, "routes[1].name", "routes[0]"},
		{"same requests", lines("routes:", "- {name: a, methods: [GET, PUT], prefix: /x/, host: A.test, upstreams: ['http://a']}",
			"- {name: b, methods: [PUT], prefix: /x, host: a.test., upstreams: ['http://a']}"), rule.Position{Line: 3, Column: 3}, "routes[1]", "routes[0]"},
		{"no file", lines("rules: [{format: native}]", good), rule.Position{Line: 1, Column: 9}, "rules[0].file", "missing"},
		{"same file", lines("rules: [{file: a}, {file: a}]", good), rule.Position{Line: 1, Column: 27}, "rules[1].file", "rules[0]"},
		{"no format", lines("rules: [{file: a, format: toml}]", good), rule.Position{Line: 1, Column: 27}, "rules[0].format", "toml"},
		{"native with kind", lines("rules: [{file: a, kind: flow}]", good), rule.Position{Line: 1, Column: 25}, "rules[0].kind", "all kinds"},
		{"sentinel without kind", lines("rules: [{file: a, format: sentinel}]", good), rule.Position{Line: 1, Column: 9}, "rules[0].kind", "must be said"},
		{"sentinel of a kind not read", lines("rules: [{file: a, format: sentinel, kind: outlier}]", good), rule.Position{Line: 1, Column: 43}, "rules[0].kind", "must be said"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("gw.yaml", []byte(tt.doc))
			var problems rule.Problems
			require.ErrorAs(t, err, &problems)
			require.Len(t, problems, 1, "%v", err)
			p := problems[0]
			require.Equal(t, "gw.yaml", p.Source)
			require.Equal(t, -1, p.Index)
			if tt.pos != (rule.Position{}) {
				require.Equal(t, tt.pos, p.Position, "%v", err)
			}
			require.Contains(t, p.Field, tt.field)
			require.Contains(t, p.Message, tt.message)
		})
	}
	_, err := Parse("gw.yaml", []byte(lines("grace: 2h", "listen: x", "routes: []")))
	var problems rule.Problems
	require.ErrorAs(t, err, &problems)
	require.Len(t, problems, 3)
	require.Contains(t, err.Error(), "gw.yaml:1:8")
}

// An upstream is its URL or an object; aliases of either are what they stand for, and keep their places.
func TestUpstreamsOfDocuments(t *testing.T) {
	t.Parallel()
	c, err := Parse("gw.yaml", []byte(lines("region: eu", "isolation: off", "routes:",
		"- {name: a, upstreams: &u [http://a, &b {url: http://b, weight: .5, region: eu}, {url: http://c}]}",
		"- {name: b, prefix: /b, upstreams: *u, balance: random, retry: {off: true}}",
		"- {name: c, prefix: /c, upstreams: [*b, 'http://d']}")))
	require.NoError(t, err)
	require.Equal(t, NoIsolation, c.Isolation)
	all := []Upstream{{URL: "http://a"}, {URL: "http://b", Weight: .5, Region: "eu"}, {URL: "http://c"}}
	require.Equal(t, all, c.Routes[0].Upstreams)
	require.Equal(t, all, c.Routes[1].Upstreams)
	require.Equal(t, []Upstream{all[1], {URL: "http://d"}}, c.Routes[2].Upstreams)
	require.Equal(t, nethttp.Retry{Off: true}, c.Routes[1].Retry)
	require.Equal(t, Balance(balance.Random), c.Routes[1].Balance)
}

// A parsed document is its reader's: aliases share what they repeat, and problems are found in it as it was written.
func TestDocumentsStayAsTheyWere(t *testing.T) {
	t.Parallel()
	doc, err := rule.Parse([]byte("routes: [{name: a, upstreams: &u [http://a, {url: http://b}]}, {name: b, upstreams: *u}]"))
	require.NoError(t, err)
	before := string(doc.JSON())
	require.NotEqual(t, before, string(spelledOut(doc).JSON()))
	require.Equal(t, before, string(doc.JSON()))
}

// faults #64 over a configuration: a misspelt key or a bad value is refused, never read as zero.
func TestNewRefusesWhatParseDoes(t *testing.T) {
	t.Parallel()
	c := oneRoute("ftp://x")
	c.Grace = -1
	_, err := New(c)
	var problems rule.Problems
	require.ErrorAs(t, err, &problems)
	require.Len(t, problems, 2)
}

func TestFilesOfRulesAreRelativeToTheConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "gw.yaml")
	doc := lines("rules: [{file: sub/r.yaml}, {file: /abs/r.yaml}]", "routes: [{name: a, upstreams: ['http://a']}]")
	require.NoError(t, os.WriteFile(path, []byte(doc), 0o600))
	c, err := Load(path)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "sub/r.yaml"), c.Rules[0].File)
	require.Equal(t, "/abs/r.yaml", c.Rules[1].File)
}

// Whatever the document, Parse says what is wrong or gives a configuration that a gateway can be made of.
func FuzzParse(f *testing.F) {
	example, err := os.ReadFile("testdata/gateway.yaml")
	require.NoError(f, err)
	f.Add(string(example))
	f.Add("routes: [{name: a, upstreams: ['http://a']}]")
	f.Add("routes: [{name: a, balance: consistentHash, hashHeader: X, retry: {off: true}, upstreams: ['http://a', {url: 'http://b', weight: 2, region: x}]}]")
	f.Add(`{"routes":[{"name":"a","host":"*.x","methods":["GET"],"upstreams":["http://[::1]:80/%41"]}]}`)
	f.Fuzz(func(t *testing.T, doc string) {
		c, err := Parse("fuzz", []byte(doc))
		if err != nil {
			require.NotEmpty(t, strings.TrimSpace(err.Error()))
			return
		}
		c.Rules = nil // nothing is read from the disk
		g, err := New(c)
		require.NoError(t, err)
		require.NoError(t, g.Close())
	})
}
