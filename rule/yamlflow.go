package rule

// flow reads a list or an object in [] or {}, whose first byte comes next. In it indentation means nothing.
func (p *yamlParser) flow(n *Node, depth int) (measure, error) {
	n.Pos = p.pos()
	if depth > maxDepth {
		return measure{}, tooDeep(n.Pos)
	}
	if p.text[p.at] == '[' {
		return p.flowList(n, depth)
	}
	return p.flowObject(n, depth)
}

// flowSpace goes on to the next token inside [] or {}.
func (p *yamlParser) flowSpace(end byte) error {
	p.space()
	if p.end() {
		return p.unexpected("a closing " + string(end))
	}
	return nil
}

// flowNext goes on to the next element, past the comma before it, or past the closing end: then it reports done.
func (p *yamlParser) flowNext(end byte, first bool) (done bool, err error) {
	if err := p.flowSpace(end); err != nil {
		return false, err
	}
	if !first && p.text[p.at] == ',' {
		p.at++
		if err := p.flowSpace(end); err != nil {
			return false, err
		}
	} else if !first && p.text[p.at] != end {
		return false, p.unexpected("a comma or " + string(end))
	}
	if p.text[p.at] == end {
		p.at++
		return true, nil
	}
	return false, nil
}

func (p *yamlParser) flowList(n *Node, depth int) (measure, error) {
	n.Kind = List
	p.at++
	m := measure{1, 1}
	base := len(p.items)
	var item Node // not in the loop, or it would be allocated every time
	for first := true; ; first = false {
		done, err := p.flowNext(']', first)
		if err != nil {
			return measure{}, err
		}
		if done {
			break
		}
		item = Node{}
		inner, err := p.flowItem(&item, depth+1)
		if err != nil {
			return measure{}, err
		}
		m.hold(inner)
		p.items = append(p.items, item)
	}
	n.Items = cut(&p.items, base)
	return m, nil
}

// flowItem reads an element of a list: a value, or a single member of an object without braces.
func (p *yamlParser) flowItem(n *Node, depth int) (measure, error) {
	start := p.mark()
	if p.flowIndicator('?') {
		return p.flowPair(n, yamlKey{}, depth)
	}
	own, l, err := p.flowLeaf(']', depth)
	if err != nil {
		return measure{}, err
	}
	isKey, err := p.flowColon(l, ']')
	if err != nil {
		return measure{}, err
	}
	if !isKey {
		if l.plain && l.text == "" && !own.any() {
			return measure{}, p.unexpected("a value before it")
		}
		n.Pos = l.pos
		return p.resolve(n, l, own)
	}
	key, err := p.key(l, own, start)
	if err != nil {
		return measure{}, err
	}
	return p.flowPair(n, key, depth)
}

// flowPair reads an object of one member without braces, whose key may have been read.
func (p *yamlParser) flowPair(n *Node, key yamlKey, depth int) (measure, error) {
	n.Pos = p.pos()
	if key.read() {
		n.Pos = key.pos
	}
	if depth > maxDepth {
		return measure{}, tooDeep(n.Pos)
	}
	object := newObject(p, n)
	if err := p.flowMember(object, key, ']', depth); err != nil {
		return measure{}, err
	}
	return object.done()
}

func (p *yamlParser) flowObject(n *Node, depth int) (measure, error) {
	p.at++
	object := newObject(p, n)
	for first := true; ; first = false {
		done, err := p.flowNext('}', first)
		if err != nil {
			return measure{}, err
		}
		if done {
			return object.done()
		}
		if err := p.flowMember(object, yamlKey{}, '}', depth); err != nil {
			return measure{}, err
		}
	}
}

// flowMember reads a member of an object; its key may have been read, up to the colon.
func (p *yamlParser) flowMember(object *yamlObject, key yamlKey, end byte, depth int) error {
	isPair := key.read()
	if !key.read() {
		if p.flowIndicator('?') {
			p.at++
			if err := p.flowSpace(end); err != nil {
				return err
			}
		}
		own, l, err := p.flowLeaf(end, depth+1)
		if err != nil {
			return err
		}
		if isPair, err = p.flowColon(l, end); err != nil {
			return err
		}
		var n Node
		if _, err := p.resolve(&n, l, own); err != nil {
			return err
		}
		if key, err = newKey(&n, l.pos, l.plain && l.text == "<<" && own.tag == ""); err != nil {
			return err
		}
	}
	value, inner := Node{Pos: p.pos()}, measure{1, 0}
	if isPair {
		p.at++ // the colon
		if err := p.flowSpace(end); err != nil {
			return err
		}
		own, l, err := p.flowLeaf(end, depth+1)
		if err != nil {
			return err
		}
		value.Pos = l.pos
		if inner, err = p.resolve(&value, l, own); err != nil {
			return err
		}
	}
	return object.add(key, value, inner)
}

// flowIndicator reports whether c comes next as an indicator inside [] and {}.
func (p *yamlParser) flowIndicator(c byte) bool {
	return p.peek(0) == c && (p.spaced(1) || isFlow(p.peek(1)))
}

// flowLeaf reads the properties and the value that come next; the value may be missing.
func (p *yamlParser) flowLeaf(end byte, depth int) (own properties, l leaf, err error) {
	for c := p.peek(0); c == '&' || c == '!'; c = p.peek(0) {
		more, err := p.properties(true)
		if err != nil {
			return own, l, err
		}
		if own, err = own.join(more); err != nil {
			return own, l, err
		}
		if err := p.flowSpace(end); err != nil {
			return own, l, err
		}
	}
	if c := p.peek(0); c == ',' || c == end || p.flowIndicator(':') {
		return own, leaf{plain: true, pos: p.pos()}, nil
	}
	l, err = p.leaf(-1, depth, true)
	return own, l, err
}

// flowColon goes on to the next token and reports whether it is the colon that makes a leaf a key. Behind quotes and brackets it needs no space.
func (p *yamlParser) flowColon(l leaf, end byte) (bool, error) {
	if err := p.flowSpace(end); err != nil {
		return false, err
	}
	close := !l.plain && !l.alias
	return p.peek(0) == ':' && (close || p.flowIndicator(':')), nil
}
