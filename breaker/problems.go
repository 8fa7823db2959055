package breaker

import (
	"fmt"
	"math"
	"time"

	"github.com/cordon-go/cordon/rule"
)

// The ranges of a Rule's fields.
const (
	maxCount      = 1_000_000_000 // of calls: Threshold, MinCalls
	minWindow     = 100 * time.Millisecond
	maxWindow     = time.Hour
	maxBuckets    = 100
	minOpen       = time.Millisecond
	maxOpen       = 24 * time.Hour
	maxSlowerThan = 24 * time.Hour
	maxJitter     = 0.5
	maxProbes     = 1000
	minProbeLease = 100 * time.Millisecond
	maxProbeLease = 24 * time.Hour
)

// Problems returns everything that is wrong with the rule: values out of their range, and options that its trip
// does not use. An errorRatio that can never open is a warning.
func (r Rule) Problems() []rule.Problem {
	var c checker
	if r.Resource == (rule.Match{}) {
		c.fault("resource", "a rule must say which resource it guards", "a name, {wildcard: ...}, {regex: ...} or {default: true}")
	} else if _, err := r.Resource.Compile(); err != nil {
		c.fault("resource", err.Error(), "")
	}
	r.check(&c)
	return c.problems
}

// check finds what would be wrong for a breaker of its own too: everything but the resource.
func (r Rule) check(c *checker) {
	if int(r.Trip) >= len(r.Trip.Values()) {
		c.fault("trip", fmt.Sprintf("there is no trip %d", r.Trip), "errorRatio, slowRatio, errorCount or consecutive")
		return
	}
	r.checkThreshold(c)
	r.checkLatency(c)
	r.checkWindow(c)
	r.checkOpenTime(c)
	checkRange(c, "probes", r.Probes, 1, maxProbes)
	checkRange(c, "successes", r.Successes, 1, maxProbes)
	checkRange(c, "probeLease", r.ProbeLease, minProbeLease, maxProbeLease)
}

func (r Rule) checkThreshold(c *checker) {
	t := r.Threshold
	switch {
	case t == 0 && r.Above:
		return
	case t == 0:
		c.fault("threshold", r.Trip.String()+" needs a threshold", r.wantThreshold())
	case r.Trip.ratio() && !(t > 0 && t <= 1):
		c.fault("threshold", fmt.Sprintf("%v is no share of calls", t), r.wantThreshold())
	case !r.Trip.ratio() && !(t >= 1 && t <= maxCount && t == math.Trunc(t)):
		c.fault("threshold", fmt.Sprintf("%v is no number of calls", t), r.wantThreshold())
	case r.Trip == ErrorRatio && r.Above && t == 1:
		c.warn("threshold", "a share of failed calls is never above 1, so the breaker never opens", "above: false, or a smaller threshold")
	}
}

func (r Rule) wantThreshold() string {
	if r.Trip.ratio() {
		return "above 0 up to 1, such as 0.5"
	}
	return fmt.Sprintf("a whole number from 1 to %d", maxCount)
}

func (r Rule) checkLatency(c *checker) {
	switch {
	case r.Trip != SlowRatio && r.SlowerThan != 0:
		c.stray("slowerThan", r.Trip, "trip: slowRatio")
	case r.Trip == SlowRatio && r.SlowerThan == 0:
		c.fault("slowerThan", "slowRatio needs the latency above which a call is slow", "such as 500ms")
	case r.SlowerThan < 0 || r.SlowerThan > maxSlowerThan:
		c.fault("slowerThan", text(r.SlowerThan)+" is out of range", "more than 0 up to "+text(maxSlowerThan))
	}
}

func (r Rule) checkWindow(c *checker) {
	if r.Trip != Consecutive {
		checkRange(c, "window", r.Window, minWindow, maxWindow)
		checkRange(c, "buckets", r.Buckets, 1, maxBuckets)
		checkRange(c, "minCalls", r.MinCalls, 1, maxCount)
		return
	}
	const want = "it left out, or another trip"
	if r.Window != 0 {
		c.stray("window", r.Trip, want)
	}
	if r.Buckets != 0 {
		c.stray("buckets", r.Trip, want)
	}
	if r.MinCalls != 0 {
		c.stray("minCalls", r.Trip, want)
	}
}

func (r Rule) checkOpenTime(c *checker) {
	checkRange(c, "open", r.Open, minOpen, maxOpen)
	open := r.Open
	setDefault(&open, defaultOpen)
	if r.MaxOpen > 0 && r.MaxOpen < open {
		c.fault("maxOpen", fmt.Sprintf("%s is less than the open time, %s", text(r.MaxOpen), text(open)),
			fmt.Sprintf("at least %s, or it left out", text(open)))
	} else {
		checkRange(c, "maxOpen", r.MaxOpen, minOpen, maxOpen)
	}
	if !(r.Jitter >= 0 && r.Jitter <= maxJitter) {
		c.fault("jitter", fmt.Sprintf("%v is out of range", r.Jitter), fmt.Sprintf("0 to %v", maxJitter))
	}
}

// checker collects problems.
type checker struct{ problems []rule.Problem }

func (c *checker) fault(field, message, want string) {
	c.problems = append(c.problems, rule.Problem{Index: -1, Field: field, Message: message, Want: want})
}

func (c *checker) warn(field, message, want string) {
	c.problems = append(c.problems, rule.Problem{Index: -1, Field: field, Message: message, Want: want, Warning: true})
}

func (c *checker) stray(field string, trip Trip, want string) {
	c.fault(field, "the trip "+trip.String()+" does not use it", want)
}

// checkRange checks a field whose zero value means its default.
func checkRange[T int | time.Duration](c *checker, field string, v, low, high T) {
	if v != 0 && (v < low || v > high) {
		c.fault(field, text(v)+" is out of range", text(low)+" to "+text(high))
	}
}

// faults returns what makes a rule unfit for a Breaker, as an error; nil if nothing does.
func (r Rule) faults() error {
	var c checker
	r.check(&c)
	var faults rule.Problems
	for _, p := range c.problems {
		if !p.Warning {
			p.Kind, p.RuleID = "breaker", r.ID
			faults = append(faults, p)
		}
	}
	if faults == nil {
		return nil
	}
	return fmt.Errorf("breaker: invalid rule: %w", faults)
}
