package rule

import "go.yaml.in/yaml/v3"

// maxAliased is how many values a document may repeat by aliases, each counted with all that is in it.
const maxAliased = 1_000_000

// nodeOf makes a Node of a YAML value.
func nodeOf(root *yaml.Node) (*Node, error) {
	c := converter{anchored: make(map[*yaml.Node]anchored)}
	n := new(Node)
	if _, err := c.value(n, root, 1); err != nil {
		return nil, err
	}
	return n, nil
}

// converter makes Nodes of a document's values, in the order in which they are written.
type converter struct {
	// anchored are the values with anchors so far. One that is being converted is not among them: an alias of it would make a loop.
	anchored map[*yaml.Node]anchored
	// aliased counts the values that aliases have repeated.
	aliased int
}

// anchored is a value that aliases may repeat.
type anchored struct {
	node    Node
	measure measure
}

// measure is what the bounds on aliases need to know of a value: how many values it is, with all that is in it, and how deep it is nested.
type measure struct{ size, height int }

// hold counts a value inside another.
func (m *measure) hold(inner measure) {
	m.size += inner.size
	m.height = max(m.height, inner.height+1)
}

func position(y *yaml.Node) Position { return Position{y.Line, y.Column} }

// value makes n of y, which would be the depth-th list or object around each other if it is one.
func (c *converter) value(n *Node, y *yaml.Node, depth int) (m measure, err error) {
	n.Pos = position(y)
	switch y.Kind {
	case yaml.AliasNode:
		return c.alias(n, y, depth)
	case yaml.SequenceNode:
		m, err = c.list(n, y, depth)
	case yaml.MappingNode:
		m, err = c.object(n, y, depth)
	default:
		m = measure{size: 1}
		n.Kind, n.Text = scalar(y)
	}
	if err != nil {
		return m, err
	}
	if err := checkTag(n, y); err != nil {
		return m, err
	}
	if y.Anchor != "" {
		c.anchored[y] = anchored{*n, m}
	}
	return m, nil
}

// alias makes n the value that y repeats.
func (c *converter) alias(n *Node, y *yaml.Node, depth int) (measure, error) {
	value, ok := c.anchored[y.Alias]
	switch {
	case !ok:
		return measure{}, fail(n.Pos, "an anchor further up, not around it", "alias %s stands inside its anchor's value", shown("*"+y.Value))
	case depth-1+value.measure.height > maxDepth:
		return measure{}, tooDeep(n.Pos)
	}
	if c.aliased += value.measure.size; c.aliased > maxAliased {
		return measure{}, fail(n.Pos, "the values written out", "aliases repeat more than %d values", maxAliased)
	}
	at := n.Pos
	*n = value.node
	n.Pos = at
	return value.measure, nil
}

func (c *converter) list(n *Node, y *yaml.Node, depth int) (measure, error) {
	n.Kind = List
	m := measure{1, 1}
	if depth > maxDepth {
		return m, tooDeep(n.Pos)
	}
	n.Items = make([]Node, len(y.Content))
	for i, item := range y.Content {
		inner, err := c.value(&n.Items[i], item, depth+1)
		if err != nil {
			return m, err
		}
		m.hold(inner)
	}
	return m, nil
}

func (c *converter) object(n *Node, y *yaml.Node, depth int) (measure, error) {
	n.Kind = Object
	m := measure{1, 1}
	if depth > maxDepth {
		return m, tooDeep(n.Pos)
	}
	n.Fields = make([]Field, 0, len(y.Content)/2)
	var merge Field // its Pos is unknown if there is none
	for i := 0; i < len(y.Content); i += 2 {
		f, err := c.key(y.Content[i], depth)
		if err != nil {
			return m, err
		}
		inner, err := c.value(&f.Value, y.Content[i+1], depth+1)
		switch {
		case err != nil:
			return m, err
		case !isMerge(y.Content[i]):
			m.hold(inner)
			n.Fields = append(n.Fields, f)
			continue
		case merge.Pos.Line > 0:
			return m, twice(&f, merge.Pos)
		}
		merge = f
		// The members of what is merged come to stand where it stands: one level higher than their object would.
		m.size += inner.size
		m.height = max(m.height, inner.height)
	}
	if err := duplicates(n.Fields); err != nil {
		return m, err
	}
	if merge.Pos.Line > 0 {
		return m, addMerged(n, merge)
	}
	return m, nil
}

// key makes the key of a Field.
func (c *converter) key(y *yaml.Node, depth int) (Field, error) {
	var n Node
	if _, err := c.value(&n, y, depth+1); err != nil {
		return Field{}, err
	}
	switch n.Kind {
	case Null, List, Object:
		return Field{}, fail(n.Pos, "a text", "a key is %s", n.Kind)
	}
	return Field{Key: n.Text, Pos: n.Pos}, nil
}

// isMerge reports whether a key tells that its value's members are to be merged in.
func isMerge(key *yaml.Node) bool { return key.Tag == "!!merge" && key.Style == 0 }

// addMerged adds the members that the merge key brings and the object itself does not have; of several sources the first wins.
func addMerged(n *Node, merge Field) error {
	has := make(map[string]bool, len(n.Fields))
	for _, f := range n.Fields {
		has[f.Key] = true
	}
	sources := []Node{merge.Value}
	if merge.Value.Kind == List {
		sources = merge.Value.Items
	}
	for _, source := range sources {
		if source.Kind != Object {
			return fail(merge.Pos, "a mapping, an alias of one, or a list of these", "<< merges %s", source.Kind)
		}
		for _, f := range source.Fields {
			if !has[f.Key] {
				has[f.Key] = true
				n.Fields = append(n.Fields, f)
			}
		}
	}
	return nil
}

// scalar says what a scalar is, and its text. Without quotes it may be something else than a text, and so it may in spite of quotes if its tag says so.
func scalar(y *yaml.Node) (NodeKind, string) {
	tag := tagOf(y)
	quoted := y.Style&^yaml.TaggedStyle != 0
	if tag == "!!str" || quoted && tag == "" {
		return String, y.Value
	}
	return plain(y.Value)
}

// tagOf returns the tag that is written before a value, "" if none is.
func tagOf(y *yaml.Node) string {
	if y.Style&yaml.TaggedStyle == 0 {
		return ""
	}
	return y.Tag
}

// tagged are the standard tags and what may stand behind them.
var tagged = map[string]NodeKind{
	"!!str": String, "!!int": Number, "!!float": Number, "!!bool": Bool, "!!null": Null, "!!seq": List, "!!map": Object,
}

// checkTag checks that a value fits the tag that is written before it.
func checkTag(n *Node, y *yaml.Node) error {
	tag := tagOf(y)
	if tag == "" {
		return nil
	}
	kind, known := tagged[tag]
	switch {
	case !known:
		return fail(n.Pos, "the value without it", "unknown tag %s", shown(tag))
	case kind != n.Kind:
		return fail(n.Pos, "a tag that fits, or none", "tag %s stands before %s", tag, n.Kind)
	}
	return nil
}
