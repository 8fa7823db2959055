package arch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxModules is how many modules whoever imports the core may find in their graph, the core among them.
const maxModules = 12

// moduleFaults says whether a graph, as go list -m all prints it, is too large.
func moduleFaults(list string) []string {
	modules := strings.Split(strings.TrimSpace(list), "\n")[1:] // the first is the consumer itself
	if len(modules) <= maxModules {
		return nil
	}
	return []string{fmt.Sprintf("a consumer of the core has %d modules in its graph, want at most %d:\n%s",
		len(modules), maxModules, strings.Join(modules, "\n"))}
}

// A consumer that imports the core, and the file source that most will want, inherits little. Nothing is downloaded: what the core needs is there.
func TestConsumersInheritFewModules(t *testing.T) {
	here, err := filepath.Abs(root)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), fmt.Appendf(nil,
		"module example.com/consumer\n\ngo 1.26.0\n\nrequire %s v0.0.0\n\nreplace %s => %s\n", module, module, here), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), fmt.Appendf(nil,
		"package main\n\nimport (\n\t_ %q\n\t_ %q\n)\n\nfunc main() {}\n", module, module+"/datasource/file"), 0o600))
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOSUMDB=off", "GOTOOLCHAIN=local")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		require.NoError(t, err, "go %v: %s", args, stderr.String())
		return string(out)
	}
	run("mod", "tidy")
	list := run("list", "-m", "all")
	require.Contains(t, list, "github.com/fsnotify/fsnotify", "the consumer does not import the core")
	for _, fault := range moduleFaults(list) {
		t.Error(fault)
	}
}

func TestModuleLawCatches(t *testing.T) {
	require.Empty(t, moduleFaults("consumer\n"+strings.Repeat("m v1\n", maxModules)))
	require.Len(t, moduleFaults("consumer\n"+strings.Repeat("m v1\n", maxModules+1)), 1)
}
