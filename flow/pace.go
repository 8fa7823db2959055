package flow

import (
	"slices"
	"sync"
	"sync/atomic"
)

// A pacer promises turns, gap apart. A call of cost n takes n turns and passes at the last of them, so it needs n-1 gaps
// after the turn before it; a pause counts, a call of cost 1 passes at once after one.
type pacer struct {
	next atomic.Int64 // the first turn not promised, in ticks
	gap  atomic.Int64 // between turns; moves for a warm-up
	base int64        // the shortest gap
	wait int64        // the longest wait
	most int64        // the highest cost

	free  atomic.Int32 // how many runs were given back; written under mu
	mu    sync.Mutex   // guards given
	given []run        // turns given back, in order, that lie between promised ones
}

// A run is count turns, one gap apart, from first on.
type run struct{ first, count int64 }

// maxRuns bounds the runs that are kept; turns given back beyond stay unused.
const maxRuns = 1024

// acquire promises the turn of n calls that come at t. wait is how far it is, ref names it for cancel; after is after how
// many ticks refused calls could be promised one if nothing else came, -1 for never.
func (p *pacer) acquire(t, n int64) (v verdict, ref uint64, wait, after int64) {
	if n > p.most {
		return refused, 0, 0, -1
	}
	if n == 1 && p.free.Load() > 0 {
		if turn, ok := p.reuse(t); ok {
			return admitted, uint64(turn + p.base), turn - t, 0
		}
	}
	for {
		next := p.next.Load()
		if next == closedLine {
			return moved, 0, 0, 0
		}
		gap := p.gap.Load()
		turn := max(t, next+(n-1)*gap)
		if over := turn - t - p.wait; over > 0 {
			return refused, 0, 0, over
		}
		if p.next.CompareAndSwap(next, turn+gap) {
			return admitted, uint64(turn + gap), turn - t, 0
		}
	}
}

// reuse promises the first turn given back that is not before t.
func (p *pacer) reuse(t int64) (turn int64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next.Load() == closedLine {
		return 0, false
	}
	p.drop(t)
	if len(p.given) == 0 || p.given[0].first-t > p.wait {
		return 0, false
	}
	first := &p.given[0]
	turn = first.first
	first.first += p.base
	if first.count--; first.count == 0 {
		p.given = slices.Delete(p.given, 0, 1)
	}
	p.free.Store(int32(len(p.given)))
	return turn, true
}

// drop forgets the turns given back that are before t. Caller must hold p.mu.
func (p *pacer) drop(t int64) {
	past := 0
	for ; past < len(p.given); past++ {
		r := &p.given[past]
		if skip := (t - r.first + p.base - 1) / p.base; skip > 0 && r.count > skip {
			r.first += skip * p.base
			r.count -= skip
			break
		} else if skip <= 0 {
			break
		}
	}
	p.given = slices.Delete(p.given, 0, past)
	p.free.Store(int32(len(p.given)))
}

// cancel gives the turns of n calls that were promised as ref back. The last promised ones are taken out of the line,
// others that are still to come are kept for later callers. With a moving gap they count for the shortest.
func (p *pacer) cancel(t int64, ref uint64, n int64) {
	end := int64(ref)
	first := end - n*p.base
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.next.Load() == end {
		if p.next.CompareAndSwap(end, first) {
			p.retract(first)
			return
		}
	}
	if p.next.Load() == closedLine {
		return
	}
	p.drop(t)
	if first < t {
		skip := min(n, (t-first+p.base-1)/p.base)
		first, n = first+skip*p.base, n-skip
	}
	if n > 0 {
		p.keep(run{first, n})
	}
}

// retract takes turns given back that have become the last ones out of the line too. Caller must hold p.mu.
func (p *pacer) retract(next int64) {
	for len(p.given) > 0 {
		last := p.given[len(p.given)-1]
		if last.first+last.count*p.base != next || !p.next.CompareAndSwap(next, last.first) {
			break
		}
		next = last.first
		p.given = p.given[:len(p.given)-1]
	}
	p.free.Store(int32(len(p.given)))
}

// keep adds a run in order, joined to its neighbours where they touch. Caller must hold p.mu.
func (p *pacer) keep(r run) {
	i, _ := slices.BinarySearchFunc(p.given, r, func(a, b run) int { return int(min(max(a.first-b.first, -1), 1)) })
	if i > 0 && p.given[i-1].first+p.given[i-1].count*p.base == r.first {
		i--
		p.given[i].count += r.count
	} else if len(p.given) < maxRuns {
		p.given = slices.Insert(p.given, i, r)
	} else {
		return
	}
	if i+1 < len(p.given) && p.given[i].first+p.given[i].count*p.base == p.given[i+1].first {
		p.given[i].count += p.given[i+1].count
		p.given = slices.Delete(p.given, i+1, i+2)
	}
	p.free.Store(int32(len(p.given)))
}

// close ends the line and returns the first turn not promised and the turns given back.
func (p *pacer) close() (next int64, given []run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	given, p.given = p.given, nil
	return p.next.Swap(closedLine), given
}

// usage returns how many turns are promised and not yet due at t.
func (p *pacer) usage(t int64) float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	promised := max(0, p.next.Load()-p.gap.Load()-t)
	p.drop(t)
	turns := (promised + p.base - 1) / p.base
	for _, r := range p.given {
		turns -= r.count
	}
	return float64(max(0, turns))
}
