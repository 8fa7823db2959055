package sentinel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cordon "github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/apigroup"
	"github.com/cordon-go/cordon/authority"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sentinel"
)

// Valid rules that only Java has.
const (
	javaAuthority  = `{"resource":"r","limitApp":"a,b","strategy":0}`
	javaGateway    = `{"resource":"r","count":3,"burst":2}`
	javaGatewayArg = `{"resource":"r","count":3,"intervalSec":10,"paramItem":{"parseStrategy":2,"fieldName":"X-User","pattern":"vip","matchStrategy":0}}`
	javaAPI        = `{"apiName":"r","predicateItems":[{"pattern":"/a"},{"pattern":"/b/**","matchStrategy":1},{"pattern":"/c/\\d+","matchStrategy":2}]}`
)

// TestGatewayFields goes through what is read of gateway rules. warned are the fields with a warning.
func TestGatewayFields(t *testing.T) {
	t.Parallel()
	r := rule.Name("r")
	smooth := func(limit float64, per time.Duration, burst int) cordon.Rules {
		return cordon.Rules{Flow: []flow.Rule{{Resource: r, Mode: flow.Smooth, Limit: limit, Per: per, Burst: burst}}}
	}
	pace := func(wait time.Duration) cordon.Rules {
		return cordon.Rules{Flow: []flow.Rule{{Resource: r, Mode: flow.Pace, Limit: 3, Per: time.Second, MaxWait: wait}}}
	}
	param := func(path string, only rule.Match) cordon.Rules {
		return cordon.Rules{Param: []paramflow.Rule{{Resource: r, Param: path, Only: only, Limit: 3, Per: time.Second, Burst: 3}}}
	}
	item := func(members string) string { return `{"resource":"r","count":3,"paramItem":{` + members + `}}` }
	const sec = time.Second
	for _, test := range []struct {
		element string
		rules   cordon.Rules
		warned  []string
	}{
		{`{"resource":"r","count":3}`, smooth(3, sec, 3), nil},
		{javaGateway, smooth(3, sec, 5), nil},
		{`{"resource":"r","count":2.9}`, smooth(2, sec, 2), []string{"count"}},
		{`{"resource":"r","count":0,"burst":5}`, smooth(0, sec, 0), nil},
		{`{"resource":"r","count":3,"intervalSec":60,"burst":1}`, smooth(3, time.Minute, 4), nil},
		{`{"resource":"r","count":4,"intervalSec":172800}`, smooth(2, 24*time.Hour, 4), nil},
		{`{"resource":"r","count":1e9,"intervalSec":1}`, smooth(1e7, sec, 1e7), []string{"count"}},
		{`{"resource":"r","count":3,"burst":2147483647}`, smooth(3, sec, 1e7), nil}, // beyond what is earned back in 30 days: see below
		{`{"resource":"r","count":1000,"burst":2147483647}`, smooth(1000, sec, 1e7), []string{"burst"}},
		// An entity of the dashboard, and its interval, which Java's clients do not read.
		{`{"id":7,"app":"g","ip":"1.2.3.4","port":8720,"resource":"r","resourceMode":1,"grade":1,"count":3.0,"interval":2,"intervalUnit":1,"controlBehavior":0,"burst":0,"maxQueueingTimeoutMs":500,"paramItem":null}`,
			smooth(3, 2*time.Minute, 3), []string{"interval"}},
		{`{"id":"seven","resource":"r","count":3}`, smooth(3, sec, 3), []string{"id"}},
		{`{"resource":"r","count":3,"interval":2,"intervalUnit":1,"intervalSec":120}`, smooth(3, 2*time.Minute, 3), nil},
		{`{"resource":"r","count":3,"controlBehavior":2}`, pace(500 * time.Millisecond), nil},
		{`{"resource":"r","count":3,"controlBehavior":2,"maxQueueingTimeoutMs":0,"burst":7}`, pace(0), nil},
		{`{"resource":"r","count":3,"controlBehavior":1,"maxQueueingTimeoutMs":-1}`, smooth(3, sec, 3), []string{"controlBehavior"}},
		{`{"resource":"r","count":3,"grade":0,"controlBehavior":2,"burst":1}`, cordon.Rules{Concurrency: []flow.ConcurrencyRule{{Resource: r, Limit: 3}}}, nil},

		{item(``), param("client.ip", rule.Match{}), nil},
		{item(`"parseStrategy":0,"fieldName":"x"`), param("client.ip", rule.Match{}), nil},
		{item(`"parseStrategy":1`), param("header.Host", rule.Match{}), nil},
		{item(`"parseStrategy":2,"fieldName":"X-User"`), param(`header.X-User`, rule.Match{}), nil},
		{item(`"parseStrategy":3,"fieldName":"user id"`), param(`query["user id"]`, rule.Match{}), nil},
		{item(`"parseStrategy":4,"fieldName":"sid"`), param("cookie.sid", rule.Match{}), nil},
		{item(`"index":3,"pattern":"","matchStrategy":9`), param("client.ip", rule.Match{}), nil},
		{item(`"pattern":"1.2.3.4"`), param("client.ip", rule.Name("1.2.3.4")), nil},
		{item(`"pattern":"a*?b","matchStrategy":0`), param("client.ip", rule.Name("a*?b")), nil},
		{item(`"pattern":"a.b","matchStrategy":3`), param("client.ip", rule.Wildcard("*a.b*")), nil},
		{item(`"pattern":"a*.b","matchStrategy":3`), param("client.ip", rule.Regex(`(?s:.*)(?:a\*\.b)(?s:.*)`)), nil},
		{item(`"pattern":"a?","matchStrategy":3`), param("client.ip", rule.Regex(`(?s:.*)(?:a\?)(?s:.*)`)), nil},
		{item(`"pattern":"10[.].*","matchStrategy":2`), param("client.ip", rule.Regex("10[.].*")), nil},
		{item(`"pattern":"10.","matchStrategy":1`), param("client.ip", rule.Match{}), []string{"paramItem.matchStrategy"}},
		{javaGatewayArg, cordon.Rules{Param: []paramflow.Rule{{Resource: r, Param: "header.X-User", Only: rule.Name("vip"), Limit: 3, Per: 10 * sec, Burst: 3}}}, nil},
		{spoilt(item(``), `"controlBehavior":2,"burst":9`), cordon.Rules{Param: []paramflow.Rule{{Resource: r, Param: "client.ip", Mode: paramflow.Pace, Limit: 3, Per: sec, MaxWait: 500 * time.Millisecond}}}, nil},
		{spoilt(item(``), `"grade":0`), cordon.Rules{Param: []paramflow.Rule{{Resource: r, Param: "client.ip", Mode: paramflow.Concurrency, Limit: 3}}}, nil},
	} {
		e := one(t, sentinel.Gateway, test.element)
		if test.element == `{"resource":"r","count":3,"burst":2147483647}` {
			require.False(t, e.OK())
			require.Equal(t, "burst", e.Problems.Faults()[0].Field)
			continue
		}
		require.True(t, e.OK(), "%s: %v", test.element, e.Problems)
		require.Equal(t, test.rules, e.Rules, test.element)
		var warned []string
		for _, p := range e.Problems {
			warned = append(warned, p.Field)
		}
		require.Equal(t, test.warned, warned, "%s: %v", test.element, e.Problems)
	}
}

// TestJavaOnlyInvalid: one fault each, at the field (faults #64).
func TestJavaOnlyInvalid(t *testing.T) {
	t.Parallel()
	item := func(members string) string { return `{"resource":"r","count":3,"paramItem":{` + members + `}}` }
	for _, test := range []struct {
		kind               sentinel.Kind
		element, field, of string
	}{
		{sentinel.Gateway, `{"resource":"r"}`, "count", "flow"},
		{sentinel.Gateway, `{"resource":"r","treshold":1}`, "count", "flow"},
		{sentinel.Gateway, `{"resource":" ","count":1}`, "resource", "flow"},
		{sentinel.Gateway, `{"resource":"r","count":-1}`, "count", "flow"},
		{sentinel.Gateway, `{"resource":"r","count":1,"grade":2}`, "grade", "flow"},
		{sentinel.Gateway, `{"resource":"r","count":1,"resourceMode":2}`, "resourceMode", "flow"},
		{sentinel.Gateway, `{"resource":"r","count":-1,"grade":0}`, "count", "concurrency"},
		{sentinel.Gateway, `{"resource":"r","count":1,"intervalSec":0}`, "intervalSec", "flow"},
		{sentinel.Gateway, `{"resource":"r","count":1,"interval":0}`, "interval", "flow"},
		{sentinel.Gateway, `{"resource":"r","count":1,"intervalUnit":4,"interval":1}`, "intervalUnit", "flow"},
		{sentinel.Gateway, `{"resource":"r","count":1,"burst":-1}`, "burst", "flow"},
		{sentinel.Gateway, `{"resource":"r","count":1,"controlBehavior":-1}`, "controlBehavior", "flow"},
		{sentinel.Gateway, `{"resource":"r","count":1,"controlBehavior":2,"maxQueueingTimeoutMs":-1}`, "maxQueueingTimeoutMs", "flow"},
		{sentinel.Gateway, `{"resource":"r","count":1,"controlBehavior":2,"maxQueueingTimeoutMs":3600001}`, "maxQueueingTimeoutMs", "flow"},
		{sentinel.Gateway, `{"resource":"r","count":1,"paramItem":[]}`, "paramItem", "param"},
		{sentinel.Gateway, item(`"parseStrategy":5`), "paramItem.parseStrategy", "param"},
		{sentinel.Gateway, item(`"parseStrategy":2`), "paramItem.fieldName", "param"},
		{sentinel.Gateway, item(`"parseStrategy":3,"fieldName":" "`), "paramItem.fieldName", "param"},
		{sentinel.Gateway, item(`"pattern":"a","matchStrategy":4`), "paramItem.matchStrategy", "param"},
		{sentinel.Gateway, item(`"pattern":"a(","matchStrategy":2`), "paramItem.pattern", "param"},
		{sentinel.Gateway, item(`"pattern":"(?=a)","matchStrategy":2`), "paramItem.pattern", "param"},

		{sentinel.Authority, `{"resource":"r","strategy":0}`, "limitApp", "authority"},
		{sentinel.Authority, `{"resource":"r","limitApp":" "}`, "limitApp", "authority"},
		{sentinel.Authority, `{"resource":"r","limitApp":",,"}`, "limitApp", "authority"},
		{sentinel.Authority, `{"limitApp":"a","strategy":1}`, "resource", "authority"},
		{sentinel.Authority, `{"resource":"r","limitApp":"a","strategy":2}`, "strategy", "authority"},
		{sentinel.Authority, `{"resource":"r(","limitApp":"a","regex":true}`, "resource", "authority"},

		{sentinel.API, `{"apiName":" ","predicateItems":[]}`, "apiName", "apiGroup"},
		{sentinel.API, `{"apiName":"r"}`, "predicateItems", "apiGroup"},
		{sentinel.API, `{"apiName":"r","predicateItems":{}}`, "predicateItems", "apiGroup"},
		{sentinel.API, `{"apiName":"r","predicateItems":[7]}`, "predicateItems[0]", "apiGroup"},
		{sentinel.API, `{"apiName":"r","predicateItems":[{"pattern":"/a"},{"pattern":"/a","matchStrategy":3}]}`, "predicateItems[1].matchStrategy", "apiGroup"},
		{sentinel.API, `{"apiName":"r","predicateItems":[{"pattern":"/a"},{"pattern":"(","matchStrategy":2},{"pattern":"/b"}]}`, "predicateItems[1].pattern", "apiGroup"},
	} {
		e := one(t, test.kind, test.element)
		faults := e.Problems.Faults()
		require.Len(t, faults, 1, "%s: %v", test.element, e.Problems)
		require.Equal(t, test.field, faults[0].Field, test.element)
		require.Equal(t, test.of, faults[0].Kind, test.element)
		require.Equal(t, cordon.Rules{}, e.Rules, test.element)
	}
}

func TestAuthorityFields(t *testing.T) {
	t.Parallel()
	r := rule.Name("r")
	for _, test := range []struct {
		element string
		rule    authority.Rule
		warned  int
	}{
		{javaAuthority, authority.Rule{Resource: r, Allow: []string{"a", "b"}}, 0},
		{`{"resource":"r","limitApp":"a"}`, authority.Rule{Resource: r, Allow: []string{"a"}}, 0},
		{`{"resource":"r","limitApp":"a","strategy":1}`, authority.Rule{Resource: r, Deny: []string{"a"}}, 0},
		{`{"resource":"r","limitApp":",a,,b,a,","strategy":1}`, authority.Rule{Resource: r, Deny: []string{"a", "b"}}, 0},
		{`{"resource":"r","limitApp":"a, b ,c"}`, authority.Rule{Resource: r, Allow: []string{"a", " b ", "c"}}, 1},
		{`{"resource":"r","limitApp":"a,b*"}`, authority.Rule{Resource: r, Allow: []string{"a"}}, 1}, // never wider than Java's
		{`{"resource":"/r/.*","limitApp":"a","regex":true}`, authority.Rule{Resource: rule.Regex("/r/.*"), Also: true, Allow: []string{"a"}}, 0},
		{`{"id":3,"app":"x","ip":"1.2.3.4","port":1,"rule":{"resource":"r","limitApp":"a","strategy":1}}`, authority.Rule{ID: "3", Resource: r, Deny: []string{"a"}}, 0},
	} {
		e := one(t, sentinel.Authority, test.element)
		require.True(t, e.OK(), "%s: %v", test.element, e.Problems)
		require.Equal(t, cordon.Rules{Authority: []authority.Rule{test.rule}}, e.Rules, test.element)
		require.Len(t, e.Problems, test.warned, test.element)
	}
}

func TestAPIFields(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		element string
		group   apigroup.Group
		warned  []string
	}{
		{javaAPI, apigroup.Group{Name: "r", Paths: []apigroup.Path{{Exact: "/a"}, {Pattern: "/b/**"}, {Regex: `/c/\d+`}}}, nil},
		{`{"id":7,"app":"g","apiName":"r","predicateItems":[{"pattern":"/a","matchStrategy":0}]}`, apigroup.Group{ID: "7", Name: "r", Paths: []apigroup.Path{{Exact: "/a"}}}, nil},
		{`{"apiName":"r","predicateItems":[]}`, apigroup.Group{Name: "r"}, []string{"predicateItems"}},
		{`{"apiName":"r","predicateItems":[{"pattern":" "},null,{"pattern":"/a"}]}`, apigroup.Group{Name: "r", Paths: []apigroup.Path{{Exact: "/a"}}},
			[]string{"predicateItems[1]", "predicateItems[0].pattern"}},
		{`{"apiName":"r","predicateItems":[{"pattern":"/a","matchStrategy":1},{"pattern":"/u/{id}","matchStrategy":1}]}`,
			apigroup.Group{Name: "r", Paths: []apigroup.Path{{Pattern: "/a"}, {Pattern: "/u/{id}"}}}, []string{"predicateItems[0].pattern"}},
	} {
		e := one(t, sentinel.API, test.element)
		require.True(t, e.OK(), "%s: %v", test.element, e.Problems)
		require.Equal(t, cordon.Rules{APIGroup: []apigroup.Group{test.group}}, e.Rules, test.element)
		var warned []string
		for _, p := range e.Problems {
			warned = append(warned, p.Field)
			require.Equal(t, "apiGroup", p.Kind)
		}
		require.Equal(t, test.warned, warned, test.element)
	}
}

// TestOnlyOne: of rules of which Java takes one, the first good one counts.
func TestOnlyOne(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind sentinel.Kind
		text string
		want string
	}{
		{sentinel.Authority, `[{"resource":"r","limitApp":"a","strategy":7},{"resource":"r","limitApp":"b"},{"resource":"r","limitApp":"c"},{"resource":"s","limitApp":"b"}]`, "element 1 is for the same resource"},
		{sentinel.API, `[{"apiName":"r"},{"apiName":"r","predicateItems":[{"pattern":"/b"}]},{"apiName":"r","predicateItems":[{"pattern":"/c"}]},{"apiName":"s","predicateItems":[{"pattern":"/b"}]}]`,
			"element 1 has the same name"},
		{sentinel.Gateway, `[{"resource":"r"},{"resource":"r","count":1},{"id":3,"resource":"r","count":1.0,"burst":0},{"resource":"r","count":2}]`, "the rule is equal to element 1 and left out"},
	} {
		doc, err := sentinel.Decode(test.kind, "doc", []byte(test.text))
		require.NoError(t, err)
		require.Len(t, doc.Problems.Faults(), 1)
		require.Len(t, doc.Problems, 2)
		require.Contains(t, doc.Problems[1].Message, test.want)
		require.Equal(t, 2, doc.Problems[1].Index)
		require.Empty(t, doc.Elements[2].Rules)
		for _, i := range []int{1, 3} {
			require.NotEmpty(t, doc.Elements[i].Rules)
		}
	}
}

// TestModes: resources whose rules disagree on what the name names are told, where Java applies none of them.
func TestModes(t *testing.T) {
	t.Parallel()
	doc, err := sentinel.Decode(sentinel.Gateway, "doc", []byte(`[
 {"resource":"a","count":1,"resourceMode":0,"paramItem":{}},
 {"resource":"a","count":2,"resourceMode":1},
 {"resource":"a","count":3,"resourceMode":1},
 {"resource":"b","count":1,"resourceMode":0},
 {"resource":"b","count":2,"resourceMode":1},
 {"resource":"c","count":1,"resourceMode":1,"paramItem":{}},
 {"resource":"c","count":2,"resourceMode":1},
 {"resource":"d","count":1,"resourceMode":0},
 {"resource":"d","count":2,"resourceMode":1,"paramItem":{}}
]`))
	require.NoError(t, err)
	require.Equal(t, []string{`doc:3:43: warning: flow[1] (a#1): resourceMode: it is 1 here and 0 in element 0: Sentinel Java would apply no gateway rule of "a", while here all are in force; want one resourceMode for a resource`,
		`doc:10:43: warning: param[8] (d#1): resourceMode: it is 1 here and 0 in element 7: Sentinel Java would apply no gateway rule of "d", while here all are in force; want one resourceMode for a resource`}, lines(doc.Problems))
	require.Len(t, doc.Rules().Flow, 6)
	require.Len(t, doc.Rules().Param, 3)

	// The mode is no rule's, and stays.
	rules := doc.Rules()
	rules.Flow[1].Limit, rules.Flow[1].Burst = 30, 30
	data, lost, err := doc.Encode(rules)
	require.NoError(t, err)
	require.Empty(t, lost)
	require.Contains(t, string(data), `{"resource":"a","count":30,"resourceMode":1}`)
}

// TestGatewayRulesOfAPIs: a limit of an API, of which the rules have the paths, is written as one. As a limit of a route Sentinel Java would never apply it.
func TestGatewayRulesOfAPIs(t *testing.T) {
	t.Parallel()
	const flows = `[{"resource":"api","resourceMode":1,"count":1},{"resource":"api","resourceMode":1,"grade":0,"count":2},{"resource":"api","resourceMode":1,"count":3,"paramItem":{"parseStrategy":0}},{"resource":"route","count":4}]`
	doc, err := sentinel.Decode(sentinel.Gateway, "doc", []byte(flows))
	require.NoError(t, err)
	lost := lossLines(doc.Losses())
	require.Len(t, lost, 3, "the native rules do not say it")
	for i, kind := range []string{"flow", "concurrency", "param"} {
		require.Contains(t, lost[i], kind+` (api#1): resource: it is for the API "api"`)
	}

	rules := doc.Rules()
	rules.APIGroup = []apigroup.Group{{Name: "api", Paths: []apigroup.Path{{Exact: "/a"}}}}
	data, none, err := sentinel.Encode(sentinel.Java, sentinel.Gateway, rules)
	require.NoError(t, err)
	require.Empty(t, none)
	require.Equal(t, 3, strings.Count(string(data), `"resource":"api","resourceMode":1`), "%s", data)
	require.Equal(t, 1, strings.Count(string(data), `"resource":"route","resourceMode":0`), "%s", data)

	// A rule that matches the name by an expression is for no API, and what stands in a document stays.
	rules.Flow = []flow.Rule{{Resource: rule.Regex("api"), Also: true, Limit: 1}}
	data, _, err = sentinel.Encode(sentinel.Java, sentinel.Gateway, cordon.Rules{Flow: rules.Flow, APIGroup: rules.APIGroup})
	require.NoError(t, err)
	require.NotContains(t, string(data), `"resourceMode":1`)
	rules = doc.Rules()
	rules.Flow[1].Limit, rules.Flow[1].Burst = 5, 5
	rules.APIGroup = []apigroup.Group{{Name: "route"}}
	data, _, err = doc.Encode(rules)
	require.NoError(t, err)
	require.Contains(t, string(data), `{"resource":"route","count":5}`)
	require.Equal(t, 3, strings.Count(string(data), `"resourceMode":1`))
}

// TestGatewayItemStays: what of a value's description is not understood stays where the rule is edited elsewhere.
func TestGatewayItemStays(t *testing.T) {
	t.Parallel()
	doc, err := sentinel.Decode(sentinel.Gateway, "doc", []byte(`[{"resource":"a","count":1,"paramItem":{"index":4,"parseStrategy":0,"pattern":"10.","matchStrategy":1}}]`))
	require.NoError(t, err)
	rules := doc.Rules()
	rules.Param[0].Limit, rules.Param[0].Burst = 2, 2
	data, lost, err := doc.Encode(rules)
	require.NoError(t, err)
	require.Empty(t, lost)
	require.Equal(t, "[\n  {\"resource\":\"a\",\"count\":2,\"paramItem\":{\"index\":4,\"parseStrategy\":0,\"pattern\":\"10.\",\"matchStrategy\":1}}\n]\n", string(data))
	rules.Param[0].Param = "query.x"
	data, _, err = doc.Encode(rules)
	require.NoError(t, err)
	require.Equal(t, "[\n  {\"resource\":\"a\",\"count\":2,\"paramItem\":{\"parseStrategy\":3,\"fieldName\":\"x\"}}\n]\n", string(data))
}

func TestGatewayWritten(t *testing.T) {
	t.Parallel()
	r := rule.Name("r")
	rules := cordon.Rules{
		Flow: []flow.Rule{
			{ID: "7", Resource: r, Mode: flow.Smooth, Limit: 3, Burst: 5},
			{ID: "s", Resource: r, Mode: flow.Smooth, Limit: 3},
			{ID: "p", Resource: r, Mode: flow.Pace, Limit: 0.5, MaxWait: time.Second},
			{ID: "q", Resource: r, Limit: 3},
			{ID: "w", Resource: r, Limit: 3, Mode: flow.WarmUpPace},
			{ID: "o", Resource: r, Limit: 3, Origin: "web"},
			{ID: "x", Resource: rule.Default(), Limit: 3},
		},
		Concurrency: []flow.ConcurrencyRule{{Resource: r, Limit: 3, MaxWait: time.Second}},
		Param: []paramflow.Rule{
			{Resource: r, Param: "client.ip", Limit: 3, Only: rule.Wildcard("*a*")},
			{Resource: r, Param: `header["HOST"]`, Limit: 3, Only: rule.Wildcard("a*")},
			{Resource: r, Param: `cookie['s"id']`, Mode: paramflow.Concurrency, Limit: 3, Only: rule.Regex("a|b")},
			{Resource: r, Param: "query.q", Mode: paramflow.Pace, Limit: 3, Overrides: []paramflow.Override{{Value: "x", Limit: 1}}},
			{Resource: r, Param: "query.q", Limit: 3, Overrides: []paramflow.Override{{Value: "x", Limit: 10}}},
			{Resource: r, Param: "arg[0]", Limit: 3},
		},
	}
	data, lost, err := sentinel.Encode(sentinel.Java, sentinel.Gateway, rules)
	require.NoError(t, err)
	require.Equal(t, `[
  {"resource":"r","resourceMode":0,"grade":1,"count":3,"intervalSec":1,"controlBehavior":0,"burst":2,"maxQueueingTimeoutMs":500},
  {"resource":"r","resourceMode":0,"grade":1,"count":3,"intervalSec":1,"controlBehavior":0,"burst":0,"maxQueueingTimeoutMs":500},
  {"resource":"r","resourceMode":0,"grade":1,"count":1,"intervalSec":2,"controlBehavior":2,"burst":0,"maxQueueingTimeoutMs":1000},
  {"resource":"r","resourceMode":0,"grade":1,"count":3,"intervalSec":1,"controlBehavior":2,"burst":0,"maxQueueingTimeoutMs":0},
  {"resource":"r","resourceMode":0,"grade":0,"count":3,"intervalSec":1,"controlBehavior":0,"burst":0,"maxQueueingTimeoutMs":500},
  {"resource":"r","resourceMode":0,"grade":1,"count":3,"intervalSec":1,"controlBehavior":0,"burst":0,"maxQueueingTimeoutMs":500,"paramItem":{"parseStrategy":0,"pattern":"a","matchStrategy":3}},
  {"resource":"r","resourceMode":0,"grade":1,"count":3,"intervalSec":1,"controlBehavior":0,"burst":0,"maxQueueingTimeoutMs":500,"paramItem":{"parseStrategy":1,"pattern":"a(?s:.*)","matchStrategy":2}},
  {"resource":"r","resourceMode":0,"grade":0,"count":3,"intervalSec":1,"controlBehavior":0,"burst":0,"maxQueueingTimeoutMs":500,"paramItem":{"parseStrategy":4,"fieldName":"s\"id","pattern":"a|b","matchStrategy":2}},
  {"resource":"r","resourceMode":0,"grade":1,"count":3,"intervalSec":1,"controlBehavior":2,"burst":0,"maxQueueingTimeoutMs":0,"paramItem":{"parseStrategy":3,"fieldName":"q"}}
]
`, string(data))
	require.Equal(t, []string{
		"flow (7): id: Sentinel Java cannot have this id; none is written",
		"flow (s): burst: in Sentinel the whole limit may be saved up, 3 calls",
		"flow (s): id: Sentinel Java cannot have this id; none is written",
		"flow (p): per: in Sentinel limits are whole calls per whole seconds; 0.5 per 1s is written as 1 per 2 s",
		"flow (p): id: Sentinel Java cannot have this id; none is written",
		"flow (q): mode: gateway rules let a resource save up its limit, which a limit that rejects does not",
		"flow (q): as written it is equal to s, and Sentinel Java holds these for one; the rule is left out",
		"flow (w): mode: gateway rules have no warm-up; written as one that paces",
		"flow (w): id: Sentinel Java cannot have this id; none is written",
		"flow (o): origin: gateway rules are for all callers; the rule is left out",
		"flow (o): mode: gateway rules let a resource save up its limit, which a limit that rejects does not",
		"flow (x): resource: Sentinel has no default rules; written as a regular expression that matches all",
		"flow (x): also: in Sentinel a rule with an expression always applies besides those that name the resource",
		"flow (x): resource: gateway rules are for one route or API each; the rule is left out",
		"flow (x): mode: gateway rules let a resource save up its limit, which a limit that rejects does not",
		"concurrency (r#1): maxWait: Sentinel's concurrency limits let nothing wait for a place",
		"param (r#2): only: gateway rules have no wildcards; written as a regular expression",
		"param (r#4): overrides: gateway rules have no limits of single values; those of \"x\" get the rule's limit",
		"param (r#5): overrides: gateway rules have no limits of single values, and would hold those of \"x\" to the rule's limit; the rule is left out",
		"param (r#6): param: gateway rules limit by the client's address, a header, a parameter of the URL or a cookie; arg[0] cannot be said; the rule is left out",
	}, lossLines(lost))
}

func TestAuthorityAndAPIWritten(t *testing.T) {
	t.Parallel()
	r := rule.Name("r")
	rules := cordon.Rules{
		Authority: []authority.Rule{
			{ID: "1", Resource: r, Allow: []string{"a", " b"}, Anonymous: authority.Refuse},
			{ID: "2", Resource: r, Deny: []string{"a"}},
			{ID: "3", Resource: rule.Name("s"), Deny: []string{"a", "b*", "c,d", "\xff"}},
			{ID: "4", Resource: rule.Name("t"), Allow: []string{"a", "b*"}},
			{ID: "5", Resource: rule.Name("u"), Deny: []string{"*"}},
			{ID: "6", Resource: rule.Name("v"), Deny: []string{"a"}, Shadow: true},
		},
		APIGroup: []apigroup.Group{
			{ID: "1", Name: "r", Paths: []apigroup.Path{{Exact: "/a"}, {Pattern: "/b"}, {Pattern: "/c/*"}, {Regex: "/d/[0-9]+"}, {Regex: "[[:alpha:]]"}, {Exact: "\xff"}}},
			{ID: "2", Name: "r", Paths: []apigroup.Path{{Exact: "/b"}}},
			{ID: "3", Name: " ", Paths: []apigroup.Path{{Exact: "/b"}}},
			{ID: "4", Name: "s"},
		},
	}
	data, lost, err := sentinel.Encode(sentinel.Java, sentinel.Authority, rules)
	require.NoError(t, err)
	require.Equal(t, `[
  {"id":1,"resource":"r","limitApp":"a, b","strategy":0,"regex":false},
  {"id":3,"resource":"s","limitApp":"a","strategy":1,"regex":false}
]
`, string(data))
	require.Equal(t, []string{
		"authority (1): anonymous: Sentinel Java lets calls without an origin pass",
		"authority (2): Sentinel Java takes only one authority rule for a resource, and 1 is written before; the rule is left out",
		`authority (3): deny: Sentinel Java has no patterns of callers' names; "b*" is not written`,
		`authority (3): deny: in Sentinel Java a comma ends a name; "c,d" is not written`,
		`authority (3): deny: the name is not UTF-8; "\xff" is not written`,
		`authority (4): allow: Sentinel Java has no patterns of callers' names, and "b*" would be refused; the rule is left out`,
		`authority (5): deny: Sentinel Java has no patterns of callers' names; "*" is not written`,
		"authority (5): deny: no name is left that Sentinel Java could have; the rule is left out",
		"authority (6): shadow: Sentinel has no rules in shadow, and would enforce it; the rule is left out",
	}, lossLines(lost))

	data, lost, err = sentinel.Encode(sentinel.Java, sentinel.API, rules)
	require.NoError(t, err)
	require.Equal(t, `[
  {"id":1,"apiName":"r","predicateItems":[{"pattern":"/a","matchStrategy":0},{"pattern":"/b","matchStrategy":0},{"pattern":"/c/*","matchStrategy":1},{"pattern":"/d/[0-9]+","matchStrategy":2}]},
  {"id":4,"apiName":"s","predicateItems":[]}
]
`, string(data))
	require.Equal(t, []string{
		`apiGroup (1): paths[4]: regex "[[:alpha:]]" has a [ within a class, which Java and RE2 read in different ways; it is not written`,
		`apiGroup (1): paths[5]: Sentinel Java cannot have "\xff" as a path; it is not written`,
		"apiGroup (2): Sentinel Java takes only one API of a name, and 1 is written before; the rule is left out",
		"apiGroup (3): name: Sentinel Java refuses a name of blanks; the rule is left out",
	}, lossLines(lost))

	// sentinel-golang has none of these.
	rules.Flow = []flow.Rule{{ID: "f", Resource: r, Limit: 1}}
	for kind, most := range map[sentinel.Kind]int{sentinel.Authority: 6, sentinel.API: 4, sentinel.Gateway: 1} {
		data, lost, err = sentinel.Encode(sentinel.Go, kind, rules)
		require.NoError(t, err)
		require.Equal(t, "[]\n", string(data))
		require.Len(t, lost, most)
		for _, l := range lost {
			require.True(t, l.Omitted)
			require.Contains(t, l.Reason, "sentinel-golang has no")
		}
		_, err = sentinel.Decode(kind, "doc", []byte("[]"), sentinel.WithDialect(sentinel.Go))
		require.EqualError(t, err, "doc: only Sentinel Java has "+kind.String()+" rules; want dialect java")
	}
}
