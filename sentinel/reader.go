package sentinel

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/cordon-go/cordon/rule"
)

// reader reads the fields of one element, or of an object in it, by the types of the element's dialect, and collects what is wrong.
type reader struct {
	d       *decoder
	e       *Element
	members []member
	// prefix is put before the names of fields in problems.
	prefix string
	// at is where the object begins.
	at rule.Position
}

func (d *decoder) reader(e *Element) *reader {
	return &reader{d: d, e: e, members: e.members, at: e.Position}
}

// object returns a reader of an object within the element; nil if it is missing or no object.
func (r *reader) object(name string, keys keyTable) *reader {
	m := r.find(name)
	if m == nil || m.field.Value.Kind != rule.Object {
		return nil
	}
	return r.inside(name, &m.field.Value, keys)
}

// inside returns a reader of an object that is found at the name.
func (r *reader) inside(name string, n *rule.Node, keys keyTable) *reader {
	in := &reader{d: r.d, e: r.e, prefix: r.prefix + name + ".", at: n.Pos}
	for i := range n.Fields {
		f := &n.Fields[i]
		member := keys.member(f.Key)
		member.field = f
		in.members = append(in.members, member)
	}
	return in
}

// find returns the last member of that name whose value is not one that stands for nothing: null, and in Java the empty text.
func (r *reader) find(name string) *member {
	for i := len(r.members) - 1; i >= 0; i-- {
		m := &r.members[i]
		if m.key.name != name || !m.known {
			continue
		}
		v := &m.field.Value
		if v.Kind == rule.Null || r.lax() && v.Kind == rule.String && v.Text == "" {
			return nil
		}
		return m
	}
	return nil
}

// lax says that values are taken as Java's parser does: texts that hold a number for numbers, and so on.
func (r *reader) lax() bool { return r.e.Dialect == Java || r.e.Dialect == Auto }

func (r *reader) has(name string) bool { return r.find(name) != nil }

// position is where a field's value is written; where the object begins if it is not.
func (r *reader) position(name string) rule.Position {
	for i := len(r.members) - 1; i >= 0; i-- {
		if m := &r.members[i]; m.known && m.key.name == name {
			return m.field.Value.Pos
		}
	}
	return r.at
}

func (r *reader) fault(name, want, format string, args ...any) {
	r.faultAt(r.position(name), name, want, format, args...)
}

func (r *reader) warn(name, want, format string, args ...any) {
	r.warnAt(r.position(name), name, want, format, args...)
}

func (r *reader) faultAt(at rule.Position, name, want, format string, args ...any) {
	r.add(at, name, want, false, format, args)
}

func (r *reader) warnAt(at rule.Position, name, want, format string, args ...any) {
	r.add(at, name, want, true, format, args)
}

func (r *reader) add(at rule.Position, name, want string, warning bool, format string, args []any) {
	field := name
	if field != "" {
		field = r.prefix + field
	}
	r.e.Problems = append(r.e.Problems, rule.Problem{
		Source:   r.d.doc.Source,
		Position: at,
		Index:    r.e.Index,
		Field:    field,
		Message:  fmt.Sprintf(format, args...),
		Want:     want,
		Warning:  warning,
	})
}

// warnUnknown warns of a key that is ignored.
func (r *reader) warnUnknown(m *member, keys keyTable) {
	switch {
	case m.known && m.key.owner == retired:
		r.warnAt(m.field.Pos, m.key.name, "", "today's Sentinel ignores this key, and so does cordon")
	case m.known:
		r.warnAt(m.field.Pos, m.key.name, "", "ignored: %s does not know this key", r.e.Dialect.sentinel())
	default:
		r.warnAt(m.field.Pos, brief(m.key.name), keys.nearest(m.field.Key), "unknown key, ignored as Sentinel does")
	}
}

// brief is a key as messages show it: no longer than a key can be that somebody means.
func brief(key string) string {
	const most = 60
	if len(key) <= most {
		return key
	}
	return strings.ToValidUTF8(key[:most], "") + "…"
}

// text reads a text; "" if it is missing.
func (r *reader) text(name string) string {
	m := r.find(name)
	if m == nil {
		return ""
	}
	v := &m.field.Value
	switch {
	case v.Kind == rule.String, r.lax() && (v.Kind == rule.Number || v.Kind == rule.Bool):
		return v.Text
	}
	r.fault(name, "a text", "it is %s", aNode(v))
	return ""
}

// bool reads a truth value.
func (r *reader) bool(name string, def bool) bool {
	m := r.find(name)
	if m == nil {
		return def
	}
	v := &m.field.Value
	if v.Kind == rule.Bool || r.lax() && (v.Kind == rule.Number || v.Kind == rule.String) {
		switch strings.ToLower(v.Text) {
		case "true", "1":
			return true
		case "false", "0":
			return false
		}
	}
	r.fault(name, "true or false", "it is %s", aNode(v))
	return def
}

// number reads a number of at least low.
func (r *reader) number(name string, def, low float64) float64 {
	text, ok := r.numberText(name)
	if !ok {
		return def
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case math.IsInf(f, 0) || math.IsNaN(f):
		r.fault(name, "a finite number", "%s is not finite", text)
	case err != nil:
		r.fault(name, "a number", "%q is no number", text)
	case f < low:
		r.fault(name, fmt.Sprintf("%v or more", low), "%s is too small", text)
	default:
		return f
	}
	return def
}

// anInt is the range of an int of Java, and the ranges of Go's types follow.
var (
	anInt    = span{math.MinInt32, math.MaxInt32}
	aLong    = span{math.MinInt64, math.MaxInt64}
	aUint32  = span{0, math.MaxUint32}
	positive = span{1, math.MaxInt32}
)

// span is a range of whole numbers.
type span struct{ low, high int64 }

func (s span) from(low int64) span { return span{low, s.high} }

func (s span) String() string {
	if s.low == s.high {
		return strconv.FormatInt(s.low, 10)
	}
	return fmt.Sprintf("%d to %d", s.low, s.high)
}

// whole reads a whole number within a range. Java cuts fractions.
func (r *reader) whole(name string, def int64, within span) int64 {
	text, ok := r.numberText(name)
	if !ok {
		return def
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && r.lax() {
		n, err = r.cut(name, text)
	}
	switch {
	case err != nil:
		r.fault(name, "a whole number, "+within.String(), "%s is no whole number in range", text)
	case n < within.low || n > within.high:
		r.fault(name, within.String(), "%d is out of range", n)
	default:
		return n
	}
	return def
}

// cut makes a whole number of a fraction as Java does, and says so.
func (r *reader) cut(name, text string) (int64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, err
	}
	if !(math.Abs(f) < 1<<53) {
		return 0, strconv.ErrRange
	}
	if f != math.Trunc(f) {
		r.warn(name, "a whole number", "%s is cut to %v, as Sentinel Java does", text, math.Trunc(f))
	}
	return int64(f), nil
}

// numberText returns what stands for a number; false if it is missing, or if it cannot be one, which is reported.
func (r *reader) numberText(name string) (string, bool) {
	m := r.find(name)
	if m == nil {
		return "", false
	}
	v := &m.field.Value
	switch {
	case v.Kind == rule.Number:
		return v.Text, true
	case v.Kind == rule.String && r.lax() && !strings.ContainsAny(v.Text, "xXpP_"): // which strconv knows, and Java does not
		return strings.TrimSpace(v.Text), true
	}
	r.fault(name, "a number", "it is %s", aNode(v))
	return "", false
}

// choice is whole for a field on which the others depend: false if it is not one of those that are known.
func (r *reader) choice(name string, def int64, within span) (int64, bool) {
	before := len(r.e.Problems.Faults())
	n := r.whole(name, def, within)
	return n, len(r.e.Problems.Faults()) == before
}

// require reports a missing field that Sentinel would take for 0.
func (r *reader) require(name, otherwise string) {
	if !r.has(name) {
		r.fault(name, "", "it is missing; %s would take it for 0 and %s", r.e.Dialect.sentinel(), otherwise)
	}
}

// aNode names a value in messages.
func aNode(n *rule.Node) string {
	switch n.Kind {
	case rule.Null:
		return "null"
	case rule.Bool:
		return n.Text
	case rule.Number:
		return "the number " + n.Text
	case rule.String:
		return fmt.Sprintf("the text %.40q", n.Text)
	case rule.List:
		return "a list"
	default:
		return "an object"
	}
}

// identity reads what all rules have: resource and id. A system rule is for no resource.
func (r *reader) identity() {
	switch r.d.doc.Kind {
	case System:
	case API:
		r.name("apiName", "the API's name")
		r.e.match = rule.Name(r.e.Resource)
	default:
		r.name("resource", "the resource's name")
		r.match()
	}
	r.id()
}

// name reads what the rule is for.
func (r *reader) name(field, what string) {
	e := r.e
	e.Resource = r.text(field)
	m := r.find(field)
	if m == nil || m.field.Value.Kind == rule.String && (e.Resource == "" || r.lax() && isBlank(e.Resource)) {
		r.fault(field, what, "the %s is missing or blank", field)
	}
}

// id reads the rule's id.
func (r *reader) id() {
	e := r.e
	m := r.find("id")
	if m == nil {
		return
	}
	v := &m.field.Value
	unused := r.d.doc.Kind.nameless(e.Dialect) // then it is no reason to refuse the rule
	pinned := r.d.dialect != Auto || unused
	switch {
	case v.Kind == rule.Number && e.Dialect == CRD:
		e.ID = v.Text
		r.warn("id", "the id in quotes", "the id is a number, and Kubernetes takes a text; taken as text")
	case v.Kind == rule.Number && e.Dialect == Go:
		e.ID = v.Text
		r.judgeID(pinned, "a number, which fails the whole document in sentinel-golang", "the id in quotes")
	case v.Kind == rule.Number && isWhole(v.Text), v.Kind == rule.String && (e.Dialect != Java || isWhole(v.Text)):
		e.ID = v.Text
	case v.Kind == rule.String:
		e.ID = v.Text
		r.judgeID(pinned, "a text, which fails the whole document in Sentinel Java", "a whole number")
	case unused:
		r.warn("id", "a whole number", "the id is %s, and not used", aNode(v))
	default:
		r.fault("id", "a whole number (Sentinel Java) or a text (sentinel-golang)", "the id is %s", aNode(v))
	}
}

// judgeID reports an id of the other dialect's type: evidence that the keys mislead, unless the dialect was said.
func (r *reader) judgeID(pinned bool, is, want string) {
	if pinned {
		r.warn("id", want, "the id is %s; taken as text", is)
		return
	}
	r.fault("id", want+", or the dialect to be said: java or go", "the id is %s, while the keys are those of %s: the dialect cannot be told", is, r.e.Dialect.sentinel())
}

func isWhole(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil
}
