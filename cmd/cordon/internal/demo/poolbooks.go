package demo

import (
	"fmt"
	"time"
)

// A ratio is how many of a number of calls failed.
type ratio struct{ failed, calls int64 }

func (r ratio) minus(earlier ratio) ratio {
	return ratio{r.failed - earlier.failed, r.calls - earlier.calls}
}

// share returns the failed calls' part, 0 without calls.
func (r ratio) share() float64 {
	if r.calls == 0 {
		return 0
	}
	return float64(r.failed) / float64(r.calls)
}

// String is like "12 of 935 (1.3%)".
func (r ratio) String() string {
	return fmt.Sprintf("%d of %d (%.1f%%)", r.failed, r.calls, 100*r.share())
}

// A comparison is what became of both callers' calls.
type comparison struct {
	guarded, plain ratio
	// lost counts the calls of both that got no answer.
	lost int64
}

func (c comparison) minus(earlier comparison) comparison {
	return comparison{c.guarded.minus(earlier.guarded), c.plain.minus(earlier.plain), c.lost - earlier.lost}
}

// tallies returns what became of all calls that have ended.
func (p *pool) tallies() comparison {
	guarded, plain := p.guarded.load.tally(), p.plain.load.tally()
	return comparison{
		guarded: ratio{guarded.Failed, guarded.answered()}, plain: ratio{plain.Failed, plain.answered()},
		lost: guarded.Broken + plain.Broken,
	}
}

// why is the first mistake of either caller, as the end of a sentence.
func (p *pool) why() string {
	if why := p.guarded.load.why(); why != "" {
		return why
	}
	return p.plain.load.why()
}

// shares returns each instance's part of the calls that the guarded caller sent between two readings, and how many those were. Without calls all are 0.
func (p *pool) shares(from, to time.Duration) (shares []float64, calls int) {
	var each []int
	for _, u := range p.instances {
		n := len(between(p.guarded.picked(u.name), from, to))
		each = append(each, n)
		calls += n
	}
	for _, n := range each {
		shares = append(shares, float64(n)/float64(max(calls, 1)))
	}
	return shares, calls
}

// arrived reports whether all calls sent to the instances, of either caller, are in the instances' own books. No call may be on its way.
func (p *pool) arrived() bool {
	for _, c := range p.callers() {
		for _, u := range p.instances {
			if len(c.picked(u.name)) != len(u.arrived(c.name)) {
				return false
			}
		}
	}
	return true
}
