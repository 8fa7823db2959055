package sentinel_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cordon "github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sentinel"
	"github.com/cordon-go/cordon/system"
)

// A file with an object of every kind, and some that are none of sentinel-golang's.
const crdFile = `# rules of the shop
---
apiVersion: v1
kind: ConfigMap
metadata: {name: shop}
---
apiVersion: datasource.sentinel.io/v1alpha1
kind: FlowRules
metadata:
  name: shop-flow
spec:
  rules:
    - resource: a
      threshold: 500
    - id: throttled
      resource: b
      threshold: 100
      relationStrategy: CurrentResource
      controlBehavior: Throttling
      maxQueueingTimeMs: 500
    - resource: c
      threshold: 200
      tokenCalculateStrategy: WarmUp
      controlBehavior: Reject
      warmUpPeriodSec: 20
      warmUpColdFactor: 4
    - resource: d
      threshold: 10
      relationStrategy: AssociatedResource
      refResource: e
--- # next
apiVersion: datasource.sentinel.io/v1alpha1
kind: CircuitBreakerRules
spec:
  rules:
    - {resource: a, strategy: SlowRequestRatio, statIntervalMs: 10000, retryTimeoutMs: 500, minRequestAmount: 10, maxAllowedRtMs: 100, threshold: 10}
    - {resource: a, strategy: ErrorRatio, statIntervalMs: 10000, retryTimeoutMs: 500, minRequestAmount: 10, threshold: 20}
    - {resource: a, strategy: ErrorCount, statIntervalMs: 10000, retryTimeoutMs: 500, minRequestAmount: 10, threshold: 20}
---
---
apiVersion: datasource.sentinel.io/v1alpha1
kind: HotspotRules
spec:
  rules:
    - resource: a
      metricType: Concurrency
      paramIndex: 0
      threshold: 100
      specificItems:
        - {valKind: KindInt, valStr: "7", threshold: 101}
    - resource: b
      metricType: QPS
      controlBehavior: Throttling
      paramIndex: 1
      threshold: 200
      maxQueueingTimeMs: 100
      durationInSec: 1
      paramsMaxCapacity: 20000
      specificItems:
        - {valKind: KindString, valStr: x, threshold: 201}
        - {valKind: KindFloat64, valStr: "0.5", threshold: 2}
...
---
apiVersion: datasource.sentinel.io/v1alpha1
kind: IsolationRules
spec: {rules: [{resource: a, threshold: 100}]}
---
apiVersion: datasource.sentinel.io/v1alpha1
kind: SystemRules
spec:
  rules:
    - {metricType: Load, strategy: BBR, triggerCount: 250}
    - {metricType: AvgRT, strategy: NoAdaptive, triggerCount: 123}
    - {metricType: Concurrency, strategy: NoAdaptive, triggerCount: 100}
    - {metricType: InboundQPS, strategy: NoAdaptive, triggerCount: 1000}
    - {metricType: CpuUsage, strategy: NoAdaptive, triggerCount: 80}
---
apiVersion: datasource.sentinel.io/v1alpha1
kind: SystemRules
spec:
  rules:
    - {id: cpu, metricType: CpuUsage, strategy: BBR, triggerCount: 90}
`

// TestCRD: one file of objects is a document of every kind that it has objects of.
func TestCRD(t *testing.T) {
	t.Parallel()
	require.Equal(t, []sentinel.Kind{sentinel.Flow, sentinel.Breaker, sentinel.Param, sentinel.Isolation, sentinel.System}, sentinel.KindsOfCRD([]byte(crdFile)))
	a, b := rule.Name("a"), rule.Name("b")
	circuit := func(trip breaker.Trip, threshold float64, slower time.Duration) breaker.Rule {
		return breaker.Rule{Resource: a, Trip: trip, Threshold: threshold, SlowerThan: slower, MinCalls: 10, Open: 500 * time.Millisecond, Window: 10 * time.Second, Buckets: 1}
	}
	for kind, want := range map[sentinel.Kind]cordon.Rules{
		sentinel.Flow: {Flow: []flow.Rule{
			{Resource: a, Limit: 500, Per: time.Second},
			{ID: "throttled", Resource: b, Limit: 100, Per: time.Second, Mode: flow.Pace, MaxWait: 500 * time.Millisecond},
			{Resource: rule.Name("c"), Limit: 200, Per: time.Second, Mode: flow.WarmUp, WarmUp: 20 * time.Second, ColdFactor: 4},
			{Resource: rule.Name("d"), Limit: 10, Per: time.Second, Related: "e"},
		}},
		sentinel.Breaker: {Breaker: []breaker.Rule{
			circuit(breaker.SlowRatio, 0.1, 100*time.Millisecond),
			circuit(breaker.ErrorRatio, 0.2, 0),
			circuit(breaker.ErrorCount, 20, 0),
		}},
		sentinel.Param: {Param: []paramflow.Rule{
			{Resource: a, Param: "arg[0]", Mode: paramflow.Concurrency, Limit: 100, Overrides: []paramflow.Override{{Value: "7", Limit: 101}}},
			{Resource: b, Param: "arg[1]", Mode: paramflow.Pace, Limit: 200, Per: time.Second, MaxWait: 100 * time.Millisecond, Values: 20000,
				Overrides: []paramflow.Override{{Value: "x", Limit: 201}, {Value: "0.5", Limit: 2}}},
		}},
		sentinel.Isolation: {Concurrency: []flow.ConcurrencyRule{{Resource: a, Limit: 100}}},
		sentinel.System: {System: []system.Rule{
			{Metric: system.Load, Limit: 2.5},
			{Metric: system.ResponseTime, SlowerThan: 123 * time.Millisecond},
			{Metric: system.Concurrency, Limit: 100},
			{Metric: system.Rate, Limit: 1000},
			{Metric: system.CPU, Limit: 0.8, Admission: system.Refuse},
			{ID: "cpu", Metric: system.CPU, Limit: 0.9},
		}},
	} {
		for _, opts := range [][]sentinel.Option{nil, {sentinel.WithDialect(sentinel.CRD)}} {
			doc, err := sentinel.Decode(kind, "shop.yaml", []byte(crdFile), opts...)
			require.NoError(t, err)
			require.Empty(t, doc.Problems, kind)
			require.Equal(t, sentinel.CRD, doc.Dialect)
			require.Equal(t, want, doc.Rules(), kind)

			_, _, err = doc.Encode(doc.Rules())
			require.EqualError(t, err, "sentinel: resources of Kubernetes are only read, not written; want java or go")
			doc.Dialect = sentinel.Go
			data, _, err := doc.Encode(doc.Rules())
			require.NoError(t, err)
			again, err := sentinel.Decode(kind, "go", data, sentinel.WithDialect(sentinel.Go))
			require.NoError(t, err)
			require.Empty(t, again.Problems)
			require.Equal(t, want, again.Rules())
		}
	}
	_, _, err := sentinel.Encode(sentinel.CRD, sentinel.Flow, cordon.Rules{})
	require.EqualError(t, err, "sentinel: resources of Kubernetes are only read, not written; want java or go")
}

// TestCRDAsJSON: the form in which the cluster's tools print objects, one or a list of them.
func TestCRDAsJSON(t *testing.T) {
	t.Parallel()
	const object = `{"apiVersion":"datasource.sentinel.io/v1alpha1","kind":"IsolationRules","metadata":{"name":"x"},"spec":{"rules":[{"resource":"a","threshold":100}]}}`
	for _, text := range []string{
		object,
		"\uFEFF\n" + object,
		`{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod"},` + object + `]}`,
		`{"apiVersion":"datasource.sentinel.io/v1alpha1","kind":"IsolationRulesList","items":[` + object + `]}`,
	} {
		doc, err := sentinel.Decode(sentinel.Isolation, "x.json", []byte(text))
		require.NoError(t, err, text)
		require.Equal(t, []flow.ConcurrencyRule{{Resource: rule.Name("a"), Limit: 100}}, doc.Rules().Concurrency)
		require.Equal(t, []sentinel.Kind{sentinel.Isolation}, sentinel.KindsOfCRD([]byte(text)))
	}
}

// crd is a file with one object, of one rule.
func crd(kind, element string) []byte {
	return []byte("apiVersion: datasource.sentinel.io/v1alpha1\nkind: " + kind + "\nspec:\n  rules:\n    - " + element + "\n")
}

// TestCRDInvalid: one fault each, at the field and the line.
func TestCRDInvalid(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		object, element, problem string
	}{
		{"FlowRules", `{resource: a}`, `5:7: flow[0] (a#1): threshold: it is missing; sentinel-golang would take it for 0 and refuse every call`},
		{"FlowRules", `{resource: a, threshold: 0.5}`, `5:32: flow[0] (a#1): threshold: 0.5 is no whole number in range; want a whole number, 0 to 9007199254740992`},
		{"FlowRules", `{resource: a, threshold: "5"}`, `5:32: flow[0] (a#1): threshold: it is the text "5"; want a number`},
		{"FlowRules", `{resource: a, threshold: 5, controlBehavior: reject}`, `5:52: flow[0] (a#1): controlBehavior: it is the text "reject"; want Reject, Throttling`},
		{"FlowRules", `{resource: a, threshold: 5, tokenCalculateStrategy: 1}`, `5:59: flow[0] (a#1): tokenCalculateStrategy: it is the number 1; want Direct, WarmUp`},
		{"FlowRules", `{resource: a, threshold: 5, relationStrategy: AssociatedResource}`, `5:7: flow[0] (a#1): refResource: relationStrategy 1 needs it, and it is missing; want the resource associated with`},
		{"FlowRules", `7`, `5:7: flow[0]: the element is the number 7; want an object that is a rule`},
		{"CircuitBreakerRules", `{resource: a, threshold: 5, retryTimeoutMs: 1, statIntervalMs: 1000}`,
			`5:7: breaker[0] (a#1): strategy: it is missing, and sentinel-golang would leave the rule out; want SlowRequestRatio, ErrorRatio, ErrorCount`},
		{"CircuitBreakerRules", `{resource: a, strategy: ErrorRatio, threshold: 101, retryTimeoutMs: 1, statIntervalMs: 1000}`,
			`5:54: breaker[0] (a#1): threshold: 101 hundredths are more than the whole; want 0 to 100, in hundredths`},
		{"CircuitBreakerRules", `{resource: a, strategy: ErrorRatio, threshold: 10, statIntervalMs: 1000}`,
			`5:7: breaker[0] (a#1): retryTimeoutMs: it is missing; sentinel-golang would take it for 0 and refuse the rule`},
		{"HotspotRules", `{resource: a, threshold: 5}`, `5:7: param[0] (a#1): metricType: it is missing, and sentinel-golang would leave the rule out; want Concurrency, QPS`},
		{"HotspotRules", `{resource: a, metricType: QPS, threshold: 5}`, `5:7: param[0] (a#1): durationInSec: it is missing; sentinel-golang would take it for 0 and refuse the rule`},
		{"HotspotRules", `{resource: a, metricType: QPS, durationInSec: 1, threshold: 5, specificItems: [{valKind: 0, valStr: "1", threshold: 1}]}`,
			`5:96: param[0] (a#1): specificItems[0].valKind: it is the number 0; want KindInt, KindString, KindBool, KindFloat64`},
		{"SystemRules", `{metricType: Load, triggerCount: 1}`, `5:7: system[0] (load#1): strategy: it is missing, and sentinel-golang would leave the rule out; want NoAdaptive, BBR`},
		{"SystemRules", `{metricType: Load, strategy: BBR}`, `5:7: system[0] (load#1): triggerCount: it is missing; sentinel-golang would take it for 0 and refuse all inbound calls`},
		{"SystemRules", `{metricType: CpuUsage, strategy: BBR, triggerCount: 120}`, `5:59: system[0] (cpu#1): triggerCount: 120 hundredths are more than the whole; want 0 to 100, in hundredths`},
		{"SystemRules", `{metricType: Disk, strategy: BBR, triggerCount: 120}`, `5:20: system[0]: metricType: it is the text "Disk"; want Load, AvgRT, Concurrency, InboundQPS, CpuUsage`},
		{"IsolationRules", `{resource: a, threshold: 0}`, `5:32: concurrency[0] (a#1): threshold: 0 is out of range; want 1 to 4294967295`},
	} {
		var kind sentinel.Kind
		require.NoError(t, kind.UnmarshalText([]byte(strings.TrimSuffix(test.object, "Rules"))))
		for _, lines := range []int{0, 3} {
			text := strings.Repeat("---\n", lines) + string(crd(test.object, test.element))
			doc, err := sentinel.Decode(kind, "x", []byte(text))
			require.NoError(t, err, text)
			require.Len(t, doc.Problems, 1, "%s: %v", test.element, doc.Problems)
			require.Empty(t, doc.Rules())
			require.Equal(t, fmt.Sprintf("x:%d%s", 5+lines, test.problem[1:]), doc.Problems[0].Error())
		}
	}
}

// TestCRDRewritten: what was refused has no form in Go's documents, and is not written there.
func TestCRDRewritten(t *testing.T) {
	t.Parallel()
	doc, err := sentinel.Decode(sentinel.Flow, "x", crd("FlowRules", "{resource: a, threshold: -5}\n    - {resource: a, threshold: 5, zz: 1}"))
	require.NoError(t, err)
	require.Len(t, doc.Problems.Faults(), 1)
	require.Equal(t, "zz", doc.Elements[1].Unused()[0].Key)
	doc.Dialect = sentinel.Go
	data, lost, err := doc.Encode(doc.Rules())
	require.NoError(t, err)
	require.Empty(t, lost)
	require.Equal(t, `[
  {"id":"a#2","resource":"a","tokenCalculateStrategy":0,"controlBehavior":0,"threshold":5,"relationStrategy":0,"maxQueueingTimeMs":0,"warmUpPeriodSec":0,"warmUpColdFactor":0,"statIntervalInMs":1000,"regex":false}
]
`, string(data))
}

func TestCRDWarnings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind            sentinel.Kind
		object, element string
		fields          []string
	}{
		{sentinel.Flow, "FlowRules", `{id: 7, resource: a, threshold: 5}`, []string{"id"}},
		{sentinel.Flow, "FlowRules", `{resource: a, threshold: 5, statIntervalInMs: 2000}`, []string{"statIntervalInMs"}},
		{sentinel.Flow, "FlowRules", `{resource: a, threshold: 5, regex: true}`, []string{"regex"}},
		{sentinel.Breaker, "CircuitBreakerRules", `{resource: a, strategy: ErrorRatio, threshold: 10, retryTimeoutMs: 1, statIntervalMs: 1000, probeNum: 3}`, []string{"probeNum"}},
		{sentinel.Param, "HotspotRules", `{resource: a, metricType: Concurrency, threshold: 5, paramKey: uid}`, []string{"paramKey"}},
	} {
		doc, err := sentinel.Decode(test.kind, "x", crd(test.object, test.element))
		require.NoError(t, err)
		require.Empty(t, doc.Problems.Faults(), test.element)
		var fields []string
		for _, p := range doc.Problems {
			fields = append(fields, p.Field)
		}
		require.Equal(t, test.fields, fields, test.element)
	}
	doc, err := sentinel.Decode(sentinel.Flow, "x", crd("FlowRules", `{resource: a, threshold: 5, statIntervalInMs: 2000}`))
	require.NoError(t, err)
	require.Equal(t, 2*time.Second, doc.Rules().Flow[0].Per)
}

// TestCRDRefused: files of which nothing is taken. An alias bomb is refused in a time and memory that its size bounds.
func TestCRDRefused(t *testing.T) {
	t.Parallel()
	flowObject := string(crd("FlowRules", "{resource: a, threshold: 1}"))
	bomb := "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
	for c := 'b'; c < 'j'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c,", c-1), 10), ","))
	}
	half := "a: &a [" + strings.TrimSuffix(strings.Repeat("1,", 1000), ",") + "]\nb: [" + strings.TrimSuffix(strings.Repeat("*a,", 900), ",") + "]\n---\n"
	for _, test := range []struct {
		kind       sentinel.Kind
		text, want string
		opts       []sentinel.Option
	}{
		{sentinel.System, flowObject, "x:1:1: this is no document of system rules: it has FlowRules; want an object of kind SystemRules", nil},
		{sentinel.Authority, flowObject, "x: there are no resources of Kubernetes with authority rules; want Sentinel Java's documents", nil},
		{sentinel.Flow, strings.Replace(flowObject, "v1alpha1", "v2", 1), "x:1:13: datasource.sentinel.io/v2 is a version that is not known; want datasource.sentinel.io/v1alpha1", nil},
		{sentinel.Flow, strings.Replace(flowObject, "FlowRules", "FlowRule", 1), `x:1:1: there are no resources of kind "FlowRule"; want FlowRules`, nil},
		{sentinel.Flow, "---\n" + strings.Replace(flowObject, "rules:", "rule:", 1),
			"x:2:1: FlowRules has no list spec.rules, which does not clear the rules; want an array of rules; [] if there are to be none", nil},
		{sentinel.Flow, "---\n" + flowObject + "---\nnothing\n", "x:8:1: the document is the text \"nothing\"; want an object with apiVersion: datasource.sentinel.io/v1alpha1", nil},
		{sentinel.Flow, flowObject + "---\na: [\n", "x:7:1: ", nil},
		{sentinel.Flow, "kind: Pod", "x:1:1: this is no document of flow rules: it has none of sentinel-golang's resources; want an object of kind FlowRules", []sentinel.Option{sentinel.WithDialect(sentinel.CRD)}},
		{sentinel.Flow, "[]", "x:1:1: the document is a list; want an object with apiVersion: datasource.sentinel.io/v1alpha1", []sentinel.Option{sentinel.WithDialect(sentinel.CRD)}},
		{sentinel.Flow, "# " + "datasource.sentinel.io/", "x:1:1: this is no document of flow rules: it has none of sentinel-golang's resources", nil},
		{sentinel.Flow, flowObject, "x:1:1: ", []sentinel.Option{sentinel.WithDialect(sentinel.Go)}},
		{sentinel.Flow, flowObject, "x:1:1: ", []sentinel.Option{sentinel.WithDialect(sentinel.Java)}},
		{sentinel.Flow, flowObject + "---\n" + bomb, "aliases", nil},
		{sentinel.Flow, flowObject + "---\n" + strings.Repeat(half, 3), "the documents have too many values; want at most 2000000", nil},
		{sentinel.Flow, flowObject + strings.Repeat("---\na: 1\n", 10_000), "the document has too many objects; want at most 10000", nil},
		{sentinel.Flow, flowObject + "# " + strings.Repeat("x", 16<<20), "want at most 16 MiB", nil},
		{sentinel.Flow, "\xff\xfe" + "a\x00datasource.sentinel.io/", "UTF-16", nil},
	} {
		_, err := sentinel.Decode(test.kind, "x", []byte(test.text), test.opts...)
		require.ErrorContains(t, err, test.want)
	}
	for _, empty := range []string{"", " \n", "\uFEFF"} {
		_, err := sentinel.Decode(sentinel.Flow, "x", []byte(empty), sentinel.WithDialect(sentinel.CRD))
		require.ErrorIs(t, err, sentinel.ErrEmpty)
	}
	doc, err := sentinel.Decode(sentinel.Flow, "x", []byte("apiVersion: datasource.sentinel.io/v1alpha1\nkind: FlowRules\nspec: {rules: []}\n"))
	require.NoError(t, err)
	require.Empty(t, doc.Elements)
	require.Nil(t, sentinel.KindsOfCRD([]byte("a: [datasource.sentinel.io/")))
	require.Nil(t, sentinel.KindsOfCRD([]byte(`[{"resource":"a","count":1}]`)))
}
