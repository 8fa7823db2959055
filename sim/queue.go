package sim

import "time"

// A due is something that happens at a time.
type due struct {
	at   time.Duration
	made uint64 // the order of what happens at one time
	kind kind
	ref  int32  // what it happens to, an index by kind
	gen  uint32 // of what it happens to: it does not happen to what took its place
}

// kind is what happens.
type kind uint8

const (
	arrives   kind = iota // a call of a load
	changes               // a track's condition
	ends                  // the work of an instance on a job
	timesOut              // a client's patience with a job
	retries               // a call that waited for its retry
	wakes                 // a timer of a guard
	adjusts               // a load's rate
	relists               // the registry
	ticks                 // the clients
	completes             // a row of the series
)

// timeline is a heap of what is due, first what is due first. Its order is total, so that runs are the same.
type timeline struct {
	heap []due
	made uint64
}

func (l *timeline) add(at time.Duration, k kind, ref int32, gen uint32) {
	l.made++
	d := due{at: at, made: l.made, kind: k, ref: ref, gen: gen}
	l.heap = append(l.heap, d)
	h := l.heap
	i := len(h) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !d.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = d
}

// next takes out what is due first. The timeline must not be empty.
func (l *timeline) next() due {
	h := l.heap
	first, last := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	l.heap = h
	if len(h) == 0 {
		return first
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && h[child+1].before(&h[child]) {
			child++
		}
		if !h[child].before(&last) {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = last
	return first
}

func (d *due) before(o *due) bool { return d.at < o.at || d.at == o.at && d.made < o.made }
