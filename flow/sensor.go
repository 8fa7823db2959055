package flow

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/internal/cgroup"
)

// sampleEvery is how old a sample of the memory may be.
const sampleEvery = 200 * time.Millisecond

// A Sensor reads the memory of the process for rules with Memory: at most every 200 ms, by whoever asks then, with no
// goroutine. Share one between all limiters of a program: reading costs some 50 µs. Its methods are safe for concurrent use.
type Sensor struct {
	read  func() (used, limit int64, ok bool)
	next  atomic.Int64 // the reading of the clock from which a new sample is due
	used  atomic.Int64 // -1 while unknown
	limit atomic.Int64
}

// NewSensor returns a sensor that asks read for the bytes of memory in use and the memory limit in bytes (0: none is
// known); ok is false while they cannot be read. A nil read asks the operating system: the resident memory of this
// process, against the limit of its cgroup (version 1 or 2), else the machine's memory; Linux only, unknown elsewhere.
func NewSensor(read func() (used, limit int64, ok bool)) *Sensor {
	if read == nil {
		read = cgroup.New("/").Memory
	}
	s := &Sensor{read: read}
	s.next.Store(math.MinInt64)
	s.used.Store(-1)
	return s
}

// Memory returns the latest sample, taking one if it is due at now.
func (s *Sensor) Memory(now time.Duration) (used, limit int64, ok bool) {
	if next := s.next.Load(); int64(now) >= next && s.next.CompareAndSwap(next, int64(now+sampleEvery)) {
		used, limit, ok := s.read()
		if !ok {
			used = -1
		}
		s.limit.Store(limit)
		s.used.Store(used)
	}
	used = s.used.Load()
	return used, s.limit.Load(), used >= 0
}

// A falling limit follows the memory in use. See Memory.
type falling struct {
	sensor *Sensor
	rule   Memory
	scale  float64      // from a limit of the rule to calls in the window
	next   atomic.Int64 // the reading of the clock from which the limit is due to be set
}

// calls returns the limit at now, in calls of the window.
func (f *falling) calls(now time.Duration) int64 {
	return int64(math.Floor(f.limit(now)*f.scale + exactWithin))
}

// limit returns the limit at now, as the rule counts.
func (f *falling) limit(now time.Duration) float64 {
	m := f.rule
	used, limit, ok := f.sensor.Memory(now)
	filled := float64(used)
	if m.HighMark <= 1 {
		if limit <= 0 {
			return m.LowLimit
		}
		filled /= float64(limit)
	}
	if !ok {
		return m.LowLimit
	}
	share := (filled - m.LowMark) / (m.HighMark - m.LowMark)
	return m.LowLimit - min(max(share, 0), 1)*(m.LowLimit-m.HighLimit)
}

// due reports whether the limit must be set anew before a call at now, to the one caller who then must do it.
func (f *falling) due(now time.Duration) bool {
	next := f.next.Load()
	return int64(now) >= next && f.next.CompareAndSwap(next, int64(now+sampleEvery))
}
