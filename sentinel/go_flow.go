package sentinel

import (
	"time"

	"github.com/cordon-go/cordon/flow"
)

// The values of Go's flow rules.
const (
	goDirect         = 0
	goWarmUp         = 1
	goMemoryAdaptive = 2

	goReject   = 0
	goThrottle = 1

	goCurrent    = 0
	goAssociated = 1

	goMetricConcurrency = 0
)

func (r *reader) goFlow() {
	calculate := r.whole("tokenCalculateStrategy", goDirect, span{goDirect, goMemoryAdaptive})
	behavior := r.whole("controlBehavior", goReject, span{goReject, goThrottle})
	relation := r.whole("relationStrategy", goCurrent, span{goCurrent, goAssociated})
	ref := r.text("refResource")
	if relation == goAssociated && ref == "" {
		r.fault("refResource", "the resource associated with", "relationStrategy 1 needs it, and it is missing")
	}
	per := millis(r.whole("statIntervalInMs", 0, aUint32))
	if per == 0 {
		per = time.Second
	}
	f := flow.Rule{ID: r.e.ID, Per: per}
	if calculate == goMemoryAdaptive {
		f.Memory = r.goMemory(per) // threshold is not looked at
	} else {
		r.require("threshold", "refuse every call")
		f.Limit = r.rate("threshold", r.number("threshold", 0, 0), per)
	}
	if calculate == goWarmUp {
		r.goWarmUp(&f)
	}
	if behavior == goThrottle {
		r.goThrottle(&f, calculate)
	}
	if relation == goAssociated {
		r.relate(&f, ref)
	}
	f.Resource, f.Also = r.e.match, r.e.regex
	r.addFlow(f, goFlowFields)
}

func (r *reader) goWarmUp(f *flow.Rule) {
	if r.has("warmUpPeriodSec") {
		r.warmUp(f, r.whole("warmUpPeriodSec", 1, aUint32.from(1)))
	} else {
		r.fault("warmUpPeriodSec", "a number of seconds above 0", "a warm-up needs it, and it is missing")
	}
	factor := r.whole("warmUpColdFactor", 0, aUint32)
	if factor == 1 {
		r.fault("warmUpColdFactor", "2 or more, or 0 for 3", "a cold factor of 1 warms nothing up")
	}
	f.ColdFactor = float64(factor)
}

func (r *reader) goThrottle(f *flow.Rule, calculate int64) {
	wait := millis(r.whole("maxQueueingTimeMs", 0, aUint32))
	switch calculate {
	case goDirect:
		f.Mode, f.MaxWait = flow.Pace, wait
	case goWarmUp:
		f.Mode, f.MaxWait = flow.WarmUpPace, wait
	case goMemoryAdaptive:
		r.warn("controlBehavior", "0 with tokenCalculateStrategy 2",
			"a limit by memory rejects what is above it; it lets nothing wait its turn, as sentinel-golang would")
	}
}

func (r *reader) goMemory(per time.Duration) flow.Memory {
	m := flow.Memory{
		LowLimit:  r.rate("lowMemUsageThreshold", r.goMemoryValue("lowMemUsageThreshold"), per),
		HighLimit: r.rate("highMemUsageThreshold", r.goMemoryValue("highMemUsageThreshold"), per),
		LowMark:   r.goMemoryValue("memLowWaterMarkBytes"),
		HighMark:  r.goMemoryValue("memHighWaterMarkBytes"),
	}
	if m.LowMark == 1 {
		// At most 1 is a share of the limit to a native rule, and one byte is always exceeded.
		m.LowMark = 0
		r.fault("memLowWaterMarkBytes", "a number of bytes above 1", "a process always uses more than one byte")
	}
	if m.HighLimit >= m.LowLimit && m.LowLimit > 0 {
		r.fault("highMemUsageThreshold", "less than lowMemUsageThreshold", "the limit for much memory in use is not below the one for little")
	}
	if m.LowMark >= m.HighMark && m.HighMark > 0 {
		r.fault("memLowWaterMarkBytes", "less than memHighWaterMarkBytes", "the low mark is not below the high mark")
	}
	return m
}

// goMemoryValue reads one of the four numbers, which have no defaults.
func (r *reader) goMemoryValue(name string) float64 {
	if !r.has(name) {
		r.fault(name, "a whole number above 0", "a limit by memory needs it, and it is missing")
		return 0
	}
	return float64(r.whole(name, 0, aLong.from(1)))
}

// goFlowFields says which field of a flow rule comes from which of Go's.
var goFlowFields = map[string]string{
	"resource":         "resource",
	"limit":            "threshold",
	"per":              "statIntervalInMs",
	"maxWait":          "maxQueueingTimeMs",
	"warmUp":           "warmUpPeriodSec",
	"coldFactor":       "warmUpColdFactor",
	"mode":             "controlBehavior",
	"related":          "refResource",
	"memory":           "tokenCalculateStrategy",
	"memory.lowLimit":  "lowMemUsageThreshold",
	"memory.highLimit": "highMemUsageThreshold",
	"memory.lowMark":   "memLowWaterMarkBytes",
	"memory.highMark":  "memHighWaterMarkBytes",
}

func (r *reader) goIsolation() {
	r.whole("metricType", goMetricConcurrency, span{goMetricConcurrency, goMetricConcurrency})
	c := flow.ConcurrencyRule{ID: r.e.ID}
	r.require("threshold", "refuse the rule")
	c.Limit = r.places("threshold", float64(r.whole("threshold", 1, aUint32.from(1))))
	c.Resource, c.Also = r.e.match, r.e.regex
	r.addConcurrency(c, map[string]string{"resource": "resource", "limit": "threshold"})
}
