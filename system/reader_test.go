package system

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/internal/cgroup"
)

// container is a folder with the files of a container that may use two processors.
type container struct {
	t   *testing.T
	dir string
}

func newContainer(t *testing.T) *container {
	c := &container{t, t.TempDir()}
	c.write("proc/self/cgroup", "0::/app\n")
	c.write("sys/fs/cgroup/app/cpu.max", "200000 100000\n")
	c.write("proc/loadavg", "1.25 1.00 0.50 1/200 4242\n")
	c.used(0)
	return c
}

func (c *container) write(name, text string) {
	path := filepath.Join(c.dir, filepath.FromSlash(name))
	require.NoError(c.t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(c.t, os.WriteFile(path, []byte(text), 0o600))
}

func (c *container) used(d time.Duration) {
	c.write("sys/fs/cgroup/app/cpu.stat", fmt.Sprintf("usage_usec %d\n", d.Microseconds()))
}

// faults #59: one second of a processor in one second is half of what two are.
func TestReaderOfContainer(t *testing.T) {
	t.Parallel()
	c := newContainer(t)
	r := &machine{files: cgroup.New(c.dir)}
	load, ok := r.Load()
	require.True(t, ok)
	require.Equal(t, 1.25, load)
	now, used := time.Hour, time.Duration(0)
	_, ok = r.CPU(now)
	require.False(t, ok, "not read often enough yet: unknown")
	step := func(d time.Duration, cpus float64) float64 {
		now += d
		used += time.Duration(cpus * float64(d))
		c.used(used)
		share, ok := r.CPU(now)
		require.True(t, ok)
		return share
	}
	require.InDelta(t, 0.5, step(time.Second, 1), 1e-3)
	require.InDelta(t, 0.5, step(time.Millisecond, 2), 1e-3, "too soon for another")
	// It is a mean of a second: a busy quarter is a quarter of it, and a busy second is all of it.
	require.InDelta(t, 0, step(2*time.Second, 0), 0.01)
	for i, want := range []float64{0.25, 0.5, 0.75, 1, 1} {
		if i == 0 {
			for range 4 {
				step(250*time.Millisecond, 0)
			}
		}
		require.InDelta(t, want, step(250*time.Millisecond, 2), 0.01, "%d", i)
	}
	for _, want := range []float64{0.75, 0.5, 0.25, 0} {
		require.InDelta(t, want, step(250*time.Millisecond, 0), 0.01)
	}
	// After a pause it is a mean of that, unless that was so long that it says nothing of now.
	require.InDelta(t, 0.5, step(4*time.Second, 1), 1e-3)
	now += time.Minute
	_, ok = r.CPU(now)
	require.False(t, ok)
	require.InDelta(t, 1, step(250*time.Millisecond, 2), 1e-3)
	// Counters that were set back are another beginning.
	used = 0
	c.used(0)
	now += 250 * time.Millisecond
	_, ok = r.CPU(now)
	require.False(t, ok)
	require.InDelta(t, 0.5, step(250*time.Millisecond, 1), 1e-3)
	require.NoError(t, os.RemoveAll(filepath.Join(c.dir, "sys")))
	now += 250 * time.Millisecond
	_, ok = r.CPU(now)
	require.False(t, ok)
	require.NoError(t, os.RemoveAll(c.dir))
	_, ok = r.Load()
	require.False(t, ok)
}

func TestReaderOfThisSystem(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can be read")
	}
	g := NewGuard(nil)
	g.Update([]Rule{{ID: "cpu", Metric: CPU, Limit: 1}, {ID: "load", Metric: Load, Limit: 100_000}}, 0)
	require.Equal(t, -1.0, g.Status(0).CPU)
	require.GreaterOrEqual(t, g.Status(0).Load, 0.0)
	deadline := time.Now().Add(30 * time.Second)
	for start := time.Now(); ; {
		if s := g.Status(time.Since(start)); s.CPU >= 0 {
			require.LessOrEqual(t, s.CPU, 1.0)
			break
		}
		require.True(t, time.Now().Before(deadline), "the CPU's share becomes known")
		runtime.Gosched()
	}
}
