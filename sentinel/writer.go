package sentinel

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/system"
)

// writer writes one native rule in a dialect.
type writer struct {
	dialect Dialect
	// gateway says that the document holds gateway flow rules.
	gateway bool
	// apis are the names that are those of APIs in it, and of no route.
	apis map[string]bool
	o    object
	l    *losses
}

func (w *writer) flow(f flow.Rule) {
	switch {
	case w.gateway:
		w.gatewayRate(f)
	case w.dialect == Java:
		w.javaRate(f)
	default:
		w.goRate(f)
	}
}

func (w *writer) concurrency(c flow.ConcurrencyRule) {
	switch {
	case w.gateway:
		w.gatewayThreads(c)
	case w.dialect == Java:
		w.javaThreads(c)
	default:
		w.goThreads(c)
	}
}

func (w *writer) breaker(b breaker.Rule) {
	if w.dialect == Java {
		w.javaBreaker(b)
	} else {
		w.goBreaker(b)
	}
}

func (w *writer) param(p paramflow.Rule) {
	switch {
	case w.gateway:
		w.gatewayParam(p)
	case w.dialect == Java:
		w.javaParam(p)
	default:
		w.goParam(p)
	}
}

func (w *writer) system(s system.Rule) {
	if w.dialect == Java {
		w.javaSystem(s)
	} else {
		w.goSystem(s)
	}
}

// hasID reports whether rules of the dialect can have the id: Java's are whole numbers, all are UTF-8.
func (d Dialect) hasID(id string) bool {
	return utf8.ValidString(id) && (d != Java || isWhole(id))
}

// id puts the rule's id first, which the dialect can have.
func (w *writer) id(id string) {
	value := textNode(id)
	if n, err := strconv.ParseInt(id, 10, 64); w.dialect == Java && err == nil && strconv.FormatInt(n, 10) == id {
		value = wholeNode(n)
	}
	w.o.fields = append([]objectField{{rule.Field{Key: "id", Value: value}, said}}, w.o.fields...)
}

// common writes which resources the rule is for, and sees to what all rules have. It returns whether they are matched by an expression.
func (w *writer) common(m rule.Meta) (regex bool) {
	if m.Shadow {
		w.l.omit("shadow", "Sentinel has no rules in shadow, and would enforce it")
	}
	if m.Shared {
		w.l.add("shared", "in Sentinel each resource has a budget of its own")
	}
	name, regex := w.resource(m.Resource)
	w.text("resource", "resource", name)
	switch {
	case regex && !m.Also:
		w.l.add("also", "in Sentinel a rule with an expression always applies besides those that name the resource")
	case !regex && m.Also:
		w.l.add("also", "it says nothing for a rule that names its resource, and is not written")
	}
	return regex
}

// resource returns the name or expression for a match.
func (w *writer) resource(m rule.Match) (name string, regex bool) {
	expr := m.Pattern()
	switch m.Kind() {
	case rule.ByName:
		if w.dialect == Java && isBlank(expr) {
			w.l.omit("resource", "Sentinel Java refuses a name of blanks")
		}
		return expr, false
	case rule.ByRegex:
	case rule.ByWildcard:
		expr = wildcardRegex(expr)
		w.l.add("resource", "Sentinel has no wildcards; written as a regular expression")
	default:
		expr = "(?s:.*)"
		w.l.add("resource", "Sentinel has no default rules; written as a regular expression that matches all")
	}
	translate := toGoRegex
	if w.dialect == Java {
		translate = toJavaRegex
	}
	written, err := translate(expr)
	if err != nil {
		w.l.omit("resource", "%v", err)
	}
	return written, true
}

// wildcardRegex is an expression that matches the same names as a wildcard.
func wildcardRegex(pattern string) string {
	return strings.NewReplacer(`\*`, "(?s:.*)", `\?`, "(?s:.)").Replace(regexp.QuoteMeta(pattern))
}

// text says a text. Documents are UTF-8, while names may hold any bytes.
func (w *writer) text(field, name, s string) {
	if !utf8.ValidString(s) {
		w.l.omit(field, "%q is not UTF-8", s)
	}
	w.o.say(name, textNode(s))
}

// units returns a duration in whole units, at least low and at most high.
func (w *writer) units(field string, d, unit time.Duration, low, high int64) int64 {
	n := int64((d + unit - 1) / unit)
	n = min(max(n, low), high)
	if written := time.Duration(n) * unit; written != d {
		w.l.add(field, "%v cannot be said in units of %v from %d to %d; written as %v", d, unit, low, high, written)
	}
	return n
}

// or returns the value, or what stands for 0.
func or[T comparable](v, zero T) T {
	var none T
	if v == none {
		return zero
	}
	return v
}

const maxInt32, maxUint32 = math.MaxInt32, math.MaxUint32
