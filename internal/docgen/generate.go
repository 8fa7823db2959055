package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

// section is one list of rules in the document.
type section struct {
	key    string
	typ    reflect.Type
	folder string
	needs  map[string]any // the schema's words for what must be written
}

func sections() []section {
	return []section{
		{"flow", reflect.TypeFor[flow.Rule](), "flow", map[string]any{"required": []string{"resource"}, "anyOf": []any{
			map[string]any{"required": []string{"limit"}}, map[string]any{"required": []string{"memory"}},
		}}},
		{"concurrency", reflect.TypeFor[flow.ConcurrencyRule](), "flow", map[string]any{"required": []string{"resource", "limit"}}},
		{"breaker", reflect.TypeFor[breaker.Rule](), "breaker", map[string]any{"required": []string{"resource", "threshold"}}},
	}
}

// generate returns the generated files by name, for the repository at root.
func generate(root string) (map[string][]byte, error) {
	comments, err := fieldComments(root)
	if err != nil {
		return nil, err
	}
	describe := func(t reflect.Type, field string) string {
		return inDocument(comments[path.Base(t.PkgPath())+"."+t.Name()+"."+field])
	}
	schema, err := json.MarshalIndent(document(describe), "", "  ")
	if err != nil {
		return nil, err
	}
	reference := filepath.Join(root, "docs", "rules.md")
	page, err := os.ReadFile(reference)
	if err != nil {
		return nil, err
	}
	for _, s := range sections() {
		page, err = replaceTable(page, s.key, table(s.typ, describe))
		if err != nil {
			return nil, err
		}
	}
	return map[string][]byte{
		reference: page,
		filepath.Join(root, "docs", "rules.schema.json"): append(schema, '\n'),
	}, nil
}

// inDocument turns a comment, which speaks of Go, into what it says to somebody who writes a document: fields by their keys,
// modes by their texts, and no word about the types of the package.
func inDocument(comment string) string {
	words := map[string]string{"True": "true", "False": "false"}
	enums := []interface{ Values() []string }{flow.Reject, breaker.ErrorRatio}
	for _, e := range enums {
		for _, v := range e.Values() {
			words[strings.ToUpper(v[:1])+v[1:]] = v
		}
	}
	for _, s := range sections() {
		keys(words, s.typ)
	}
	var kept []string
	for _, sentence := range strings.SplitAfter(comment, ". ") {
		if !ofPackage.MatchString(sentence) {
			kept = append(kept, sentence)
		}
	}
	return word.ReplaceAllStringFunc(strings.TrimSpace(strings.Join(kept, "")), func(w string) string {
		if key, ok := words[w]; ok {
			return "`" + key + "`"
		}
		return w
	})
}

// keys adds the keys of a struct's fields, and of those within.
func keys(words map[string]string, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		if key, ok := f.Tag.Lookup("rule"); ok {
			words[f.Name] = key
			if f.Type.Kind() == reflect.Struct {
				keys(words, f.Type)
			}
		}
	}
}

var (
	word      = regexp.MustCompile(`[A-Za-z]+`)
	ofPackage = regexp.MustCompile(`\b(Limiter|Bulkhead|Breaker)\b`)
)

// document is the JSON Schema of the native document.
func document(describe func(reflect.Type, string) string) map[string]any {
	properties := map[string]any{
		"cordon": map[string]any{"const": 1, "description": "The version of the document."},
	}
	for _, s := range sections() {
		item := rule.Schema(s.typ, describe)
		for k, v := range s.needs {
			item[k] = v
		}
		properties[s.key] = map[string]any{"type": "array", "items": item}
	}
	return map[string]any{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"title":                "cordon rules",
		"type":                 "object",
		"required":             []string{"cordon"},
		"additionalProperties": false,
		"properties":           properties,
	}
}

// fieldComments returns the comments of all struct fields of the rule packages, as one line each, by "package.Type.Field".
func fieldComments(root string) (map[string]string, error) {
	comments := map[string]string{}
	for _, folder := range []string{"flow", "breaker"} {
		names, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if spec, ok := n.(*ast.TypeSpec); ok {
					if st, ok := spec.Type.(*ast.StructType); ok {
						collect(comments, folder+"."+spec.Name.Name, st)
					}
				}
				return true
			})
		}
	}
	return comments, nil
}

// collect adds the fields of a struct. A field without a comment shares that of the field above it.
func collect(comments map[string]string, typ string, st *ast.StructType) {
	last := ""
	for _, f := range st.Fields.List {
		if f.Doc != nil {
			last = strings.Join(strings.Fields(f.Doc.Text()), " ")
		}
		for _, name := range f.Names {
			comments[typ+"."+name.Name] = last
		}
	}
}

// table is the Markdown table of a rule's fields; the fields of an inner struct are named with a dot.
func table(t reflect.Type, describe func(reflect.Type, string) string) string {
	var b strings.Builder
	b.WriteString("| field | type | meaning |\n|---|---|---|\n")
	rows(&b, t, "", describe)
	return b.String()
}

func rows(b *strings.Builder, t reflect.Type, prefix string, describe func(reflect.Type, string) string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, ok := f.Tag.Lookup("rule")
		if !ok {
			continue
		}
		fmt.Fprintf(b, "| `%s%s` | %s | %s |\n", prefix, name, typeName(f.Type), cell(describe(t, f.Name)))
		if f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[rule.Match]() {
			rows(b, f.Type, prefix+name+".", describe)
		}
	}
}

// cell escapes what would end a table's cell.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func typeName(t reflect.Type) string {
	if v, ok := reflect.Zero(t).Interface().(interface{ Values() []string }); ok {
		return "`" + strings.Join(v.Values(), "`, `") + "`"
	}
	switch {
	case t == reflect.TypeFor[rule.Match]():
		return "match"
	case t.PkgPath() == "time" && t.Name() == "Duration":
		return "duration"
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float64:
		return "number"
	case reflect.Struct:
		return "object"
	}
	return "whole number"
}

// replaceTable puts a table between the marks of a section.
func replaceTable(page []byte, key, table string) ([]byte, error) {
	begin, end := []byte("<!-- fields of "+key+" -->\n"), []byte("<!-- end -->")
	i := bytes.Index(page, begin)
	if i < 0 {
		return nil, fmt.Errorf("docs/rules.md has no mark %q", begin)
	}
	i += len(begin)
	j := bytes.Index(page[i:], end)
	if j < 0 {
		return nil, fmt.Errorf("docs/rules.md has no mark %q after that of %s", end, key)
	}
	return bytes.Join([][]byte{page[:i], []byte(table), page[i+j:]}, nil), nil
}
