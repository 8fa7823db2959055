package flow

import (
	"fmt"
	"math"
	"time"

	"github.com/cordon-go/cordon/rule"
)

// The bounds of the fields.
const (
	minPer         = time.Millisecond
	maxPer         = 24 * time.Hour
	maxPerSecond   = 10_000_000
	maxInterval    = 30 * 24 * time.Hour // of one call of the slowest rate, and to earn the largest burst
	maxBurst       = 10_000_000
	maxWait        = time.Hour
	minWarmUp      = time.Second
	maxWarmUp      = time.Hour
	maxColdFactor  = 100
	maxConcurrency = 10_000_000
	maxQueue       = 100_000
)

// checks collects what is wrong with a rule.
type checks []rule.Problem

func (c *checks) fault(field, want, format string, args ...any) {
	*c = append(*c, rule.Problem{Field: field, Message: fmt.Sprintf(format, args...), Want: want})
}

func (c *checks) warn(field, want, format string, args ...any) {
	c.fault(field, want, format, args...)
	(*c)[len(*c)-1].Warning = true
}

// faults returns the faults as an error, or nil; warnings do not count.
func (c checks) faults() error {
	if faults := rule.Problems(c).Faults(); len(faults) > 0 {
		return faults
	}
	return nil
}

func (c *checks) resource(m rule.Match) {
	if m == (rule.Match{}) {
		c.fault("resource", "a name, {wildcard: ...}, {regex: ...} or {default: true}", "is missing: a rule must say what it limits")
	} else if _, err := m.Compile(); err != nil {
		c.fault("resource", "", "%v", err)
	}
}

// duration checks a duration whose zero means the default.
func (c *checks) duration(field string, d, low, high time.Duration) {
	if d < 0 || d != 0 && d < low || d > high {
		c.fault(field, fmt.Sprintf("%s to %s", text(low), text(high)), "%s is out of range", text(d))
	}
}

// stray refuses an option that the mode does not look at.
func (c *checks) stray(field string, set bool, m Mode, fits string) {
	if set {
		c.fault(field, "it left out, or mode: "+fits, "has no meaning for mode %s", m)
	}
}

// Problems returns what is wrong with the rule: values out of range, options that its mode does not look at, and a
// resource that is missing or does not compile. Warnings name what is in force and probably not meant.
func (r Rule) Problems() []rule.Problem {
	var c checks
	c.resource(r.Resource)
	return append(c, r.check()...)
}

// check finds what is wrong with the budget that the rule describes, whatever it is for.
func (r Rule) check() checks {
	var c checks
	if int(r.Mode) >= len(modeNames) {
		c.fault("mode", "reject, smooth, pace, warmUp or warmUpPace", "%d is unknown", uint8(r.Mode))
	}
	per := r.withDefaults().Per
	c.duration("per", r.Per, minPer, maxPer)
	c.limit("limit", r.Limit, per)
	r.checkOptions(&c)
	r.checkMemory(&c, per)
	return c
}

// limit checks a limit per interval.
func (c *checks) limit(field string, limit float64, per time.Duration) {
	if per < minPer || per > maxPer {
		return // said already, and no bound can be named
	}
	if most := maxPerSecond * per.Seconds(); !(limit >= 0 && limit <= most) { // NaN fails too
		c.fault(field, fmt.Sprintf("0 to %s (10 million per second)", number(most)), "%s per %s is out of range", number(limit), text(per))
	} else if limit > 0 && limit < float64(per)/float64(maxInterval) {
		c.fault(field, "0 to refuse all, or a higher limit", "%s per %s is less than one call in 30 days", number(limit), text(per))
	}
}

func (r Rule) checkOptions(c *checks) {
	if r.Mode == Smooth {
		r.checkBurst(c)
	} else {
		c.stray("burst", r.Burst != 0, r.Mode, "smooth")
	}
	if r.Mode.paces() {
		c.duration("maxWait", r.MaxWait, 0, maxWait)
		if r.MaxWait == 0 {
			c.warn("maxWait", "how long a call may wait, such as 500ms", "is not set: calls that come before their turn are refused, nobody waits")
		}
	} else {
		c.stray("maxWait", r.MaxWait != 0, r.Mode, "pace or warmUpPace")
	}
	if r.Mode.warms() {
		c.duration("warmUp", r.WarmUp, minWarmUp, maxWarmUp)
		if f := r.ColdFactor; f != 0 && !(f > 1 && f <= maxColdFactor) {
			c.fault("coldFactor", "above 1 up to 100", "%s is out of range: a cold resource must be slower than a warm one", number(f))
		}
	} else {
		c.stray("warmUp", r.WarmUp != 0, r.Mode, "warmUp or warmUpPace")
		c.stray("coldFactor", r.ColdFactor != 0, r.Mode, "warmUp or warmUpPace")
	}
	if r.Related != "" {
		c.stray("related", r.Mode != Reject, r.Mode, "reject")
		if r.Resource.Kind() == rule.ByName && r.Resource.Pattern() == r.Related {
			c.fault("related", "the name of another resource", "names the rule's own resource")
		}
	}
}

func (r Rule) checkBurst(c *checks) {
	if r.Burst < 0 || r.Burst > maxBurst {
		c.fault("burst", "1 to 10000000", "%d is out of range", r.Burst)
	} else if r.Limit > 0 {
		if earn := float64(r.Burst) * float64(r.withDefaults().Per) / r.Limit; r.Burst > 1 && earn > float64(maxInterval) {
			c.fault("burst", "a smaller burst or a higher limit", "%d calls take more than 30 days to earn back", r.Burst)
		}
	}
}

func (r Rule) checkMemory(c *checks, per time.Duration) {
	m := r.Memory
	if m == (Memory{}) {
		return
	}
	c.stray("memory", r.Mode != Reject, r.Mode, "reject")
	if r.Related != "" {
		c.fault("memory", "one of the two", "cannot be combined with related, which compares with a fixed limit")
	}
	if r.Limit != 0 {
		c.warn("limit", "it left out", "is not looked at where memory is set")
	}
	c.limit("memory.lowLimit", m.LowLimit, per)
	if !(m.HighLimit > 0 && m.HighLimit < m.LowLimit) {
		c.fault("memory.highLimit", "above 0, below lowLimit", "%s is out of range: the limit must fall as memory fills", number(m.HighLimit))
	}
	if !(m.LowMark > 0 && m.LowMark < m.HighMark) || math.IsInf(m.HighMark, 0) {
		c.fault("memory.lowMark", "above 0, below highMark", "marks %s and %s do not make a range", number(m.LowMark), number(m.HighMark))
	} else if m.LowMark <= 1 && m.HighMark > 1 {
		c.fault("memory.highMark", "both at most 1 (shares), or both above (bytes)", "%s is in bytes while lowMark %s is a share", number(m.HighMark), number(m.LowMark))
	}
}

// Problems returns what is wrong with the rule: values out of range, a queue without a wait, and a resource that is
// missing or does not compile.
func (r ConcurrencyRule) Problems() []rule.Problem {
	var c checks
	c.resource(r.Resource)
	return append(c, r.check()...)
}

// check finds what is wrong with the budget that the rule describes, whatever it is for.
func (r ConcurrencyRule) check() checks {
	var c checks
	if r.Limit < 0 || r.Limit > maxConcurrency {
		c.fault("limit", "0 to 10000000", "%d is out of range", r.Limit)
	}
	c.duration("maxWait", r.MaxWait, 0, maxWait)
	switch {
	case r.Queue < 0 || r.Queue > maxQueue:
		c.fault("queue", "1 to 100000", "%d is out of range", r.Queue)
	case r.Queue > 0 && r.MaxWait == 0:
		c.fault("queue", "set maxWait, or leave queue out", "has no meaning without maxWait: nobody waits")
	}
	return c
}
