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
}
