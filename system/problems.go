package system

import (
	"fmt"
	"math"
	"time"

	"github.com/cordon-go/cordon/rule"
)

// The bounds of the fields.
const (
	maxLoad        = 100_000
	maxConcurrency = 10_000_000
	maxRate        = 10_000_000
	maxPer         = 24 * time.Hour // of one call of the slowest rate
	minSlowerThan  = time.Microsecond
	maxSlowerThan  = time.Hour
)

// checks collects what is wrong with a rule.
type checks []rule.Problem

func (c *checks) fault(field, want, format string, args ...any) {
	*c = append(*c, rule.Problem{Field: field, Message: fmt.Sprintf(format, args...), Want: want})
}

// Problems returns what is wrong with the rule: a metric that is missing, values out of range, and options that the metric does not look at.
func (r Rule) Problems() []rule.Problem {
	var c checks
	switch {
	case r.Metric == 0:
		c.fault("metric", "load, cpu, responseTime, concurrency or rate", "is missing: a rule must say what it looks at")
		return c
	case int(r.Metric) >= len(metricNames):
		c.fault("metric", "load, cpu, responseTime, concurrency or rate", "%d is unknown", uint8(r.Metric))
		return c
	}
	if r.Metric == ResponseTime {
		c.slowerThan(r)
	} else {
		c.limit(r)
		if r.SlowerThan != 0 {
			c.fault("slowerThan", "it left out, or metric: responseTime", "has no meaning for metric %s", r.Metric)
		}
	}
	switch {
	case int(r.Admission) >= len(admissionNames):
		c.fault("admission", "bbr or refuse", "%d is unknown", uint8(r.Admission))
	case r.Admission != BBR && !r.reads():
		c.fault("admission", "it left out, or metric: cpu or load", "has no meaning for metric %s, whose limit is never passed", r.Metric)
	}
	return c
}

// reads reports whether the rule needs readings of the machine.
func (r *Rule) reads() bool { return r.Metric == Load || r.Metric == CPU }

func (c *checks) slowerThan(r Rule) {
	switch {
	case r.SlowerThan == 0:
		c.fault("slowerThan", "a duration such as 500ms", "is missing: metric responseTime is compared with it")
	case r.SlowerThan < minSlowerThan || r.SlowerThan > maxSlowerThan:
		c.fault("slowerThan", "1µs to 1h", "%s is out of range", rule.DurationText(r.SlowerThan))
	}
	if r.Limit != 0 {
		c.fault("limit", "it left out, and slowerThan in its place", "has no meaning for metric responseTime")
	}
}

func (c *checks) limit(r Rule) {
	most := map[Metric]float64{Load: maxLoad, CPU: 1, Concurrency: maxConcurrency, Rate: maxRate}[r.Metric]
	want := "0 to " + number(most)
	if !(r.Limit >= 0 && r.Limit <= most) { // NaN fails too
		if r.Metric == CPU && r.Limit > 1 && r.Limit <= 100 {
			want += ": a share, such as " + number(r.Limit/100)
		}
		c.fault("limit", want, "%s is out of range", number(r.Limit))
		return
	}
	switch {
	case r.Metric == Concurrency && r.Limit != math.Trunc(r.Limit):
		c.fault("limit", "a whole number", "%s calls cannot be in flight", number(r.Limit))
	case r.Metric == Rate && r.Limit > 0 && r.Limit < 1/maxPer.Seconds():
		c.fault("limit", "0 to refuse all, or a higher limit", "%s per second is less than one call in a day", number(r.Limit))
	}
}
