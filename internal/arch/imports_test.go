package arch

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// The rooms that decide about calls, one kind of rule each.
var policies = []string{"flow", "breaker", "isolation", "paramflow", "system", "authority", "apigroup"}

// core is what the root package is made of.
var core = slices.Concat(policies, []string{"clock", "stat", "rule", "extractor", "datasource", "internal/cgroup"})

// forCallers is what rooms that stand between callers and the engine may use.
var forCallers = []string{".", "clock", "rule", "isolation", "balance", "extractor", "extractor/protobuf"}

// An importLaw says which rooms of ours a room may import.
type importLaw struct {
	// room is a folder; with tree it is the folder and all below it, which may import each other.
	room string
	tree bool
	// may are the rooms that may be imported, anything that all may.
	may      []string
	anything bool
}

// importLaws are tried in order: the first that fits a room is its law. Rooms of which nothing stands yet are
// listed as well.
var importLaws = []importLaw{
	{room: "clock"},
	{room: "stat"},
	{room: "rule"},
	{room: "internal/cgroup"},
	{room: "extractor", may: []string{"rule"}},
	{room: "extractor/protobuf", may: []string{"extractor"}},
	{room: "datasource", may: []string{"clock"}},
	{room: "datasource/file", may: []string{"clock", "datasource"}},
	{room: "datasource/nacos", tree: true, may: []string{"clock", "datasource"}},
	{room: "flow", may: []string{"stat", "rule", "clock", "internal/cgroup"}},
	{room: "breaker", may: []string{"stat", "rule", "clock", "internal/cgroup"}},
	{room: "isolation", may: []string{"stat", "rule", "clock", "internal/cgroup"}},
	{room: "paramflow", may: []string{"stat", "rule", "clock", "internal/cgroup", "extractor"}},
	{room: "system", may: []string{"stat", "rule", "clock", "internal/cgroup"}},
	{room: "authority", may: []string{"stat", "rule", "clock", "internal/cgroup"}},
	{room: "apigroup", may: []string{"stat", "rule", "clock", "internal/cgroup"}},
	{room: "balance", may: []string{"isolation", "clock"}},
	{room: ".", may: core},
	{room: "sentinel", may: slices.Concat(policies, []string{".", "rule", "extractor"})},
	{room: "sim/scenario", may: slices.Concat(policies, []string{".", "rule", "balance", "sim", "sentinel"})},
	{room: "sim", tree: true, may: slices.Concat(policies, []string{".", "balance", "clock", "rule"})},
	{room: "blocklog", may: forCallers},
	{room: "adapter/grpc/ratios", anything: true},
	{room: "adapter", tree: true, may: forCallers},
	{room: "metrics", tree: true, may: forCallers},
	{room: "bridge", tree: true, may: forCallers},
	{room: "gateway", tree: true, may: slices.Concat(core, []string{".", "balance", "sentinel", "datasource/file", "adapter/nethttp", "blocklog"})},
	{room: "console", tree: true, may: slices.Concat(core, []string{".", "balance", "sentinel", "datasource/file", "adapter/nethttp", "blocklog"})},
	{room: "internal/arch"},
	{room: "internal/docgen", anything: true},
	{room: "cmd", tree: true, anything: true},
	{room: "examples", tree: true, anything: true},
	{room: "bench", tree: true, anything: true},
	{room: "scripts", tree: true, anything: true},
	{room: "tools", tree: true, anything: true},
}

// importFaults says which imports of the room its law does not allow. Tests may import what they like: nobody inherits that.
func importFaults(r *room) []string {
	i := slices.IndexFunc(importLaws, func(l importLaw) bool { return l.room == r.name || l.tree && below(r.name, l.room) })
	if i < 0 {
		return []string{fmt.Sprintf("%s: say in importLaws what it may import", r.name)}
	}
	law := importLaws[i]
	var faults []string
	imports(r.code(), func(spec *ast.ImportSpec, importPath string) {
		ours, ok := roomOf(importPath)
		if !ok || law.anything || slices.Contains(law.may, ours) || law.tree && below(ours, law.room) {
			return
		}
		faults = append(faults, fmt.Sprintf("%s: %s must not import %s; it may import %v of ours", r.at(spec), r.name, ours, law.may))
	})
	return faults
}

// roomOf returns the room of ours that an import path names.
func roomOf(importPath string) (name string, ok bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

func TestRoomsImportWhatTheyMay(t *testing.T) { holds(t, importFaults) }

func TestImportLawCatches(t *testing.T) {
	importing := func(name string) string {
		return "package x\nimport _ \"" + strings.TrimSuffix(module+"/"+name, "/") + "\""
	}
	catches(t, importFaults,
		bad{room: "flow", source: importing("breaker"), want: "flow must not import breaker"},
		bad{room: "flow", source: importing(""), want: "flow must not import ."},
		bad{room: "stat", source: importing("clock"), want: "stat must not import clock"},
		bad{room: "datasource", source: importing("rule"), want: "must not import rule"},
		bad{room: ".", source: importing("datasource/file"), want: "must not import datasource/file"},
		bad{room: ".", source: importing("balance"), want: "must not import balance"},
		bad{room: "adapter/nethttp", source: importing("internal/cgroup"), want: "must not import internal/cgroup"},
		bad{room: "gateway", source: importing("cmd/cordon"), want: "must not import cmd/cordon"},
		bad{room: "gateway", source: importing("metrics/prometheus"), want: "must not import metrics/prometheus"},
		bad{room: "shed", source: "package shed", want: "say in importLaws"},
		bad{room: "flow", source: importing("stat")},
		bad{room: "flow", source: "package x\nimport _ \"github.com/cordon-go/cordonium/breaker\""},
		bad{room: "flow", name: "x_test.go", source: importing("breaker")},
		bad{room: "gateway/proxy", source: importing("gateway")},
		bad{room: "cmd/cordon", source: importing("sentinel")},
	)
}

// testOnly are packages that belong in tests.
var testOnly = []string{"testing", "github.com/stretchr/testify", "pgregory.net/rapid", "go.uber.org/goleak"}

// testImportFaults says where code that is no test imports what belongs in tests. Benchmarks are programs that measure with testing's means.
func testImportFaults(r *room) []string {
	var faults []string
	imports(r.code(), func(spec *ast.ImportSpec, importPath string) {
		if below(importPath, testOnly...) && !below(r.name, "bench") {
			faults = append(faults, fmt.Sprintf("%s: imports %s, which belongs in tests", r.at(spec), importPath))
		}
	})
	return faults
}

func TestNoTestPackagesInCode(t *testing.T) { holds(t, testImportFaults) }

func TestTestPackageLawCatches(t *testing.T) {
	catches(t, testImportFaults,
		bad{source: "package x\nimport \"testing\"", want: "imports testing"},
		bad{source: "package x\nimport \"testing/synctest\"", want: "testing/synctest"},
		bad{source: "package x\nimport \"github.com/stretchr/testify/require\"", want: "testify"},
		bad{source: "package x\nimport r \"pgregory.net/rapid\"", want: "rapid"},
		bad{source: "package x\nimport \"go.uber.org/goleak\"", want: "goleak"},
		bad{name: "x_test.go", source: "package x\nimport \"testing\""},
		bad{room: "bench/ratios", source: "package main\nimport \"testing\""},
	)
}
