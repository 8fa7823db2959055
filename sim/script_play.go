package sim

import (
	"math/rand/v2"
	"time"
)

// until returns when the span ends.
func (s Span) until() time.Duration {
	if s.Until == 0 {
		return Forever
	}
	return s.Until
}

// Play begins the script.
func (d During) Play(*rand.Rand) Track {
	step := 0
	return func() (Condition, time.Duration) {
		step++
		switch step {
		case 1:
			return Condition{}, d.From
		case 2:
			return d.Condition, d.until()
		}
		return Condition{}, Forever
	}
}

// Play begins the script.
func (f Flapping) Play(*rand.Rand) Track {
	bad := false
	return within(f.Span, func() (Condition, time.Duration) {
		if bad = !bad; bad {
			return f.Condition, f.Bad
		}
		return Condition{}, f.Good
	})
}

// Play begins the script.
func (n Noisy) Play(r *rand.Rand) Track {
	return within(n.Span, func() (Condition, time.Duration) {
		share := n.Min + r.Float64()*(n.Max-n.Min)
		return Condition{Failures: share}, exponential(r, n.Every)
	})
}

// Play begins the script.
func (s Shocks) Play(r *rand.Rand) Track {
	shock := true
	return within(s.Span, func() (Condition, time.Duration) {
		if shock = !shock; !shock {
			return Condition{}, exponential(r, s.Every)
		}
		share := s.Min + r.Float64()*(s.Max-s.Min)
		length := s.Shortest + time.Duration(r.Float64()*float64(s.Longest-s.Shortest))
		return Condition{Failures: share}, max(length, 1)
	})
}

// Play begins the script.
func (s Restart) Play(*rand.Rand) Track {
	begin, phase := s.At, -1
	return func() (Condition, time.Duration) {
		phase++
		switch phase {
		case 0:
			return Condition{}, begin
		case 1:
			return Dead(), begin + s.Down
		case 2:
			return Slow(s.Slow), begin + s.Down + s.Warmup
		}
		if s.Every == 0 {
			return Condition{}, Forever
		}
		begin, phase = begin+s.Every, 0
		return Condition{}, begin
	}
}

// within plays what next returns, conditions with how long they last, from the span's beginning to its end.
func within(s Span, next func() (Condition, time.Duration)) Track {
	begun, at := false, s.From
	return func() (Condition, time.Duration) {
		if !begun {
			begun = true
			return Condition{}, s.From
		}
		if at >= s.until() {
			return Condition{}, Forever
		}
		c, length := next()
		if length >= s.until()-at {
			at = s.until()
		} else {
			at += length
		}
		return c, at
	}
}

// exponential returns an exponentially distributed time, at least 1 ns so that time goes on.
func exponential(r *rand.Rand, mean time.Duration) time.Duration {
	return time.Duration(r.ExpFloat64()*float64(mean)) + 1
}
