package flow

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/clock"
)

// A Bulkhead is one concurrency limit: never more than its limit of cost is in flight, and what is in flight counts
// until it is released, however long that takes. Its methods are safe for concurrent use.
type Bulkhead struct {
	// word is all of the state that a call without waiters needs: waiting 1 | limit 31 | in flight 32. While waiting is
	// set only whoever holds mu takes places, so nobody passes those who wait.
	word atomic.Uint64
	clk  clock.Clock

	mu      sync.Mutex // guards the rest, and the setting and clearing of waiting
	queue   queue
	maxWait atomic.Int64 // written under mu
	room    int          // how many may wait
}

const (
	waiting    = 1 << 63
	limitShift = 32
	limitMask  = 1<<31 - 1
	flightMask = 1<<32 - 1
)

// NewBulkhead returns a bulkhead for the rule, which must be valid; its resource is not looked at. The clock times the
// waits; nil means clock.System().
func NewBulkhead(r ConcurrencyRule, clk clock.Clock) (*Bulkhead, error) {
	if err := r.check().faults(); err != nil {
		return nil, err
	}
	if clk == nil {
		clk = clock.System()
	}
	b := &Bulkhead{clk: clk}
	b.set(r)
	return b, nil
}

// Update puts the edited rule in force. What is in flight stays counted; a raised limit wakes waiters, a lowered one lets
// what runs end. Waiters keep the wait they began with, but those who cost more than the new limit are refused.
func (b *Bulkhead) Update(r ConcurrencyRule) error {
	if err := r.check().faults(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.set(r)
	b.queue.refuseAbove(uint64(r.Limit))
	b.hand()
	return nil
}

// set makes the rule the one in force. Caller must hold b.mu, or be alone with b.
func (b *Bulkhead) set(r ConcurrencyRule) {
	r = r.withDefaults()
	b.maxWait.Store(int64(r.MaxWait))
	b.room = r.Queue
	for {
		w := b.word.Load()
		if b.word.CompareAndSwap(w, w&^(limitMask<<limitShift)|uint64(r.Limit)<<limitShift) {
			return
		}
	}
}

// fits reports whether cost more places are free in the word, whoever waits.
func fits(w, cost uint64) bool { return w&flightMask+cost <= w>>limitShift&limitMask }

// TryAcquire takes cost places (at least 1) if they are free and nobody waits, at once.
func (b *Bulkhead) TryAcquire(cost int) bool {
	n := uint64(max(cost, 1))
	for {
		w := b.word.Load()
		if w&waiting != 0 || !fits(w, n) {
			return false
		}
		if b.word.CompareAndSwap(w, w+n) {
			return true
		}
	}
}

// Acquire is TryAcquire that waits in the queue, as the rule says. It returns nil with the places taken, ErrSaturated
// when the queue is full, the wait was too long or the cost is above the limit, or ctx's error when the caller gave up (or
// had before). Whoever gets an error holds nothing. A nil ctx counts as context.Background().
func (b *Bulkhead) Acquire(ctx context.Context, cost int) error {
	if ctx == nil {
		ctx = context.Background()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.TryAcquire(cost) {
		return nil
	}
	if !b.Waits() {
		return ErrSaturated
	}
	return b.wait(ctx, uint64(max(cost, 1)))
}

// wait queues and waits for cost places.
func (b *Bulkhead) wait(ctx context.Context, cost uint64) error {
	w, err := b.enqueue(cost)
	if w == nil {
		return err
	}
	timer := b.clk.NewTimer(time.Duration(b.maxWait.Load()))
	defer timer.Stop()
	select {
	case <-w.ready:
		return w.err
	case <-timer.C():
		err = ErrSaturated
	case <-ctx.Done():
		err = ctx.Err()
	}
	return b.leave(w, err)
}

// enqueue takes the places after all, or returns a waiter for them, or the error that refuses to wait.
func (b *Bulkhead) enqueue(cost uint64) (*waiter, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.queue.len == 0 {
		w := b.word.Load()
		if fits(w, cost) {
			if b.word.CompareAndSwap(w, w+cost) {
				return nil, nil
			}
			continue
		}
		if cost > w>>limitShift&limitMask || b.room == 0 {
			return nil, ErrSaturated
		}
		// From here on whoever releases sees that someone waits.
		if b.word.CompareAndSwap(w, w|waiting) {
			return b.queue.push(cost), nil
		}
	}
	if cost > b.word.Load()>>limitShift&limitMask || b.queue.len >= b.room {
		return nil, ErrSaturated
	}
	return b.queue.push(cost), nil
}

// leave takes a waiter who gave up out of the queue and returns why: err, or what was decided about it meanwhile.
// Whoever gave up by its context gives back what it was just handed.
func (b *Bulkhead) leave(w *waiter, err error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.queue.remove(w) {
		b.hand() // a cheaper one behind it may fit
		return err
	}
	if w.err != nil || err == ErrSaturated {
		return w.err
	}
	b.giveBack(w.cost)
	b.hand()
	return err
}

// hand hands free places to those who wait, first come, first served. Caller must hold b.mu.
func (b *Bulkhead) hand() {
	for {
		w := b.word.Load()
		first := b.queue.first
		switch {
		case first == nil && w&waiting == 0:
			return
		case first == nil:
			if b.word.CompareAndSwap(w, w&^waiting) {
				return
			}
		case !fits(w, first.cost):
			return
		case b.word.CompareAndSwap(w, w+first.cost):
			b.queue.remove(first)
			close(first.ready)
		}
	}
}

// Release gives back cost places (as many as were acquired) and hands them to the first waiters. Giving back more than
// is in flight gives back what is.
func (b *Bulkhead) Release(cost int) {
	if b.giveBack(uint64(max(cost, 1)))&waiting != 0 {
		b.handOn() // apart, as a deferred call costs all releases a little
	}
}

// handOn hands free places to those who wait.
func (b *Bulkhead) handOn() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hand()
}

// giveBack gives back places and returns the word after that.
func (b *Bulkhead) giveBack(cost uint64) uint64 {
	for {
		w := b.word.Load()
		next := w - min(cost, w&flightMask)
		if b.word.CompareAndSwap(w, next) {
			return next
		}
	}
}

// Waits reports whether the rule lets calls wait.
func (b *Bulkhead) Waits() bool { return b.maxWait.Load() > 0 }

// InFlight returns the cost in flight.
func (b *Bulkhead) InFlight() int { return int(min(b.word.Load()&flightMask, math.MaxInt32)) }

// Queued returns how many calls wait.
func (b *Bulkhead) Queued() int {
	if b.word.Load()&waiting == 0 {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.queue.len
}

// Limit returns the limit in force.
func (b *Bulkhead) Limit() int { return int(b.word.Load() >> limitShift & limitMask) }
