package arch

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"testing"
)

// clockUses are what reads the time or waits for it.
var clockUses = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// timeFaults says where a room takes the time from elsewhere than a clock. Programs, and what measures, may.
func timeFaults(r *room) []string {
	if below(r.name, "clock", "cmd", "examples", "bench", "scripts", "tools", "internal/docgen") {
		return nil
	}
	var faults []string
	for _, f := range r.code() {
		for _, use := range selections(f, "time") {
			if slices.Contains(clockUses, use.Sel.Name) {
				faults = append(faults, fmt.Sprintf("%s: time.%s: time comes from a clock.Clock", r.at(use), use.Sel.Name))
			}
		}
	}
	return faults
}

// selections returns the uses of an imported package, under whatever name it is imported.
func selections(f *ast.File, importPath string) []*ast.SelectorExpr {
	var names []string
	imports([]*ast.File{f}, func(spec *ast.ImportSpec, p string) {
		switch {
		case p != importPath:
		case spec.Name != nil:
			names = append(names, spec.Name.Name)
		default:
			names = append(names, path.Base(p))
		}
	})
	var uses []*ast.SelectorExpr
	ast.Inspect(f, func(n ast.Node) bool {
		if use, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := use.X.(*ast.Ident); ok && slices.Contains(names, x.Name) {
				uses = append(uses, use)
			}
		}
		return true
	})
	return uses
}

// dotTimeFaults says where time is imported so that the law above cannot see its uses.
func dotTimeFaults(r *room) []string {
	var faults []string
	imports(r.code(), func(spec *ast.ImportSpec, importPath string) {
		if spec.Name != nil && spec.Name.Name == "." {
			faults = append(faults, fmt.Sprintf("%s: imports %s into its own names", r.at(spec), importPath))
		}
	})
	return faults
}

func TestTimeComesFromClock(t *testing.T) { holds(t, timeFaults) }

func TestNoDotImports(t *testing.T) { holds(t, dotTimeFaults) }

func TestTimeLawCatches(t *testing.T) {
	for _, use := range clockUses {
		catches(t, timeFaults,
			bad{source: "package x\nimport \"time\"\nvar _ = time." + use, want: "time." + use},
			bad{source: "package x\nimport wall \"time\"\nfunc f() { wall." + use + "() }", want: "time." + use},
			bad{room: "clock", source: "package x\nimport \"time\"\nvar _ = time." + use},
			bad{name: "x_test.go", source: "package x\nimport \"time\"\nvar _ = time." + use},
		)
	}
	catches(t, timeFaults,
		bad{source: "package x\nimport \"time\"\nconst d = time.Second"},
		bad{source: "package x\ntype t struct{ Now int }\nfunc f(time t) int { return time.Now }"},
	)
	catches(t, dotTimeFaults,
		bad{source: "package x\nimport . \"time\"", want: "imports time"},
		bad{source: "package x\nimport \"time\""},
	)
}
