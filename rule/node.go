package rule

import (
	"strconv"
	"strings"
)

// NodeKind is the kind of a parsed value.
type NodeKind uint8

const (
	// Null is null, ~ or nothing.
	Null NodeKind = iota
	// Bool is true or false.
	Bool
	// Number is a number, its text kept as written.
	Number
	// String is a text.
	String
	// List is an array or a sequence.
	List
	// Object is an object or a mapping.
	Object
)

// String returns the kind in words, with its article: "a number".
func (k NodeKind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "a boolean"
	case Number:
		return "a number"
	case String:
		return "a text"
	case List:
		return "a list"
	case Object:
		return "an object"
	}
	return "NodeKind(" + strconv.Itoa(int(k)) + ")"
}

// A Node is a value of a parsed document, JSON or YAML, with its position. Values that YAML aliases repeat share
// their Items and Fields: treat a parsed Node as immutable.
type Node struct {
	// Kind says which of the fields below are in use: Text of Bool, Number and String, Items of List, Fields of Object.
	Kind NodeKind
	// Pos is where the value begins, in YAML with its anchor or tag; for a value that an alias repeats, where the alias stands.
	Pos Position
	// Text is a string's content, a number as written, or "true"/"false".
	Text string
	// Items are a list's elements.
	Items []Node
	// Fields are an object's members in written order.
	Fields []Field
}

// A Field is one member of an object.
type Field struct {
	// Key is the member's name, without quotes.
	Key string
	// Pos is where the key begins.
	Pos Position
	// Value is the member's value.
	Value Node
}

// Field returns the object's last member of that name (exactly), or nil. A nil Node has none.
func (n *Node) Field(key string) *Node {
	if n == nil {
		return nil
	}
	for i := len(n.Fields) - 1; i >= 0; i-- {
		if n.Fields[i].Key == key {
			return &n.Fields[i].Value
		}
	}
	return nil
}

// Locate returns the position of the value at a path as problems carry it ("flow[2].memory.lowMark"), or of the innermost
// value on the way to it that is written; unknown for a nil Node.
func (n *Node) Locate(path string) Position {
	if n == nil {
		return Position{}
	}
	for path != "" {
		key, rest, index := cutPath(path)
		next := n.Field(key)
		if index >= 0 {
			next = nil
			if index < len(n.Items) {
				next = &n.Items[index]
			}
		}
		if next == nil {
			break
		}
		n, path = next, rest
	}
	return n.Pos
}

// cutPath cuts the first step off a path: a key (index -1) or an index.
func cutPath(path string) (key, rest string, index int) {
	if path[0] == '[' {
		digits, rest, _ := strings.Cut(path[1:], "]")
		if i, err := strconv.Atoi(digits); err == nil && i >= 0 {
			return "", strings.TrimPrefix(rest, "."), i
		}
	}
	end := strings.IndexAny(path[1:], ".[") + 1
	if end == 0 {
		return path, "", -1
	}
	return path[:end], strings.TrimPrefix(path[end:], "."), -1
}
