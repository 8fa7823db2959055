package sentinel

import (
	"math"
	"strings"
	"time"

	"github.com/cordon-go/cordon/breaker"
)

// The grades of Java's degrade rules, and the strategies of Go's breakers: the numbers are the same.
const (
	slowRatio  = 0
	errorRatio = 1
	errorCount = 2
)

func (r *reader) javaBreaker() {
	grade, ok := r.choice("grade", slowRatio, span{slowRatio, errorCount})
	if !ok {
		return
	}
	r.require("count", javaCountZero(grade))
	count := r.number("count", 1, 0)
	b := breaker.Rule{
		ID:       r.e.ID,
		Window:   millis(r.whole("statIntervalMs", 1000, positive)),
		Buckets:  1,
		MinCalls: int(r.whole("minRequestAmount", 5, positive)),
	}
	r.require("timeWindow", "refuse the rule")
	b.Open = time.Duration(r.whole("timeWindow", 1, positive)) * time.Second
	if app := r.text("limitApp"); !isBlank(app) && app != javaAnyOrigin {
		r.warn("limitApp", "", "a breaker is one for all callers: Sentinel Java ignores this, and so does cordon")
	}
	switch grade {
	case slowRatio:
		r.javaSlow(&b, count)
	case errorRatio:
		b.Trip, b.Threshold = breaker.ErrorRatio, count
		if count > 1 {
			r.fault("count", "0 to 1", "%v is no share of calls", count)
		}
		b.Above = count != 1
	case errorCount:
		b.Trip, b.Threshold, b.Above = breaker.ErrorCount, r.wholeCount("count", count), true
	}
	b.Resource, b.Also = r.e.match, r.e.regex
	r.addBreaker(b, javaBreakerFields[grade])
}

// javaCountZero says what a count of 0 does.
func javaCountZero(grade int64) string {
	if grade == slowRatio {
		return "hold every call for slow"
	}
	return "open at the first error"
}

func (r *reader) javaSlow(b *breaker.Rule, count float64) {
	b.Trip = breaker.SlowRatio
	b.SlowerThan = r.slowerThan("count", math.Floor(count+0.5))
	b.Threshold = r.number("slowRatioThreshold", 1, 0)
	if b.Threshold > 1 {
		r.fault("slowRatioThreshold", "0 to 1", "%v is no share of calls", b.Threshold)
	}
	b.Above = b.Threshold != 1
}

// slowerThan is a latency in whole milliseconds, above which a call is slow. Sentinel's latencies are whole milliseconds too, so that above 0 is
// from 1 on.
func (r *reader) slowerThan(name string, ms float64) time.Duration {
	if ms == 0 {
		r.warn(name, "a latency in ms", "0 makes calls of 1 ms and more slow")
		return time.Millisecond
	}
	return millis(int64(min(ms, math.MaxInt32)))
}

// wholeCount cuts a number of calls; calls are whole, so that this changes nothing.
func (r *reader) wholeCount(name string, count float64) float64 {
	if count != math.Trunc(count) {
		r.warn(name, "a whole number", "%v is a number of calls and taken as %v, as Sentinel does", count, math.Trunc(count))
	}
	return math.Trunc(count)
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// javaBreakerFields says, by grade, which field of a breaker comes from which of Java's.
var javaBreakerFields = [...]map[string]string{
	slowRatio: {
		"resource":   "resource",
		"threshold":  "slowRatioThreshold",
		"slowerThan": "count",
		"window":     "statIntervalMs",
		"minCalls":   "minRequestAmount",
		"open":       "timeWindow",
	},
	errorRatio: {
		"resource":  "resource",
		"threshold": "count",
		"window":    "statIntervalMs",
		"minCalls":  "minRequestAmount",
		"open":      "timeWindow",
	},
	errorCount: {
		"resource":  "resource",
		"threshold": "count",
		"window":    "statIntervalMs",
		"minCalls":  "minRequestAmount",
		"open":      "timeWindow",
	},
}

func (r *reader) addBreaker(b breaker.Rule, fields map[string]string) {
	if r.accept(b.Problems(), fields) {
		r.e.Rules.Breaker = []breaker.Rule{b}
	}
}
