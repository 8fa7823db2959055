package rule

import (
	"reflect"
)

// A Change is one rule that differs between two sets.
type Change struct {
	// Kind is the rule's kind ("flow"), ID its id within the kind.
	Kind, ID string
	// Fields names the fields that differ, as documents call them; nil for an added or removed rule.
	Fields []string
}

// Diff compares two sets of rules of one kind by id; within a set ids must be unique. Added and changed rules come in new's order,
// removed ones in old's. Order alone is no change.
func Diff[R Rule[R]](kind string, old, new []R) (added, changed, removed []Change, unchanged int) {
	// Mostly few rules of many are edited, so the sets run in step for a while and need no look-up that far.
	same := 0
	for same < len(old) && same < len(new) && old[same].Meta().ID == new[same].Meta().ID {
		same++
	}
	byID := make(map[string]int, len(old)-same)
	for i := same; i < len(old); i++ {
		byID[old[i].Meta().ID] = i
	}
	seen := make([]bool, len(old))
	for i, r := range new {
		at, id, known := i, "", true
		if i >= same {
			id = r.Meta().ID
			at, known = byID[id]
		}
		if !known {
			added = append(added, Change{Kind: kind, ID: id})
			continue
		}
		seen[at] = true
		if old[at].Equal(r) {
			unchanged++
			continue
		}
		changed = append(changed, Change{Kind: kind, ID: r.Meta().ID, Fields: changedFields(old[at], r)})
	}
	for i, r := range old {
		if !seen[i] {
			removed = append(removed, Change{Kind: kind, ID: r.Meta().ID})
		}
	}
	return added, changed, removed, unchanged
}

// changedFields names the tagged fields that differ between two structs of the same type.
func changedFields(a, b any) []string {
	va, vb := reflect.Indirect(reflect.ValueOf(a)), reflect.Indirect(reflect.ValueOf(b))
	fields := []string{}
	if va.Kind() != reflect.Struct || vb.Kind() != reflect.Struct {
		return fields
	}
	t := va.Type()
	for i := range t.NumField() {
		name := t.Field(i).Tag.Get("rule")
		if name != "" && !reflect.DeepEqual(va.Field(i).Interface(), vb.Field(i).Interface()) {
			fields = append(fields, name)
		}
	}
	return fields
}
