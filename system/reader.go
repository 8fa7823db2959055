package system

import (
	"sync"
	"time"

	"github.com/cordon-go/cordon/internal/cgroup"
)

// A Reader reads how loaded the machine is, or the container. A Guard asks it when a rule needs to know, from one goroutine at a time, which is that of a call: it should be quick, and must not panic. Tests of
// rules hand in one of their own.
type Reader interface {
	// CPU returns the share in use of the CPU that the process may use, 0 to 1, as a mean of the recent past; now is a reading of the Guard's clock. ok is false while it is unknown.
	CPU(now time.Duration) (share float64, ok bool)
	// Load returns the machine's load average. ok is false while it is unknown.
	Load() (load float64, ok bool)
}

const (
	// meanOver is over how long the CPU's share is a mean. A shorter one refuses calls for every collection of garbage. The averages that others take over many readings need 10 to 16 seconds from an idle process to
	// one that is seen as busy: by then calls queue that nobody waits for any more, and whatever learns from response times has learnt from queues. A second is what such a spike is small in.
	meanOver = time.Second
	// sameWithin is how uneven the times of readings may be.
	sameWithin = 100 * time.Millisecond
	// longestMean is what a share is a mean of at most, where nobody asked for a while: more says nothing of now.
	longestMean = 5 * time.Second
	// shortestMean is what it is a mean of at least, since processors are accounted for in ticks.
	shortestMean = 100 * time.Millisecond
	keptReadings = 8
)

// machine reads the running system.
type machine struct {
	files *cgroup.Reader

	mu       sync.Mutex // guards what follows
	readings []reading  // the oldest first
	share    float64    // of the last of them against one before
	known    bool
}

// reading is what was used by a time.
type reading struct {
	at  time.Duration
	cpu cgroup.CPU
}

// NewReader returns the reader of the running system. CPU is a mean of the last second: the share of the cgroup's quota, of this or of one above it, whichever is nearer to its end (versions 1 and 2). Where no quota is
// less than the processors that the process may run on, it is how busy these are, or how much of them the process uses, whichever is more. It is known from the second reading on. Load is the machine's, also in a
// container. On anything but Linux both are unknown.
func NewReader() Reader { return &machine{files: cgroup.New("/")} }

// CPU implements Reader.
func (m *machine) CPU(now time.Duration) (share float64, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.readings); n > 0 && now-m.readings[n-1].at < shortestMean {
		return m.share, m.known
	}
	cpu, ok := m.files.CPU()
	if !ok {
		m.readings, m.known = m.readings[:0], false
		return 0, false
	}
	m.share, m.known = 0, false
	if base := m.base(now); base != nil {
		m.share, m.known = cpu.Share(base.cpu, now-base.at)
		if !m.known {
			m.readings = m.readings[:0] // what was before does not fit what is now
		}
	}
	if len(m.readings) == keptReadings {
		m.readings = append(m.readings[:0], m.readings[1:]...)
	}
	m.readings = append(m.readings, reading{now, cpu})
	return m.share, m.known
}

// base returns the reading that one at now is compared with: the oldest of the last second, or the last if that is longer ago, but not too long. nil if there is none.
func (m *machine) base(now time.Duration) *reading {
	for i := range m.readings {
		r := &m.readings[i]
		if age := now - r.at; age <= meanOver+sameWithin || i == len(m.readings)-1 && age <= longestMean {
			return r
		}
	}
	return nil
}

// Load implements Reader.
func (m *machine) Load() (load float64, ok bool) { return m.files.Load() }
