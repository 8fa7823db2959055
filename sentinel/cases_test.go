package sentinel_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cordon "github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/authority"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sentinel"
	"github.com/cordon-go/cordon/system"
)

// TestDocuments reads documents that both Sentinels were given, with what each made of them beside. What is written here is all that comes
// out: every rule with every field, and every problem with its position.
func TestDocuments(t *testing.T) {
	t.Parallel()
	tests := []struct {
		file     string
		kind     sentinel.Kind
		dialect  sentinel.Dialect
		rules    cordon.Rules
		problems []string
		// refused is the error of a document that is refused as a whole.
		refused string
	}{
		{
			file:    "T01.flow.json", // Java: 20 per second. Go: threshold 0, refuses all.
			kind:    sentinel.Flow,
			dialect: sentinel.Java,
			rules:   cordon.Rules{Flow: []flow.Rule{{Resource: rule.Name("/a"), Limit: 20, Per: time.Second}}},
		},
		{
			file:    "T02.flow.json", // Java: count 0, refuses all. Go: 20 per second.
			kind:    sentinel.Flow,
			dialect: sentinel.Go,
			rules:   cordon.Rules{Flow: []flow.Rule{{Resource: rule.Name("/a"), Limit: 20, Per: time.Second}}},
		},
		{
			file:    "T03.flow.json", // A dashboard's entity. Go fails on the number in id.
			kind:    sentinel.Flow,
			dialect: sentinel.Java,
			rules: cordon.Rules{Flow: []flow.Rule{{
				ID: "7", Resource: rule.Name("/a"), Limit: 10, Per: time.Second, Mode: flow.Pace, MaxWait: 500 * time.Millisecond,
			}}},
			problems: []string{"T03.flow.json:1:147: warning: flow[0] (7): clusterMode: counted locally until a quota store is configured: each process counts by itself, to the same limit"},
		},
		{
			file:    "T04.flow.json", // Java fails on the text in id. Go refuses every call, as 1 is more than 0.5.
			kind:    sentinel.Flow,
			dialect: sentinel.Go,
			rules: cordon.Rules{Flow: []flow.Rule{{
				ID: "r1", Resource: rule.Name("/a"), Limit: 0.5, Per: time.Second, Mode: flow.Pace, MaxWait: 2 * time.Second,
			}}},
		},
		{
			file: "T05.flow.json", // Java: warm-up to 0. Go: one per never. Both refuse all.
			kind: sentinel.Flow,
			problems: []string{"T05.flow.json:1:2: flow[0] (/a#1): the rule has no limit, and no key that tells whether it is " +
				"Sentinel Java's or sentinel-golang's; want count (Sentinel Java) or threshold (sentinel-golang)"},
		},
		{
			file:    "T07.flow.json", // Not JSON, but Java reads it.
			kind:    sentinel.Flow,
			dialect: sentinel.Java,
			rules:   cordon.Rules{Flow: []flow.Rule{{Resource: rule.Name("/a"), Limit: 12.5, Per: time.Second, Origin: "appA"}}},
		},
		{
			file:    "T08.flow.json", // Java: the first, and five skipped. Go: the null panics.
			kind:    sentinel.Flow,
			dialect: sentinel.Java,
			rules:   cordon.Rules{Flow: []flow.Rule{{ID: "ok#1", Resource: rule.Name("ok"), Limit: 1, Per: time.Second}}},
			problems: []string{
				"T08.flow.json:1:42: flow[1]: resource: the resource is missing or blank; want the resource's name",
				"T08.flow.json:1:90: flow[2] (g#1): grade: 2 is out of range; want 0 to 1",
				"T08.flow.json:1:93: flow[3] (r#1): refResource: strategy 1 needs it, and it is missing; want the resource related to, or the context's name",
				"T08.flow.json:1:199: flow[4] (t#1): maxQueueingTimeMs: 0 is out of range; want 1 to 2147483647",
				"T08.flow.json:1:202: flow[5]: the element is null; want an object that is a rule",
			},
		},
		{
			file:    "T09.flow.json",
			kind:    sentinel.Flow,
			dialect: sentinel.Java,
			rules:   cordon.Rules{Flow: []flow.Rule{{ID: "regex:/api/.*#1", Resource: rule.Regex("/api/.*"), Also: true, Limit: 2, Per: time.Second}}},
			problems: []string{
				`T09.flow.json:1:14: flow[0] (regex:^/api/(#1): resource: regex "^/api/(" is not valid: missing closing ) in "^/api/("; want an expression that RE2 knows`,
				"T09.flow.json:1:122: flow[2] (regex:/v/.*#1): regex: a rule with a regular expression can only reject, and not in a cluster; want controlBehavior 0 and clusterMode false",
			},
		},
		{
			file:    "T10.flow.json", // Java divides by zero. Go has no behaviour 2.
			kind:    sentinel.Flow,
			dialect: sentinel.Java,
			rules: cordon.Rules{Flow: []flow.Rule{{
				Resource: rule.Name("s"), Limit: 0.4, Per: time.Second, Mode: flow.Pace, MaxWait: 500 * time.Millisecond,
			}}},
		},
		{
			file:    "T11.degrade.json",
			kind:    sentinel.Breaker,
			dialect: sentinel.Java,
			rules: cordon.Rules{Breaker: []breaker.Rule{
				{
					ID: "a#1", Resource: rule.Name("a"), Trip: breaker.SlowRatio, SlowerThan: 200 * time.Millisecond, Threshold: 0.5, Above: true,
					Window: time.Second, Buckets: 1, MinCalls: 5, Open: 10 * time.Second,
				},
				{
					ID: "b#1", Resource: rule.Name("b"), Trip: breaker.ErrorRatio, Threshold: 0.4, Above: true,
					Window: time.Second, Buckets: 1, MinCalls: 5, Open: 10 * time.Second,
				},
			}},
			problems: []string{"T11.degrade.json:1:137: breaker[2] (c#1): timeWindow: it is missing; Sentinel Java would take it for 0 and refuse the rule"},
		},
		{
			file:    "T13.param.json", // Java: a with two limits of its own; n has no paramIdx. Go: both valid, and refuse all.
			kind:    sentinel.Param,
			dialect: sentinel.Java,
			rules: cordon.Rules{Param: []paramflow.Rule{{
				ID: "a#1", Resource: rule.Name("a"), Param: "arg[0][*?]", Limit: 5, Per: time.Second,
				Overrides: []paramflow.Override{{Value: "vip", Limit: 100}, {Value: "7"}},
			}}},
			problems: []string{
				`T13.param.json:1:175: warning: param[0] (a#1): paramFlowItemList[2].object: "seven" is no value of type int; the item is left out, as Sentinel Java does`,
				"T13.param.json:1:212: warning: param[0] (a#1): paramFlowItemList[3].count: the item has no count and is left out, as Sentinel Java does; want the value's limit",
				"T13.param.json:1:229: param[1] (n#1): paramIdx: it is missing, and Sentinel Java would refuse the rule; want the argument's number: 0 is the first, -1 the last",
			},
		},
		{
			file:    "T14.param.json", // Java: none valid. Go: a with one limit of its own; d without an interval; k without its paramKey.
			kind:    sentinel.Param,
			dialect: sentinel.Go,
			rules: cordon.Rules{Param: []paramflow.Rule{
				{
					ID: "a#1", Resource: rule.Name("a"), Param: "arg[0]", Limit: 5, Per: time.Second,
					Overrides: []paramflow.Override{{Value: "vip", Limit: 100}},
				},
				{ID: "k#1", Resource: rule.Name("k"), Param: "value.uid", Limit: 1, Per: time.Second},
			}},
			problems: []string{
				"T14.param.json:1:138: warning: param[0] (a#1): specificItems[1].valKind: 9 is no kind of value; the item is left out, as sentinel-golang does; " +
					"want 0 (int), 1 (string), 2 (bool) or 3 (float64)",
				"T14.param.json:1:170: param[1] (d#1): durationInSec: it is missing; sentinel-golang would take it for 0 and refuse the rule",
			},
		},
		{
			file:    "T15.param.json", // Java: invalid. Go fails, with the whole document.
			kind:    sentinel.Param,
			dialect: sentinel.Go,
			problems: []string{"T15.param.json:1:81: param[0] (a#1): specificItems: it is an object; " +
				"want a list of {valKind, valStr, threshold}; objects with values for keys are for rules in code only"},
		},
		{
			file:    "T17.system.json", // Java: the last one switches all checks off. Go: two of load above 0, which refuse all.
			kind:    sentinel.System,
			dialect: sentinel.Java,
			rules:   cordon.Rules{System: []system.Rule{{ID: "rate#1", Metric: system.Rate, Limit: 1000}}},
			problems: []string{"T17.system.json:1:34: system[1] (cpu#1): highestCpuUsage: 1.5 is no share of the CPU, and Sentinel Java ignores it; " +
				"want 0 to 1, or below 0 for no limit"},
		},
		{
			file:    "T18.authority.json", // Go has none.
			kind:    sentinel.Authority,
			dialect: sentinel.Java,
			rules:   cordon.Rules{Authority: []authority.Rule{{ID: "a#1", Resource: rule.Name("a"), Allow: []string{"x", " y"}}}},
			problems: []string{
				`T18.authority.json:1:29: warning: authority[0] (a#1): limitApp: " y" is a name with its space, as in Sentinel Java; want no space at the commas`,
				"T18.authority.json:1:50: warning: authority[1]: element 0 is for the same resource, and Sentinel Java takes only the first authority rule of a resource; this one is left out",
				"T18.authority.json:1:97: authority[2] (b#1): limitApp: it is missing or blank, and Sentinel Java would refuse the rule; want the callers' names, with commas between them",
			},
		},
		{
			file:    "T19.isolation.json",
			kind:    sentinel.Isolation,
			dialect: sentinel.Go,
			rules: cordon.Rules{Concurrency: []flow.ConcurrencyRule{
				{ID: "a#1", Resource: rule.Name("a"), Limit: 10},
				{ID: "d#1", Resource: rule.Name("d"), Limit: 5},
			}},
			problems: []string{
				"T19.isolation.json:1:62: concurrency[1] (b#1): threshold: 0 is out of range; want 1 to 4294967295",
				"T19.isolation.json:1:94: concurrency[2] (c#1): metricType: 1 is out of range; want 0",
				"T19.isolation.json:1:158: concurrency[4] (e#1): grade: only Sentinel Java has this key: this is a Java flow rule, " +
					"which limits concurrency with grade 0, and no isolation rule; want kind flow for rules of Sentinel Java",
			},
		},
		{
			file: "T19.isolation.json",
			kind: sentinel.Flow,
			refused: "T19.isolation.json:1:142: the document mixes dialects: element 0 is sentinel-golang's by its key threshold, " +
				"and element 4 is Sentinel Java's by its key grade; want one dialect per document, or the dialect to be said: java or go",
		},
		{
			file: "T11.degrade.json",
			kind: sentinel.Flow,
			refused: "T11.degrade.json:1:40: this is no document of flow rules: element 0 is one of the breaker rules, " +
				"as it has the key timeWindow; want the kind that the document has",
		},
	}
	for _, test := range tests {
		t.Run(test.file+" as "+test.kind.String(), func(t *testing.T) {
			t.Parallel()
			doc, err := sentinel.Decode(test.kind, test.file, testdata(t, test.file))
			if test.refused != "" {
				require.EqualError(t, err, test.refused)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.dialect, doc.Dialect)
			require.Equal(t, test.rules, doc.Rules())
			require.Equal(t, test.problems, lines(doc.Problems))

			decoded, err := sentinel.Decoder(test.kind)(test.file, testdata(t, test.file))
			require.NoError(t, err)
			require.Equal(t, cordon.Decoded{Rules: test.rules, Problems: doc.Problems, Partial: true}, decoded)
		})
	}
}

// TestEveryDocument: none of the documents that both Sentinels were given is left out above, and the Java rule among the isolation rules is one for who says that it is Java's.
func TestEveryDocument(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("cases_test.go")
	require.NoError(t, err)
	files, err := filepath.Glob("testdata/T*.json")
	require.NoError(t, err)
	require.Len(t, files, 16)
	for _, file := range files {
		require.Regexp(t, `file: +"`+filepath.Base(file)+`"`, string(table))
	}
	doc, err := sentinel.Decode(sentinel.Flow, "e", testdata(t, "T19.isolation.json"), sentinel.WithDialect(sentinel.Java))
	require.NoError(t, err)
	require.Equal(t, cordon.Rules{Concurrency: []flow.ConcurrencyRule{{Resource: rule.Name("e"), Limit: 3}}}, doc.Rules())
	require.Len(t, doc.Problems.Faults(), 4)
}

// TestOtherKinds: a document is never read as one of a kind that it plainly is not.
func TestOtherKinds(t *testing.T) {
	t.Parallel()
	kinds := []sentinel.Kind{sentinel.Flow, sentinel.Breaker, sentinel.Isolation, sentinel.Param, sentinel.System, sentinel.Authority, sentinel.Gateway, sentinel.API}
	for file, kind := range map[string]string{
		"T11.degrade.json":   "breaker",
		"T13.param.json":     "param",
		"T14.param.json":     "param",
		"T15.param.json":     "param",
		"T17.system.json":    "system",
		"T18.authority.json": "authority",
	} {
		for _, as := range kinds {
			if as.String() == kind {
				continue
			}
			t.Run(file+" as "+as.String(), func(t *testing.T) {
				t.Parallel()
				_, err := sentinel.Decode(as, file, testdata(t, file))
				require.ErrorContains(t, err, "is one of the "+kind+" rules")
				require.NotErrorIs(t, err, sentinel.ErrUnsupported)
			})
		}
	}
	// System, authority and API documents have no limits such as others have.
	for file, kind := range map[string]string{"T01.flow.json": "flow", "T02.flow.json": "flow", "T10.flow.json": "flow", "T19.isolation.json": "flow"} {
		for _, as := range []sentinel.Kind{sentinel.System, sentinel.Authority, sentinel.API} {
			_, err := sentinel.Decode(as, file, testdata(t, file))
			require.ErrorContains(t, err, "is one of the "+kind+" rules", "%s as %v", file, as)
		}
	}
	// Those without a telling key are refused for what is missing, never read with a limit of 0.
	for file, as := range map[string]sentinel.Kind{
		"T07.flow.json": sentinel.Param,
		"T01.flow.json": sentinel.Isolation,
		"T02.flow.json": sentinel.Breaker,
		"T03.flow.json": sentinel.Breaker,
		"T04.flow.json": sentinel.Breaker,
		"T10.flow.json": sentinel.Breaker,
	} {
		t.Run(file+" as "+as.String(), func(t *testing.T) {
			t.Parallel()
			doc, err := sentinel.Decode(as, file, testdata(t, file))
			require.NoError(t, err)
			require.Empty(t, doc.Rules())
			require.NotEmpty(t, doc.Problems.Faults())
		})
	}
}

func TestUnsupportedKinds(t *testing.T) {
	t.Parallel()
	for _, kind := range []sentinel.Kind{sentinel.Outlier, 0, 99} {
		_, err := sentinel.Decoder(kind)("x.json", []byte("[]"))
		require.ErrorIs(t, err, sentinel.ErrUnsupported, kind)
		_, _, err = sentinel.Encode(sentinel.Java, kind, cordon.Rules{})
		require.ErrorIs(t, err, sentinel.ErrUnsupported, kind)
	}
	_, err := sentinel.Decode(sentinel.Outlier, "s.json", []byte("[]"))
	require.EqualError(t, err, "s.json: outlier rules of Sentinel are not supported yet; want one of flow, breaker, isolation, param, system, authority, gateway, api")
}

// testdata returns a document.
func testdata(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	return data
}

// lines returns the problems as texts.
func lines(ps rule.Problems) []string {
	if len(ps) == 0 {
		return nil
	}
	var out []string
	for _, p := range ps {
		out = append(out, p.Error())
	}
	return out
}

// one reads a document of one rule given without its brackets.
func one(t testing.TB, kind sentinel.Kind, element string, opts ...sentinel.Option) sentinel.Element {
	t.Helper()
	doc, err := sentinel.Decode(kind, "doc", []byte("["+element+"]"), opts...)
	require.NoError(t, err, element)
	require.Len(t, doc.Elements, 1)
	return doc.Elements[0]
}

// with returns an object with more members put in front, so that they win over none and lose to those that repeat them.
func with(object, members string) string {
	return strings.Replace(object, "{", "{"+members+",", 1)
}
