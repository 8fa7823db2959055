package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// packageDocFaults says whether a package has not exactly one comment.
func packageDocFaults(r *room) []string {
	code := r.code()
	if len(code) == 0 {
		return nil
	}
	var docs []*ast.File
	for _, f := range code {
		if f.Doc != nil {
			docs = append(docs, f)
		}
	}
	switch {
	case len(docs) == 0:
		return []string{fmt.Sprintf("%s: the package has no comment", r.name)}
	case len(docs) > 1:
		return []string{fmt.Sprintf("%s: the package has a second comment, %s has one already", r.at(docs[1]), r.at(docs[0]))}
	case !r.isCommand() && !strings.HasPrefix(docs[0].Doc.Text(), "Package "+docs[0].Name.Name+" "):
		return []string{fmt.Sprintf("%s: the package's comment does not begin with \"Package %s \"", r.at(docs[0].Doc), docs[0].Name.Name)}
	}
	return nil
}

func TestEveryPackageHasOneComment(t *testing.T) { holds(t, packageDocFaults) }

func TestPackageDocLawCatches(t *testing.T) {
	catches(t, packageDocFaults,
		bad{source: "package x", want: "no comment"},
		bad{source: "// a build line, say\n\npackage x", want: "no comment"},
		bad{source: "// Package x is.\npackage x", more: "// Package x is too.\npackage x", want: "second comment"},
		bad{source: "// Is x.\npackage x", want: "does not begin"},
		bad{source: "// Package x is.\npackage x", more: "package x"},
		bad{source: "// Does x.\npackage main"},
		bad{name: "x_test.go", source: "package x"},
	)
}

// docFaults says which exported names of a room have no comment. Names of one block share one: those of a const or
// var group its comment, fields and specs without a line between them that of the first; a field may be explained by name in its type's comment.
func docFaults(r *room) []string {
	if r.isCommand() {
		return nil
	}
	d := docs{room: r, exported: exportedTypes(r)}
	for _, f := range r.code() {
		for _, decl := range f.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				d.function(decl)
			case *ast.GenDecl:
				d.group(decl)
			}
		}
	}
	return d.faults
}

// docs collects what has no comment.
type docs struct {
	room     *room
	exported map[string]bool // the exported types
	faults   []string
}

func (d *docs) missing(n ast.Node, kind, name string) {
	d.faults = append(d.faults, fmt.Sprintf("%s: %s %s has no comment", d.room.at(n), kind, name))
}

// exportedTypes returns the room's exported types.
func exportedTypes(r *room) map[string]bool {
	names := map[string]bool{}
	for _, f := range r.code() {
		for _, decl := range f.Decls {
			if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.TYPE {
				for _, spec := range gen.Specs {
					if name := spec.(*ast.TypeSpec).Name; name.IsExported() {
						names[name.Name] = true
					}
				}
			}
		}
	}
	return names
}

func (d *docs) function(fn *ast.FuncDecl) {
	if !fn.Name.IsExported() || has(fn.Doc) {
		return
	}
	if fn.Recv == nil {
		d.missing(fn, "func", fn.Name.Name)
		return
	}
	if receiver := typeName(fn.Recv.List[0].Type); d.exported[receiver] {
		d.missing(fn, "method", receiver+"."+fn.Name.Name)
	}
}

// typeName returns the name of a receiver's type.
func typeName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return typeName(x.X)
	case *ast.IndexExpr:
		return typeName(x.X)
	case *ast.IndexListExpr:
		return typeName(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}

func (d *docs) group(gen *ast.GenDecl) {
	covered := cover{room: d.room}
	for _, spec := range gen.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := spec.Doc
			if doc == nil && !gen.Lparen.IsValid() {
				doc = gen.Doc
			}
			if !spec.Name.IsExported() {
				continue
			}
			if !has(doc) && !has(spec.Comment) {
				d.missing(spec, "type", spec.Name.Name)
			}
			d.members(spec, doc)
		case *ast.ValueSpec:
			documented := covered.next(spec, spec.Doc, spec.Comment) || has(gen.Doc)
			for _, name := range spec.Names {
				if name.IsExported() && !documented {
					d.missing(name, gen.Tok.String(), name.Name)
				}
			}
		}
	}
}

// members looks at an exported type's fields or methods.
func (d *docs) members(spec *ast.TypeSpec, doc *ast.CommentGroup) {
	var list *ast.FieldList
	kind := "field"
	switch t := spec.Type.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list, kind = t.Methods, "method"
	default:
		return
	}
	covered := cover{room: d.room}
	for _, member := range list.List {
		documented := covered.next(member, member.Doc, member.Comment)
		for _, name := range member.Names {
			if name.IsExported() && !documented && !mentions(doc, name.Name) {
				d.missing(name, kind, spec.Name.Name+"."+name.Name)
			}
		}
	}
}

// cover carries a comment from one member of a block to those that follow without a line between them.
type cover struct {
	room    *room
	end     int // the line the last one ended on
	covered bool
}

// next reports whether the member is covered.
func (c *cover) next(n ast.Node, doc, comment *ast.CommentGroup) bool {
	line := c.room.fset.Position(n.Pos()).Line
	c.covered = has(doc) || has(comment) || c.covered && line <= c.end+1
	c.end = c.room.fset.Position(n.End()).Line
	return c.covered
}

// has reports whether a comment says anything.
func has(doc *ast.CommentGroup) bool { return doc != nil && strings.TrimSpace(doc.Text()) != "" }

// mentions reports whether a comment has the word.
func mentions(doc *ast.CommentGroup, word string) bool {
	return has(doc) && regexp.MustCompile(`\b`+regexp.QuoteMeta(word)+`\b`).MatchString(doc.Text())
}

func TestEveryExportedNameHasAComment(t *testing.T) { holds(t, docFaults) }

func TestDocLawCatches(t *testing.T) {
	catches(t, docFaults,
		bad{source: "package x\nfunc F() {}", want: "func F"},
		bad{source: "package x\n//go:noinline\nfunc F() {}", want: "func F"},
		bad{source: "package x\ntype T int", want: "type T"},
		bad{source: "package x\ntype (\n\tT int\n)", want: "type T"},
		bad{source: "package x\n// Types.\ntype (\n\tT int\n)", want: "type T"},
		bad{source: "package x\n// T is.\ntype T[K any] struct{}\nfunc (t *T[K]) M() {}", want: "method T.M"},
		bad{source: "package x\nconst C = 1", want: "const C"},
		bad{source: "package x\nconst (\n\t// A is.\n\tA = 1\n\n\tB = 2\n)", want: "const B"},
		bad{source: "package x\nvar ErrX = 1", want: "var ErrX"},
		bad{source: "package x\n// T is.\ntype T struct {\n\tA int\n}", want: "field T.A"},
		bad{source: "package x\n// T is.\ntype T struct {\n\tA int\n\t// B is.\n\tB int\n}", want: "field T.A"},
		bad{source: "package x\n// T is.\ntype T struct {\n\t// A is.\n\tA int\n\n\tB int\n}", want: "field T.B"},
		bad{source: "package x\n// T is.\ntype T interface {\n\tM()\n}", want: "method T.M"},

		bad{source: "package x\n// The constants.\nconst (\n\tA = 1\n\n\tB = 2\n)"},
		bad{source: "package x\n// T is.\ntype T struct {\n\t// A and B are.\n\tA int\n\tB int\n\n\tC int // is\n\tx int\n}"},
		bad{source: "package x\n// T has A.\ntype T struct {\n\tA int\n}"},
		bad{source: "package x\ntype t struct{ A int }\nfunc (t) M() {}\nfunc f() {}"},
		bad{source: "package main\nfunc F() {}"},
		bad{name: "x_test.go", source: "package x\nfunc F() {}"},
	)
}
