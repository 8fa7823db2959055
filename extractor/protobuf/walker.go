package protobuf

import (
	"reflect"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/cordon-go/cordon/extractor"
)

// Walker returns a walker of protobuf messages, which finds the types of messages in an Any among those that are linked into the program. It is safe for concurrent use.
func Walker() extractor.Walker { return WalkerOf(protoregistry.GlobalTypes) }

// WalkerOf is Walker with another source of the types of messages in an Any, which must be safe for concurrent use.
func WalkerOf(types protoregistry.MessageTypeResolver) extractor.Walker { return walker{types} }

type walker struct {
	types protoregistry.MessageTypeResolver
}

// Walk returns the getter for a type of messages.
func (w walker) Walk(t reflect.Type, steps []extractor.Step) (extractor.Getter, bool, error) {
	md, known := descriptorOf(t)
	if !known {
		return nil, false, nil
	}
	if md == nil {
		return w.dynamic(steps), true, nil
	}
	if get := openPath(t, md, steps); get != nil {
		return get, true, nil
	}
	p, misfit := w.compile(md, steps)
	if misfit != nil {
		return nil, true, misfit
	}
	return func(object any, values *extractor.List) error {
		return p.run(object.(proto.Message).ProtoReflect(), values, 0)
	}, true, nil
}

// dynamic returns the getter for messages that only say themselves what they are.
func (w walker) dynamic(steps []extractor.Step) extractor.Getter {
	programs := &programs{walker: w, steps: steps}
	return func(object any, values *extractor.List) error {
		return programs.run(object.(proto.Message).ProtoReflect(), values, 0)
	}
}

// descriptorOf returns what messages of a Go type are; nil if that is not the type's, but each message's. It is not known if the type is none of messages.
func descriptorOf(t reflect.Type) (md protoreflect.MessageDescriptor, known bool) {
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct || !t.Implements(reflect.TypeFor[proto.Message]()) {
		return nil, false
	}
	// A struct that embeds a message has its methods too, and may fail without one.
	defer func() {
		if recover() != nil {
			md, known = nil, false
		}
	}()
	m := reflect.New(t.Elem()).Interface().(proto.Message).ProtoReflect()
	if reflect.TypeOf(m.Interface()) != t {
		return nil, false
	}
	return m.Descriptor(), true
}
