package sentinel

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/cordon-go/cordon/paramflow"
)

// javaParamRule is a param flow rule of Java. Rules that are equal are one to Java.
type javaParamRule struct {
	resource, limitApp      string
	regex                   bool
	index, grade, behavior  int64
	count                   float64
	queueMs, burst, seconds int64
	items                   string
	cluster                 javaCluster
}

func (r *reader) javaParam() {
	grade, ok := r.choice("grade", javaGradeQPS, span{javaGradeThreads, javaGradeQPS})
	if !ok {
		return
	}
	threads := grade == javaGradeThreads
	j := javaParamRule{
		resource: r.e.Resource,
		regex:    r.e.regex,
		grade:    grade,
		behavior: r.whole("controlBehavior", javaReject, anInt.from(0)),
		queueMs:  r.whole("maxQueueingTimeMs", 0, anInt.from(0)),
		burst:    r.whole("burstCount", 0, anInt.from(0)),
		seconds:  r.seconds(1, threads),
	}
	if r.has("paramIdx") {
		j.index = r.whole("paramIdx", 0, anInt)
	} else {
		r.fault("paramIdx", "the argument's number: 0 is the first, -1 the last", "it is missing, and Sentinel Java would refuse the rule")
	}
	r.require("count", "refuse every call")
	count := r.number("count", 0, 0)
	j.count = math.Trunc(count)
	if j.limitApp = r.text("limitApp"); isBlank(j.limitApp) {
		j.limitApp = javaAnyOrigin
	}
	if j.limitApp != javaAnyOrigin {
		r.warn("limitApp", "", "a limit of values is one for all callers: Sentinel Java ignores this, and so does cordon")
	}
	clustered := r.bool("clusterMode", false)
	if clustered {
		j.cluster, _ = r.readCluster(false)
	}
	if j.regex && (clustered || j.behavior != javaReject) {
		r.fault("regex", "controlBehavior 0 and clusterMode false", "a rule with a regular expression can only reject, and not in a cluster")
	}
	p := paramflow.Rule{
		ID:       r.e.ID,
		Resource: r.e.match,
		Also:     r.e.regex,
		Param:    fmt.Sprintf("arg[%d]%s", j.index, eachElement),
	}
	if threads {
		p.Mode = paramflow.Concurrency
		p.Limit = float64(r.places("count", count))
	} else {
		p.Per = time.Duration(j.seconds) * time.Second
		p.Limit = r.wholeRate("count", count, p.Per)
		r.javaParamBehavior(&p, j)
	}
	var items []paramItem
	items, j.items = r.javaItems(&p)
	p.Overrides = r.overrides(&p, items, j.burst)
	r.e.likeness = j
	r.addParam(p, javaParamFields)
}

// eachElement is the step with which a path means every element of an argument that is a list, as Java does, and else the argument itself.
const eachElement = "[*?]"

// maxSeconds is the longest interval of a rate.
const maxSeconds = 24 * 60 * 60

// seconds reads durationInSec, which limits of what runs at once do not use.
func (r *reader) seconds(def int64, unused bool) int64 {
	if unused {
		return r.whole("durationInSec", def, aLong.from(1))
	}
	return r.whole("durationInSec", def, span{1, maxSeconds})
}

// wholeRate is a limit of calls that Sentinel takes in whole numbers.
func (r *reader) wholeRate(name string, limit float64, per time.Duration) float64 {
	if limit != math.Trunc(limit) {
		r.warn(name, "a whole number", "%v is cut to %v, as Sentinel Java does", limit, math.Trunc(limit))
	}
	return r.rate(name, math.Trunc(limit), per)
}

func (r *reader) javaParamBehavior(p *paramflow.Rule, j javaParamRule) {
	switch j.behavior {
	case javaPace:
		p.Mode, p.MaxWait = paramflow.Pace, millis(j.queueMs)
		return
	case javaReject:
	default:
		r.warn("controlBehavior", "0 or 2", "limits of values only reject (0) or pace (2); the rule rejects, as in Sentinel Java")
	}
	p.Burst = r.burst(p.Limit, j.burst)
}

const maxBurst = 10_000_000

// burst is how many calls of a value may pass at once: as many as Sentinel lets a value save up, the limit and burstCount more. 0 is the limit.
func (r *reader) burst(limit float64, more int64) int {
	if more == 0 || limit == 0 {
		return 0
	}
	if limit+float64(more) > maxBurst {
		r.warn("burstCount", "", "%v calls at once are more than cordon's greatest burst; taken as %d", limit+float64(more), maxBurst)
		return maxBurst
	}
	return int(limit) + int(more)
}

// javaItems reads the limits of single values. It returns them also in a form that is equal for lists that are equal to Java.
func (r *reader) javaItems(p *paramflow.Rule) (items []paramItem, likeness string) {
	var all strings.Builder
	for _, in := range r.list("paramFlowItemList", javaItemKeys, "{object, count, classType}") {
		text, given := in.written("object")
		class := in.text("classType")
		if isBlank(class) {
			class = javaString
		}
		count := in.whole("count", -1, anInt)
		fmt.Fprintf(&all, "%t %q %q %d;", given, text, class, count)
		switch {
		case !in.has("count"):
			in.warn("count", "the value's limit", "the item has no count and is left out, as Sentinel Java does")
			continue
		case count < 0:
			in.warn("count", "0 or more", "%d is below 0; the item is left out, as Sentinel Java does", count)
			continue
		case !given:
			in.warn("object", "the value", "the item has no value and is left out, as Sentinel Java does")
			continue
		}
		value, ok := javaValue(text, class)
		if !ok {
			in.warn("object", "", "%.40q is no value of type %s; the item is left out, as Sentinel Java does", text, class)
			continue
		}
		items = append(items, paramItem{in, "object", value, or(javaClasses[class], javaString), in.itemLimit("count", count, p)})
	}
	return items, all.String()
}

func (r *reader) addParam(p paramflow.Rule, fields map[string]string) {
	native := append(pathProblems(p.Param), p.Problems()...)
	if r.accept(native, fields) {
		r.e.Rules.Param = []paramflow.Rule{p}
	}
}

// javaParamFields says which field of a param rule comes from which of Java's.
var javaParamFields = map[string]string{
	"resource":  "resource",
	"param":     "paramIdx",
	"limit":     "count",
	"per":       "durationInSec",
	"burst":     "burstCount",
	"maxWait":   "maxQueueingTimeMs",
	"mode":      "controlBehavior",
	"overrides": "paramFlowItemList",
}
