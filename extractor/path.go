package extractor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Options are what paths are compiled with.
type Options struct {
	// Named are extractors of one's own, by their names: plain words that are no root of the path language.
	Named map[string]Extractor
	// Walkers know types that reflection does not do justice to, as protobuf messages; the first that knows a type is asked.
	Walkers []Walker
	// MaxBody is how many bytes of a body are read at most; default 64 KiB.
	MaxBody int
}

// defaultMaxBody is how many bytes of a body are read by default.
const defaultMaxBody = 64 << 10

// Validate returns what is wrong with the options: names that no path can have, or that mean something else already.
func (o Options) Validate() error {
	var faults []error
	for name, e := range o.Named {
		switch _, taken := rootOf(name); {
		case taken:
			faults = append(faults, fmt.Errorf("extractor: the name %q has a meaning in paths already; want another name", name))
		case !isWord(name):
			faults = append(faults, fmt.Errorf("extractor: the name %q cannot be written in a path; want a plain word", bounded(name, 64)))
		case e == nil, isNilFunc(e):
			faults = append(faults, fmt.Errorf("extractor: the extractor %q is nil", name))
		}
	}
	for i, w := range o.Walkers {
		if w == nil {
			faults = append(faults, fmt.Errorf("extractor: walker %d is nil", i))
		}
	}
	if o.MaxBody < 0 {
		faults = append(faults, fmt.Errorf("extractor: MaxBody %d is negative; want 0 for the default of %d, or more", o.MaxBody, defaultMaxBody))
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(faults...)
}

func isNilFunc(e Extractor) bool {
	f, ok := e.(Func)
	return ok && f == nil
}

// Path is a compiled path. It is safe for concurrent use.
type Path struct {
	path  string
	terms []*term
	// direct is the only term if that is an argument of one number, which may be quick.
	direct  *term
	walkers []Walker
	maxBody int
	// faults are the errors about bodies with the path in them, so that bodies sent in bad faith cost no memory.
	faults []bodyFault
	// scratch holds a *parts for one composite at a time.
	scratch sync.Pool
}

// A bodyFault is what one of the errors about bodies is returned as.
type bodyFault struct{ is, err error }

// Compile compiles a path. A fault in it is a *SyntaxError; other errors are the options' (Validate).
func Compile(path string, o Options) (*Path, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	terms, err := parse(path, o.Named)
	if err != nil {
		return nil, err
	}
	p := &Path{path: path, terms: terms, walkers: slices.Clone(o.Walkers), maxBody: o.MaxBody}
	if p.maxBody == 0 {
		p.maxBody = defaultMaxBody
	}
	for _, t := range terms {
		if t.root.kind == rootArg {
			t.types = make([]typeTable, len(t.steps)+1)
		}
	}
	if t := terms[0]; len(terms) == 1 && t.root.kind == rootArg && !t.steps[0].All {
		p.direct = t
	}
	for _, is := range []error{ErrNoBody, ErrNotJSON, ErrTooLarge} {
		p.faults = append(p.faults, bodyFault{is, fmt.Errorf("path %q: %w", path, is)})
	}
	p.scratch.New = func() any { return &parts{lists: make([]List, len(terms))} }
	return p, nil
}

// String returns the path as it was written.
func (p *Path) String() string { return p.path }

// NeedsBody reports whether the path looks into the body.
func (p *Path) NeedsBody() bool { return p.needs(rootBody) }

// NeedsArgs reports whether the path looks into arguments.
func (p *Path) NeedsArgs() bool { return p.needs(rootArg) }

func (p *Path) needs(kind rootKind) bool {
	return slices.ContainsFunc(p.terms, func(t *term) bool { return t.root.kind == kind })
}

// Extract adds the call's values at the path to the list; none if the value is absent. It never panics. An error says what failed, and there is no value then: a *CallError
// for what is the caller's own (an extractor, a method of an object), or what is in the carrier's error (ErrNoBody, ErrNotJSON, ErrTooLarge). A *TypeError, which comes once for
// each type that the path does not fit, leaves the values of elements of other types in the list. A composite has every combination of its parts' values, and none if one is absent.
func (p *Path) Extract(c *Call, values *List) error {
	if p.direct != nil && p.direct.quick(c, values) {
		return nil
	}
	return p.extract(c, values)
}

// extract is Extract for every path.
func (p *Path) extract(c *Call, values *List) (err error) {
	start := values.mark()
	w := walk{path: p, call: c}
	defer func() {
		if r := recover(); r != nil {
			values.cut(start)
			err = &CallError{Path: p.path, What: w.what(), Message: panicText(r), Panicked: true}
		}
	}()
	if len(p.terms) == 1 {
		err = w.term(p.terms[0], values)
	} else {
		err = w.composite(values)
	}
	if err != nil {
		values.cut(start)
		return err
	}
	if w.misfit != nil {
		return w.misfit
	}
	return nil
}

// panicText returns what a panic said.
func panicText(r any) string { return bounded(fmt.Sprint(r), maxMessage) }

// maxMessage bounds what is kept of a foreign error's or panic's text.
const maxMessage = 256

// bodyError returns the error for a body that there is none of.
func (p *Path) bodyError(err error) error {
	for _, f := range p.faults {
		if errors.Is(err, f.is) {
			return f.err
		}
	}
	return &CallError{Path: p.path, What: "reading the body", Message: bounded(err.Error(), maxMessage)}
}
