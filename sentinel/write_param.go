package sentinel

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

func (w *writer) javaParam(p paramflow.Rule) {
	regex := w.common(p.Meta())
	if regex && p.Mode == paramflow.Pace {
		w.l.omit("mode", "in Sentinel Java a rule with a regular expression can only reject")
	}
	w.noParamOptions(p)
	w.o.fill("limitApp", textNode(javaAnyOrigin))
	index, list, ok := argument(p.Param)
	switch {
	case !ok:
		w.l.omit("param", "Sentinel Java limits the values of an argument only, as arg[0]%s; %s cannot be said", eachElement, p.Param)
	case list == "":
		w.l.add("param", "Sentinel Java looks at each element of an argument that is a list, as arg[%d]%s does", index, eachElement)
	case list != eachElement:
		w.l.add("param", "Sentinel Java looks at an argument that is no list too, as arg[%d]%s does", index, eachElement)
	}
	w.o.say("paramIdx", wholeNode(index))
	c := w.counts(p)
	behavior, threads := javaReject, p.Mode == paramflow.Concurrency
	grade := javaGradeQPS
	if threads {
		grade = javaGradeThreads
	} else if p.Mode == paramflow.Pace {
		behavior = javaPace
	}
	w.o.sayOr("grade", wholeNode(int64(grade)), wholeNode(javaGradeQPS))
	w.o.say("count", wholeNode(c.limit))
	w.paramBehavior(p, c, behavior, regex)
	if threads {
		w.o.fill("durationInSec", wholeNode(1))
	} else {
		w.o.sayOr("durationInSec", wholeNode(c.seconds), wholeNode(1))
		if p.Values != 0 {
			w.l.add("values", "Sentinel Java keeps 4000 values for each second of durationInSec, 200,000 at most")
		}
	}
	var items []rule.Node
	for _, i := range c.items {
		if i.count > maxInt32 {
			w.l.add("overrides", "Sentinel Java's limits of single values are ints; %d is written as %d", i.count, maxInt32)
		}
		items = append(items, javaItems(i.text, min(i.count, maxInt32))...)
	}
	w.items("paramFlowItemList", items)
	w.o.fill("clusterMode", boolNode(false))
	w.o.sayOr("regex", boolNode(regex), boolNode(false))
}

// javaItems are the items of a value, one for each type that arguments usually have: to Java a value has its type.
func javaItems(text string, count int64) []rule.Node {
	var items []rule.Node
	add := func(class string) {
		items = append(items, itemNode("object", textNode(text), "count", wholeNode(count), "classType", textNode(class)))
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err == nil && strconv.FormatInt(n, 10) == text:
		if n == int64(int32(n)) {
			add("int")
		}
		add("long")
	case text == "true" || text == "false":
		add("boolean")
	case isFloat(text):
		add("double")
	}
	add(javaString)
	return items
}

// isFloat reports whether the text is the canonical one of a float that is no whole number.
func isFloat(text string) bool {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return false
	}
	canonical, ok := floatText(f, 64)
	return ok && canonical == text
}

func (w *writer) goParam(p paramflow.Rule) {
	if w.common(p.Meta()) {
		w.l.omit("resource", "sentinel-golang's hotspot rules are for one resource each")
	}
	w.noParamOptions(p)
	metric, behavior, threads := goMetricQPS, goReject, p.Mode == paramflow.Concurrency
	if threads {
		metric = goMetricConcurrency
	} else if p.Mode == paramflow.Pace {
		behavior = goThrottle
	}
	w.o.sayOr("metricType", wholeNode(int64(metric)), wholeNode(goMetricConcurrency))
	w.goValue(p.Param)
	c := w.counts(p)
	w.o.say("threshold", wholeNode(c.limit))
	w.paramBehavior(p, c, behavior, false)
	if threads {
		w.o.fill("durationInSec", wholeNode(0))
		w.o.fill("paramsMaxCapacity", wholeNode(0))
	} else {
		w.o.say("durationInSec", wholeNode(c.seconds))
		w.o.sayOr("paramsMaxCapacity", wholeNode(int64(p.Values)), wholeNode(0))
	}
	var items []rule.Node
	for _, i := range c.items {
		items = append(items, w.goItems(i.text, i.count)...)
	}
	w.items("specificItems", items)
}

// goValue writes which value is limited.
func (w *writer) goValue(path string) {
	index, list, ok := argument(path)
	key, named := givenValue(path)
	switch {
	case named:
		w.l.add("param", "sentinel-golang's own parser of documents forgets paramKey, and takes the first argument; rules in code keep it")
		w.o.fill("paramIndex", wholeNode(0))
		w.o.say("paramKey", textNode(key))
		return
	case !ok:
		w.l.omit("param", "sentinel-golang limits the value of an argument or one given beside them, as arg[0] or value.uid; %s cannot be said", path)
	case list != "":
		w.l.add("param", "sentinel-golang does not look into lists, and lets calls pass of which the argument is one")
	}
	w.o.sayOr("paramIndex", wholeNode(index), wholeNode(0))
	w.o.sayOr("paramKey", textNode(""), textNode(""))
}

// goItems are the items of a value, one for each kind that it may have: to Go a value has its type.
func (w *writer) goItems(text string, count int64) []rule.Node {
	var items []rule.Node
	add := func(kind int64) {
		items = append(items, itemNode("valKind", wholeNode(kind), "valStr", textNode(text), "threshold", wholeNode(count)))
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err == nil && strconv.FormatInt(n, 10) == text:
		add(goInt)
	case text == "true" || text == "false":
		add(goBool)
	case isFloat(text):
		if again, ok := goValueOf(text, goFloat64); ok && again == text {
			add(goFloat64)
		} else {
			w.l.add("overrides", "sentinel-golang rounds floats to 5 decimals; %s is written as a text only", text)
		}
	}
	add(goString)
	return items
}

// itemNode is an object of pairs.
func itemNode(pairs ...any) rule.Node {
	n := rule.Node{Kind: rule.Object}
	for i := 0; i < len(pairs); i += 2 {
		n.Fields = append(n.Fields, rule.Field{Key: pairs[i].(string), Value: pairs[i+1].(rule.Node)})
	}
	return n
}

// items writes a list, which may be missing if it is empty.
func (w *writer) items(name string, items []rule.Node) {
	s := said
	if len(items) == 0 {
		s = implied
	}
	w.o.add(name, rule.Node{Kind: rule.List, Items: items}, s)
}

// noParamOptions sees to what no Sentinel has.
func (w *writer) noParamOptions(p paramflow.Rule) {
	if p.Origin != "" {
		w.l.omit("origin", "Sentinel has no limits of values for single callers")
	}
	if p.Absent != paramflow.Pass {
		w.l.add("absent", "Sentinel lets calls without the value pass")
	}
	if p.MaxQueue != 0 {
		w.l.add("maxQueue", "Sentinel does not bound how many calls wait")
	}
	if p.Redact {
		w.l.add("redact", "Sentinel keeps and shows values as they are")
	}
}

// paramBehavior writes how the limit is enforced.
func (w *writer) paramBehavior(p paramflow.Rule, c paramCounts, behavior int, regex bool) {
	if p.Mode == paramflow.Concurrency && !regex {
		w.o.fill("controlBehavior", wholeNode(int64(behavior)))
	} else {
		w.o.sayOr("controlBehavior", wholeNode(int64(behavior)), wholeNode(0)) // another one would refuse a rule with an expression
	}
	if p.Mode == paramflow.Pace {
		w.o.sayOr("maxQueueingTimeMs", wholeNode(w.units("maxWait", p.MaxWait, time.Millisecond, 0, maxInt32)), wholeNode(0))
	} else {
		w.o.fill("maxQueueingTimeMs", wholeNode(0))
	}
	if p.Mode == paramflow.Reject {
		w.o.sayOr("burstCount", wholeNode(c.more), wholeNode(0))
	} else {
		w.o.fill("burstCount", wholeNode(0))
	}
}

// paramCounts are the numbers of a rule as Sentinel has them: whole calls per whole seconds, and more for a burst of every value.
type paramCounts struct {
	limit, seconds, more int64
	items                []countItem
}

type countItem struct {
	text  string
	count int64
}

// counts finds the rule's numbers.
func (w *writer) counts(p paramflow.Rule) paramCounts {
	overrides := w.values(p)
	if p.Mode == paramflow.Concurrency {
		c := paramCounts{limit: int64(p.Limit)}
		for _, o := range overrides {
			c.items = append(c.items, countItem{string(o.Value), int64(o.Limit)})
		}
		return c
	}
	per := or(p.Per, time.Second)
	limits := []float64{p.Limit}
	for _, o := range overrides {
		limits = append(limits, o.Limit)
	}
	s := scaleOf(per, limits)
	c := paramCounts{limit: s.count(p.Limit), seconds: s.seconds}
	if !s.same {
		w.l.add("per", "in Sentinel limits are whole calls per whole seconds; %v per %v is written as %d per %d s", p.Limit, per, c.limit, c.seconds)
	}
	for _, o := range overrides {
		c.items = append(c.items, countItem{string(o.Value), s.count(o.Limit)})
	}
	if p.Mode == paramflow.Reject {
		c.more = w.more(p, c, overrides)
	}
	return c
}

// more is how many calls more than its limit a value may save up. Sentinel has one number for all values, so it is the greatest that one has.
func (w *writer) more(p paramflow.Rule, c paramCounts, overrides []paramflow.Override) int64 {
	extra := func(burst int, count int64) int64 {
		if burst == 0 || count == 0 {
			return 0
		}
		return int64(burst) - count
	}
	own := extra(p.Burst, c.limit)
	more, least := max(own, 0), int64(maxBurst)
	same := true
	bound := func(count int64) {
		if count > 0 {
			const longest = 30 * maxSeconds // to earn a burst
			least = min(least, max(0, int64(float64(count)*(longest/float64(c.seconds)))-count), max(0, maxBurst-count))
		}
	}
	bound(c.limit)
	for i, o := range overrides {
		more = max(more, extra(o.Burst, c.items[i].count))
		bound(c.items[i].count)
	}
	more = min(more, least)
	for i, o := range overrides {
		same = same && (c.items[i].count == 0 || extra(o.Burst, c.items[i].count) == more)
	}
	switch {
	case own < 0:
		w.l.add("burst", "in Sentinel a value may save up the whole limit, %d calls", c.limit)
	case c.limit > 0 && own != more:
		w.l.add("burst", "in Sentinel all values may save up the same number of calls beyond their limit; written as %d", more)
	}
	if !same {
		w.l.add("overrides", "in Sentinel all values may save up the same number of calls beyond their limit; written as %d", more)
	}
	return more
}

// values returns the overrides that Sentinel has, those of single values, with the canonical texts of these.
func (w *writer) values(p paramflow.Rule) []paramflow.Override {
	var overrides []paramflow.Override
	for _, o := range p.Overrides {
		text, ok := string(o.Value), utf8.ValidString(string(o.Value))
		switch {
		case o.Regex == emptyText:
			text, ok = "", true
		case o.Value == "":
			ok = false
		case isHash(text):
			ok = false // of a text that is not known
		case len(text) <= extractor.MaxText:
			text = extractor.Text(text).String()
		}
		switch {
		case ok:
			o.Value = paramflow.Scalar(text)
			overrides = append(overrides, o)
		case o.Limit > p.Limit || p.Mode == paramflow.Reject && o.Burst > p.Burst:
			w.l.omit("overrides", "Sentinel limits single values by their texts only, and would hold those of %s to the rule's limit", name(o))
		default:
			w.l.add("overrides", "Sentinel limits single values by their texts only; those of %s get the rule's limit", name(o))
		}
	}
	return overrides
}

// name says whom an override is for.
func name(o paramflow.Override) string {
	switch {
	case o.Wildcard != "":
		return "the wildcard " + strconv.Quote(o.Wildcard)
	case o.Regex != "":
		return "the regex " + strconv.Quote(o.Regex)
	}
	return strconv.Quote(string(o.Value))
}

// isHash reports whether a text is what stands for a longer one.
func isHash(text string) bool {
	digits, ok := strings.CutPrefix(text, "sha256:")
	return ok && len(digits) == 64 && strings.Trim(digits, "0123456789abcdef") == ""
}

// argumentPath is a path to an argument, or the elements of one.
var argumentPath = regexp.MustCompile(`^[ \t]*arg\[[ \t]*(-?[0-9]+)[ \t]*\](?:\[[ \t]*(\*\??)[ \t]*\])?[ \t]*$`)

// argument returns the number of the argument that a path takes, and the step after it; false if it is another path.
func argument(path string) (index int64, list string, ok bool) {
	m := argumentPath.FindStringSubmatch(path)
	if m == nil || len(pathProblems(path)) > 0 {
		return 0, "", false
	}
	index, err := strconv.ParseInt(m[1], 10, 32)
	if m[2] != "" {
		list = "[" + m[2] + "]"
	}
	return index, list, err == nil
}

// givenPath is a path to a value that was given beside the arguments.
var givenPath = regexp.MustCompile(`^[ \t]*value(?:\.([\pL_][\pL\p{Nd}_-]*)|\[[ \t]*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')[ \t]*\])[ \t]*$`)

// givenValue returns the key of a value that was given beside the arguments; false if the path is another.
func givenValue(path string) (key string, ok bool) {
	m := givenPath.FindStringSubmatch(path)
	if m == nil || len(pathProblems(path)) > 0 {
		return "", false
	}
	return m[1] + unescaped(m[2]+m[3]), true
}

// givenAs is the path to a value that was given by a key.
func givenAs(key string) string { return "value" + extractor.Step{Name: key}.String() }

// unescaped resolves the escapes of a quoted name, which is valid.
func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 't':
			b.WriteByte('\t')
		case 'u':
			n, _ := strconv.ParseUint(s[i+1:i+5], 16, 32)
			b.WriteRune(rune(n))
			i += 4
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
