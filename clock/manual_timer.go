package clock

import (
	"container/heap"
	"time"
)

// notPending is the index of a timer that has fired or was stopped.
const notPending = -1

// A manualTimer is a timer of a Manual clock, whose mutex guards index. The other fields
// are not written once it is pending.
type manualTimer struct {
	clock *Manual
	index int // place in clock.pending, or notPending
	due   time.Duration
	made  uint64
	c     chan time.Duration // nil: call f instead
	f     func()
}

func (t *manualTimer) C() <-chan time.Duration { return t.c }

func (t *manualTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	if t.index == notPending {
		return false
	}
	heap.Remove(&t.clock.pending, t.index)
	return true
}

// fire runs without the clock's mutex. It is called once, so the channel has room.
func (t *manualTimer) fire() {
	if t.c == nil {
		t.f()
		return
	}
	t.c <- t.due
}

// A timerHeap is a container/heap of pending timers, the next to fire first.
type timerHeap []*manualTimer

func (h timerHeap) Len() int { return len(h) }

func (h timerHeap) Less(i, j int) bool {
	if h[i].due != h[j].due {
		return h[i].due < h[j].due
	}
	return h[i].made < h[j].made
}

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push appends a *manualTimer.
func (h *timerHeap) Push(x any) {
	t := x.(*manualTimer)
	t.index = len(*h)
	*h = append(*h, t)
}

// Pop removes the last one.
func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	t.index = notPending
	return t
}
