package rule

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	// maxYAML is the size of the largest YAML document, in bytes. The parser needs up to two hundred times as much memory, and a
	// document of 50,000 rules is smaller; JSON has no such hunger.
	maxYAML = 8 << 20
	// maxAliased is how many values a document may repeat by aliases, each counted with all that is in it.
	maxAliased = 1_000_000
	// maxBlockKeys is how many keys a mapping in block style may have: the parser's work grows with their square, and its stack with them.
	maxBlockKeys = 2000
)

// ParseYAML parses one YAML 1.2 document of at most 8 MiB, keeping positions; merge keys work. Anchors and aliases are
// bounded: together aliases may repeat a million values. Keys must be scalars, and each may be given once. Tags other than the
// standard ones for texts, numbers, booleans, null, lists and mappings are refused. The error is a Problem with position.
func ParseYAML(data []byte) (n *Node, err error) {
	s, err := document(data, maxYAML)
	if err != nil {
		return nil, err
	}
	if err := printable(s); err != nil {
		return nil, err
	}
	// A fault of the parser must not take the process with it: rules come from outside.
	defer func() {
		if fault := recover(); fault != nil {
			n, err = nil, Problem{Index: -1, Message: fmt.Sprintf("the YAML parser cannot read the document: %v", fault)}
		}
	}()
	tokens := lexer.Tokenize(s)
	if err := bounded(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, yamlError(err)
	}
	return wholeYAML(file)
}

// printable refuses what YAML does not allow in a document: bytes that are no UTF-8, and control characters.
func printable(s string) error {
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				return Problem{Index: -1, Position: positionAt(s, i), Message: fmt.Sprintf("byte 0x%02X is not valid UTF-8", c), Want: "UTF-8"}
			}
			i += size
			continue
		}
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7F {
			return Problem{Index: -1, Position: positionAt(s, i), Message: fmt.Sprintf("control character %q", c), Want: `it escaped in double quotes, as "\x00"`}
		}
		i++
	}
	return nil
}

// yamlError makes a Problem of the parser's error.
func yamlError(err error) error {
	p := Problem{Index: -1, Message: "the document is not valid YAML: " + err.Error()}
	var at interface {
		GetMessage() string
		GetToken() *token.Token
	}
	if errors.As(err, &at) {
		p.Message = "the document is not valid YAML: " + at.GetMessage()
		p.Position = tokenPosition(at.GetToken())
	}
	return p
}

func tokenPosition(tk *token.Token) Position {
	if tk == nil || tk.Position == nil {
		return Position{}
	}
	return Position{tk.Position.Line, tk.Position.Column}
}

// bounded refuses, before the parser sees them, tokens on which its recursion or its work would not be bounded: deep nesting, long
// mappings in block style, anchors and tags in a row.
func bounded(tokens token.Tokens) error {
	var (
		blocks     []block // the open block mappings and sequences, by column
		flow       int     // how many [ and { are open
		properties int     // anchors and tags in a row
	)
	for i, tk := range tokens {
		entry := false
		switch tk.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow = max(flow-1, 0)
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType:
			entry = flow == 0
		case token.AnchorType, token.TagType:
			if properties++; properties > 2 {
				return Problem{Index: -1, Position: tokenPosition(tk), Message: "a value has more than one anchor and one tag"}
			}
			continue
		}
		if i == 0 || tokens[i-1].Type != token.AnchorType { // what follows & is its name
			properties = 0
		}
		if entry {
			at := tk
			if tk.Type == token.MappingValueType && i > 0 && tokens[i-1].Position.Line == tk.Position.Line {
				at = tokens[i-1]
			}
			var err error
			if blocks, err = enter(blocks, at); err != nil {
				return err
			}
		}
		if flow+len(blocks) > maxDepth {
			return tooDeep(tokenPosition(tk))
		}
	}
	return nil
}

// block is an open block mapping or sequence: its column, and how many entries it has so far.
type block struct{ column, entries int }

// enter counts an entry that begins at a token: in the innermost block of that column, or in a new one.
func enter(blocks []block, at *token.Token) ([]block, error) {
	column := at.Position.Column
	for len(blocks) > 0 && blocks[len(blocks)-1].column > column {
		blocks = blocks[:len(blocks)-1]
	}
	if len(blocks) == 0 || blocks[len(blocks)-1].column < column {
		blocks = append(blocks, block{column: column})
	}
	if at.Type == token.SequenceEntryType {
		return blocks, nil // sequences are read in a loop
	}
	b := &blocks[len(blocks)-1]
	if b.entries++; b.entries > maxBlockKeys {
		return nil, Problem{
			Index: -1, Position: tokenPosition(at), Message: fmt.Sprintf("a mapping has more than %d keys", maxBlockKeys),
			Want: "a list, or the document in JSON",
		}
	}
	return blocks, nil
}

// wholeYAML reads a file's one document.
func wholeYAML(file *ast.File) (*Node, error) {
	y := &yamlReader{anchors: make(map[string]tree)}
	var n *Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if _, ok := doc.Body.(*ast.DirectiveNode); ok {
			continue
		}
		if _, ok := doc.Body.(*ast.CommentGroupNode); ok {
			continue
		}
		if n != nil {
			return nil, Problem{Index: -1, Position: tokenPosition(doc.Body.GetToken()), Message: "a second document begins", Want: "one document in a file"}
		}
		t, err := y.read(doc.Body, 1)
		if err != nil {
			return nil, err
		}
		n = &t.Node
	}
	if n == nil {
		return nil, empty(Position{1, 1})
	}
	return n, nil
}

// yamlReader makes Nodes of the parser's tree.
type yamlReader struct {
	anchors map[string]tree
	// aliased counts the values that aliases have repeated.
	aliased int
}

// tree is a value with what the bounds need to know of it.
type tree struct {
	Node
	// size counts the value and all that is in it; height is how deep it is nested.
	size, height int
}

// scalar makes a tree of one value.
func scalar(kind NodeKind, text string, tk *token.Token) tree {
	return tree{Node: Node{Kind: kind, Text: text, Pos: tokenPosition(tk)}, size: 1}
}

// read reads a value that is nested at a depth, 1 for the outermost.
func (y *yamlReader) read(n ast.Node, depth int) (tree, error) {
	switch n := n.(type) {
	case nil:
		return tree{size: 1}, nil
	case *ast.MappingNode:
		return y.mapping(n.Values, n.Start, depth)
	case *ast.MappingValueNode:
		return y.mapping([]*ast.MappingValueNode{n}, n.Start, depth)
	case *ast.SequenceNode:
		return y.sequence(n, depth)
	case *ast.AnchorNode:
		return y.anchor(n, depth)
	case *ast.AliasNode:
		return y.alias(n, depth)
	case *ast.TagNode:
		return y.tagged(n, depth)
	case *ast.LiteralNode:
		return scalar(String, n.Value.Value, n.Start), nil
	case *ast.MappingKeyNode:
		return y.read(n.Value, depth)
	case *ast.NullNode:
		return scalar(Null, "", n.Token), nil
	}
	tk := n.GetToken()
	if _, ok := n.(ast.ScalarNode); !ok || tk == nil {
		return tree{}, Problem{Index: -1, Position: tokenPosition(tk), Message: "unexpected " + n.Type().String(), Want: "a value"}
	}
	if quoted(tk) {
		return scalar(String, tk.Value, tk), nil
	}
	kind, text := plain(tk.Value)
	return scalar(kind, text, tk), nil
}

func quoted(tk *token.Token) bool {
	return tk.Type == token.SingleQuoteType || tk.Type == token.DoubleQuoteType
}

// sequence reads a list.
func (y *yamlReader) sequence(n *ast.SequenceNode, depth int) (tree, error) {
	list := scalar(List, "", n.Start)
	list.height = 1
	if depth > maxDepth {
		return tree{}, tooDeep(list.Pos)
	}
	list.Items = make([]Node, 0, len(n.Values))
	for _, value := range n.Values {
		item, err := y.read(value, depth+1)
		if err != nil {
			return tree{}, err
		}
		list.Items = append(list.Items, item.Node)
		list.hold(item)
	}
	return list, nil
}

// hold counts a value inside another.
func (t *tree) hold(inner tree) {
	t.size += inner.size
	t.height = max(t.height, inner.height+1)
}

// mapping reads an object.
func (y *yamlReader) mapping(values []*ast.MappingValueNode, start *token.Token, depth int) (tree, error) {
	object := scalar(Object, "", start)
	object.height = 1
	if len(values) > 0 && (start == nil || start.Type != token.MappingStartType) {
		object.Pos = tokenPosition(keyToken(values[0].Key))
	}
	if depth > maxDepth {
		return tree{}, tooDeep(object.Pos)
	}
	object.Fields = make([]Field, 0, len(values))
	var merge *ast.MappingValueNode
	for _, v := range values {
		if _, ok := v.Key.(*ast.MergeKeyNode); ok {
			if merge != nil {
				return tree{}, twice(&Field{Key: "<<", Pos: tokenPosition(v.Key.GetToken())}, tokenPosition(merge.Key.GetToken()))
			}
			merge = v
			continue
		}
		f, err := y.field(v, depth, &object)
		if err != nil {
			return tree{}, err
		}
		object.Fields = append(object.Fields, f)
	}
	if err := duplicates(object.Fields); err != nil {
		return tree{}, err
	}
	if merge == nil {
		return object, nil
	}
	return object, y.merge(&object, merge, depth)
}

// keyToken returns the token a key begins with.
func keyToken(key ast.MapKeyNode) *token.Token {
	if explicit, ok := key.(*ast.MappingKeyNode); ok && explicit.Value != nil {
		return explicit.Value.GetToken()
	}
	return key.GetToken()
}

// field reads one member of an object.
func (y *yamlReader) field(v *ast.MappingValueNode, depth int, object *tree) (Field, error) {
	key, err := y.read(v.Key, depth+1)
	if err != nil {
		return Field{}, err
	}
	at := tokenPosition(keyToken(v.Key))
	switch key.Kind {
	case Null, List, Object:
		return Field{}, Problem{Index: -1, Position: at, Message: "a key is " + key.Kind.String(), Want: "a text"}
	}
	value, err := y.read(v.Value, depth+1)
	if err != nil {
		return Field{}, err
	}
	object.hold(value)
	return Field{Key: key.Text, Pos: at, Value: value.Node}, nil
}

// merge adds the members that a merge key brings and the object itself does not have.
func (y *yamlReader) merge(object *tree, from *ast.MappingValueNode, depth int) error {
	source, err := y.read(from.Value, depth+1)
	if err != nil {
		return err
	}
	sources := []Node{source.Node}
	if source.Kind == List {
		sources = source.Items
	}
	has := make(map[string]bool, len(object.Fields))
	for _, f := range object.Fields {
		has[f.Key] = true
	}
	for _, s := range sources {
		if s.Kind != Object {
			return Problem{
				Index: -1, Position: tokenPosition(from.Key.GetToken()), Message: "<< merges " + s.Kind.String(),
				Want: "a mapping, an alias of one, or a list of these",
			}
		}
		for _, f := range s.Fields {
			if !has[f.Key] {
				has[f.Key] = true
				object.Fields = append(object.Fields, f)
			}
		}
	}
	object.size += source.size
	object.height = max(object.height, source.height)
	return nil
}

// anchor reads a value and remembers it by its name, for the aliases behind it.
func (y *yamlReader) anchor(n *ast.AnchorNode, depth int) (tree, error) {
	name := n.Name.GetToken().Value
	// Until the value is read, the name must not mean an older value: *a within &a would be a loop.
	delete(y.anchors, name)
	value, err := y.read(n.Value, depth)
	if err != nil {
		return tree{}, err
	}
	y.anchors[name] = value
	return value, nil
}

// alias returns the value of an anchor, at its own position.
func (y *yamlReader) alias(n *ast.AliasNode, depth int) (tree, error) {
	name, at := n.Value.GetToken().Value, tokenPosition(n.Start)
	value, ok := y.anchors[name]
	if !ok {
		return tree{}, Problem{Index: -1, Position: at, Message: fmt.Sprintf("alias *%s has no anchor before it", name), Want: fmt.Sprintf("a value marked with &%s further up", name)}
	}
	if depth-1+value.height > maxDepth {
		return tree{}, tooDeep(at)
	}
	if y.aliased += value.size; y.aliased > maxAliased {
		return tree{}, Problem{Index: -1, Position: at, Message: fmt.Sprintf("aliases repeat more than %d values", maxAliased), Want: "the values written out"}
	}
	value.Pos = at
	return value, nil
}

// tagged reads a value with a tag: one of the standard ones, which must fit the value.
func (y *yamlReader) tagged(n *ast.TagNode, depth int) (tree, error) {
	tag := n.Start.Value
	value, err := y.read(n.Value, depth)
	if err != nil {
		return tree{}, err
	}
	kinds := map[token.ReservedTagKeyword]NodeKind{
		token.StringTag: String, token.IntegerTag: Number, token.FloatTag: Number, token.BooleanTag: Bool, token.NullTag: Null,
		token.SequenceTag: List, token.MappingTag: Object,
	}
	want, known := kinds[token.ReservedTagKeyword(tag)]
	if !known || n.Directive != nil {
		return tree{}, Problem{Index: -1, Position: tokenPosition(n.Start), Message: fmt.Sprintf("unknown tag %s", shown(tag)), Want: "the value without it"}
	}
	if want == value.Kind {
		return value, nil
	}
	s, ok := n.Value.(ast.ScalarNode)
	if want != String || !ok || value.Kind == List || value.Kind == Object {
		return tree{}, Problem{Index: -1, Position: tokenPosition(n.Start), Message: fmt.Sprintf("tag %s stands before %s", tag, value.Kind), Want: want.String()}
	}
	text := s.GetToken().Value
	if s.GetToken().Type == token.ImplicitNullType {
		text = ""
	}
	return scalar(String, text, n.Start), nil
}
