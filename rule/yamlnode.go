package rule

import (
	"slices"
	"strings"
)

// maxAliased is how many values a document may repeat by aliases, each counted with all that is in it.
const maxAliased = 1_000_000

// measure is what the bounds on aliases need to know of a value: how many values it is, with all that is in it, and how deep it is nested.
type measure struct{ size, height int }

// hold counts a value inside another.
func (m *measure) hold(inner measure) {
	m.size += inner.size
	m.height = max(m.height, inner.height+1)
}

// anchored is a value that aliases may repeat.
type anchored struct {
	node    Node
	measure measure
}

// properties are what may stand before a value: an anchor and a tag.
type properties struct {
	anchor, tag string
	at          Position
}

func (o properties) any() bool { return o.anchor != "" || o.tag != "" }

// join adds properties that stand further on before the same value.
func (o properties) join(own properties) (properties, error) {
	switch {
	case !own.any():
		return o, nil
	case !o.any():
		return own, nil
	case o.anchor != "" && own.anchor != "" || o.tag != "" && own.tag != "":
		return o, Problem{Index: -1, Position: own.at, Message: "a value has two anchors or two tags", Want: "one of each at most"}
	}
	return properties{o.anchor + own.anchor, o.tag + own.tag, o.at}, nil
}

// properties reads the anchor and the tag that come next, on this line.
func (p *yamlParser) properties(flow bool) (properties, error) {
	var all properties
	for c := p.peek(0); c == '&' || c == '!'; c = p.peek(0) {
		own := properties{at: p.pos()}
		word := p.word(flow && !(c == '!' && p.peek(1) == '<')) // a tag written out may hold commas
		switch {
		case c == '!':
			own.tag = word
			if long, ok := strings.CutPrefix(word, "!<tag:yaml.org,2002:"); ok {
				own.tag = "!!" + strings.TrimSuffix(long, ">")
			}
		case len(word) == 1:
			return all, p.fail(own.at, "a name after &", "an anchor has no name")
		default:
			own.anchor = word[1:]
			// Until the value is read, the name must not mean an older one: an alias inside would make a loop.
			delete(p.anchors, own.anchor)
		}
		var err error
		if all, err = all.join(own); err != nil {
			return all, err
		}
		p.blanks()
	}
	return all, nil
}

// word reads up to the next white space, in [] and {} up to the next of their delimiters.
func (p *yamlParser) word(flow bool) string {
	from := p.at
	for p.at < len(p.text) && !p.spaced(0) && !(flow && isFlow(p.text[p.at])) {
		p.step()
	}
	return p.text[from:p.at]
}

// leaf is a value that is no block: a scalar, an alias, or a list or object in [] or {}.
type leaf struct {
	// text is a scalar's content; plain tells that it has no quotes and may be something else than a text.
	text  string
	plain bool
	// node is the value of an alias or a list or object, nil for scalars.
	node    *Node
	alias   bool
	measure measure
	pos     Position
}

// shown describes the leaf in messages.
func (l leaf) shown() string {
	if l.node != nil {
		return l.node.Kind.String()
	}
	return shown(l.text)
}

// leaf reads a value that is no block. Its further lines must be indented more than parent.
func (p *yamlParser) leaf(parent, depth int, flow bool) (l leaf, err error) {
	l.pos = p.pos()
	switch c := p.peek(0); c {
	case '[', '{':
		l.node = new(Node)
		l.measure, err = p.flow(l.node, depth)
	case '*':
		l.alias = true
		l.node, l.measure, err = p.alias(depth, flow)
	case '"', '\'':
		l.text, err = p.quoted(parent)
	default:
		l.plain = true
		l.text, err = p.plain(parent, flow)
	}
	return l, err
}

// resolve makes a node of a leaf and its properties.
func (p *yamlParser) resolve(n *Node, l leaf, with properties) (measure, error) {
	if l.pos.Line == 0 {
		l.pos = n.Pos
	}
	if l.node != nil {
		*n = *l.node
		n.Pos = l.pos
		if l.alias && with.any() {
			return measure{}, p.fail(with.at, "an alias alone", "an alias has an anchor or a tag")
		}
		return l.measure, p.attach(n, l.measure, with)
	}
	n.Pos, n.Kind, n.Text = l.pos, String, l.text
	if takenPlain(l, with.tag) {
		n.Kind, n.Text = plain(l.text)
	}
	m := measure{size: 1}
	return m, p.attach(n, m, with)
}

// takenPlain reports whether a scalar may be something else than a text: for want of quotes, or because its tag says so in spite of them.
func takenPlain(l leaf, tag string) bool {
	switch tag {
	case "":
		return l.plain
	case "!", "!!str":
		return false
	}
	return true
}

// attach checks that a tag fits a value, and remembers the value if it has an anchor. Every value comes by here once.
func (p *yamlParser) attach(n *Node, m measure, with properties) error {
	if p.values++; p.values > maxValues {
		return tooMany(n.Pos)
	}
	fits, known := true, true
	switch with.tag {
	case "", "!":
	case "!!str":
		fits = n.Kind == String
	case "!!int", "!!float":
		fits = n.Kind == Number
	case "!!bool":
		fits = n.Kind == Bool
	case "!!null":
		fits = n.Kind == Null
	case "!!seq":
		fits = n.Kind == List
	case "!!map":
		fits = n.Kind == Object
	default:
		known = false
	}
	if !known {
		return p.fail(with.at, "the value without it", "unknown tag %s", shown(with.tag))
	}
	if !fits {
		return p.fail(with.at, "a tag that fits, or none", "tag %s stands before %s", with.tag, n.Kind)
	}
	if with.anchor != "" {
		p.anchors[with.anchor] = anchored{*n, m}
	}
	return nil
}

// alias reads an alias and returns the value it repeats.
func (p *yamlParser) alias(depth int, flow bool) (*Node, measure, error) {
	at := p.pos()
	name := p.word(flow)[1:]
	value, ok := p.anchors[name]
	if !ok {
		return nil, measure{}, p.fail(at, "an anchor further up, not around it", "alias %s has no anchor", shown("*"+name))
	}
	if depth-1+value.measure.height > maxDepth {
		return nil, measure{}, tooDeep(at)
	}
	if p.aliased += value.measure.size; p.aliased > maxAliased {
		return nil, measure{}, p.fail(at, "the values written out", "aliases repeat more than %d values", maxAliased)
	}
	return &value.node, value.measure, nil
}

// yamlKey is the key of a mapping's entry.
type yamlKey struct {
	text string
	pos  Position
	// merge tells that the value's members are to be merged in.
	merge bool
}

// read reports whether the key has been read: the zero yamlKey has not.
func (k yamlKey) read() bool { return k.pos.Line > 0 }

func newKey(n *Node, at Position, merge bool) (yamlKey, error) {
	switch n.Kind {
	case Null, List, Object:
		return yamlKey{}, Problem{Index: -1, Position: at, Message: "a key is " + n.Kind.String(), Want: "a text"}
	}
	return yamlKey{n.Text, at, merge}, nil
}

// yamlObject collects the members of a mapping.
type yamlObject struct {
	p       *yamlParser
	node    *Node
	base    int
	measure measure
	// merged is the value of the merge key, merge its position; unknown if there is none.
	merged Node
	merge  Position
}

func newObject(p *yamlParser, n *Node) *yamlObject {
	n.Kind = Object
	return &yamlObject{p: p, node: n, base: len(p.fields), measure: measure{1, 1}}
}

// add adds a member.
func (o *yamlObject) add(key yamlKey, value Node, inner measure) error {
	if !key.merge {
		o.measure.hold(inner)
		o.p.fields = append(o.p.fields, Field{key.text, key.pos, value})
		return nil
	}
	if o.merge.Line > 0 {
		return twice(&Field{Key: key.text, Pos: key.pos}, o.merge)
	}
	o.merged, o.merge = value, key.pos
	// The members of what is merged come to stand where it stands: one level higher than their object would.
	o.measure.size += inner.size
	o.measure.height = max(o.measure.height, inner.height)
	return nil
}

// done makes the object of its members.
func (o *yamlObject) done() (measure, error) {
	fields := o.p.fields[o.base:]
	if err := duplicates(fields); err != nil {
		return measure{}, err
	}
	if o.merge.Line > 0 {
		if err := o.addMerged(fields); err != nil {
			return measure{}, err
		}
	}
	o.node.Fields = cut(&o.p.fields, o.base)
	return o.measure, nil
}

// addMerged adds the members that the merge key brings and the object itself does not have; of several sources the first wins.
func (o *yamlObject) addMerged(fields []Field) error {
	has := make(map[string]bool, len(fields))
	for _, f := range fields {
		has[f.Key] = true
	}
	sources := []Node{o.merged}
	if o.merged.Kind == List {
		sources = o.merged.Items
	}
	for _, source := range sources {
		if source.Kind != Object {
			return o.p.fail(o.merge, "a mapping, an alias of one, or a list of these", "<< merges %s", source.Kind)
		}
		for _, f := range source.Fields {
			if !has[f.Key] {
				has[f.Key] = true
				o.p.fields = append(o.p.fields, f)
			}
		}
	}
	return nil
}

// cut takes the elements from base on off a stack, in a slice of their own.
func cut[T any](stack *[]T, base int) []T {
	out := slices.Clone((*stack)[base:])
	clear((*stack)[base:])
	*stack = (*stack)[:base]
	return out
}
