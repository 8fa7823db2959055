package sentinel

import (
	"fmt"
	"strconv"
	"time"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

const goMetricQPS = 1

func (r *reader) goParam() {
	metric, ok := r.choice("metricType", goMetricConcurrency, span{goMetricConcurrency, goMetricQPS})
	if !ok {
		return
	}
	behavior := r.whole("controlBehavior", goReject, span{goReject, goThrottle})
	p := paramflow.Rule{
		ID:       r.e.ID,
		Resource: r.e.match,
		Param:    r.goValue(),
	}
	r.require("threshold", "refuse every call")
	threshold := float64(r.whole("threshold", 0, aLong.from(0)))
	more := int64(0)
	if metric == goMetricConcurrency {
		p.Mode = paramflow.Concurrency
		p.Limit = float64(r.places("threshold", threshold))
		if !r.has("metricType") && r.has("durationInSec") {
			r.warn("metricType", "1 for calls per interval", "it is missing, which is 0 and limits the calls in flight, whatever durationInSec is")
		}
	} else {
		r.require("durationInSec", "refuse the rule")
		p.Per = time.Duration(r.seconds(1, false)) * time.Second
		p.Limit = r.rate("threshold", threshold, p.Per)
		p.Values = r.goCapacity()
		if behavior == goThrottle {
			p.Mode, p.MaxWait = paramflow.Pace, r.goQueue()
		} else {
			more = r.whole("burstCount", 0, aLong.from(0))
			p.Burst = r.burst(p.Limit, more)
		}
	}
	p.Overrides = r.overrides(&p, r.goItems(&p), more)
	r.addParam(p, goParamFields)
}

// goValue is the path of the limited value: paramKey names one that is given beside the arguments, else paramIndex says which argument.
func (r *reader) goValue() string {
	index := r.whole("paramIndex", 0, anInt)
	key := r.text("paramKey")
	switch {
	case key == "":
		return fmt.Sprintf("arg[%d]", index)
	case index > 0:
		r.fault("paramKey", "paramKey or paramIndex, not both", "the rule has paramIndex %d too, and sentinel-golang would refuse it", index)
	}
	return givenAs(key)
}

// goQueue is how long a call may wait for its turn.
func (r *reader) goQueue() time.Duration {
	const longest = 60 * 60 * 1000
	return millis(r.whole("maxQueueingTimeMs", 0, span{0, longest}))
}

// The bounds of how many values are expected.
const minValues, maxValues = 100, 10_000_000

// goCapacity is how many values are expected to be in use. To sentinel-golang 0 and less is the default.
func (r *reader) goCapacity() int {
	n := r.whole("paramsMaxCapacity", 0, aLong)
	if n <= 0 {
		return 0
	}
	if within := min(max(n, minValues), maxValues); within != n {
		r.warn("paramsMaxCapacity", span{minValues, maxValues}.String(), "%d is out of what cordon takes; taken as %d", n, within)
		return int(within)
	}
	return int(n)
}

// The kinds of values that Go's items have.
const (
	goInt     = 0
	goString  = 1
	goBool    = 2
	goFloat64 = 3
)

var goKinds = [...]string{goInt: "int", goString: "string", goBool: "bool", goFloat64: "float64"}

// goItems reads the limits of single values.
func (r *reader) goItems(p *paramflow.Rule) []paramItem {
	var items []paramItem
	for _, in := range r.list("specificItems", goItemKeys, "{valKind, valStr, threshold}; objects with values for keys are for rules in code only") {
		kind := in.whole("valKind", goInt, aLong)
		text := in.text("valStr")
		threshold := in.whole("threshold", 0, aLong)
		if !in.has("threshold") {
			in.warn("threshold", "the value's limit", "the item has no threshold and is left out; sentinel-golang would take it for 0 and refuse the value")
			continue
		}
		if kind < 0 || kind >= int64(len(goKinds)) {
			in.warn("valKind", "0 (int), 1 (string), 2 (bool) or 3 (float64)", "%d is no kind of value; the item is left out, as sentinel-golang does", kind)
			continue
		}
		value, ok := goValueOf(text, kind)
		if !ok {
			in.warn("valStr", "", "%.40q is no %s; the item is left out, as sentinel-golang does", text, goKinds[kind])
			continue
		}
		if threshold < 0 {
			in.warn("threshold", "0 or more", "%d is below 0, which refuses the value in sentinel-golang; taken as 0", threshold)
			threshold = 0
		}
		items = append(items, paramItem{in, "valStr", value, goKinds[kind], in.itemLimit("threshold", threshold, p)})
	}
	return items
}

// goValueOf reads a value of one of Go's kinds; false if the text is none.
func goValueOf(text string, kind int64) (string, bool) {
	switch kind {
	case goInt:
		n, err := strconv.Atoi(text)
		return strconv.Itoa(n), err == nil
	case goBool:
		b, err := strconv.ParseBool(text)
		return strconv.FormatBool(b), err == nil
	case goFloat64:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return "", false
		}
		return floatText(rounded(f), 64)
	}
	return text, true
}

// rounded rounds to 5 decimals, as sentinel-golang does with floats.
func rounded(f float64) float64 {
	f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'f', 5, 64), 64)
	return f
}

// floatText is the canonical text of a float; false for NaN, which no value equals.
func floatText(f float64, bits int) (string, bool) {
	v, ok := extractor.Float(f, bits)
	return v.String(), ok
}

// pathProblems returns what is wrong with a path.
func pathProblems(path string) []rule.Problem {
	if _, err := extractor.Compile(path, extractor.Options{}); err != nil {
		return []rule.Problem{{Field: "param", Message: err.Error()}}
	}
	return nil
}

// goParamFields says which field of a param rule comes from which of Go's.
var goParamFields = map[string]string{
	"resource":  "resource",
	"param":     "paramKey",
	"limit":     "threshold",
	"per":       "durationInSec",
	"burst":     "burstCount",
	"maxWait":   "maxQueueingTimeMs",
	"mode":      "controlBehavior",
	"values":    "paramsMaxCapacity",
	"overrides": "specificItems",
}
