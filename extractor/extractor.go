package extractor

import "reflect"

// Extractor gets a value out of a call: one of one's own, given to the engine by a name. It must be quick and safe for concurrent use, and must not keep the call.
type Extractor interface {
	// Extract returns the call's value; false if it has none.
	Extract(c *Call) (Value, bool)
}

// Func is a function as an Extractor.
type Func func(c *Call) (Value, bool)

// Extract calls the function.
func (f Func) Extract(c *Call) (Value, bool) { return f(c) }

// Walker compiles paths through types of its own. It must be safe for concurrent use.
type Walker interface {
	// Walk returns a getter of the value at the steps below a value of type t. It is not known if the walker does not know the type. A *TypeError says at which step the
	// path does not fit the type; its Path may be left out. Basic types, interfaces, and generic maps (map[string]any and the like) are never asked for.
	Walk(t reflect.Type, steps []Step) (get Getter, known bool, err error)
}

// Getter gets the value out of an object of the type it was made for, which is no nil pointer. It must be safe for concurrent use, and must not keep the object. Where the
// steps have [*] it adds one value for each element, and asks More before each; it adds none if the value is absent. An error says what failed; a *TypeError, which it
// returns once for each type, that the path does not fit what the object turned out to hold.
type Getter func(object any, values *List) error

// Step is one step of a path: into a field or key, an element, or all elements.
type Step struct {
	// Name is the field or key, "" for an index.
	Name string
	// Index is the element, counted from the end if negative; All means every element.
	Index int
	All   bool
	// OrSelf, with All, means every element of a list, and of what is no list the thing itself.
	OrSelf bool
}
