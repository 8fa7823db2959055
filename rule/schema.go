package rule

import (
	"encoding"
	"fmt"
	"reflect"
	"time"
)

// Schema describes a struct with `rule` tags as a JSON Schema (draft 2020-12) object, with the descriptions that describe gives for a type's
// field by its Go name (its comment); describe may be nil. Enumerations come from types that implement interface{ Values() []string }.
// Durations, matches and inner structs stand under $defs. What Schema accepts, Decode accepts, and the other way round, but for ranges, which rules check
// themselves. It panics on types that Decode does not know.
func Schema(t reflect.Type, describe func(t reflect.Type, field string) string) map[string]any {
	if describe == nil {
		describe = func(reflect.Type, string) string { return "" }
	}
	s := &schemer{describe: describe, defs: make(map[string]any), names: make(map[reflect.Type]string)}
	out := s.inline(t)
	out["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	if len(s.defs) > 0 {
		out["$defs"] = s.defs
	}
	return out
}

// schemer collects the definitions of one schema.
type schemer struct {
	describe func(t reflect.Type, field string) string
	defs     map[string]any
	names    map[reflect.Type]string
}

// schema describes a type: by a reference if it has a definition of its own.
func (s *schemer) schema(t reflect.Type) map[string]any {
	named := t == reflect.TypeFor[time.Duration]() || t == reflect.TypeFor[Match]() || t.Kind() == reflect.Struct && t.Name() != "" && !isText(t)
	if !named {
		return s.inline(t)
	}
	name, known := s.names[t]
	if !known {
		name = s.name(t)
		s.names[t] = name // before its fields: a struct may hold itself
		s.defs[name] = nil
		s.defs[name] = s.inline(t)
	}
	return map[string]any{"$ref": "#/$defs/" + name}
}

// name finds a free name for a type's definition: its own, then with its package, then with a number.
func (s *schemer) name(t reflect.Type) string {
	name := t.Name()
	for i := 1; ; i++ {
		if _, taken := s.defs[name]; !taken {
			return name
		}
		name = fmt.Sprintf("%s%d", t, i)
	}
}

func isText(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// inline describes a type in place.
func (s *schemer) inline(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return durationSchema()
	case t == reflect.TypeFor[Match]():
		return matchSchema()
	case isScalar(t):
		return map[string]any{"type": []any{"string", "number", "boolean"}}
	case isText(t):
		return textSchema(t)
	}
	switch t.Kind() {
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.schema(t.Elem())}
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return map[string]any{"type": "object", "additionalProperties": s.schema(t.Elem())}
		}
	case reflect.Pointer:
		return map[string]any{"anyOf": []any{s.schema(t.Elem()), map[string]any{"type": "null"}}}
	case reflect.Struct:
		return s.object(t)
	}
	panic(fmt.Sprintf("rule: a document cannot hold a %s", t))
}

func (s *schemer) object(t reflect.Type) map[string]any {
	properties := make(map[string]any)
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("rule")
		if name == "" {
			continue
		}
		property := s.schema(f.Type)
		if text := s.describe(t, f.Name); text != "" {
			property["description"] = text
		}
		properties[name] = property
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
}

func textSchema(t reflect.Type) map[string]any {
	out := map[string]any{"type": "string"}
	if known, ok := reflect.New(t).Interface().(enum); ok {
		values := []any{}
		for _, v := range known.Values() {
			values = append(values, v)
		}
		out["enum"] = values
	}
	return out
}

func durationSchema() map[string]any {
	return map[string]any{
		"description": `A duration, not negative: "250ms", "10s", "1m30s", "2h". 0 needs no unit.`,
		"anyOf": []any{
			map[string]any{"type": "string", "pattern": `^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`},
			map[string]any{"const": 0},
		},
	}
}

func matchSchema() map[string]any {
	text := map[string]any{"type": "string", "minLength": 1}
	form := func(key string, value map[string]any) map[string]any {
		return map[string]any{
			"type": "object", "properties": map[string]any{key: value}, "required": []any{key}, "additionalProperties": false,
		}
	}
	return map[string]any{
		"description": `Which resources: a name, {wildcard: "/search/*"} (* any characters, ? any one), {regex: ...} (RE2, matching the whole name) or {default: true}.`,
		"anyOf": []any{
			text, form(ByWildcard.String(), text), form(ByRegex.String(), text), form(ByDefault.String(), map[string]any{"const": true}),
		},
	}
}
