package isolation

import (
	"fmt"
	"strings"
	"time"

	"github.com/cordon-go/cordon/rule"
)

// Problems returns everything that is wrong with the rule: values out of their range, and fields that contradict each other. A field left out is
// never wrong but for the service. Fields that have no effect beside others are warnings.
func (r Rule) Problems() []rule.Problem {
	var c checker
	if r.Service == (rule.Match{}) {
		c.fault("service", "a rule must say for which services it is", "a name, {wildcard: ...}, {regex: ...} or {default: true}")
	} else if _, err := r.Service.Compile(); err != nil {
		c.fault("service", err.Error(), "")
	}
	r.check(&c)
	return c.problems
}

// check finds what would be wrong for a group of its own too: everything but the service.
func (r Rule) check(c *checker) {
	if int(r.Preset) >= len(r.Preset.Values()) {
		c.fault("preset", fmt.Sprintf("there is no preset %d", uint8(r.Preset)), "careful, default or quick")
		return
	}
	r.checkDetector(c)
	r.checkAbsolute(c)
	r.checkQuarantine(c)
	share(c, "maxShare", r.MaxShare, 0, 1)
	share(c, "fallbackAt", r.FallbackAt, 0, 1)
	within(c, "fallbackHold", r.FallbackHold, time.Second, time.Hour)
	share(c, "fallbackRate", r.FallbackRate, 0, 1)
	share(c, "regionMin", r.RegionMin, 0, 1)
	share(c, "regionBack", r.RegionBack, 0, .5)
	if len(c.problems) == 0 {
		r.checkEffect(c)
	}
}

// checkEffect warns of what is written and does nothing, or not what it seems to. The fields are in their ranges.
func (r Rule) checkEffect(c *checker) {
	if r.AbsoluteOnly {
		fields := [...]string{"minGap", "minRatio", "evidence", "rateRef", "minFailures", "grossRate", "maxWindowCalls", "maxWindowAge", "levelCalls", "levelTime", "flightFactor"}
		given := [...]bool{r.MinGap != 0, r.MinRatio != 0, r.Evidence != 0, r.RateRef != 0, r.MinFailures != 0, r.GrossRate != 0, r.MaxWindowCalls != 0, r.MaxWindowAge != 0,
			r.LevelCalls != 0, r.LevelTime != 0, r.FlightFactor != 0}
		for i, field := range fields {
			if given[i] {
				c.warn(field, "has no effect: absoluteOnly switches the comparison with the peers off", "neither, or no absoluteOnly")
			}
		}
	}
	if r.NoFallback {
		fields := [...]string{"fallbackAt", "fallbackHold", "fallbackRate"}
		for i, given := range [...]bool{r.FallbackAt != 0, r.FallbackHold != 0, r.FallbackRate != 0} {
			if given {
				c.warn(fields[i], "has no effect: noFallback switches the fallback off", "neither, or no noFallback")
			}
		}
	}
	d := r.WithDefaults()
	if !r.AbsoluteOnly && r.GrossRate != 0 && d.GrossRate < d.MinGap {
		c.warn("grossRate", fmt.Sprintf("%v is below minGap (%v): the quicker test finds nothing that the other does not", d.GrossRate, d.MinGap),
			"more than minGap, or 1 to switch it off")
	}
	if r.RegionBack != 0 && d.RegionMin+d.RegionBack > 1+1e-9 {
		c.warn("regionBack", fmt.Sprintf("with regionMin (%v) it is more than 1: all calls go back once the whole region is in service", d.RegionMin),
			fmt.Sprintf("at most %s, or a smaller regionMin", number(1-d.RegionMin)))
	}
	if r.MayEmpty && (d.MaxShare < 1 || !r.NoFallback) {
		var why, want []string
		if d.MaxShare < 1 {
			why, want = append(why, "maxShare keeps "+percent(1-d.MaxShare)+" of them in service, rounded down"), append(want, "maxShare: 1")
		}
		if !r.NoFallback {
			why, want = append(why, "a fallback puts all back when more than "+percent(d.FallbackAt)+" are sick"), append(want, "noFallback: true")
		}
		c.warn("mayEmpty", "the last instance hardly goes: "+strings.Join(why, ", and "), strings.Join(want, " and ")+" besides")
	}
}

func (r Rule) checkDetector(c *checker) {
	within(c, "minGap", r.MinGap, .01, .5)
	within(c, "minRatio", r.MinRatio, 1.5, 10)
	within(c, "evidence", r.Evidence, 8, 20)
	within(c, "rateRef", r.RateRef, 1, 1e6)
	within(c, "minFailures", r.MinFailures, 3, 20)
	within(c, "grossRate", r.GrossRate, .1, 1)
	within(c, "maxWindowCalls", r.MaxWindowCalls, 1000, 100_000)
	within(c, "maxWindowAge", r.MaxWindowAge, time.Minute, 24*time.Hour)
	within(c, "levelCalls", r.LevelCalls, 20, 100_000)
	within(c, "levelTime", r.LevelTime, time.Second, 10*time.Minute)
	share(c, "flightFactor", r.FlightFactor, 0, 4)
	within(c, "localErrors", r.LocalErrors, 2, 1000)
}

func (r Rule) checkAbsolute(c *checker) {
	if v := r.MinSuccessRate; v != 0 && !(v > 0 && v < 1) {
		c.fault("minSuccessRate", fmt.Sprintf("%v is out of range", v), "above 0 below 1, such as 0.95")
	}
	within(c, "window", r.Window, time.Second, time.Hour)
	within(c, "minCalls", r.MinCalls, 1, 1_000_000)
	if r.MinSuccessRate == 0 {
		const want = "a minSuccessRate"
		if r.AbsoluteOnly {
			c.fault("absoluteOnly", "leaves the rule without any criterion", want)
		}
		if r.Window != 0 {
			c.fault("window", "is used only by minSuccessRate, which is not given", want)
		}
		if r.MinCalls != 0 {
			c.fault("minCalls", "is used only by minSuccessRate, which is not given", want)
		}
	}
}

func (r Rule) checkQuarantine(c *checker) {
	const day = 24 * time.Hour
	within(c, "base", r.Base, 100*time.Millisecond, time.Hour)
	within(c, "max", r.Max, 100*time.Millisecond, day)
	if d := r.WithDefaults(); r.Max != 0 && r.Max < d.Base {
		c.fault("max", fmt.Sprintf("%v is less than base (%v)", r.Max, d.Base), "at least base")
	}
	share(c, "jitter", r.Jitter, 0, .5)
	within(c, "strikeHalfLife", r.StrikeHalfLife, time.Second, day)
	within(c, "remember", r.Remember, time.Second, day)
	within(c, "probes", r.Probes, 1, 100)
	within(c, "probeEvery", r.ProbeEvery, time.Millisecond, time.Minute)
	within(c, "probeLease", r.ProbeLease, 100*time.Millisecond, time.Hour)
	share(c, "peersNoisy", r.PeersNoisy, 0, 1)
	share(c, "peersFailing", r.PeersFailing, 0, 1)
	if d := r.WithDefaults(); r.PeersFailing != 0 && r.PeersFailing < d.PeersNoisy {
		c.fault("peersFailing", fmt.Sprintf("%v is less than peersNoisy (%v)", r.PeersFailing, d.PeersNoisy), "at least peersNoisy")
	}
	within(c, "peersMinCalls", r.PeersMinCalls, 1, 100_000)
	within(c, "slowStart", r.SlowStart, time.Millisecond, time.Hour)
	within(c, "slowStartFrom", r.SlowStartFrom, .01, 1)
}

// checker collects what is wrong with a rule.
type checker struct{ problems []rule.Problem }

func (c *checker) fault(field, message, want string) {
	c.problems = append(c.problems, rule.Problem{Field: field, Message: message, Want: want})
}

func (c *checker) warn(field, message, want string) {
	c.problems = append(c.problems, rule.Problem{Field: field, Message: message, Want: want, Warning: true})
}

// within says if a field that is given is out of its range, limits included.
func within[T int | float64 | time.Duration](c *checker, field string, v, least, most T) {
	if v != 0 && !(v >= least && v <= most) {
		c.fault(field, fmt.Sprintf("%v is out of range", v), fmt.Sprintf("%v to %v", least, most))
	}
}

// share is within with the lower limit excluded.
func share(c *checker, field string, v, above, most float64) {
	if v != 0 && !(v > above && v <= most) {
		c.fault(field, fmt.Sprintf("%v is out of range", v), fmt.Sprintf("above %v up to %v", above, most))
	}
}
