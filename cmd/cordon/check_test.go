package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	for name, args := range map[string][]string{
		"check-good":           {"testdata/rules.yaml", "testdata/shop-circuitbreaker-rules.json"},
		"check-bad":            {"testdata/bad.yaml"},
		"check-isolation":      {"testdata/isolation.yaml", "testdata/isolation-bad.yaml"},
		"check-param":          {"testdata/param.yaml", "testdata/param-bad.yaml"},
		"check-sentinel-param": {"testdata/shop-param-rules.json", "testdata/shop.hotspot.json"},
		"check-process":        {"testdata/process.yaml", "testdata/process-bad.yaml"},
		"check-system":         {"testdata/shop-system-rules.json", "testdata/shop-authority-rules.json"},
		"check-gateway":        {"testdata/shop-gateway-flow-rules.json", "testdata/shop-gateway-api-rules.json"},
		"check-resources":      {"testdata/resources.yaml"},
		"check-resources-kind": {"--kind", "system", "testdata/resources.yaml"},
		"check-dialect":        {"--dialect", "go", "--kind", "system", "testdata/shop-system-rules.json"},
		"check-format":         {"--format", "native", "testdata/shop.flow.json"},
		"check-no-format":      {"--format", "toml", "testdata/rules.yaml"},
		"check-native-kind":    {"--format", "native", "--kind", "flow", "testdata/rules.yaml"},
		"check-cut":            {"testdata/cut.yaml"},
		"check-partial":        {"testdata/shop.flow.json"},
		"check-unclear":        {"testdata/unclear.json"},
		"check-kind":           {"--kind", "isolation", "testdata/unclear.json"},
		"check-wrong-kind":     {"--kind", "breaker", "testdata/shop.flow.json"},
		"check-no-kind":        {"--kind", "speed", "testdata/unclear.json"},
		"check-missing":        {"testdata/none.yaml", "testdata/rules.yaml"},
		"check-json":           {"--json", "testdata/rules.yaml", "testdata/bad.yaml", "testdata/shop.flow.json", "testdata/cut.yaml"},
		"check-mixed":          {"testdata/rules.yaml", "testdata/bad.yaml", "testdata/shop.flow.json"},
	} {
		t.Run(name, func(t *testing.T) {
			runCordon(t, "", append([]string{"check"}, args...)...).golden(t, name)
		})
	}
}

// The exit codes are what scripts go by.
func TestCheckExitCodes(t *testing.T) {
	for code, cases := range map[int][][]string{
		exitGood:   {{"testdata/rules.yaml"}},
		exitBad:    {{"testdata/bad.yaml"}, {"testdata/cut.yaml"}, {"testdata/rules.yaml", "testdata/shop.flow.json"}, {"--json", "testdata/bad.yaml"}},
		exitMisuse: {{"testdata/none.yaml"}, {"testdata"}, {"testdata/unclear.json"}, {"testdata/bad.yaml", "testdata/none.yaml"}},
	} {
		for _, args := range cases {
			require.Equal(t, code, runCordon(t, "", append([]string{"check"}, args...)...).code, "%v", args)
		}
	}
}

func TestCheckReadsTheStandardInput(t *testing.T) {
	text, err := os.ReadFile("testdata/rules.yaml")
	require.NoError(t, err)
	r := runCordon(t, string(text), "check", "-")
	require.Equal(t, exitGood, r.code, r.out)
	require.Contains(t, r.out, "<stdin>")

	r = runCordon(t, `[{"resource": "/a", "count": 1}]`, "check", "-")
	require.Equal(t, exitGood, r.code, r.err)
	require.Contains(t, r.out, "sentinel-java, flow")
}

// faults #64: what is invalid is named with its field, the good rules beside it too, and nothing is taken for zero.
func TestCheckNamesGoodAndBadRulesOfOneDocument(t *testing.T) {
	r := runCordon(t, "", "check", "--json", "testdata/shop.flow.json")
	require.Equal(t, exitBad, r.code)
	var documents []documentJSON
	require.NoError(t, json.Unmarshal([]byte(r.out), &documents))
	require.Len(t, documents, 1)
	require.Len(t, documents[0].Rules, 2)
	require.Len(t, documents[0].Problems, 1)
	p := documents[0].Problems[0]
	require.Equal(t, "fault", p.Severity)
	require.Equal(t, 4, p.Line)
	require.Positive(t, p.Column)
	require.Equal(t, "count", p.Field)
	require.Equal(t, 2, *p.Index)
}

func TestCheckWithoutAnyDocumentStaysJSON(t *testing.T) {
	r := runCordon(t, "", "check", "--json", "testdata/none.yaml")
	require.Equal(t, exitMisuse, r.code)
	require.JSONEq(t, "[]", r.out)
	require.Contains(t, r.err, "none.yaml")
}
