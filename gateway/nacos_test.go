package gateway

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sentinel"
)

// A store stands in for a Nacos server with its client.
type store struct {
	opened    []Nacos
	asked     []NacosDocument
	documents map[string]*stored // by group/dataId
	closed    int
	fails     error // what opening fails with
	refuses   error // what asking for sources fails with
}

// stored is a document, and its source.
type stored struct {
	name    string
	updates chan datasource.Update
}

func (d *stored) Name() string { return d.name }

func (d *stored) Debounce() time.Duration { return 0 }

func (d *stored) Watch(ctx context.Context, deliver func(datasource.Update)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case u := <-d.updates:
			deliver(u)
		}
	}
}

func (d *stored) put(data string) {
	d.updates <- datasource.Update{Document: datasource.Document{Data: []byte(data), Version: "v"}}
}

// document returns the one of that group and name; its server says nothing of it yet.
func (s *store) document(key string) *stored {
	if s.documents == nil {
		s.documents = map[string]*stored{}
	}
	if s.documents[key] == nil {
		s.documents[key] = &stored{name: "nacos:public/" + key, updates: make(chan datasource.Update, 10)}
	}
	return s.documents[key]
}

func (s *store) open(n Nacos) (NacosClient, error) {
	s.opened = append(s.opened, n)
	return s, s.fails
}

func (s *store) Sources(r RuleSource) ([]NacosSource, error) {
	d := r.Nacos
	s.asked = append(s.asked, d)
	if s.refuses != nil {
		return nil, s.refuses
	}
	if d.App == "" {
		return []NacosSource{{Source: s.document(d.Group + "/" + d.DataID)}}, nil
	}
	var list []NacosSource
	for suffix, kind := range map[string]sentinel.Kind{"-flow-rules": sentinel.Flow, "-degrade-rules": sentinel.Breaker} {
		list = append(list, NacosSource{Source: s.document(d.Group + "/" + d.App + suffix), Kind: kind})
	}
	return list, nil
}

func (s *store) Close() error {
	s.closed++
	return nil
}

const nacosHead = "nacos: {servers: ['127.0.0.1:8848']}"

// parse reads a configuration with those entries of rules, and the route r.
func parse(t *testing.T, upstream string, doc ...string) Config {
	t.Helper()
	c, err := Parse("gw.yaml", []byte(lines(append(doc, "routes: [{name: r, upstreams: ['"+upstream+"']}]")...)))
	require.NoError(t, err)
	return c
}

func TestRulesFromNacos(t *testing.T) {
	t.Parallel()
	var s store
	s.document("DEFAULT_GROUP/r.yaml").put("cordon: 1\nflow: [{id: a, resource: r, limit: 1, per: 24h}]\n")
	s.document("G/old.json").put(`[{"resource":"r","count":7}]`)
	g := run(t, parse(t, upstream(t, says("x")),
		"nacos: {servers: ['127.0.0.1:8848', 'https://b.example:8443/nacos?grpc=9848'], namespace: shop, timeout: 1s, reread: 1m}",
		"rules:",
		"- nacos: {dataId: r.yaml, emptyClears: true}",
		"- {nacos: {dataId: old.json, group: G}, format: sentinel, kind: flow, dialect: java}",
	), WithNacos(s.open))
	require.Equal(t, []Nacos{{
		Servers: []string{"127.0.0.1:8848", "https://b.example:8443/nacos?grpc=9848"}, Namespace: "shop", Timeout: time.Second, Reread: time.Minute,
	}}, s.opened)
	require.Equal(t, []NacosDocument{{DataID: "r.yaml", Group: "DEFAULT_GROUP", EmptyClears: true}, {DataID: "old.json", Group: "G"}}, s.asked)
	require.Len(t, g.Engine().Rules().Flow, 2)
	require.Equal(t, 200, g.adminGet("/readyz").status)
	require.Equal(t, 200, g.get("/").status)
	require.Equal(t, 429, g.get("/").status)

	s.document("DEFAULT_GROUP/r.yaml").put("cordon: 1\n")
	g.waitFor(func() bool { return len(g.Engine().Rules().Flow) == 1 })
	require.Equal(t, 200, g.get("/").status)
	g.stop()
	require.NoError(t, g.ended())
	require.Equal(t, 1, s.closed)
}

// Where two sources bring a rule of one id, that of the earlier entry holds, whatever came first.
func TestEarlierRulesHold(t *testing.T) {
	t.Parallel()
	var s store
	s.document("DEFAULT_GROUP/first").updates <- datasource.Update{Err: datasource.ErrAbsent}
	s.document("DEFAULT_GROUP/second").put("cordon: 1\nflow: [{id: a, resource: r, limit: 2}]\n")
	path := filepath.Join(t.TempDir(), "rules.yaml")
	require.NoError(t, os.WriteFile(path, []byte("cordon: 1\nflow: [{id: a, resource: r, limit: 3}]\n"), 0o600))
	g, err := New(parse(t, "http://127.0.0.1:1", nacosHead, "rules: [{nacos: {dataId: first}}, {nacos: {dataId: second}}, {file: '"+path+"'}]"), WithNacos(s.open))
	require.NoError(t, err)
	defer g.Close()
	limit := func() float64 { return g.Engine().Rules().Flow[0].Limit }
	require.Len(t, g.Engine().Rules().Flow, 1)
	require.InDelta(t, 2, limit(), 0)
	s.document("DEFAULT_GROUP/first").put("cordon: 1\nflow: [{id: a, resource: r, limit: 1}]\n")
	require.Eventually(t, func() bool { return limit() == 1 }, time.Minute, time.Millisecond)
	s.document("DEFAULT_GROUP/second").put("cordon: 1\nflow: [{id: a, resource: r, limit: 4}]\n")
	require.Eventually(t, func() bool { return g.Status().Engine.Sources[1].Updates == 2 }, time.Minute, time.Millisecond)
	require.InDelta(t, 1, limit(), 0)
}

// An app's documents are read by their names; those it does not have are no fault.
func TestRulesOfAnApp(t *testing.T) {
	t.Parallel()
	var s store
	s.document("SENTINEL_GROUP/shop-flow-rules").put(`[{"resource":"r","count":0}]`)
	s.document("SENTINEL_GROUP/shop-degrade-rules").updates <- datasource.Update{Err: datasource.ErrAbsent}
	var logged safeBuffer
	g := run(t, parse(t, upstream(t, says("x")), nacosHead, "rules: [{nacos: {app: shop}}]"),
		WithNacos(s.open), WithLogger(slog.New(slog.NewTextHandler(&logged, nil))))
	require.Equal(t, []NacosDocument{{App: "shop", Group: "SENTINEL_GROUP"}}, s.asked)
	require.Equal(t, 200, g.adminGet("/readyz").status, g.adminGet("/readyz").body)
	require.Equal(t, 429, g.get("/").status)
	require.NotContains(t, logged.String(), "rules are not in force")
	require.NotContains(t, logged.String(), "shop-degrade-rules", "that it does not exist is no failure")

	s.document("SENTINEL_GROUP/shop-degrade-rules").put(`[{"resource":"r","grade":2,"count":5,"timeWindow":5}]`)
	g.waitFor(func() bool { return len(g.Engine().Rules().Breaker) == 1 })
	s.document("SENTINEL_GROUP/shop-degrade-rules").updates <- datasource.Update{Err: datasource.ErrAbsent}
	g.waitFor(func() bool { return strings.Contains(logged.String(), "does not exist") })
	require.Len(t, g.Engine().Rules().Breaker, 1, "a document that goes is a failure, and its rules stay")
}

// A gateway that never had the rules of an app is not ready until the server has said which there are.
func TestAppIsNotReadyWithoutItsServer(t *testing.T) {
	t.Parallel()
	var s store
	s.document("SENTINEL_GROUP/shop-flow-rules").updates <- datasource.Update{Err: errors.New("connection refused")}
	g := run(t, parse(t, upstream(t, says("x")), nacosHead, "rules: [{nacos: {app: shop}, lastGood: '"+filepath.Join(t.TempDir(), "none")+"'}]"), WithNacos(s.open))
	ready := g.adminGet("/readyz")
	require.Equal(t, 503, ready.status)
	require.Contains(t, ready.body, "shop-flow-rules: no rules yet")
	require.Contains(t, ready.body, "shop-degrade-rules: no rules yet")
	s.document("SENTINEL_GROUP/shop-flow-rules").updates <- datasource.Update{Err: datasource.ErrAbsent}
	s.document("SENTINEL_GROUP/shop-degrade-rules").updates <- datasource.Update{Err: datasource.ErrAbsent}
	g.waitFor(func() bool {
		return strings.Contains(g.adminGet("/readyz").body, "shop in SENTINEL_GROUP: none of the documents")
	})
	require.Equal(t, 503, g.adminGet("/readyz").status)
	s.document("SENTINEL_GROUP/shop-degrade-rules").put("[]")
	g.waitFor(func() bool { return g.adminGet("/readyz").status == 200 })
}

// faults #66: an app of which no document exists is mostly a misspelt name, or a server that lost its data: that is told, whenever it turns out. A gateway that has rules of other sources is ready all the same.
func TestAppWithoutDocuments(t *testing.T) {
	t.Parallel()
	absent := datasource.Update{Err: datasource.ErrAbsent}
	var s store
	s.document("SENTINEL_GROUP/shopp-flow-rules").updates <- absent
	s.document("SENTINEL_GROUP/shopp-degrade-rules").updates <- absent
	var logged safeBuffer
	g := run(t, parse(t, upstream(t, says("x")), nacosHead, "rules: [{nacos: {app: shopp}}, {file: '"+writeRules(t).File+"'}]"),
		WithNacos(s.open), WithLogger(slog.New(slog.NewTextHandler(&logged, nil))))
	require.Equal(t, 200, g.adminGet("/readyz").status)
	told := func() int {
		return strings.Count(texts(g.Status().Events, "warning"), "none of the documents of this app exists")
	}
	g.waitFor(func() bool { return told() == 1 })
	require.Contains(t, texts(g.Status().Events, "warning"), "shopp in SENTINEL_GROUP")
	g.waitFor(func() bool { return strings.Contains(logged.String(), "level=WARN") })
	require.True(t, g.Status().Engine.Sources[0].Absent)

	// An outage costs no line for documents that there never were.
	for _, name := range []string{"SENTINEL_GROUP/shopp-flow-rules", "SENTINEL_GROUP/shopp-degrade-rules"} {
		s.document(name).updates <- datasource.Update{Err: errors.New("connection lost")}
		s.document(name).updates <- absent
	}
	s.document("SENTINEL_GROUP/shopp-flow-rules").put(`[{"resource":"r","count":0}]`)
	g.waitFor(func() bool { return len(g.Engine().Rules().Flow) == 1 })
	require.NotContains(t, logged.String(), "connection lost")
	require.Equal(t, 1, told())
	s.document("SENTINEL_GROUP/shopp-flow-rules").updates <- absent
	g.waitFor(func() bool { return strings.Contains(logged.String(), "does not exist") && told() == 2 })
}

// The rules of a start, and of a change that comes in several documents, are checked against the routes once all have come, and what is found is told once.
func TestAdviceWaitsForAllDocuments(t *testing.T) {
	t.Parallel()
	clk := clock.NewManual()
	var s store
	rules, groups := s.document("DEFAULT_GROUP/rules"), s.document("DEFAULT_GROUP/groups")
	rules.put("cordon: 1\nflow: [{id: a, resource: api_o, limit: 1}]\n")
	groups.put("cordon: 1\napiGroup: [{name: api_o, paths: [{exact: /o}]}]\n")
	g, err := New(parse(t, "http://127.0.0.1:1", nacosHead, "rules: [{nacos: {dataId: rules}}, {nacos: {dataId: groups}}]"), WithNacos(s.open), WithClock(clk))
	require.NoError(t, err)
	defer g.Close()
	warnings := func() string { return texts(g.Status().Events, "warning") }
	came := func(n int64) {
		t.Helper()
		require.Eventually(t, func() bool {
			sources := g.Status().Engine.Sources
			return sources[0].Updates+sources[1].Updates == n
		}, time.Minute, time.Millisecond)
	}
	require.Empty(t, warnings())
	rules.put("cordon: 1\nflow: [{id: a, resource: api_p, limit: 1}]\n")
	came(3)
	clk.Advance(adviseAfter / 2)
	groups.put("cordon: 1\napiGroup: [{name: api_p, paths: [{exact: /p}]}]\n")
	came(4)
	clk.Advance(adviseAfter)
	require.Empty(t, warnings())
	for i, limit := range []string{"2", "3", "4"} {
		rules.put("cordon: 1\nflow: [{id: a, resource: api_q, limit: " + limit + "}]\n")
		came(5 + int64(i))
		clk.Advance(adviseAfter)
		require.Equal(t, "no route has the resource of these rules: flow a (for \"api_q\")\n", warnings())
	}
}

// faults #66: a gateway whose server is down starts all the same, with the rules it had last, and says so everywhere until the server is back.
func TestGatewayStartsWithoutItsServer(t *testing.T) {
	t.Parallel()
	var s store
	folder := t.TempDir()
	c := parse(t, upstream(t, says("x")), nacosHead,
		"rules: [{nacos: {dataId: r.yaml}, lastGood: '"+filepath.Join(folder, "r")+"'}, {nacos: {app: shop}, lastGood: '"+filepath.Join(folder, "shop")+"'}]")
	s.document("DEFAULT_GROUP/r.yaml").put("cordon: 1\nflow: [{id: a, resource: r, limit: 0}]\n")
	s.document("SENTINEL_GROUP/shop-flow-rules").put(`[{"resource":"other","count":1}]`)
	s.document("SENTINEL_GROUP/shop-degrade-rules").updates <- datasource.Update{Err: datasource.ErrAbsent}
	g, err := New(c, WithNacos(s.open))
	require.NoError(t, err)
	require.NoError(t, g.Close())
	kept, err := filepath.Glob(filepath.Join(folder, "*/*"))
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(folder, "shop", "shop-flow-rules")}, kept)

	down := store{}
	for _, key := range []string{"DEFAULT_GROUP/r.yaml", "SENTINEL_GROUP/shop-flow-rules", "SENTINEL_GROUP/shop-degrade-rules"} {
		down.document(key).updates <- datasource.Update{Err: errors.New("connection refused")}
	}
	var logged safeBuffer
	start := time.Now()
	again := run(t, c, WithNacos(down.open), WithLogger(slog.New(slog.NewTextHandler(&logged, nil))))
	require.Equal(t, 429, again.get("/").status)
	require.Contains(t, logged.String(), "last-good file")
	require.Less(t, time.Since(start), firstWithin, "what was not there before is not waited for")
	ready := again.adminGet("/readyz")
	require.Equal(t, 200, ready.status, ready.body)
	require.NotContains(t, logged.String(), "rules are not in force")
	status := again.Status()
	require.True(t, status.Engine.Sources[0].Stale)
	require.False(t, status.Engine.Sources[0].StaleSince.IsZero())
	require.Contains(t, texts(status.Events, "source"), "nacos:public/DEFAULT_GROUP/r.yaml: stale")

	down.document("DEFAULT_GROUP/r.yaml").put("cordon: 1\nflow: [{id: a, resource: r, limit: 0}]\n")
	again.waitFor(func() bool { return !again.Status().Engine.Sources[0].Stale })
	again.waitFor(func() bool { return strings.Contains(texts(again.Status().Events, "source"), "r.yaml: delivers again") })
}

// texts joins the texts of all events of a kind.
func texts(list []Event, what string) string {
	var b strings.Builder
	for _, e := range list {
		if e.What == what {
			b.WriteString(e.Text + "\n")
		}
	}
	return b.String()
}

// Several silent sources make New wait as long as one does.
func TestSilentServersCostOneWait(t *testing.T) {
	t.Parallel()
	var s store
	start := time.Now()
	g, err := New(parse(t, "http://127.0.0.1:1", nacosHead, "rules: [{nacos: {dataId: a}}, {nacos: {dataId: b}}, {nacos: {dataId: c}}]"), WithNacos(s.open))
	require.NoError(t, err)
	defer g.Close()
	require.Less(t, time.Since(start), 3*firstWithin)
	require.Len(t, g.notReady(), 4, "not listening, and three without rules")
}

func TestNacosMustBeBuiltIn(t *testing.T) {
	t.Parallel()
	c := parse(t, "http://127.0.0.1:1", nacosHead, "rules: [{nacos: {dataId: a}}]")
	_, err := New(c)
	require.ErrorContains(t, err, "gateway.WithNacos")
	s := store{fails: errors.New("no such user")}
	_, err = New(c, WithNacos(s.open))
	require.ErrorContains(t, err, "rules[0].nacos: no such user")
	s = store{refuses: errors.New("no such kind")}
	_, err = New(c, WithNacos(s.open))
	require.ErrorContains(t, err, "rules[0].nacos: no such kind")
	require.Equal(t, 1, s.closed)
}

func TestFaultyNacosConfigurations(t *testing.T) {
	t.Parallel()
	const (
		good = "routes: [{name: a, upstreams: ['http://a']}]"
		use  = "rules: [{nacos: {dataId: a}}]"
	)
	for _, tt := range []struct {
		name, nacos, rules string
		pos                rule.Position
		field, message     string
	}{
		{"no server", "", use, rule.Position{Line: 1, Column: 1}, "nacos.servers", "where it is"},
		{"unused", nacosHead, "rules: [{file: a}]", rule.Position{Line: 1, Column: 8}, "nacos", "no rules are taken"},
		{"no address", "nacos: {servers: ['a b']}", use, rule.Position{Line: 1, Column: 19}, "nacos.servers[0]", "no address"},
		{"no port", "nacos: {servers: ['a:0']}", use, rule.Position{Line: 1, Column: 19}, "nacos.servers[0]", "no address"},
		{"no gRPC port", "nacos: {servers: ['a:1?grpc=x']}", use, rule.Position{Line: 1, Column: 19}, "nacos.servers[0]", "no address"},
		{"another query", "nacos: {servers: ['a:1?grcp=1']}", use, rule.Position{Line: 1, Column: 19}, "nacos.servers[0]", "no address"},
		{"password in the address", "nacos: {servers: ['http://u:p@a:1']}", use, rule.Position{Line: 1, Column: 19}, "nacos.servers[0]", "no address"},
		{"twice", "nacos: {servers: ['a:1', 'a:1']}", use, rule.Position{Line: 1, Column: 26}, "nacos.servers[1]", "already"},
		{"namespace", "nacos: {servers: ['a:1'], namespace: 'a/b'}", use, rule.Position{Line: 1, Column: 38}, "nacos.namespace", "no namespace"},
		{"a password in it", "nacos: {servers: ['a:1'], username: u, password: p}", use, rule.Position{Line: 1, Column: 40}, "nacos", "password"},
		{"no password", "nacos: {servers: ['a:1'], username: u}", use, rule.Position{Line: 1, Column: 37}, "nacos.username", "where the password is"},
		{"nobody's password", "nacos: {servers: ['a:1'], passwordEnv: P}", use, rule.Position{Line: 1, Column: 8}, "nacos.username", "nobody"},
		{"two passwords", "nacos: {servers: ['a:1'], username: u, passwordEnv: P, passwordFile: f}", use, rule.Position{Line: 1, Column: 53}, "nacos.passwordEnv", "already"},
		{"user and token", "nacos: {servers: ['a:1'], username: u, passwordEnv: P, tokenFile: f}", use, rule.Position{Line: 1, Column: 37}, "nacos.username", "already"},
		{"key alone", "nacos: {servers: ['a:1'], tls: {key: f}}", use, rule.Position{Line: 1, Column: 32}, "nacos.tls", "belong together"},
		{"timeout", "nacos: {servers: ['a:1'], timeout: 2m}", use, rule.Position{Line: 1, Column: 36}, "nacos.timeout", "out of range"},
		{"reread", "nacos: {servers: ['a:1'], reread: 10ms}", use, rule.Position{Line: 1, Column: 35}, "nacos.reread", "out of range"},
		{"file and document", nacosHead, "rules: [{file: f, nacos: {dataId: a}}]", rule.Position{Line: 2, Column: 26}, "rules[0].nacos", "already"},
		{"document and app", nacosHead, "rules: [{nacos: {dataId: a, app: b}}]", rule.Position{Line: 2, Column: 34}, "rules[0].nacos.app", "already"},
		{"group alone", nacosHead, "rules: [{nacos: {group: a}}]", rule.Position{Line: 2, Column: 17}, "rules[0].nacos.dataId", "missing"},
		{"no name", nacosHead, "rules: [{nacos: {dataId: 'a b'}}]", rule.Position{Line: 2, Column: 26}, "rules[0].nacos.dataId", "no name"},
		{"long name", nacosHead, "rules: [{nacos: {dataId: " + strings.Repeat("x", 257) + "}}]", rule.Position{Line: 2, Column: 26}, "rules[0].nacos.dataId", "no name"},
		{"no group", nacosHead, "rules: [{nacos: {app: a, group: 'a b'}}]", rule.Position{Line: 2, Column: 33}, "rules[0].nacos.group", "no name"},
		{"app with kind", nacosHead, "rules: [{nacos: {app: a}, kind: flow}]", rule.Position{Line: 2, Column: 33}, "rules[0].kind", "different kinds"},
		{"native with dialect", nacosHead, "rules: [{nacos: {dataId: a}, dialect: go}]", rule.Position{Line: 2, Column: 39}, "rules[0].dialect", "no dialect"},
		{"same document", nacosHead, "rules: [{nacos: {dataId: a}}, {nacos: {dataId: a, group: DEFAULT_GROUP}}]", rule.Position{Line: 2, Column: 48}, "rules[1].nacos.dataId", "rules[0] already"},
		{"same app", nacosHead, "rules: [{nacos: {app: a}}, {nacos: {app: a}}]", rule.Position{Line: 2, Column: 42}, "rules[1].nacos.app", "rules[0] already"},
		{"same last-good file", nacosHead, "rules: [{nacos: {dataId: a}, lastGood: x}, {file: b, lastGood: x}]", rule.Position{Line: 2, Column: 64}, "rules[1].lastGood", "already"},
		{"last-good file is the file", "", "rules: [{file: b, lastGood: b}]", rule.Position{Line: 2, Column: 29}, "rules[0].lastGood", "taken from"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("gw.yaml", []byte(lines(tt.nacos, tt.rules, good)))
			var problems rule.Problems
			require.ErrorAs(t, err, &problems)
			require.Len(t, problems, 1, "%v", err)
			if tt.name == "no server" {
				tt.pos = problems[0].Position // the document as a whole
			}
			require.Equal(t, tt.pos, problems[0].Position, "%v", err)
			require.Contains(t, problems[0].Field, tt.field)
			require.Contains(t, problems[0].Message, tt.message)
		})
	}
}

func TestPathsAreRelativeToTheConfiguration(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "gw.yaml")
	require.NoError(t, os.WriteFile(path, []byte(lines(
		"nacos: {servers: ['a:1'], username: u, passwordFile: p, tls: {ca: ca.pem, cert: c.pem, key: /k.pem}}",
		"rules: [{nacos: {dataId: a}, lastGood: state/a}]", "routes: [{name: a, upstreams: ['http://a']}]")), 0o600))
	_, err := Load(path)
	var problems rule.Problems
	require.ErrorAs(t, err, &problems)
	require.Len(t, problems, 1)
	require.Equal(t, rule.Position{Line: 1, Column: 54}, problems[0].Position, "%v", err)
	require.Equal(t, "nacos.passwordFile", problems[0].Field)
	require.ErrorContains(t, err, filepath.Join(dir, "p"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p"), []byte("s3cret"), 0o600))
	c, err := Load(path)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "p"), c.Nacos.PasswordFile)
	require.Equal(t, NacosTLS{CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, "c.pem"), Key: "/k.pem"}, c.Nacos.TLS)
	require.Equal(t, filepath.Join(dir, "state/a"), c.Rules[0].LastGood)
	require.Empty(t, c.Rules[0].File)
}

func TestSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	t.Setenv("GATEWAY_TEST_SECRET", "from the environment")
	require.NoError(t, os.WriteFile(file, []byte(" from a file \r\n"), 0o600))
	for want, n := range map[string]Nacos{
		"":                     {},
		" from a file ":        {PasswordFile: file, TokenFile: file},
		"from the environment": {PasswordEnv: "GATEWAY_TEST_SECRET", TokenEnv: "GATEWAY_TEST_SECRET"},
	} {
		password, err := n.Password()
		require.NoError(t, err)
		require.Equal(t, want, password)
		token, err := n.Token()
		require.NoError(t, err)
		require.Equal(t, want, token)
	}
	_, err := Nacos{PasswordFile: file + ".none"}.Password()
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Nacos{TokenEnv: "GATEWAY_TEST_NONE"}.Token()
	require.ErrorContains(t, err, "GATEWAY_TEST_NONE is not set")
	require.NoError(t, os.WriteFile(file, []byte("\n"), 0o600))
	_, err = Nacos{PasswordFile: file}.Password()
	require.ErrorContains(t, err, "empty")
	require.False(t, bytes.Contains([]byte(err.Error()), []byte("from a file")))
}

// A gateway that starts while the server is down, with last-good files of some of an app's documents, takes the others for absent, as they were. It is ready, and does not wait for them; but
// one that turns out to be faulty makes it unready.
func TestAppStartsFromLastGoodFiles(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	config := parse(t, upstream(t, says("x")), nacosHead, "rules: [{nacos: {app: shop}, lastGood: '"+folder+"'}]")
	const flow, degrade = "SENTINEL_GROUP/shop-flow-rules", "SENTINEL_GROUP/shop-degrade-rules"
	var before store
	before.document(flow).updates <- datasource.Update{Err: datasource.ErrAbsent}
	before.document(degrade).put(`[{"resource":"r","grade":2,"count":5,"timeWindow":10}]`)
	first, err := New(config, WithNacos(before.open))
	require.NoError(t, err)
	require.NoError(t, first.Close())

	var s store
	down := datasource.Update{Err: errors.New("no connection")}
	s.document(flow).updates <- down
	s.document(degrade).updates <- down
	var logged safeBuffer
	g := run(t, config, WithNacos(s.open), WithLogger(slog.New(slog.NewTextHandler(&logged, nil))))
	require.Len(t, g.Engine().Rules().Breaker, 1)
	require.NotContains(t, logged.String(), "level=ERROR")
	require.Equal(t, 200, g.adminGet("/readyz").status)

	s.document(flow).put("no JSON")
	g.waitFor(func() bool { return g.adminGet("/readyz").status == 503 })
	s.document(flow).put("[]")
	g.waitFor(func() bool { return g.adminGet("/readyz").status == 200 })
	g.stop()
	require.NoError(t, g.ended())
}
