package extractor

import "reflect"

// quick adds the value at a path through fields of an argument that lead to a number or a text, which most paths are. It calls nobody's code, so nothing that it does can panic, and it
// spares what guards against that. It is false if the term is none of those, or the argument's type was not met before.
func (t *term) quick(c *Call, out *List) bool {
	if c == nil {
		return false
	}
	i, ok := place(t.steps[0].Index, len(c.Args))
	if !ok || c.Args[i] == nil {
		return true
	}
	v := reflect.ValueOf(c.Args[i])
	program := t.types[1].get(v.Type())
	if program == nil || !program.plain {
		return false
	}
	for j := range program.ops {
		switch o := &program.ops[j]; o.kind {
		case opInt:
			out.Add(Int(v.Int()))
		case opString:
			out.Add(Text(v.String()))
		case opField:
			v = v.Field(o.index)
		default:
			if v = v.Elem(); !v.IsValid() {
				return true
			}
			if o.kind == opVia {
				v = v.Field(o.index)
			}
		}
	}
	return true
}

// plain reports whether quick knows the operation.
func (o *op) plain() bool {
	switch o.kind {
	case opInt, opString, opField, opVia, opDeref:
		return true
	}
	return false
}
