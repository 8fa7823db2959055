package sentinel

import (
	"math"
	"time"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
)

func (w *writer) goRate(f flow.Rule) {
	regex := w.common(f.Meta())
	w.noCallers(f.Origin, f.Under)
	calculate, behavior := goDirect, goReject
	switch f.Mode {
	case flow.Smooth:
		w.l.add("mode", "Sentinel has no smooth limits; written as one that rejects")
	case flow.WarmUp:
		calculate = goWarmUp
	case flow.Pace:
		behavior = goThrottle
	case flow.WarmUpPace:
		calculate, behavior = goWarmUp, goThrottle
	}
	if f.Memory != (flow.Memory{}) {
		calculate = goMemoryAdaptive
	}
	w.o.sayOr("tokenCalculateStrategy", wholeNode(int64(calculate)), wholeNode(goDirect))
	w.o.sayOr("controlBehavior", wholeNode(int64(behavior)), wholeNode(goReject))
	if calculate == goMemoryAdaptive {
		w.o.fill("threshold", numberNode(0))
	} else {
		w.o.say("threshold", numberNode(f.Limit))
	}
	relation := goCurrent
	if f.Related != "" {
		relation = goAssociated
		w.text("related", "refResource", f.Related)
	}
	w.o.sayOr("relationStrategy", wholeNode(int64(relation)), wholeNode(goCurrent))
	if behavior == goThrottle {
		w.o.sayOr("maxQueueingTimeMs", wholeNode(w.units("maxWait", f.MaxWait, time.Millisecond, 0, maxUint32)), wholeNode(0))
	} else {
		w.o.fill("maxQueueingTimeMs", wholeNode(0))
	}
	w.goWarming(f)
	w.o.sayOr("statIntervalInMs", wholeNode(w.units("per", or(f.Per, time.Second), time.Millisecond, 1, maxUint32)), wholeNode(1000))
	if calculate == goMemoryAdaptive {
		w.goMemory(f.Memory)
	}
	w.o.sayOr("regex", boolNode(regex), boolNode(false))
}

// noCallers leaves rules out that are for some callers or entrances only, which Go cannot say.
func (w *writer) noCallers(origin, under string) {
	if origin != "" {
		w.l.omit("origin", "sentinel-golang has no rules for single callers")
	}
	if under != "" {
		w.l.omit("under", "sentinel-golang has no rules for single entrances")
	}
}

func (w *writer) goWarming(f flow.Rule) {
	if !warms(f.Mode) {
		w.o.fill("warmUpPeriodSec", wholeNode(0))
		w.o.fill("warmUpColdFactor", wholeNode(0))
		return
	}
	w.o.say("warmUpPeriodSec", wholeNode(w.units("warmUp", or(f.WarmUp, defaultWarmUp), time.Second, 1, maxUint32)))
	factor := or(f.ColdFactor, defaultColdFactor)
	whole := max(2, math.Round(factor))
	if whole != factor {
		w.l.add("coldFactor", "%v is not a whole number above 1; written as %v", factor, whole)
	}
	w.o.say("warmUpColdFactor", numberNode(whole))
}

func (w *writer) goMemory(m flow.Memory) {
	if m.LowMark <= 1 || m.HighMark <= 1 {
		w.l.omit("memory", "marks that are shares of the memory cannot be said; sentinel-golang's are bytes")
		return
	}
	low, high := w.wholly("memory.lowLimit", m.LowLimit), w.wholly("memory.highLimit", m.HighLimit)
	from, to := w.wholly("memory.lowMark", m.LowMark), w.wholly("memory.highMark", m.HighMark)
	if high >= low || from >= to || from < 2 {
		w.l.omit("memory", "in whole numbers the limits or marks do not make a range")
	}
	w.o.say("lowMemUsageThreshold", wholeNode(low))
	w.o.say("highMemUsageThreshold", wholeNode(high))
	w.o.say("memLowWaterMarkBytes", wholeNode(from))
	w.o.say("memHighWaterMarkBytes", wholeNode(to))
}

// wholly cuts a number that Go has as a whole one above 0.
func (w *writer) wholly(field string, v float64) int64 {
	whole := min(max(1, math.Floor(v)), 1<<62)
	if whole != v {
		w.l.add(field, "%v is not a whole number above 0; written as %v", v, whole)
	}
	return int64(whole)
}

func (w *writer) goThreads(c flow.ConcurrencyRule) {
	regex := w.common(c.Meta())
	w.noCallers(c.Origin, c.Under)
	w.queue(c)
	w.o.sayOr("metricType", wholeNode(goMetricConcurrency), wholeNode(goMetricConcurrency))
	if c.Limit == 0 {
		w.l.omit("limit", "sentinel-golang refuses a limit of 0")
	}
	w.o.say("threshold", wholeNode(int64(c.Limit)))
	w.o.sayOr("regex", boolNode(regex), boolNode(false))
}

func (w *writer) goBreaker(b breaker.Rule) {
	if w.common(b.Meta()) {
		w.l.omit("resource", "sentinel-golang's breakers are for one resource each")
	}
	strategy, threshold := slowRatio, b.Threshold
	switch b.Trip {
	case breaker.SlowRatio:
	case breaker.ErrorRatio:
		strategy = errorRatio
	case breaker.ErrorCount:
		strategy, threshold = errorCount, w.goCount(b)
	default:
		w.l.omit("trip", "Sentinel has no breakers by errors in a row")
	}
	if b.Above && b.Trip != breaker.ErrorCount {
		w.goAbove(b)
	}
	w.o.sayOr("strategy", wholeNode(int64(strategy)), wholeNode(slowRatio))
	w.o.say("threshold", numberNode(threshold))
	if b.Trip == breaker.SlowRatio {
		w.o.say("maxAllowedRtMs", wholeNode(w.units("slowerThan", b.SlowerThan, time.Millisecond, 1, math.MaxInt32)))
	} else {
		w.o.fill("maxAllowedRtMs", wholeNode(0))
	}
	w.o.say("retryTimeoutMs", wholeNode(w.units("open", or(b.Open, defaultOpen), time.Millisecond, 1, maxUint32)))
	w.o.say("minRequestAmount", wholeNode(minCalls(b)))
	window := w.units("window", or(b.Window, defaultWindow), time.Millisecond, 1, maxUint32)
	w.o.say("statIntervalMs", wholeNode(window))
	w.goBucketCount(b, window)
	w.goProbes(b)
	w.noGrowth(b)
}

// goCount is the number of errors at which Go opens.
func (w *writer) goCount(b breaker.Rule) float64 {
	switch {
	case !b.Above:
		return b.Threshold
	case b.Threshold >= maxCalls:
		w.l.add("above", "%v is the greatest count; it is written, so that the breaker opens at it", maxCalls)
		return maxCalls
	}
	return b.Threshold + 1 // above n is at n+1, as calls are whole
}

// goAbove notes Java's comparison, which Go does not have. A threshold of 0 would open it without an error.
func (w *writer) goAbove(b breaker.Rule) {
	switch {
	case b.Threshold == 0:
		w.l.omit("above", "sentinel-golang would open at 0, without an error")
	case b.Threshold == 1 && b.Trip == breaker.SlowRatio: // opens at 1 all the same
	default:
		w.l.add("above", "sentinel-golang opens at %v, not only above it", b.Threshold)
	}
}

// goBucketCount writes into how many parts the window, of so many milliseconds, is cut.
func (w *writer) goBucketCount(b breaker.Rule, window int64) {
	buckets := int64(or(b.Buckets, defaultBuckets))
	if b.Trip != breaker.Consecutive && window%buckets != 0 {
		w.l.add("buckets", "sentinel-golang's buckets are whole milliseconds, and %d do not divide %d ms; written as 1", buckets, window)
		buckets = 1
	}
	w.o.sayOr("statSlidingWindowBucketCount", wholeNode(buckets), wholeNode(1))
}

// goProbes writes how many successes close the breaker. Go's 0 is a single probe.
func (w *writer) goProbes(b breaker.Rule) {
	probes := or(b.Probes, 1)
	successes := or(b.Successes, probes)
	if successes != probes {
		w.l.add("successes", "sentinel-golang has one number for both; the %d probes in flight are not written", probes)
	}
	number := int64(successes)
	if b.Probes == 0 && successes == 1 {
		number = 0
	}
	w.o.sayOr("probeNum", wholeNode(number), wholeNode(0))
}
