// Package cgroup reads how much of a machine's or a container's resources the process uses.
package cgroup

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// cgroupLimit returns the lowest memory limit that cgroups set, 0 for none.
func (r *Reader) cgroupLimit() (limit int64) {
	for _, g := range r.cgroups() {
		for dir := range upwards(g.path) {
			switch {
			case g.unified:
				limit = lower(limit, r.limit("sys/fs/cgroup"+dir+"/memory.max"))
			case slices.Contains(g.controllers, "memory"):
				limit = lower(limit, r.limit("sys/fs/cgroup/memory"+dir+"/memory.limit_in_bytes"))
			}
		}
	}
	return limit
}

// limit reads a file with one limit; 0 is none.
func (r *Reader) limit(file string) int64 {
	n, _ := number(bytes.TrimSpace(r.read(file)))
	return n
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
	if err != nil {
		return 0, false // ParseUint returns the largest for what is out of range
	}
	return int64(n), true
}

// lower returns the lower of two limits, of which 0 is none.
func lower(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
