// Package clock is the only way time enters cordon.
//
// Inside the engine time is an argument: every window, limiter and breaker takes the
// current reading as a time.Duration counted from the origin of a Clock. Outside there
// is a Clock: System for production, Manual for tests. A reading is monotonic: a step of
// the wall clock changes nothing.
package clock

import "time"

// A Clock tells the time, and wakes whoever waits for it.
//
// Implementations must be safe for concurrent use, and Now must never go back.
type Clock interface {
	// Now returns the time since the clock's origin. Only differences between two
	// readings of the same clock mean anything.
	Now() time.Duration
	// Wall converts a reading of this clock to the time of day, for people: events,
	// logs and snapshots. Nothing is decided by it.
	Wall(reading time.Duration) time.Time
	// NewTimer returns a timer that fires once, d from now. A d of zero or less fires at once.
	NewTimer(d time.Duration) Timer
	// AfterFunc calls f in its own goroutine (Manual: in the goroutine that advances
	// the clock), d from now.
	AfterFunc(d time.Duration, f func()) Timer
}

// A Timer fires once unless it is stopped first.
type Timer interface {
	// C returns the channel that receives the reading at which the timer fired. It is
	// nil for a timer made by AfterFunc.
	C() <-chan time.Duration
	// Stop keeps the timer from firing. It reports whether it did: false means that the
	// timer has fired or was stopped before.
	Stop() bool
}
