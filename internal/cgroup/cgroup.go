// Package cgroup reads how much of a machine's or a container's resources the process uses.
package cgroup

import (
	"bytes"
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// A Reader reads the kernel's files below a root. It keeps nothing between two calls, so it is safe for concurrent use,
// and sees when the process is moved or a limit is changed.
type Reader struct {
	root string
	page int64
}

// New returns a reader of the files below root: "/" for the running system, another folder in tests.
func New(root string) *Reader { return &Reader{root: root, page: int64(os.Getpagesize())} }

// Memory returns the bytes of resident memory of this process, and the bytes it may use: the lowest memory limit of its
// cgroup and those above (version 2 or 1), or the machine's memory where that is less or no limit is set; 0 if nothing
// of that can be read. ok is false where the resident memory cannot be read: on anything but Linux.
func (r *Reader) Memory() (used, limit int64, ok bool) {
	used, ok = r.resident()
	if !ok {
		return 0, 0, false
	}
	limit = lower(r.machine(), r.cgroupLimit())
	return used, limit, true
}

// resident returns the process's resident memory, from the second field of /proc/self/statm (in pages).
func (r *Reader) resident() (int64, bool) {
	fields := bytes.Fields(r.read("proc/self/statm"))
	if len(fields) < 2 {
		return 0, false
	}
	pages, ok := number(fields[1])
	if !ok || pages > math.MaxInt64/r.page {
		return 0, false
	}
	return pages * r.page, true
}

// machine returns the machine's memory, 0 if unknown.
func (r *Reader) machine() int64 {
	for line := range bytes.Lines(r.read("proc/meminfo")) {
		if rest, ok := bytes.CutPrefix(line, []byte("MemTotal:")); ok {
			if kb, ok := number(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte(" kB"))); ok && kb <= math.MaxInt64/1024 {
				return kb * 1024
			}
		}
	}
	return 0
}

// cgroupLimit returns the lowest memory limit that cgroups set, 0 for none. /proc/self/cgroup names the process's
// cgroups, one a line: "0::/path" in version 2, "5:memory:/path" in version 1, both on a machine that uses both.
func (r *Reader) cgroupLimit() (limit int64) {
	for line := range strings.Lines(string(r.read("proc/self/cgroup"))) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		if parts[0] == "0" && parts[1] == "" {
			limit = lower(limit, r.lowest("sys/fs/cgroup", parts[2], "memory.max"))
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			if controller == "memory" {
				limit = lower(limit, r.lowest("sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes"))
			}
		}
	}
	return limit
}

// lowest returns the lowest limit in the files of that name from the cgroup up to the mount, 0 for none. In a container the
// cgroup's own path may not exist below the mount; then what the mount itself shows is the container's.
func (r *Reader) lowest(mount, cgroup, file string) (limit int64) {
	for dir := path.Clean("/" + cgroup); ; dir = path.Dir(dir) {
		if n, ok := number(bytes.TrimSpace(r.read(mount + dir + "/" + file))); ok && n > 0 {
			limit = lower(limit, n)
		}
		if dir == "/" {
			return limit
		}
	}
}

// read returns a file's content, nil if it cannot be read.
func (r *Reader) read(name string) []byte {
	data, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(name)))
	if err != nil {
		return nil
	}
	return data
}

// number parses a whole number; "max" and garbage are none.
func number(text []byte) (int64, bool) {
	n, err := strconv.ParseUint(string(text), 10, 63)
	return int64(n), err == nil
}

// lower returns the lower of two limits, of which 0 is none.
func lower(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
