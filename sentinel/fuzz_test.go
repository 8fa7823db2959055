package sentinel_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	cordon "github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sentinel"
)

// Limits of single values, of which some are not understood.
const (
	javaFewItems = `"paramFlowItemList":[{"object":"vip","count":100,"classType":"java.lang.String"},{"object":"7","count":0,"classType":"int"},{"object":"x","count":1,"classType":"int"},` +
		`{"object":"7","count":3},{"object":"1.5f","count":3,"classType":"double"},null,{"object":"c"}]`
	goFewItems = `"specificItems":[{"valKind":1,"valStr":"vip","threshold":100},{"valKind":0,"valStr":"7","threshold":0},{"valKind":3,"valStr":"0.123456","threshold":2},` +
		`{"valKind":2,"valStr":"t","threshold":2},{"valKind":9,"valStr":"z","threshold":1},null]`
)

// kinds is how many kinds are read.
const kinds = byte(sentinel.API-sentinel.Flow) + 1

// FuzzDecode: whatever is read, every rule that comes out is valid, has a limit that was written, is known by a unique id, and can be written back to a
// document that is read as the same; every problem says where and of what rule.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(f, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(f, err)
		for kind := range kinds {
			f.Add(data, kind, byte(0))
		}
	}
	for kind, valid := range map[sentinel.Kind][]string{
		sentinel.System:    {javaSystem, goSystem},
		sentinel.Authority: {javaAuthority, with(javaAuthority, `"regex":true,"limitApp":" ,a*,b, c"`)},
		sentinel.Gateway:   {javaGateway, javaGatewayArg, with(javaGateway, `"interval":1,"intervalUnit":3,"resourceMode":1,"controlBehavior":2`)},
		sentinel.API:       {javaAPI, with(javaAPI, `"id":7`)},
	} {
		for _, v := range valid {
			f.Add([]byte("["+v+",{\"rule\":"+v+"},"+with(v, `"id":1`)+",{}]"), byte(kind-sentinel.Flow), byte(0))
		}
	}
	for kind := range kinds {
		f.Add([]byte(crdFile), kind, byte(0))
	}
	for _, valid := range []string{javaRate, javaThreads, javaCluster, javaSlow, javaErrors, goRate, goWarm, goMemory, goSlow, goErrors, goCount, goIsolation, javaParam, javaFlight, javaShared, goParam, goFlight,
		spoilt(javaParam, javaFewItems), spoilt(goParam, goFewItems)} {
		for dialect := range byte(3) {
			f.Add([]byte("["+valid+","+valid+",null]"), byte(0), dialect)
			f.Add([]byte("["+with(valid, `"id":1,"regex":true,"rule":{}`)+"]"), byte(1), dialect)
			f.Add([]byte("["+valid+","+with(valid, `"burstCount":3,"durationInSec":7`)+"]"), byte(3), dialect)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, kind, dialect byte) {
		as := sentinel.Kind(kind%kinds) + sentinel.Flow
		pinned := sentinel.Dialect(dialect % 4)
		doc, err := sentinel.Decode(as, "doc", data, sentinel.WithDialect(pinned))
		if err != nil {
			var p rule.Problem
			require.ErrorAs(t, err, &p)
			return
		}
		rules := doc.Rules()
		checkRules(t, rules.Flow)
		checkRules(t, rules.Concurrency)
		checkRules(t, rules.Breaker)
		checkRules(t, rules.Param)
		checkRules(t, rules.System)
		checkRules(t, rules.Authority)
		checkRules(t, rules.APIGroup)
		checkNative(t, rules)
		for _, p := range doc.Problems {
			require.NotZero(t, p.Position, p)
			require.NotEmpty(t, p.Kind, p)
			require.NotEmpty(t, p.Message, p)
			require.Less(t, p.Index, len(doc.Elements))
		}
		for i := range doc.Elements {
			e := &doc.Elements[i]
			require.Equal(t, i, e.Index)
			e.Unused()
		}
		if doc.Dialect == sentinel.Auto {
			require.Empty(t, rules)
			return
		}
		if doc.Dialect == sentinel.CRD {
			doc.Dialect, pinned = sentinel.Go, sentinel.Go
		}
		written, _, err := doc.Encode(rules)
		require.NoError(t, err)
		require.True(t, json.Valid(written), "%s", written)
		again, err := sentinel.Decode(as, "doc", written, sentinel.WithDialect(pinned))
		require.NoError(t, err, "%s", written)
		require.Equal(t, derived(rules.Flow), derived(again.Rules().Flow))
		require.Equal(t, derived(rules.Concurrency), derived(again.Rules().Concurrency))
		require.Equal(t, derived(rules.Breaker), derived(again.Rules().Breaker))
		require.Equal(t, derived(rules.Param), derived(again.Rules().Param))
		require.Equal(t, derived(rules.System), derived(again.Rules().System))
		require.Equal(t, derived(rules.Authority), derived(again.Rules().Authority))
		require.Equal(t, derived(rules.APIGroup), derived(again.Rules().APIGroup))
	})
}

func checkRules[R rule.Rule[R]](t *testing.T, rules []R) {
	t.Helper()
	require.Empty(t, rule.DeriveIDs("kind", append([]R(nil), rules...)))
	for _, r := range rules {
		require.Empty(t, faults(r))
	}
}

// checkNative requires that cordon's own document of the rules, by which a last-good file may hold them, is read as the same rules.
func checkNative(t *testing.T, rules cordon.Rules) {
	t.Helper()
	rules.Flow, rules.Concurrency, rules.Breaker, rules.Param = derived(rules.Flow), derived(rules.Concurrency), derived(rules.Breaker), derived(rules.Param)
	rules.System, rules.Authority, rules.APIGroup = derived(rules.System), derived(rules.Authority), derived(rules.APIGroup)
	text, err := cordon.EncodeNative(rules)
	require.NoError(t, err)
	d, err := cordon.Native("native", text)
	require.NoError(t, err, "%s", text)
	require.Empty(t, d.Problems.Faults(), "%s", text)
	same(t, rules.Flow, d.Rules.Flow)
	same(t, rules.Concurrency, d.Rules.Concurrency)
	same(t, rules.Breaker, d.Rules.Breaker)
	same(t, rules.Param, d.Rules.Param)
	same(t, rules.System, d.Rules.System)
	same(t, rules.Authority, d.Rules.Authority)
	same(t, rules.APIGroup, d.Rules.APIGroup)
}

func same[R rule.Rule[R]](t *testing.T, want, got []R) {
	t.Helper()
	require.Len(t, got, len(want))
	for i := range want {
		require.True(t, want[i].Equal(got[i]), "%v\n%v", want[i], got[i])
	}
}

func derived[R rule.Rule[R]](rules []R) []R {
	rules = append([]R(nil), rules...)
	rule.DeriveIDs("kind", rules)
	return rules
}
