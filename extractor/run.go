package extractor

import "reflect"

// run adds the values that a program gets out of an object.
func (w *walk) run(t *term, ops []op, v reflect.Value, out *List) error {
	for i := range ops {
		o := &ops[i]
		switch o.kind {
		case opField:
			v = v.Field(o.index)
		case opVia:
			if v = v.Elem(); !v.IsValid() {
				return nil
			}
			v = v.Field(o.index)
		case opDeref:
			if v = v.Elem(); !v.IsValid() {
				return nil
			}
		case opInt:
			out.Add(Int(v.Int()))
		case opString:
			out.Add(Text(v.String()))
		case opElement:
			j, ok := place(o.index, v.Len())
			if !ok {
				return nil
			}
			v = v.Index(j)
		case opKey:
			if v = v.MapIndex(o.key); !v.IsValid() {
				return nil
			}
		case opIndexKey:
			if v = numbered(v, o.key, o.index); !v.IsValid() {
				return nil
			}
		case opAll:
			return w.all(t, ops[i+1:], v, out)
		case opGetter:
			var err error
			if v, err = w.get(o, v); err != nil || !v.IsValid() {
				return err
			}
		case opWalker:
			return w.ask(o, v.Kind() == reflect.Pointer && v.IsNil(), v.Interface(), out)
		default:
			return w.last(t, o, v, out)
		}
	}
	return nil
}

// numbered returns the element of a map of any keys under a number, as generic does.
func numbered(in, text reflect.Value, index int) reflect.Value {
	found := in.MapIndex(text)
	for _, key := range numbers(index) {
		if found.IsValid() {
			break
		}
		found = in.MapIndex(reflect.ValueOf(key))
	}
	return found
}

// last runs an operation that ends a program.
func (w *walk) last(t *term, o *op, v reflect.Value, out *List) error {
	switch o.kind {
	case opDynamic:
		if v.IsNil() {
			return nil
		}
		return w.value(t, o.index, v.Elem().Interface(), out)
	case opGeneric:
		return w.value(t, o.index, v.Interface(), out)
	case opJSON:
		if v.IsNil() {
			return nil
		}
		if err := scanJSON(v.Bytes(), t.steps[o.index:], out); err != nil {
			return w.path.bodyError(err)
		}
		return nil
	}
	if o.what != "" {
		w.doing = o.what
	}
	value, ok, err := o.leaf.read(v)
	if err != nil {
		if o.leaf == leafJSON {
			return w.path.bodyError(err)
		}
		return w.failed(err)
	}
	if ok {
		out.Add(value)
	}
	w.doing = ""
	return nil
}

// all runs the operations for every element.
func (w *walk) all(t *term, ops []op, v reflect.Value, out *List) error {
	if v.Kind() == reflect.Map {
		for it := v.MapRange(); it.Next() && out.More(); {
			if err := w.run(t, ops, it.Value(), out); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range v.Len() {
		if !out.More() {
			break
		}
		if err := w.run(t, ops, v.Index(i), out); err != nil {
			return err
		}
	}
	return nil
}

// get calls a getter; the value is not valid if it says that there is none.
func (w *walk) get(o *op, v reflect.Value) (reflect.Value, error) {
	w.doing = o.what
	results := reflect.ValueOf(objectOf(v)).Method(o.index).Call(nil)
	if len(results) == 2 {
		if ok := results[1]; ok.Kind() == reflect.Bool {
			if !ok.Bool() {
				return reflect.Value{}, nil
			}
		} else if err, _ := ok.Interface().(error); err != nil {
			return reflect.Value{}, w.failed(err)
		}
	}
	w.doing = ""
	return results[0], nil
}

// ask lets a walker's getter add the values, unless the object is a nil pointer.
func (w *walk) ask(o *op, null bool, object any, out *List) error {
	if null {
		return nil
	}
	w.doing = o.what
	err := o.get(object, out)
	if err == nil {
		w.doing = ""
		return nil
	}
	if e, ok := err.(*TypeError); ok {
		if w.misfit == nil {
			own := *e
			own.Path = w.path.path
			w.misfit = &own
		}
		return nil
	}
	return w.failed(err)
}
