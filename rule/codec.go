package rule

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// enum is a type whose texts are known.
type enum interface{ Values() []string }

// A ScalarUnmarshaler is a type that a document may write as text, number, true or false alike. A number's text is as written, but decimal if it was in another base.
type ScalarUnmarshaler interface {
	// UnmarshalScalar reads a scalar of that kind.
	UnmarshalScalar(kind NodeKind, text string) error
}

// isScalar reports whether documents may write the type as any scalar.
func isScalar(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[ScalarUnmarshaler]())
}

// codec returns the codec of a type, made if it is new. It panics on a type that documents cannot hold.
func (d *decoder) codec(t reflect.Type) codec {
	if c, ok := d.codecs[t]; ok {
		return c
	}
	c := d.newCodec(t)
	d.codecs[t] = c
	return c
}

func (d *decoder) newCodec(t reflect.Type) codec {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return decodeDuration
	case t == reflect.TypeFor[Match]():
		return decodeMatch
	case isScalar(t):
		return decodeScalar
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return decodeText
	}
	switch t.Kind() {
	case reflect.Bool:
		return decodeBool
	case reflect.String:
		return decodeString
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return decodeInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return decodeUint
	case reflect.Float32, reflect.Float64:
		return decodeFloat
	case reflect.Struct:
		return d.structCodec(t)
	case reflect.Slice:
		return sliceCodec(d, t)
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return mapCodec(d, t)
		}
	case reflect.Pointer:
		return pointerCodec(d, t)
	}
	panic(fmt.Sprintf("rule: a document cannot hold a %s", t))
}

func decodeBool(d *decoder, n *Node, v reflect.Value) {
	if n.Kind != Bool {
		d.wrong(n, "true or false")
		return
	}
	v.SetBool(n.Text == "true")
}

func decodeString(d *decoder, n *Node, v reflect.Value) {
	switch n.Kind {
	case String:
		v.SetString(n.Text)
	case Number, Bool:
		d.wrong(n, fmt.Sprintf("a text, in quotes: %q", n.Text))
	default:
		d.wrong(n, "a text")
	}
}

func decodeText(d *decoder, n *Node, v reflect.Value) {
	if n.Kind == String {
		// Into a fresh value, so that a failed attempt leaves nothing behind.
		fresh := reflect.New(v.Type())
		err := fresh.Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(n.Text))
		if err == nil {
			v.Set(fresh.Elem())
			return
		}
		d.textFailed = true
		d.unknownText(n, v, err)
		return
	}
	d.textFailed = true
	if known, ok := v.Addr().Interface().(enum); ok {
		d.wrong(n, oneOf(known.Values()))
		return
	}
	d.wrong(n, "a text")
}

func decodeScalar(d *decoder, n *Node, v reflect.Value) {
	text := n.Text
	switch n.Kind {
	case String, Bool:
	case Number:
		size, based, why := basedNumber(text)
		if based {
			text = strconv.FormatUint(size, 10)
		} else if why == "" {
			_, why = number(text, 64)
		}
		if why != "" {
			d.fault(n.Pos, "a finite number, or a text in quotes", "%s %s", n.Text, why)
			return
		}
	default:
		d.wrong(n, "a text, a number, true or false")
		return
	}
	fresh := reflect.New(v.Type())
	if err := fresh.Interface().(ScalarUnmarshaler).UnmarshalScalar(n.Kind, text); err != nil {
		d.fault(n.Pos, "", "%s", err)
		return
	}
	v.Set(fresh.Elem())
}

// unknownText adds the problem of a text that its type refused: with suggestions if the type knows all texts, else with its error.
func (d *decoder) unknownText(n *Node, v reflect.Value, err error) {
	known, ok := v.Addr().Interface().(enum)
	if !ok || slices.Contains(known.Values(), n.Text) {
		d.fault(n.Pos, "", "%s", err)
		return
	}
	message := "unknown value " + shown(n.Text)
	if near := nearest(n.Text, known.Values()); near != "" {
		message += fmt.Sprintf("; did you mean %q?", near)
	}
	d.fault(n.Pos, oneOf(known.Values()), "%s", message)
}

// matchDocument is a Match that is not just a name.
type matchDocument struct {
	Wildcard *string `rule:"wildcard"`
	Regex    *string `rule:"regex"`
	Default  *bool   `rule:"default"`
}

const wantMatch = "a name in quotes, {wildcard: ...}, {regex: ...} or {default: true}"

func decodeMatch(d *decoder, n *Node, v reflect.Value) {
	m := v.Addr().Interface().(*Match)
	switch n.Kind {
	case String:
		*m = Name(n.Text)
		return
	case Object:
	default:
		d.wrong(n, wantMatch)
		return
	}
	var doc matchDocument
	before := d.faults
	d.codec(reflect.TypeFor[matchDocument]())(d, n, reflect.ValueOf(&doc).Elem())
	if d.faults > before {
		return
	}
	if len(n.Fields) != 1 {
		d.fault(n.Pos, wantMatch, "has %s", count(len(n.Fields), "member"))
		return
	}
	switch {
	case doc.Wildcard != nil:
		*m = Wildcard(*doc.Wildcard)
	case doc.Regex != nil:
		*m = Regex(*doc.Regex)
	case doc.Default != nil && *doc.Default:
		*m = Default()
	default:
		d.fault(n.Pos, wantMatch, "matches nothing")
	}
}

func sliceCodec(d *decoder, t reflect.Type) codec {
	item := d.lazy(t.Elem())
	return func(d *decoder, n *Node, v reflect.Value) {
		if n.Kind != List {
			d.wrong(n, "a list")
			return
		}
		list := reflect.MakeSlice(t, len(n.Items), len(n.Items))
		for i := range n.Items {
			d.in(step{index: i}, item(), &n.Items[i], list.Index(i))
		}
		v.Set(list)
	}
}

func mapCodec(d *decoder, t reflect.Type) codec {
	item := d.lazy(t.Elem())
	return func(d *decoder, n *Node, v reflect.Value) {
		if n.Kind != Object {
			d.wrong(n, "an object")
			return
		}
		repeated(n.Fields, func(again *Field, first Position) bool {
			d.fault(again.Pos, "each key once", "key %s is given twice, first at %s", shown(again.Key), first)
			return d.faults <= maxProblems
		})
		m := reflect.MakeMapWithSize(t, len(n.Fields))
		for i := range n.Fields {
			f := &n.Fields[i]
			value := reflect.New(t.Elem()).Elem()
			d.in(step{f.Key, -1}, item(), &f.Value, value)
			m.SetMapIndex(reflect.ValueOf(f.Key).Convert(t.Key()), value)
		}
		v.Set(m)
	}
}

func pointerCodec(d *decoder, t reflect.Type) codec {
	item := d.lazy(t.Elem())
	return func(d *decoder, n *Node, v reflect.Value) {
		if n.Kind == Null {
			v.SetZero()
			return
		}
		value := reflect.New(t.Elem())
		item()(d, n, value.Elem())
		v.Set(value)
	}
}

// lazy returns the codec of a type when it is called. A type may hold itself through a slice, a map or a pointer, so it cannot
// be looked up before all around it is known; yet a type that documents cannot hold must be found at once.
func (d *decoder) lazy(t reflect.Type) func() codec {
	if t.Kind() != reflect.Struct {
		c := d.codec(t)
		return func() codec { return c }
	}
	return func() codec { return d.codec(t) }
}
