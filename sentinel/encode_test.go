package sentinel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cordon "github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sentinel"
)

// TestWritten is what documents look like: what Sentinel's own writers write, with integers where Go reads integers.
func TestWritten(t *testing.T) {
	t.Parallel()
	rules := cordon.Rules{
		Flow: []flow.Rule{
			{ID: "7", Resource: rule.Name("GET:/<a>"), Limit: 20},
			{ID: "p", Resource: rule.Name("b"), Limit: 0.5, Mode: flow.Pace, MaxWait: 2 * time.Second},
			{Resource: rule.Regex("/c/.*"), Also: true, Limit: 1, Related: "d"},
		},
		Concurrency: []flow.ConcurrencyRule{{Resource: rule.Name("e"), Limit: 3}},
		Breaker: []breaker.Rule{
			{Resource: rule.Name("f"), Trip: breaker.SlowRatio, SlowerThan: 200 * time.Millisecond, Threshold: 0.5, Above: true, Buckets: 1},
			{Resource: rule.Name("f"), Trip: breaker.ErrorCount, Threshold: 3, Buckets: 1},
		},
	}
	for _, test := range []struct {
		dialect sentinel.Dialect
		kind    sentinel.Kind
		want    string
		lost    []string
	}{
		{
			sentinel.Java, sentinel.Flow,
			`[
  {"id":7,"resource":"GET:/<a>","limitApp":"default","grade":1,"count":20,"strategy":0,"controlBehavior":0,"warmUpPeriodSec":10,"maxQueueingTimeMs":500,"clusterMode":false,"regex":false},
  {"resource":"b","limitApp":"default","grade":1,"count":0.5,"strategy":0,"controlBehavior":2,"warmUpPeriodSec":10,"maxQueueingTimeMs":2000,"clusterMode":false,"regex":false},
  {"resource":"/c/.*","limitApp":"default","grade":1,"count":1,"strategy":1,"refResource":"d","controlBehavior":0,"warmUpPeriodSec":10,"maxQueueingTimeMs":500,"clusterMode":false,"regex":true},
  {"resource":"e","limitApp":"default","grade":0,"count":3,"strategy":0,"controlBehavior":0,"clusterMode":false,"regex":false}
]
`,
			[]string{"flow (p): id: Sentinel Java cannot have this id; none is written"},
		},
		{
			sentinel.Go, sentinel.Flow,
			`[
  {"id":"7","resource":"GET:/<a>","tokenCalculateStrategy":0,"controlBehavior":0,"threshold":20,"relationStrategy":0,"maxQueueingTimeMs":0,"warmUpPeriodSec":0,"warmUpColdFactor":0,"statIntervalInMs":1000,"regex":false},
  {"id":"p","resource":"b","tokenCalculateStrategy":0,"controlBehavior":1,"threshold":0.5,"relationStrategy":0,"maxQueueingTimeMs":2000,"warmUpPeriodSec":0,"warmUpColdFactor":0,"statIntervalInMs":1000,"regex":false},
  {"resource":"^(?:/c/.*)$","tokenCalculateStrategy":0,"controlBehavior":0,"threshold":1,"refResource":"d","relationStrategy":1,"maxQueueingTimeMs":0,"warmUpPeriodSec":0,"warmUpColdFactor":0,"statIntervalInMs":1000,"regex":true}
]
`,
			nil,
		},
		{
			sentinel.Go, sentinel.Isolation,
			`[
  {"resource":"e","metricType":0,"threshold":3,"regex":false}
]
`,
			nil,
		},
		{
			sentinel.Java, sentinel.Breaker,
			`[
  {"resource":"f","limitApp":"default","grade":0,"count":200,"slowRatioThreshold":0.5,"timeWindow":5,"minRequestAmount":10,"statIntervalMs":10000,"regex":false},
  {"resource":"f","limitApp":"default","grade":2,"count":2,"slowRatioThreshold":1,"timeWindow":5,"minRequestAmount":1,"statIntervalMs":10000,"regex":false}
]
`,
			nil,
		},
		{
			sentinel.Go, sentinel.Breaker,
			`[
  {"resource":"f","strategy":0,"threshold":0.5,"maxAllowedRtMs":200,"retryTimeoutMs":5000,"minRequestAmount":10,"statIntervalMs":10000,"statSlidingWindowBucketCount":1,"probeNum":0},
  {"resource":"f","strategy":2,"threshold":3,"maxAllowedRtMs":0,"retryTimeoutMs":5000,"minRequestAmount":1,"statIntervalMs":10000,"statSlidingWindowBucketCount":1,"probeNum":0}
]
`,
			[]string{"breaker (f#1): above: sentinel-golang opens at 0.5, not only above it"},
		},
	} {
		data, lost, err := sentinel.Encode(test.dialect, test.kind, rules)
		require.NoError(t, err)
		require.Equal(t, test.want, string(data))
		require.Equal(t, test.lost, lossLines(lost))
	}
	data, lost, err := sentinel.Encode(sentinel.Java, sentinel.Flow, cordon.Rules{})
	require.NoError(t, err)
	require.Empty(t, lost)
	require.Equal(t, "[]\n", string(data)) // which clears, and says so
}

// TestLosses: nothing is lost without being listed, and what would refuse other calls is not written.
func TestLosses(t *testing.T) {
	t.Parallel()
	rate := flow.Rule{Resource: rule.Name("r"), Limit: 10}
	places := flow.ConcurrencyRule{Resource: rule.Name("r"), Limit: 10}
	circuit := breaker.Rule{Resource: rule.Name("r"), Threshold: 0.5, Buckets: 1}
	type lossy struct {
		edit func()
		// java and golang are the fields that are lost, an omitted one with a ! after it.
		java, golang []string
	}
	run := func(name string, reset func(), rules func() cordon.Rules, javaKind, goKind sentinel.Kind, tests []lossy) {
		for i, test := range tests {
			reset()
			test.edit()
			for dialect, want := range map[sentinel.Dialect][]string{sentinel.Java: test.java, sentinel.Go: test.golang} {
				kind := javaKind
				if dialect == sentinel.Go {
					kind = goKind
				}
				_, lost, err := sentinel.Encode(dialect, kind, rules())
				require.NoError(t, err, "%s %d", name, i)
				var fields []string
				for _, l := range lost {
					field := l.Field
					if l.Omitted {
						field += "!"
					}
					fields = append(fields, field)
					require.NotEmpty(t, l.Reason)
					require.NotEmpty(t, l.RuleID)
				}
				require.Equal(t, want, fields, "%s %d in %v: %v", name, i, dialect, lost)
			}
		}
	}
	var f flow.Rule
	run("flow", func() { f = rate }, func() cordon.Rules { return cordon.Rules{Flow: []flow.Rule{f}} }, sentinel.Flow, sentinel.Flow, []lossy{
		{func() {}, nil, nil},
		{func() { f.Shadow = true }, []string{"shadow!"}, []string{"shadow!"}},
		{func() { f.Shared = true }, []string{"shared"}, []string{"shared"}},
		{func() { f.Also = true }, []string{"also"}, []string{"also"}},
		{func() { f.Resource = rule.Wildcard("/a*") }, []string{"resource", "also"}, []string{"resource", "also"}},
		{func() { f.Resource = rule.Default() }, []string{"resource", "also"}, []string{"resource", "also"}},
		{func() { f.Resource = rule.Regex("a") }, []string{"also"}, []string{"also"}},
		{func() { f.Resource = rule.Name("\xff") }, []string{"resource!"}, []string{"resource!"}},
		{func() { f.Resource = rule.Name(" ") }, []string{"resource!"}, nil},
		{func() { f.Resource, f.Also = rule.Regex("[[:alpha:]]"), true }, []string{"resource!"}, nil},
		{func() { f.Mode = flow.Smooth }, []string{"mode"}, []string{"mode"}},
		{func() { f.Per = 10 * time.Second }, []string{"per"}, nil},
		{func() { f.Per = 1500 * time.Microsecond }, []string{"per"}, []string{"per"}},
		{func() { f.Mode, f.MaxWait = flow.Pace, 1500*time.Microsecond }, []string{"maxWait"}, []string{"maxWait"}},
		{func() { f.Mode = flow.Pace }, []string{"maxWait"}, nil},
		{func() { f.Mode, f.WarmUp = flow.WarmUp, 1500*time.Millisecond }, []string{"warmUp"}, []string{"warmUp"}},
		{func() { f.Mode, f.ColdFactor = flow.WarmUp, 5 }, []string{"coldFactor"}, nil},
		{func() { f.Mode, f.ColdFactor = flow.WarmUp, 2.5 }, []string{"coldFactor"}, []string{"coldFactor"}},
		{func() { f.Mode, f.Resource, f.Also = flow.WarmUp, rule.Regex("a"), true }, []string{"mode!"}, nil},
		{func() { f.Origin = "web" }, nil, []string{"origin!"}},
		{func() { f.Origin = "default" }, []string{"origin!"}, []string{"origin!"}},
		{func() { f.Under = "in" }, nil, []string{"under!"}},
		{func() { f.Under, f.Related = "in", "s" }, []string{"under!"}, []string{"under!"}},
		{func() { f.Related = " " }, []string{"related!"}, nil},
		{
			func() {
				f.Limit, f.Memory = 0, flow.Memory{LowLimit: 100, HighLimit: 10, LowMark: 1 << 20, HighMark: 1 << 30}
			},
			[]string{"memory"}, nil,
		},
		{
			func() {
				f.Limit, f.Memory = 0, flow.Memory{LowLimit: 1.5, HighLimit: 0.5, LowMark: 1 << 20, HighMark: 1 << 30}
			},
			[]string{"memory"},
			[]string{"memory.lowLimit", "memory.highLimit", "memory!"},
		},
		{
			func() {
				f.Limit, f.Memory = 0, flow.Memory{LowLimit: 100.5, HighLimit: 0.5, LowMark: 0.1, HighMark: 0.5}
			},
			[]string{"memory"},
			[]string{"memory!"},
		},
	})
	var c flow.ConcurrencyRule
	run("concurrency", func() { c = places }, func() cordon.Rules { return cordon.Rules{Concurrency: []flow.ConcurrencyRule{c}} },
		sentinel.Flow, sentinel.Isolation, []lossy{
			{func() {}, nil, nil},
			{func() { c.Shadow = true }, []string{"shadow!"}, []string{"shadow!"}},
			{func() { c.Shared = true }, []string{"shared"}, []string{"shared"}},
			{func() { c.MaxWait, c.Queue = time.Second, 5 }, []string{"maxWait"}, []string{"maxWait"}},
			{func() { c.Limit = 0 }, nil, []string{"limit!"}},
			{func() { c.Origin = "web" }, nil, []string{"origin!"}},
			{func() { c.Under = "in" }, nil, []string{"under!"}},
		})
	var b breaker.Rule
	run("breaker", func() { b = circuit }, func() cordon.Rules { return cordon.Rules{Breaker: []breaker.Rule{b}} },
		sentinel.Breaker, sentinel.Breaker, []lossy{
			{func() {}, []string{"above"}, nil},
			{func() { b.Above = true }, nil, []string{"above"}},
			{func() { b.Above, b.Threshold = true, 0 }, nil, []string{"above!"}},
			{func() { b.Threshold = 1 }, []string{"threshold"}, nil},
			{func() { b.Trip, b.Threshold = breaker.ErrorCount, 5 }, nil, nil},
			{func() { b.Trip, b.Threshold, b.Above = breaker.ErrorCount, 5, true }, nil, nil},
			{func() { b.Trip, b.Threshold, b.Above = breaker.ErrorCount, 1e9, true }, nil, []string{"above"}},
			{func() { b.Trip, b.Threshold, b.Buckets = breaker.Consecutive, 5, 0 }, []string{"trip!"}, []string{"trip!"}},
			{func() { b.Trip, b.SlowerThan, b.Threshold = breaker.SlowRatio, time.Second, 1 }, nil, nil},
			{func() { b.Trip, b.SlowerThan, b.Threshold = breaker.SlowRatio, time.Nanosecond, 1 }, []string{"slowerThan"}, []string{"slowerThan"}},
			{func() { b.Above, b.Buckets = true, 10 }, []string{"buckets"}, []string{"above"}},
			{func() { b.Above, b.Buckets, b.Window = true, 3, time.Second }, []string{"buckets"}, []string{"above", "buckets"}},
			{func() { b.Above, b.Open = true, 1500*time.Millisecond }, []string{"open"}, []string{"above"}},
			{func() { b.Above, b.MaxOpen = true, time.Minute }, []string{"maxOpen"}, []string{"above", "maxOpen"}},
			{func() { b.Above, b.Jitter = true, 0.1 }, []string{"jitter"}, []string{"above", "jitter"}},
			{func() { b.Above, b.ProbeLease = true, time.Hour }, []string{"probeLease"}, []string{"above", "probeLease"}},
			{func() { b.Above, b.Probes = true, 3 }, []string{"probes"}, []string{"above"}},
			{func() { b.Above, b.Probes, b.Successes = true, 3, 2 }, []string{"probes"}, []string{"above", "successes"}},
			{func() { b.Above, b.Resource, b.Also = true, rule.Regex("a"), true }, nil, []string{"resource!", "above"}},
		})
}

// TestEqualAsWritten: rules that Java would hold for one are not written twice without saying so.
func TestEqualAsWritten(t *testing.T) {
	t.Parallel()
	rules := cordon.Rules{Flow: []flow.Rule{
		{ID: "1", Resource: rule.Name("r"), Limit: 10},
		{ID: "2", Resource: rule.Name("r"), Limit: 10, Shared: true},
	}}
	_, lost, err := sentinel.Encode(sentinel.Java, sentinel.Flow, rules)
	require.NoError(t, err)
	require.Equal(t, []string{
		"flow (2): shared: in Sentinel each resource has a budget of its own",
		"flow (2): as written it is equal to 1, and Sentinel Java holds these for one; the rule is left out",
	}, lossLines(lost))
}

func TestEncodeArguments(t *testing.T) {
	t.Parallel()
	_, _, err := sentinel.Encode(sentinel.Java, sentinel.Isolation, cordon.Rules{})
	require.EqualError(t, err, "sentinel: Sentinel Java has no isolation rules; want kind flow, where it limits concurrency by grade 0")
	_, _, err = sentinel.Encode(sentinel.Auto, sentinel.Flow, cordon.Rules{})
	require.EqualError(t, err, "sentinel: cannot write rules in dialect auto; want java or go")
	_, _, err = sentinel.Encode(sentinel.Go, sentinel.Flow, cordon.Rules{Flow: []flow.Rule{{Resource: rule.Name("r"), Limit: -1}}})
	var problems rule.Problems
	require.ErrorAs(t, err, &problems)
	require.Equal(t, "r#1", problems[0].RuleID)
	_, _, err = sentinel.Encode(sentinel.Go, sentinel.Flow, cordon.Rules{Flow: []flow.Rule{{ID: "x", Resource: rule.Name("r")}, {ID: "x", Resource: rule.Name("s")}}})
	require.ErrorContains(t, err, "used twice")
}

// TestKeeping: what cordon does not use survives an edit.
func TestKeeping(t *testing.T) {
	t.Parallel()
	const text = `[
		{"id":7,"app":"shop","ip":"10.0.0.1","port":8719,"gmtCreate":1700000000000,"resource":"a","limitApp":"default","grade":1,"count":10.0,
		 "controlBehavior":0,"warmUpPeriodSec":77,"maxQueueingTimeMs":5,"clusterMode":true,"clusterConfig":{"flowId":101,"thresholdType":0},"remark":"é<b>"},
		{"id":8,"resource":"b","limit_app":"web","count":"5",}, // lax
		{"id":9,"resource":"c","count":-1},
		{"id":10,"resource":"d","count":4},
		null,
		{"gmtModified":3,"rule":{"id":11,"resource":"e","grade":0,"count":3,"controlBehavior":2}}]`
	doc, err := sentinel.Decode(sentinel.Flow, "doc", []byte(text))
	require.NoError(t, err)
	var unused []string
	for _, f := range doc.Elements[0].Unused() {
		unused = append(unused, f.Key)
	}
	require.Equal(t, []string{"app", "ip", "port", "gmtCreate", "warmUpPeriodSec", "maxQueueingTimeMs", "clusterMode", "clusterConfig", "remark"}, unused)
	require.Len(t, doc.Elements[2].Unused(), 3) // refused
	require.Len(t, doc.Elements[5].Unused(), 2) // gmtModified, and how a rate would be enforced

	// Unchanged, it is the same document in strict JSON.
	rules := doc.Rules()
	data, lost, err := doc.Encode(rules)
	require.NoError(t, err)
	require.Empty(t, lost)
	const unchanged = `[
  {"id":7,"app":"shop","ip":"10.0.0.1","port":8719,"gmtCreate":1700000000000,"resource":"a","limitApp":"default","grade":1,"count":10.0,` +
		`"controlBehavior":0,"warmUpPeriodSec":77,"maxQueueingTimeMs":5,"clusterMode":true,"clusterConfig":{"flowId":101,"thresholdType":0},"remark":"é<b>"},
  {"id":8,"resource":"b","limit_app":"web","count":"5"},
  {"id":9,"resource":"c","count":-1},
  {"id":10,"resource":"d","count":4},
  null,
  {"gmtModified":3,"rule":{"id":11,"resource":"e","grade":0,"count":3,"controlBehavior":2}}
]
`
	require.Equal(t, unchanged, string(data))

	// Edited: two changed, one in place of the refused one, one gone, one changed in its entity, one new.
	rules.Flow[0].Limit = 20
	rules.Flow[1].Origin = "app"
	rules.Flow[2] = flow.Rule{ID: "9", Resource: rule.Name("c"), Limit: 1, Mode: flow.Pace, MaxWait: time.Second}
	rules.Flow = append(rules.Flow, flow.Rule{Resource: rule.Name("new"), Limit: 2, Shared: true})
	rules.Concurrency[0].Limit = 4
	data, lost, err = doc.Encode(rules)
	require.NoError(t, err)
	require.Equal(t, []string{"flow (new#1): shared: in Sentinel each resource has a budget of its own"}, lossLines(lost))
	require.Equal(t, `[
  {"id":7,"app":"shop","ip":"10.0.0.1","port":8719,"gmtCreate":1700000000000,"resource":"a","limitApp":"default","grade":1,"count":20,`+
		`"controlBehavior":0,"warmUpPeriodSec":77,"maxQueueingTimeMs":5,"clusterMode":true,"clusterConfig":{"flowId":101,"thresholdType":0},"remark":"é<b>"},
  {"id":8,"resource":"b","limit_app":"app","count":5},
  {"id":9,"resource":"c","count":1,"controlBehavior":2,"maxQueueingTimeMs":1000},
  null,
  {"gmtModified":3,"rule":{"id":11,"resource":"e","grade":0,"count":4,"controlBehavior":2}},
  {"resource":"new","limitApp":"default","grade":1,"count":2,"strategy":0,"controlBehavior":0,"warmUpPeriodSec":10,"maxQueueingTimeMs":500,"clusterMode":false,"regex":false}
]
`, string(data))

	// Where an id would come out otherwise, because a rule before it is gone, it is written, or listed as lost.
	for _, test := range []struct{ a, b, want string }{
		{`{"resource":"r","threshold":1}`, `{"resource":"r","threshold":2}`, "[\n  {\"resource\":\"r\",\"threshold\":2,\"id\":\"r#2\"}\n]\n"},
		{`{"resource":"r","count":1}`, `{"resource":"r","count":2}`, "[\n  {\"resource\":\"r\",\"count\":2}\n]\n"},
	} {
		pair, err := sentinel.Decode(sentinel.Flow, "doc", []byte("["+test.a+","+test.b+"]"))
		require.NoError(t, err)
		second := pair.Rules().Flow[1]
		data, lost, err = pair.Encode(cordon.Rules{Flow: []flow.Rule{second.WithID("r#2")}})
		require.NoError(t, err)
		require.Equal(t, test.want, string(data))
		require.Equal(t, pair.Dialect == sentinel.Java, len(lost) == 1)
		// A refused rule before it stays and counts, so nothing need be written.
		pair, err = sentinel.Decode(sentinel.Flow, "doc", []byte("["+strings.Replace(test.a, ":1", ":-1", 1)+","+test.b+"]"))
		require.NoError(t, err)
		rules := pair.Rules()
		require.Equal(t, "r#2", rules.Flow[0].ID)
		rules.Flow[0].Limit = 3
		data, lost, err = pair.Encode(rules)
		require.NoError(t, err)
		require.Empty(t, lost)
		require.NotContains(t, string(data), "id")
	}

	// Of a key given twice one is left.
	twice, err := sentinel.Decode(sentinel.Flow, "doc", []byte(`[{"resource":"a","count":1,"COUNT":2}]`))
	require.NoError(t, err)
	data, _, err = twice.Encode(cordon.Rules{Flow: []flow.Rule{{Resource: rule.Name("a"), Limit: 3}}})
	require.NoError(t, err)
	require.Equal(t, "[\n  {\"resource\":\"a\",\"count\":3}\n]\n", string(data))

	// A change that the dialect cannot say takes the element with it.
	rules = doc.Rules()
	rules.Flow[0].Shadow = true
	data, lost, err = doc.Encode(rules)
	require.NoError(t, err)
	require.Len(t, lost, 1)
	require.NotContains(t, string(data), "10.0.0.1")

	// A Java rule among isolation rules was refused and stays as it is, until an isolation rule takes its place.
	doc, err = sentinel.Decode(sentinel.Isolation, "doc", []byte(`[{"resource":"e","grade":0,"count":3}]`))
	require.NoError(t, err)
	data, _, err = doc.Encode(cordon.Rules{})
	require.NoError(t, err)
	require.Equal(t, "[\n  {\"resource\":\"e\",\"grade\":0,\"count\":3}\n]\n", string(data))
	data, _, err = doc.Encode(cordon.Rules{Concurrency: []flow.ConcurrencyRule{{Resource: rule.Name("e"), Limit: 5}}})
	require.NoError(t, err)
	require.Equal(t, "[\n  {\"resource\":\"e\",\"metricType\":0,\"threshold\":5,\"regex\":false}\n]\n", string(data))

	// A document without rules tells no dialect.
	doc, err = sentinel.Decode(sentinel.Flow, "doc", []byte("[]"))
	require.NoError(t, err)
	_, _, err = doc.Encode(rules)
	require.Error(t, err)
	doc.Dialect = sentinel.Java
	_, _, err = doc.Encode(rules)
	require.NoError(t, err)
}

func lossLines(lost []sentinel.Loss) []string {
	var out []string
	for _, l := range lost {
		out = append(out, l.String())
	}
	return out
}
