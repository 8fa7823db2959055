package system

import (
	"math"
	"sync"
	"time"
)

// perInterval returns a limit per second as whole calls in an interval: the whole part in a second, or one call in as many seconds as it takes.
func perInterval(limit float64) (calls int64, per time.Duration) {
	const exact = 1e-9 // forgives the rounding of decimal fractions
	switch {
	case limit <= 0:
		return 0, time.Second
	case limit < 1:
		return 1, time.Duration(math.Ceil(float64(time.Second) / limit * (1 - 0x1p-51)))
	}
	return int64(limit * (1 + exact)), time.Second
}

// runs is how many runs of equal size a window tells apart; any two neighbours are more than one such, so that there are at most twice as many.
const runs = 256

// A window admits at most its limit of cost in any half-open interval of its length, exactly and in fixed memory: by the times at which it decides, which are the readings that callers give or, for one that comes
// late, that of the latest before it. It remembers admissions in runs; a run counts as a whole until its latest admission has left the interval. Up to 256 calls each is a run of its own, above
// that a run is at most a 256th of the limit, so that as much may be refused too early and nothing is ever admitted too early.
type window struct {
	mu    sync.Mutex // held for one decision
	limit int64
	per   time.Duration
	at    time.Duration // of the latest decision
	left  time.Duration // from when on admissions are in the runs that have not left the interval
	total int64         // of all runs
	first int           // the oldest run
	len   int
	ring  *[2*runs + 1]run // nil until something is admitted
}

// run is cost admitted, the latest of it at a time.
type run struct {
	latest time.Duration
	cost   int64
}

// set puts another limit in force. What was admitted stays counted, as far as it was remembered: by a shorter interval, for its length.
func (w *window) set(limit float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit, w.per = perInterval(limit)
}

// copy makes w remember what o does.
func (w *window) copy(o *window) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w.at, w.left, w.total, w.first, w.len = o.at, o.left, o.total, o.first, o.len
	if o.ring != nil {
		ring := *o.ring
		w.ring = &ring
	}
}

// acquire admits a cost or refuses it. at is when it was decided; used is what counts against the limit, without the cost; retryAfter is after what time a refused cost could pass if nothing else came, -1 for never.
func (w *window) acquire(now time.Duration, cost int64) (at time.Duration, used int64, retryAfter time.Duration, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advance(now)
	if used = w.total; used+cost > w.limit {
		return 0, used, w.retry(cost), false
	}
	if w.ring == nil {
		w.ring, w.left = new([2*runs + 1]run), math.MinInt64
	}
	if w.len == len(w.ring) {
		w.compact()
	}
	last := w.run(w.len - 1)
	if w.len == 0 || last.cost+cost > w.size() {
		w.len++
		last = w.run(w.len - 1)
		last.cost = 0
	}
	last.cost += cost
	last.latest = w.at
	w.total += cost
	return w.at, used, 0, true
}

// cancel gives back a cost that was admitted at a time, unless it counts no more. It is taken from the oldest run that may hold it, which leaves no later than the one that does.
func (w *window) cancel(at time.Duration, cost int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at < w.left {
		return
	}
	for i := 0; i < w.len && cost > 0; i++ {
		r := w.run(i)
		if r.latest < at {
			continue
		}
		n := min(cost, r.cost)
		r.cost, w.total, cost = r.cost-n, w.total-n, cost-n
	}
}

// used returns what counts against the limit at a time.
func (w *window) used(now time.Duration) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advance(now)
	return w.total
}

// held returns what counted against the limit at the latest decision.
func (w *window) held() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.total
}

// advance makes now the time of the latest decision, unless it comes late, and drops what has left the interval. The caller holds mu.
func (w *window) advance(now time.Duration) {
	if w.ring == nil {
		w.at = now // the first: readings of a clock may be below 0
		return
	}
	w.at = max(w.at, now)
	w.forget()
}

// forget drops the runs that have left the interval. The caller holds mu.
func (w *window) forget() {
	for w.len > 0 && w.at-w.run(0).latest >= w.per {
		w.left = w.run(0).latest + 1
		w.total -= w.run(0).cost
		w.first = (w.first + 1) % len(w.ring)
		w.len--
	}
}

// size is how much a run of several admissions holds at most.
func (w *window) size() int64 { return (w.limit + runs - 1) / runs }

// compact makes room in a full ring, which only what was given back can have filled: it drops runs that hold nothing any more, and joins neighbours that would have been one run. Then any two neighbours are more
// than one again. The caller holds mu.
func (w *window) compact() {
	kept := 0
	for i := range w.len {
		r := *w.run(i)
		last := w.run(kept - 1)
		switch {
		case r.cost == 0:
		case kept > 0 && last.cost+r.cost <= w.size():
			last.cost, last.latest = last.cost+r.cost, r.latest
		default:
			*w.run(kept) = r
			kept++
		}
	}
	w.len = kept
}

// retry returns when so much will have left the interval that a cost fits. The caller holds mu.
func (w *window) retry(cost int64) time.Duration {
	if cost > w.limit {
		return -1
	}
	left := w.total
	for i := range w.len {
		if left -= w.run(i).cost; left+cost <= w.limit {
			return w.run(i).latest + w.per - w.at
		}
	}
	return w.per
}

// run returns the i-th oldest run; nil before there are any. The caller holds mu.
func (w *window) run(i int) *run {
	if w.ring == nil {
		return nil
	}
	return &w.ring[(w.first+i+len(w.ring))%len(w.ring)]
}
