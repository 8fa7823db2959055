package sentinel

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/cordon-go/cordon/rule"
)

// object is a rule on its way into a document.
type object struct{ fields []objectField }

type objectField struct {
	rule.Field
	// standing says where the value comes from, which matters where a document had another one.
	standing standing
}

type standing uint8

const (
	// said is what the rule says.
	said standing = iota
	// implied is what the rule says, and what the dialect takes for a missing key too.
	implied
	// filler is what Sentinel's own writers put for what the rule does not say.
	filler
)

func (o *object) add(name string, value rule.Node, s standing) {
	o.fields = append(o.fields, objectField{rule.Field{Key: name, Value: value}, s})
}

// say adds a field of the rule.
func (o *object) say(name string, value rule.Node) { o.add(name, value, said) }

// sayOr is say for a field that may be missing if it has the dialect's default.
func (o *object) sayOr(name string, value, def rule.Node) {
	if value.Kind == def.Kind && value.Text == def.Text {
		o.add(name, value, implied)
	} else {
		o.say(name, value)
	}
}

// fill adds a field that the rule says nothing of.
func (o *object) fill(name string, value rule.Node) { o.add(name, value, filler) }

// says reports whether the rule itself has a say in the field.
func (o *object) says(name string) bool {
	f := o.field(name)
	return f != nil && f.standing != filler
}

func (o *object) field(name string) *objectField {
	for i := range o.fields {
		if o.fields[i].Key == name {
			return &o.fields[i]
		}
	}
	return nil
}

// merged is one object of several, in which each field is from the one that says most of it.
func merged(objects []object) object {
	if len(objects) == 1 {
		return objects[0]
	}
	var all object
	for _, o := range objects {
		for _, f := range o.fields {
			switch have := all.field(f.Key); {
			case have == nil:
				all.fields = append(all.fields, f)
			case f.standing < have.standing:
				*have = f
			}
		}
	}
	return all
}

// node is the object with every field.
func (o *object) node() *rule.Node {
	n := &rule.Node{Kind: rule.Object}
	for _, f := range o.fields {
		n.Fields = append(n.Fields, f.Field)
	}
	return n
}

// over is the element with what the rule says put in, and all else kept, spelt and ordered as it was.
func (o *object) over(e *Element) *rule.Node {
	var outer, inner []rule.Field
	written := make(map[string]bool)
	was := encodeElement(e)
	for _, m := range e.members {
		f := *m.field
		before := was.field(m.key.name)
		if said := o.field(m.key.name); said != nil && (said.standing != filler || was.says(m.key.name) && e.several()) {
			if written[m.key.name] {
				continue
			}
			nested := said.Value.Kind == rule.List || said.Value.Kind == rule.Object
			if before == nil || !nested || !sameNode(&said.Value, &before.Value) {
				f.Value = said.Value // but a list or an object that says the same keeps what of it was not understood
			}
		}
		written[m.key.name] = true
		if m.outer {
			outer = append(outer, f)
		} else {
			inner = append(inner, f)
		}
	}
	for _, f := range o.fields {
		if f.standing == said && !written[f.Key] {
			inner = append(inner, f.Field)
		}
	}
	n := &rule.Node{Kind: rule.Object, Fields: inner}
	if e.nested {
		n = &rule.Node{Kind: rule.Object, Fields: append(outer, rule.Field{Key: "rule", Value: *n})}
	}
	return n
}

// sameNode reports whether two values are written the same.
func sameNode(a, b *rule.Node) bool {
	var x, y bytes.Buffer
	writeNode(&x, a)
	writeNode(&y, b)
	return bytes.Equal(x.Bytes(), y.Bytes())
}

func textNode(s string) rule.Node { return rule.Node{Kind: rule.String, Text: s} }

func boolNode(b bool) rule.Node { return rule.Node{Kind: rule.Bool, Text: strconv.FormatBool(b)} }

func wholeNode(n int64) rule.Node {
	return rule.Node{Kind: rule.Number, Text: strconv.FormatInt(n, 10)}
}

func numberNode(f float64) rule.Node {
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e15) {
		format = 'e'
	}
	return rule.Node{Kind: rule.Number, Text: strconv.FormatFloat(f, format, -1, 64)}
}

// writeArray writes rules as an array, one a line.
func writeArray(rules []*rule.Node) []byte {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, n := range rules {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n  ")
		writeNode(&b, n)
	}
	if len(rules) > 0 {
		b.WriteByte('\n')
	}
	b.WriteString("]\n")
	return b.Bytes()
}

// writeNode writes a value in one line of strict JSON.
func writeNode(b *bytes.Buffer, n *rule.Node) {
	switch n.Kind {
	case rule.Null:
		b.WriteString("null")
	case rule.Bool:
		b.WriteString(n.Text)
	case rule.Number:
		if json.Valid([]byte(n.Text)) {
			b.WriteString(n.Text)
		} else {
			writeText(b, n.Text) // NaN and Infinity, which only Java's parser knows
		}
	case rule.String:
		writeText(b, n.Text)
	case rule.List:
		b.WriteByte('[')
		for i := range n.Items {
			separate(b, i)
			writeNode(b, &n.Items[i])
		}
		b.WriteByte(']')
	case rule.Object:
		b.WriteByte('{')
		for i := range n.Fields {
			separate(b, i)
			writeText(b, n.Fields[i].Key)
			b.WriteByte(':')
			writeNode(b, &n.Fields[i].Value)
		}
		b.WriteByte('}')
	}
}

func separate(b *bytes.Buffer, i int) {
	if i > 0 {
		b.WriteByte(',')
	}
}

// writeText writes a text without escaping < > &, which is for web pages.
func writeText(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	enc.Encode(s)           // a string cannot fail, nor can the buffer
	b.Truncate(b.Len() - 1) // the encoder ends with a line break
}
