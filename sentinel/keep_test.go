package sentinel

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// whole is a rule of a kind and dialect with every key that the dialect knows.
type whole struct {
	kind    Kind
	dialect Dialect
	// needed are the keys that the others make no sense without, and bad is a value of one of them that is refused.
	needed, bad string
	text        string
}

const (
	entityText  = `"app":"shop","ip":"10.0.0.1","port":8719,"gmtCreate":1700000000000,"gmtModified":"2023-11-14T22:13:20Z",`
	clusterText = `"clusterMode":true,"clusterConfig":{"flowId":7,"thresholdType":1,"fallbackToLocalWhenFail":false,"strategy":0,"sampleCount":5,"windowIntervalMs":2000,` +
		`"resourceTimeout":9,"resourceTimeoutStrategy":0,"acquireRefuseStrategy":0,"clientOfflineTime":8,"other":1},`
)

var wholes = []whole{
	{Flow, Java, "resource count", "count", `{` + entityText + clusterText + `"id":3,"resource":"r","limitApp":"web","grade":1,"count":10.50,"strategy":1,"refResource":"other","controlBehavior":0,"warmUpPeriodSec":77,"maxQueueingTimeMs":5,"regex":false}`},
	{Flow, Java, "resource count grade", "count", `{` + entityText + clusterText + `"id":3,"resource":"r","limitApp":"other","grade":0,"count":10,"strategy":2,"refResource":"in","controlBehavior":2,"warmUpPeriodSec":0,"maxQueueingTimeMs":0,"regex":false}`},
	{Breaker, Java, "resource grade count timeWindow", "count", `{` + entityText + `"id":3,"resource":"r","limitApp":"web","grade":1,"count":0.5,"timeWindow":7,"slowRatioThreshold":0.3,"minRequestAmount":9,"statIntervalMs":2000,"regex":true,"passCount":3,"rtSlowRequestAmount":4}`},
	{Param, Java, "resource paramIdx count", "count", `{` + entityText + clusterText + `"id":3,"resource":"r","limitApp":"web","grade":1,"paramIdx":-1,"count":10,"controlBehavior":0,"maxQueueingTimeMs":5,"burstCount":3,"durationInSec":2,` +
		`"paramFlowItemList":[{"object":"7","count":2,"classType":"int","other":1},{"object":"x"}],"regex":false}`},
	{System, Java, "qps", "qps", `{` + entityText + `"id":3,"resource":"r","regex":true,"limitApp":"web","highestSystemLoad":3.0,"highestCpuUsage":0.8,"qps":100,"avgRt":20,"maxThread":5,"adaptiveStrategy":1}`},
	{Authority, Java, "resource limitApp", "limitApp", `{` + entityText + `"id":3,"resource":"r","regex":true,"limitApp":"a,b*","strategy":1}`},
	{Gateway, Java, "resource count", "count", `{` + entityText + `"id":3,"resource":"r","resourceMode":1,"grade":1,"count":10.5,"intervalSec":60,"interval":1,"intervalUnit":1,"controlBehavior":0,"burst":5,"maxQueueingTimeoutMs":9,` +
		`"paramItem":{"index":4,"parseStrategy":2,"fieldName":"X-T","pattern":"a","matchStrategy":1,"other":1}}`},
	{API, Java, "apiName predicateItems", "apiName", `{` + entityText + `"id":3,"apiName":"r","predicateItems":[{"pattern":"/a/**","matchStrategy":1,"other":1},{"matchStrategy":0}]}`},
	{Flow, Go, "resource threshold", "threshold", `{"id":"x","resource":"r","threshold":10,"tokenCalculateStrategy":0,"relationStrategy":1,"refResource":"other","controlBehavior":0,"maxQueueingTimeMs":5,"warmUpPeriodSec":3,"warmUpColdFactor":4,` +
		`"statIntervalInMs":500,"lowMemUsageThreshold":1,"highMemUsageThreshold":2,"memLowWaterMarkBytes":3,"memHighWaterMarkBytes":4,"regex":false}`},
	{Breaker, Go, "resource strategy threshold retryTimeoutMs statIntervalMs", "threshold", `{"id":"x","resource":"r","regex":true,"strategy":1,"threshold":0.5,"retryTimeoutMs":5,"maxAllowedRtMs":6,"minRequestAmount":7,"statIntervalMs":1000,"statSlidingWindowBucketCount":3,"probeNum":2}`},
	{Isolation, Go, "resource threshold", "threshold", `{"id":"x","resource":"r","regex":true,"metricType":0,"threshold":5}`},
	{Param, Go, "resource threshold metricType durationInSec", "threshold", `{"id":"x","resource":"r","regex":false,"paramIndex":0,"paramKey":"k","metricType":1,"threshold":5,"durationInSec":2,"controlBehavior":0,"maxQueueingTimeMs":5,"burstCount":3,"paramsMaxCapacity":500,` +
		`"specificItems":[{"valKind":0,"valStr":"7","threshold":2,"other":1},{"valKind":9}]}`},
	{System, Go, "id metricType triggerCount", "triggerCount", `{"id":"x","resource":"r","metricType":3,"triggerCount":100,"strategy":1,"adaptiveStrategy":1}`},
}

// fields returns the rule's values by key, and the keys in order.
func (w whole) fields(t require.TestingT) (map[string]json.RawMessage, []string) {
	fields := make(map[string]json.RawMessage)
	require.NoError(t, json.Unmarshal([]byte(w.text), &fields))
	return fields, slices.Sorted(maps.Keys(fields))
}

// TestWholesHaveEveryKey: the rules of the test below have every key that is known to their dialects, those of objects in them too.
func TestWholesHaveEveryKey(t *testing.T) {
	t.Parallel()
	have := make(map[Kind]map[string]bool)
	all := ""
	for _, w := range wholes {
		_, keys := w.fields(t)
		if have[w.kind] == nil {
			have[w.kind] = make(map[string]bool)
		}
		for _, k := range keys {
			have[w.kind][fold(k)] = true
		}
		all += w.text
	}
	for kind := Flow; kind.Supported(); kind++ {
		for folded, k := range keysOf(kind) {
			foreign := kind == Isolation && (k.owner == javaOnly || k.owner == entityOnly) // by which a rule is refused
			require.True(t, foreign || have[kind][folded], "%v: %s", kind, k.name)
		}
	}
	for _, table := range []keyTable{clusterKeys, javaItemKeys, goItemKeys, gatewayParamKeys, predicateKeys} {
		for _, k := range table {
			require.Contains(t, all, `"`+k.name+`":`)
		}
	}
}

// TestWrittenAgain: a document that is written in the form that it has keeps every key of its good rules, whatever keys these have, in a dashboard's entity too; what is refused is not in it.
func TestWrittenAgain(t *testing.T) {
	t.Parallel()
	for n, w := range wholes {
		t.Run(fmt.Sprintf("%v %v %d", w.dialect, w.kind, n), func(t *testing.T) {
			t.Parallel()
			fields, keys := w.fields(t)
			kept := make(map[string]bool)
			rapid.Check(t, func(t *rapid.T) {
				var all, good []string
				for i := range rapid.IntRange(1, 3).Draw(t, "rules") {
					everything := rapid.Bool().Draw(t, "everything")
					bad := rapid.IntRange(0, 3).Draw(t, "bad") == 0
					var written []string
					for _, k := range keys {
						if slices.Contains(strings.Fields(w.needed), k) || everything || rapid.Bool().Draw(t, k) {
							value := string(fields[k])
							switch {
							case k == "resource" || k == "apiName" || k == "id":
								value = strings.NewReplacer("r", fmt.Sprint("r", i), "x", fmt.Sprint("x", i), "3", fmt.Sprint(3+i)).Replace(value)
							case slices.Contains([]string{"clusterMode", "regex"}, k) && rapid.Bool().Draw(t, k+" false"):
								value = "false"
							}
							if bad && k == w.bad {
								value = "[]"
							}
							written = append(written, fmt.Sprintf("%q:%s", k, value))
						}
					}
					text := "{" + strings.Join(rapid.Permutation(written).Draw(t, "order"), ",") + "}"
					if w.dialect == Java && rapid.IntRange(0, 3).Draw(t, "entity") == 0 {
						text = `{"id":1,"gmtCreate":5,"rule":` + text + `}`
					}
					all = append(all, text)
				}
				for _, text := range all {
					doc, err := Decode(w.kind, "doc", []byte("["+text+"]"), WithDialect(w.dialect))
					require.NoError(t, err)
					if doc.Elements[0].OK() {
						good = append(good, text)
						for k := range fields {
							if strings.Contains(text, `"`+k+`":`) {
								kept[k] = true
							}
						}
					}
				}
				doc, err := Decode(w.kind, "doc", []byte("["+strings.Join(all, ",")+"]"), WithDialect(w.dialect))
				require.NoError(t, err)
				if w.kind == System && w.dialect == Java && len(good) < len(all) {
					return // each limit is one by itself: see the next test
				}
				written := doc.WithoutRefused()
				data, lost, err := written.Encode(doc.Rules())
				require.NoError(t, err)
				require.Empty(t, lost)
				require.JSONEq(t, "["+strings.Join(good, ",")+"]", string(data))
			})
			require.Subset(t, slices.Sorted(maps.Keys(kept)), keys, "each key was in a good rule")
		})
	}
}

// TestWrittenAgainWithoutRefusedLimits: of a system rule that sets several limits a bad one is not written, while the others stay where they are.
func TestWrittenAgainWithoutRefusedLimits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`[{"app":"a","qps":5,"avgRt":[],"AVG_RT":{},"max_thread":3},{"qps":"x"},{"maxThread":1}]`: `[{"app":"a","qps":5,"max_thread":3},{"maxThread":1}]`,
		`[{"app":"a","highestCpuUsage":7,"rule":{"id":4,"highestCpuUsage":8,"qps":5}}]`:           `[{"app":"a","rule":{"id":4,"qps":5}}]`,
		`[{"qps":"x"}]`: `[]`,
	} {
		doc, err := Decode(System, "doc", []byte(text), WithDialect(Java))
		require.NoError(t, err)
		faults := len(doc.Problems.Faults())
		require.NotZero(t, faults)
		good := doc.WithoutRefused()
		require.Empty(t, good.Problems.Faults())
		data, lost, err := good.Encode(doc.Rules())
		require.NoError(t, err)
		require.Empty(t, lost)
		require.JSONEq(t, want, string(data))
		again, err := Decode(System, "doc", data, WithDialect(Java))
		require.NoError(t, err)
		require.Empty(t, again.Problems.Faults())
		require.Equal(t, len(doc.Rules().System), len(again.Rules().System))
		require.Len(t, doc.Problems.Faults(), faults, "the document itself stays as it was")
	}
}

// TestClustersLost: that a rule is a cluster's is said where it is written in another form.
func TestClustersLost(t *testing.T) {
	t.Parallel()
	const cluster = `"clusterMode":true,"clusterConfig":{"flowId":1}`
	for kind, rules := range map[Kind]string{
		Flow: `[{"resource":"a","count":1,"clusterMode":false,"clusterConfig":{"flowId":1}},{"resource":"b","count":1,` + cluster + `},{"resource":"b","count":1,"grade":0,` + cluster + `},` +
			`{"resource":"c","count":-1,` + cluster + `},{"resource":"b","count":1,` + cluster + `}]`,
		Param: `[{"resource":"a","paramIdx":0,"count":1},{"resource":"b","paramIdx":0,"count":1,` + cluster + `}]`,
	} {
		doc, err := Decode(kind, "doc", []byte(rules))
		require.NoError(t, err)
		var ids []string
		for _, l := range doc.Losses() {
			require.Equal(t, "clusterMode", l.Field)
			require.Contains(t, l.Reason, "counted locally until a quota store is configured")
			require.False(t, l.Omitted)
			ids = append(ids, l.Kind+" "+l.RuleID)
		}
		want := map[Kind][]string{Flow: {"flow b#1", "concurrency b#1"}, Param: {"param b#1"}}
		require.Equal(t, want[kind], ids)
	}
}
