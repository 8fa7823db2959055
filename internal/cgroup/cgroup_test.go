package cgroup

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// root makes a folder with the given files and returns a reader below it with pages of 4096 bytes.
func root(t *testing.T, files map[string]string) *Reader {
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	r := New(dir)
	r.page = 4096
	return r
}

func TestMemory(t *testing.T) {
	t.Parallel()
	const (
		statm   = "proc/self/statm"
		meminfo = "proc/meminfo"
		cgroup  = "proc/self/cgroup"
		mem     = "MemTotal:       16000 kB\nMemFree:         1 kB\n"
		machine = 16000 * 1024
	)
	for name, c := range map[string]struct {
		files map[string]string
		limit int64
	}{
		"machine":           {map[string]string{meminfo: mem}, machine},
		"nothing but statm": {nil, 0},
		"v2": {map[string]string{meminfo: mem, cgroup: "0::/app/web\n",
			"sys/fs/cgroup/app/web/memory.max": "4000000\n"}, 4000000},
		"v2, parent is lower": {map[string]string{meminfo: mem, cgroup: "0::/app/web\n",
			"sys/fs/cgroup/app/web/memory.max": "4000000\n", "sys/fs/cgroup/app/memory.max": "3000000\n"}, 3000000},
		"v2, max": {map[string]string{meminfo: mem, cgroup: "0::/app\n", "sys/fs/cgroup/app/memory.max": "max\n"}, machine},
		"v2 in a container, path unknown": {map[string]string{meminfo: mem, cgroup: "0::/../../elsewhere\n",
			"sys/fs/cgroup/memory.max": "2000000\n"}, 2000000},
		"v2 at the root": {map[string]string{meminfo: mem, cgroup: "0::/\n", "sys/fs/cgroup/memory.max": "2000000"}, 2000000},
		"v1": {map[string]string{meminfo: mem, cgroup: "11:cpu,cpuacct:/x\n5:memory:/docker/abc\n",
			"sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "5000000\n"}, 5000000},
		"v1 beside v2": {map[string]string{meminfo: mem, cgroup: "5:hugetlb,memory:/a:b\n0::/a\n",
			"sys/fs/cgroup/memory/a:b/memory.limit_in_bytes": "5000000\n"}, 5000000},
		"v1, no limit": {map[string]string{meminfo: mem, cgroup: "5:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, machine},
		"more than the machine has": {map[string]string{meminfo: mem, cgroup: "0::/\n",
			"sys/fs/cgroup/memory.max": "99999999999\n"}, machine},
		"garbage": {map[string]string{meminfo: "MemTotal: lots kB\n", cgroup: "nonsense\n0::\n\n::::\n",
			"sys/fs/cgroup/memory.max": "-5"}, 0},
	} {
		files := map[string]string{statm: "5000 300 200 1 0 100 0\n"}
		for k, v := range c.files {
			files[k] = v
		}
		used, limit, ok := root(t, files).Memory()
		require.True(t, ok, name)
		require.Equal(t, int64(300*4096), used, name)
		require.Equal(t, c.limit, limit, name)
	}
}

func TestMemoryUnknown(t *testing.T) {
	t.Parallel()
	for _, statm := range []string{"", "12", "a b c", "1 -3", "1 9999999999999999999", "1 9223372036854775807"} {
		_, _, ok := root(t, map[string]string{"proc/self/statm": statm}).Memory()
		require.False(t, ok, statm)
	}
	_, _, ok := New(filepath.Join(t.TempDir(), "none")).Memory()
	require.False(t, ok)
}

func TestMemoryOfThisProcess(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has /proc")
	}
	used, limit, ok := New("/").Memory()
	require.True(t, ok)
	require.Greater(t, used, int64(1<<20))
	require.Greater(t, limit, used)
}

func FuzzMemory(f *testing.F) {
	f.Add("5000 300 200", "0::/a\n5:memory:/b\n", "max", "MemTotal: 1 kB")
	f.Fuzz(func(t *testing.T, statm, cgroup, limit, meminfo string) {
		used, most, ok := root(t, map[string]string{
			"proc/self/statm": statm, "proc/self/cgroup": cgroup, "proc/meminfo": meminfo,
			"sys/fs/cgroup/memory.max": limit, "sys/fs/cgroup/memory/memory.limit_in_bytes": limit,
		}).Memory()
		require.GreaterOrEqual(t, used, int64(0), strconv.Quote(statm))
		require.GreaterOrEqual(t, most, int64(0))
		require.True(t, ok || used == 0 && most == 0)
	})
}
