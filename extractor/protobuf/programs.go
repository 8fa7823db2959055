package protobuf

import (
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/cordon-go/cordon/extractor"
)

// maxTypes is how many types of dynamic messages programs are kept for. When there are more, all are forgotten: whoever loads types anew all the time does not keep the old ones.
const maxTypes = 64

// programs are the programs for the types of messages met at one place of a path.
type programs struct {
	walker walker
	steps  []extractor.Step

	mu  sync.Mutex
	now atomic.Pointer[map[protoreflect.MessageDescriptor]*kept]
}

// kept is a program, or why there is none, and whether that was said.
type kept struct {
	program  *program
	misfit   *extractor.TypeError
	reported atomic.Bool
}

// run adds the values in a message of any type.
func (ps *programs) run(m protoreflect.Message, values *extractor.List, depth int) error {
	if !m.IsValid() {
		return nil
	}
	k := ps.of(m.Descriptor())
	if k.misfit != nil {
		if k.reported.CompareAndSwap(false, true) {
			return k.misfit
		}
		return nil
	}
	return k.program.run(m, values, depth)
}

// of returns the program for a type of messages.
func (ps *programs) of(md protoreflect.MessageDescriptor) *kept {
	if now := ps.now.Load(); now != nil {
		if k := (*now)[md]; k != nil {
			return k
		}
	}
	k := &kept{}
	k.program, k.misfit = ps.walker.compile(md, ps.steps)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	next := map[protoreflect.MessageDescriptor]*kept{md: k}
	if now := ps.now.Load(); now != nil && len(*now) < maxTypes {
		if other := (*now)[md]; other != nil {
			return other
		}
		for md, k := range *now {
			next[md] = k
		}
	}
	ps.now.Store(&next)
	return k
}
