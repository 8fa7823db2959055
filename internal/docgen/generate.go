package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/cordon-go/cordon/apigroup"
	"github.com/cordon-go/cordon/authority"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/system"
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
		{"isolation", reflect.TypeFor[isolation.Rule](), "isolation", map[string]any{"required": []string{"service"}}},
		{"param", reflect.TypeFor[paramflow.Rule](), "paramflow", map[string]any{"required": []string{"resource", "param", "limit"}}},
		{"system", reflect.TypeFor[system.Rule](), "system", map[string]any{"required": []string{"metric"}, "anyOf": []any{
			map[string]any{"required": []string{"limit"}}, map[string]any{"required": []string{"slowerThan"}},
		}}},
		{"authority", reflect.TypeFor[authority.Rule](), "authority", map[string]any{"required": []string{"resource"}, "oneOf": []any{
			map[string]any{"required": []string{"allow"}}, map[string]any{"required": []string{"deny"}},
		}}},
		{"apiGroup", reflect.TypeFor[apigroup.Group](), "apigroup", map[string]any{"required": []string{"name"}}},
	}
}

// generate returns the generated files by name, for the repository at root.
func generate(root string) (map[string][]byte, error) {
	comments, err := fieldComments(root)
	if err != nil {
		return nil, err
	}
	describe := func(t reflect.Type, field string) string {
		folder := path.Base(t.PkgPath())
		return inDocument(folder, comments[folder+"."+t.Name()+"."+field])
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
		page, err = replaceTable(page, "fields of "+s.key, table(s.typ, describe))
		if err != nil {
			return nil, err
		}
	}
	presets, err := presetTable()
	if err != nil {
		return nil, err
	}
	if page, err = replaceTable(page, "the presets", presets); err != nil {
		return nil, err
	}
	names, err := counterpartTable()
	if err != nil {
		return nil, err
	}
	if page, err = replaceTable(page, "the names in Sentinel", names); err != nil {
		return nil, err
	}
	files := map[string][]byte{
		reference: page,
		filepath.Join(root, "docs", "rules.schema.json"): append(schema, '\n'),
	}
	return files, generateScenario(root, files)
}

// inDocument turns a comment, which speaks of Go, into what it says to somebody who writes a document: fields by their keys,
// modes by their texts, and no word about the types of the package, which is that in the folder.
func inDocument(folder, comment string) string {
	words := map[string]string{"True": "true", "False": "false"}
	for _, s := range sections() {
		if s.folder == folder {
			keys(words, s.typ)
		}
	}
	var kept []string
	for _, sentence := range strings.SplitAfter(ofGo.ReplaceAllString(comment, ""), ". ") {
		if !ofPackage.MatchString(sentence) {
			kept = append(kept, sentence)
		}
	}
	text := withKeys(strings.TrimSpace(strings.Join(kept, "")), words)
	return strings.ReplaceAll(text, "`only` for ", "Only for ") // which is no field there
}

// withKeys writes the words that are names in Go as they are written in documents.
func withKeys(text string, words map[string]string) string {
	return word.ReplaceAllStringFunc(text, func(w string) string {
		if key, ok := words[w]; ok {
			return "`" + key + "`"
		}
		return w
	})
}

// keys adds the keys of a struct's fields, and of those within, and the texts of their modes. Presets are named by their texts in comments too,
// and "Default" is a word that all comments use.
func keys(words map[string]string, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		if key, ok := f.Tag.Lookup("rule"); ok {
			words[f.Name] = key
			for _, v := range values(f.Type) {
				if f.Type != reflect.TypeFor[isolation.Preset]() {
					words[strings.ToUpper(v[:1])+v[1:]] = v
				}
			}
			if inner := innerStruct(f.Type); inner != nil {
				keys(words, inner)
			}
		}
	}
}

// innerStruct returns the struct that a field is or lists, nil if it is no such field.
func innerStruct(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[rule.Match]() {
		return nil
	}
	return t
}

var (
	word      = regexp.MustCompile(`[A-Za-z][A-Za-z0-9]*`)
	ofGo      = regexp.MustCompile(` \((see [a-z]+\.[A-Z][A-Za-z]*|package [a-z]+)\)`)
	ofPackage = regexp.MustCompile(`\b(Limiter|Bulkhead|Breaker|List|Group)\b`)
)

// document is the JSON Schema of the native document.
func document(describe func(reflect.Type, string) string) map[string]any {
	properties := map[string]any{
		"cordon": map[string]any{"const": 1, "description": "The version of the document."},
	}
	defs := map[string]any{} // of all kinds together, where references look for them
	for _, s := range sections() {
		item := rule.Schema(s.typ, describe)
		for k, v := range s.needs {
			item[k] = v
		}
		if inner, ok := item["$defs"].(map[string]any); ok {
			if known, ok := inner["Override"]; ok {
				known.(map[string]any)["required"] = []string{"limit"}
			}
			maps.Copy(defs, inner)
		}
		delete(item, "$defs")
		delete(item, "$schema")
		properties[s.key] = map[string]any{"type": "array", "items": item}
	}
	return map[string]any{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"title":                "cordon rules",
		"type":                 "object",
		"required":             []string{"cordon"},
		"additionalProperties": false,
		"properties":           properties,
		"$defs":                defs,
	}
}

// fieldComments returns the comments of all struct fields of the rule packages, as one line each, by "package.Type.Field".
func fieldComments(root string) (map[string]string, error) {
	return commentsIn(root, "flow", "breaker", "isolation", "paramflow", "system", "authority", "apigroup")
}

// commentsIn returns the comments of all struct fields of the packages in the folders.
func commentsIn(root string, folders ...string) (map[string]string, error) {
	comments := map[string]string{}
	for _, folder := range folders {
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
						collect(comments, path.Base(folder)+"."+spec.Name.Name, st)
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
		if inner := innerStruct(f.Type); inner != nil {
			dot := "."
			if f.Type.Kind() == reflect.Slice {
				dot = "[]."
			}
			rows(b, inner, prefix+name+dot, describe)
		}
	}
}

// cell escapes what would end a table's cell.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func typeName(t reflect.Type) string {
	if v := values(t); v != nil {
		return "`" + strings.Join(v, "`, `") + "`"
	}
	switch {
	case t == reflect.TypeFor[rule.Match]():
		return "match"
	case t.PkgPath() == "time" && t.Name() == "Duration":
		return "duration"
	}
	if t == reflect.TypeFor[paramflow.Scalar]() {
		return "text, number, true or false"
	}
	switch t.Kind() {
	case reflect.Slice:
		return "list"
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

// values returns the texts that a type knows, nil if it is not such a type.
func values(t reflect.Type) []string {
	if v, ok := reflect.Zero(t).Interface().(interface{ Values() []string }); ok {
		return v.Values()
	}
	return nil
}

// presetTable is the Markdown table of what the presets of isolation differ in.
func presetTable() (string, error) {
	names := isolation.Default.Values()
	columns := make([]*rule.Node, len(names))
	for i := range names {
		node, err := rule.Encode(isolation.Rule{Preset: isolation.Preset(i)}.WithDefaults())
		if err != nil {
			return "", err
		}
		columns[i] = node
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| field | `%s` |\n|---|%s\n", strings.Join(names, "` | `"), strings.Repeat("---|", len(names)))
	t := reflect.TypeFor[isolation.Rule]()
	for i := range t.NumField() {
		key, ok := t.Field(i).Tag.Lookup("rule")
		if !ok || key == "preset" {
			continue
		}
		cells, differ := make([]string, len(columns)), false
		for j, node := range columns {
			cells[j] = "–"
			if v := node.Field(key); v != nil {
				cells[j] = v.Text
			}
			differ = differ || cells[j] != cells[0]
		}
		if differ {
			fmt.Fprintf(&b, "| `%s` | %s |\n", key, strings.Join(cells, " | "))
		}
	}
	return b.String(), nil
}

// replaceTable puts a table between the marks that say what it is.
func replaceTable(page []byte, what, table string) ([]byte, error) {
	begin, end := []byte("<!-- "+what+" -->\n"), []byte("<!-- end -->")
	i := bytes.Index(page, begin)
	if i < 0 {
		return nil, fmt.Errorf("the page has no mark %q", begin)
	}
	i += len(begin)
	j := bytes.Index(page[i:], end)
	if j < 0 {
		return nil, fmt.Errorf("the page has no mark %q after %q", end, begin)
	}
	return bytes.Join([][]byte{page[:i], []byte(table), page[i+j:]}, nil), nil
}
