package sentinel_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cordon "github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sentinel"
)

// TestJavaValues: an item's object is read by its type as Java's parsers do, into the form that cordon has of such a value; what Java cannot read is left out.
func TestJavaValues(t *testing.T) {
	t.Parallel()
	const none = "left out"
	for _, test := range []struct{ class, object, want string }{
		{"", "vip", "vip"}, {" ", "7", "7"}, {"java.lang.String", "007", "007"}, {"String", "x", "x"}, {"java.lang.Character", "abc", "abc"}, {"java.math.BigDecimal", "1.0", "1.0"},
		{"int", "7", "7"}, {"int", "+7", "7"}, {"int", "007", "7"}, {"int", "-0", "0"}, {"int", " 7", none}, {"int", "7.0", none}, {"int", "1_0", none}, {"int", "0x7", none}, {"int", "2147483648", none}, {"int", "", none},
		{"java.lang.Integer", "-2147483648", "-2147483648"}, {"long", "9223372036854775807", "9223372036854775807"}, {"java.lang.Long", "9223372036854775808", none}, {"Integer", "x", "x"},
		{"short", "-32768", "-32768"}, {"java.lang.Short", "32768", none}, {"byte", "127", "127"}, {"java.lang.Byte", "128", none},
		{"double", "7", "7"}, {"double", "7.50", "7.5"}, {"double", " 1e3d ", "1000"}, {"double", ".5F", "0.5"}, {"java.lang.Double", "-1.5e-7", "-1.5e-07"}, {"double", "1e400", "+Inf"}, {"double", "-Infinity", "-Inf"},
		{"double", "NaN", none}, {"double", "inf", none}, {"double", "0x1p3", none}, {"double", "1_0.5", none}, {"double", "1dd", none}, {"double", "d", none}, {"double", "", none}, {"double", "1e", none}, {"double", "Infinityd", none},
		{"float", "0.1", "0.1"}, {"java.lang.Float", "1e39", "+Inf"}, {"float", "16777217", "16777216"},
		{"boolean", "TRUE", "true"}, {"boolean", "yes", "false"}, {"java.lang.Boolean", "false", "false"}, {"boolean", "", "false"},
		{"char", "abc", "a"}, {"char", "é", "é"}, {"char", "", none}, {"char", "😀", none},
	} {
		e := one(t, sentinel.Param, spoilt(javaParam, fmt.Sprintf(`"paramFlowItemList":[{"object":%q,"count":3,"classType":%q}]`, test.object, test.class)))
		require.Empty(t, e.Problems.Faults(), test)
		checkItem(t, e, test.want, none, "paramFlowItemList[0].object")
	}
}

// TestGoValues is the same for sentinel-golang.
func TestGoValues(t *testing.T) {
	t.Parallel()
	const none = "left out"
	for _, test := range []struct {
		kind      int
		str, want string
	}{
		{0, "7", "7"}, {0, "+7", "7"}, {0, "-007", "-7"}, {0, "7.0", none}, {0, "", none}, {0, "x", none}, {0, "9223372036854775808", none},
		{1, "vip", "vip"}, {1, "007", "007"}, {2, "T", "true"}, {2, "0", "false"}, {2, "yes", none},
		{3, "7", "7"}, {3, "0.123456", "0.12346"}, {3, "-0.000001", "0"}, {3, "1e-7", "0"}, {3, "2.5", "2.5"}, {3, "Inf", "+Inf"}, {3, "NaN", none}, {3, "1e400", none}, {3, "", none},
	} {
		e := one(t, sentinel.Param, spoilt(goParam, fmt.Sprintf(`"specificItems":[{"valKind":%d,"valStr":%q,"threshold":3}]`, test.kind, test.str)))
		require.Empty(t, e.Problems.Faults(), test)
		checkItem(t, e, test.want, none, "specificItems[0].valStr")
	}
}

func checkItem(t *testing.T, e sentinel.Element, want, none, field string) {
	t.Helper()
	overrides := e.Rules.Param[0].Overrides
	if want == none {
		require.Empty(t, overrides)
		require.Len(t, e.Problems, 1)
		require.Equal(t, field, e.Problems[0].Field)
		return
	}
	require.Empty(t, e.Problems, want)
	require.Equal(t, []paramflow.Override{{Value: paramflow.Scalar(want), Limit: 3}}, overrides)
}

// TestTypesThatCollide: what is several values to Sentinel and one to cordon has the lowest of their limits (never more than Sentinel admits); of repetitions the last counts.
func TestTypesThatCollide(t *testing.T) {
	t.Parallel()
	for items, want := range map[string]struct {
		limit  float64
		warned []string
	}{
		`{"object":"7","count":3,"classType":"int"},{"object":"7","count":3,"classType":"long"},{"object":"7","count":3}`: {3, nil},
		`{"object":"7","count":3,"classType":"int"},{"object":"7.0","count":2,"classType":"double"},{"object":"7","count":9}`: {2, []string{
			`doc:1:115: warning: param[0] (r#1): paramFlowItemList[1].object: "7" has two limits, as values of two types; to cordon it is one value, with the lower limit of 2`,
			`doc:1:163: warning: param[0] (r#1): paramFlowItemList[2].object: "7" has two limits, as values of two types; to cordon it is one value, with the lower limit of 2`,
		}},
		`{"object":"a","count":3},{"object":"a","count":9,"classType":"java.lang.String"}`: {9, []string{
			`doc:1:72: warning: param[0] (r#1): paramFlowItemList[0].object: "a" has another limit further on, which counts, as in Sentinel; want each value once`,
		}},
		`{"object":"a","count":3},{"object":"a","count":3}`: {3, nil},
		`{"object":"07","count":3,"classType":"int"},{"object":"7","count":1,"classType":"java.lang.Integer"},{"object":"7","count":2,"classType":"long"}`: {1, []string{
			`doc:1:72: warning: param[0] (r#1): paramFlowItemList[0].object: "7" has another limit further on, which counts, as in Sentinel; want each value once`,
			`doc:1:173: warning: param[0] (r#1): paramFlowItemList[2].object: "7" has two limits, as values of two types; to cordon it is one value, with the lower limit of 1`,
		}},
	} {
		e := one(t, sentinel.Param, spoilt(javaParam, `"paramFlowItemList":[`+items+`]`))
		require.Len(t, e.Rules.Param[0].Overrides, 1, items)
		require.Equal(t, want.limit, e.Rules.Param[0].Overrides[0].Limit, items)
		require.Equal(t, want.warned, lines(e.Problems), items)
	}
}

// TestEqualParamRules: Java holds rules that are equal but for the id for one.
func TestEqualParamRules(t *testing.T) {
	t.Parallel()
	const items = `"paramFlowItemList":[{"object":"a","count":1}]`
	doc, err := sentinel.Decode(sentinel.Param, "doc", []byte("["+strings.Join([]string{
		spoilt(javaParam, `"id":1`), spoilt(javaParam, `"id":2,"grade":1,"burstCount":0,"durationInSec":1`), spoilt(javaParam, items), spoilt(javaParam, `"id":4,`+items), spoilt(javaParam, `"burstCount":1`),
	}, ",\n")+"]"))
	require.NoError(t, err)
	require.Len(t, doc.Rules().Param, 3)
	require.Equal(t, []string{
		"doc:2:1: warning: param[1]: the rule is equal to element 0 and left out, as Sentinel Java does",
		"doc:4:1: warning: param[3]: the rule is equal to element 2 and left out, as Sentinel Java does",
	}, lines(doc.Problems))
	doc, err = sentinel.Decode(sentinel.Param, "doc", []byte("["+goParam+","+goParam+"]"))
	require.NoError(t, err)
	require.Len(t, doc.Rules().Param, 2)
}

// TestParamWritten is what documents look like.
func TestParamWritten(t *testing.T) {
	t.Parallel()
	rules := cordon.Rules{Param: []paramflow.Rule{
		{
			ID: "1", Resource: rule.Name("a"), Param: "arg[0][*?]", Limit: 2.5, Burst: 9,
			Overrides: []paramflow.Override{{Value: "7", Limit: 50, Burst: 104}, {Value: "true"}, {Value: "1.5", Limit: 5, Burst: 14}, {Regex: "^$", Limit: 1, Burst: 6}, {Value: "5000000000", Limit: 2, Burst: 8}},
		},
		{ID: "2", Resource: rule.Name("b"), Param: "arg[-1]", Mode: paramflow.Pace, Limit: 100, Per: time.Minute, MaxWait: time.Second, Values: 5000},
		{ID: "3", Resource: rule.Name("c"), Param: `value["x y"]`, Mode: paramflow.Concurrency, Limit: 3},
	}}
	data, lost, err := sentinel.Encode(sentinel.Java, sentinel.Param, rules)
	require.NoError(t, err)
	require.Equal(t, `[
  {"id":1,"resource":"a","limitApp":"default","paramIdx":0,"grade":1,"count":5,"controlBehavior":0,"maxQueueingTimeMs":0,"burstCount":4,"durationInSec":2,"paramFlowItemList":[{"object":"7","count":100,"classType":"int"},{"object":"7","count":100,"classType":"long"},{"object":"7","count":100,"classType":"java.lang.String"},{"object":"true","count":0,"classType":"boolean"},{"object":"true","count":0,"classType":"java.lang.String"},{"object":"1.5","count":10,"classType":"double"},{"object":"1.5","count":10,"classType":"java.lang.String"},{"object":"","count":2,"classType":"java.lang.String"},{"object":"5000000000","count":4,"classType":"long"},{"object":"5000000000","count":4,"classType":"java.lang.String"}],"clusterMode":false,"regex":false},
  {"id":2,"resource":"b","limitApp":"default","paramIdx":-1,"grade":1,"count":100,"controlBehavior":2,"maxQueueingTimeMs":1000,"burstCount":0,"durationInSec":60,"paramFlowItemList":[],"clusterMode":false,"regex":false}
]
`, string(data))
	require.Equal(t, []string{
		"param (1): per: in Sentinel limits are whole calls per whole seconds; 2.5 per 1s is written as 5 per 2 s",
		"param (2): param: Sentinel Java looks at each element of an argument that is a list, as arg[-1][*?] does",
		"param (2): values: Sentinel Java keeps 4000 values for each second of durationInSec, 200,000 at most",
		"param (3): param: Sentinel Java limits the values of an argument only, as arg[0][*?]; value[\"x y\"] cannot be said; the rule is left out",
	}, lossLines(lost))
	data, lost, err = sentinel.Encode(sentinel.Go, sentinel.Param, rules)
	require.NoError(t, err)
	require.Equal(t, `[
  {"id":"1","resource":"a","metricType":1,"paramIndex":0,"paramKey":"","threshold":5,"controlBehavior":0,"maxQueueingTimeMs":0,"burstCount":4,"durationInSec":2,"paramsMaxCapacity":0,"specificItems":[{"valKind":0,"valStr":"7","threshold":100},{"valKind":1,"valStr":"7","threshold":100},{"valKind":2,"valStr":"true","threshold":0},{"valKind":1,"valStr":"true","threshold":0},{"valKind":3,"valStr":"1.5","threshold":10},{"valKind":1,"valStr":"1.5","threshold":10},{"valKind":1,"valStr":"","threshold":2},{"valKind":0,"valStr":"5000000000","threshold":4},{"valKind":1,"valStr":"5000000000","threshold":4}]},
  {"id":"2","resource":"b","metricType":1,"paramIndex":-1,"paramKey":"","threshold":100,"controlBehavior":1,"maxQueueingTimeMs":1000,"burstCount":0,"durationInSec":60,"paramsMaxCapacity":5000,"specificItems":[]},
  {"id":"3","resource":"c","metricType":0,"paramIndex":0,"paramKey":"x y","threshold":3,"controlBehavior":0,"maxQueueingTimeMs":0,"burstCount":0,"durationInSec":0,"paramsMaxCapacity":0,"specificItems":[]}
]
`, string(data))
	require.Equal(t, []string{
		"param (1): param: sentinel-golang does not look into lists, and lets calls pass of which the argument is one",
		"param (1): per: in Sentinel limits are whole calls per whole seconds; 2.5 per 1s is written as 5 per 2 s",
		"param (3): param: sentinel-golang's own parser of documents forgets paramKey, and takes the first argument; rules in code keep it",
	}, lossLines(lost))
}

// TestWholeCalls: a limit is written exactly where whole calls in up to a minute say it, else rounded up by a tenth at most, so that nothing is refused that was not.
func TestWholeCalls(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit     float64
		per       time.Duration
		threshold string
	}{
		{20, time.Second, `"threshold":20,"durationInSec":1`}, {100, 24 * time.Hour, `"threshold":100,"durationInSec":86400`}, {0, 500 * time.Millisecond, `"threshold":0,"durationInSec":1`},
		{0.1, time.Second, `"threshold":1,"durationInSec":10`}, {2.5, time.Second, `"threshold":5,"durationInSec":2`}, {3, 1500 * time.Millisecond, `"threshold":2,"durationInSec":1`},
		{1, 7500 * time.Millisecond, `"threshold":2,"durationInSec":15`}, {1.5, 90 * time.Second, `"threshold":1,"durationInSec":60`}, {1000.0 / 7, time.Second, `"threshold":1000,"durationInSec":7`},
		{123.456, time.Second, `"threshold":124,"durationInSec":1`}, {math.Pi / 100, time.Second, `"threshold":11,"durationInSec":319`}, {1e-5, time.Second, `"threshold":1,"durationInSec":86400`},
		{math.Nextafter(1e7, 0), time.Second, `"threshold":10000000,"durationInSec":1`}, {1.0 / 61, time.Second, `"threshold":10,"durationInSec":610`},
	} {
		data, lost, err := sentinel.Encode(sentinel.Go, sentinel.Param, cordon.Rules{Param: []paramflow.Rule{{Resource: rule.Name("r"), Param: "arg[0]", Limit: test.limit, Per: test.per}}})
		require.NoError(t, err)
		var written struct{ Threshold, DurationInSec int64 }
		require.NoError(t, json.Unmarshal(bytes.Trim(bytes.TrimSpace(data), "[]"), &written))
		require.Equal(t, test.threshold, fmt.Sprintf(`"threshold":%d,"durationInSec":%d`, written.Threshold, written.DurationInSec))
		rate := float64(written.Threshold) / float64(written.DurationInSec)
		require.GreaterOrEqual(t, rate*(1+1e-9), test.limit/test.per.Seconds())
		require.Equal(t, test.limit == float64(written.Threshold) && test.per == time.Duration(written.DurationInSec)*time.Second, len(lost) == 0, lost)
	}
}

// TestParamLosses: nothing is lost without being listed, and what would refuse other calls is not written.
func TestParamLosses(t *testing.T) {
	t.Parallel()
	const anyPath = "arg[0]"
	for i, test := range []struct {
		edit         func(p *paramflow.Rule)
		java, golang []string
	}{
		{func(*paramflow.Rule) {}, nil, nil},
		{func(p *paramflow.Rule) { p.Shadow = true }, []string{"shadow!"}, []string{"shadow!"}},
		{func(p *paramflow.Rule) { p.Shared = true }, []string{"shared"}, []string{"shared"}},
		{func(p *paramflow.Rule) { p.Origin = "web" }, []string{"origin!"}, []string{"origin!"}},
		{func(p *paramflow.Rule) { p.Absent = paramflow.Count }, []string{"absent"}, []string{"absent"}},
		{func(p *paramflow.Rule) { p.Redact = true }, []string{"redact"}, []string{"redact"}},
		{func(p *paramflow.Rule) { p.Values = 1000 }, []string{"values"}, nil},
		{func(p *paramflow.Rule) { p.Resource, p.Also = rule.Regex("a"), true }, nil, []string{"resource!"}},
		{func(p *paramflow.Rule) { p.Resource, p.Also, p.Mode = rule.Regex("a"), true, paramflow.Pace }, []string{"mode!"}, []string{"resource!"}},
		{func(p *paramflow.Rule) { p.Param = "arg[0].id" }, []string{"param!"}, []string{"param!"}},
		{func(p *paramflow.Rule) { p.Param = "arg[0][*]" }, []string{"param"}, []string{"param"}},
		{func(p *paramflow.Rule) { p.Param = "arg[0][" }, []string{"param!"}, []string{"param!"}},
		{func(p *paramflow.Rule) { p.Param = "value.uid" }, []string{"param!"}, []string{"param"}},
		{func(p *paramflow.Rule) { p.Param = "value.uid + method" }, []string{"param!"}, []string{"param!"}},
		{func(p *paramflow.Rule) { p.Mode, p.MaxWait, p.MaxQueue = paramflow.Pace, time.Second, 3 }, []string{"maxQueue"}, []string{"maxQueue"}},
		{func(p *paramflow.Rule) { p.Mode, p.MaxWait = paramflow.Pace, 1500*time.Microsecond }, []string{"maxWait"}, []string{"maxWait"}},
		{func(p *paramflow.Rule) { p.Per = 500 * time.Millisecond }, []string{"per"}, []string{"per"}},
		{func(p *paramflow.Rule) { p.Limit = 1000.0 / 7 }, []string{"per"}, []string{"per"}}, // 1000 per 7 s
		{func(p *paramflow.Rule) { p.Limit = 0.01 }, []string{"per"}, []string{"per"}},
		{func(p *paramflow.Rule) { p.Burst = 1 }, []string{"burst"}, []string{"burst"}},
		{func(p *paramflow.Rule) { p.Burst = 15 }, []string{"overrides"}, []string{"overrides"}},
		{func(p *paramflow.Rule) { p.Overrides[0].Burst = 25 }, []string{"burst"}, []string{"burst"}},
		{func(p *paramflow.Rule) { p.Burst, p.Overrides[0].Burst = 15, 25 }, nil, nil},
		{func(p *paramflow.Rule) { p.Burst, p.Overrides[0].Burst = 15, 24 }, []string{"overrides"}, []string{"overrides"}},
		{func(p *paramflow.Rule) { p.Burst, p.Overrides[0].Limit = 15, 0 }, nil, nil},
		{func(p *paramflow.Rule) { p.Per, p.Limit, p.Burst, p.Overrides[0].Burst = 24*time.Hour, 1, 20, 500 }, []string{"burst", "overrides"}, []string{"burst", "overrides"}},
		{func(p *paramflow.Rule) { p.Overrides[0] = paramflow.Override{Wildcard: "a*", Limit: 10} }, []string{"overrides"}, []string{"overrides"}},
		{func(p *paramflow.Rule) { p.Overrides[0] = paramflow.Override{Wildcard: "a*", Limit: 11} }, []string{"overrides!"}, []string{"overrides!"}},
		{func(p *paramflow.Rule) { p.Overrides[0] = paramflow.Override{Regex: "a.", Limit: 10, Burst: 11} }, []string{"overrides!"}, []string{"overrides!"}},
		{func(p *paramflow.Rule) { p.Overrides[0].Value = "\xff" }, []string{"overrides!"}, []string{"overrides!"}},
		{func(p *paramflow.Rule) { p.Overrides[0].Value = paramflow.Scalar("sha256:" + strings.Repeat("0f", 32)) }, []string{"overrides!"}, []string{"overrides!"}},
		{func(p *paramflow.Rule) { p.Overrides[0].Value = "0.1234567" }, nil, []string{"overrides"}},
		{func(p *paramflow.Rule) { p.Per, p.Overrides[0].Limit = time.Hour, 3e9 }, []string{"overrides"}, nil},
	} {
		for _, dialect := range []sentinel.Dialect{sentinel.Java, sentinel.Go} {
			p := paramflow.Rule{Resource: rule.Name("r"), Param: anyPath, Limit: 10, Overrides: []paramflow.Override{{Value: "vip", Limit: 20}}}
			want := test.golang
			if dialect == sentinel.Java {
				want, p.Param = test.java, anyPath+"[*?]"
			}
			test.edit(&p)
			if p.Param == anyPath+"[*?]" && dialect == sentinel.Go {
				p.Param = anyPath
			}
			_, lost, err := sentinel.Encode(dialect, sentinel.Param, cordon.Rules{Param: []paramflow.Rule{p}})
			require.NoError(t, err)
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
			require.Equal(t, want, fields, "%d in %v: %v", i, dialect, lost)
		}
	}
	_, _, err := sentinel.Encode(sentinel.Go, sentinel.Param, cordon.Rules{Param: []paramflow.Rule{{Resource: rule.Name("r"), Limit: -1}}})
	require.ErrorContains(t, err, "not valid")
}

// TestItemsStay: a list whose rule was edited elsewhere keeps the items that were not understood, and one that was edited is written anew.
func TestItemsStay(t *testing.T) {
	t.Parallel()
	const items = `[{"object":"vip","count":"100","remark":"x"},{"object":"seven","count":1,"classType":"int"},null]`
	doc, err := sentinel.Decode(sentinel.Param, "doc", []byte(`[{"resource":"r","paramIdx":0,"count":5,"paramFlowItemList":`+items+`,"app":"shop"}]`))
	require.NoError(t, err)
	rules := doc.Rules()
	rules.Param[0].Limit = 6
	data, lost, err := doc.Encode(rules)
	require.NoError(t, err)
	require.Empty(t, lost)
	require.Equal(t, "[\n  {\"resource\":\"r\",\"paramIdx\":0,\"count\":6,\"paramFlowItemList\":"+items+",\"app\":\"shop\"}\n]\n", string(data))

	rules.Param[0].Overrides = []paramflow.Override{{Value: "vip", Limit: 90}}
	data, lost, err = doc.Encode(rules)
	require.NoError(t, err)
	require.Empty(t, lost)
	require.Equal(t, `[
  {"resource":"r","paramIdx":0,"count":6,"paramFlowItemList":[{"object":"vip","count":90,"classType":"java.lang.String"}],"app":"shop"}
]
`, string(data))
	rules.Param[0].Overrides = nil
	data, _, err = doc.Encode(rules)
	require.NoError(t, err)
	require.Contains(t, string(data), `"paramFlowItemList":[],`)

	// What is not edited stays as it was written, and paramKey is no loss then.
	doc, err = sentinel.Decode(sentinel.Param, "doc", []byte(`[{"resource":"k","metricType":1,"paramKey":"uid","threshold":1,"durationInSec":1,"specificItems":null}]`))
	require.NoError(t, err)
	data, lost, err = doc.Encode(doc.Rules())
	require.NoError(t, err)
	require.Empty(t, lost)
	require.Equal(t, "[\n  {\"resource\":\"k\",\"metricType\":1,\"paramKey\":\"uid\",\"threshold\":1,\"durationInSec\":1,\"specificItems\":null}\n]\n", string(data))
}

// admitted counts how many of n calls with arguments pass at once.
func admitted(t *testing.T, eng *cordon.Engine, n int, args ...any) int {
	t.Helper()
	return asked(t, eng, n, cordon.Request{Resource: "r", Args: args})
}

// given is the same with values beside the arguments.
func given(t *testing.T, eng *cordon.Engine, n int, values cordon.Values) int {
	t.Helper()
	return asked(t, eng, n, cordon.Request{Resource: "r", Args: []any{"same"}, Carrier: values})
}

func asked(t *testing.T, eng *cordon.Engine, n int, req cordon.Request) int {
	t.Helper()
	passed := 0
	for range n {
		if ent, err := eng.Enter(t.Context(), req); err == nil {
			passed++
			ent.End(cordon.Success)
		}
	}
	return passed
}

// TestValuesInAnEngine: a document's limits hold for each value by itself, with what a value may save up, for texts and numbers alike, and for the elements of lists as in Java (faults #54).
func TestValuesInAnEngine(t *testing.T) {
	t.Parallel()
	eng, now := engineOf(t, sentinel.Param, `[{"resource":"r","paramIdx":0,"count":5,"burstCount":2,"paramFlowItemList":[{"object":"vip","count":20},{"object":"7","count":0,"classType":"int"}]}]`)
	require.Equal(t, 7, admitted(t, eng, 50, "a"))
	require.Equal(t, 7, admitted(t, eng, 50, "b"))
	require.Equal(t, 22, admitted(t, eng, 50, "vip"))
	require.Zero(t, admitted(t, eng, 50, 7))
	require.Zero(t, admitted(t, eng, 50, int64(7)))
	require.Zero(t, admitted(t, eng, 50, "7"))
	require.Equal(t, 50, admitted(t, eng, 50)) // without the value
	require.Equal(t, 50, admitted(t, eng, 50, nil))
	require.Equal(t, 7, admitted(t, eng, 50, []string{"c", "d"}))
	require.Zero(t, admitted(t, eng, 50, "d"))
	require.Zero(t, admitted(t, eng, 50, []any{"e", 7}))
	require.Equal(t, 7, admitted(t, eng, 50, "e")) // a refused list has taken nothing
	now.Advance(time.Second)
	require.Equal(t, 5, admitted(t, eng, 50, "a"))

	eng, _ = engineOf(t, sentinel.Param, `[{"resource":"r","metricType":1,"paramIndex":-1,"threshold":5,"durationInSec":1,"specificItems":[{"valKind":3,"valStr":"0.5","threshold":1}]}]`)
	require.Equal(t, 5, admitted(t, eng, 50, "x", "a"))
	require.Zero(t, admitted(t, eng, 50, "a"))
	require.Equal(t, 1, admitted(t, eng, 50, 0.5))
	require.Equal(t, 50, admitted(t, eng, 50, []string{"a"})) // Go does not look into lists

	eng, _ = engineOf(t, sentinel.Param, `[{"resource":"r","metricType":1,"paramKey":"uid","threshold":3,"durationInSec":1}]`)
	require.Equal(t, 3, given(t, eng, 50, cordon.Values{"uid": "ann"}))
	require.Equal(t, 3, given(t, eng, 50, cordon.Values{"uid": 7}))
	require.Equal(t, 50, given(t, eng, 50, cordon.Values{"uid": nil}))
	require.Equal(t, 50, given(t, eng, 50, cordon.Values{"UID": "ann"}))
}

// TestValuesInFlight: the first call of a value counts too, also with a limit of 0, as it does not in sentinel-golang.
func TestValuesInFlight(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`[{"resource":"r","paramIdx":0,"count":2,"grade":0,"paramFlowItemList":[{"object":"no","count":0}]}]`,
		`[{"resource":"r","metricType":0,"threshold":2,"specificItems":[{"valKind":1,"valStr":"no","threshold":0}]}]`,
	} {
		eng, _ := engineOf(t, sentinel.Param, text)
		enter := func(value any) (cordon.Entry, error) {
			return eng.Enter(t.Context(), cordon.Request{Resource: "r", Args: []any{value}})
		}
		_, err := enter("no")
		require.ErrorIs(t, err, cordon.ErrBlocked)
		a, err := enter("a")
		require.NoError(t, err)
		b, err := enter("a")
		require.NoError(t, err)
		_, err = enter("a")
		require.ErrorIs(t, err, cordon.ErrBlocked)
		a.End(cordon.Success)
		c, err := enter("a")
		require.NoError(t, err)
		b.End(cordon.Success)
		c.End(cordon.Success)
	}
}

// TestFastPaceOfAValue: distances are not rounded to milliseconds, nor away (faults #18).
func TestFastPaceOfAValue(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`[{"resource":"r","metricType":1,"controlBehavior":1,"threshold":1001,"durationInSec":1}]`,
		`[{"resource":"r","paramIdx":0,"controlBehavior":2,"count":1001}]`,
	} {
		eng, now := engineOf(t, sentinel.Param, text)
		passed := 0
		for range 100_000 { // 50,000 calls a second, for two
			passed += admitted(t, eng, 1, "a")
			now.Advance(20 * time.Microsecond)
		}
		require.InDelta(t, 2002, passed, 40) // a call comes up to 20 µs after its turn, which is lost: at most 2 %
		require.LessOrEqual(t, passed, 2003)
	}
}

// TestManyOtherValues: a value has its limit whatever others arrive (faults #92: Sentinel forgets it).
func TestManyOtherValues(t *testing.T) {
	t.Parallel()
	doc, err := sentinel.Decode(sentinel.Param, "doc", []byte(`[{"resource":"r","metricType":1,"threshold":10,"durationInSec":1,"paramsMaxCapacity":100}]`))
	require.NoError(t, err)
	now := clock.NewManual()
	eng, err := cordon.New(cordon.WithRules(doc.Rules()), cordon.WithClock(now))
	require.NoError(t, err)
	defer func() { require.NoError(t, eng.Close()) }()
	passed := 0
	for i := range 900 {
		passed += admitted(t, eng, 1, "hot")
		for j := range 40 {
			admitted(t, eng, 1, i*40+j)
		}
		now.Advance(time.Millisecond)
	}
	require.LessOrEqual(t, passed, 10+9)
}
