package sentinel

import (
	"math"
	"time"

	"github.com/cordon-go/cordon/breaker"
)

// The greatest numbers of a native breaker that Go's may exceed.
const (
	maxBuckets = 100
	maxProbes  = 1000
	maxCalls   = 1_000_000_000
)

func (r *reader) goBreaker() {
	strategy, ok := r.choice("strategy", slowRatio, span{slowRatio, errorCount})
	if !ok {
		return
	}
	b := breaker.Rule{
		ID:       r.e.ID,
		Resource: r.e.match,
		MinCalls: max(1, r.capped("minRequestAmount", maxCalls)),
		Probes:   r.capped("probeNum", maxProbes),
	}
	r.require("retryTimeoutMs", "refuse the rule")
	b.Open = millis(r.whole("retryTimeoutMs", 1000, aUint32.from(1)))
	r.require("statIntervalMs", "refuse the rule")
	b.Window = millis(r.whole("statIntervalMs", 1000, aUint32.from(1)))
	b.Buckets = r.goBuckets(b.Window)
	r.require("threshold", "open without a single error")
	threshold := r.number("threshold", 1, 0)
	switch strategy {
	case slowRatio:
		b.Trip, b.Threshold = breaker.SlowRatio, threshold
		r.require("maxAllowedRtMs", "hold every call for slow")
		b.SlowerThan = r.slowerThan("maxAllowedRtMs", float64(r.whole("maxAllowedRtMs", 1, aLong.from(0))))
	case errorRatio:
		b.Trip, b.Threshold = breaker.ErrorRatio, threshold
	case errorCount:
		b.Trip, b.Threshold = breaker.ErrorCount, r.wholeCount("threshold", threshold)
	}
	r.checkGoThreshold(strategy, threshold)
	r.addBreaker(b, goBreakerFields)
}

func (r *reader) checkGoThreshold(strategy int64, threshold float64) {
	switch {
	case strategy != errorCount && threshold > 1:
		r.fault("threshold", "above 0 up to 1", "%v is no share of calls", threshold)
	case threshold == 0 || strategy == errorCount && threshold < 1:
		r.fault("threshold", "above 0, or 1 and more for strategy 2", "%v would open the breaker without a single error", threshold)
	}
}

// goBuckets is into how many parts the window is cut. Go takes one where the number does not divide it.
func (r *reader) goBuckets(window time.Duration) int {
	n := r.whole("statSlidingWindowBucketCount", 0, aUint32)
	if n == 0 || window%time.Duration(n*int64(time.Millisecond)) != 0 {
		if n > 0 {
			r.warn("statSlidingWindowBucketCount", "a divisor of statIntervalMs", "%d does not divide the window; taken as 1, as in sentinel-golang", n)
		}
		return 1
	}
	if n > maxBuckets {
		r.warn("statSlidingWindowBucketCount", "", "%d is more than cordon's greatest number of buckets; taken as %d", n, maxBuckets)
		return maxBuckets
	}
	return int(n)
}

// capped reads a number without a sign up to the greatest that cordon takes.
func (r *reader) capped(name string, greatest int) int {
	n := r.whole(name, 0, span{0, math.MaxInt64})
	if n > int64(greatest) {
		r.warn(name, "", "%d is more than cordon's greatest; taken as %d", n, greatest)
		return greatest
	}
	return int(n)
}

// goBreakerFields says which field of a breaker comes from which of Go's.
var goBreakerFields = map[string]string{
	"resource":   "resource",
	"threshold":  "threshold",
	"slowerThan": "maxAllowedRtMs",
	"window":     "statIntervalMs",
	"buckets":    "statSlidingWindowBucketCount",
	"minCalls":   "minRequestAmount",
	"open":       "retryTimeoutMs",
	"probes":     "probeNum",
	"successes":  "probeNum",
}
