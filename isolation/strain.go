package isolation

import (
	"fmt"
	"math"
	"time"
)

// strain watches those in service while others are out. If they fail as well, all alike, no comparison says so; but then too few are left for the load, or
// the fault lies elsewhere, and either way those who are out should come back. Group.mu guards it.
type strain struct {
	mark  counts
	from  time.Duration
	spans int // in a row, each of Rule.FallbackHold, in which they failed
}

// strained is in how many spans in a row those in service must fail: a short outage of all is no reason to let sick ones in.
const strained = 4

// look is told of a failure after the end of a span, and starts the fallback if it is time for it.
func (g *Group) look(now time.Duration) {
	if !g.mu.TryLock() {
		return // the next failure will do
	}
	if int64(now) >= g.lookAt.Load() {
		g.endSpan(now)
	}
	g.mu.Unlock()
	g.tell()
}

// endSpan judges a span.
func (g *Group) endSpan(now time.Duration) {
	s, p := &g.strain, g.params.Load()
	hold := p.rule.FallbackHold
	c := g.all.read()
	calls, fails := c.since(s.mark)
	whole := now-s.from < 2*hold
	s.mark, s.from = c, now
	g.lookAt.Store(int64(now + hold))
	if !whole || g.counted.out == 0 || g.fallback != nil || p.off || p.rule.NoFallback ||
		calls < int64(p.rule.PeersMinCalls) || rate(fails, calls) < p.rule.FallbackRate {
		s.spans = 0
		return
	}
	if s.spans++; s.spans < strained {
		return
	}
	s.spans = 0
	g.startFallback(now, g.counted.sick, fmt.Sprintf("%d of %d instances are out, and those in service fail too, %s of their calls for %v: the fault lies elsewhere, or they are too few for the load",
		g.counted.out, p.instances, percent(math.Round(100*rate(fails, calls))/100), strained*hold))
}

// hold is how long a fallback lasts at least: longer each time that one follows closely on another, so that what it is good for is not undone again and again.
type hold struct {
	length time.Duration
	ended  time.Duration // when the last fallback did
}

// next returns the hold of a fallback that begins.
func (h *hold) next(now time.Duration, r *Rule) time.Duration {
	const closely = 10 // times the hold
	switch {
	case h.length == 0 || now-h.ended > closely*r.FallbackHold:
		h.length = r.FallbackHold
	default:
		h.length = max(min(2*h.length, r.Max), r.FallbackHold)
	}
	return h.length
}
