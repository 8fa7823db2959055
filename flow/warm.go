package flow

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// A warmth says how warm a resource is, by Sentinel's curve (after Guava's): a store of tokens fills at the full rate while
// calls are rare, and every call takes one. At or below warning tokens the resource is warm and has its full rate; from
// there to full tokens the time between two calls grows linearly to factor times the warm one. The store begins full, and
// full traffic empties it to warning in the rule's warm-up time.
//
// It differs from Sentinel where that gets stuck: a resource is busy, and its store does not fill above warning, also when
// calls were refused for its limit, be it that whole calls make that limit lower than the curve, or that it lets calls
// pass in bursts; and tokens never go below zero.
type warmth struct {
	next   atomic.Int64 // the reading from which the store is due to be brought up to date
	passed atomic.Int64 // calls since the store was brought up to date
	held   atomic.Bool  // whether calls were refused since then

	mu     sync.Mutex // guards stored and last
	stored float64
	last   time.Duration

	rate    float64 // calls per second when warm
	warning float64
	full    float64
	slope   float64 // seconds per call and token above warning
	busy    float64 // calls per second from which a resource is busy anyway
	step    time.Duration
}

// nearlyCold is from what share of the cold rate on a resource is busy: a step may see a call less.
const nearlyCold = 0.9

// newWarmth returns the warmth of a cold resource. rate is the warm rate in calls per second; cold is what can really pass
// per second when cold.
func newWarmth(rate, cold, factor float64, warmUp, per, now time.Duration) *warmth {
	seconds := warmUp.Seconds()
	w := &warmth{rate: rate, warning: seconds * rate / (factor - 1), busy: nearlyCold * cold}
	w.full = w.warning + 2*seconds*rate/(1+factor)
	w.slope = (factor - 1) / rate / (w.full - w.warning)
	// Steps of a second as in Sentinel; shorter for short intervals, but long enough to see a call pass at the cold rate.
	w.step = min(max(per, 100*time.Millisecond), time.Second)
	w.step = max(w.step, time.Duration(float64(time.Second)/cold))
	w.stored, w.last = w.full, now
	w.next.Store(int64(now + w.step))
	return w
}

// due reports whether the store must be brought up to date before a call at now.
func (w *warmth) due(now time.Duration) bool { return int64(now) >= w.next.Load() }

// saw counts a call that was decided.
func (w *warmth) saw(v verdict, n int64, retryAfter time.Duration) {
	if v == admitted {
		w.passed.Add(n)
	} else if retryAfter > 0 && !w.held.Load() {
		w.held.Store(true)
	}
}

// advance brings the store up to date and returns the rate now in calls per second. It reports false if another caller is
// at it.
func (w *warmth) advance(now time.Duration) (rate float64, ok bool) {
	if !w.mu.TryLock() {
		return 0, false
	}
	defer w.mu.Unlock()
	if now-w.last < w.step {
		return 0, false
	}
	passed, held := float64(w.passed.Swap(0)), w.held.Swap(false)
	seconds, idle := (now - w.last).Seconds(), 0.0
	if step := w.step.Seconds(); seconds >= 2*step {
		seconds, idle = step, seconds-step // whatever passed did in the first step: the next call would have come here
	}
	if w.stored < w.warning || !held && passed < max(1, math.Floor(w.busy*seconds)) {
		w.stored = min(w.full, w.stored+seconds*w.rate)
	}
	w.stored = max(0, w.stored-passed)
	w.stored = min(w.full, w.stored+idle*w.rate)
	w.last = now
	w.next.Store(int64(now + w.step))
	return w.current(), true
}

// current returns the rate in calls per second. Caller must hold w.mu.
func (w *warmth) current() float64 {
	if w.stored <= w.warning {
		return w.rate
	}
	return 1 / ((w.stored-w.warning)*w.slope + 1/w.rate)
}

// now returns the rate in calls per second as it was last brought up to date.
func (w *warmth) now() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.current()
}

// heat returns how warm the resource is, 0 for cold to 1 for warm, and setHeat makes it that warm.
func (w *warmth) heat() float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return min(1, (w.full-w.stored)/(w.full-w.warning))
}

func (w *warmth) setHeat(heat float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stored = w.full - heat*(w.full-w.warning)
}

// cold reports whether at now the store would be full.
func (w *warmth) cold(now time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	seconds := max(0, (now - w.last).Seconds())
	return w.stored+seconds*w.rate-float64(w.passed.Load()) >= w.full
}
