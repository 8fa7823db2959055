package stat

import (
	"fmt"
	"sync/atomic"
	"time"
)

// A Histogram measures latencies over the last one to two spans of time, in fixed
// log-linear cells with a relative error of at most 1/16 (from 1µs to 100s; beyond, the end
// cells). It allocates its cells when a span begins, not per observation: under 1 KB a span,
// nothing before the first observation. A cell counts up to 2^32-1 observations a span.
// The zero value is not ready: use NewHistogram. All methods are safe for concurrent use.
type Histogram struct {
	span    time.Duration
	current atomic.Pointer[generation]
}

// A generation is the observations of one span. Whoever still holds a generation when the
// next one begins adds to the one its time belongs to, so nothing has to be cleared.
type generation struct {
	start time.Duration // a multiple of the span
	// previous is the span just before, if anything was observed in it. It is cut off when
	// the generation is no longer current.
	previous atomic.Pointer[generation]
	cells    [cellCount]atomic.Uint32
}

// NewHistogram returns an empty histogram that forgets observations older than two spans.
// It panics unless span > 0.
func NewHistogram(span time.Duration) *Histogram {
	h := new(Histogram)
	h.Init(span)
	return h
}

// Init is NewHistogram for a Histogram that is a field of another struct. It must come before any other use, once.
func (h *Histogram) Init(span time.Duration) {
	if span <= 0 {
		panic(fmt.Sprintf("stat: histogram with a span of %v: want more than 0", span))
	}
	h.span = span
}

// Observe counts one latency at time now. A latency below 0 counts as 0. One that comes after
// the span following its own has ended is left out.
func (h *Histogram) Observe(now, latency time.Duration) {
	g := h.current.Load()
	if g == nil || uint64(now-g.start) >= uint64(h.span) {
		g = h.generationOf(max(now, 0))
		if g == nil {
			return
		}
	}
	g.count(cellOf(latency))
}

// generationOf returns the generation that now belongs to, begun if it is a new one, or
// nil if it is forgotten.
func (h *Histogram) generationOf(now time.Duration) *generation {
	start := now - now%h.span
	for {
		g := h.current.Load()
		switch {
		case g != nil && g.start == start:
			return g
		case g != nil && g.start-start == h.span:
			return g.before(start)
		case g != nil && g.start > start:
			return nil
		}
		next := &generation{start: start}
		if g != nil && g.start == start-h.span {
			next.previous.Store(g)
		}
		if h.current.CompareAndSwap(g, next) {
			if g != nil {
				g.previous.Store(nil)
			}
			return next
		}
	}
}

// before returns the generation of the span before g's, which starts at start. It is begun now if
// nothing has been observed in it, or (in vain, but harmlessly) if it was cut off just now.
func (g *generation) before(start time.Duration) *generation {
	if previous := g.previous.Load(); previous != nil {
		return previous
	}
	late := &generation{start: start}
	if g.previous.CompareAndSwap(nil, late) {
		return late
	}
	return g.before(start)
}

// count adds one to a cell. A full cell stays full.
func (g *generation) count(cell int) {
	if g.cells[cell].Add(1) == 0 {
		g.cells[cell].Store(^uint32(0))
	}
}

// Percentiles fills dst[i] with the qs[i]-quantile of the observations of the span of now and of
// the one before, and returns how many there are; with none every dst[i] is 0. A q below 0, or
// NaN, counts as 0, one above 1 as 1. A dst shorter than qs is filled as far as it goes.
func (h *Histogram) Percentiles(now time.Duration, qs []float64, dst []time.Duration) (count int64) {
	var cells [cellCount]uint64
	h.collect(max(now, 0), &cells)
	for _, n := range cells {
		count += int64(n)
	}
	for i := range min(len(qs), len(dst)) {
		dst[i] = quantile(&cells, count, qs[i])
	}
	return count
}

// Mean returns the mean of the observations that Percentiles looks at, within a 16th; 0 if there are none.
func (h *Histogram) Mean(now time.Duration) time.Duration {
	var cells [cellCount]uint64
	h.collect(max(now, 0), &cells)
	var sum, count float64
	for i, n := range cells {
		sum += float64(n) * float64(middleOf(i))
		count += float64(n)
	}
	if count == 0 {
		return 0
	}
	return time.Duration(sum / count)
}

// collect adds the observations of the span of now and of the one before to cells.
func (h *Histogram) collect(now time.Duration, cells *[cellCount]uint64) {
	start := now - now%h.span
	for g := h.current.Load(); g != nil; g = g.previous.Load() {
		if g.start > start || g.start < start-h.span {
			continue
		}
		for i := range g.cells {
			cells[i] += uint64(g.cells[i].Load())
		}
	}
}
