package sentinel

import (
	"time"
	"unicode/utf8"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
)

func (w *writer) javaRate(f flow.Rule) {
	regex := w.common(f.Meta())
	if regex && f.Mode != flow.Reject {
		w.l.omit("mode", "in Sentinel Java a rule with a regular expression can only reject")
	}
	w.limitApp(f.Origin)
	w.o.sayOr("grade", wholeNode(javaGradeQPS), wholeNode(javaGradeQPS))
	per := or(f.Per, time.Second)
	limit := f.Limit
	if f.Memory != (flow.Memory{}) {
		limit = f.Memory.LowLimit
		w.l.add("memory", "Sentinel Java has no limits by memory; the limit for little memory in use is written")
	}
	if per != time.Second {
		limit /= per.Seconds()
		w.l.add("per", "Sentinel Java's limits are per second; %v per %v is written as %v", f.Limit, per, limit)
	}
	w.o.say("count", numberNode(limit))
	w.javaStrategy(f.Related, f.Under)
	w.javaBehavior(f)
	w.o.fill("clusterMode", boolNode(false))
	w.o.sayOr("regex", boolNode(regex), boolNode(false))
}

// limitApp writes whom the rule is for.
func (w *writer) limitApp(origin string) {
	switch {
	case origin == javaAnyOrigin || origin != "" && isBlank(origin):
		w.l.omit("origin", "Sentinel Java takes limitApp %q for all callers", origin)
	case origin == "":
		origin = javaAnyOrigin
	}
	if !utf8.ValidString(origin) {
		w.l.omit("origin", "%q is not UTF-8", origin)
	}
	w.o.sayOr("limitApp", textNode(origin), textNode(javaAnyOrigin))
}

// javaStrategy writes whose calls count.
func (w *writer) javaStrategy(related, under string) {
	strategy, ref, field := javaDirect, "", "related"
	switch {
	case related != "":
		strategy, ref = javaRelate, related
		if under != "" {
			w.l.omit("under", "Sentinel Java has no rules both for an entrance and by a related resource")
		}
	case under != "":
		strategy, ref, field = javaChain, under, "under"
	}
	w.o.sayOr("strategy", wholeNode(int64(strategy)), wholeNode(javaDirect))
	if ref != "" {
		if isBlank(ref) {
			w.l.omit(field, "Sentinel Java refuses a name of blanks")
		}
		w.text(field, "refResource", ref)
	}
}

func (w *writer) javaBehavior(f flow.Rule) {
	behavior := javaReject
	switch f.Mode {
	case flow.Smooth:
		w.l.add("mode", "Sentinel has no smooth limits; written as one that rejects")
	case flow.WarmUp:
		behavior = javaWarmUp
	case flow.Pace:
		behavior = javaPace
	case flow.WarmUpPace:
		behavior = javaWarmUpPace
	}
	w.o.sayOr("controlBehavior", wholeNode(int64(behavior)), wholeNode(javaReject))
	if warms(f.Mode) {
		w.o.sayOr("warmUpPeriodSec", wholeNode(w.units("warmUp", or(f.WarmUp, defaultWarmUp), time.Second, 1, maxInt32)), wholeNode(10))
		if factor := or(f.ColdFactor, defaultColdFactor); factor != defaultColdFactor {
			w.l.add("coldFactor", "Sentinel Java has one cold factor for all rules, the property csp.sentinel.flow.cold.factor; set it to %v", factor)
		}
	} else {
		w.o.fill("warmUpPeriodSec", wholeNode(10))
	}
	if paces(f.Mode) {
		w.o.sayOr("maxQueueingTimeMs", wholeNode(w.units("maxWait", f.MaxWait, time.Millisecond, 1, maxInt32)), wholeNode(500))
	} else {
		w.o.fill("maxQueueingTimeMs", wholeNode(500))
	}
}

func (w *writer) javaThreads(c flow.ConcurrencyRule) {
	regex := w.common(c.Meta())
	w.limitApp(c.Origin)
	w.o.say("grade", wholeNode(javaGradeThreads))
	w.o.say("count", wholeNode(int64(c.Limit)))
	w.javaStrategy("", c.Under)
	w.queue(c)
	if regex {
		w.o.sayOr("controlBehavior", wholeNode(javaReject), wholeNode(javaReject)) // another one would refuse the rule
	} else {
		w.o.fill("controlBehavior", wholeNode(javaReject))
	}
	w.o.fill("clusterMode", boolNode(false))
	w.o.sayOr("regex", boolNode(regex), boolNode(false))
}

// queue notes that Sentinel's concurrency limits let nothing wait.
func (w *writer) queue(c flow.ConcurrencyRule) {
	if c.MaxWait != 0 || c.Queue != 0 {
		w.l.add("maxWait", "Sentinel's concurrency limits let nothing wait for a place")
	}
}

func (w *writer) javaBreaker(b breaker.Rule) {
	regex := w.common(b.Meta())
	w.o.fill("limitApp", textNode(javaAnyOrigin))
	switch b.Trip {
	case breaker.SlowRatio:
		w.o.sayOr("grade", wholeNode(slowRatio), wholeNode(slowRatio))
		w.o.say("count", wholeNode(w.units("slowerThan", b.SlowerThan, time.Millisecond, 1, maxInt32)))
		w.o.sayOr("slowRatioThreshold", numberNode(b.Threshold), numberNode(1))
		w.above(b)
	case breaker.ErrorRatio:
		w.o.say("grade", wholeNode(errorRatio))
		w.o.say("count", numberNode(b.Threshold))
		w.above(b)
		if b.Threshold == 1 {
			w.l.add("threshold", "Sentinel Java never opens by a ratio of 1, as none is above it")
		}
	case breaker.ErrorCount:
		w.o.say("grade", wholeNode(errorCount))
		count := b.Threshold
		if !b.Above {
			count-- // Java opens above its count, and calls are whole
		}
		w.o.say("count", numberNode(count))
	default:
		w.l.omit("trip", "Sentinel has no breakers by errors in a row")
	}
	if b.Trip != breaker.SlowRatio {
		w.o.fill("slowRatioThreshold", numberNode(1))
	}
	w.o.say("timeWindow", wholeNode(w.units("open", or(b.Open, defaultOpen), time.Second, 1, maxInt32)))
	w.o.sayOr("minRequestAmount", wholeNode(minCalls(b)), wholeNode(5))
	w.o.sayOr("statIntervalMs", wholeNode(w.units("window", or(b.Window, defaultWindow), time.Millisecond, 1, maxInt32)), wholeNode(1000))
	if b.Trip != breaker.Consecutive && or(b.Buckets, defaultBuckets) != 1 {
		w.l.add("buckets", "Sentinel Java's windows do not roll: they have one bucket")
	}
	if probes := or(b.Probes, 1); probes != 1 || or(b.Successes, probes) != 1 {
		w.l.add("probes", "Sentinel Java closes and opens by a single probe")
	}
	w.noGrowth(b)
	w.o.sayOr("regex", boolNode(regex), boolNode(false))
}

// above notes the comparison of ratios, which is Java's own.
func (w *writer) above(b breaker.Rule) {
	if b.Above != (b.Threshold != 1) {
		w.l.add("above", "Sentinel Java opens above %v, and of ratios of slow calls at 1 too", b.Threshold)
	}
}

// noGrowth notes what no Sentinel has.
func (w *writer) noGrowth(b breaker.Rule) {
	if b.MaxOpen > or(b.Open, defaultOpen) {
		w.l.add("maxOpen", "Sentinel's open time does not grow")
	}
	if b.Jitter != 0 {
		w.l.add("jitter", "Sentinel's open time does not vary")
	}
	if b.ProbeLease != 0 && b.ProbeLease != defaultProbeLease {
		w.l.add("probeLease", "Sentinel waits for a probe without end")
	}
}

func minCalls(b breaker.Rule) int64 {
	if b.MinCalls == 0 && b.Trip == breaker.ErrorCount {
		return 1
	}
	return int64(or(b.MinCalls, defaultMinCalls))
}

func warms(m flow.Mode) bool { return m == flow.WarmUp || m == flow.WarmUpPace }

// The native defaults, which documents spell out.
const (
	defaultWarmUp     = 10 * time.Second
	defaultColdFactor = 3
	defaultOpen       = 5 * time.Second
	defaultWindow     = 10 * time.Second
	defaultBuckets    = 10
	defaultMinCalls   = 10
	defaultProbeLease = time.Minute
)
