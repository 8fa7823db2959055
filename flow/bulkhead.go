package flow

import (
	"context"

	"github.com/cordon-go/cordon/clock"
)

// A Bulkhead is one concurrency limit. Its methods are safe for concurrent use.
type Bulkhead struct{}

// NewBulkhead returns a bulkhead for the rule, which must be valid. The clock times the waits.
func NewBulkhead(r ConcurrencyRule, clk clock.Clock) (*Bulkhead, error) { panic("stub") }

// Update puts the edited rule in force. What is in flight stays counted; a raised limit wakes waiters, a lowered one lets what runs end.
func (b *Bulkhead) Update(r ConcurrencyRule) error { panic("stub") }

// TryAcquire takes cost places (at least 1) if they are free and nobody waits, at once.
func (b *Bulkhead) TryAcquire(cost int) bool { panic("stub") }

// Acquire is TryAcquire that waits in the queue as the rule says. It returns nil with the places taken, ErrSaturated when the queue is full, the wait was too long or the cost is above the limit,
// or ctx's error when the caller gave up. A waiter that gave up holds nothing.
func (b *Bulkhead) Acquire(ctx context.Context, cost int) error { panic("stub") }

// Release gives back cost places and hands them to the first waiters.
func (b *Bulkhead) Release(cost int) { panic("stub") }

// Waits reports whether the rule lets calls wait.
func (b *Bulkhead) Waits() bool { panic("stub") }

// InFlight returns the cost in flight, Queued how many calls wait, Limit the limit in force.
func (b *Bulkhead) InFlight() int { panic("stub") }

// Queued returns how many calls wait.
func (b *Bulkhead) Queued() int { panic("stub") }

// Limit returns the limit in force.
func (b *Bulkhead) Limit() int { panic("stub") }
