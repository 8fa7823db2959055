package sentinel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cordon "github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/sentinel"
	"github.com/cordon-go/cordon/system"
)

// Valid system rules.
const (
	javaSystem = `{"highestSystemLoad":2.5,"highestCpuUsage":0.8,"qps":1000,"avgRt":200,"maxThread":50}`
	goSystem   = `{"metricType":0,"triggerCount":2.5,"strategy":1}`
)

// TestSystemFields goes through what is read of system rules in both dialects. warned are the fields with a warning.
func TestSystemFields(t *testing.T) {
	t.Parallel()
	rate := system.Rule{Metric: system.Rate, Limit: 1000}
	for _, test := range []struct {
		element string
		rules   []system.Rule
		warned  []string
	}{
		{javaSystem, []system.Rule{
			{Metric: system.Load, Limit: 2.5},
			{Metric: system.CPU, Limit: 0.8, Admission: system.Refuse},
			{Metric: system.ResponseTime, SlowerThan: 200 * time.Millisecond},
			{Metric: system.Concurrency, Limit: 50},
			rate,
		}, nil},
		// As Java's own writers have it: what is not set is -1.
		{`{"id":7,"app":"a","ip":"1.2.3.4","port":8719,"limitApp":"default","avgRt":-1,"highestCpuUsage":-1.0,"highestSystemLoad":-1.0,"maxThread":-1,"qps":1000.0,"gmtCreate":1}`, []system.Rule{rate}, nil},
		{`{"qps":1000,"highestSystemLoad":null,"avgRt":""}`, []system.Rule{rate}, nil},
		{`{"QPS":"1000"}`, []system.Rule{rate}, nil},
		{`{"qps":12.5}`, []system.Rule{{Metric: system.Rate, Limit: 12.5}}, nil},
		{`{"qps":0}`, []system.Rule{{Metric: system.Rate}}, nil},
		{`{"qps":1e9}`, []system.Rule{{Metric: system.Rate, Limit: 1e7}}, []string{"qps"}},
		{`{"id":"seven","qps":1000}`, []system.Rule{rate}, []string{"id"}},
		{`{"id":{},"qps":1000}`, []system.Rule{rate}, []string{"id"}},
		{`{"qps":1000,"limitApp":"web"}`, []system.Rule{rate}, []string{"limitApp"}},
		{`{"resource":"r","regex":true,"qps":1000}`, []system.Rule{rate}, nil},
		{`{"highestSystemLoad":0}`, []system.Rule{{Metric: system.Load}}, nil},
		{`{"highestSystemLoad":1e6}`, []system.Rule{{Metric: system.Load, Limit: 1e5}}, []string{"highestSystemLoad"}},
		{`{"highestCpuUsage":1}`, []system.Rule{{Metric: system.CPU, Limit: 1, Admission: system.Refuse}}, nil},
		{`{"avgRt":0}`, []system.Rule{{Metric: system.ResponseTime, SlowerThan: time.Millisecond}}, []string{"avgRt"}},
		{`{"avgRt":1.9}`, []system.Rule{{Metric: system.ResponseTime, SlowerThan: time.Millisecond}}, []string{"avgRt"}},
		{`{"avgRt":9223372036854775807}`, []system.Rule{{Metric: system.ResponseTime, SlowerThan: time.Hour}}, []string{"avgRt"}},
		{`{"maxThread":0}`, []system.Rule{{Metric: system.Concurrency}}, []string{"maxThread"}},
		{`{"maxThread":9223372036854775807}`, []system.Rule{{Metric: system.Concurrency, Limit: 1e7}}, []string{"maxThread"}},
		{`{"qps":-1}`, nil, []string{""}},

		{goSystem, []system.Rule{{Metric: system.Load, Limit: 2.5}}, nil},
		{`{"id":"s","metricType":0,"triggerCount":2.5,"strategy":-1}`, []system.Rule{{ID: "s", Metric: system.Load, Limit: 2.5, Admission: system.Refuse}}, nil},
		{`{"metricType":0,"triggerCount":2.5}`, []system.Rule{{Metric: system.Load, Limit: 2.5, Admission: system.Refuse}}, nil},
		{`{"metricType":0,"triggerCount":2.5,"strategy":1,"adaptiveStrategy":0}`, []system.Rule{{Metric: system.Load, Limit: 2.5}}, []string{"adaptiveStrategy"}},
		{`{"metricType":1,"triggerCount":0.6,"strategy":1}`, []system.Rule{{Metric: system.ResponseTime, SlowerThan: 600 * time.Microsecond}}, nil},
		{`{"metricType":1,"triggerCount":0}`, []system.Rule{{Metric: system.ResponseTime, SlowerThan: time.Millisecond}}, []string{"triggerCount"}},
		{`{"metricType":2,"triggerCount":50}`, []system.Rule{{Metric: system.Concurrency, Limit: 50}}, nil},
		{`{"metricType":2,"triggerCount":0.7}`, []system.Rule{{Metric: system.Concurrency, Limit: 1}}, []string{"triggerCount"}},
		{`{"metricType":3,"triggerCount":1000}`, []system.Rule{rate}, nil},
		{`{"metricType":4,"triggerCount":0.8,"strategy":1}`, []system.Rule{{Metric: system.CPU, Limit: 0.8}}, nil},
		{`{"metricType":4,"triggerCount":0.8}`, []system.Rule{{Metric: system.CPU, Limit: 0.8, Admission: system.Refuse}}, nil},
	} {
		e := one(t, sentinel.System, test.element)
		require.True(t, e.OK(), "%s: %v", test.element, e.Problems)
		require.Equal(t, cordon.Rules{System: test.rules}, e.Rules, test.element)
		var warned []string
		for _, p := range e.Problems {
			warned = append(warned, p.Field)
			require.Equal(t, "system", p.Kind)
		}
		require.Equal(t, test.warned, warned, "%s: %v", test.element, e.Problems)
	}
}

// TestSystemInvalid: one fault each, at the field (faults #64). Of Java's rules the other limits stay in force.
func TestSystemInvalid(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		element, field, id string
		good               int
	}{
		{`{}`, "", "", 0},
		{`{"id":7}`, "", "7", 0},
		{`{"qps":"many"}`, "qps", "rate#1", 0},
		{`{"qps":1e400}`, "qps", "rate#1", 0},
		{`{"qps":1e-9}`, "qps", "rate#1", 0},
		{`{"qps":{}}`, "qps", "rate#1", 0},
		{`{"avgRt":"x"}`, "avgRt", "responseTime#1", 0},
		{`{"highestCpuUsage":80}`, "highestCpuUsage", "cpu#1", 0},
		{spoilt(javaSystem, `"highestCpuUsage":80`), "highestCpuUsage", "cpu#1", 4},
		{spoilt(javaSystem, `"maxThread":1e30`), "maxThread", "concurrency#1", 4},
		{`{"metricType":5,"triggerCount":1}`, "metricType", "", 0},
		{`{"metricType":"Load","triggerCount":1}`, "metricType", "", 0},
		{`{"triggerCount":1}`, "metricType", "load#1", 0},
		{`{"metricType":0,"strategy":1}`, "triggerCount", "load#1", 0},
		{`{"metricType":0,"adaptiveStrategy":1}`, "triggerCount", "load#1", 0},
		{`{"metricType":3,"treshold":1}`, "triggerCount", "rate#1", 0},
		{`{"metricType":3,"triggerCount":-1}`, "triggerCount", "rate#1", 0},
		{`{"metricType":3,"triggerCount":"1"}`, "triggerCount", "rate#1", 0},
		{`{"metricType":4,"triggerCount":80}`, "triggerCount", "cpu#1", 0},
		{`{"metricType":0,"triggerCount":1,"strategy":2}`, "strategy", "load#1", 0},
		{`{"id":7,"metricType":0,"triggerCount":1}`, "id", "7", 0},
		{`{"qps":1,"metricType":3,"triggerCount":1}`, "metricType", "", 0},
	} {
		e := one(t, sentinel.System, test.element)
		faults := e.Problems.Faults()
		require.Len(t, faults, 1, "%s: %v", test.element, e.Problems)
		require.Equal(t, test.field, faults[0].Field, test.element)
		require.Equal(t, test.id, faults[0].RuleID, test.element)
		require.False(t, e.OK())
		require.Len(t, e.Rules.System, test.good, test.element)
	}
}

// TestSystemRulesOfJava: every limit holds, of one rule or several, whatever the last one is; and each keeps its id when another turns bad.
func TestSystemRulesOfJava(t *testing.T) {
	t.Parallel()
	doc, err := sentinel.Decode(sentinel.System, "doc", []byte(`[{"qps":100,"highestSystemLoad":3},{"qps":50},{}]`), sentinel.WithDialect(sentinel.Java))
	require.NoError(t, err)
	require.Equal(t, []system.Rule{{Metric: system.Load, Limit: 3}, {Metric: system.Rate, Limit: 100}, {Metric: system.Rate, Limit: 50}}, doc.Rules().System)
	require.Equal(t, []string{"doc:1:47: warning: system[2]: the rule sets no limit; as the last one it would switch all system rules off in Sentinel Java, and here it changes nothing; " +
		"want one of highestSystemLoad, highestCpuUsage, qps, avgRt and maxThread"}, lines(doc.Problems))

	doc, err = sentinel.Decode(sentinel.System, "doc", []byte(`[{"qps":"x","highestSystemLoad":3},{"qps":50}]`))
	require.NoError(t, err)
	require.Equal(t, []system.Rule{{ID: "load#1", Metric: system.Load, Limit: 3}, {ID: "rate#2", Metric: system.Rate, Limit: 50}}, doc.Rules().System)
	require.Equal(t, "rate#1", doc.Problems[0].RuleID)
}

// TestSystemEdited: rules go back into the element that they came from, limit by limit.
func TestSystemEdited(t *testing.T) {
	t.Parallel()
	const text = `[{"id":7,"highestSystemLoad":2.5,"qps":1000,"app":"shop","avgRt":-1},{"highestCpuUsage":80,"maxThread":5},{"qps":3}]`
	doc, err := sentinel.Decode(sentinel.System, "doc", []byte(text))
	require.NoError(t, err)
	rules := doc.Rules()
	require.Len(t, rules.System, 4)
	encode := func(rules ...system.Rule) string {
		t.Helper()
		data, lost, err := doc.Encode(cordon.Rules{System: rules})
		require.NoError(t, err)
		require.Empty(t, lost)
		return string(data)
	}
	same := `[
  {"id":7,"highestSystemLoad":2.5,"qps":1000,"app":"shop","avgRt":-1},
  {"highestCpuUsage":80,"maxThread":5},
  {"qps":3}
]
`
	require.Equal(t, same, encode(rules.System...))

	rules.System[1].Limit = 900
	require.Equal(t, `[
  {"id":7,"highestSystemLoad":2.5,"qps":900,"app":"shop","avgRt":-1},
  {"highestCpuUsage":80,"maxThread":5},
  {"qps":3}
]
`, encode(rules.System...))

	// A rule that is gone is not set any more; what was refused stays.
	require.Equal(t, `[
  {"id":7,"highestSystemLoad":-1,"qps":900,"app":"shop","avgRt":-1},
  {"highestCpuUsage":80,"maxThread":-1},
  {"qps":3}
]
`, encode(rules.System[1], rules.System[3]))

	// A rule in the place of the refused one replaces it, and a new one gets an element of its own.
	require.Equal(t, `[
  {"highestCpuUsage":0.8,"maxThread":-1},
  {"highestSystemLoad":-1,"highestCpuUsage":-1,"avgRt":20,"maxThread":-1,"qps":-1}
]
`, encode(system.Rule{ID: "cpu#1", Metric: system.CPU, Limit: 0.8, Admission: system.Refuse}, system.Rule{Metric: system.ResponseTime, SlowerThan: 20 * time.Millisecond}))
}

func TestSystemWritten(t *testing.T) {
	t.Parallel()
	rules := cordon.Rules{System: []system.Rule{
		{ID: "7", Metric: system.Load, Limit: 2.5, Admission: system.Refuse},
		{Metric: system.CPU, Limit: 0.8},
		{Metric: system.ResponseTime, SlowerThan: 1500 * time.Microsecond},
		{Metric: system.Concurrency, Limit: 50},
		{Metric: system.Rate, Limit: 12.5},
		{ID: "s", Metric: system.Rate, Limit: 1, Shadow: true},
	}}
	data, lost, err := sentinel.Encode(sentinel.Java, sentinel.System, rules)
	require.NoError(t, err)
	require.Equal(t, `[
  {"highestSystemLoad":2.5,"highestCpuUsage":-1,"avgRt":-1,"maxThread":-1,"qps":-1},
  {"highestSystemLoad":-1,"highestCpuUsage":-1,"avgRt":2,"maxThread":-1,"qps":-1},
  {"highestSystemLoad":-1,"highestCpuUsage":-1,"avgRt":-1,"maxThread":50,"qps":-1},
  {"highestSystemLoad":-1,"highestCpuUsage":-1,"avgRt":-1,"maxThread":-1,"qps":12.5}
]
`, string(data))
	require.Equal(t, []string{
		"system (7): admission: Sentinel Java always admits by BBR while the load is high",
		"system (7): id: Sentinel Java cannot have this id; none is written",
		"system (cpu#1): admission: Sentinel Java refuses all calls while the CPU is busy; the rule is left out",
		"system (responseTime#1): slowerThan: 1.5ms cannot be said in units of 1ms from 1 to 9223372036854775807; written as 2ms",
		"system (s): shadow: Sentinel has no rules in shadow, and would enforce it; the rule is left out",
	}, lossLines(lost))

	data, lost, err = sentinel.Encode(sentinel.Go, sentinel.System, rules)
	require.NoError(t, err)
	require.Equal(t, `[
  {"id":"7","metricType":0,"triggerCount":2.5,"strategy":-1},
  {"metricType":4,"triggerCount":0.8,"strategy":1},
  {"metricType":1,"triggerCount":1.5,"strategy":-1},
  {"metricType":2,"triggerCount":50,"strategy":-1},
  {"metricType":3,"triggerCount":12.5,"strategy":-1}
]
`, string(data))
	require.Equal(t, []string{"system (s): shadow: Sentinel has no rules in shadow, and would enforce it; the rule is left out"}, lossLines(lost))
}
