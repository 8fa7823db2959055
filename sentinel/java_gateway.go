package sentinel

import (
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

// The values of the rules of Java's gateway adapters.
const (
	javaModeRoute = 0
	javaModeAPI   = 1

	javaFromClient = 0
	javaFromHost   = 1
	javaFromHeader = 2
	javaFromQuery  = 3
	javaFromCookie = 4

	javaMatchExact    = 0
	javaMatchPrefix   = 1
	javaMatchRegex    = 2
	javaMatchContains = 3
)

// javaGatewayRule is a gateway flow rule of Java. Rules that are equal are one to Java.
type javaGatewayRule struct {
	resource                string
	mode, grade, behavior   int64
	count                   float64
	seconds, burst, queueMs int64
	byParam                 bool
	param                   javaGatewayParam
}

// javaGatewayParam says which value of a request is limited.
type javaGatewayParam struct {
	from    int64
	field   string
	match   int64
	pattern string
}

func (r *reader) javaGateway() {
	grade, ok := r.choice("grade", javaGradeQPS, span{javaGradeThreads, javaGradeQPS})
	if !ok {
		return
	}
	j := javaGatewayRule{
		resource: r.e.Resource,
		mode:     r.whole("resourceMode", javaModeRoute, span{javaModeRoute, javaModeAPI}),
		grade:    grade,
		behavior: r.whole("controlBehavior", javaReject, anInt.from(0)),
		seconds:  r.interval(),
		burst:    r.whole("burst", 0, anInt.from(0)),
	}
	r.require("count", "refuse every call")
	count := r.number("count", 0, 0)
	paces := j.behavior == javaPace
	j.queueMs = r.whole("maxQueueingTimeoutMs", 500, ifUsed(paces, anInt.from(0)))
	if !paces && j.behavior != javaReject {
		r.warn("controlBehavior", "0 or 2", "gateway rules only reject (0) or pace (2); the rule rejects, as in Sentinel Java")
	}
	if count != math.Trunc(count) {
		r.warn("count", "a whole number", "%v is cut to %v, as Sentinel Java does", count, math.Trunc(count))
	}
	j.count = math.Trunc(count)
	only := rule.Match{}
	j.param, only, j.byParam = r.gatewayParam()
	r.e.likeness = j
	path := j.param.path()
	switch {
	case !r.e.OK():
		r.e.native = j.native()
	case j.byParam:
		r.e.native = kindParam
		r.addGatewayParam(j, path, only)
	case grade == javaGradeThreads:
		r.e.native = kindConcurrency
		r.addConcurrency(flow.ConcurrencyRule{Resource: r.e.match, Limit: r.places("count", j.count)}, gatewayFields)
	default:
		r.addGatewayRate(j)
	}
}

// native is the kind of rules that it is one of.
func (j javaGatewayRule) native() string {
	switch {
	case j.byParam:
		return kindParam
	case j.grade == javaGradeThreads:
		return kindConcurrency
	}
	return kindFlow
}

// interval is the seconds that the limit is for. The dashboard keeps them as a number of units, which Java's clients do not read.
func (r *reader) interval() int64 {
	if r.has("intervalSec") || !r.has("interval") {
		return r.whole("intervalSec", 1, positive)
	}
	units := [...]int64{1, 60, 60 * 60, 24 * 60 * 60}
	unit := r.whole("intervalUnit", 0, span{0, int64(len(units) - 1)})
	seconds := r.whole("interval", 1, span{1, math.MaxInt32 / units[unit]}) * units[unit]
	r.warn("interval", "intervalSec", "the rule is as the dashboard keeps it, and is taken for %d s; Sentinel Java's clients do not read interval and would take 1 s", seconds)
	return seconds
}

// gatewayParam reads which value is limited, and to which values that is restricted; false if the rule is for all calls together.
func (r *reader) gatewayParam() (p javaGatewayParam, only rule.Match, ok bool) {
	m := r.find("paramItem")
	if m == nil {
		return p, only, false
	}
	in := r.object("paramItem", gatewayParamKeys)
	if in == nil {
		r.fault("paramItem", "an object with parseStrategy", "it is %s", aNode(&m.field.Value))
		return p, only, true
	}
	p.from = in.whole("parseStrategy", javaFromClient, span{javaFromClient, javaFromCookie})
	p.field = in.text("fieldName")
	if p.from >= javaFromHeader && isBlank(p.field) {
		in.fault("fieldName", "the name of the header, the parameter of the URL or the cookie", "parseStrategy %d needs it, and it is missing", p.from)
	}
	if p.from < javaFromHeader {
		p.field = ""
	}
	p.pattern = in.text("pattern")
	if p.pattern == "" {
		return p, only, true
	}
	p.match = in.whole("matchStrategy", javaMatchExact, span{javaMatchExact, javaMatchContains})
	switch p.match {
	case javaMatchExact:
		only = rule.Name(p.pattern)
	case javaMatchContains:
		only = containing(p.pattern)
	case javaMatchRegex:
		expr, err := fromJavaRegex(p.pattern)
		if err != nil {
			in.fault("pattern", "an expression that RE2 knows", "%v", err)
			expr = p.pattern
		}
		only = rule.Regex(expr)
	case javaMatchPrefix:
		in.warn("matchStrategy", "0 (exact), 2 (regex) or 3 (contains); for a prefix a regex such as "+regexp.QuoteMeta(p.pattern)+".*",
			"Sentinel Java ignores the pattern with 1 (prefix), and so does cordon: all values are limited, each by itself")
	}
	return p, only, true
}

// containing matches texts with a part. Where the part has a wildcard's signs it takes an expression to mean them.
func containing(part string) rule.Match {
	if strings.ContainsAny(part, "*?") {
		return rule.Regex(anywhereBegin + regexp.QuoteMeta(part) + anywhereEnd)
	}
	return rule.Wildcard("*" + part + "*")
}

// path is the value's path.
func (p javaGatewayParam) path() string {
	step := extractor.Step{Name: p.field}.String()
	switch p.from {
	case javaFromHost:
		return "header.Host"
	case javaFromHeader:
		return "header" + step
	case javaFromQuery:
		return "query" + step
	case javaFromCookie:
		return "cookie" + step
	}
	return "client.ip"
}

func (r *reader) addGatewayRate(j javaGatewayRule) {
	per := time.Duration(j.seconds) * time.Second
	f := flow.Rule{Resource: r.e.match, Per: per}
	f.Limit = r.rate("count", j.count, per)
	if j.behavior == javaPace {
		f.Mode, f.MaxWait = flow.Pace, millis(j.queueMs)
	} else {
		f.Mode, f.Burst = flow.Smooth, r.savings("burst", f.Limit, j.burst)
	}
	f.Limit, f.Per = within24h(f.Limit, per)
	r.addFlow(f, gatewayFields)
}

func (r *reader) addGatewayParam(j javaGatewayRule, path string, only rule.Match) {
	p := paramflow.Rule{Resource: r.e.match, Param: path, Only: only}
	per := time.Duration(j.seconds) * time.Second
	switch {
	case j.grade == javaGradeThreads:
		p.Mode = paramflow.Concurrency
		p.Limit = float64(r.places("count", j.count))
	case j.behavior == javaPace:
		p.Mode, p.MaxWait = paramflow.Pace, millis(j.queueMs)
		p.Limit, p.Per = within24h(r.rate("count", j.count, per), per)
	default:
		p.Limit = r.rate("count", j.count, per)
		p.Burst = r.savings("burst", p.Limit, j.burst)
		p.Limit, p.Per = within24h(p.Limit, per)
	}
	r.addParam(p, gatewayFields)
}

// savings is how many calls may pass at once: the limit, and as many more as the rule says. 0 is the native default, which is right for what is refused anyway.
func (r *reader) savings(name string, limit float64, more int64) int {
	all := limit + float64(more)
	switch {
	case limit == 0:
		return 0
	case all > maxBurst:
		r.warn(name, "", "%v calls at once are more than cordon's greatest burst; taken as %d", all, maxBurst)
		return maxBurst
	}
	return int(all)
}

// within24h is the same rate in the longest interval that there is, if the rule's own is longer.
func within24h(limit float64, per time.Duration) (float64, time.Duration) {
	const longest = maxSeconds * time.Second
	if per <= longest {
		return limit, per
	}
	return limit * (float64(longest) / float64(per)), longest
}

// gatewayFields says which field of a native rule comes from which of Java's.
var gatewayFields = map[string]string{
	"resource": "resource",
	"limit":    "count",
	"per":      "intervalSec",
	"burst":    "burst",
	"maxWait":  "maxQueueingTimeoutMs",
	"mode":     "controlBehavior",
	"param":    "paramItem",
	"only":     "paramItem",
}

// warnModes warns of what Java makes of rules of one resource that disagree on whether it is a route or an API: where one of them looks at a value, none of that resource is in force.
func (d *decoder) warnModes() {
	type modes struct {
		first   *Element
		mode    int64
		differ  *Element
		byParam bool
	}
	byResource := make(map[string]*modes)
	for i := range d.doc.Elements {
		e := &d.doc.Elements[i]
		j, ok := e.likeness.(javaGatewayRule)
		if !ok || !e.parts[0].made {
			continue
		}
		m := byResource[j.resource]
		if m == nil {
			byResource[j.resource] = &modes{e, j.mode, nil, j.byParam}
			continue
		}
		m.byParam = m.byParam || j.byParam
		if j.mode != m.mode && m.differ == nil {
			m.differ = e
		}
	}
	for i := range d.doc.Elements {
		e := &d.doc.Elements[i]
		j, ok := e.likeness.(javaGatewayRule)
		if m := byResource[j.resource]; ok && m != nil && m.differ == e && m.byParam {
			d.reader(e).warn("resourceMode", "one resourceMode for a resource",
				"it is %d here and %d in element %d: Sentinel Java would apply no gateway rule of %.40q, while here all are in force", j.mode, m.mode, m.first.Index, j.resource)
		}
	}
}
