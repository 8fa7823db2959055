package flow

import (
	"sync"
	"sync/atomic"
)

// A smoother is GCRA: in every interval of length T it admits at most burst + T/gap. Think of a server that takes gap
// for each call, one after the other: end is when it will be done with all that was admitted, and a call is admitted
// if it would be done with it at most burst·gap from then.
type smoother struct {
	end atomic.Int64
	// latest is the latest reading of an admission. It is raised before end is, so that whoever reads end and then
	// latest knows all readings that made end.
	latest atomic.Int64
	// refunded is how far cancels moved end back, all told. It is raised after end has moved.
	refunded atomic.Int64
	gap      int64
	burst    int64
	mu       sync.Mutex // serialises cancels
}

// acquire admits n calls at t, or returns after how many ticks they could pass if nothing else came, -1 for never.
func (s *smoother) acquire(t, n int64) (v verdict, ref uint64, after int64) {
	if n > s.burst {
		return refused, 0, -1
	}
	for {
		refunded := s.refunded.Load()
		end := s.end.Load()
		if end == closedLine {
			return moved, 0, 0
		}
		done := max(end, t) + n*s.gap
		if over := done - t - s.burst*s.gap; over > 0 {
			return refused, 0, over
		}
		raise(&s.latest, t)
		if s.end.CompareAndSwap(end, done) {
			return admitted, uint64(done + refunded), 0
		}
	}
}

// raise makes v at least x.
func raise(v *atomic.Int64, x int64) {
	for {
		old := v.Load()
		if old >= x || v.CompareAndSwap(old, x) {
			return
		}
	}
}

// cancel takes n calls of the admission ref out of what the server still has to do: what it did for them up to the latest
// admission is spent, for that admission may have been possible only because of it. The admission's place in the
// line is ref less what was refunded before it came and since; what was refunded behind it did not move it, which
// this neglects, at the caller's expense.
func (s *smoother) cancel(ref uint64, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		end := s.end.Load()
		if end == closedLine {
			return
		}
		undone := int64(ref) - s.refunded.Load() - s.latest.Load()
		refund := max(0, min(undone, n*s.gap))
		if s.end.CompareAndSwap(end, end-refund) {
			s.refunded.Add(refund)
			return
		}
	}
}

// close ends the line and returns its end.
func (s *smoother) close() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end.Swap(closedLine)
}

// usage returns how many calls of the burst are in use at t.
func (s *smoother) usage(t int64) float64 {
	return float64(max(0, s.end.Load()-t)) / float64(s.gap)
}
