package sentinel

import (
	"math"
	"time"

	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/system"
)

// The values of Go's system rules.
const (
	goLoad        = 0
	goAvgRT       = 1
	goConcurrency = 2
	goInboundQPS  = 3
	goCPUUsage    = 4

	goNoAdaptive = -1
	goBBR        = 1
)

// goMetrics are what Go's metrics look at.
var goMetrics = [...]system.Metric{
	goLoad:        system.Load,
	goAvgRT:       system.ResponseTime,
	goConcurrency: system.Concurrency,
	goInboundQPS:  system.Rate,
	goCPUUsage:    system.CPU,
}

func (r *reader) goSystem() {
	r.require("metricType", "look at the load")
	metric, ok := r.choice("metricType", goLoad, span{goLoad, goCPUUsage})
	if !ok {
		return
	}
	s := system.Rule{ID: r.e.ID, Metric: goMetrics[metric]}
	r.e.match = rule.Name(s.Metric.String())
	strategy := r.whole("strategy", 0, span{goNoAdaptive, goBBR})
	r.require("triggerCount", "refuse all inbound calls")
	v := r.number("triggerCount", 1, 0)
	switch metric {
	case goLoad:
		s.Limit = r.load("triggerCount", v)
	case goAvgRT:
		s.SlowerThan = r.meanTime("triggerCount", v)
	case goConcurrency:
		s.Limit = float64(r.upTo("triggerCount", v))
	case goInboundQPS:
		s.Limit = r.rate("triggerCount", v, time.Second)
	case goCPUUsage:
		s.Limit = v
		if v > 1 {
			r.fault("triggerCount", "0 to 1", "%v is no share of the CPU", v)
		}
	}
	if (metric == goLoad || metric == goCPUUsage) && strategy != goBBR {
		s.Admission = system.Refuse
	}
	if r.e.OK() && r.acceptSystem(s, "triggerCount", "metricType") {
		r.e.Rules.System = []system.Rule{s}
	}
}

// upTo is a concurrency limit of Go's, which admits calls while fewer are in flight.
func (r *reader) upTo(name string, v float64) int {
	if whole := math.Ceil(v); whole != v {
		r.warn(name, "a whole number", "only whole calls run, so the limit is %v, as in Sentinel", whole)
		v = whole
	}
	return r.places(name, v)
}

func (w *writer) goSystem(s system.Rule) {
	w.systemCommon(s)
	metric, strategy := goLoad, goNoAdaptive
	for i, m := range goMetrics {
		if m == s.Metric {
			metric = i
		}
	}
	limited := s.Metric == system.Load || s.Metric == system.CPU
	if limited && s.Admission == system.BBR {
		strategy = goBBR
	}
	w.o.say("metricType", wholeNode(int64(metric)))
	v := numberNode(s.Limit)
	if s.Metric == system.ResponseTime {
		v = numberNode(float64(s.SlowerThan) / float64(time.Millisecond))
	}
	w.o.say("triggerCount", v)
	if limited {
		w.o.sayOr("strategy", wholeNode(int64(strategy)), wholeNode(0))
	} else {
		w.o.fill("strategy", wholeNode(goNoAdaptive))
	}
}
