package sentinel

import (
	"math"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

// gatewayCommon writes what all gateway rules have; false if there are none in the dialect.
func (w *writer) gatewayCommon(m rule.Meta, origin, under string) bool {
	if w.dialect != Java {
		w.l.omit("", "sentinel-golang has no gateway rules")
		return false
	}
	if w.common(m) {
		w.l.omit("resource", "gateway rules are for one route or API each")
	}
	if origin != "" {
		w.l.omit("origin", "gateway rules are for all callers")
	}
	if under != "" {
		w.l.omit("under", "gateway rules are for all entrances")
	}
	mode := int64(javaModeRoute)
	if m.Resource.Kind() == rule.ByName && w.apis[m.Resource.Pattern()] {
		mode = javaModeAPI
	}
	w.o.fill("resourceMode", wholeNode(mode))
	return true
}

func (w *writer) gatewayRate(f flow.Rule) {
	if !w.gatewayCommon(f.Meta(), f.Origin, f.Under) {
		return
	}
	if f.Related != "" {
		w.l.omit("related", "gateway rules count the calls of their own resource")
	}
	limit := f.Limit
	if f.Memory != (flow.Memory{}) {
		limit = f.Memory.LowLimit
		w.l.add("memory", "Sentinel Java has no limits by memory; the limit for little memory in use is written")
	}
	behavior, saved := javaReject, 0
	switch f.Mode {
	case flow.Smooth:
		saved = or(f.Burst, 1)
	case flow.Pace:
		behavior = javaPace
	case flow.WarmUpPace:
		behavior = javaPace
		w.l.add("mode", "gateway rules have no warm-up; written as one that paces")
	case flow.WarmUp:
		w.l.add("mode", "gateway rules have no warm-up; written as one that rejects")
	default:
		w.l.add("mode", "gateway rules let a resource save up its limit, which a limit that rejects does not")
	}
	c := w.gatewayCounts(limit, or(f.Per, time.Second), saved)
	w.gatewayNumbers(javaGradeQPS, behavior, c, f.MaxWait)
}

func (w *writer) gatewayThreads(c flow.ConcurrencyRule) {
	if !w.gatewayCommon(c.Meta(), c.Origin, c.Under) {
		return
	}
	w.queue(c)
	w.gatewayNumbers(javaGradeThreads, javaReject, paramCounts{limit: int64(c.Limit)}, 0)
}

func (w *writer) gatewayParam(p paramflow.Rule) {
	if !w.gatewayCommon(p.Meta(), "", "") {
		return
	}
	w.noParamOptions(p)
	if p.Values != 0 {
		w.l.add("values", "Sentinel Java keeps 4000 values for each second of the interval, 200,000 at most")
	}
	for _, o := range p.Overrides {
		if o.Limit > p.Limit || p.Mode == paramflow.Reject && o.Burst > p.Burst {
			w.l.omit("overrides", "gateway rules have no limits of single values, and would hold those of %s to the rule's limit", name(o))
		} else {
			w.l.add("overrides", "gateway rules have no limits of single values; those of %s get the rule's limit", name(o))
		}
	}
	switch p.Mode {
	case paramflow.Concurrency:
		w.gatewayNumbers(javaGradeThreads, javaReject, paramCounts{limit: int64(p.Limit)}, 0)
	case paramflow.Pace:
		w.gatewayNumbers(javaGradeQPS, javaPace, w.gatewayCounts(p.Limit, or(p.Per, time.Second), 0), p.MaxWait)
	default:
		saved := or(p.Burst, int(min(max(math.Ceil(p.Limit), 1), maxBurst)))
		w.gatewayNumbers(javaGradeQPS, javaReject, w.gatewayCounts(p.Limit, or(p.Per, time.Second), saved), 0)
	}
	w.gatewayItem(p)
}

// gatewayCounts are the numbers of a rate. saved is how many calls may pass at once, 0 if that is not looked at.
func (w *writer) gatewayCounts(limit float64, per time.Duration, saved int) paramCounts {
	s := scaleOf(per, []float64{limit})
	c := paramCounts{limit: s.count(limit), seconds: s.seconds}
	if !s.same {
		w.l.add("per", "in Sentinel limits are whole calls per whole seconds; %v per %v is written as %d per %d s", limit, per, c.limit, c.seconds)
	}
	if saved > 0 && limit > 0 {
		c.more = int64(saved) - c.limit
		if c.more < 0 {
			w.l.add("burst", "in Sentinel the whole limit may be saved up, %d calls", c.limit)
			c.more = 0
		}
	}
	return c
}

// gatewayNumbers writes how much is let pass.
func (w *writer) gatewayNumbers(grade, behavior int, c paramCounts, wait time.Duration) {
	w.o.sayOr("grade", wholeNode(int64(grade)), wholeNode(javaGradeQPS))
	w.o.say("count", wholeNode(c.limit))
	if grade == javaGradeThreads {
		w.o.fill("intervalSec", wholeNode(1))
		w.o.fill("controlBehavior", wholeNode(javaReject))
		w.o.fill("burst", wholeNode(0))
		w.o.fill("maxQueueingTimeoutMs", wholeNode(500))
		return
	}
	w.o.sayOr("intervalSec", wholeNode(c.seconds), wholeNode(1))
	w.o.sayOr("controlBehavior", wholeNode(int64(behavior)), wholeNode(javaReject))
	if behavior == javaPace {
		w.o.fill("burst", wholeNode(0))
		w.o.sayOr("maxQueueingTimeoutMs", wholeNode(w.units("maxWait", wait, time.Millisecond, 0, maxInt32)), wholeNode(500))
		return
	}
	if c.more > maxInt32 {
		c.more = maxInt32
	}
	w.o.sayOr("burst", wholeNode(c.more), wholeNode(0))
	w.o.fill("maxQueueingTimeoutMs", wholeNode(500))
}

// gatewayItem writes which value is limited.
func (w *writer) gatewayItem(p paramflow.Rule) {
	from, field, ok := gatewaySource(p.Param)
	if !ok {
		w.l.omit("param", "gateway rules limit by the client's address, a header, a parameter of the URL or a cookie; %s cannot be said", p.Param)
		return
	}
	pairs := []any{"parseStrategy", wholeNode(from)}
	if from >= javaFromHeader {
		pairs = append(pairs, "fieldName", textNode(field))
	}
	pattern, match := "", int64(javaMatchExact)
	switch expr := p.Only.Pattern(); {
	case p.Only == rule.Match{} || p.Only.Kind() == rule.ByDefault:
	case p.Only.Kind() == rule.ByName:
		pattern = expr
	case p.Only.Kind() == rule.ByWildcard:
		if part, ok := contained(expr); ok {
			pattern, match = part, javaMatchContains
		} else {
			pattern, match = wildcardRegex(expr), javaMatchRegex
			w.l.add("only", "gateway rules have no wildcards; written as a regular expression")
		}
	default:
		java, err := toJavaRegex(expr)
		if err != nil {
			w.l.omit("only", "%v", err)
		}
		pattern, match = java, javaMatchRegex
	}
	if !utf8.ValidString(pattern) {
		w.l.omit("only", "%q is not UTF-8", pattern)
	}
	if pattern != "" {
		pairs = append(pairs, "pattern", textNode(pattern), "matchStrategy", wholeNode(match))
	}
	w.o.say("paramItem", itemNode(pairs...))
}

// contained returns the part of a wildcard that stands between two stars and has no sign in it.
func contained(wildcard string) (part string, ok bool) {
	inner, begins := strings.CutPrefix(wildcard, "*")
	inner, ends := strings.CutSuffix(inner, "*")
	return inner, begins && ends && inner != "" && !strings.ContainsAny(inner, "*?")
}

// gatewayPath is a path to a header, a parameter of the URL or a cookie.
var gatewayPath = regexp.MustCompile(`^[ \t]*(header|query|cookie)(?:\.([\pL_][\pL\p{Nd}_-]*)|\[[ \t]*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')[ \t]*\])[ \t]*$`)

// gatewaySource returns where a path's value is; false if a gateway rule cannot say it.
func gatewaySource(path string) (from int64, field string, ok bool) {
	if trimmed := strings.Trim(path, " \t"); trimmed == "client.ip" {
		return javaFromClient, "", true
	}
	m := gatewayPath.FindStringSubmatch(path)
	if m == nil || len(pathProblems(path)) > 0 {
		return 0, "", false
	}
	field = m[2] + unescaped(m[3]+m[4])
	if isBlank(field) {
		return 0, "", false
	}
	switch m[1] {
	case "query":
		return javaFromQuery, field, true
	case "cookie":
		return javaFromCookie, field, true
	}
	if strings.EqualFold(field, "Host") {
		return javaFromHost, "", true
	}
	return javaFromHeader, field, true
}
