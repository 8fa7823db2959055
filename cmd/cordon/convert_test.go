package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConvert(t *testing.T) {
	for name, args := range map[string][]string{
		"convert-java-to-native":    {"--to", "native", "testdata/shop.flow.json"},
		"convert-go-to-native":      {"--to", "native", "testdata/shop-circuitbreaker-rules.json"},
		"convert-go-to-java":        {"--to", "sentinel-java", "testdata/shop-circuitbreaker-rules.json"},
		"convert-native-to-java":    {"--to", "sentinel-java", "--document", "flow", "testdata/rules.yaml"},
		"convert-native-to-go":      {"--to", "sentinel-go", "--document", "isolation", "testdata/rules.yaml"},
		"convert-shadow":            {"--to", "sentinel-go", "--document", "breaker", "testdata/rules.yaml"},
		"convert-isolation":         {"--to", "native", "testdata/isolation.yaml"},
		"convert-param":             {"--to", "native", "testdata/param.yaml"},
		"convert-param-to-go":       {"--to", "sentinel-go", "testdata/param.yaml"},
		"convert-param-to-java":     {"--to", "sentinel-java", "testdata/shop.hotspot.json"},
		"convert-java-param":        {"--to", "native", "testdata/shop-param-rules.json"},
		"convert-java-param-to-go":  {"--to", "sentinel-go", "testdata/shop-param-rules.json"},
		"convert-process-to-go":     {"--to", "sentinel-go", "testdata/process.yaml"},
		"convert-process-to-java":   {"--to", "sentinel-java", "--document", "authority", "testdata/process.yaml"},
		"convert-system":            {"--to", "native", "testdata/shop-system-rules.json"},
		"convert-gateway":           {"--to", "native", "testdata/shop-gateway-flow-rules.json"},
		"convert-gateway-to-java":   {"--to", "sentinel-java", "testdata/shop-gateway-flow-rules.json"},
		"convert-api":               {"--to", "native", "testdata/shop-gateway-api-rules.json"},
		"convert-to-gateway":        {"--to", "sentinel-java", "--document", "gateway", "testdata/param.yaml"},
		"convert-resources":         {"--to", "native", "testdata/resources.yaml"},
		"convert-no-isolation":      {"--to", "sentinel-go", "testdata/isolation.yaml"},
		"convert-several":           {"--to", "sentinel-go", "testdata/rules.yaml"},
		"convert-no-such-document":  {"--to", "sentinel-go", "--document", "isolation", "testdata/shop-circuitbreaker-rules.json"},
		"convert-no-such-format":    {"--to", "sentinel", "testdata/rules.yaml"},
		"convert-refused":           {"--to", "sentinel-java", "testdata/bad.yaml"},
		"convert-missing":           {"--to", "native", "testdata/none.json"},
		"convert-without-knowledge": {"--to", "native", "testdata/unclear.json"},
	} {
		t.Run(name, func(t *testing.T) {
			runCordon(t, "", append([]string{"convert"}, args...)...).golden(t, name)
		})
	}
}

func TestConvertNeedsSomethingToConvert(t *testing.T) {
	r := runCordon(t, "[]", "convert", "--to", "sentinel-go", "--kind", "flow", "-")
	require.Equal(t, exitMisuse, r.code)
	require.Contains(t, r.err, "holds no rules")
	require.Empty(t, r.out)
}

// What is converted means the same: there and back gives the same document again.
func TestConvertThereAndBack(t *testing.T) {
	folder := t.TempDir()
	r := runCordon(t, "", "convert", "--to", "native", "testdata/shop-circuitbreaker-rules.json")
	require.Equal(t, exitGood, r.code, r.err)
	native := r.out

	r = runCordon(t, native, "convert", "--to", "sentinel-go", "-o", folder, "-")
	require.Equal(t, exitGood, r.code, r.err)
	require.Empty(t, r.out)
	r = runCordon(t, "", "convert", "--to", "native", filepath.Join(folder, "breaker.json"))
	require.Equal(t, exitGood, r.code, r.err)
	require.Equal(t, native, r.out)
}

// A gateway rule for an API stays one where its group of paths is in another document; where the other form cannot say so it is listed.
func TestConvertKeepsRulesOfAPIs(t *testing.T) {
	const flows = `[{"resource":"api","resourceMode":1,"count":1},{"resource":"api","resourceMode":1,"grade":0,"count":2},{"resource":"route","resourceMode":0,"count":3},{"resource":"api","resourceMode":1,"count":-1}]`
	r := runCordon(t, flows, "convert", "--kind", "gateway", "--to", "sentinel-java", "-")
	require.Equal(t, exitBad, r.code, "one is refused")
	require.Equal(t, 2, strings.Count(r.out, `"resource":"api","resourceMode":1`), r.out)
	require.Equal(t, 1, strings.Count(r.out, `"resource":"route","resourceMode":0`), r.out)
	require.NotContains(t, r.err, "lost")

	r = runCordon(t, strings.Replace(flows, "-1}", "7}", 1), "convert", "--kind", "gateway", "--to", "native", "-")
	require.Equal(t, exitGood, r.code, r.err)
	require.Contains(t, r.err, `lost: flow (api#1): resource: it is for the API "api"`)
	require.Contains(t, r.err, `lost: concurrency (api#1): resource: it is for the API "api"`)
	require.Equal(t, 3, strings.Count(r.err, "lost"), r.err)

	// With the group beside them they come back as they were.
	r = runCordon(t, r.out+"apiGroup: [{name: api, paths: [{exact: /a}]}]\n", "convert", "--document", "gateway", "--to", "sentinel-java", "-")
	require.Equal(t, exitGood, r.code, r.err)
	require.Equal(t, 3, strings.Count(r.out, `"resource":"api","resourceMode":1`), r.out)
	require.Equal(t, 1, strings.Count(r.out, `"resource":"route","resourceMode":0`), r.out)
	require.Empty(t, r.err)

	// Without any group nobody knows which of them are for APIs.
	r = runCordon(t, "cordon: 1\nflow: [{resource: api, limit: 1, mode: smooth}]\n", "convert", "--document", "gateway", "--to", "sentinel-java", "-")
	require.Equal(t, exitGood, r.code, r.err)
	require.Contains(t, r.out, `"resource":"api","resourceMode":0`)
	require.Contains(t, r.err, "warning: the document has no groups of paths (apiGroup)")
}

// What only Sentinel Java knows of a rule stays where the rule is written for it again, without the refused rules, and is listed where it is written otherwise.
func TestConvertKeepsClusters(t *testing.T) {
	const good = `[
  {"id":1,"app":"shop","gmtCreate":1700000000000,"resource":"a","count":5,"clusterMode":true,"clusterConfig":{"flowId":7,"thresholdType":1}},
  {"id":2,"resource":"b","count":6.0,"grade":0,"clusterMode":false,"clusterConfig":{"flowId":8},"remark":"x"}
]
`
	flows := strings.Replace(good, "[", `[{"resource":"bad","count":-1},`, 1)
	r := runCordon(t, flows, "convert", "--kind", "flow", "--to", "sentinel-java", "-")
	require.Equal(t, exitBad, r.code, "one is refused")
	require.Equal(t, good, r.out)
	require.NotContains(t, r.err, "lost")
	for _, format := range []string{"native", "sentinel-go"} {
		r = runCordon(t, flows, "convert", "--kind", "flow", "--to", format, "-o", t.TempDir(), "-")
		require.Equal(t, exitBad, r.code)
		require.Contains(t, r.err, "lost: flow (1): clusterMode: counted locally until a quota store is configured", format)
		require.Equal(t, 1, strings.Count(r.err, "lost"), r.err)
	}
	r = runCordon(t, flows, "convert", "--kind", "flow", "--to", "sentinel-java", "--document", "gateway", "-")
	require.Contains(t, r.err, "lost: flow (1): clusterMode")
	require.NotContains(t, r.out, "cluster")
	require.NotContains(t, r.err, "warning: <stdin>:2:3: warning", "a warning is said to be one once")
}

func TestConvertWritesAllDocumentsIntoAFolder(t *testing.T) {
	folder := t.TempDir()
	runCordon(t, "", "convert", "--to", "sentinel-go", "-o", folder, "testdata/rules.yaml")
	for _, name := range []string{"flow.json", "isolation.json", "breaker.json"} {
		r := runCordon(t, "", "check", filepath.Join(folder, name))
		require.Equal(t, exitGood, r.code, "%s: %s", name, r.out)
	}
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 3)
}

func TestConvertWritesIntoAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	r := runCordon(t, "", "convert", "--to", "native", "-o", file, "testdata/shop-circuitbreaker-rules.json")
	require.Equal(t, exitGood, r.code, r.err)
	require.Equal(t, exitGood, runCordon(t, "", "check", file).code)

	r = runCordon(t, "", "convert", "--to", "native", "-o", filepath.Join(file, "not", "a", "folder"), "testdata/shop-circuitbreaker-rules.json")
	require.Equal(t, exitMisuse, r.code)
	require.Contains(t, r.err, "writing the rules")
}
