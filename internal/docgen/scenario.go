package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sim/scenario"
)

// scenarioTypes are the objects of a scenario, each a table of its own, in the order of the page.
func scenarioTypes() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[scenario.Document](), reflect.TypeFor[scenario.Instances](), reflect.TypeFor[scenario.Condition](), reflect.TypeFor[scenario.Latency](),
		reflect.TypeFor[scenario.Script](), reflect.TypeFor[scenario.Flap](), reflect.TypeFor[scenario.Noisy](), reflect.TypeFor[scenario.Shocks](),
		reflect.TypeFor[scenario.Restart](), reflect.TypeFor[scenario.Span](), reflect.TypeFor[scenario.Region](), reflect.TypeFor[scenario.Clients](),
		reflect.TypeFor[scenario.Stream](), reflect.TypeFor[scenario.Change](), reflect.TypeFor[scenario.Retry](), reflect.TypeFor[scenario.Policy](),
		reflect.TypeFor[scenario.RuleFile](),
	}
}

// generateScenario adds the tables of fields in docs/sim.md and the JSON Schema docs/sim.schema.json.
func generateScenario(root string, files map[string][]byte) error {
	comments, err := commentsIn(root, "sim/scenario")
	if err != nil {
		return err
	}
	describe := func(t reflect.Type, field string) string {
		words := map[string]string{}
		for i := range t.NumField() {
			if key, ok := t.Field(i).Tag.Lookup("rule"); ok {
				words[t.Field(i).Name] = key
			}
		}
		return withKeys(comments[path.Base(t.PkgPath())+"."+t.Name()+"."+field], words)
	}
	schema, err := json.MarshalIndent(scenarioSchema(describe), "", "  ")
	if err != nil {
		return err
	}
	files[filepath.Join(root, "docs", "sim.schema.json")] = append(schema, '\n')

	guide := filepath.Join(root, "docs", "sim.md")
	page, err := os.ReadFile(guide)
	if err != nil {
		return err
	}
	for _, t := range scenarioTypes() {
		page, err = replaceTable(page, "fields of "+t.Name(), scenarioTable(t, describe))
		if err != nil {
			return err
		}
	}
	files[guide] = page
	return nil
}

// scenarioTable is the Markdown table of an object's fields.
func scenarioTable(t reflect.Type, describe func(reflect.Type, string) string) string {
	var b strings.Builder
	b.WriteString("| field | type | meaning |\n|---|---|---|\n")
	for i := range t.NumField() {
		if f := t.Field(i); f.Tag.Get("rule") != "" {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Tag.Get("rule"), scenarioType(f.Type), cell(describe(t, f.Name)))
		}
	}
	return b.String()
}

// scenarioType names a field's type: an object by the heading that its table stands under.
func scenarioType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return scenarioType(t.Elem())
	case reflect.Slice:
		return "list of " + scenarioType(t.Elem())
	case reflect.Struct:
		name := t.Name()
		return fmt.Sprintf("[%s](#%s)", strings.ToLower(name), strings.ToLower(name))
	}
	return typeName(t)
}

// scenarioSchema is the JSON Schema of a scenario, with the short forms that may stand for an object or a list.
func scenarioSchema(describe func(reflect.Type, string) string) map[string]any {
	out := rule.Schema(reflect.TypeFor[scenario.Document](), describe)
	out["title"] = "cordon scenario"
	properties, defs := out["properties"].(map[string]any), out["$defs"].(map[string]any)
	properties["cordon-sim"] = map[string]any{"const": 1, "description": "The version of the document."}
	out["required"] = []string{"cordon-sim", "length", "instances", "clients"}

	short := func(name string, shorts ...any) {
		defs[name] = map[string]any{"anyOf": append(shorts, defs[name])}
	}
	duration := map[string]any{"$ref": "#/$defs/Duration"}
	short("Latency", duration)
	short("Stream", map[string]any{"type": "number"})
	short("Policy", map[string]any{"enum": scenario.Kind("").Values()})
	short("RuleFile", map[string]any{"type": "string"})

	within := func(name string) map[string]any { return defs[name].(map[string]any)["properties"].(map[string]any) }
	one := func(properties map[string]any, key string, more ...any) {
		list := properties[key].(map[string]any)
		wrapped := map[string]any{"anyOf": append([]any{list["items"], map[string]any{"type": "array", "items": list["items"]}}, more...)}
		if text, ok := list["description"]; ok {
			wrapped["description"] = text
		}
		properties[key] = wrapped
	}
	lists := map[string]any{"cordon": map[string]any{"const": 1}}
	kinds := reflect.TypeFor[cordon.Rules]()
	for i := range kinds.NumField() {
		lists[kinds.Field(i).Tag.Get("rule")] = map[string]any{"type": "array", "items": map[string]any{"type": "object"}}
	}
	rules := map[string]any{
		"type": "object", "description": "The lists of a rule document: see rules.schema.json.", "additionalProperties": false, "properties": lists,
	}
	one(properties, "policies")
	one(properties, "rules", rules)
	one(within("Instances"), "rules", rules)
	one(within("Clients"), "load")
	return out
}
