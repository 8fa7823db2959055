package flow

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A Limiter is one budget of one rate rule. Its methods are safe for concurrent use. Times are readings of one clock;
// they may come in any order, and a late one never admits more than the rule allows.
type Limiter struct {
	state atomic.Pointer[state]
	mu    sync.Mutex // serialises updates
}

// A Permit is what an admitted call holds of a Limiter. It is a small value: keep it to give the admission back, once.
// The zero Permit holds nothing.
type Permit struct {
	ref  uint64
	cost int32
	gen  uint32
}

// NewLimiter returns a limiter for the rule, which must be valid, as of now. The rule's resource, origin, related
// resource and entrance are not looked at. A rule with Memory gets a sensor of its own: share one by NewLimiterWith.
func NewLimiter(r Rule, now time.Duration) (*Limiter, error) { return NewLimiterWith(r, now, nil) }

// NewLimiterWith is NewLimiter with the sensor for a rule with Memory, also for one that an Update brings. A nil sensor is
// replaced when one is needed.
func NewLimiterWith(r Rule, now time.Duration, sensor *Sensor) (*Limiter, error) {
	l := new(Limiter)
	if err := l.Init(r, now, sensor); err != nil {
		return nil, err
	}
	return l, nil
}

// Init is NewLimiterWith for a Limiter that is a field of another struct, which saves a pointer on the way to it. It must come before
// any other use of the limiter, once; after an error the limiter is not ready.
func (l *Limiter) Init(r Rule, now time.Duration, sensor *Sensor) error {
	if err := r.check().faults(); err != nil {
		return err
	}
	l.state.Store(newState(r.withDefaults(), now, beginning(now, sensor)))
	return nil
}

// Update puts the edited rule in force, keeping what was counted. It may race with any other method, loses no admission
// and never lets a bound be passed: a caller sees the old rule or the new one, and the new one counts what the old one
// admitted. kept is true: every two modes have a common measure.
//
// What is carried over:
//   - Between Reject and WarmUp, and with another Limit, Per or Memory: every admission that is still counted, at its time or
//     later. Of a longer Per, what is older than the old one may be forgotten.
//   - From Smooth or Pace to Reject or WarmUp: those do not remember single calls, so as many as they could have let pass in the
//     interval count, evenly spaced: for one interval calls pass at the old rate's distances.
//   - To Smooth or Pace from Reject or WarmUp: the same calls, as if the new mode had let them pass.
//   - Between Smooth and Pace and with another rate: the calls not yet worked off, at the new distance, and promised turns.
//   - Warmth, as a share of the way from cold to warm. Coming from another mode: as warm as the share of its limit in use.
//
// Permits from before an edit that changes Mode, Limit or Per can no longer be given back.
func (l *Limiter) Update(r Rule, now time.Duration) (kept bool, err error) {
	if err := r.check().faults(); err != nil {
		return true, err
	}
	r = r.withDefaults()
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.state.Load()
	if old.describes(r) {
		return true, nil
	}
	l.state.Store(newState(r, now, old.close(r, now)))
	return true, nil
}

// Acquire admits a call of the given cost (at least 1) at time now, or refuses it.
// When admitted, wait is how long the caller must still wait for its turn (0 but for the pacing modes): whoever gives up
// before gives the permit back by Cancel. When refused, retryAfter is after what time the call could pass if nothing else
// came; -1 if never: a cost above Limit (for Smooth above Burst), above 2,147,483,647, or above an eighth of a limit of more than
// 268,435,456 calls.
func (l *Limiter) Acquire(now time.Duration, cost int) (p Permit, wait, retryAfter time.Duration, ok bool) {
	n := int64(max(cost, 1))
	if n > math.MaxInt32 {
		return Permit{}, 0, -1, false
	}
	for s := l.state.Load(); ; s = l.settled() {
		var v verdict
		var ref uint64
		if s.law == exact { // the usual one, which gains a little by being asked for first
			v, ref, retryAfter = s.acquire(now, n)
			if v == refused {
				return Permit{}, 0, retryAfter, false
			}
		}
		switch s.law {
		case moving:
			v, ref, retryAfter = s.acquireMoving(now, n)
		case smoothing:
			v, ref, retryAfter = s.acquireSmooth(now, n)
		case pacing:
			v, ref, wait, retryAfter = s.acquirePaced(now, n)
		}
		switch v {
		case admitted:
			return Permit{ref, int32(n), s.gen}, wait, 0, true
		case refused:
			return Permit{}, 0, retryAfter, false
		}
	}
}

// settled returns the state after the update that is under way.
func (l *Limiter) settled() *state {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state.Load()
}

// Cancel gives an admission back, as if it had not been made as far as that is still possible; a permit must be given back
// at most once. It never lets the bound be passed. Reject and WarmUp take it out of the count; Smooth gives
// back what is not yet worked off; Pace gives the turn to a later caller, if it is still to come.
func (l *Limiter) Cancel(now time.Duration, p Permit) {
	s := l.state.Load()
	if p.cost == 0 || p.gen != s.gen {
		return
	}
	n := int64(p.cost)
	switch s.law {
	case exact, moving:
		s.cancel(p.ref, n)
	case smoothing:
		s.parts.smooth.cancel(p.ref, n)
	case pacing:
		s.parts.pace.cancel(s.parts.origin.ticks(now), p.ref, n)
	}
	if s.parts != nil && s.parts.warm != nil {
		s.parts.warm.passed.Add(-n)
	}
}

// Moves reports whether the limit is not always the rule's: for the warm-up modes, and for rules with Memory.
func (l *Limiter) Moves() bool {
	p := l.state.Load().parts
	return p != nil && (p.warm != nil || p.memory != nil)
}

// Limit returns the limit in force at now, per Per: it moves for the warm-up modes and for rules with Memory.
func (l *Limiter) Limit(now time.Duration) float64 { return l.state.Load().limitAt(now) }

// Usage returns how much counts against the limit at now: admissions in the interval (Reject, WarmUp; of a fractional limit
// in its longer interval; see Reject for groups), calls of the burst not yet earned back (Smooth), or turns promised and not yet
// due (Pace). It looks at all groups, so it is not for the path of a call.
func (l *Limiter) Usage(now time.Duration) float64 {
	s := l.state.Load()
	switch s.law {
	case smoothing:
		return s.parts.smooth.usage(s.parts.origin.ticks(now))
	case pacing:
		return s.parts.pace.usage(s.parts.origin.ticks(now))
	}
	return float64(s.usage(now))
}

// Idle reports whether at now the limiter is in the same state as a new one, so that it may be dropped and made anew.
func (l *Limiter) Idle(now time.Duration) bool {
	s := l.state.Load()
	if s.parts != nil && s.parts.warm != nil && !s.parts.warm.cold(now) {
		return false
	}
	if s.parts != nil && s.parts.kept != nil && !s.parts.kept.over(s.every, now) {
		return false
	}
	if s.law == pacing {
		return s.parts.pace.next.Load() <= s.parts.origin.ticks(now)
	}
	return l.Usage(now) == 0
}
