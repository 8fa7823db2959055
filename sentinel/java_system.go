package sentinel

import (
	"math"
	"time"

	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/system"
)

// The limits that a system rule of Java may set, each of which is a native rule.
const (
	javaLoad    = "highestSystemLoad"
	javaCPU     = "highestCpuUsage"
	javaRT      = "avgRt"
	javaThreads = "maxThread"
	javaQPS     = "qps"
)

// javaMetrics are what the limits look at, in the order in which they become rules.
var javaMetrics = [...]struct {
	key    string
	metric system.Metric
}{
	{javaLoad, system.Load},
	{javaCPU, system.CPU},
	{javaRT, system.ResponseTime},
	{javaThreads, system.Concurrency},
	{javaQPS, system.Rate},
}

// javaSystem makes a rule of each limit that is set. Each stands by itself: one that is bad takes none of the others with it.
func (r *reader) javaSystem() {
	if app := r.text("limitApp"); !isBlank(app) && app != javaAnyOrigin {
		r.warn("limitApp", "", "the process is protected from all callers: Sentinel Java ignores this, and so does cordon")
	}
	for _, of := range javaMetrics {
		before := len(r.e.Problems.Faults())
		s := system.Rule{Metric: of.metric}
		set := r.javaLimit(of.key, &s)
		bad := len(r.e.Problems.Faults()) > before
		if !bad && !set {
			continue
		}
		if !bad {
			bad = !r.acceptSystem(s, of.key, of.key)
		}
		if !bad {
			r.e.Rules.System = append(r.e.Rules.System, s)
		}
		r.e.parts = append(r.e.parts, part{kind: kindSystem, field: of.key, match: rule.Name(of.metric.String()), made: !bad})
	}
	if len(r.e.parts) == 0 {
		r.warnAt(r.e.Position, "", "one of highestSystemLoad, highestCpuUsage, qps, avgRt and maxThread",
			"the rule sets no limit; as the last one it would switch all system rules off in Sentinel Java, and here it changes nothing")
	}
}

// javaLimit reads one of the limits; false if it is not set, which is what a negative number says.
func (r *reader) javaLimit(key string, s *system.Rule) bool {
	var v float64
	if key == javaRT || key == javaThreads {
		v = float64(r.whole(key, -1, aLong))
	} else {
		v = r.number(key, -1, -math.MaxFloat64)
	}
	if v < 0 {
		return false
	}
	switch key {
	case javaLoad:
		s.Limit = r.load(key, v)
	case javaCPU:
		s.Limit, s.Admission = v, system.Refuse
		if v > 1 {
			r.fault(key, "0 to 1, or below 0 for no limit", "%v is no share of the CPU, and Sentinel Java ignores it", v)
		}
	case javaRT:
		s.SlowerThan = r.meanTime(key, v)
	case javaThreads:
		s.Limit = float64(r.places(key, v))
		if v == 0 {
			r.warn(key, "1 or more", "0 refuses all inbound calls; Sentinel Java lets one at a time pass")
		}
	case javaQPS:
		s.Limit = r.rate(key, v, time.Second)
	}
	return true
}

const (
	maxLoad     = 100_000
	maxMeanTime = time.Hour
)

// load is a load average up to what cordon takes.
func (r *reader) load(name string, v float64) float64 {
	if v > maxLoad {
		r.warn(name, "", "%v is more than cordon's greatest load; taken as %d", v, maxLoad)
		return maxLoad
	}
	return v
}

// meanTime is a mean response time above which calls are refused. Sentinel's response times are whole milliseconds, so that above 0 is from 1 on.
func (r *reader) meanTime(name string, ms float64) time.Duration {
	switch most := float64(maxMeanTime / time.Millisecond); {
	case ms == 0:
		r.warn(name, "a time in ms", "0 refuses calls while the others take 1 ms in the mean")
		return time.Millisecond
	case ms > most:
		r.warn(name, "", "%v ms are more than cordon's greatest mean response time; taken as %v", ms, maxMeanTime)
		return maxMeanTime
	}
	return max(time.Duration(math.Round(ms*float64(time.Millisecond))), time.Microsecond)
}

// acceptSystem checks the native rule; its problems are told of the fields with the limit.
func (r *reader) acceptSystem(s system.Rule, limit, metric string) bool {
	good := true
	for _, p := range rule.Problems(s.Problems()).Faults() {
		name := limit
		if p.Field == "metric" || p.Field == "admission" {
			name = metric
		}
		r.fault(name, p.Want, "%s", p.Message)
		good = false
	}
	return good
}

// javaSystem writes the rule as an object that sets one limit, as Java's dashboard has them.
func (w *writer) javaSystem(s system.Rule) {
	w.systemCommon(s)
	said := object{}
	switch s.Metric {
	case system.Load:
		if s.Admission != system.BBR {
			w.l.add("admission", "Sentinel Java always admits by BBR while the load is high")
		}
		said.say(javaLoad, numberNode(s.Limit))
	case system.CPU:
		if s.Admission != system.Refuse {
			w.l.omit("admission", "Sentinel Java refuses all calls while the CPU is busy")
		}
		said.say(javaCPU, numberNode(s.Limit))
	case system.ResponseTime:
		said.say(javaRT, wholeNode(w.units("slowerThan", s.SlowerThan, time.Millisecond, 1, math.MaxInt64)))
	case system.Concurrency:
		if s.Limit == 0 {
			w.l.add("limit", "Sentinel Java lets one call at a time pass at 0")
		}
		said.say(javaThreads, wholeNode(int64(s.Limit)))
	case system.Rate:
		said.say(javaQPS, numberNode(s.Limit))
	}
	w.o = merged([]object{noSystemLimits(), said})
}

// noSystemLimits is a system rule of Java's that sets no limit, with what Java's own writers put there.
func noSystemLimits() object {
	var o object
	for _, of := range javaMetrics {
		o.fill(of.key, numberNode(-1))
	}
	return o
}

// systemCommon sees to what Sentinel has not.
func (w *writer) systemCommon(s system.Rule) {
	if s.Shadow {
		w.l.omit("shadow", "Sentinel has no rules in shadow, and would enforce it")
	}
}
