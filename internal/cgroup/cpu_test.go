package cgroup

import (
	"fmt"
	"maps"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shareOf reads two trees of files, so much time apart, and returns the share in use between them.
func shareOf(t *testing.T, before, after map[string]string, elapsed time.Duration) (float64, bool) {
	t.Helper()
	old, ok := root(t, before).CPU()
	require.True(t, ok)
	now, ok := root(t, after).CPU()
	require.True(t, ok)
	return now.Share(old, elapsed)
}

// processors are lines of /proc/stat for n processors, each of which was busy and idle for so many ticks.
func processors(n, busy, idle int) string {
	text := fmt.Sprintf("cpu  %d 0 0 %d 0 0 0 0 0 0\n", n*busy, n*idle)
	for i := range n {
		text += fmt.Sprintf("cpu%d %d 0 0 %d 0 0 0 0 0 0\n", i, busy, idle)
	}
	return text + "intr 12 0 0\n"
}

// with returns the files with more of them.
func with(files map[string]string, more ...string) map[string]string {
	all := maps.Clone(files)
	for i := 0; i < len(more); i += 2 {
		all[more[i]] = more[i+1]
	}
	return all
}

// faults #59: the CPU of a process is measured against what its cgroup may use.
func TestShareOfQuota(t *testing.T) {
	t.Parallel()
	const usage = "sys/fs/cgroup/app/cpu.stat"
	v2 := map[string]string{"proc/self/cgroup": "0::/app\n", "proc/stat": processors(64, 1000, 0), "sys/fs/cgroup/app/cpu.max": "200000 100000\n", usage: "usage_usec 5000000\nuser_usec 1\n"}
	// One second of a processor in one second, where two may be used, whatever the 64 of the machine do.
	share, ok := shareOf(t, v2, with(v2, usage, "usage_usec 6000000\n", "proc/stat", processors(64, 2000, 0)), time.Second)
	require.True(t, ok)
	require.InDelta(t, 0.5, share, 1e-9)
	// Several hundred percent of one processor are never more than all.
	share, _ = shareOf(t, v2, with(v2, usage, "usage_usec 9000000\n"), time.Second)
	require.Equal(t, 1.0, share)
	// A quota that was halved meanwhile is the one that counts.
	share, _ = shareOf(t, v2, with(v2, usage, "usage_usec 5500000\n", "sys/fs/cgroup/app/cpu.max", "100000 100000"), time.Second)
	require.InDelta(t, 0.5, share, 1e-9)
	// Half a processor.
	half := with(v2, "sys/fs/cgroup/app/cpu.max", "50000 100000")
	share, _ = shareOf(t, half, with(half, usage, "usage_usec 5250000\n"), time.Second)
	require.InDelta(t, 0.5, share, 1e-9)

	v1 := map[string]string{
		"proc/self/cgroup": "4:memory:/x\n3:cpu,cpuacct:/docker/abc\n", "proc/stat": processors(8, 0, 1000),
		"sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us": "400000\n", "sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us": "100000\n",
		"sys/fs/cgroup/cpuacct/docker/abc/cpuacct.usage": "1000000000\n",
	}
	share, ok = shareOf(t, v1, with(v1, "sys/fs/cgroup/cpuacct/docker/abc/cpuacct.usage", "4000000000"), time.Second)
	require.True(t, ok)
	require.InDelta(t, 0.75, share, 1e-9)
	// Mounted by the name of both controllers.
	joint := map[string]string{
		"proc/self/cgroup": "3:cpu,cpuacct:/a\n", "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "100000", "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000",
		"sys/fs/cgroup/cpu,cpuacct/a/cpuacct.usage": "0",
	}
	share, ok = shareOf(t, joint, with(joint, "sys/fs/cgroup/cpu,cpuacct/a/cpuacct.usage", "250000000"), time.Second)
	require.True(t, ok)
	require.InDelta(t, 0.25, share, 1e-9)
	// In a container, where the cgroup's path is the host's, and hierarchies of their own.
	inside := map[string]string{
		"proc/self/cgroup": "2:cpuacct:/docker/abc\n1:cpu:/docker/abc\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "100000", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
		"sys/fs/cgroup/cpuacct/cpuacct.usage": "7",
	}
	share, ok = shareOf(t, inside, with(inside, "sys/fs/cgroup/cpuacct/cpuacct.usage", "500000007"), time.Second)
	require.True(t, ok)
	require.InDelta(t, 0.5, share, 1e-9)
}

func TestQuotasAbove(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"proc/self/cgroup": "0::/pod/app\n", "proc/stat": processors(8, 0, 1000),
		"sys/fs/cgroup/pod/app/cpu.max": "200000 100000", "sys/fs/cgroup/pod/app/cpu.stat": "usage_usec 0",
		"sys/fs/cgroup/pod/cpu.max": "400000 100000", "sys/fs/cgroup/pod/cpu.stat": "usage_usec 0",
		"sys/fs/cgroup/cpu.max": "max 100000", "sys/fs/cgroup/cpu.stat": "usage_usec 0",
	}
	// The pod is nearer to its end than the process's own cgroup: others in it use the most.
	share, ok := shareOf(t, files, with(files, "sys/fs/cgroup/pod/app/cpu.stat", "usage_usec 200000", "sys/fs/cgroup/pod/cpu.stat", "usage_usec 3600000"), time.Second)
	require.True(t, ok)
	require.InDelta(t, 0.9, share, 1e-9)
	share, _ = shareOf(t, files, with(files, "sys/fs/cgroup/pod/app/cpu.stat", "usage_usec 1900000", "sys/fs/cgroup/pod/cpu.stat", "usage_usec 1900000"), time.Second)
	require.InDelta(t, 0.95, share, 1e-9)
}

func TestShareOfMachine(t *testing.T) {
	t.Parallel()
	files := map[string]string{"proc/self/cgroup": "0::/app\n", "sys/fs/cgroup/app/cpu.max": "max 100000", "sys/fs/cgroup/app/cpu.stat": "usage_usec 1", "proc/stat": processors(4, 100, 100)}
	share, ok := shareOf(t, files, with(files, "proc/stat", processors(4, 130, 170)), time.Second)
	require.True(t, ok)
	require.InDelta(t, 0.3, share, 1e-9)
	// A quota of as many processors as there are binds nothing: the machine is what there is.
	wide := with(files, "sys/fs/cgroup/app/cpu.max", "400000 100000")
	share, ok = shareOf(t, wide, with(wide, "proc/stat", processors(4, 130, 170), "sys/fs/cgroup/app/cpu.stat", "usage_usec 4000000"), time.Second)
	require.True(t, ok)
	require.InDelta(t, 0.3, share, 1e-9)
	// The process's own share counts where it is larger: the machine's may lag, or be that of a coarse clock. Names of processes may hold anything.
	stat := func(user, system int) string {
		return fmt.Sprintf("12 (a) b) c (d) S 1 1 1 0 -1 4194304 9 0 0 0 %d %d 0 0 20 0 8 0", user, system)
	}
	share, _ = shareOf(t, with(files, "proc/self/stat", stat(10, 10)), with(files, "proc/stat", processors(4, 130, 170), "proc/self/stat", stat(150, 70)), time.Second)
	require.InDelta(t, 0.5, share, 1e-9, "two seconds of four")
	share, _ = shareOf(t, with(files, "proc/self/stat", stat(10, 10)), with(files, "proc/stat", processors(4, 130, 170), "proc/self/stat", stat(20, 10)), time.Second)
	require.InDelta(t, 0.3, share, 1e-9)
	// Waiting for disks is no use of processors; what a hypervisor took away is.
	share, _ = shareOf(t, with(files, "proc/stat", "cpu0 0 0 0 0 0 0 0 0\n"), with(files, "proc/stat", "cpu0 5 5 5 25 40 5 5 10 99 99\n"), time.Second)
	require.InDelta(t, 0.35, share, 1e-9)
	// Of the processors only those count that the process may run on.
	some := "cpu0 0 0 0 0 0\ncpu1 0 0 0 0 0\ncpu2 0 0 0 0 0\ncpu3 0 0 0 0 0\ncpu4 0 0 0 0 0\n"
	pinned := with(files, "proc/self/status", "Name:\tx\nCpus_allowed:\t13\nCpus_allowed_list:\t0-1,4\n")
	share, _ = shareOf(t, with(pinned, "proc/stat", some), with(pinned, "proc/stat", "cpu0 100 0 0 0 0\ncpu1 100 0 0 0 0\ncpu2 0 0 0 100 0\ncpu3 0 0 0 100 0\ncpu4 0 0 0 100 0\n"), time.Second)
	require.InDelta(t, 2.0/3, share, 1e-9)
	// A quota is compared with these too.
	pinned = with(pinned, "sys/fs/cgroup/app/cpu.max", "300000 100000", "proc/stat", some)
	c, ok := root(t, pinned).CPU()
	require.True(t, ok)
	require.Empty(t, c.quotas)
	require.Equal(t, 3, c.machine.cpus)
}

func TestReadingsThatDoNotFit(t *testing.T) {
	t.Parallel()
	files := map[string]string{"proc/self/cgroup": "0::/app\n", "sys/fs/cgroup/app/cpu.max": "100000 100000", "sys/fs/cgroup/app/cpu.stat": "usage_usec 1000"}
	_, ok := shareOf(t, files, with(files, "sys/fs/cgroup/app/cpu.stat", "usage_usec 500"), time.Second)
	require.False(t, ok, "set back")
	_, ok = shareOf(t, files, with(files, "proc/self/cgroup", "0::/other\n", "sys/fs/cgroup/other/cpu.max", "100000 100000", "sys/fs/cgroup/other/cpu.stat", "usage_usec 5000000"), time.Second)
	require.False(t, ok, "moved")
	_, ok = shareOf(t, files, files, 0)
	require.False(t, ok, "no time between")
	free := map[string]string{"proc/stat": processors(2, 100, 100)}
	for name, stat := range map[string]string{"set back": processors(2, 50, 200), "nothing passed": processors(2, 100, 100), "another number of processors": processors(4, 200, 200)} {
		_, ok = shareOf(t, free, map[string]string{"proc/stat": stat}, time.Second)
		require.False(t, ok, name)
	}
	_, ok = shareOf(t, files, free, time.Second)
	require.False(t, ok, "the quota is gone, and how busy the machine was is not known")
}

// faults #59: what cannot be read is unknown, and no share.
func TestCPUUnknown(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"nothing":              {},
		"no processors":        {"proc/stat": "intr 1 2\n"},
		"garbage":              {"proc/stat": "cpu0 a b c d e\n", "proc/self/stat": ")"},
		"too much":             {"proc/stat": "cpu0 9223372036854775807 1 1 1 1\n"},
		"a quota without use":  {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "1000 1000"},
		"a quota of nothing":   {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "0 1000", "sys/fs/cgroup/cpu.stat": "usage_usec 1"},
		"a period of nothing":  {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "1000 0", "sys/fs/cgroup/cpu.stat": "usage_usec 1"},
		"no quota, version 1":  {"proc/self/cgroup": "1:cpu:/\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"},
		"a use out of range":   {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "1000 1000", "sys/fs/cgroup/cpu.stat": "usage_usec 9223372036854775807"},
		"none of the allowed":  {"proc/stat": processors(2, 1, 1), "proc/self/status": "Cpus_allowed_list: 7\n"},
		"a limit that is half": {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "1000"},
	} {
		_, ok := root(t, files).CPU()
		require.False(t, ok, name)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	load, ok := root(t, map[string]string{"proc/loadavg": "3.52 2.10 1.05 4/812 30211\n"}).Load()
	require.True(t, ok)
	require.Equal(t, 3.52, load)
	for _, text := range []string{"", "x 1 2", "-1 0 0", "NaN 0 0", "Inf 0 0", "1e999"} {
		_, ok = root(t, map[string]string{"proc/loadavg": text}).Load()
		require.False(t, ok, text)
	}
}

func TestCPUOfThisProcess(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has /proc")
	}
	r := New("/")
	old, ok := r.CPU()
	require.True(t, ok)
	deadline := time.Now().Add(30 * time.Second)
	for start := time.Now(); ; {
		now, ok := r.CPU() // which itself is work
		require.True(t, ok)
		if share, ok := now.Share(old, time.Since(start)); ok && share > 0 {
			require.LessOrEqual(t, share, 1.0)
			break
		}
		require.True(t, time.Now().Before(deadline), "a process that works uses processors")
	}
	_, ok = r.Load()
	require.True(t, ok)
}

func FuzzCPU(f *testing.F) {
	f.Add("0::/a\n5:cpu,cpuacct:/b\n", "200000 100000", "usage_usec 5", "100000", "cpu  1 2 3 4 5\ncpu0 1 2 3 4 5 6 7 8 9 10\n", "1 (x) S 1 1 1 1 1 1 1 1 1 1 5 6", "Cpus_allowed_list: 0-1,3\n", "0.1 0.2")
	f.Fuzz(func(t *testing.T, cgroup, limit, usage, number, stat, self, status, loadavg string) {
		files := map[string]string{
			"proc/self/cgroup": cgroup, "proc/stat": stat, "proc/self/stat": self, "proc/self/status": status, "proc/loadavg": loadavg,
			"sys/fs/cgroup/cpu.max": limit, "sys/fs/cgroup/cpu.stat": usage,
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us": number, "sys/fs/cgroup/cpu/cpu.cfs_period_us": limit, "sys/fs/cgroup/cpuacct/cpuacct.usage": number,
		}
		r := root(t, files)
		now, _ := r.CPU()
		for _, old := range []CPU{{}, now, {process: -1, machine: machine{cpus: now.machine.cpus}}} {
			if share, ok := now.Share(old, time.Second); ok {
				require.True(t, share >= 0 && share <= 1, "%v", share)
			} else {
				require.Zero(t, share)
			}
		}
		if load, ok := r.Load(); ok {
			require.True(t, load >= 0)
		}
	})
}
