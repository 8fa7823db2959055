package clock

import "time"

// System returns a clock over the operating system's monotonic clock, whose origin is
// the moment of the call. A reading costs one time.Since and allocates nothing.
//
// Inside a testing/synctest bubble it follows the bubble's time when it is made there.
func System() Clock { return &system{origin: time.Now()} }

type system struct{ origin time.Time }

func (s *system) Now() time.Duration { return time.Since(s.origin) }

// Wall counts back from the time of day as it is now, not forward from what it was at the
// origin: a clock that was set right, or a machine that slept, since then would leave
// every later time wrong.
func (s *system) Wall(reading time.Duration) time.Time {
	now := time.Now()
	return now.Add(reading - now.Sub(s.origin)).Round(0)
}

func (s *system) NewTimer(d time.Duration) Timer {
	c := make(chan time.Duration, 1)
	return &systemTimer{c: c, timer: time.AfterFunc(d, func() { c <- s.Now() })}
}

func (s *system) AfterFunc(d time.Duration, f func()) Timer {
	return &systemTimer{timer: time.AfterFunc(d, f)}
}

type systemTimer struct {
	c     <-chan time.Duration
	timer *time.Timer
}

func (t *systemTimer) C() <-chan time.Duration { return t.c }

func (t *systemTimer) Stop() bool { return t.timer.Stop() }
