package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
	"testing"
)

// initFaults says where a room does something before anybody asked (faults #95: no side effects of an import).
func initFaults(r *room) []string {
	var faults []string
	for _, f := range r.code() {
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				faults = append(faults, fmt.Sprintf("%s: func init: nothing happens on import", r.at(fn)))
			}
		}
	}
	return faults
}

func TestNoInit(t *testing.T) { holds(t, initFaults) }

func TestInitLawCatches(t *testing.T) {
	catches(t, initFaults,
		bad{source: "package x\nfunc init() {}", want: "x.go:2: func init"},
		bad{source: "package x\ntype t int\nfunc (t) init() {}"},
		bad{name: "x_test.go", source: "package x\nfunc init() {}"},
	)
}

// varFaults says which package variables of a room can change (faults #9: engines that share nothing). Allowed are errors made by errors.New or
// fmt.Errorf, `var _ T = ...`, and unexported tables; and the package, its tests included, never writes to one or takes its address.
func varFaults(r *room) []string {
	var faults []string
	vars := map[string]bool{}
	for _, f := range r.code() {
		for _, decl := range f.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, spec := range gen.Specs {
				spec := spec.(*ast.ValueSpec)
				for i, name := range spec.Names {
					vars[name.Name] = true
					if why := varFault(spec, i); why != "" {
						faults = append(faults, fmt.Sprintf("%s: var %s: %s", r.at(name), name.Name, why))
					}
				}
			}
		}
	}
	return append(faults, writeFaults(r, vars)...)
}

// varFault says why the spec's variable is one that can change, or is meant to.
func varFault(spec *ast.ValueSpec, i int) string {
	name := spec.Names[i].Name
	switch {
	case name == "_":
		return ""
	case len(spec.Values) != len(spec.Names):
		return "has no value of its own, so it is there to be written"
	case isErrorCall(spec.Values[i]):
		if ast.IsExported(name) && !strings.HasPrefix(name, "Err") {
			return "is an exported error that is not called Err..."
		}
		return ""
	case ast.IsExported(name):
		return "is exported, so anybody can write it"
	case spec.Type != nil && stateful(spec.Type):
		return "has a type that is there to change"
	default:
		return tableFault(spec.Values[i])
	}
}

// isErrorCall reports whether the expression makes an error.
func isErrorCall(x ast.Expr) bool {
	call, ok := x.(*ast.CallExpr)
	return ok && slices.Contains([]string{"errors.New", "fmt.Errorf"}, types.ExprString(call.Fun))
}

// pureCalls are calls into other packages that make what does not change.
var pureCalls = []string{"regexp.MustCompile", "strings.NewReplacer", "slices.Concat", "time.Date", "math.Log", "math.Log2", "math.Exp", "math.Pow", "math.Sqrt", "reflect.TypeFor", "reflect.TypeOf"}

// tableFault says why the value is none of a table that is never written.
func tableFault(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.UnaryExpr:
		if x.Op == token.AND {
			return "points to what can be written"
		}
		return tableFault(x.X)
	case *ast.CompositeLit:
		if x.Type != nil && stateful(x.Type) {
			return "has a type that is there to change"
		}
	case *ast.CallExpr:
		switch fun := x.Fun.(type) {
		case *ast.SelectorExpr:
			if !slices.Contains(pureCalls, types.ExprString(fun)) {
				return "is made by " + types.ExprString(fun) + ", which may make what changes"
			}
		case *ast.Ident:
			if fun.Name == "make" || fun.Name == "new" {
				return "is made empty, so it is there to be written"
			}
		}
	}
	return ""
}

// stateful reports whether a type is written as one that exists to change: a pointer, a channel, or anything with a lock or an atomic in sight.
func stateful(x ast.Expr) bool {
	found := false
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ChanType:
			found = true
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && (pkg.Name == "sync" || pkg.Name == "atomic") {
				found = true
			}
		case *ast.FuncType:
			return false
		}
		return !found
	})
	_, pointer := x.(*ast.StarExpr)
	return found || pointer
}

// writers are functions that write to their first argument.
var writers = []string{
	"copy", "clear", "delete", "maps.Copy", "maps.DeleteFunc", "maps.Insert", "sort.Strings", "sort.Ints", "sort.Slice", "sort.Sort",
	"slices.Sort", "slices.SortFunc", "slices.SortStableFunc", "slices.Reverse", "slices.Delete", "slices.DeleteFunc", "slices.Insert", "slices.Compact",
}

// writeFaults says where one of the package variables is written, or its address taken, in the package, and where a variable of another
// package is assigned.
func writeFaults(r *room, vars map[string]bool) []string {
	var faults []string
	uses := usesOf(r)
	report := func(n ast.Node, x ast.Expr, what string) {
		id := base(x)
		if id == nil || !vars[id.Name] {
			return
		}
		if v, ok := uses[id].(*types.Var); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
			faults = append(faults, fmt.Sprintf("%s: var %s is changed: %s", r.at(n), id.Name, what))
		}
	}
	for _, f := range r.files {
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, left := range n.Lhs {
					if n.Tok != token.DEFINE {
						report(n, left, "assigned")
					}
				}
			case *ast.IncDecStmt:
				report(n, n.X, "counted")
			case *ast.RangeStmt:
				if n.Tok == token.ASSIGN {
					report(n, n.Key, "assigned")
					report(n, n.Value, "assigned")
				}
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					report(n, n.X, "its address is taken")
				}
			case *ast.CallExpr:
				if name := types.ExprString(n.Fun); len(n.Args) > 0 && slices.Contains(writers, name) {
					report(n, n.Args[0], name)
				}
			}
			return true
		})
		faults = append(faults, foreignWrites(r, f, uses)...)
	}
	return faults
}

// base returns the variable that an expression is, or is a part of.
func base(x ast.Expr) *ast.Ident {
	for {
		switch y := x.(type) {
		case *ast.Ident:
			return y
		case *ast.IndexExpr:
			x = y.X
		case *ast.SliceExpr:
			x = y.X
		case *ast.SelectorExpr:
			x = y.X
		case *ast.StarExpr:
			x = y.X
		case *ast.ParenExpr:
			x = y.X
		default:
			return nil
		}
	}
}

// foreignWrites says where a variable of another package is assigned; tests may do that to packages that are not ours.
func foreignWrites(r *room, f file, uses map[*ast.Ident]types.Object) []string {
	var faults []string
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		assign, ok := n.(*ast.AssignStmt)
		if !ok {
			return true
		}
		for _, left := range assign.Lhs {
			imports([]*ast.File{f.syntax}, func(spec *ast.ImportSpec, importPath string) {
				name := path.Base(importPath)
				if spec.Name != nil {
					name = spec.Name.Name
				}
				_, ours := roomOf(importPath)
				sel, ok := left.(*ast.SelectorExpr)
				if !ok || f.test && !ours {
					return
				}
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == name && uses[x] == nil {
					faults = append(faults, fmt.Sprintf("%s: assigns %s", r.at(assign), types.ExprString(left)))
				}
			})
		}
		return true
	})
	return faults
}

// usesOf resolves the room's names as far as that is possible without its imports: enough to tell a package variable from a local
// one of the same name.
func usesOf(r *room) map[*ast.Ident]types.Object {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: noImports{}, Error: func(error) {}, DisableUnusedImportCheck: true}
	byName := map[string][]*ast.File{}
	for _, f := range r.files {
		byName[f.syntax.Name.Name] = append(byName[f.syntax.Name.Name], f.syntax)
	}
	for name, files := range byName {
		_, _ = config.Check(name, r.fset, files, info) // its errors are those of the missing imports
	}
	for id, object := range info.Uses {
		if _, isPackage := object.(*types.PkgName); isPackage {
			delete(info.Uses, id)
		}
	}
	return info.Uses
}

// noImports has an empty package for every path.
type noImports struct{}

func (noImports) Import(importPath string) (*types.Package, error) {
	pkg := types.NewPackage(importPath, path.Base(importPath))
	pkg.MarkComplete()
	return pkg, nil
}

func TestNoMutablePackageVariables(t *testing.T) { holds(t, varFaults) }

func TestVariableLawCatches(t *testing.T) {
	table := "package x\nvar table = map[string]int{\"a\": 1}\n"
	catches(t, varFaults,
		bad{source: "package x\nvar count int", want: "there to be written"},
		bad{source: "package x\nvar _, more = f()", want: "there to be written"},
		bad{source: "package x\nvar Table = []int{1}", want: "is exported"},
		bad{source: "package x\nimport \"errors\"\nvar Broken = errors.New(\"x\")", want: "Err..."},
		bad{source: "package x\nimport \"sync\"\nvar mu = sync.Mutex{}", want: "there to change"},
		bad{source: "package x\nimport \"sync\"\nvar cache sync.Map = sync.Map{}", want: "there to change"},
		bad{source: "package x\nimport \"sync/atomic\"\nvar p = [2]atomic.Int64{}", want: "there to change"},
		bad{source: "package x\nvar p = &struct{ n int }{}", want: "points to"},
		bad{source: "package x\nvar m = make(map[string]int)", want: "made empty"},
		bad{source: "package x\nimport \"math/rand\"\nvar r = rand.New(nil)", want: "rand.New"},
		bad{source: table, more: "package x\nfunc f() { table[\"b\"] = 2 }", want: "y.go:2: var table is changed: assigned"},
		bad{source: table, more: "package x\nfunc f() { table = nil }", want: "assigned"},
		bad{source: table, more: "package x\nfunc f() { table[\"a\"]++ }", want: "counted"},
		bad{source: table, more: "package x\nfunc f() { delete(table, \"a\") }", want: "delete"},
		bad{source: table, more: "package x\nfunc f() *map[string]int { return &table }", want: "address"},
		bad{source: "package x\nimport \"slices\"\nvar list = []int{2, 1}\nfunc f() { slices.Sort(list) }", want: "slices.Sort"},
		bad{source: "package x\nvar list = []struct{ n int }{{1}}\nfunc f() { list[0].n = 2 }", want: "assigned"},
		bad{source: "package x\nimport \"errors\"\nvar ErrX = errors.New(\"x\")\nfunc f() { ErrX = nil }", want: "assigned"},
		bad{source: "package x\nimport \"io\"\nfunc f() { io.EOF = nil }", want: "assigns io.EOF"},
		bad{name: "x_test.go", source: "package x\nimport \"" + module + "\"\nfunc f() { cordon.ErrBlocked = nil }", want: "assigns cordon.ErrBlocked"},

		bad{source: "package x\nimport \"errors\"\nvar ErrX = errors.New(\"x\")"},
		bad{source: "package x\nimport \"io\"\nvar _ io.Reader = (*t)(nil)\ntype t struct{}"},
		bad{source: table, more: "package x\nfunc f(table map[string]int) { table[\"b\"] = 2 }"},
		bad{source: table, more: "package x\nfunc f() { table := map[string]int{}; table[\"b\"] = 2 }"},
		bad{source: table, more: "package x\nfunc f() int { return table[\"a\"] }"},
		bad{source: "package x\nfunc f(io struct{ EOF error }) { io.EOF = nil }"},
		bad{name: "x_test.go", source: "package x\nvar count int\nfunc f() { count++ }"},
	)
}
