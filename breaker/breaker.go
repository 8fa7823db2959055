package breaker

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/stat"
)

// ErrOpen is the error of a call that an open (or probing) breaker refused.
var ErrOpen = errors.New("circuit breaker is open")

// A Breaker is one circuit breaker. Its methods are safe for concurrent use. Make it with New.
//
// While it is closed a call costs it one atomic load, and its good end one windowed addition; a refusal costs atomic loads
// only. Its mutex is taken by probes, by changes of state and by Status, and never while onChange runs.
type Breaker struct {
	phase atomic.Pointer[phase]

	// mu guards the following fields, storing to phase, and the phase's recovery.
	mu sync.Mutex
	// reopened counts failed recoveries in a row.
	reopened int32
	// stamp is the last one given out.
	stamp Permit
	// last is the last transition, nil if there was none.
	last *Transition
	// pending are the transitions onChange has not been told, and telling says that some goroutine is at it.
	pending []Transition
	telling bool

	onChange func(Transition)
	// random returns a number in [0, 1), for jitter.
	random func() float64
}

// New returns a closed breaker for the rule, whose Problems must be warnings only (but it need not name a resource); otherwise
// the error, which wraps a rule.Problems, lists them. now is the current reading of the clock.
//
// onChange, if not nil, is called for every transition, one at a time and in order, with no lock held. It may call any
// method of the breaker. It runs in the goroutine that caused the transition, before the method that caused it returns; only
// when another goroutine (or the same one, further up) is in onChange already, then that one takes it over.
func New(r Rule, now time.Duration, onChange func(Transition)) (*Breaker, error) {
	if err := r.faults(); err != nil {
		return nil, err
	}
	b := &Breaker{onChange: onChange, random: rand.Float64, stamp: 1}
	p := &phase{permit: 1, state: Closed, settings: newSettings(r)}
	p.tally = newTally(&p.settings)
	b.phase.Store(p)
	return b, nil
}

// Acquire admits a call at time now, or refuses it: then retryAfter is how long to wait before it is worth trying
// again. That is the rest of the open time; half-open, where it depends on the probes, at most the open time
// of the rule and the rest of the oldest probe's lease; and the open time of the rule when forced open.
// An admitted call must end with Done or Cancel. A refusal counts nothing.
func (b *Breaker) Acquire(now time.Duration) (p Permit, retryAfter time.Duration, ok bool) {
	if ph := b.phase.Load(); ph.state == Closed {
		return ph.permit, 0, true
	}
	return b.acquireUnclosed(now)
}

// AcquireClosed is Acquire for the usual case, that the breaker is closed, and small enough to be inlined: if it reports false
// nothing is decided yet, and Acquire must be asked.
func (b *Breaker) AcquireClosed() (p Permit, ok bool) {
	ph := b.phase.Load()
	return ph.permit, ph.state == Closed
}

// acquireUnclosed is Acquire when the breaker was not simply closed.
func (b *Breaker) acquireUnclosed(now time.Duration) (p Permit, retryAfter time.Duration, ok bool) {
	for {
		ph := b.phase.Load()
		switch ph.state {
		case Disabled:
			return 0, 0, true
		case ForcedOpen:
			return 0, ph.settings.open, false
		case Open:
			if now < ph.until {
				return 0, ph.until - now, false
			}
		case HalfOpen:
			if full := time.Duration(ph.recovery.fullUntil.Load()); now < full {
				return 0, min(full-now, ph.settings.open), false
			}
		default:
			return ph.permit, 0, true
		}
		if p, ok := b.probe(now); ok {
			return p, 0, true
		} // others were quicker, and left another state or no room
	}
}

// probe admits a call as a probe if it still may be one. It begins the recovery of a breaker whose open time is over.
func (b *Breaker) probe(now time.Duration) (p Permit, ok bool) {
	b.mu.Lock()
	ph := b.phase.Load()
	begins := ph.state == Open && now >= ph.until
	if begins {
		ph = b.change(now, HalfOpen, counts{}, "the open time is over")
	}
	if ph.state == HalfOpen {
		b.stamp = nextStamp(b.stamp)
		p = b.stamp | probeFlag
		ok = ph.recovery.admit(now, &ph.settings, p)
	}
	b.mu.Unlock()
	if begins {
		b.tell()
	}
	return p, ok
}

// Done reports how an admitted call ended, once, with the latency it had. A result that belongs to an older state than the
// current one, or to a probe whose lease is over and taken by another, is ignored. An Ignored outcome counts nothing,
// and gives a probe's permit back.
func (b *Breaker) Done(now time.Duration, p Permit, outcome stat.Outcome, latency time.Duration) {
	ph := b.phase.Load()
	if p != ph.permit || outcome > stat.Failure {
		if p&probeFlag != 0 {
			b.endProbe(now, p, outcome, latency)
		}
		return
	}
	if ph.settings.bad(outcome, latency) {
		b.countBad(ph, now, outcome)
		return
	}
	t := ph.tally
	if ph.settings.trip == Consecutive {
		t.endRun()
		return
	}
	bucket := t.window.Bucket(now)
	t.window.AddAt(bucket, good, 1)
	if outcome == stat.Failure { // a fast one, for slowRatio
		t.window.AddAt(bucket, failed, 1)
	}
	if !t.watch.calm(bucket) {
		b.judge(ph, now, bucket)
	}
}

// Cancel gives back the permit of a call that was not made.
func (b *Breaker) Cancel(now time.Duration, p Permit) {
	if p&probeFlag != 0 {
		b.endProbe(now, p, stat.Ignored, 0)
	}
}

// countBad counts a bad call of the phase, which may open the breaker.
func (b *Breaker) countBad(ph *phase, now time.Duration, outcome stat.Outcome) {
	t := ph.tally
	if ph.settings.trip == Consecutive {
		if run := t.run.Add(1); ph.state == Closed && ph.settings.trips(run, run) {
			b.trip(ph, now, counts{calls: run, failures: run})
		}
		return
	}
	bucket := t.window.Bucket(now)
	t.window.AddAt(bucket, bad, 1)
	if outcome == stat.Failure && ph.settings.trip == SlowRatio {
		t.window.AddAt(bucket, failed, 1)
	}
	t.watch.alarm()
	b.judge(ph, now, bucket)
}

// judge opens the breaker if the calls of the window say so, and notes for how long good calls cannot make them say so.
func (b *Breaker) judge(ph *phase, now time.Duration, bucket int64) {
	if ph.state != Closed {
		return
	}
	t := ph.tally
	word := t.watch.word.Load()
	badCalls, calls := t.judge(now)
	switch {
	case ph.settings.trips(badCalls, calls):
		n := counts{calls: calls, failures: badCalls}
		if ph.settings.trip == SlowRatio {
			n.slow, n.failures = badCalls, t.window.Sum(now, failed)
		}
		b.trip(ph, now, n)
	case b.phase.Load() != ph: // edited meanwhile: what is true by the old settings must not be noted
	case badCalls == 0:
		t.watch.note(word, bucket, judgeNone)
	case calls >= int64(ph.settings.minCalls):
		t.watch.note(word, bucket, judgeOthers)
	}
}

// trip opens the breaker unless the phase that was judged has passed: of those who judge it at once, one opens it.
func (b *Breaker) trip(ph *phase, now time.Duration, n counts) {
	b.mu.Lock()
	won := b.phase.Load().permit == ph.permit
	if won {
		b.change(now, Open, n, ph.settings.tripReason(n))
	}
	b.mu.Unlock()
	if won {
		b.tell()
	}
}

// endProbe takes back a probe's permit and learns from its end: enough good probes close the breaker, a bad one opens it.
func (b *Breaker) endProbe(now time.Duration, p Permit, outcome stat.Outcome, latency time.Duration) {
	b.mu.Lock()
	changed := b.learn(now, p, outcome, latency)
	b.mu.Unlock()
	if changed {
		b.tell()
	}
}

// learn is endProbe without its events: it reports whether the state changed. The caller must hold b.mu.
func (b *Breaker) learn(now time.Duration, p Permit, outcome stat.Outcome, latency time.Duration) bool {
	ph := b.phase.Load()
	r, s := ph.recovery, &ph.settings
	if r == nil || !r.end(s, p) || outcome != stat.Success && outcome != stat.Failure {
		return false
	}
	r.learn(s, outcome, latency)
	switch {
	case s.bad(outcome, latency):
		b.change(now, Open, r.counts, s.probeReason(latency))
	case r.good >= int(s.successes):
		b.change(now, Closed, r.counts, plural(r.good, "good probe"))
	default:
		return false
	}
	return true
}
