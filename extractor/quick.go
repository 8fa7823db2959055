package extractor

import "reflect"

// Plain returns the value of a path through fields of an argument that lead to a number or a text, which most paths are, without what Extract needs. found is false
// if the path is none of those, if the argument's type was not met before, and if there is no value: then Extract knows more.
func (p *Path) Plain(args []any) (v Value, found bool) {
	if p.direct == nil {
		return Value{}, false
	}
	return p.direct.plainValue(args)
}

// plainValue is quick for one value.
func (t *term) plainValue(args []any) (Value, bool) {
	i, ok := place(t.steps[0].Index, len(args))
	if !ok || args[i] == nil {
		return Value{}, false
	}
	v := reflect.ValueOf(args[i])
	program := t.types[1].get(v.Type())
	if program == nil || !program.plain {
		return Value{}, false
	}
	for j := range program.ops {
		switch o := &program.ops[j]; o.kind {
		case opInt:
			return Int(v.Int()), true
		case opString:
			return Text(v.String()), true
		case opField:
			v = v.Field(o.index)
		default:
			if v = v.Elem(); !v.IsValid() {
				return Value{}, false
			}
			if o.kind == opVia {
				v = v.Field(o.index)
			}
		}
	}
	return Value{}, false
}

// quick is Plain for Extract. It calls nobody's code, so nothing that it does can panic, and it spares what guards against that. It is false if Plain is no way to the value.
func (t *term) quick(c *Call, out *List) bool {
	if c == nil {
		return false
	}
	v, found := t.plainValue(c.Args)
	if found {
		out.Add(v)
	}
	return found
}

// plain reports whether quick knows the operation.
func (o *op) plain() bool {
	switch o.kind {
	case opInt, opString, opField, opVia, opDeref:
		return true
	}
	return false
}
