package flow

// A queue is a list of waiters, first come, first served. Whoever uses it must hold the bulkhead's mu.
type queue struct {
	first, last *waiter
	len         int
}

// A waiter waits for cost places. ready is closed when it got them, or when err says why it will not.
type waiter struct {
	cost       uint64
	ready      chan struct{}
	err        error // written before ready is closed
	queued     bool
	prev, next *waiter
}

func (q *queue) push(cost uint64) *waiter {
	w := &waiter{cost: cost, ready: make(chan struct{}), prev: q.last, queued: true}
	if q.last == nil {
		q.first = w
	} else {
		q.last.next = w
	}
	q.last = w
	q.len++
	return w
}

// remove takes a waiter out and reports whether it was still in.
func (q *queue) remove(w *waiter) bool {
	if !w.queued {
		return false
	}
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next, w.queued = nil, nil, false
	q.len--
	return true
}

// refuseAbove refuses the waiters that cost more than can ever be free.
func (q *queue) refuseAbove(limit uint64) {
	for w := q.first; w != nil; {
		next := w.next
		if w.cost > limit {
			q.remove(w)
			w.err = ErrSaturated
			close(w.ready)
		}
		w = next
	}
}
