package cgroup

import (
	"bytes"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A CPU is how much time of processors was used up to one moment, in each of the bounds that hold for this process. Two of them make a share: see Share.
type CPU struct {
	quotas  []quota       // those that bind: less than the processors
	machine machine       // of the processors that the process may run on
	process time.Duration // used by this process; below 0 if unknown
}

// quota is a cgroup that may use so many processors, and what all its processes used.
type quota struct {
	cgroup string
	cpus   float64
	used   time.Duration
}

// machine is what processors did, in ticks; without processors it is unknown.
type machine struct {
	cpus        int
	busy, total uint64
}

// tick is the unit of /proc/stat and /proc/self/stat: 1/100 s for all that the kernel tells programs.
const tick = 10 * time.Millisecond

// CPU reads how much time of processors was used: by the process's cgroup and those above it that have a quota (version 2 or 1), by the processors that the process may run on, and by the process.
// ok is false where neither a quota nor the processors can be read: on anything but Linux.
func (r *Reader) CPU() (c CPU, ok bool) {
	c.machine = r.processors()
	c.process = r.processTime()
	c.quotas = r.quotas()
	if n := float64(c.machine.cpus); n > 0 {
		c.quotas = slices.DeleteFunc(c.quotas, func(q quota) bool { return q.cpus >= n })
	}
	return c, len(c.quotas) > 0 || c.machine.cpus > 0
}

// Share returns which share of what it may use was in use between an older reading and this one, elapsed after it: 0 to 1. Where cgroups have quotas that bind it is that of the one nearest to
// its end, whatever the machine does besides. Where none has, it is the larger of two: how busy the processors are that the process may run on, with whatever, and how much of them the process used. ok is
// false if the readings do not fit together: the process was moved, or counters were set back.
func (c CPU) Share(old CPU, elapsed time.Duration) (share float64, ok bool) {
	if elapsed <= 0 {
		return 0, false
	}
	if len(c.quotas) > 0 {
		for _, q := range c.quotas {
			i := slices.IndexFunc(old.quotas, func(o quota) bool { return o.cgroup == q.cgroup })
			if i < 0 || q.used < old.quotas[i].used {
				continue
			}
			share, ok = max(share, float64(q.used-old.quotas[i].used)/(q.cpus*float64(elapsed))), true
		}
		return min(share, 1), ok
	}
	n, o := c.machine, old.machine
	if n.cpus == 0 || n.cpus != o.cpus || n.total <= o.total || n.busy < o.busy {
		return 0, false
	}
	share = float64(n.busy-o.busy) / float64(n.total-o.total)
	if old.process >= 0 && c.process >= old.process {
		share = max(share, float64(c.process-old.process)/(float64(n.cpus)*float64(elapsed)))
	}
	return min(share, 1), true
}

// Load returns the machine's load average of the last minute, from /proc/loadavg.
func (r *Reader) Load() (load float64, ok bool) {
	fields := bytes.Fields(r.read("proc/loadavg"))
	if len(fields) == 0 {
		return 0, false
	}
	load, err := strconv.ParseFloat(string(fields[0]), 64)
	if err != nil || !(load >= 0) || math.IsInf(load, 0) {
		return 0, false
	}
	return load, true
}

// processors reads what the processors did that the process may run on: /proc/stat has a line for each.
func (r *Reader) processors() (m machine) {
	allowed := r.allowed()
	for line := range bytes.Lines(r.read("proc/stat")) {
		fields := bytes.Fields(line)
		if len(fields) < 6 {
			continue
		}
		id, found := bytes.CutPrefix(fields[0], []byte("cpu"))
		if !found {
			break // the processors come first, and the rest is long
		}
		if n, ok := number(id); !ok || !allowed.has(n) {
			continue
		}
		// user nice system idle iowait irq softirq steal; what guests use is within user.
		var times [8]uint64
		for i := range min(len(times), len(fields)-1) {
			n, ok := number(fields[i+1])
			if !ok || n > maxTicks {
				return machine{}
			}
			times[i] = uint64(n)
		}
		for i, n := range times {
			m.total += n
			if i != 3 && i != 4 {
				m.busy += n
			}
		}
		m.cpus++
	}
	return m
}

// maxTicks is more than a processor can have counted, and little enough for sums.
const maxTicks = 1 << 48

// ranges are the numbers of processors, from first to last each; nil stands for all.
type ranges [][2]int64

func (rs ranges) has(n int64) bool {
	return rs == nil || slices.ContainsFunc(rs, func(r [2]int64) bool { return r[0] <= n && n <= r[1] })
}

// allowed returns the processors that the process may run on, as in "Cpus_allowed_list: 0-3,8".
func (r *Reader) allowed() (rs ranges) {
	for line := range strings.Lines(string(r.read("proc/self/status"))) {
		list, found := strings.CutPrefix(line, "Cpus_allowed_list:")
		if !found {
			continue
		}
		for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
			first, last, found := strings.Cut(part, "-")
			if !found {
				last = first
			}
			low, ok := number([]byte(first))
			high, ok2 := number([]byte(last))
			if !ok || !ok2 {
				return nil
			}
			rs = append(rs, [2]int64{low, high})
		}
		return rs
	}
	return nil
}

// processTime returns the time that this process has used, below 0 if unknown: fields 14 and 15 of /proc/self/stat, of which the second is a name in parentheses that may hold anything.
func (r *Reader) processTime() time.Duration {
	text := r.read("proc/self/stat")
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return -1
	}
	user, ok := number(fields[11])
	system, ok2 := number(fields[12])
	if !ok || !ok2 || user > maxTicks || system > maxTicks {
		return -1
	}
	return time.Duration(user+system) * tick
}

// quotas returns the quotas of the process's cgroup and those above it.
func (r *Reader) quotas() (all []quota) {
	accounts := "" // the cgroup that accounts for processors in version 1, where it is another hierarchy than that of quotas
	for _, g := range r.cgroups() {
		if slices.Contains(g.controllers, "cpuacct") {
			accounts = strings.Join(g.controllers, ",")
		}
	}
	for _, g := range r.cgroups() {
		for dir := range upwards(g.path) {
			var q quota
			var ok bool
			switch {
			case g.unified:
				q, ok = r.quota2("sys/fs/cgroup" + dir)
			case slices.Contains(g.controllers, "cpu"):
				q, ok = r.quota1(dir, strings.Join(g.controllers, ","), accounts)
			}
			if ok && q.cpus > 0 {
				all = append(all, q)
			}
		}
	}
	return all
}

// quota2 reads the quota of a cgroup of version 2: cpu.max is "200000 100000", or "max 100000" for none.
func (r *Reader) quota2(dir string) (q quota, ok bool) {
	fields := bytes.Fields(r.read(dir + "/cpu.max"))
	if len(fields) != 2 {
		return quota{}, false
	}
	if q.cpus, ok = cpus(fields[0], fields[1]); !ok {
		return quota{}, false
	}
	for line := range bytes.Lines(r.read(dir + "/cpu.stat")) {
		if rest, found := bytes.CutPrefix(line, []byte("usage_usec ")); found {
			used, ok := number(bytes.TrimSpace(rest))
			q.cgroup, q.used = dir, time.Duration(used)*time.Microsecond
			return q, ok && used < math.MaxInt64/int64(time.Microsecond)
		}
	}
	return quota{}, false
}

// quota1 reads the quota of a cgroup of version 1, where -1 is none. Its files may be mounted by the name of one controller or of all that share the hierarchy.
func (r *Reader) quota1(dir, together, accounts string) (q quota, ok bool) {
	first := func(file string, mounts ...string) []byte {
		for _, m := range mounts {
			if text := r.read("sys/fs/cgroup/" + m + dir + "/" + file); text != nil {
				return bytes.TrimSpace(text)
			}
		}
		return nil
	}
	if q.cpus, ok = cpus(first("cpu.cfs_quota_us", "cpu", together), first("cpu.cfs_period_us", "cpu", together)); !ok {
		return quota{}, false
	}
	used, ok := number(first("cpuacct.usage", "cpuacct", accounts, together))
	q.cgroup, q.used = "v1"+dir, time.Duration(used)
	return q, ok
}

// cpus returns how many processors a quota in a period makes.
func cpus(limit, period []byte) (float64, bool) {
	l, ok := number(limit)
	p, ok2 := number(period)
	if !ok || !ok2 || l == 0 || p == 0 {
		return 0, false
	}
	return float64(l) / float64(p), true
}

// A group is one of the cgroups that the process is in: one of version 2, and one for every hierarchy of version 1.
type group struct {
	unified     bool
	controllers []string
	path        string
}

// cgroups reads /proc/self/cgroup, with the process's cgroups one a line: "0::/path" in version 2, "5:cpu,cpuacct:/path" in version 1, both on a machine that uses both.
func (r *Reader) cgroups() (groups []group) {
	for line := range strings.Lines(string(r.read("proc/self/cgroup"))) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		groups = append(groups, group{
			unified:     parts[0] == "0" && parts[1] == "",
			controllers: strings.Split(parts[1], ","),
			path:        parts[2],
		})
	}
	return groups
}

// upwards yields a cgroup's path and those above it up to the mount, as folders: "/a/b", "/a", "". In a container the cgroup's own path may not exist below the mount; then what the mount itself shows is the
// container's.
func upwards(cgroup string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for dir := path.Clean("/" + cgroup); ; dir = path.Dir(dir) {
			if dir == "/" {
				yield("")
				return
			}
			if !yield(dir) {
				return
			}
		}
	}
}
