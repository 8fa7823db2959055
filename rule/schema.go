package rule

import "reflect"

// Schema describes a struct with `rule` tags as a JSON Schema (draft 2020-12) object, with the descriptions that describe gives for a type's
// field (its comment); describe may be nil. Enumerations come from types that implement interface{ Values() []string }.
func Schema(t reflect.Type, describe func(t reflect.Type, field string) string) map[string]any {
	panic("stub")
}
