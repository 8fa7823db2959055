package extractor

import (
	"reflect"
	"sync"
	"sync/atomic"
)

// maxTypes is how many types a step of a path remembers programs for. For more, the program is made anew for each call, and not said if it does not fit.
const maxTypes = 64

// program is what gets values out of one type.
type program struct {
	ops []op
	// plain says that it only reads fields, and calls nobody's code.
	plain bool
	// misfit says that there is nothing to be got, reported whether that was said.
	misfit   *TypeError
	reported atomic.Bool
}

// typeTable holds the programs for the types met. Reading it takes no lock: it is replaced, never changed.
type typeTable struct {
	mu  sync.Mutex
	now atomic.Pointer[typeSet]
}

// typeSet is a few types to try one after the other, or a map of many.
type typeSet struct {
	few  []typeEntry
	many map[reflect.Type]*program
}

type typeEntry struct {
	t reflect.Type
	p *program
}

// maxFew is how many types are tried one after the other.
const maxFew = 8

// get returns the program for a type, nil if there is none.
func (tab *typeTable) get(t reflect.Type) *program {
	set := tab.now.Load()
	if set == nil {
		return nil
	}
	if set.many != nil {
		return set.many[t]
	}
	for i := range set.few {
		if set.few[i].t == t {
			return set.few[i].p
		}
	}
	return nil
}

// put remembers the program for a type, unless there are too many or somebody else was first, and returns the one to use.
func (tab *typeTable) put(t reflect.Type, p *program) *program {
	tab.mu.Lock()
	defer tab.mu.Unlock()
	if other := tab.get(t); other != nil {
		return other
	}
	old := tab.now.Load()
	if old == nil {
		old = &typeSet{}
	}
	n := len(old.few)
	if n >= maxTypes {
		p.reported.Store(true)
		return p
	}
	set := &typeSet{few: append(old.few[:n:n], typeEntry{t, p})}
	if len(set.few) > maxFew {
		set.many = make(map[reflect.Type]*program, len(set.few))
		for _, e := range set.few {
			set.many[e.t] = e.p
		}
	}
	tab.now.Store(set)
	return p
}

// program makes and remembers the program for a type met at the term's n-th step.
func (p *Path) program(t *term, n int, typ reflect.Type) *program {
	return t.types[n].put(typ, compile(p, t, n, typ))
}
