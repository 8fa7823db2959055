package system

import (
	"math"
	"time"
)

const (
	// rateSeconds is within how many seconds the most that ended is looked for: long enough not to forget, in a lull, what the process can do, and short enough to follow when it can do less.
	rateSeconds = 5
	// timeSeconds is within how many seconds the least response time is looked for. It must be much longer than it takes to see that the CPU is busy: what is learnt only from then on is learnt from calls that queued,
	// and would let so many queue for ever.
	timeSeconds = 30
	// rateSpan is over how long a rate is measured at least.
	rateSpan = 100 * time.Millisecond
	// sampleCalls and sampleSpan say of how many calls a mean response time is taken, or within what time if fewer end: the least of many means of few calls would be a matter of luck, and far below the time that
	// calls take.
	sampleCalls = 100
	sampleSpan  = 2 * time.Second
	// headroom is how many times what the process can work on without queueing is admitted. With exactly that, every wrong guess downwards would lower the rate, which lowers the next guess, and so on down to one call.
	// A queue of half of what is worked on costs little.
	headroom = 1.5
)

// capacity estimates how much the process can work on without queueing, from what ended: the most in a second times the least mean response time.
type capacity struct {
	rate    sample // under way
	time    sample
	seconds [timeSeconds + 2]second
}

// sample is what ended within a span.
type sample struct {
	span  time.Duration
	ended int64
	spent int64
}

// second is the best of the samples that were taken in one second.
type second struct {
	number int64
	rate   float64 // per second; 0 for none
	time   float64 // in seconds; 0 for none
}

// add takes what ended between two marks.
func (c *capacity) add(from, to mark) {
	ended, took := to.ended-from.ended, to.spent-from.spent
	// What ended did so within tickEvery after from: in a longer span nobody came for the rest of it.
	span := to.at - from.at
	if span > 2*tickEvery {
		span = tickEvery
	}
	number := int64(from.at / time.Second)
	s := &c.seconds[uint64(number)%uint64(len(c.seconds))] // a clock's readings may be below 0
	if s.number != number {
		*s = second{number: number}
	}
	c.rate.add(span, ended, took)
	if c.rate.span >= rateSpan {
		s.rate = max(s.rate, float64(c.rate.ended)/c.rate.span.Seconds())
		c.rate = sample{}
	}
	c.time.add(to.at-from.at, ended, took)
	if c.time.ended >= sampleCalls || c.time.span >= sampleSpan {
		if c.time.ended > 0 && c.time.spent > 0 {
			mean := float64(c.time.spent) / float64(c.time.ended) / float64(time.Second)
			if s.time == 0 || mean < s.time {
				s.time = mean
			}
		}
		c.time = sample{}
	}
}

func (s *sample) add(span time.Duration, ended, spent int64) {
	s.span, s.ended, s.spent = s.span+span, s.ended+ended, s.spent+spent
}

// estimate returns the most that ended per second and the least mean response time, in seconds, whose product is how much the process can work on without queueing; both are 0 if that is not known.
func (c *capacity) estimate(now time.Duration) (rate, least float64) {
	longer := 0.0
	least = math.Inf(1)
	latest := int64(now / time.Second)
	for i := range c.seconds {
		s := &c.seconds[i]
		age := latest - s.number
		if age < 0 || age > timeSeconds {
			continue
		}
		if longer = max(longer, s.rate); age <= rateSeconds {
			rate = max(rate, s.rate)
		}
		if s.time > 0 {
			least = min(least, s.time)
		}
	}
	if rate == 0 {
		rate = longer // nothing ended lately: whatever hangs is no reason to admit more
	}
	if rate == 0 || math.IsInf(least, 1) {
		return 0, 0
	}
	return rate, least
}

// knew reports whether a response time was known before a time, and still is.
func (c *capacity) knew(before time.Duration) bool {
	for i := range c.seconds {
		if s := &c.seconds[i]; s.time > 0 && s.number < int64(before/time.Second) && int64(before/time.Second)-s.number < timeSeconds {
			return true
		}
	}
	return false
}
