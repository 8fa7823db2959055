package flow

import (
	"math"
	"time"
)

// A law is how a state enforces its rate.
type law uint8

const (
	exact     law = iota // a window
	moving               // a window whose limit moves
	smoothing            // a smoother
	pacing               // a pacer
)

// A state is what a Limiter has in force between two edits. It holds its window itself, as most are plain Reject.
type state struct {
	gen  uint32 // which permits it knows
	mode Mode
	law  law
	window
	limit float64       // as the rule says, per per
	every time.Duration // the rule's Per
	parts *parts        // nil for a plain Reject
}

// parts are what a state has besides a window.
type parts struct {
	rule   Rule // its numbers only
	origin origin
	smooth *smoother
	pace   *pacer
	warm   *warmth
	memory *falling
	sensor *Sensor
	kept   *past // of a limit of 0, which counts nothing itself: what the next state is to take over
}

// numbers returns the rule without what a Limiter does not look at.
func (r Rule) numbers() Rule {
	return Rule{Limit: r.Limit, Per: r.Per, Mode: r.Mode, Burst: r.Burst, MaxWait: r.MaxWait,
		WarmUp: r.WarmUp, ColdFactor: r.ColdFactor, Memory: r.Memory}
}

// describes reports whether the state is what the rule, its defaults set, asks for.
func (s *state) describes(r Rule) bool {
	if s.parts == nil {
		return r.numbers() == Rule{Limit: s.limit, Per: s.every}
	}
	return r.numbers() == s.parts.rule
}

// newState returns the state for a valid rule with its defaults set, which takes over what the past left.
func newState(r Rule, now time.Duration, p past) *state {
	s := &state{limit: r.Limit, every: r.Per, mode: r.Mode, gen: p.gen}
	if r.numbers() != (Rule{Limit: r.Limit, Per: r.Per}) || p.sensor != nil {
		s.parts = &parts{rule: r.numbers(), origin: p.origin, sensor: p.sensor}
	}
	switch {
	case r.Memory != (Memory{}):
		s.startFalling(r, now, p)
	case r.Limit == 0:
		s.init(0, 0, r.Per, now, now, nil) // refuses all
		s.keep(r, p)
	case r.Mode == Reject:
		n, per := whole(r.Limit, r.Per)
		s.startWindow(n, n, per, now, p)
	case r.Mode == WarmUp:
		s.startWarm(r, now, p)
	case r.Mode == Smooth:
		s.startSmooth(r, now, p)
	default:
		s.startPace(r, now, p)
	}
	return s
}

// keep holds what the past left, if anything, for the state after this one: a limit of 0 is an edit like any other.
func (s *state) keep(r Rule, p past) {
	if len(p.history) == 0 && p.line == nil && p.warm == nil {
		return
	}
	if s.parts == nil {
		s.parts = &parts{rule: r.numbers(), origin: p.origin, sensor: p.sensor}
	}
	s.parts.kept = &p
}

// startWindow makes the window of n calls per interval, cur of them in force.
func (s *state) startWindow(n, cur int64, per, now time.Duration, p past) {
	history, low := p.admissions(per, now)
	s.init(n, cur, per, now, low, history)
}

func (s *state) startFalling(r Rule, now time.Duration, p past) {
	s.law = moving
	n, per := whole(r.Memory.LowLimit, r.Per)
	if s.parts.sensor == nil {
		s.parts.sensor = NewSensor(nil)
	}
	f := &falling{sensor: s.parts.sensor, rule: r.Memory, scale: float64(per) / float64(r.Per)}
	f.next.Store(math.MinInt64)
	s.parts.memory = f
	s.startWindow(n, min(n, f.calls(now)), per, now, p)
}

func (s *state) startWarm(r Rule, now time.Duration, p past) {
	s.law = moving
	n, per := whole(r.Limit, r.Per)
	cold := math.Max(1, math.Floor(float64(n)/r.ColdFactor))
	w := newWarmth(float64(n)/per.Seconds(), cold/per.Seconds(), r.ColdFactor, r.WarmUp, per, now)
	w.setHeat(p.heat(r.ColdFactor))
	s.parts.warm = w
	s.startWindow(n, warmCalls(w.now(), n, per), per, now, p)
}

// warmCalls returns the whole calls per interval that a rate in calls per second makes: at least one, at most n.
func warmCalls(rate float64, n int64, per time.Duration) int64 {
	return max(1, min(n, int64(rate*per.Seconds()*(1+exactWithin))))
}

func (s *state) startSmooth(r Rule, now time.Duration, p past) {
	s.law = smoothing
	m := &smoother{gap: gapOf(r.Limit, r.Per), burst: int64(r.Burst)}
	m.end.Store(p.end(m.gap, m.burst, r.Per, now))
	m.latest.Store(-farthest << tickBits)
	if p.line != nil && p.line.smooth != nil && p.line.gap == m.gap {
		m.latest.Store(p.line.smooth.latest.Load())
		m.refunded.Store(p.line.smooth.refunded.Load())
	}
	s.parts.smooth = m
}

func (s *state) startPace(r Rule, now time.Duration, p past) {
	s.law = pacing
	pc := &pacer{base: gapOf(r.Limit, r.Per), wait: int64(r.MaxWait) << tickBits, most: int64(math.Ceil(r.Limit))}
	pc.gap.Store(pc.base)
	if r.Mode == WarmUpPace {
		rate := r.Limit / r.Per.Seconds()
		w := newWarmth(rate, rate/r.ColdFactor, r.ColdFactor, r.WarmUp, r.Per, now)
		w.setHeat(p.heat(r.ColdFactor))
		s.parts.warm = w
		pc.gap.Store(gapOf(w.now(), time.Second))
	}
	pc.next.Store(p.end(pc.base, 1, r.Per, now))
	if p.line != nil && p.line.gap == pc.base {
		pc.given = p.line.given
		pc.free.Store(int32(len(pc.given)))
	}
	s.parts.pace = pc
}

func (s *state) acquireMoving(now time.Duration, n int64) (v verdict, ref uint64, retryAfter time.Duration) {
	w, f := s.parts.warm, s.parts.memory
	switch {
	case f != nil && f.due(now):
		s.setLimit(f.calls(now))
	case w != nil && w.due(now):
		if rate, ok := w.advance(now); ok {
			s.setLimit(warmCalls(rate, s.max, s.per))
		}
	}
	limit := s.cur.Load()
	if limit == 0 && s.max > 0 {
		return refused, 0, sampleEvery // while memory is so full
	}
	if w != nil && n > limit && n <= s.max && s.usage(now) == 0 {
		v, ref, retryAfter = s.acquireWhole(now, n, limit)
	} else {
		v, ref, retryAfter = s.acquire(now, n)
	}
	if w != nil {
		w.saw(v, n, retryAfter)
	}
	return v, ref, retryAfter
}

// acquireWhole admits a call that costs more than a cold limit alone, where nothing else is in use: it could never pass,
// nor warm anything, otherwise.
func (s *state) acquireWhole(now time.Duration, n, limit int64) (v verdict, ref uint64, retryAfter time.Duration) {
	s.parts.warm.mu.Lock()
	defer s.parts.warm.mu.Unlock()
	s.setLimit(n)
	v, ref, retryAfter = s.acquire(now, n)
	s.setLimit(limit)
	return v, ref, retryAfter
}

func (s *state) acquireSmooth(now time.Duration, n int64) (v verdict, ref uint64, retryAfter time.Duration) {
	v, ref, after := s.parts.smooth.acquire(s.parts.origin.ticks(now), n)
	return v, ref, retry(after)
}

func (s *state) acquirePaced(now time.Duration, n int64) (v verdict, ref uint64, wait, retryAfter time.Duration) {
	p, w := s.parts.pace, s.parts.warm
	if w != nil && w.due(now) {
		if rate, ok := w.advance(now); ok {
			p.gap.Store(gapOf(rate, time.Second))
		}
	}
	v, ref, turn, after := p.acquire(s.parts.origin.ticks(now), n)
	if w != nil {
		w.saw(v, n, retry(after))
	}
	return v, ref, nanos(turn), retry(after)
}

// retry converts ticks to a time to retry after; -1 stays -1.
func retry(ticks int64) time.Duration {
	if ticks < 0 {
		return -1
	}
	return nanos(ticks)
}

func (s *state) limitAt(now time.Duration) float64 {
	if s.parts == nil {
		return s.limit
	}
	switch w, f := s.parts.warm, s.parts.memory; {
	case f != nil:
		return f.limit(now)
	case w == nil || s.limit == 0:
		return s.limit
	case s.law == pacing:
		return w.now() * s.every.Seconds()
	default:
		return float64(s.cur.Load()) * float64(s.every) / float64(s.per)
	}
}
