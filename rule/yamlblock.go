package rule

// maxKey is how long a key on one line may be, in bytes: YAML's own bound on how far one has to read to know that a text is a key.
const maxKey = 1024

// place says where a value stands.
type place struct {
	// parent is the indentation of the block it belongs to; its lines are indented further.
	parent int
	// level allows a list at the parent's own indentation, as the value of a key.
	level bool
	// compact allows a block to begin on the current line, as after "- ".
	compact bool
	depth   int
}

// block reads a value in block context, which may be missing.
func (p *yamlParser) block(n *Node, in place) (measure, error) {
	n.Pos = p.pos()
	var outer properties
	crossed := p.space()
	for {
		if p.end() || crossed && !p.inside(in) {
			return p.resolve(n, leaf{plain: true}, outer)
		}
		in.compact = in.compact || crossed
		start := p.mark()
		if c := p.peek(0); c != '&' && c != '!' {
			return p.content(n, in, start, outer, properties{})
		}
		own, err := p.properties(false)
		if err != nil {
			return measure{}, err
		}
		if crossed = p.space(); !crossed && !p.end() {
			// On the same line follows what the properties belong to: the value, or only the first key of a mapping.
			return p.content(n, in, start, outer, own)
		}
		if outer, err = outer.join(own); err != nil {
			return measure{}, err
		}
	}
}

// inside reports whether the current line is indented so that a value on it belongs to the place.
func (p *yamlParser) inside(in place) bool {
	return p.indent > in.parent || in.level && p.indent == in.parent && p.indicator('-')
}

// indicator reports whether c comes next as an indicator of blocks.
func (p *yamlParser) indicator(c byte) bool { return p.peek(0) == c && p.spaced(1) }

// mayBegin checks that a block may begin at start.
func (p *yamlParser) mayBegin(in place, start mark) error {
	at := Position{start.line, start.at - start.begin - start.wide + 1}
	switch {
	case !in.compact:
		return p.fail(at, "it on a line of its own, or quotes around a text that looks like one", "a list or a mapping cannot begin here")
	case start.tab:
		return p.fail(at, "spaces", "a tab indents a list or a mapping")
	}
	return nil
}

// content reads a value of which something is there. It begins, with its own properties, at start; outer are the properties from the lines before.
func (p *yamlParser) content(n *Node, in place, start mark, outer, own properties) (measure, error) {
	n.Pos = p.pos()
	switch {
	case p.indicator('-') || p.indicator('?'):
		return p.collection(n, in, start, outer, own)
	case p.peek(0) == '|' || p.peek(0) == '>':
		text, err := p.blockScalar(in.parent)
		if err != nil {
			return measure{}, err
		}
		return p.value(n, leaf{text: text}, outer, own)
	}
	l, err := p.leaf(in.parent, in.depth, false)
	if err != nil {
		return measure{}, err
	}
	if !p.colon() {
		return p.value(n, l, outer, own)
	}
	if err := p.mayBegin(in, start); err != nil {
		return measure{}, err
	}
	key, err := p.key(l, own, start)
	if err != nil {
		return measure{}, err
	}
	m, err := p.mapping(n, start.at-start.begin, key, in.depth)
	if err != nil {
		return measure{}, err
	}
	return m, p.attach(n, m, outer)
}

// value makes a node of what was read and all properties before it.
func (p *yamlParser) value(n *Node, l leaf, outer, own properties) (measure, error) {
	all, err := outer.join(own)
	if err != nil {
		return measure{}, err
	}
	return p.resolve(n, l, all)
}

// collection reads a list, or a mapping that begins with an explicit key.
func (p *yamlParser) collection(n *Node, in place, start mark, outer, own properties) (measure, error) {
	if own.any() {
		return measure{}, p.unexpected("the list or mapping on the line after its anchor or tag")
	}
	if err := p.mayBegin(in, start); err != nil {
		return measure{}, err
	}
	var m measure
	var err error
	if p.indicator('-') {
		m, err = p.sequence(n, p.column(), in.depth)
	} else {
		m, err = p.mapping(n, p.column(), yamlKey{}, in.depth)
	}
	if err != nil {
		return measure{}, err
	}
	return m, p.attach(n, m, outer)
}

// colon skips blanks and reports whether the colon behind a key comes next.
func (p *yamlParser) colon() bool {
	p.blanks()
	return p.indicator(':')
}

// key makes a key of a leaf that began at start and ends at a colon.
func (p *yamlParser) key(l leaf, own properties, start mark) (yamlKey, error) {
	at := l.pos
	if p.line != start.line || p.at-start.at > maxKey {
		return yamlKey{}, p.fail(at, "a short key on its line; perhaps a comma, a bracket or a quote is missing", "key %s is longer than a line, or than %d bytes", l.shown(), maxKey)
	}
	var n Node
	if _, err := p.resolve(&n, l, own); err != nil {
		return yamlKey{}, err
	}
	return newKey(&n, at, l.plain && l.text == "<<" && own.tag == "")
}

// more goes on to the next entry of a block at a column and reports whether there is one.
func (p *yamlParser) more(column int) (bool, error) {
	p.space()
	switch {
	case p.end():
		return false, nil
	case !p.fresh():
		return false, p.unexpected("a line break, or quotes around the whole text")
	case p.indent < column:
		return false, nil
	case p.indent > column:
		return false, p.fail(p.pos(), "the indentation of the entries before", "the line is indented further than the entries of its list or mapping")
	case p.tab:
		return false, p.fail(p.pos(), "spaces", "a tab indents a list or a mapping")
	}
	return true, nil
}

// sequence reads a list whose dashes stand at a column; the next byte is its first dash.
func (p *yamlParser) sequence(n *Node, column, depth int) (measure, error) {
	if depth > maxDepth {
		return measure{}, tooDeep(p.pos())
	}
	n.Kind = List
	m := measure{1, 1}
	base := len(p.items)
	var item Node // not in the loop, or it would be allocated every time
	for more := true; more && p.indicator('-'); {
		p.at++
		p.tab = false
		item = Node{}
		inner, err := p.block(&item, place{parent: column, compact: true, depth: depth + 1})
		if err != nil {
			return measure{}, err
		}
		m.hold(inner)
		p.items = append(p.items, item)
		if more, err = p.more(column); err != nil {
			return measure{}, err
		}
	}
	n.Items = cut(&p.items, base)
	return m, nil
}

// mapping reads a mapping whose keys stand at a column. If its first key has been read, the next byte is the colon behind it.
func (p *yamlParser) mapping(n *Node, column int, key yamlKey, depth int) (measure, error) {
	if depth > maxDepth {
		return measure{}, tooDeep(n.Pos)
	}
	object := newObject(p, n)
	var value Node // not in the loop, or it would be allocated every time
	for more := true; more; {
		explicit := !key.read() && p.indicator('?')
		var err error
		switch {
		case explicit:
			key, err = p.explicitKey(column, depth)
		case !key.read():
			key, err = p.implicitKey(depth)
		}
		if err != nil {
			return measure{}, err
		}
		value = Node{Pos: p.pos()}
		inner := measure{1, 0}
		if p.indicator(':') {
			p.at++
			p.tab = false
			inner, err = p.block(&value, place{parent: column, level: true, compact: explicit, depth: depth + 1})
			if err != nil {
				return measure{}, err
			}
		}
		if err := object.add(key, value, inner); err != nil {
			return measure{}, err
		}
		key = yamlKey{}
		if more, err = p.more(column); err != nil {
			return measure{}, err
		}
	}
	return object.done()
}

// implicitKey reads a key that ends at a colon on its line.
func (p *yamlParser) implicitKey(depth int) (yamlKey, error) {
	start := p.mark()
	var own properties
	if c := p.peek(0); c == '&' || c == '!' {
		var err error
		if own, err = p.properties(false); err != nil {
			return yamlKey{}, err
		}
		p.blanks()
	}
	if p.indicator('-') {
		return yamlKey{}, p.fail(p.pos(), "a key, or the list indented further", "a list entry stands among the keys of a mapping")
	}
	l, err := p.leaf(start.indent, depth, false)
	if err != nil {
		return yamlKey{}, err
	}
	if !p.colon() {
		return yamlKey{}, p.fail(l.pos, "a key and a colon, followed by a space", "%s stands where a key belongs", l.shown())
	}
	return p.key(l, own, start)
}

// explicitKey reads a key behind a question mark, up to the colon of its value, if that comes next.
func (p *yamlParser) explicitKey(column, depth int) (yamlKey, error) {
	p.at++
	p.tab = false
	var n Node
	if _, err := p.block(&n, place{parent: column, level: true, compact: true, depth: depth + 1}); err != nil {
		return yamlKey{}, err
	}
	end := p.mark()
	if p.space(); p.end() || !p.fresh() || p.indent != column || p.tab || !p.indicator(':') {
		p.back(end)
	}
	return newKey(&n, n.Pos, false)
}
