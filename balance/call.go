package balance

import (
	"time"

	"github.com/cordon-go/cordon/isolation"
)

// Call is a call under way to the instance that was picked. It must end once, as an isolation.Call: one that is forgotten is in flight for ever.
type Call struct {
	isolation.Call
	region    isolation.Call // the same call, to the instance's region
	balancer  *Balancer      // whom the end is of interest; nil if it has ended, or is nobody's business
	elsewhere bool           // the instance is in another region than the caller
	// explores is true if it is only for comparing regions: its instance is called when all goes badly and not otherwise, so that nothing could be told from its results.
	explores bool
}

// End ends the call. now is the reading at which it ended.
func (c *Call) End(now time.Duration, o isolation.Outcome) {
	o = c.Counts(now, o) // once, so that the instance, its region and the balancer are told the same
	if c.explores {
		c.Call.End(now, isolation.Ignored)
	} else {
		c.Call.End(now, o)
	}
	c.region.End(now, o)
	if c.balancer != nil {
		c.balancer.ended(c, o)
		c.balancer = nil
	}
}

// Plain returns the call to the instance alone, to be ended in place of c, if nobody else need be told of its end: neither the instance's region nor the strategy. Who keeps many calls for long saves more than half of
// the memory.
func (c Call) Plain() (call isolation.Call, ok bool) {
	return c.Call, c.balancer == nil && !c.explores && c.region.Member() == nil
}

// begun counts a call under way.
func (b *Balancer) begun(c *Call) {
	if b.options.Strategy == ConsistentHash {
		b.flights[c.side()].Add(1)
	}
}

func (b *Balancer) ended(c *Call, o isolation.Outcome) {
	if b.options.Strategy == ConsistentHash {
		if flights := &b.flights[c.side()]; int64(flights.Add(^uint64(0))) < 0 {
			flights.Add(1) // a copy of a call that had ended
		}
	}
	if !c.elsewhere && o != isolation.Ignored {
		b.recent.count(o != isolation.Success)
	}
}

const (
	ownSide = iota
	otherSide
)

func (c *Call) side() int {
	if c.elsewhere {
		return otherSide
	}
	return ownSide
}
