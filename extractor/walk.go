package extractor

import "reflect"

// walk is one extraction.
type walk struct {
	path *Path
	call *Call
	// doing is what code of others is being called: it may panic.
	doing string
	// misfit is the first type that was found not to fit.
	misfit *TypeError
	// depth is how many interfaces lie around the value at hand.
	depth int
}

// maxDepth bounds how many interfaces a value may lie in, for a pointer to an interface may point to itself.
const maxDepth = 64

// what names what is being called.
func (w *walk) what() string {
	if w.doing == "" {
		return "looking into the call"
	}
	return w.doing
}

// failed returns the error of what is being called.
func (w *walk) failed(err error) error {
	return &CallError{Path: w.path.path, What: w.what(), Message: bounded(err.Error(), maxMessage)}
}

// term adds one term's values to the list.
func (w *walk) term(t *term, out *List) error {
	switch t.root.kind {
	case rootArg:
		return w.argument(t, out)
	case rootBody:
		return w.body(t, out)
	}
	if v, ok := w.single(t); ok {
		out.Add(v)
	}
	return nil
}

// single returns the value of a term that has one at most.
func (w *walk) single(t *term) (Value, bool) {
	switch t.root.kind {
	case rootPart:
		if w.call.Carrier == nil {
			return Value{}, false
		}
		w.doing = "the carrier"
		return w.call.Carrier.Lookup(t.root.part, t.key)
	case rootMethod:
		return Text(w.call.Method), w.call.Method != ""
	case rootOrigin:
		return Text(w.call.Origin), w.call.Origin != ""
	case rootResource:
		return Text(w.call.Resource), w.call.Resource != ""
	}
	w.doing = t.what
	return t.own.Extract(w.call)
}

// argument adds the values in an argument.
func (w *walk) argument(t *term, out *List) error {
	args, s := w.call.Args, &t.steps[0]
	if s.All {
		for _, arg := range args {
			if !out.More() {
				break
			}
			if err := w.value(t, 1, arg, out); err != nil {
				return err
			}
		}
		return nil
	}
	i, ok := place(s.Index, len(args))
	if !ok || args[i] == nil {
		return nil
	}
	// Most arguments are pointers to structs, for which there is a program soon.
	if v := reflect.ValueOf(args[i]); v.Kind() == reflect.Pointer {
		if p := t.types[1].get(v.Type()); p != nil && p.misfit == nil {
			if o := &p.ops[0]; o.kind == opWalker {
				return w.ask(o, v.IsNil(), args[i], out)
			}
			return w.run(t, p.ops, v, out)
		}
	}
	return w.value(t, 1, args[i], out)
}

// place returns where in a list of n elements an index is, that counts from the end if it is negative.
func place(index, n int) (int, bool) {
	if index < 0 {
		index += n
	}
	return index, 0 <= index && index < n
}

// body adds the values in the body.
func (w *walk) body(t *term, out *List) error {
	if w.call.Carrier == nil {
		return nil
	}
	w.doing = "the carrier"
	b, err := w.call.Carrier.Body(w.path.maxBody)
	w.doing = ""
	if err == nil {
		err = scanJSON(b, t.steps, out)
	}
	if err != nil {
		return w.path.bodyError(err)
	}
	return nil
}

// value adds the values at the steps from the n-th on in a value of any type. Generic maps and lists, of which decoded documents and generic calls consist, need no program.
func (w *walk) value(t *term, n int, x any, out *List) error {
	for n < len(t.steps) {
		s, ok := &t.steps[n], false
		switch in := x.(type) {
		case nil:
			return nil
		case map[string]any:
			if s.OrSelf {
				n++
				continue
			}
			if s.All {
				return allOf(w, t, n+1, in, out)
			}
			x, ok = in[s.text]
		case map[string]string:
			if s.All || n+1 < len(t.steps) {
				return w.typed(t, n, x, out)
			}
			var text string
			if text, ok = in[s.text]; ok {
				out.Add(Text(text))
			}
			return nil
		case map[any]any:
			if s.OrSelf {
				n++
				continue
			}
			if s.All {
				return allOf(w, t, n+1, in, out)
			}
			x, ok = generic(in, s)
		case []any:
			if s.All {
				return w.each(t, n+1, in, out)
			}
			if s.Name != "" {
				return w.typed(t, n, x, out)
			}
			var i int
			if i, ok = place(s.Index, len(in)); ok {
				x = in[i]
			}
		default:
			return w.typed(t, n, x, out)
		}
		if !ok {
			return nil
		}
		n++
	}
	switch x := x.(type) {
	case nil:
	case string:
		out.Add(Text(x))
	case int:
		out.Add(Int(int64(x)))
	case int64:
		out.Add(Int(x))
	case float64:
		if v, ok := Float(x, 64); ok {
			out.Add(v)
		}
	default:
		return w.typed(t, n, x, out)
	}
	return nil
}

// generic returns the element of a generic map at a step: under the step's text, or, for an index, under that number.
func generic(in map[any]any, s *step) (any, bool) {
	if x, ok := in[s.key]; ok || s.Name != "" {
		return x, ok
	}
	for _, key := range numbers(s.Index) {
		if x, ok := in[key]; ok {
			return x, true
		}
	}
	return nil, false
}

// numbers returns an index in the types that decoders give numbers as keys.
func numbers(index int) [3]any { return [...]any{index, int64(index), int32(index)} }

// allOf adds the values in all elements of a generic map.
func allOf[K comparable](w *walk, t *term, n int, in map[K]any, out *List) error {
	for _, x := range in {
		if !out.More() {
			break
		}
		if err := w.value(t, n, x, out); err != nil {
			return err
		}
	}
	return nil
}

// each adds the values in all elements of a generic list.
func (w *walk) each(t *term, n int, in []any, out *List) error {
	for _, x := range in {
		if !out.More() {
			break
		}
		if err := w.value(t, n, x, out); err != nil {
			return err
		}
	}
	return nil
}

// typed adds the values at the steps from the n-th on in a value, by the program for its type.
func (w *walk) typed(t *term, n int, x any, out *List) error {
	v := reflect.ValueOf(x)
	p := t.types[n].get(v.Type())
	if p == nil {
		w.doing = "compiling for " + bounded(v.Type().String(), 128)
		p = w.path.program(t, n, v.Type())
		w.doing = ""
	}
	if p.misfit != nil {
		if w.misfit == nil && p.reported.CompareAndSwap(false, true) {
			w.misfit = p.misfit
		}
		return nil
	}
	if w.depth == maxDepth {
		return nil
	}
	w.depth++
	err := w.run(t, p.ops, v, out)
	w.depth--
	return err
}
