package sentinel_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sentinel"
)

// Valid rules, to be spoilt one field at a time. A repeated key wins over an earlier one.
const (
	javaRate    = `{"resource":"r","count":1}`
	javaThreads = `{"resource":"r","count":1,"grade":0}`
	javaCluster = `{"resource":"r","count":1,"clusterMode":true,"clusterConfig":{"flowId":1}}`
	javaSlow    = `{"resource":"r","grade":0,"count":100,"timeWindow":1}`
	javaErrors  = `{"resource":"r","grade":1,"count":0.5,"timeWindow":1}`
	goRate      = `{"resource":"r","threshold":1}`
	goWarm      = `{"resource":"r","threshold":10,"tokenCalculateStrategy":1,"warmUpPeriodSec":10}`
	goMemory    = `{"resource":"r","tokenCalculateStrategy":2,"lowMemUsageThreshold":100,"highMemUsageThreshold":10,` +
		`"memLowWaterMarkBytes":1024,"memHighWaterMarkBytes":2048}`
	goSlow      = `{"resource":"r","strategy":0,"threshold":0.5,"maxAllowedRtMs":100,"retryTimeoutMs":1000,"statIntervalMs":1000}`
	goErrors    = `{"resource":"r","strategy":1,"threshold":0.5,"retryTimeoutMs":1000,"statIntervalMs":1000}`
	goCount     = `{"resource":"r","strategy":2,"threshold":5,"retryTimeoutMs":1000,"statIntervalMs":1000}`
	goIsolation = `{"resource":"r","threshold":1}`
	javaParam   = `{"resource":"r","paramIdx":0,"count":5}`
	javaFlight  = `{"resource":"r","paramIdx":0,"count":5,"grade":0}`
	javaShared  = `{"resource":"r","paramIdx":0,"count":5,"clusterMode":true,"clusterConfig":{"flowId":1}}`
	goParam     = `{"resource":"r","metricType":1,"paramIndex":0,"threshold":5,"durationInSec":1}`
	goFlight    = `{"resource":"r","metricType":0,"paramIndex":0,"threshold":5}`
)

// spoilt returns a valid rule with members at its end, which win over its own.
func spoilt(object, members string) string { return object[:len(object)-1] + "," + members + "}" }

// TestInvalid goes through every condition under which either Sentinel refuses a rule, and what cordon refuses beside: exactly one
// fault each, at the field (faults #64: a bad value is an error of that rule, never another value).
func TestInvalid(t *testing.T) {
	t.Parallel()
	tests := []struct {
		kind    sentinel.Kind
		valid   string
		members string
		field   string
	}{
		{sentinel.Flow, javaRate, `"resource":""`, "resource"},
		{sentinel.Flow, javaRate, `"resource":"  \t"`, "resource"},
		{sentinel.Flow, javaRate, `"resource":null`, "resource"},
		{sentinel.Flow, javaRate, `"resource":["r"]`, "resource"},
		{sentinel.Flow, javaRate, `"grade":2`, "grade"},
		{sentinel.Flow, javaRate, `"grade":-1`, "grade"},
		{sentinel.Flow, javaRate, `"grade":"QPS"`, "grade"},
		{sentinel.Flow, javaRate, `"count":-1`, "count"},
		{sentinel.Flow, javaRate, `"count":-5`, "count"},
		{sentinel.Flow, javaRate, `"count":null`, "count"},
		{sentinel.Flow, javaRate, `"count":""`, "count"},
		{sentinel.Flow, javaRate, `"count":"abc"`, "count"},
		{sentinel.Flow, javaRate, `"count":1e400`, "count"},
		{sentinel.Flow, javaRate, `"count":NaN`, "count"},
		{sentinel.Flow, javaRate, `"count":"Infinity"`, "count"},
		{sentinel.Flow, javaRate, `"count":"0x10"`, "count"},
		{sentinel.Flow, javaRate, `"count":true`, "count"},
		{sentinel.Flow, javaRate, `"count":{}`, "count"},
		{sentinel.Flow, javaRate, `"strategy":-1`, "strategy"},
		{sentinel.Flow, javaRate, `"strategy":3`, "strategy"},
		{sentinel.Flow, javaRate, `"strategy":1`, "refResource"},
		{sentinel.Flow, javaRate, `"strategy":2,"refResource":" "`, "refResource"},
		{sentinel.Flow, javaRate, `"controlBehavior":-1`, "controlBehavior"},
		{sentinel.Flow, javaRate, `"controlBehavior":77777777777`, "controlBehavior"},
		{sentinel.Flow, javaRate, `"controlBehavior":1,"warmUpPeriodSec":0`, "warmUpPeriodSec"},
		{sentinel.Flow, javaRate, `"controlBehavior":3,"warmUpPeriodSec":-1`, "warmUpPeriodSec"},
		{sentinel.Flow, javaRate, `"controlBehavior":2,"maxQueueingTimeMs":0`, "maxQueueingTimeMs"},
		{sentinel.Flow, javaRate, `"controlBehavior":3,"maxQueueingTimeMs":-1`, "maxQueueingTimeMs"},
		{sentinel.Flow, javaRate, `"regex":"perhaps"`, "regex"},
		{sentinel.Flow, javaRate, `"regex":true,"resource":"a("`, "resource"},          // faults #94
		{sentinel.Flow, javaRate, `"regex":true,"resource":"(?=a)b"`, "resource"},      // not RE2
		{sentinel.Flow, javaRate, `"regex":true,"resource":"(a)\\1"`, "resource"},      // not RE2
		{sentinel.Flow, javaRate, `"regex":true,"resource":"[a-z&&[^b]]"`, "resource"}, // RE2 reads it otherwise
		{sentinel.Flow, javaRate, `"regex":true,"controlBehavior":2`, "regex"},
		{sentinel.Flow, javaCluster, `"regex":true`, "regex"},
		{sentinel.Flow, javaRate, `"clusterMode":true`, "clusterConfig"},
		{sentinel.Flow, javaRate, `"clusterMode":true,"clusterConfig":7`, "clusterConfig"},
		{sentinel.Flow, javaCluster, `"clusterConfig":{}`, "clusterConfig.flowId"},
		{sentinel.Flow, javaCluster, `"clusterConfig":{"flowId":0}`, "clusterConfig.flowId"},
		{sentinel.Flow, javaCluster, `"clusterConfig":{"flowId":1,"strategy":1}`, "clusterConfig.strategy"},
		{sentinel.Flow, javaCluster, `"clusterConfig":{"flowId":1,"sampleCount":0}`, "clusterConfig.sampleCount"},
		{sentinel.Flow, javaCluster, `"clusterConfig":{"flowId":1,"sampleCount":3}`, "clusterConfig.sampleCount"},
		{sentinel.Flow, javaCluster, `"clusterConfig":{"flowId":1,"windowIntervalMs":0}`, "clusterConfig.windowIntervalMs"},
		{sentinel.Flow, javaCluster, `"grade":0,"clusterConfig":{"flowId":1,"resourceTimeout":0}`, "clusterConfig.resourceTimeout"},
		{sentinel.Flow, javaCluster, `"grade":0,"clusterConfig":{"flowId":1,"clientOfflineTime":0}`, "clusterConfig.clientOfflineTime"},
		{sentinel.Flow, javaCluster, `"grade":0,"clusterConfig":{"flowId":1,"resourceTimeoutStrategy":-1}`, "clusterConfig.resourceTimeoutStrategy"},
		{sentinel.Flow, javaCluster, `"grade":0,"clusterConfig":{"flowId":1,"acquireRefuseStrategy":-1}`, "clusterConfig.acquireRefuseStrategy"},
		{sentinel.Flow, javaThreads, `"count":-1`, "count"},
		{sentinel.Flow, javaThreads, `"controlBehavior":-1`, "controlBehavior"},
		{sentinel.Flow, javaThreads, `"strategy":1,"refResource":"s"`, "strategy"},
		{sentinel.Flow, javaThreads, `"regex":true,"controlBehavior":1`, "regex"},
		{sentinel.Flow, javaRate, `"id":"seven"`, "id"},
		{sentinel.Flow, javaRate, `"id":[7]`, "id"},
		{sentinel.Flow, javaRate, `"threshold":1`, "threshold"}, // keys of both

		{sentinel.Breaker, javaErrors, `"resource":" "`, "resource"},
		{sentinel.Breaker, javaErrors, `"grade":3`, "grade"},
		{sentinel.Breaker, javaErrors, `"grade":-1`, "grade"},
		{sentinel.Breaker, javaErrors, `"count":-1`, "count"},
		{sentinel.Breaker, javaErrors, `"count":1.01`, "count"},
		{sentinel.Breaker, javaErrors, `"count":null`, "count"},
		{sentinel.Breaker, javaErrors, `"timeWindow":0`, "timeWindow"},
		{sentinel.Breaker, javaErrors, `"timeWindow":-1`, "timeWindow"},
		{sentinel.Breaker, javaErrors, `"timeWindow":null`, "timeWindow"},
		{sentinel.Breaker, javaErrors, `"timeWindow":86401`, "timeWindow"}, // beyond cordon's
		{sentinel.Breaker, javaErrors, `"minRequestAmount":0`, "minRequestAmount"},
		{sentinel.Breaker, javaErrors, `"statIntervalMs":0`, "statIntervalMs"},
		{sentinel.Breaker, javaErrors, `"statIntervalMs":50`, "statIntervalMs"},      // beyond cordon's
		{sentinel.Breaker, javaErrors, `"statIntervalMs":3600001`, "statIntervalMs"}, // beyond cordon's
		{sentinel.Breaker, javaErrors, `"regex":true,"resource":"a("`, "resource"},
		{sentinel.Breaker, javaErrors, `"probeNum":1`, "probeNum"}, // keys of both
		{sentinel.Breaker, javaSlow, `"slowRatioThreshold":1.5`, "slowRatioThreshold"},
		{sentinel.Breaker, javaSlow, `"slowRatioThreshold":-0.1`, "slowRatioThreshold"},
		{sentinel.Breaker, javaSlow, `"count":-1`, "count"},
		{sentinel.Breaker, javaSlow, `"count":100000000`, "count"}, // a latency of a day and more

		{sentinel.Flow, goRate, `"resource":""`, "resource"},
		{sentinel.Flow, goRate, `"resource":7`, "resource"},
		{sentinel.Flow, goRate, `"threshold":-5`, "threshold"}, // faults #64
		{sentinel.Flow, goRate, `"threshold":null`, "threshold"},
		{sentinel.Flow, goRate, `"threshold":"1"`, "threshold"},
		{sentinel.Flow, goRate, `"threshold":1e400`, "threshold"},
		{sentinel.Flow, goRate, `"tokenCalculateStrategy":-1`, "tokenCalculateStrategy"},
		{sentinel.Flow, goRate, `"tokenCalculateStrategy":3`, "tokenCalculateStrategy"},
		{sentinel.Flow, goRate, `"controlBehavior":-1`, "controlBehavior"},
		{sentinel.Flow, goRate, `"controlBehavior":77`, "controlBehavior"}, // faults #64
		{sentinel.Flow, goRate, `"controlBehavior":1.0`, "controlBehavior"},
		{sentinel.Flow, goRate, `"relationStrategy":2`, "relationStrategy"},
		{sentinel.Flow, goRate, `"relationStrategy":1`, "refResource"},
		{sentinel.Flow, goRate, `"relationStrategy":1,"refResource":""`, "refResource"},
		{sentinel.Flow, goRate, `"controlBehavior":1,"maxQueueingTimeMs":-1`, "maxQueueingTimeMs"},
		{sentinel.Flow, goRate, `"controlBehavior":1,"maxQueueingTimeMs":4294967296`, "maxQueueingTimeMs"},
		{sentinel.Flow, goRate, `"statIntervalInMs":-1`, "statIntervalInMs"},
		{sentinel.Flow, goRate, `"regex":1`, "regex"},
		{sentinel.Flow, goRate, `"regex":true,"resource":"a("`, "resource"}, // faults #94
		{sentinel.Flow, goRate, `"id":7`, "id"},
		{sentinel.Flow, goWarm, `"warmUpPeriodSec":0`, "warmUpPeriodSec"},
		{sentinel.Flow, goWarm, `"warmUpPeriodSec":null`, "warmUpPeriodSec"},
		{sentinel.Flow, goWarm, `"warmUpPeriodSec":1.5`, "warmUpPeriodSec"},
		{sentinel.Flow, goWarm, `"warmUpColdFactor":1`, "warmUpColdFactor"},
		{sentinel.Flow, goMemory, `"lowMemUsageThreshold":0`, "lowMemUsageThreshold"},
		{sentinel.Flow, goMemory, `"lowMemUsageThreshold":null`, "lowMemUsageThreshold"},
		{sentinel.Flow, goMemory, `"highMemUsageThreshold":0`, "highMemUsageThreshold"},
		{sentinel.Flow, goMemory, `"highMemUsageThreshold":100`, "highMemUsageThreshold"},
		{sentinel.Flow, goMemory, `"memLowWaterMarkBytes":0`, "memLowWaterMarkBytes"},
		{sentinel.Flow, goMemory, `"memLowWaterMarkBytes":1`, "memLowWaterMarkBytes"},
		{sentinel.Flow, goMemory, `"memLowWaterMarkBytes":2048`, "memLowWaterMarkBytes"},
		{sentinel.Flow, goMemory, `"memHighWaterMarkBytes":-1`, "memHighWaterMarkBytes"},

		{sentinel.Breaker, goErrors, `"resource":""`, "resource"},
		{sentinel.Breaker, goErrors, `"strategy":3`, "strategy"},
		{sentinel.Breaker, goErrors, `"strategy":-1`, "strategy"},
		{sentinel.Breaker, goErrors, `"retryTimeoutMs":0`, "retryTimeoutMs"},
		{sentinel.Breaker, goErrors, `"retryTimeoutMs":null`, "retryTimeoutMs"},
		{sentinel.Breaker, goErrors, `"minRequestAmount":-1`, "minRequestAmount"},
		{sentinel.Breaker, goErrors, `"statIntervalMs":0`, "statIntervalMs"},
		{sentinel.Breaker, goErrors, `"statIntervalMs":null`, "statIntervalMs"},
		{sentinel.Breaker, goErrors, `"statSlidingWindowBucketCount":-1`, "statSlidingWindowBucketCount"},
		{sentinel.Breaker, goErrors, `"threshold":-1`, "threshold"},
		{sentinel.Breaker, goErrors, `"threshold":1.1`, "threshold"},
		{sentinel.Breaker, goErrors, `"threshold":0`, "threshold"}, // opens without an error
		{sentinel.Breaker, goErrors, `"threshold":null`, "threshold"},
		{sentinel.Breaker, goErrors, `"probeNum":-1`, "probeNum"},
		{sentinel.Breaker, goErrors, `"timeWindow":1`, "strategy"}, // keys of both
		{sentinel.Breaker, goSlow, `"threshold":1.1`, "threshold"},
		{sentinel.Breaker, goSlow, `"threshold":0`, "threshold"},
		{sentinel.Breaker, goSlow, `"maxAllowedRtMs":-1`, "maxAllowedRtMs"},
		{sentinel.Breaker, goSlow, `"maxAllowedRtMs":null`, "maxAllowedRtMs"},
		{sentinel.Breaker, goCount, `"threshold":0.9`, "threshold"}, // cut to 0: opens without an error
		{sentinel.Breaker, goCount, `"threshold":1e10`, "threshold"},

		{sentinel.Isolation, goIsolation, `"resource":""`, "resource"},
		{sentinel.Isolation, goIsolation, `"threshold":0`, "threshold"},
		{sentinel.Isolation, goIsolation, `"threshold":-1`, "threshold"},
		{sentinel.Isolation, goIsolation, `"threshold":1.5`, "threshold"},
		{sentinel.Isolation, goIsolation, `"threshold":null`, "threshold"},
		{sentinel.Isolation, goIsolation, `"metricType":1`, "metricType"},
		{sentinel.Isolation, goIsolation, `"metricType":-1`, "metricType"},
		{sentinel.Isolation, goIsolation, `"regex":true,"resource":"a("`, "resource"}, // faults #94

		{sentinel.Param, javaParam, `"resource":" "`, "resource"},
		{sentinel.Param, javaParam, `"paramIdx":null`, "paramIdx"},
		{sentinel.Param, javaParam, `"paramIdx":""`, "paramIdx"},
		{sentinel.Param, javaParam, `"paramIdx":"first"`, "paramIdx"},
		{sentinel.Param, javaParam, `"paramIdx":2147483648`, "paramIdx"},
		{sentinel.Param, javaParam, `"grade":2`, "grade"}, // would never limit
		{sentinel.Param, javaParam, `"grade":-1`, "grade"},
		{sentinel.Param, javaParam, `"count":-1`, "count"},
		{sentinel.Param, javaParam, `"count":-0.5`, "count"},
		{sentinel.Param, javaParam, `"count":null`, "count"},
		{sentinel.Param, javaParam, `"count":"abc"`, "count"},
		{sentinel.Param, javaParam, `"count":1e400`, "count"},
		{sentinel.Param, javaParam, `"controlBehavior":-1`, "controlBehavior"},
		{sentinel.Param, javaParam, `"maxQueueingTimeMs":-1`, "maxQueueingTimeMs"},
		{sentinel.Param, javaParam, `"controlBehavior":2,"maxQueueingTimeMs":3600001`, "maxQueueingTimeMs"}, // beyond cordon's
		{sentinel.Param, javaParam, `"burstCount":-1`, "burstCount"},
		{sentinel.Param, javaParam, `"durationInSec":0`, "durationInSec"},
		{sentinel.Param, javaParam, `"durationInSec":-1`, "durationInSec"},
		{sentinel.Param, javaParam, `"durationInSec":86401`, "durationInSec"}, // beyond cordon's
		{sentinel.Param, javaParam, `"durationInSec":86400,"count":1,"burstCount":30`, "burstCount"},
		{sentinel.Param, javaParam, `"durationInSec":86400,"burstCount":100,"paramFlowItemList":[{"object":"a","count":1}]`, "paramFlowItemList"},
		{sentinel.Param, javaParam, `"regex":true,"resource":"a("`, "resource"},
		{sentinel.Param, javaParam, `"regex":true,"controlBehavior":2`, "regex"},
		{sentinel.Param, javaShared, `"regex":true`, "regex"},
		{sentinel.Param, javaParam, `"clusterMode":true`, "clusterConfig"},
		{sentinel.Param, javaShared, `"clusterConfig":{"flowId":0}`, "clusterConfig.flowId"},
		{sentinel.Param, javaShared, `"clusterConfig":{"flowId":1,"windowIntervalMs":0}`, "clusterConfig.windowIntervalMs"},
		{sentinel.Param, javaShared, `"clusterConfig":{"flowId":1,"sampleCount":3}`, "clusterConfig.sampleCount"},
		{sentinel.Param, javaParam, `"paramFlowItemList":{"a":1}`, "paramFlowItemList"},
		{sentinel.Param, javaParam, `"paramFlowItemList":"a"`, "paramFlowItemList"},
		{sentinel.Param, javaParam, `"paramFlowItemList":["a"]`, "paramFlowItemList[0]"},
		{sentinel.Param, javaParam, `"paramFlowItemList":[{"object":"a","count":1},{"object":"b","count":"x"}]`, "paramFlowItemList[1].count"},
		{sentinel.Param, javaParam, `"paramFlowItemList":[{"object":["a"],"count":1}]`, "paramFlowItemList[0].object"},
		{sentinel.Param, javaParam, `"paramFlowItemList":[{"object":"a","count":1,"classType":{}}]`, "paramFlowItemList[0].classType"},
		{sentinel.Param, javaParam, `"id":"x"`, "id"},
		{sentinel.Param, javaParam, `"threshold":1`, "threshold"}, // keys of both
		{sentinel.Param, javaFlight, `"count":-1`, "count"},
		{sentinel.Param, javaFlight, `"durationInSec":0`, "durationInSec"},
		{sentinel.Param, javaFlight, `"burstCount":-1`, "burstCount"},

		{sentinel.Param, goParam, `"resource":""`, "resource"},
		{sentinel.Param, goParam, `"metricType":-1`, "metricType"},
		{sentinel.Param, goParam, `"metricType":2`, "metricType"}, // would never limit
		{sentinel.Param, goParam, `"controlBehavior":2`, "controlBehavior"},
		{sentinel.Param, goParam, `"controlBehavior":-1`, "controlBehavior"},
		{sentinel.Param, goParam, `"threshold":-1`, "threshold"},
		{sentinel.Param, goParam, `"threshold":null`, "threshold"},
		{sentinel.Param, goParam, `"threshold":5.5`, "threshold"},
		{sentinel.Param, goParam, `"threshold":"5"`, "threshold"},
		{sentinel.Param, goParam, `"paramIndex":1.5`, "paramIndex"},
		{sentinel.Param, goParam, `"paramIndex":1,"paramKey":"uid"`, "paramKey"},
		{sentinel.Param, goParam, `"paramKey":7`, "paramKey"},
		{sentinel.Param, goParam, `"paramKey":"` + strings.Repeat("k", 1100) + `"`, "paramKey"}, // beyond cordon's
		{sentinel.Param, goParam, `"durationInSec":0`, "durationInSec"},
		{sentinel.Param, goParam, `"durationInSec":null`, "durationInSec"},
		{sentinel.Param, goParam, `"durationInSec":86401`, "durationInSec"}, // beyond cordon's
		{sentinel.Param, goParam, `"burstCount":-1`, "burstCount"},
		{sentinel.Param, goParam, `"controlBehavior":1,"maxQueueingTimeMs":-1`, "maxQueueingTimeMs"},
		{sentinel.Param, goParam, `"controlBehavior":1,"maxQueueingTimeMs":3600001`, "maxQueueingTimeMs"}, // beyond cordon's
		{sentinel.Param, goParam, `"specificItems":{"vip":100}`, "specificItems"},
		{sentinel.Param, goParam, `"specificItems":[7]`, "specificItems[0]"},
		{sentinel.Param, goParam, `"specificItems":[{"valKind":"1","valStr":"a","threshold":1}]`, "specificItems[0].valKind"},
		{sentinel.Param, goParam, `"specificItems":[{"valKind":1,"valStr":7,"threshold":1}]`, "specificItems[0].valStr"},
		{sentinel.Param, goParam, `"specificItems":[{"valKind":1,"valStr":"a","threshold":1.5}]`, "specificItems[0].threshold"},
		{sentinel.Param, goParam, `"id":7`, "id"},
		{sentinel.Param, goFlight, `"threshold":-1`, "threshold"},
		{sentinel.Param, goFlight, `"controlBehavior":9`, "controlBehavior"},
	}
	for _, valid := range []struct {
		kind sentinel.Kind
		rule string
	}{
		{sentinel.Flow, javaRate}, {sentinel.Flow, javaThreads}, {sentinel.Flow, javaCluster}, {sentinel.Flow, goRate}, {sentinel.Flow, goWarm},
		{sentinel.Flow, goMemory}, {sentinel.Breaker, javaSlow}, {sentinel.Breaker, javaErrors}, {sentinel.Breaker, goSlow},
		{sentinel.Breaker, goErrors}, {sentinel.Breaker, goCount}, {sentinel.Isolation, goIsolation},
		{sentinel.Param, javaParam}, {sentinel.Param, javaFlight}, {sentinel.Param, javaShared}, {sentinel.Param, goParam}, {sentinel.Param, goFlight},
	} {
		require.Empty(t, one(t, valid.kind, valid.rule).Problems.Faults(), valid.rule)
	}
	for _, test := range tests {
		element := spoilt(test.valid, test.members)
		t.Run(test.kind.String()+element, func(t *testing.T) {
			t.Parallel()
			e := one(t, test.kind, element)
			faults := e.Problems.Faults()
			require.Len(t, faults, 1, lines(e.Problems))
			require.Equal(t, test.field, faults[0].Field, faults)
			require.NotZero(t, faults[0].Position)
			require.False(t, e.OK())
			require.Empty(t, e.Rules)
			if e.Resource != "" && test.field != "resource" {
				require.NotEmpty(t, faults[0].RuleID)
			}
		})
	}
}

// TestJavaAmongIsolation: whatever key of Java's flow rules it has, whatever else it has, a rule among isolation rules is refused with the way out,
// once, and its neighbours are read (faults #64: a bad rule is an error of that rule).
func TestJavaAmongIsolation(t *testing.T) {
	t.Parallel()
	elements := map[string]string{ // the key that gives each away
		javaRate:                               "count",
		javaThreads:                            "count",
		javaCluster:                            "count",
		`{"resource":"r","GRADE":0,"Count":3}`: "grade",
		`{"id":"text","resource":"r","grade":0,"count":-1}`:                    "grade",
		`{"id":7,"resource":"r","grade":"?","count":null}`:                     "grade",
		`{"id":7,"app":"shop","rule":{"resource":"r","grade":0,"count":3}}`:    "app",
		`{"resource":"r","threshold":5,"grade":0,"count":3}`:                   "grade",
		`{"resource":"r","threshold":0,"metricType":1,"clusterMode":false}`:    "clusterMode",
		`{"resource":"r","regex":true,"threshold":5,"limitApp":"default"}`:     "limitApp",
		`{"resource":"r","strategy":2,"refResource":"x","grade":0,"count":30}`: "strategy",
	}
	for _, key := range strings.Fields("count grade limitApp strategy refResource controlBehavior maxQueueingTimeMs warmUpPeriodSec clusterMode clusterConfig") {
		elements[`{"resource":"r","`+key+`":0}`] = key
		elements[spoilt(goIsolation, `"`+key+`":0`)] = key
	}
	for element, key := range elements {
		t.Run(element, func(t *testing.T) {
			t.Parallel()
			text := "[" + `{"resource":"a","threshold":1},` + element + `,{"resource":"z","threshold":2}]`
			decoded, err := sentinel.Decoder(sentinel.Isolation)("doc", []byte(text))
			require.NoError(t, err)
			require.True(t, decoded.Partial)
			require.Equal(t, []flow.ConcurrencyRule{
				{ID: "a#1", Resource: rule.Name("a"), Limit: 1},
				{ID: "z#1", Resource: rule.Name("z"), Limit: 2},
			}, decoded.Rules.Concurrency)
			require.Empty(t, decoded.Rules.Flow)
			require.Len(t, decoded.Problems, 1, lines(decoded.Problems))
			p := decoded.Problems[0]
			require.False(t, p.Warning)
			require.Equal(t, 1, p.Index)
			require.Equal(t, key, p.Field)
			require.Contains(t, p.Message, "this is a Java flow rule")
			require.Equal(t, "kind flow for rules of Sentinel Java", p.Want)
			require.NotEmpty(t, p.RuleID)
		})
	}
	// Who says that the document is Go's has its values, as everywhere.
	e := one(t, sentinel.Isolation, `{"resource":"r","threshold":5,"count":3}`, sentinel.WithDialect(sentinel.Go))
	require.Equal(t, 5, e.Rules.Concurrency[0].Limit)
	require.Equal(t, []string{"doc:1:32: warning: concurrency[0] (r#1): count: ignored: sentinel-golang does not know this key"}, lines(e.Problems))
	e = one(t, sentinel.Isolation, `{"resource":"r","grade":0,"count":3}`, sentinel.WithDialect(sentinel.Go))
	require.False(t, e.OK())
}

// TestReasons: a refusal says what would happen, not only what is out of range.
func TestReasons(t *testing.T) {
	t.Parallel()
	for element, want := range map[string]string{
		spoilt(goCount, `"threshold":0.9`):                                       "0.9 would open the breaker without a single error",
		spoilt(goErrors, `"threshold":0`):                                        "0 would open the breaker without a single error",
		`{"resource":"r","timeWindow":1}`:                                        "it is missing; Sentinel Java would take it for 0 and hold every call for slow",
		`{"resource":"r","strategy":2,"retryTimeoutMs":1,"statIntervalMs":1000}`: "it is missing; sentinel-golang would take it for 0 and open without a single error",
	} {
		require.Equal(t, want, one(t, sentinel.Breaker, element).Problems.Faults()[0].Message)
	}
}

// TestNoLimit: what is missing is never taken for 0, whoever's rule it is (faults #64: a misspelt key refused all calls).
func TestNoLimit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind    sentinel.Kind
		element string
		opts    []sentinel.Option
	}{
		{sentinel.Flow, `{"resource":"r"}`, nil},
		{sentinel.Flow, `{"resource":"r","treshold":5}`, nil},
		{sentinel.Flow, `{"resource":"r","grade":1,"cuont":5}`, nil},
		{sentinel.Flow, `{"resource":"r","count":5}`, []sentinel.Option{sentinel.WithDialect(sentinel.Go)}},
		{sentinel.Flow, `{"resource":"r","threshold":5}`, []sentinel.Option{sentinel.WithDialect(sentinel.Java)}},
		{sentinel.Flow, `{"resource":"r"}`, []sentinel.Option{sentinel.WithDialect(sentinel.Java)}},
		{sentinel.Breaker, `{"resource":"r","timeWindow":5}`, nil},
		{sentinel.Breaker, `{"resource":"r","retryTimeoutMs":5,"statIntervalMs":1000}`, nil},
		{sentinel.Breaker, `{"resource":"r","minRequestAmount":5}`, nil},
		{sentinel.Isolation, `{"resource":"r"}`, nil},
		{sentinel.Isolation, `{"resource":"r","treshold":5}`, nil},
		{sentinel.Param, `{"resource":"r"}`, nil},
		{sentinel.Param, `{"resource":"r","paramIdx":0,"cuont":5}`, nil},
		{sentinel.Param, `{"resource":"r","paramIndex":0,"metricType":1,"durationInSec":1}`, nil},
		{sentinel.Param, `{"resource":"r","paramIdx":0,"threshold":5}`, []sentinel.Option{sentinel.WithDialect(sentinel.Java)}},
	} {
		e := one(t, test.kind, test.element, test.opts...)
		require.False(t, e.OK(), test.element)
		require.Empty(t, e.Rules, test.element)
	}
	e := one(t, sentinel.Flow, `{"resource":"r","treshold":5}`)
	require.Equal(t, []string{
		"doc:1:2: flow[0] (r#1): the rule has no limit, and no key that tells whether it is Sentinel Java's or sentinel-golang's; " +
			"want count (Sentinel Java) or threshold (sentinel-golang)",
		"doc:1:18: warning: flow[0] (r#1): treshold: unknown key, ignored as Sentinel does; want threshold",
	}, lines(e.Problems))
}
