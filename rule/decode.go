package rule

import (
	"fmt"
	"reflect"
	"strings"
)

// maxProblems is how many problems one Decode or DecodeList collects; a document with more is not of the kind at all, and the rest is only counted.
const maxProblems = 1000

// Decode fills the struct that into points to from an object node, strictly: an unknown or repeated key, a wrong type, a
// number out of the field's range, a duration without a unit are problems, each with its position, the path below
// base, and a suggestion (the nearest known key, the right form). Everything that can be filled is filled, and all problems are
// returned (up to a thousand, then how many more), by position; Source is left to the caller.
//
// Fields are named by the tag `rule:"name"`; fields without it are skipped. Known types: bool, string, ints, uints, floats,
// time.Duration ("250ms", "1m30s", not negative; 0 may be bare; "2d" is not known to Go and is refused with a hint), Match, slices, maps with string keys, structs,
// pointers to these (null is nil), and any type with UnmarshalText (an error of it becomes the problem's message; when the type also has
// Values() []string, they are suggested), and any type with UnmarshalScalar (see ScalarUnmarshaler). Anywhere else null is a problem: a field is left out, not emptied. Whole numbers may be written as
// 1e3 or 10.0, numbers in YAML as 0x1F or 0o17; 017 is refused as ambiguous.
//
// A nil node fills nothing. Decode panics if into is not a pointer to a struct of such fields.
func Decode(n *Node, into any, base string) Problems {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("rule: Decode into %T, want a pointer to a struct", into))
	}
	if n == nil {
		return nil
	}
	d := newDecoder()
	d.about.Index = -1
	d.base = base
	d.codec(v.Elem().Type())(d, n, v.Elem())
	return d.done()
}

// decoder fills values and collects problems. Types are looked into once.
type decoder struct {
	codecs map[reflect.Type]codec
	// about is what all problems found now have in common: kind, index, source.
	about Problem
	base  string
	// path are the keys and indices from base to the current value.
	path     []step
	problems Problems
	// faults counts all problems, those beyond maxProblems too.
	faults int
	// textFailed tells that a type with UnmarshalText refused its text.
	textFailed bool
}

// codec fills a value of its type from a node.
type codec func(d *decoder, n *Node, v reflect.Value)

// step is one step of a path: an index, or a key when index is -1.
type step struct {
	key   string
	index int
}

func newDecoder() *decoder { return &decoder{codecs: make(map[reflect.Type]codec)} }

// where returns the current path.
func (d *decoder) where() string {
	var b strings.Builder
	b.WriteString(d.base)
	for _, s := range d.path {
		switch {
		case s.index >= 0:
			fmt.Fprintf(&b, "[%d]", s.index)
		case b.Len() > 0:
			b.WriteByte('.')
			fallthrough
		default:
			b.WriteString(s.key)
		}
	}
	return b.String()
}

// fault adds a problem with the current value.
func (d *decoder) fault(at Position, want, format string, args ...any) {
	if d.faults++; d.faults > maxProblems {
		return
	}
	p := d.about
	p.Position, p.Field, p.Message, p.Want = at, d.where(), fmt.Sprintf(format, args...), want
	d.problems = append(d.problems, p)
}

// wrong adds the problem that a node is of another kind than the field.
func (d *decoder) wrong(n *Node, want string) {
	switch n.Kind {
	case Null:
		if len(d.path) > 0 && d.path[len(d.path)-1].index < 0 {
			want += ", or no such field"
		}
		d.fault(n.Pos, want, "has no value")
	case String:
		d.fault(n.Pos, want, "%s is a text", shown(n.Text))
	case Bool, Number:
		d.fault(n.Pos, want, "%s is %s", n.Text, n.Kind)
	default:
		d.fault(n.Pos, want, "is %s", n.Kind)
	}
}

// done returns the problems, by position.
func (d *decoder) done() Problems {
	d.problems.Sort()
	if more := d.faults - maxProblems; more > 0 {
		p := d.about
		p.Index, p.RuleID, p.Resource = -1, "", Match{}
		p.Message = fmt.Sprintf("%s more, which are not listed", count(more, "fault"))
		d.problems = append(d.problems, p)
	}
	return d.problems
}

// in decodes an inner value one step further down the path.
func (d *decoder) in(s step, c codec, n *Node, v reflect.Value) {
	d.path = append(d.path, s)
	c(d, n, v)
	d.path = d.path[:len(d.path)-1]
}

// structPlan is what the decoder needs to know of a struct.
type structPlan struct {
	names  []string
	fields []fieldPlan
}

type fieldPlan struct {
	index int
	codec codec
}

// structCodec returns the codec of a struct. It must be remembered before the fields are looked into, as a struct may hold itself.
func (d *decoder) structCodec(t reflect.Type) codec {
	plan := new(structPlan)
	c := func(d *decoder, n *Node, v reflect.Value) { d.object(n, v, plan) }
	d.codecs[t] = c
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("rule")
		if name == "" {
			continue
		}
		if !f.IsExported() {
			panic(fmt.Sprintf("rule: field %s of %s has a rule tag but is not exported", f.Name, t))
		}
		plan.names = append(plan.names, name)
		plan.fields = append(plan.fields, fieldPlan{i, d.codec(f.Type)})
	}
	return c
}

// object fills a struct.
func (d *decoder) object(n *Node, v reflect.Value, plan *structPlan) {
	if n.Kind != Object {
		d.wrong(n, "an object")
		return
	}
	repeated(n.Fields, func(again *Field, first Position) bool {
		d.fault(again.Pos, "each key once", "field %s is given twice, first at %s", shown(again.Key), first)
		return d.faults <= maxProblems
	})
	guess := 0 // documents tend to keep to the struct's order
	for i := range n.Fields {
		f := &n.Fields[i]
		at := plan.find(f.Key, guess)
		if at < 0 {
			message, want := unknownField(f.Key, plan.names)
			d.fault(f.Pos, want, "%s", message)
			continue
		}
		guess = at + 1
		d.in(step{f.Key, -1}, plan.fields[at].codec, &f.Value, v.Field(plan.fields[at].index))
	}
}

// find returns the place of a field by name, -1 if there is none; it looks at guess first.
func (p *structPlan) find(name string, guess int) int {
	if guess < len(p.names) && p.names[guess] == name {
		return guess
	}
	for i, n := range p.names {
		if n == name {
			return i
		}
	}
	return -1
}
