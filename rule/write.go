package rule

import (
	"bytes"
	"strconv"
	"strings"
)

// JSON returns the value as an indented JSON document that ParseJSON reads back. Numbers that only YAML knows become JSON's; those that JSON cannot
// hold (.inf, NaN) become texts. Members of the same name stay.
func (n *Node) JSON() []byte {
	return append(n.appendJSON(nil, 0), '\n')
}

func (n *Node) appendJSON(b []byte, depth int) []byte {
	switch n.Kind {
	case Bool:
		return append(b, n.Text...)
	case Number:
		return appendJSONNumber(b, n.Text)
	case String:
		return appendQuoted(b, n.Text)
	case List:
		b = append(b, '[')
		for i := range n.Items {
			b = appendBreak(b, i, depth+1)
			b = n.Items[i].appendJSON(b, depth+1)
		}
		return appendEnd(b, ']', len(n.Items), depth)
	case Object:
		b = append(b, '{')
		for i := range n.Fields {
			b = appendBreak(b, i, depth+1)
			b = append(appendQuoted(b, n.Fields[i].Key), ": "...)
			b = n.Fields[i].Value.appendJSON(b, depth+1)
		}
		return appendEnd(b, '}', len(n.Fields), depth)
	}
	return append(b, "null"...)
}

// appendBreak begins the line of an element, after a comma if it is not the first.
func appendBreak(b []byte, index, depth int) []byte {
	if index > 0 {
		b = append(b, ',')
	}
	return appendIndent(append(b, '\n'), depth)
}

// appendEnd closes a list or object, on a line of its own unless it is empty.
func appendEnd(b []byte, end byte, elements, depth int) []byte {
	if elements > 0 {
		b = appendIndent(append(b, '\n'), depth)
	}
	return append(b, end)
}

func appendIndent(b []byte, depth int) []byte {
	for range depth {
		b = append(b, "  "...)
	}
	return b
}

// appendJSONNumber writes a number as JSON does; as a text if JSON cannot.
func appendJSONNumber(b []byte, text string) []byte {
	if size, based, why := basedNumber(text); based && why == "" {
		return strconv.AppendUint(b, size, 10)
	}
	rest := strings.TrimPrefix(text, "+")
	if rest == text {
		var negative bool
		if rest, negative = strings.CutPrefix(text, "-"); negative {
			b = append(b, '-')
		}
	}
	exponent := ""
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		rest, exponent = rest[:i], rest[i:]
	}
	whole, fraction, _ := strings.Cut(rest, ".")
	if strings.Trim(whole+fraction, "0123456789") != "" || whole+fraction == "" {
		return appendQuoted(bytes.TrimSuffix(b, []byte("-")), text) // infinite, or no number
	}
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	b = append(b, whole...)
	if fraction != "" {
		b = append(append(b, '.'), fraction...)
	}
	return append(b, exponent...)
}

// YAML returns the value as a YAML document in block style that ParseYAML reads back.
func (n *Node) YAML() []byte {
	switch {
	case n.Kind == Object && n.inBlock():
		return n.appendFields(nil, 0)
	case n.Kind == List && n.inBlock():
		return n.appendItems(nil, 0)
	}
	return append(n.appendFlow(nil), '\n')
}

// inBlock reports whether a value is written over several lines: a list, or an object of more than one scalar.
func (n *Node) inBlock() bool {
	switch n.Kind {
	case List:
		return len(n.Items) > 0
	case Object:
		if len(n.Fields) == 1 {
			inner := n.Fields[0].Value
			return len(inner.Items)+len(inner.Fields) > 0
		}
		return len(n.Fields) > 0
	}
	return false
}

// maxKey is how long a key may be, in bytes, if nothing but the colon behind it marks it as one; readers of YAML look no further.
const maxKey = 1000

// appendFields writes an object's members, each on lines of its own; the first line's indent is there already.
func (n *Node) appendFields(b []byte, depth int) []byte {
	for i := range n.Fields {
		if i > 0 {
			b = appendIndent(b, depth)
		}
		f := &n.Fields[i]
		key := yamlScalar(f.Key)
		if len(key) > maxKey {
			b = appendIndent(append(append(append(b, "? "...), key...), '\n'), depth)
			key = ""
		}
		b = append(append(b, key...), ':')
		switch {
		case !f.Value.inBlock():
			b = append(f.Value.appendFlow(append(b, ' ')), '\n')
		case f.Value.Kind == List:
			b = f.Value.appendItems(appendIndent(append(b, '\n'), depth+1), depth+1)
		default:
			b = f.Value.appendFields(appendIndent(append(b, '\n'), depth+1), depth+1)
		}
	}
	return b
}

// appendItems writes a list's elements, each on lines of its own; the first line's indent is there already.
func (n *Node) appendItems(b []byte, depth int) []byte {
	for i := range n.Items {
		if i > 0 {
			b = appendIndent(b, depth)
		}
		item := &n.Items[i]
		switch {
		case !item.inBlock():
			b = append(item.appendFlow(append(b, "- "...)), '\n')
		case item.Kind == List:
			b = item.appendItems(appendIndent(append(b, "-\n"...), depth+1), depth+1)
		default:
			b = item.appendFields(append(b, "- "...), depth+1)
		}
	}
	return b
}

// appendFlow writes a value on one line.
func (n *Node) appendFlow(b []byte) []byte {
	switch n.Kind {
	case Bool:
		return append(b, n.Text...)
	case Number:
		return append(b, yamlNumberText(n.Text)...)
	case String:
		return append(b, yamlScalar(n.Text)...)
	case List:
		b = append(b, '[')
		for i := range n.Items {
			b = n.Items[i].appendFlow(appendComma(b, i))
		}
		return append(b, ']')
	case Object:
		b = append(b, '{')
		for i := range n.Fields {
			b = appendComma(b, i)
			key := yamlScalar(n.Fields[i].Key)
			if len(key) > maxKey {
				b = append(b, "? "...)
			}
			b = n.Fields[i].Value.appendFlow(append(append(b, key...), ": "...))
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

func appendComma(b []byte, index int) []byte {
	if index > 0 {
		b = append(b, ", "...)
	}
	return b
}

// yamlNumberText is a number as YAML writes it: Java's words become YAML's.
func yamlNumberText(text string) string {
	switch text {
	case "NaN":
		return ".nan"
	case "Infinity":
		return ".inf"
	case "-Infinity":
		return "-.inf"
	}
	return text
}
