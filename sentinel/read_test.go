package sentinel_test

import (
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
)

// TestFields goes through every field that is read and its default, in both dialects. warned are the fields with a warning.
func TestFields(t *testing.T) {
	t.Parallel()
	rate := func(f flow.Rule) cordon.Rules {
		if f.Resource == (rule.Match{}) {
			f.Resource = rule.Name("r")
		}
		if f.Per == 0 {
			f.Per = time.Second
		}
		return cordon.Rules{Flow: []flow.Rule{f}}
	}
	places := func(c flow.ConcurrencyRule) cordon.Rules {
		if c.Resource == (rule.Match{}) {
			c.Resource = rule.Name("r")
		}
		return cordon.Rules{Concurrency: []flow.ConcurrencyRule{c}}
	}
	circuit := func(b breaker.Rule) cordon.Rules {
		if b.Resource == (rule.Match{}) {
			b.Resource = rule.Name("r")
		}
		if b.Window == 0 {
			b.Window = time.Second
		}
		if b.Buckets == 0 {
			b.Buckets = 1
		}
		if b.Open == 0 {
			b.Open = time.Second
		}
		return cordon.Rules{Breaker: []breaker.Rule{b}}
	}
	param := func(p paramflow.Rule) cordon.Rules {
		if p.Resource == (rule.Match{}) {
			p.Resource = rule.Name("r")
		}
		if p.Limit == 0 {
			p.Limit = 5
		}
		if p.Per == 0 && p.Mode != paramflow.Concurrency {
			p.Per = time.Second
		}
		return cordon.Rules{Param: []paramflow.Rule{p}}
	}
	const first = "arg[0][*?]"
	const ms = time.Millisecond
	tests := []struct {
		kind    sentinel.Kind
		element string
		rules   cordon.Rules
		warned  []string
	}{
		// Java, rates.
		{sentinel.Flow, javaRate, rate(flow.Rule{Limit: 1}), nil},
		{sentinel.Flow, `{"resource":"r","count":0}`, rate(flow.Rule{}), nil},
		{sentinel.Flow, spoilt(javaRate, `"id":7`), rate(flow.Rule{ID: "7", Limit: 1}), nil},
		{sentinel.Flow, spoilt(javaRate, `"id":"7"`), rate(flow.Rule{ID: "7", Limit: 1}), nil},
		{sentinel.Flow, spoilt(javaRate, `"id":null,"limitApp":null,"refResource":null,"clusterConfig":null`), rate(flow.Rule{Limit: 1}), nil},
		{sentinel.Flow, spoilt(javaRate, `"limitApp":"default"`), rate(flow.Rule{Limit: 1}), nil},
		{sentinel.Flow, spoilt(javaRate, `"limitApp":" "`), rate(flow.Rule{Limit: 1}), nil},
		{sentinel.Flow, spoilt(javaRate, `"limitApp":"web"`), rate(flow.Rule{Limit: 1, Origin: "web"}), nil},
		{sentinel.Flow, spoilt(javaRate, `"limitApp":"other"`), rate(flow.Rule{Limit: 1, Origin: "other"}), nil},
		{sentinel.Flow, spoilt(javaRate, `"limitApp":"a,b"`), rate(flow.Rule{Limit: 1, Origin: "a,b"}), []string{"limitApp"}},
		{sentinel.Flow, spoilt(javaRate, `"strategy":1,"refResource":"s"`), rate(flow.Rule{Limit: 1, Related: "s"}), nil},
		{sentinel.Flow, spoilt(javaRate, `"strategy":1,"refResource":"r"`), rate(flow.Rule{Limit: 1}), nil}, // its own traffic
		{
			sentinel.Flow, spoilt(javaRate, `"strategy":1,"refResource":"r","regex":true`),
			rate(flow.Rule{Resource: rule.Regex("r"), Also: true, Limit: 1, Related: "r"}), nil,
		},
		{sentinel.Flow, spoilt(javaRate, `"strategy":2,"refResource":"s"`), rate(flow.Rule{Limit: 1, Under: "s"}), nil},
		{sentinel.Flow, spoilt(javaRate, `"refResource":"s"`), rate(flow.Rule{Limit: 1}), nil},
		{
			sentinel.Flow, spoilt(javaRate, `"controlBehavior":1`),
			rate(flow.Rule{Limit: 1, Mode: flow.WarmUp, WarmUp: 10 * time.Second}), nil,
		},
		{
			sentinel.Flow, spoilt(javaRate, `"controlBehavior":1,"warmUpPeriodSec":20,"maxQueueingTimeMs":0`),
			rate(flow.Rule{Limit: 1, Mode: flow.WarmUp, WarmUp: 20 * time.Second}), nil,
		},
		{sentinel.Flow, spoilt(javaRate, `"controlBehavior":2`), rate(flow.Rule{Limit: 1, Mode: flow.Pace, MaxWait: 500 * ms}), nil},
		{
			sentinel.Flow, spoilt(javaRate, `"controlBehavior":2,"maxQueueingTimeMs":20`),
			rate(flow.Rule{Limit: 1, Mode: flow.Pace, MaxWait: 20 * ms}), nil,
		},
		{
			sentinel.Flow, spoilt(javaRate, `"controlBehavior":3,"maxQueueingTimeMs":20,"warmUpPeriodSec":5`),
			rate(flow.Rule{Limit: 1, Mode: flow.WarmUpPace, MaxWait: 20 * ms, WarmUp: 5 * time.Second}), nil,
		},
		{sentinel.Flow, spoilt(javaRate, `"controlBehavior":4`), rate(flow.Rule{Limit: 1}), []string{"controlBehavior"}},
		{
			sentinel.Flow, spoilt(javaRate, `"strategy":1,"refResource":"s","controlBehavior":1`),
			rate(flow.Rule{Limit: 1, Related: "s"}), []string{"refResource"},
		},
		{
			sentinel.Flow, spoilt(javaRate, `"strategy":1,"refResource":"s","controlBehavior":2`),
			rate(flow.Rule{Limit: 1, Mode: flow.Pace, MaxWait: 500 * ms}), []string{"refResource"},
		},
		{sentinel.Flow, spoilt(javaRate, `"regex":true,"resource":"/a/.*"`), rate(flow.Rule{Resource: rule.Regex("/a/.*"), Also: true, Limit: 1}), nil},
		{sentinel.Flow, `{"resource":"r","count":1e12}`, rate(flow.Rule{Limit: 10_000_000}), []string{"count"}},
		{sentinel.Flow, spoilt(javaCluster, `"id":1`), rate(flow.Rule{ID: "1", Limit: 1}), []string{"clusterMode"}},
		{sentinel.Flow, spoilt(javaRate, `"clusterConfig":{"flowId":-1,"sampleCount":"x"}`), rate(flow.Rule{Limit: 1}), nil},
		{sentinel.Flow, spoilt(javaRate, `"remark":"x"`), rate(flow.Rule{Limit: 1}), []string{"remark"}},
		{sentinel.Flow, spoilt(javaRate, `"qps":7`), rate(flow.Rule{Limit: 1}), []string{"qps"}}, // a system rule has no resource

		// Java, what its parser takes.
		{
			sentinel.Flow, "{'resource':12,COUNT:'12.5','Limit-App':\"web\",strategy:\"2\",ref_resource:'s',regex:0,/* c */}",
			rate(flow.Rule{Resource: rule.Name("12"), Limit: 12.5, Origin: "web", Under: "s"}), nil,
		},
		{
			sentinel.Flow, `{"resource":"r","count":1,"controlBehavior":1.9,"warmUpPeriodSec":"3"}`,
			rate(flow.Rule{Limit: 1, Mode: flow.WarmUp, WarmUp: 3 * time.Second}), []string{"controlBehavior"},
		},
		{sentinel.Flow, `{"resource":"/b","regex":"true","count":1}`, rate(flow.Rule{Resource: rule.Regex("/b"), Also: true, Limit: 1}), nil},
		{sentinel.Flow, `{"resource":"r","count":1,"count":2}`, rate(flow.Rule{Limit: 2}), nil},
		{sentinel.Flow, `{"app":"x","id":3,"rule":{"resource":"r","count":1}}`, rate(flow.Rule{ID: "3", Limit: 1}), nil},
		{sentinel.Flow, `{"id":3,"rule":{"id":4,"resource":"r","count":1}}`, rate(flow.Rule{ID: "4", Limit: 1}), nil},

		// Java, concurrency.
		{sentinel.Flow, javaThreads, places(flow.ConcurrencyRule{Limit: 1}), nil},
		{sentinel.Flow, spoilt(javaThreads, `"count":2.9`), places(flow.ConcurrencyRule{Limit: 2}), []string{"count"}},
		{sentinel.Flow, spoilt(javaThreads, `"count":0`), places(flow.ConcurrencyRule{}), nil},
		{sentinel.Flow, spoilt(javaThreads, `"count":1e9`), places(flow.ConcurrencyRule{Limit: 10_000_000}), []string{"count"}},
		{
			sentinel.Flow, spoilt(javaThreads, `"limitApp":"web","strategy":2,"refResource":"in","controlBehavior":2,"maxQueueingTimeMs":0`),
			places(flow.ConcurrencyRule{Limit: 1, Origin: "web", Under: "in"}), nil,
		},
		{sentinel.Flow, spoilt(javaThreads, `"regex":true`), places(flow.ConcurrencyRule{Resource: rule.Regex("r"), Also: true, Limit: 1}), nil},

		// Java, breakers. Ratios of 1 open at 1 (faults #32).
		{
			sentinel.Breaker, javaSlow,
			circuit(breaker.Rule{Trip: breaker.SlowRatio, SlowerThan: 100 * ms, Threshold: 1, MinCalls: 5}), nil,
		},
		{
			sentinel.Breaker, spoilt(javaSlow, `"slowRatioThreshold":0.2,"minRequestAmount":10,"statIntervalMs":2000,"timeWindow":3`),
			circuit(breaker.Rule{
				Trip: breaker.SlowRatio, SlowerThan: 100 * ms, Threshold: 0.2, Above: true, MinCalls: 10, Window: 2 * time.Second, Open: 3 * time.Second,
			}), nil,
		},
		{
			sentinel.Breaker, `{"resource":"r","count":100.5,"timeWindow":1.5}`,
			circuit(breaker.Rule{Trip: breaker.SlowRatio, SlowerThan: 101 * ms, Threshold: 1, MinCalls: 5}), []string{"timeWindow"},
		},
		{
			sentinel.Breaker, spoilt(javaSlow, `"count":0`),
			circuit(breaker.Rule{Trip: breaker.SlowRatio, SlowerThan: ms, Threshold: 1, MinCalls: 5}), []string{"count"},
		},
		{
			sentinel.Breaker, spoilt(javaSlow, `"slowRatioThreshold":0`),
			circuit(breaker.Rule{Trip: breaker.SlowRatio, SlowerThan: 100 * ms, Above: true, MinCalls: 5}), nil,
		},
		{sentinel.Breaker, javaErrors, circuit(breaker.Rule{Threshold: 0.5, Above: true, MinCalls: 5}), nil},
		{sentinel.Breaker, spoilt(javaErrors, `"count":1`), circuit(breaker.Rule{Threshold: 1, MinCalls: 5}), nil},
		{sentinel.Breaker, spoilt(javaErrors, `"count":0`), circuit(breaker.Rule{Above: true, MinCalls: 5}), nil},
		{
			sentinel.Breaker, spoilt(javaErrors, `"grade":2,"count":3`),
			circuit(breaker.Rule{Trip: breaker.ErrorCount, Threshold: 3, Above: true, MinCalls: 5}), nil,
		},
		{
			sentinel.Breaker, spoilt(javaErrors, `"grade":2,"count":0.9`),
			circuit(breaker.Rule{Trip: breaker.ErrorCount, Above: true, MinCalls: 5}), []string{"count"},
		},
		{sentinel.Breaker, spoilt(javaErrors, `"limitApp":"default"`), circuit(breaker.Rule{Threshold: 0.5, Above: true, MinCalls: 5}), nil},
		{sentinel.Breaker, spoilt(javaErrors, `"limitApp":"web"`), circuit(breaker.Rule{Threshold: 0.5, Above: true, MinCalls: 5}), []string{"limitApp"}},
		{
			sentinel.Breaker, spoilt(javaErrors, `"regex":true,"resource":"r.*"`),
			circuit(breaker.Rule{Resource: rule.Regex("r.*"), Also: true, Threshold: 0.5, Above: true, MinCalls: 5}), nil,
		},
		{sentinel.Breaker, spoilt(javaErrors, `"passCount":3`), circuit(breaker.Rule{Threshold: 0.5, Above: true, MinCalls: 5}), []string{"passCount"}},

		// Go, rates.
		{sentinel.Flow, goRate, rate(flow.Rule{Limit: 1}), nil},
		{sentinel.Flow, spoilt(goRate, `"id":""`), rate(flow.Rule{Limit: 1}), nil},
		{sentinel.Flow, spoilt(goRate, `"id":"x"`), rate(flow.Rule{ID: "x", Limit: 1}), nil},
		{sentinel.Flow, spoilt(goRate, `"resource":" "`), rate(flow.Rule{Resource: rule.Name(" "), Limit: 1}), nil},
		{sentinel.Flow, `{"Resource":"r","THRESHOLD":2,"statIntervalInMs":null}`, rate(flow.Rule{Limit: 2}), nil},
		{sentinel.Flow, spoilt(goRate, `"statIntervalInMs":0`), rate(flow.Rule{Limit: 1}), nil},
		{sentinel.Flow, spoilt(goRate, `"statIntervalInMs":10000`), rate(flow.Rule{Limit: 1, Per: 10 * time.Second}), nil},
		{sentinel.Flow, spoilt(goRate, `"relationStrategy":1,"refResource":"s"`), rate(flow.Rule{Limit: 1, Related: "s"}), nil},
		{
			sentinel.Flow, spoilt(goRate, `"controlBehavior":1,"maxQueueingTimeMs":30`),
			rate(flow.Rule{Limit: 1, Mode: flow.Pace, MaxWait: 30 * ms}), nil,
		},
		{sentinel.Flow, goWarm, rate(flow.Rule{Limit: 10, Mode: flow.WarmUp, WarmUp: 10 * time.Second}), nil},
		{
			sentinel.Flow, spoilt(goWarm, `"warmUpColdFactor":5,"controlBehavior":1,"maxQueueingTimeMs":30`),
			rate(flow.Rule{Limit: 10, Mode: flow.WarmUpPace, WarmUp: 10 * time.Second, ColdFactor: 5, MaxWait: 30 * ms}), nil,
		},
		{
			sentinel.Flow, spoilt(goWarm, `"relationStrategy":1,"refResource":"s"`),
			rate(flow.Rule{Limit: 10, Related: "s"}), []string{"refResource"},
		},
		{sentinel.Flow, goMemory, rate(flow.Rule{Memory: flow.Memory{LowLimit: 100, HighLimit: 10, LowMark: 1024, HighMark: 2048}}), nil},
		{
			sentinel.Flow, spoilt(goMemory, `"controlBehavior":1`),
			rate(flow.Rule{Memory: flow.Memory{LowLimit: 100, HighLimit: 10, LowMark: 1024, HighMark: 2048}}), []string{"controlBehavior"},
		},
		{
			sentinel.Flow, spoilt(goRate, `"regex":true,"resource":"^/a/"`),
			rate(flow.Rule{Resource: rule.Regex(`(?s:.*)(?:^/a/)(?s:.*)`), Also: true, Limit: 1}), nil,
		},
		{sentinel.Flow, spoilt(goRate, `"statIntervalMs":5000`), rate(flow.Rule{Limit: 1}), []string{"statIntervalMs"}},
		{sentinel.Flow, `{"resource":"r","threshold":1e12,"statIntervalInMs":10000}`, rate(flow.Rule{Limit: 1e8, Per: 10 * time.Second}), []string{"threshold"}},

		// Go, breakers.
		{
			sentinel.Breaker, goSlow,
			circuit(breaker.Rule{Trip: breaker.SlowRatio, SlowerThan: 100 * ms, Threshold: 0.5, MinCalls: 1}), nil,
		},
		{
			sentinel.Breaker, spoilt(goSlow, `"maxAllowedRtMs":0`),
			circuit(breaker.Rule{Trip: breaker.SlowRatio, SlowerThan: ms, Threshold: 0.5, MinCalls: 1}), []string{"maxAllowedRtMs"},
		},
		{
			sentinel.Breaker, spoilt(goErrors, `"minRequestAmount":7,"retryTimeoutMs":30,"statIntervalMs":5000,"statSlidingWindowBucketCount":5,"probeNum":3`),
			circuit(breaker.Rule{Threshold: 0.5, MinCalls: 7, Open: 30 * ms, Window: 5 * time.Second, Buckets: 5, Probes: 3}), nil,
		},
		{
			sentinel.Breaker, spoilt(goErrors, `"statSlidingWindowBucketCount":3`),
			circuit(breaker.Rule{Threshold: 0.5, MinCalls: 1}), []string{"statSlidingWindowBucketCount"},
		},
		{
			sentinel.Breaker, spoilt(goErrors, `"statSlidingWindowBucketCount":1000,"probeNum":5000`),
			circuit(breaker.Rule{Threshold: 0.5, MinCalls: 1, Buckets: 100, Probes: 1000}), []string{"probeNum", "statSlidingWindowBucketCount"},
		},
		{sentinel.Breaker, goCount, circuit(breaker.Rule{Trip: breaker.ErrorCount, Threshold: 5, MinCalls: 1}), nil},
		{
			sentinel.Breaker, spoilt(goCount, `"threshold":2.7`),
			circuit(breaker.Rule{Trip: breaker.ErrorCount, Threshold: 2, MinCalls: 1}), []string{"threshold"},
		},
		{
			sentinel.Breaker, spoilt(goCount, `"regex":true,"resource":"r.*("`), // Go's breakers know no expressions
			circuit(breaker.Rule{Resource: rule.Name("r.*("), Trip: breaker.ErrorCount, Threshold: 5, MinCalls: 1}), []string{"regex"},
		},

		// Go, isolation.
		{sentinel.Isolation, goIsolation, places(flow.ConcurrencyRule{Limit: 1}), nil},
		{sentinel.Isolation, `{"ID":"x","Resource":"r","MetricType":0,"Threshold":5}`, places(flow.ConcurrencyRule{ID: "x", Limit: 5}), nil},
		{sentinel.Isolation, spoilt(goIsolation, `"threshold":4294967295`), places(flow.ConcurrencyRule{Limit: 10_000_000}), []string{"threshold"}},
		{
			sentinel.Isolation, spoilt(goIsolation, `"regex":true`),
			places(flow.ConcurrencyRule{Resource: rule.Regex(`(?s:.*)(?:r)(?s:.*)`), Also: true, Limit: 1}), nil,
		},

		// Java, values.
		{sentinel.Param, javaParam, param(paramflow.Rule{Param: first}), nil},
		{sentinel.Param, spoilt(javaParam, `"paramIdx":-2`), param(paramflow.Rule{Param: "arg[-2][*?]"}), nil},
		{sentinel.Param, spoilt(javaParam, `"paramIdx":"3","id":7`), param(paramflow.Rule{ID: "7", Param: "arg[3][*?]"}), nil},
		{sentinel.Param, spoilt(javaParam, `"count":2.9`), param(paramflow.Rule{Param: first, Limit: 2}), []string{"count"}},
		{sentinel.Param, spoilt(javaParam, `"count":1e300`), param(paramflow.Rule{Param: first, Limit: 10_000_000}), []string{"count"}},
		{sentinel.Param, spoilt(javaParam, `"durationInSec":60,"burstCount":7`), param(paramflow.Rule{Param: first, Per: time.Minute, Burst: 12}), nil},
		{sentinel.Param, spoilt(javaParam, `"burstCount":10000000`), param(paramflow.Rule{Param: first, Burst: 10_000_000}), []string{"burstCount"}},
		{
			sentinel.Param, spoilt(javaParam, `"controlBehavior":2,"maxQueueingTimeMs":500,"burstCount":7`),
			param(paramflow.Rule{Param: first, Mode: paramflow.Pace, MaxWait: 500 * ms}), nil,
		},
		{sentinel.Param, spoilt(javaParam, `"controlBehavior":2`), param(paramflow.Rule{Param: first, Mode: paramflow.Pace}), nil},
		{sentinel.Param, spoilt(javaParam, `"controlBehavior":1,"burstCount":1`), param(paramflow.Rule{Param: first, Burst: 6}), []string{"controlBehavior"}},
		{sentinel.Param, javaFlight, param(paramflow.Rule{Param: first, Mode: paramflow.Concurrency}), nil},
		{
			sentinel.Param, spoilt(javaFlight, `"count":2.9,"controlBehavior":2,"maxQueueingTimeMs":5,"burstCount":9,"durationInSec":1000000`),
			param(paramflow.Rule{Param: first, Mode: paramflow.Concurrency, Limit: 2}), []string{"count"},
		},
		{sentinel.Param, spoilt(javaParam, `"limitApp":"default"`), param(paramflow.Rule{Param: first}), nil},
		{sentinel.Param, spoilt(javaParam, `"limitApp":"web"`), param(paramflow.Rule{Param: first}), []string{"limitApp"}},
		{sentinel.Param, spoilt(javaParam, `"regex":true,"resource":"r.*"`), param(paramflow.Rule{Param: first, Resource: rule.Regex("r.*"), Also: true}), nil},
		{sentinel.Param, javaShared, param(paramflow.Rule{Param: first}), []string{"clusterMode"}},
		{sentinel.Param, spoilt(javaShared, `"clusterConfig":{"flowId":1,"strategy":5,"thresholdType":1}`), param(paramflow.Rule{Param: first}), []string{"clusterMode"}},
		{sentinel.Param, `{"app":"x","id":3,"rule":{"resource":"r","paramIdx":0,"count":5}}`, param(paramflow.Rule{ID: "3", Param: first}), nil},
		{
			sentinel.Param, "{'resource':'r',ParamIdx:0,COUNT:'5',param_flow_item_list:[{object:7,count:'3',},]}",
			param(paramflow.Rule{Param: first, Overrides: []paramflow.Override{{Value: "7", Limit: 3}}}), nil,
		},
		{
			sentinel.Param, spoilt(javaParam, `"burstCount":2,"paramFlowItemList":[{"object":"a","count":0},{"object":"","count":7},{"object":"b","count":20000000},null]`),
			param(paramflow.Rule{Param: first, Burst: 7, Overrides: []paramflow.Override{{Value: "a"}, {Regex: "^$", Limit: 7, Burst: 9}, {Value: "b", Limit: 10_000_000, Burst: 10_000_000}}}),
			[]string{"paramFlowItemList[3]", "paramFlowItemList[2].count", "burstCount"},
		},
		{
			sentinel.Param, spoilt(javaFlight, `"burstCount":2,"paramFlowItemList":[{"object":"a","count":0},{"object":"b","count":20000000}]`),
			param(paramflow.Rule{Param: first, Mode: paramflow.Concurrency, Overrides: []paramflow.Override{{Value: "a"}, {Value: "b", Limit: 10_000_000}}}),
			[]string{"paramFlowItemList[1].count"},
		},

		// Go, values.
		{sentinel.Param, goParam, param(paramflow.Rule{Param: "arg[0]"}), nil},
		{sentinel.Param, spoilt(goParam, `"paramIndex":-1,"id":"x"`), param(paramflow.Rule{ID: "x", Param: "arg[-1]"}), nil},
		{sentinel.Param, spoilt(goParam, `"paramIndex":-1,"paramKey":"uid"`), param(paramflow.Rule{Param: "value.uid"}), nil},
		{sentinel.Param, spoilt(goParam, `"paramKey":"user \"id\"\u0007"`), param(paramflow.Rule{Param: `value["user \"id\"\u0007"]`}), nil},
		{sentinel.Param, spoilt(goParam, `"durationInSec":60,"burstCount":7`), param(paramflow.Rule{Param: "arg[0]", Per: time.Minute, Burst: 12}), nil},
		{
			sentinel.Param, spoilt(goParam, `"controlBehavior":1,"maxQueueingTimeMs":500,"burstCount":7`),
			param(paramflow.Rule{Param: "arg[0]", Mode: paramflow.Pace, MaxWait: 500 * ms}), nil,
		},
		{sentinel.Param, spoilt(goParam, `"paramsMaxCapacity":5000`), param(paramflow.Rule{Param: "arg[0]", Values: 5000}), nil},
		{sentinel.Param, spoilt(goParam, `"paramsMaxCapacity":-5`), param(paramflow.Rule{Param: "arg[0]"}), nil},
		{sentinel.Param, spoilt(goParam, `"paramsMaxCapacity":5`), param(paramflow.Rule{Param: "arg[0]", Values: 100}), []string{"paramsMaxCapacity"}},
		{sentinel.Param, spoilt(goParam, `"paramsMaxCapacity":9000000000000`), param(paramflow.Rule{Param: "arg[0]", Values: 10_000_000}), []string{"paramsMaxCapacity"}},
		{sentinel.Param, spoilt(goParam, `"threshold":9223372036854775807`), param(paramflow.Rule{Param: "arg[0]", Limit: 10_000_000}), []string{"threshold"}},
		{sentinel.Param, spoilt(goParam, `"regex":true,"resource":"r("`), param(paramflow.Rule{Resource: rule.Name("r("), Param: "arg[0]"}), []string{"regex"}},
		{sentinel.Param, goFlight, param(paramflow.Rule{Param: "arg[0]", Mode: paramflow.Concurrency}), nil},
		{sentinel.Param, goIsolation, param(paramflow.Rule{Param: "arg[0]", Mode: paramflow.Concurrency, Limit: 1}), nil}, // what sentinel-golang makes of it
		{
			sentinel.Param, `{"resource":"r","threshold":5,"durationInSec":1}`,
			param(paramflow.Rule{Param: "arg[0]", Mode: paramflow.Concurrency}), []string{"metricType"},
		},
		{
			sentinel.Param, spoilt(goFlight, `"threshold":20000000,"controlBehavior":1,"maxQueueingTimeMs":-5,"burstCount":-9,"durationInSec":-1,"paramsMaxCapacity":3`),
			param(paramflow.Rule{Param: "arg[0]", Mode: paramflow.Concurrency, Limit: 10_000_000}), []string{"threshold"},
		},
		{
			sentinel.Param, spoilt(goParam, `"burstCount":2,"specificItems":[{"valKind":1,"valStr":"a","threshold":-3},{"valStr":"7","threshold":7},{"valKind":1,"threshold":3},{"valKind":1,"valStr":"x"},null]`),
			param(paramflow.Rule{Param: "arg[0]", Burst: 7, Overrides: []paramflow.Override{{Value: "a"}, {Value: "7", Limit: 7, Burst: 9}, {Regex: "^$", Limit: 3, Burst: 5}}}),
			[]string{"specificItems[4]", "specificItems[0].threshold", "specificItems[3].threshold"},
		},
	}
	for _, test := range tests {
		t.Run(test.kind.String()+test.element, func(t *testing.T) {
			t.Parallel()
			e := one(t, test.kind, test.element)
			require.Empty(t, e.Problems.Faults())
			require.Equal(t, test.rules, e.Rules)
			var warned []string
			for _, p := range e.Problems {
				warned = append(warned, p.Field)
			}
			require.Equal(t, test.warned, warned, lines(e.Problems))
		})
	}
}

func TestPinnedDialect(t *testing.T) {
	t.Parallel()
	pin := sentinel.WithDialect
	// The other dialect's keys are unknown keys.
	e := one(t, sentinel.Flow, `{"resource":"r","count":5,"threshold":7}`, pin(sentinel.Java))
	require.Equal(t, 5.0, e.Rules.Flow[0].Limit)
	require.Equal(t, []string{"doc:1:28: warning: flow[0] (r#1): threshold: ignored: Sentinel Java does not know this key"}, lines(e.Problems))
	e = one(t, sentinel.Flow, `{"resource":"r","count":5,"threshold":7}`, pin(sentinel.Go))
	require.Equal(t, 7.0, e.Rules.Flow[0].Limit)
	require.Len(t, e.Problems.Warnings(), 1)
	// An id of the other type is text.
	e = one(t, sentinel.Flow, `{"id":"a","resource":"r","count":5}`, pin(sentinel.Java))
	require.Equal(t, "a", e.Rules.Flow[0].ID)
	require.Len(t, e.Problems.Warnings(), 1)
	e = one(t, sentinel.Flow, `{"id":3,"resource":"r","threshold":5}`, pin(sentinel.Go))
	require.Equal(t, "3", e.Rules.Flow[0].ID)
	require.Len(t, e.Problems.Warnings(), 1)
	// Go is strict JSON, and null elements hurt no other.
	_, err := sentinel.Decode(sentinel.Flow, "doc", []byte(`[{"resource":"r","threshold":5},]`), pin(sentinel.Go))
	require.ErrorContains(t, err, "doc:1:32")
	doc, err := sentinel.Decode(sentinel.Flow, "doc", []byte(`[{"resource":"r","threshold":5},null]`), pin(sentinel.Go))
	require.NoError(t, err)
	require.Len(t, doc.Rules().Flow, 1)
	require.Len(t, doc.Problems.Faults(), 1)

	_, err = sentinel.Decode(sentinel.Isolation, "doc", []byte(`[]`), pin(sentinel.Java))
	require.EqualError(t, err, "doc: Sentinel Java has no isolation rules: it limits concurrency by flow rules of grade 0; want kind flow")
	require.Panics(t, func() { pin(4) })
}

func TestColdFactor(t *testing.T) {
	t.Parallel()
	e := one(t, sentinel.Flow, spoilt(javaRate, `"controlBehavior":1`), sentinel.WithColdFactor(5))
	require.Equal(t, 5.0, e.Rules.Flow[0].ColdFactor)
	for _, bad := range []float64{1, 0, -1, 101} {
		require.Panics(t, func() { sentinel.WithColdFactor(bad) })
	}
}

// TestWholeDocument: what is no array of rules is refused as a whole, and only [] clears (faults #62, #63, #64).
func TestWholeDocument(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text, err string
		empty     bool
	}{
		{"", "doc: the document is empty, which does not clear the rules; want an array of rules; [] if there are to be none", true},
		{" \r\n\t", "doc: the document is empty, which does not clear the rules; want an array of rules; [] if there are to be none", true},
		{"\uFEFF \n", "doc: the document is empty, which does not clear the rules; want an array of rules; [] if there are to be none", true},
		{"null", "doc:1:1: the document is null, which does not clear the rules; want an array of rules; [] if there are to be none", true},
		{`{"resource":"r","count":1}`, "doc:1:1: the document is an object; want an array of rules; [] if there are to be none", false},
		{`"x"`, `doc:1:1: the document is the text "x"; want an array of rules; [] if there are to be none`, false},
		{`7`, "doc:1:1: the document is the number 7; want an array of rules; [] if there are to be none", false},
		{`[{"resource":"r","count":1}`, "doc:1:28: the document ends too early; want a comma or ]", false},
		{`[{"resource":"r","count":1}] x`, `doc:1:30: unexpected 'x'; want nothing after the document's value`, false},
		{"[{\"resource\":\"r\",\"count\":1},\n{\"resource\":\"s\",\"threshold\":1}]",
			"doc:2:1: the document mixes dialects: element 0 is Sentinel Java's by its key count, and element 1 is sentinel-golang's by its key threshold; " +
				"want one dialect per document, or the dialect to be said: java or go", false},
	} {
		_, err := sentinel.Decode(sentinel.Flow, "doc", []byte(test.text))
		require.EqualError(t, err, test.err, test.text)
		if test.empty {
			require.ErrorIs(t, err, sentinel.ErrEmpty)
		}
		var p rule.Problem
		require.ErrorAs(t, err, &p)
		require.Equal(t, "doc", p.Source)
	}
	_, err := sentinel.Decode(sentinel.Flow, "doc", []byte("["+strings.Repeat("null,", 100_000)+"null]"))
	require.EqualError(t, err, "doc:1:1: the document has 100001 elements; want at most 100000")
	decoded, err := sentinel.Decoder(sentinel.Flow)("doc", []byte("[]"))
	require.NoError(t, err)
	require.Equal(t, cordon.Decoded{Partial: true}, decoded)
}

// TestIDs: refused rules have the id they would have, and good ones keep theirs when a neighbour turns bad or good.
func TestIDs(t *testing.T) {
	t.Parallel()
	ids := func(text string) (good, refused []string) {
		doc, err := sentinel.Decode(sentinel.Flow, "doc", []byte(text))
		require.NoError(t, err)
		rules := doc.Rules()
		require.Empty(t, rule.DeriveIDs("flow", rules.Flow))
		for _, f := range rules.Flow {
			good = append(good, f.ID)
		}
		for _, p := range doc.Problems.Faults() {
			refused = append(refused, p.RuleID)
		}
		return good, refused
	}
	good, refused := ids(`[{"resource":"a","count":1},{"resource":"a","count":2},{"resource":"a","count":3}]`)
	require.Equal(t, []string{"a#1", "a#2", "a#3"}, good)
	require.Empty(t, refused)
	good, refused = ids(`[{"resource":"a","count":-1},{"resource":"a","count":2},{"resource":"a","count":3}]`)
	require.Equal(t, []string{"a#2", "a#3"}, good)
	require.Equal(t, []string{"a#1"}, refused)
	// An id is used once; the second rule goes on without it.
	good, refused = ids(`[{"id":1,"resource":"a","count":1},{"id":1,"resource":"b","count":2}]`)
	require.Equal(t, []string{"1", "b#1"}, good)
	require.Empty(t, refused)
	// A rate and a concurrency limit may have the same id, as they are of two kinds.
	doc, err := sentinel.Decode(sentinel.Flow, "doc", []byte(`[{"id":1,"resource":"a","count":1},{"id":1,"resource":"a","grade":0,"count":2},{"id":2,"resource":"a","grade":0,"count":-2}]`))
	require.NoError(t, err)
	require.Equal(t, "1", doc.Rules().Flow[0].ID)
	require.Equal(t, "1", doc.Rules().Concurrency[0].ID)
	require.Equal(t, []string{"doc:1:121: concurrency[2] (2): count: -2 is too small; want 0 or more"}, lines(doc.Problems))
}

// TestRepetitions: Java holds rules that are equal but for the id for one.
func TestRepetitions(t *testing.T) {
	t.Parallel()
	doc, err := sentinel.Decode(sentinel.Flow, "doc", []byte(`[
		{"id":1,"resource":"a","count":1},
		{"id":2,"resource":"a","count":1.0,"grade":1,"limitApp":"default"},
		{"id":3,"resource":"a","count":1,"limitApp":"web"},
		{"id":4,"resource":"a","count":1,"warmUpPeriodSec":11}]`))
	require.NoError(t, err)
	require.Len(t, doc.Rules().Flow, 3)
	require.Equal(t, []string{"doc:3:3: warning: flow[1]: the rule is equal to element 0 and left out, as Sentinel Java does"}, lines(doc.Problems))
	// Breakers, and Go's rules, are all kept.
	doc, err = sentinel.Decode(sentinel.Breaker, "doc", []byte("["+javaErrors+","+javaErrors+"]"))
	require.NoError(t, err)
	require.Len(t, doc.Rules().Breaker, 2)
	doc, err = sentinel.Decode(sentinel.Flow, "doc", []byte("["+goRate+","+goRate+"]"))
	require.NoError(t, err)
	require.Len(t, doc.Rules().Flow, 2)
}

// TestUnknownKeysOnce: a key that a tool puts into every rule is told once.
func TestUnknownKeysOnce(t *testing.T) {
	t.Parallel()
	doc, err := sentinel.Decode(sentinel.Flow, "doc", []byte(`[
		{"resource":"a","count":1,"remark":"x"},
		{"resource":"b","count":1,"remark":"y","cuont":7},
		{"resource":"c","count":1,"remark":"z"}]`))
	require.NoError(t, err)
	require.Equal(t, []string{
		"doc:2:29: warning: flow[0] (a#1): remark: unknown key, ignored as Sentinel does (here and in 2 more rules)",
		"doc:3:42: warning: flow[1] (b#1): cuont: unknown key, ignored as Sentinel does; want count",
	}, lines(doc.Problems))
}
