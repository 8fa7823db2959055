package main

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/rule"
)

func TestDocsAreCurrent(t *testing.T) {
	files, err := generate("../..")
	require.NoError(t, err)
	require.Len(t, files, 4)
	for name, want := range files {
		got, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "%s is out of date: go run ./internal/docgen", name)
	}
}

func TestEveryFieldIsDescribed(t *testing.T) {
	comments, err := fieldComments("../..")
	require.NoError(t, err)
	for _, s := range sections() {
		for i := range s.typ.NumField() {
			require.NotEmpty(t, comments[s.folder+"."+s.typ.Name()+"."+s.typ.Field(i).Name], "%s.%s", s.typ, s.typ.Field(i).Name)
		}
	}
}

func TestSchemaIsJSON(t *testing.T) {
	files, err := generate("../..")
	require.NoError(t, err)
	var schema map[string]any
	require.NoError(t, json.Unmarshal(files["../../docs/rules.schema.json"], &schema))
	for _, s := range sections() {
		require.Contains(t, schema["properties"], s.key)
	}
	refs := regexp.MustCompile(`"#/\$defs/(\w+)"`).FindAllStringSubmatch(string(files["../../docs/rules.schema.json"]), -1)
	require.NotEmpty(t, refs)
	for _, ref := range refs {
		require.Contains(t, schema["$defs"], ref[1])
	}
	// Types of one name in several kinds are one definition.
	for _, s := range sections() {
		for name, def := range rule.Schema(s.typ, nil)["$defs"].(map[string]any) {
			require.Equal(t, def.(map[string]any)["type"], schema["$defs"].(map[string]any)[name].(map[string]any)["type"], "%s of %s", name, s.key)
		}
	}
}

// What Sentinel calls a field is a key that the page about its documents explains.
func TestCounterpartsAreKeys(t *testing.T) {
	page, err := os.ReadFile("../../docs/sentinel.md")
	require.NoError(t, err)
	known := map[string]bool{}
	for _, w := range regexp.MustCompile(`[A-Za-z]+`).FindAllString(string(page), -1) {
		known[w] = true
	}
	table, err := counterpartTable()
	require.NoError(t, err)
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		for _, name := range regexp.MustCompile("`([A-Za-z]+)`").FindAllStringSubmatch(strings.Join(cells[3:], "|"), -1) {
			require.True(t, known[name[1]], "%s: docs/sentinel.md knows no %s", line, name[1])
		}
	}
	require.Contains(t, table, "| `flow` | `limit` | `count` | `threshold` |\n")
	require.Contains(t, table, "| `isolation` | all | – | – |\n")
	require.Contains(t, table, "| `apiGroup` | `paths[].pattern` | `pattern` with `matchStrategy` 1 | – |\n")
}

// Every object that a scenario holds has a table, and every field of it a meaning.
func TestScenarioIsDescribed(t *testing.T) {
	comments, err := commentsIn("../..", "sim/scenario")
	require.NoError(t, err)
	shown := map[reflect.Type]bool{}
	for _, typ := range scenarioTypes() {
		shown[typ] = true
	}
	for _, typ := range scenarioTypes() {
		for i := range typ.NumField() {
			f := typ.Field(i)
			require.NotEmpty(t, comments["scenario."+typ.Name()+"."+f.Name], "%s.%s", typ, f.Name)
			inner := f.Type
			for inner.Kind() == reflect.Slice || inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if inner.Kind() == reflect.Struct {
				require.True(t, shown[inner], "%s has no table", inner)
			}
		}
	}
	schema := scenarioSchema(nil)
	data, err := json.Marshal(schema)
	require.NoError(t, err)
	refs := regexp.MustCompile(`#/\$defs/(\w+)`).FindAllStringSubmatch(string(data), -1)
	require.NotEmpty(t, refs)
	for _, ref := range refs {
		require.Contains(t, schema["$defs"], ref[1])
	}
}

func TestPresetsAreCompared(t *testing.T) {
	table, err := presetTable()
	require.NoError(t, err)
	require.Contains(t, table, "| field | `default` | `careful` | `quick` |\n|---|---|---|---|\n")
	require.Contains(t, table, "| `base` | 5s | 5s | 2s |\n")
	require.Contains(t, table, "| `localErrors` | – | – | 3 |\n")
	require.NotContains(t, table, "minRatio", "they agree in it")
}

// What a comment calls by its Go name is called by its key, and only what its own package has.
func TestCommentsSpeakOfDocuments(t *testing.T) {
	require.Equal(t, "`above` 0 the breaker opens.", inDocument("breaker", "Above 0 the breaker opens. Breaker is a type."))
	require.Equal(t, "Above 0, `limit` is. `reject` it.", inDocument("flow", "Above 0, Limit is. Reject it."))
	require.Equal(t, "Default 1, `base` to 2.", inDocument("isolation", "Default 1, Base to 2."))
}
