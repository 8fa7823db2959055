package rule

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Encode makes a Node of a struct with `rule` tags (or of any other value that Decode knows) such that Decode makes the same struct of it: zero fields are left out, durations
// are texts ("250ms", "1h30m"), a Match has its document form, types with MarshalText are their text, and maps are sorted by key. What
// no document can hold is an error that names the field: NaN, infinities, negative durations, texts that are not UTF-8.
// It panics on types that Decode does not know.
func Encode(v any) (*Node, error) {
	n := new(Node)
	if err := encode(reflect.ValueOf(v), n); err != nil {
		return nil, fmt.Errorf("rule: cannot encode: %w", err)
	}
	return n, nil
}

func encode(v reflect.Value, n *Node) error {
	if !v.IsValid() {
		n.Kind = Null
		return nil
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		return encodeDuration(x, n)
	case Match:
		return encodeMatch(x, n)
	}
	if m := marshaler(v); m != nil {
		return encodeMarshaler(m, n)
	}
	switch v.Kind() {
	case reflect.Bool:
		n.Kind, n.Text = Bool, strconv.FormatBool(v.Bool())
	case reflect.String:
		return encodeText(v.String(), n)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		n.Kind, n.Text = Number, strconv.FormatInt(v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n.Kind, n.Text = Number, strconv.FormatUint(v.Uint(), 10)
	case reflect.Float32, reflect.Float64:
		return encodeFloat(v, n)
	case reflect.Struct:
		return encodeStruct(v, n)
	case reflect.Slice:
		return encodeSlice(v, n)
	case reflect.Map:
		return encodeMap(v, n)
	case reflect.Pointer:
		if v.IsNil() {
			n.Kind = Null
			return nil
		}
		return encode(v.Elem(), n)
	default:
		panic(fmt.Sprintf("rule: a document cannot hold a %s", v.Type()))
	}
	return nil
}

func encodeText(s string, n *Node) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("text %q is not valid UTF-8", s)
	}
	n.Kind, n.Text = String, s
	return nil
}

// marshaler returns what writes the value as text, nil if nothing does. The method may belong to the pointer.
func marshaler(v reflect.Value) encoding.TextMarshaler {
	if v.Kind() == reflect.Pointer {
		return nil // what it points to is asked again
	}
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		return m
	}
	if !reflect.PointerTo(v.Type()).Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return nil
	}
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return p.Interface().(encoding.TextMarshaler)
}

func encodeMarshaler(m encoding.TextMarshaler, n *Node) error {
	text, err := m.MarshalText()
	if err != nil {
		return err
	}
	return encodeText(string(text), n)
}

// DurationText writes a duration as people write it in documents: without the zeros that Duration.String ends with, 1h and not 1h0m0s.
func DurationText(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func encodeDuration(length time.Duration, n *Node) error {
	if length < 0 {
		return fmt.Errorf("duration %s is negative", length)
	}
	n.Kind, n.Text = String, DurationText(length)
	return nil
}

func encodeMatch(m Match, n *Node) error {
	if m.kind == ByName {
		return encodeText(m.pattern, n)
	}
	var value Node
	if m.kind == ByDefault {
		value = Node{Kind: Bool, Text: "true"}
	} else if err := encodeText(m.pattern, &value); err != nil {
		return err
	}
	n.Kind, n.Fields = Object, []Field{{Key: m.kind.String(), Value: value}}
	return nil
}

func encodeFloat(v reflect.Value, n *Node) error {
	f := v.Float()
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("%v is not a finite number", f)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e15) {
		format = 'e'
	}
	n.Kind, n.Text = Number, strconv.FormatFloat(f, format, -1, v.Type().Bits())
	return nil
}

func encodeStruct(v reflect.Value, n *Node) error {
	n.Kind = Object
	t := v.Type()
	for i := range t.NumField() {
		name := t.Field(i).Tag.Get("rule")
		if name == "" || v.Field(i).IsZero() {
			continue
		}
		f := Field{Key: name}
		if err := encode(v.Field(i), &f.Value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		n.Fields = append(n.Fields, f)
	}
	return nil
}

func encodeSlice(v reflect.Value, n *Node) error {
	n.Kind = List
	n.Items = make([]Node, v.Len())
	for i := range n.Items {
		if err := encode(v.Index(i), &n.Items[i]); err != nil {
			return fmt.Errorf("[%d]: %w", i, err)
		}
	}
	return nil
}

func encodeMap(v reflect.Value, n *Node) error {
	n.Kind = Object
	if v.Type().Key().Kind() != reflect.String {
		panic(fmt.Sprintf("rule: a document cannot hold a %s", v.Type()))
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		f := Field{Key: key.String()}
		if !utf8.ValidString(f.Key) {
			return fmt.Errorf("key %q is not valid UTF-8", f.Key)
		}
		if err := encode(v.MapIndex(key), &f.Value); err != nil {
			return fmt.Errorf("%s: %w", f.Key, err)
		}
		n.Fields = append(n.Fields, f)
	}
	return nil
}
