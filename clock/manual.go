package clock

import "time"

// Manual is a clock that stands still until it is advanced, for tests of one's own rules.
// It is safe for concurrent use. The zero value is not ready: use NewManual.
type Manual struct{}

// NewManual returns a Manual clock at reading zero.
func NewManual() *Manual { panic("stub") }

// Now returns the current reading.
func (m *Manual) Now() time.Duration { panic("stub") }

// Wall returns a fixed date plus the reading.
func (m *Manual) Wall(reading time.Duration) time.Time { panic("stub") }

// NewTimer returns a timer that fires when the clock is advanced to its due reading.
func (m *Manual) NewTimer(d time.Duration) Timer { panic("stub") }

// AfterFunc calls f when the clock is advanced to its due reading.
func (m *Manual) AfterFunc(d time.Duration, f func()) Timer { panic("stub") }

// Advance moves the clock forward by d, firing due timers in the order of their due
// readings (those of one reading in the order they were made), the clock standing at
// each one's due reading while it fires.
func (m *Manual) Advance(d time.Duration) { panic("stub") }

// Waiters returns how many timers are pending, so that a test can wait until a goroutine sleeps.
func (m *Manual) Waiters() int { panic("stub") }

// BlockUntil waits (in real time) until at least n timers are pending.
func (m *Manual) BlockUntil(n int) { panic("stub") }
