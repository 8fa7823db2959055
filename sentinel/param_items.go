package sentinel

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

// paramItem is the limit of one value.
type paramItem struct {
	// in is the reader of the item, and name its field with the value.
	in   *reader
	name string
	// text stands for the value, class is its type to Sentinel, for which values of other types are others.
	text, class string
	limit       float64
}

// list returns readers of the objects in a list. What is null is left out with a warning; form says what the objects are.
func (r *reader) list(name string, keys keyTable, form string) []*reader {
	m := r.find(name)
	if m == nil {
		return nil
	}
	v := &m.field.Value
	if v.Kind != rule.List {
		r.fault(name, "a list of "+form, "it is %s", aNode(v))
		return nil
	}
	var all []*reader
	for i := range v.Items {
		item, at := &v.Items[i], fmt.Sprintf("%s[%d]", name, i)
		switch item.Kind {
		case rule.Object:
			all = append(all, r.inside(at, item, keys))
		case rule.Null:
			r.warnAt(item.Pos, at, "", "the item is null and left out, as %s does", r.e.Dialect.sentinel())
		default:
			r.faultAt(item.Pos, at, "an object: "+form, "the item is %s", aNode(item))
		}
	}
	return all
}

// written reads a text that may be empty; false if it is missing or null.
func (r *reader) written(name string) (text string, ok bool) {
	for i := len(r.members) - 1; i >= 0; i-- {
		m := &r.members[i]
		if !m.known || m.key.name != name {
			continue
		}
		if m.field.Value.Kind == rule.Null {
			return "", false
		}
		return r.text(name), true // which is empty for the empty text too
	}
	return "", false
}

// itemLimit is the limit of one value, within what cordon takes.
func (r *reader) itemLimit(name string, limit int64, p *paramflow.Rule) float64 {
	if p.Mode == paramflow.Concurrency {
		return float64(r.places(name, float64(limit)))
	}
	return r.rate(name, float64(limit), p.Per)
}

// overrides are the limits of single values. To Sentinel the number 7 and the text 7 are two values with a limit each, to cordon they are one: it gets the lower
// one. Of those of one type the last counts, as in Sentinel. more is burstCount.
func (r *reader) overrides(p *paramflow.Rule, items []paramItem, more int64) []paramflow.Override {
	type typed struct {
		value extractor.Value
		class string
	}
	last := make(map[typed]int, len(items))
	lowest := make(map[extractor.Value]int, len(items)) // indexes of overrides
	var overrides []paramflow.Override
	for i, item := range items {
		key := typed{extractor.Text(item.text), item.class}
		if earlier, again := last[key]; again && items[earlier].limit != item.limit {
			items[earlier].in.warn(items[earlier].name, "each value once", "%.40q has another limit further on, which counts, as in Sentinel", item.text)
		}
		last[key] = i
	}
	for i, item := range items {
		value := extractor.Text(item.text)
		if last[typed{value, item.class}] != i {
			continue
		}
		o := paramflow.Override{Value: paramflow.Scalar(item.text), Limit: item.limit}
		if item.text == "" {
			o = paramflow.Override{Regex: emptyText, Limit: item.limit}
		}
		at, again := lowest[value]
		if !again {
			lowest[value] = len(overrides)
			overrides = append(overrides, o)
			continue
		}
		if have := overrides[at].Limit; have != item.limit {
			item.in.warn(item.name, "", "%.40q has two limits, as values of two types; to cordon it is one value, with the lower limit of %v", item.text, min(have, item.limit))
			overrides[at].Limit = min(have, item.limit)
		}
	}
	if p.Mode == paramflow.Reject {
		greatest := p.Limit
		for i := range overrides {
			o := &overrides[i]
			if o.Limit > 0 && more > 0 {
				o.Burst = int(min(o.Limit+float64(more), maxBurst))
			}
			greatest = max(greatest, o.Limit)
		}
		if greatest > p.Limit && (p.Limit == 0 || p.Limit+float64(more) <= maxBurst) {
			r.burst(greatest, more) // for its warning
		}
	}
	return overrides
}

// emptyText is the pattern of the empty text, which no override has as its value.
const emptyText = "^$"

const javaString = "java.lang.String"

// javaClasses are the types of values that Java knows, by the names that it knows them by. All else is text.
var javaClasses = map[string]string{
	"int": "int", "java.lang.Integer": "int",
	"long": "long", "java.lang.Long": "long",
	"short": "short", "java.lang.Short": "short",
	"byte": "byte", "java.lang.Byte": "byte",
	"double": "double", "java.lang.Double": "double",
	"float": "float", "java.lang.Float": "float",
	"boolean": "boolean", "java.lang.Boolean": "boolean",
	"char": "char",
}

// javaWidths are the bits of Java's integers.
var javaWidths = map[string]int{"byte": 8, "short": 16, "int": 32, "long": 64}

// javaValue reads a value of a Java type as Java does; false if the text is none.
func javaValue(text, class string) (string, bool) {
	switch class = javaClasses[class]; class {
	case "boolean":
		return strconv.FormatBool(strings.EqualFold(text, "true")), true
	case "double":
		return javaFloat(text, 64)
	case "float":
		return javaFloat(text, 32)
	case "char":
		for _, first := range text {
			return string(first), utf16.RuneLen(first) == 1
		}
		return "", false
	case "":
		return text, true
	}
	n, err := strconv.ParseInt(text, 10, javaWidths[class])
	return strconv.FormatInt(n, 10), err == nil
}

// javaFloat reads a float as Java does: it may have spaces around it and a d or f behind it, and what is beyond the floats is infinite.
func javaFloat(text string, bits int) (string, bool) {
	const signs = "0123456789.eE+-"
	text = strings.Trim(text, javaSpaces)
	if n := len(text) - 1; n > 0 && strings.IndexByte("dDfF", text[n]) >= 0 && strings.IndexByte(signs, text[n-1]) >= 0 {
		text = text[:n]
	}
	if strings.TrimLeft(text, signs) != "" && strings.TrimLeft(text, "+-") != "Infinity" {
		return "", false // a word or a form that strconv knows, and Java does not, or not a number
	}
	f, err := strconv.ParseFloat(text, bits)
	if err != nil && !math.IsInf(f, 0) {
		return "", false
	}
	return floatText(f, bits)
}

// javaSpaces are what Java's parsers of floats ignore at both ends.
const javaSpaces = " \t\n\v\f\r\x00"
