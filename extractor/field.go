package extractor

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fieldOf returns the exported field that a name means: the one that is called so in Go, else by its json, protobuf or hessian tag, else the one whose name or tag differs only in
// upper and lower case, where one that differs in the first letter alone goes first. Fields of embedded structs count as Go has it: the one that is nested least
// deeply hides the others. ambiguous says why there is none if several mean it.
func fieldOf(t reflect.Type, name string) (f reflect.StructField, ok bool, ambiguous string) {
	if f, ok := t.FieldByName(name); ok && f.IsExported() {
		return f, true, ""
	}
	fields := readable(t)
	first, size := utf8.DecodeRuneInString(name)
	title := string(unicode.ToUpper(first)) + name[size:]
	for _, means := range []func(names []string, f *reflect.StructField) bool{
		func(names []string, _ *reflect.StructField) bool { return slices.Contains(names, name) },
		func(_ []string, f *reflect.StructField) bool { return f.Name == title },
		func(names []string, f *reflect.StructField) bool {
			return strings.EqualFold(f.Name, name) || slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
		},
	} {
		var found []reflect.StructField
		for _, f := range fields {
			if means(tagNames(&f), &f) {
				found = append(found, f)
			}
		}
		if len(found) == 0 {
			continue
		}
		slices.SortStableFunc(found, func(a, b reflect.StructField) int { return len(a.Index) - len(b.Index) })
		if len(found) > 1 && len(found[0].Index) == len(found[1].Index) {
			return reflect.StructField{}, false, fmt.Sprintf("the fields %s and %s both mean that; write the field's Go name", found[0].Name, found[1].Name)
		}
		return found[0], true, ""
	}
	return reflect.StructField{}, false, ""
}

// readable returns the exported fields of a struct, those of embedded structs too.
func readable(t reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(t), func(f reflect.StructField) bool { return !f.IsExported() })
}

// tagNames returns the names that a field's tags give it.
func tagNames(f *reflect.StructField) []string {
	var names []string
	add := func(name string) {
		if name != "" && name != "-" {
			names = append(names, name)
		}
	}
	for _, key := range []string{"json", "hessian"} {
		name, _, _ := strings.Cut(f.Tag.Get(key), ",")
		add(name)
	}
	for part := range strings.SplitSeq(f.Tag.Get("protobuf"), ",") {
		if name, ok := strings.CutPrefix(part, "name="); ok {
			add(name)
		} else if name, ok := strings.CutPrefix(part, "json="); ok {
			add(name)
		}
	}
	return names
}

// getterOf returns the method of a type, or of pointers to it, that gets what a name means: Get and the name, whatever the case, underscores left out. It takes no argument and returns
// one result, or a second one that is a bool or an error.
func getterOf(t reflect.Type, name string) (reflect.Method, bool) {
	t = reflect.PointerTo(t)
	want := "get" + strings.ReplaceAll(name, "_", "")
	var found []reflect.Method
	for i := range t.NumMethod() {
		if m := t.Method(i); strings.EqualFold(m.Name, want) && isGetter(m.Type) {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		return reflect.Method{}, false
	}
	return found[0], true
}

func isGetter(f reflect.Type) bool {
	if f.NumIn() != 1 {
		return false
	}
	switch f.NumOut() {
	case 1:
		return true
	case 2:
		second := f.Out(1)
		return second.Kind() == reflect.Bool || second == reflect.TypeFor[error]()
	}
	return false
}

// fieldNames lists what a struct's fields are called, for people.
func fieldNames(t reflect.Type) string {
	const most = 10
	var names []string
	for _, f := range readable(t) {
		if f.Anonymous {
			continue
		}
		if len(names) == most {
			names = append(names, "...")
			break
		}
		names = append(names, f.Name)
	}
	if len(names) == 0 {
		return "it has none that are exported"
	}
	return strings.Join(names, ", ")
}

// noField says that a struct has no such field, and what it has.
func noField(t reflect.Type, name string) string {
	var names []string
	for _, f := range readable(t) {
		names = append(append(names, f.Name), tagNames(&f)...)
	}
	if near := closest(name, names); near != "" {
		return fmt.Sprintf("there is no such field or getter; did you mean %s?", near)
	}
	return "there is no such field or getter; fields are: " + fieldNames(t)
}
