package clock

import (
	"container/heap"
	"math"
	"sync"
	"time"
)

// Manual is a clock that stands still until it is advanced, for tests of one's own rules.
// It is safe for concurrent use. The zero value is not ready: use NewManual.
type Manual struct {
	// mu guards every field below and the index of every timer. It is never held while
	// a timer fires, so that what it calls may use the clock.
	mu      sync.Mutex
	now     time.Duration
	pending timerHeap
	made    uint64     // timers ever made: the order of those with one due reading
	added   *sync.Cond // a timer has become pending
}

// NewManual returns a Manual clock at reading zero.
func NewManual() *Manual {
	m := &Manual{}
	m.added = sync.NewCond(&m.mu)
	return m
}

// Now returns the current reading.
func (m *Manual) Now() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Wall returns a fixed date, midnight of 1 January 2000 UTC, plus the reading.
func (m *Manual) Wall(reading time.Duration) time.Time {
	return time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC).Add(reading)
}

// NewTimer returns a timer that fires when the clock is advanced to its due reading. With
// a d of zero or less it has fired already when NewTimer returns.
func (m *Manual) NewTimer(d time.Duration) Timer {
	t := &manualTimer{clock: m, index: notPending, c: make(chan time.Duration, 1)}
	m.mu.Lock()
	defer m.mu.Unlock()
	if d <= 0 {
		t.c <- m.now
		return t
	}
	m.add(t, d)
	return t
}

// AfterFunc calls f when the clock is advanced to its due reading, in the goroutine that
// advances it, and never before AfterFunc has returned: with a d of zero or less f waits for the next
// Advance, be it by nothing. (Made while a timer fires, it is called by the same Advance.)
//
// f may use the clock: read it, make and stop timers, even Advance.
func (m *Manual) AfterFunc(d time.Duration, f func()) Timer {
	t := &manualTimer{clock: m, f: f}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(t, max(d, 0))
	return t
}

// add makes t pending. The caller holds m.mu.
func (m *Manual) add(t *manualTimer, d time.Duration) {
	t.due = later(m.now, d)
	t.made = m.made
	m.made++
	heap.Push(&m.pending, t)
	m.added.Broadcast()
}

// Advance moves the clock forward by d, firing due timers in the order of their due
// readings (those of one reading in the order they were made), the clock standing at
// each one's due reading while it fires. Timers made meanwhile fire too if they are due.
// A d below zero counts as zero: the clock never goes back.
//
// When Advance returns, the clock stands at the reading of the call plus d, or later: a
// fired function, or another goroutine, may have advanced it further. Where several goroutines
// advance one clock at a time, each timer still fires once and not early, but the clock may
// have moved on by the time it does.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	target := later(m.now, max(d, 0))
	for len(m.pending) > 0 && m.pending[0].due <= target {
		t := heap.Pop(&m.pending).(*manualTimer)
		m.now = t.due // never back: what was due before now has fired
		m.mu.Unlock()
		t.fire()
		m.mu.Lock()
	}
	m.now = max(m.now, target)
	m.mu.Unlock()
}

// Waiters returns how many timers are pending, so that a test can see whether a goroutine sleeps.
func (m *Manual) Waiters() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.pending)
}

// BlockUntil waits (in real time) until at least n timers are pending. A test that is
// about to advance the clock calls it so that those it wants to wake are asleep.
func (m *Manual) BlockUntil(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.pending) < n {
		m.added.Wait()
	}
}

// later returns now + d, at most the last reading there is.
func later(now, d time.Duration) time.Duration {
	if d > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + d
}
