package extractor

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
)

// opKind is what one operation of a program does.
type opKind uint8

const (
	opDeref    opKind = iota // into a pointer
	opField                  // to a field of a struct
	opVia                    // into a pointer and to a field of the struct
	opElement                // to an element of a slice or array
	opKey                    // to an element of a map
	opIndexKey               // to an element of a map of any keys, by a number
	opAll                    // to each element, for the operations after it
	opGetter                 // to what a getter returns
	opDynamic                // on with the program for the type that lies in an interface
	opGeneric                // on with a generic map
	opWalker                 // the rest is a walker's
	opJSON                   // the rest is in a JSON document
	opInt                    // to the single value, which is an integer
	opString                 // or a string
	opLeaf                   // or anything else
)

// op is one operation of a program.
type op struct {
	kind opKind
	leaf leafKind
	// index is a field's or element's, the getter's method number, or at which step to go on.
	index int
	key   reflect.Value
	get   Getter
	// what is the foreign method that is called, for errors.
	what string
}

// maxPointers bounds how many pointers may lead to a value, for a type can point to itself.
const maxPointers = 8

// compiler makes one program.
type compiler struct {
	path *Path
	term *term
	ops  []op
}

// compile makes the program for a type met at the term's n-th step.
func compile(p *Path, t *term, n int, typ reflect.Type) *program {
	c := compiler{path: p, term: t}
	if misfit := c.from(n, typ); misfit != nil {
		misfit.Path = p.path
		return &program{misfit: misfit}
	}
	return &program{ops: c.ops, plain: !slices.ContainsFunc(c.ops, func(o op) bool { return !o.plain() })}
}

// add adds an operation, or makes one of it and the last.
func (c *compiler) add(o op) {
	if last := len(c.ops) - 1; o.kind == opField && last >= 0 && c.ops[last].kind == opDeref {
		o.kind = opVia
		c.ops[last] = o
		return
	}
	c.ops = append(c.ops, o)
}

// misfit says why the path does not go on at its n-th step in a type.
func (c *compiler) misfit(n int, t reflect.Type, format string, args ...any) *TypeError {
	e := &TypeError{Type: bounded(t.String(), 128), Message: fmt.Sprintf(format, args...)}
	if n < len(c.term.steps) {
		e.Step = c.term.steps[n].String()
	}
	return e
}

// from adds the operations for the steps from the n-th on in a type.
func (c *compiler) from(n int, t reflect.Type) *TypeError {
	for pointers := 0; ; pointers++ {
		if t.Kind() == reflect.Interface {
			c.add(op{kind: opDynamic, index: n})
			return nil
		}
		if done, misfit := c.walker(n, t); done {
			return misfit
		}
		if t.Kind() != reflect.Pointer {
			break
		}
		if pointers == maxPointers {
			return c.misfit(n, t, "too many pointers to pointers")
		}
		c.add(op{kind: opDeref})
		t = t.Elem()
	}
	if n == len(c.term.steps) {
		return c.end(t)
	}
	if t == reflect.TypeFor[map[string]any]() || t == reflect.TypeFor[map[any]any]() || t == reflect.TypeFor[map[string]string]() && !c.term.steps[n].All && n+1 == len(c.term.steps) {
		c.add(op{kind: opGeneric, index: n})
		return nil
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		c.add(op{kind: opJSON, index: n})
		return nil
	}
	if c.term.steps[n].OrSelf && !c.listed(n, t) {
		return c.from(n+1, t)
	}
	switch s := &c.term.steps[n]; t.Kind() {
	case reflect.Struct:
		return c.field(n, s, t)
	case reflect.Map:
		return c.key(n, s, t)
	case reflect.Slice, reflect.Array:
		switch {
		case s.All:
			c.add(op{kind: opAll})
		case s.Name != "":
			return c.getter(n, s, t, fmt.Sprintf("a %s has elements: [0], [-1] or [*]", t.Kind()))
		default:
			c.add(op{kind: opElement, index: s.Index})
		}
		return c.from(n+1, t.Elem())
	}
	if s := &c.term.steps[n]; s.Name != "" {
		return c.getter(n, s, t, fmt.Sprintf("a %s has nothing inside", t.Kind()))
	}
	return c.misfit(n, t, "a %s has nothing inside", t.Kind())
}

// listed reports whether a type has elements for [*?] at the n-th step to take. What can end a path, as bytes do, is taken itself there.
func (c *compiler) listed(n int, t reflect.Type) bool {
	if k := t.Kind(); k != reflect.Slice && k != reflect.Array {
		return false
	}
	return n+1 < len(c.term.steps) || leafOf(t) == leafNone
}

// walker asks the walkers, which know best about their types.
func (c *compiler) walker(n int, t reflect.Type) (done bool, misfit *TypeError) {
	if len(c.path.walkers) == 0 || t.PkgPath() == "" && t.Kind() != reflect.Pointer {
		return false, nil
	}
	steps := make([]Step, 0, len(c.term.steps)-n)
	for _, s := range c.term.steps[n:] {
		steps = append(steps, s.Step)
	}
	for _, w := range c.path.walkers {
		get, known, err := w.Walk(t, steps)
		if !known {
			continue
		}
		if err != nil || get == nil {
			return true, c.refused(n, t, err)
		}
		c.add(op{kind: opWalker, get: get, what: "looking into " + bounded(t.String(), 128)})
		return true, nil
	}
	return false, nil
}

// refused returns a walker's error as a misfit.
func (c *compiler) refused(n int, t reflect.Type, err error) *TypeError {
	if e, ok := err.(*TypeError); ok {
		own := *e
		return &own
	}
	if err == nil {
		return c.misfit(n, t, "there is no such field")
	}
	return c.misfit(n, t, "%s", bounded(err.Error(), maxMessage))
}

// end adds the operation that reads the value at the path's end.
func (c *compiler) end(t reflect.Type) *TypeError {
	kind := leafOf(t)
	if kind == leafNone {
		hint := ""
		switch t.Kind() {
		case reflect.Struct:
			hint = "; name one of its fields: " + fieldNames(t)
		case reflect.Slice, reflect.Array, reflect.Map:
			hint = "; take one of its elements, or each by [*]"
		}
		return c.misfit(len(c.term.steps), t, "a %s is no single value%s", t.Kind(), hint)
	}
	o := op{kind: opLeaf, leaf: kind}
	switch kind {
	case leafInt:
		o.kind = opInt
	case leafString:
		o.kind = opString
	}
	if name := kind.method(); name != "" {
		o.what = name + " of " + bounded(t.String(), 128)
	}
	c.add(o)
	return nil
}

// field goes into a field of a struct, or takes a getter.
func (c *compiler) field(n int, s *step, t reflect.Type) *TypeError {
	if s.Name == "" {
		return c.misfit(n, t, "a struct has fields: %s", fieldNames(t))
	}
	f, ok, ambiguous := fieldOf(t, s.Name)
	if ambiguous != "" {
		return c.misfit(n, t, "%s", ambiguous)
	}
	if !ok {
		return c.getter(n, s, t, noField(t, s.Name))
	}
	for i, index := range f.Index {
		if i > 0 && t.Kind() == reflect.Pointer {
			c.add(op{kind: opDeref})
			t = t.Elem()
		}
		c.add(op{kind: opField, index: index})
		t = t.Field(index).Type
	}
	return c.from(n+1, t)
}

// key goes to an element of a map.
func (c *compiler) key(n int, s *step, t reflect.Type) *TypeError {
	if s.All {
		c.add(op{kind: opAll})
		return c.from(n+1, t.Elem())
	}
	kind := opKey
	key := reflect.New(t.Key()).Elem()
	switch key.Kind() {
	case reflect.String:
		key.SetString(s.text)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		i, err := strconv.ParseInt(s.text, 10, t.Key().Bits())
		if err != nil {
			return c.misfit(n, t, "its keys are of type %s", t.Key())
		}
		key.SetInt(i)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		i, err := strconv.ParseUint(s.text, 10, t.Key().Bits())
		if err != nil {
			return c.misfit(n, t, "its keys are of type %s", t.Key())
		}
		key.SetUint(i)
	case reflect.Interface:
		if !reflect.TypeFor[string]().Implements(t.Key()) {
			return c.misfit(n, t, "its keys are of type %s; want strings or integers", t.Key())
		}
		key.Set(reflect.ValueOf(s.text))
		if s.Name == "" {
			kind = opIndexKey
		}
	default:
		return c.misfit(n, t, "its keys are of type %s; want strings or integers", t.Key())
	}
	c.add(op{kind: kind, key: key, index: s.Index})
	return c.from(n+1, t.Elem())
}

// getter takes the getter of a type that has no field of that name.
func (c *compiler) getter(n int, s *step, t reflect.Type, otherwise string) *TypeError {
	m, ok := getterOf(t, s.Name)
	if !ok {
		return c.misfit(n, t, "%s", otherwise)
	}
	c.add(op{kind: opGetter, index: m.Index, what: fmt.Sprintf("%s of %s", m.Name, bounded(t.String(), 128))})
	return c.from(n+1, m.Type.Out(0))
}
