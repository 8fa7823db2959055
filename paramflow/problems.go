package paramflow

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/rule"
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

// Problems returns what is wrong with the rule: values out of range, options that its mode does not look at, overrides that name no value, or one twice, patterns that do not compile, and a resource
// that is missing or does not compile. Warnings name what is in force and probably not meant. Whether Param is a path that compiles is not looked at: only who knows
// the extractors of one's own can say.
func (r Rule) Problems() []rule.Problem {
	var c checks
	c.resource(r.Resource)
	if r.Param == "" {
		c.fault("param", `a path such as arg[0].user.id or header["X-Tenant"]`, "is missing: a rule must say which value it limits")
	}
	if int(r.Absent) >= len(absentNames) {
		c.fault("absent", "pass or count", "%d is unknown", uint8(r.Absent))
	}
	return append(c, r.check()...)
}

// check finds what is wrong with the limits that the rule describes, whatever they are for.
func (r Rule) check() checks {
	var c checks
	if int(r.Mode) >= len(modeNames) {
		c.fault("mode", "reject, pace or concurrency", "%d is unknown", uint8(r.Mode))
	}
	r.checkTimes(&c)
	r.checkLimit(&c, "limit", r.Limit)
	r.checkBurst(&c, "burst", r.Burst, r.Limit)
	if r.Values < 0 || r.Values != 0 && r.Values < minValues || r.Values > maxValues {
		c.fault("values", fmt.Sprintf("%d to %d", minValues, maxValues), "%d is out of range", r.Values)
	}
	r.checkOnly(&c)
	r.checkOverrides(&c)
	return c
}

// checkOnly finds what is wrong with the values that the rule is restricted to.
func (r Rule) checkOnly(c *checks) {
	switch n := len(r.Only.Pattern()); {
	case n > maxPattern:
		c.fault("only", fmt.Sprintf("at most %d bytes", maxPattern), "is %d bytes long", n)
	case n == 0 && (r.Only.Kind() == rule.ByWildcard || r.Only.Kind() == rule.ByRegex):
		c.fault("only", "what the values look like, or no such field for all (for the empty value, write regex: ^$)", "is an empty %s", r.Only.Kind())
	default:
		if _, err := newOnly(r.Only); err != nil {
			c.fault("only", "", "%v", err)
		}
	}
}

// checkTimes finds what is wrong with the fields that belong to some modes.
func (r Rule) checkTimes(c *checks) {
	if r.Mode == Concurrency {
		c.stray("per", r.Per != 0, r.Mode, "reject or pace")
		c.stray("values", r.Values != 0, r.Mode, "reject or pace")
	} else {
		c.duration("per", r.Per, minPer, maxPer)
	}
	if r.Mode != Pace {
		c.stray("maxWait", r.MaxWait != 0, r.Mode, "pace")
		c.stray("maxQueue", r.MaxQueue != 0, r.Mode, "pace")
		return
	}
	c.duration("maxWait", r.MaxWait, 0, maxWait)
	switch {
	case r.MaxQueue < 0 || r.MaxQueue > maxQueue:
		c.fault("maxQueue", fmt.Sprintf("1 to %d", maxQueue), "%d is out of range", r.MaxQueue)
	case r.MaxQueue > 0 && r.MaxWait == 0:
		c.fault("maxQueue", "set maxWait, or leave maxQueue out", "has no meaning without maxWait: nobody waits")
	case r.MaxWait == 0:
		c.warn("maxWait", "how long a call may wait, such as 500ms", "is not set: calls that come before their turn are refused, nobody waits")
	}
}

// checkLimit checks the rule's limit or an override's.
func (r Rule) checkLimit(c *checks, field string, limit float64) {
	if r.Mode == Concurrency {
		if !(limit >= 0 && limit <= maxInFlight && limit == math.Trunc(limit)) { // NaN fails too
			c.fault(field, fmt.Sprintf("a whole number from 0 to %d", maxInFlight), "%s calls in flight are out of range", number(limit))
		}
		return
	}
	per := r.withDefaults().Per
	if per < minPer || per > maxPer {
		return // said already, and no bound can be named
	}
	if most := maxPerSecond * per.Seconds(); !(limit >= 0 && limit <= most) {
		c.fault(field, fmt.Sprintf("0 to %s (10 million per second)", number(most)), "%s per %s is out of range", number(limit), text(per))
	} else if limit > 0 && limit < float64(per)/float64(maxInterval) {
		c.fault(field, "0 to refuse all, or a higher limit", "%s per %s is less than one call in 30 days", number(limit), text(per))
	}
}

// checkBurst checks the burst of the rule or an override.
func (r Rule) checkBurst(c *checks, field string, burst int, limit float64) {
	switch {
	case r.Mode != Reject:
		c.stray(field, burst != 0, r.Mode, "reject")
	case burst < 0 || burst > maxBurst:
		c.fault(field, fmt.Sprintf("1 to %d", maxBurst), "%d is out of range", burst)
	case limit > 0 && burst > 1 && float64(burst)*float64(r.withDefaults().Per)/limit > float64(maxInterval):
		c.fault(field, "a smaller burst or a higher limit", "%d calls take more than 30 days to earn back", burst)
	}
}

func (r Rule) checkOverrides(c *checks) {
	if len(r.Overrides) > maxOverrides {
		c.fault("overrides", fmt.Sprintf("at most %d", maxOverrides), "are %d: too many to be kept", len(r.Overrides))
		return
	}
	byPattern := 0
	first := make(map[any]int)
	only, err := newOnly(r.Only)
	if err != nil {
		only = nil // said already
	}
	for i, o := range r.Overrides {
		at := "overrides[" + strconv.Itoa(i) + "]"
		r.checkLimit(c, at+".limit", o.Limit)
		r.checkBurst(c, at+".burst", o.Burst, o.Limit)
		key, field := o.check(c, at)
		if key == nil {
			continue
		}
		if field != "value" {
			byPattern++
		} else if !only.holds(key.(extractor.Value)) {
			c.warn(at+".value", "a value that only matches, or none", "has no effect: %q is not among the values that the rule is for, %s", o.Value, r.Only)
		}
		if j, again := first[key]; again {
			c.fault(at+"."+field, "each value and pattern once", "is the same as that of overrides[%d]", j)
			continue
		}
		first[key] = i
	}
	if byPattern > maxPatterns {
		c.fault("overrides", fmt.Sprintf("at most %d patterns, and values for the rest", maxPatterns), "have %d patterns: too many to be tried on a call", byPattern)
	}
}

// check finds what is wrong with what the override is for. It returns what tells it from others and the field that it is in; nil if there is a fault.
func (o Override) check(c *checks, at string) (key any, field string) {
	const one = "one of value, wildcard and regex"
	set := 0
	for _, given := range []bool{o.Value != "", o.Wildcard != "", o.Regex != ""} {
		if given {
			set++
		}
	}
	switch {
	case set == 0:
		c.fault(at, one, "names no value (for the empty one, write regex: ^$)")
		return nil, ""
	case set > 1:
		c.fault(at, one, "has %d of value, wildcard and regex", set)
		return nil, ""
	case o.Value != "":
		return extractor.Text(string(o.Value)), "value"
	}
	field = "wildcard"
	if o.Regex != "" {
		field = "regex"
	}
	if n := max(len(o.Wildcard), len(o.Regex)); n > maxPattern {
		c.fault(at+"."+field, fmt.Sprintf("at most %d bytes", maxPattern), "is %d bytes long", n)
		return nil, ""
	}
	m := o.match()
	if _, err := m.Compile(); err != nil {
		c.fault(at+"."+field, "", "%v", err)
		return nil, ""
	}
	return m, field
}
