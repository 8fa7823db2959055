package clock

import "time"

// System returns a clock over the operating system's monotonic clock, whose origin is
// the moment of the call. A reading costs one time.Since and allocates nothing.
//
// Inside a testing/synctest bubble it follows the bubble's time when it is made there.
func System() Clock { return &SystemClock{origin: time.Now()} }

// SystemClock is what System returns. Its type is exported so that a call of Now through it costs no more than the
// reading itself, where through the interface it costs an indirect call more. The zero SystemClock is not ready.
type SystemClock struct{ origin time.Time }

// Now returns the time since the clock was made.
func (s *SystemClock) Now() time.Duration { return time.Since(s.origin) }

// Wall converts a reading to the time of day. It counts back from the time of day as it is now, not forward from what it was at the
// origin: a clock that was set right, or a machine that slept, since then would leave
// every later time wrong.
func (s *SystemClock) Wall(reading time.Duration) time.Time {
	now := time.Now()
	return now.Add(reading - now.Sub(s.origin)).Round(0)
}

// NewTimer returns a timer of the runtime.
func (s *SystemClock) NewTimer(d time.Duration) Timer {
	c := make(chan time.Duration, 1)
	return &systemTimer{c: c, timer: time.AfterFunc(d, func() { c <- s.Now() })}
}

// AfterFunc calls f in its own goroutine when d has passed.
func (s *SystemClock) AfterFunc(d time.Duration, f func()) Timer {
	return &systemTimer{timer: time.AfterFunc(d, f)}
}

type systemTimer struct {
	c     <-chan time.Duration
	timer *time.Timer
}

func (t *systemTimer) C() <-chan time.Duration { return t.c }

func (t *systemTimer) Stop() bool { return t.timer.Stop() }
