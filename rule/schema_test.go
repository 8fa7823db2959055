package rule

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSchema compares the schema of a kind with the golden file; UPDATE_GOLDEN=1 writes it.
func TestSchema(t *testing.T) {
	t.Parallel()
	got, err := json.MarshalIndent(Schema(reflect.TypeFor[limitRule](), func(t reflect.Type, field string) string {
		if field == "Limit" || field == "Low" {
			return t.Name() + "." + field
		}
		return ""
	}), "", "  ")
	require.NoError(t, err)
	const file = "testdata/schema.json"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(file, append(got, '\n'), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(got))
}

func TestSchemaOfEveryType(t *testing.T) {
	t.Parallel()
	type memory struct { // another type of that name
		X map[string]*memory `rule:"x"`
	}
	type outer struct {
		everything `rule:"everything"`
		Other      memory `rule:"other"`
	}
	schema := Schema(reflect.TypeFor[outer](), nil)
	defs := schema["$defs"].(map[string]any)
	require.ElementsMatch(t, []string{"Duration", "Match", "memory", "rule.memory1", "everything"}, keys(defs))
	for name, property := range defs["everything"].(map[string]any)["properties"].(map[string]any) {
		require.NotEmpty(t, property, name)
	}
	properties := defs["everything"].(map[string]any)["properties"].(map[string]any)
	require.Equal(t, map[string]any{"type": "integer", "minimum": 0}, properties["uint16"])
	require.Equal(t, map[string]any{"type": "string", "enum": []any{"reject", "smooth", "pace"}}, properties["mode"])
	require.Equal(t, map[string]any{"type": "string"}, properties["word"])
	require.Equal(t, map[string]any{"anyOf": []any{map[string]any{"$ref": "#/$defs/everything"}, map[string]any{"type": "null"}}}, properties["inner"])
	require.Equal(t, map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "number"}}, properties["map"])
	require.Panics(t, func() { Schema(reflect.TypeFor[chan int](), nil) })
	_, err := json.Marshal(schema)
	require.NoError(t, err)
}

func keys(m map[string]any) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}
