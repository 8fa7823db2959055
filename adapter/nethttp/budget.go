package nethttp

import (
	"math"
	"sync"
	"time"
)

const (
	// savedRequests is how many requests' worth of retries may be saved up: calm times must not pay for a storm.
	savedRequests = 1000
	// savedTime is how long a time's worth of the least rate may be saved up.
	savedTime = 10 * time.Second

	token = 1_000_000 // a retry, in the unit that savings are counted in, so that they are exact
)

// A budget bounds retries: to a share of the requests, or to a least rate if that is more. It holds two savings, one that requests pay into and one that
// time does. Either may pay for a retry, and a retry is taken from both, so that what is allowed is the larger of the two and not their
// sum. It is safe for concurrent use.
type budget struct {
	share int64         // what a request brings, in millionths of a retry
	every time.Duration // between two retries at the least rate

	mu    sync.Mutex    // guards what follows
	saved int64         // by requests
	empty time.Duration // the reading at which the savings by time would have been empty, at most savedTime ago
}

// newBudget returns a budget whose savings by time are full: a client that has just started has the same troubles as others.
func newBudget(r Retry, now time.Duration) *budget {
	b := &budget{
		share: int64(math.Round(r.Budget * token)),
		every: time.Duration(math.Round(float64(time.Second) / r.MinPerSecond)),
	}
	b.empty = now - b.most()
	return b
}

// most is how much of the savings by time there may be: savedTime's worth, and at least one retry.
func (b *budget) most() time.Duration { return max(savedTime, b.every) }

// request notes a request that is not a retry.
func (b *budget) request() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.saved = min(b.saved+b.share, savedRequests*b.share)
}

// take takes a retry from the budget. It reports false, and takes nothing, if there is none.
func (b *budget) take(now time.Duration) (taking, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.empty = max(b.empty, now-b.most())
	t := taking{min(b.saved, token), min(max(now-b.empty, 0), b.every)}
	if t.saved < token && t.time < b.every {
		return taking{}, false
	}
	b.saved -= t.saved
	b.empty += t.time
	return t, true
}

// giveBack puts back what was taken for a retry that was not made.
func (b *budget) giveBack(t taking) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.saved = min(b.saved+t.saved, savedRequests*b.share)
	b.empty -= t.time
}

// A taking is what a retry took from each of the savings.
type taking struct {
	saved int64
	time  time.Duration
}
