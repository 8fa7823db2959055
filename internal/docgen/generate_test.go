package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDocsAreCurrent(t *testing.T) {
	files, err := generate("../..")
	require.NoError(t, err)
	require.Len(t, files, 2)
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
	require.Contains(t, schema["properties"], "flow")
	require.Contains(t, schema["properties"], "isolation")
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
