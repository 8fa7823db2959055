package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// module is the path of the root package; every package's path is this and its folder, in nested modules too.
const module = "github.com/cordon-go/cordon"

// root is where the tree stands, seen from this package.
const root = "../.."

// A room is one folder with Go files: a package and its tests.
type room struct {
	// name is the folder below the root, "." for the root package.
	name  string
	fset  *token.FileSet
	files []file
}

// A file is one Go file.
type file struct {
	name   string
	test   bool
	syntax *ast.File
}

// code returns the files that are no tests.
func (r *room) code() []*ast.File {
	var code []*ast.File
	for _, f := range r.files {
		if !f.test {
			code = append(code, f.syntax)
		}
	}
	return code
}

// isCommand reports whether the room is a program, whose names nobody uses.
func (r *room) isCommand() bool {
	code := r.code()
	return len(code) > 0 && code[0].Name.Name == "main"
}

// at says where a node is, for people.
func (r *room) at(n ast.Node) string {
	p := r.fset.Position(n.Pos())
	return fmt.Sprintf("%s:%d", path.Join(r.name, filepath.Base(p.Filename)), p.Line)
}

// add parses a file of the room.
func (r *room) add(name string, source any) error {
	syntax, err := parser.ParseFile(r.fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	r.files = append(r.files, file{name: name, test: strings.HasSuffix(name, "_test.go"), syntax: syntax})
	return nil
}

// imports calls visit for every import of the files.
func imports(files []*ast.File, visit func(spec *ast.ImportSpec, importPath string)) {
	for _, f := range files {
		for _, spec := range f.Imports {
			importPath, err := strconv.Unquote(spec.Path.Value)
			if err == nil {
				visit(spec, importPath)
			}
		}
	}
}

// walk calls visit for every file of the tree that belongs to it.
func walk(visit func(name string) error) error {
	return filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := entry.Name()
		if entry.IsDir() && name != root && (base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
			return filepath.SkipDir
		}
		if entry.IsDir() {
			return nil
		}
		return visit(name)
	})
}

// load reads the tree once for all tests.
var load = sync.OnceValues(func() ([]*room, error) {
	rooms := map[string]*room{}
	err := walk(func(name string) error {
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(name))
		if err != nil {
			return err
		}
		folder = filepath.ToSlash(folder)
		if rooms[folder] == nil {
			rooms[folder] = &room{name: folder, fset: token.NewFileSet()}
		}
		return rooms[folder].add(name, nil)
	})
	var all []*room
	for _, r := range rooms {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *room) int { return strings.Compare(a.name, b.name) })
	return all, err
})

// holds fails the test for everything that the law finds in the tree.
func holds(t *testing.T, law func(*room) []string) {
	t.Helper()
	rooms, err := load()
	require.NoError(t, err)
	require.Greater(t, len(rooms), 10, "the tree was not found")
	for _, r := range rooms {
		for _, fault := range law(r) {
			t.Error(fault)
		}
	}
}

// A bad is a source that breaks a law, and what must be said of it; a good one has nothing to be said of.
type bad struct {
	room   string // default "flow"
	name   string // default "x.go"
	source string
	// more is a second file of the room, "y.go".
	more string
	want string
}

// catches fails the test if the law misses a bad source, or complains about a good one.
func catches(t *testing.T, law func(*room) []string, sources ...bad) {
	t.Helper()
	for _, b := range sources {
		r := &room{name: b.room, fset: token.NewFileSet()}
		if r.name == "" {
			r.name = "flow"
		}
		if b.name == "" {
			b.name = "x.go"
		}
		require.NoError(t, r.add(b.name, b.source))
		if b.more != "" {
			require.NoError(t, r.add("y.go", b.more))
		}
		faults := law(r)
		if b.want == "" {
			require.Empty(t, faults, b.source)
			continue
		}
		require.Len(t, faults, 1, b.source)
		require.Contains(t, faults[0], b.want, b.source)
	}
}

// below reports whether the room is one of the folders or lies below one.
func below(name string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return name == f || strings.HasPrefix(name, f+"/") })
}

// TestTreeIsWhole fails if the walk misses what must be there, nested modules above all.
func TestTreeIsWhole(t *testing.T) {
	rooms, err := load()
	require.NoError(t, err)
	var names []string
	for _, r := range rooms {
		names = append(names, r.name)
	}
	for _, want := range []string{".", "clock", "datasource/file", "internal/arch"} {
		require.Contains(t, names, want)
	}
	modules, err := filepath.Glob(root + "/*/*/go.mod")
	require.NoError(t, err)
	for _, m := range modules {
		entries, err := filepath.Glob(filepath.Join(filepath.Dir(m), "*.go"))
		require.NoError(t, err)
		folder, err := filepath.Rel(root, filepath.Dir(m))
		require.NoError(t, err)
		if len(entries) > 0 {
			require.Contains(t, names, filepath.ToSlash(folder))
		}
	}
	_, err = os.Stat(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
}
