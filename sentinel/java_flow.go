package sentinel

import (
	"math"
	"strings"
	"time"

	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

// The values of Java's flow rules.
const (
	javaGradeThreads = 0
	javaGradeQPS     = 1

	javaDirect = 0
	javaRelate = 1
	javaChain  = 2

	javaReject     = 0
	javaWarmUp     = 1
	javaPace       = 2
	javaWarmUpPace = 3

	javaAnyOrigin = "default"
)

// javaFlowRule is a flow rule of Java. Rules that are equal are one to Java.
type javaFlowRule struct {
	resource, limitApp, refResource string
	regex                           bool
	grade, strategy, behavior       int64
	count                           float64
	warmUpSec, queueMs              int64
	cluster                         javaCluster
}

func (r *reader) javaFlow() {
	j, ok := r.readJavaFlow()
	if !ok {
		return
	}
	r.e.likeness = j
	if j.grade == javaGradeThreads {
		r.addConcurrency(r.fromJavaThreads(j), javaFields)
	} else {
		r.addFlow(r.fromJavaRate(j), javaFields)
	}
}

// readJavaFlow reads the rule and checks all that Java checks.
func (r *reader) readJavaFlow() (j javaFlowRule, ok bool) {
	j = javaFlowRule{
		resource:    r.e.Resource,
		limitApp:    r.text("limitApp"),
		refResource: r.text("refResource"),
		regex:       r.e.regex,
		grade:       r.whole("grade", javaGradeQPS, span{0, 1}),
		strategy:    r.whole("strategy", javaDirect, anInt.from(0)),
		behavior:    r.whole("controlBehavior", javaReject, anInt.from(0)),
	}
	if j.grade == javaGradeThreads {
		r.e.native = kindConcurrency
	}
	r.require("count", "refuse every call")
	j.count = r.number("count", 0, 0)
	if isBlank(j.limitApp) {
		j.limitApp = javaAnyOrigin
	}
	qps := j.grade == javaGradeQPS
	warms := qps && (j.behavior == javaWarmUp || j.behavior == javaWarmUpPace)
	paces := qps && (j.behavior == javaPace || j.behavior == javaWarmUpPace)
	j.warmUpSec = r.whole("warmUpPeriodSec", 10, ifUsed(warms, positive))
	j.queueMs = r.whole("maxQueueingTimeMs", 500, ifUsed(paces, positive))
	r.checkJavaStrategy(j)
	clustered := r.bool("clusterMode", false)
	if clustered {
		j.cluster = r.readFlowCluster(j.grade)
	}
	if j.regex && (clustered || j.behavior != javaReject) {
		r.fault("regex", "controlBehavior 0 and clusterMode false", "a rule with a regular expression can only reject, and not in a cluster")
	}
	return j, r.e.OK()
}

// ifUsed is the range of a field that must make sense only if it is used.
func ifUsed(used bool, s span) span {
	if used {
		return s
	}
	return anInt
}

func (r *reader) checkJavaStrategy(j javaFlowRule) {
	switch {
	case j.strategy > javaChain:
		r.fault("strategy", "0 (direct), 1 (relate) or 2 (chain)", "%d is no strategy; to Sentinel Java the rule would be valid and never limit", j.strategy)
	case j.strategy != javaDirect && isBlank(j.refResource):
		r.fault("refResource", "the resource related to, or the context's name", "strategy %d needs it, and it is missing", j.strategy)
	case j.strategy == javaRelate && j.grade == javaGradeThreads:
		r.fault("strategy", "0 or 2 with grade 0", "a limit on the concurrency of another resource (relate with grade 0) is not supported")
	}
}

// origin is the caller that limitApp restricts a rule to.
func (r *reader) origin(limitApp string) string {
	if limitApp == javaAnyOrigin {
		return ""
	}
	for i := range len(limitApp) {
		if limitApp[i] == ',' {
			r.warn("limitApp", "one rule for each caller", "it is one caller's name, commas and all: neither Sentinel Java nor cordon splits it in flow rules")
			break
		}
	}
	return limitApp
}

func (r *reader) fromJavaThreads(j javaFlowRule) flow.ConcurrencyRule {
	c := flow.ConcurrencyRule{
		ID:       r.e.ID,
		Resource: r.e.match,
		Also:     r.e.regex,
		Limit:    r.places("count", j.count),
		Origin:   r.origin(j.limitApp),
	}
	if j.strategy == javaChain {
		c.Under = j.refResource
	}
	return c
}

const maxPlaces = 10_000_000

// places is a concurrency limit, which Sentinel compares with whole calls.
func (r *reader) places(name string, count float64) int {
	switch {
	case count > maxPlaces:
		r.warn(name, "", "%v is more than cordon's greatest concurrency limit; taken as %d", count, maxPlaces)
		return maxPlaces
	case count != math.Trunc(count):
		r.warn(name, "a whole number", "only whole calls run, so the limit is %v, as in Sentinel", math.Trunc(count))
	}
	return int(count)
}

func (r *reader) fromJavaRate(j javaFlowRule) flow.Rule {
	f := flow.Rule{
		ID:       r.e.ID,
		Resource: r.e.match,
		Also:     r.e.regex,
		Limit:    r.rate("count", j.count, time.Second),
		Per:      time.Second,
		Origin:   r.origin(j.limitApp),
	}
	if j.strategy == javaChain {
		f.Under = j.refResource
	}
	switch j.behavior {
	case javaReject:
	case javaWarmUp:
		r.warmUp(&f, j.warmUpSec)
	case javaPace:
		f.Mode = flow.Pace
	case javaWarmUpPace:
		r.warmUp(&f, j.warmUpSec)
		f.Mode = flow.WarmUpPace
	default:
		r.warn("controlBehavior", "0 to 3", "%d is no behaviour; the rule rejects, as in Sentinel Java", j.behavior)
	}
	if paces(f.Mode) {
		f.MaxWait = millis(j.queueMs)
	}
	if j.strategy == javaRelate {
		r.relate(&f, j.refResource)
	}
	return f
}

func (r *reader) warmUp(f *flow.Rule, seconds int64) {
	f.Mode = flow.WarmUp
	f.WarmUp = time.Duration(seconds) * time.Second
	f.ColdFactor = r.d.coldFactor
}

func paces(m flow.Mode) bool { return m == flow.Pace || m == flow.WarmUpPace }

// relate makes the rule one about the traffic of another resource, which only rules that reject can be.
func (r *reader) relate(f *flow.Rule, other string) {
	switch f.Mode {
	case flow.Reject:
		if other == r.e.Resource && !r.e.regex {
			return // its own traffic is what a rule looks at anyway
		}
		f.Related = other
	case flow.WarmUp:
		f.Mode, f.WarmUp, f.ColdFactor = flow.Reject, 0, 0
		f.Related = other
		r.warn("refResource", "", "a limit by another resource's traffic is not warmed up: it is the full limit from the start")
	default:
		r.warn("refResource", "", "a rule that lets calls wait their turn looks at its own resource's calls only, as in Sentinel")
	}
}

const maxRate = 10_000_000

// rate is a limit per interval within what cordon counts. Numbers beyond mean no limit to whoever writes them.
func (r *reader) rate(name string, limit float64, per time.Duration) float64 {
	if greatest := maxRate * per.Seconds(); limit > greatest {
		r.warn(name, "", "%v is more than cordon's greatest rate, %d per second; taken as that", limit, maxRate)
		return greatest
	}
	return limit
}

// javaFields says which field of a flow or concurrency rule comes from which of Java's.
var javaFields = map[string]string{
	"resource":   "resource",
	"limit":      "count",
	"per":        "count",
	"maxWait":    "maxQueueingTimeMs",
	"warmUp":     "warmUpPeriodSec",
	"coldFactor": "warmUpPeriodSec",
	"mode":       "controlBehavior",
	"origin":     "limitApp",
	"related":    "refResource",
	"under":      "refResource",
}

// addFlow hands the rule over unless it is beyond what cordon takes; fields translates the names of fields in problems.
func (r *reader) addFlow(f flow.Rule, fields map[string]string) {
	if r.accept(f.Problems(), fields) {
		r.e.Rules.Flow = []flow.Rule{f}
	}
}

func (r *reader) addConcurrency(c flow.ConcurrencyRule, fields map[string]string) {
	if r.accept(c.Problems(), fields) {
		r.e.Rules.Concurrency = []flow.ConcurrencyRule{c}
	}
}

// accept adds the faults of the native rule, which is judged only when all was read; false if the element has a fault. The rule's warnings
// are left to whoever puts it in force.
func (r *reader) accept(native []rule.Problem, fields map[string]string) bool {
	if !r.e.OK() {
		return false
	}
	for _, p := range rule.Problems(native).Faults() {
		list, _, _ := strings.Cut(p.Field, "[")
		name := or(fields[p.Field], or(fields[list], p.Field))
		r.fault(name, p.Want, "%s", p.Message)
	}
	return r.e.OK()
}
