package protobuf

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/cordon-go/cordon/extractor"
)

// opKind is what one operation of a program does.
type opKind uint8

const (
	opField   opKind = iota // to a field
	opElement               // to an element of a repeated field
	opKey                   // to an element of a map
	opAll                   // to each element, for the operations after it
	opAllKeys               // the same for a map
	opJSON                  // the rest is in a Struct, Value or ListValue
	opAny                   // the rest is in what an Any holds
	opTime                  // to the value of a Timestamp
	opSpan                  // to the value of a Duration
	opLeaf                  // to the single value
)

// op is one operation of a program.
type op struct {
	kind opKind
	// of is the kind of the values that are taken, names those of an enum's numbers.
	of    protoreflect.Kind
	names map[protoreflect.EnumNumber]extractor.Value
	// field is the field that is gone to. presence says that it can tell whether it is set, message that it is one.
	field    protoreflect.FieldDescriptor
	presence bool
	message  bool
	index    int
	key      protoreflect.MapKey
	steps    []extractor.Step
	held     *programs
}

// program gets values out of messages of one type.
type program struct {
	// parents are the messages to go through first, ops what to do in the last of them. scalar says that this is to take a field of a single scalar.
	parents []protoreflect.FieldDescriptor
	ops     []op
	scalar  bool
}

// compiler makes one program.
type compiler struct {
	walker walker
	ops    []op
}

// compile makes the program for a type of messages.
func (w walker) compile(md protoreflect.MessageDescriptor, steps []extractor.Step) (*program, *extractor.TypeError) {
	c := compiler{walker: w}
	if misfit := c.message(md, steps); misfit != nil {
		return nil, misfit
	}
	p := &program{ops: c.ops}
	for len(p.ops) > 0 && p.ops[0].message {
		p.parents = append(p.parents, p.ops[0].field)
		p.ops = p.ops[1:]
	}
	p.scalar = len(p.ops) == 2 && p.ops[0].kind == opField && p.ops[1].kind == opLeaf
	return p, nil
}

func (c *compiler) add(o op) { c.ops = append(c.ops, o) }

func misfit(t protoreflect.FullName, steps []extractor.Step, format string, args ...any) *extractor.TypeError {
	e := &extractor.TypeError{Type: string(t), Message: fmt.Sprintf(format, args...)}
	if len(steps) > 0 {
		e.Step = steps[0].String()
	}
	return e
}

// message adds the operations for the steps into a message.
func (c *compiler) message(md protoreflect.MessageDescriptor, steps []extractor.Step) *extractor.TypeError {
	name := md.FullName()
	if name != "google.protobuf.ListValue" && name != "google.protobuf.Value" && name != "google.protobuf.Any" {
		steps = past(steps)
	}
	switch name {
	case "google.protobuf.Struct", "google.protobuf.ListValue":
		if len(steps) == 0 {
			return misfit(name, steps, "it is no single value; take one of its elements, or each by [*]")
		}
		c.add(op{kind: opJSON, steps: steps})
		return nil
	case "google.protobuf.Value":
		c.add(op{kind: opJSON, steps: steps})
		return nil
	case "google.protobuf.Any":
		c.add(op{kind: opAny, held: &programs{walker: c.walker, steps: steps}})
		return nil
	}
	if len(steps) == 0 {
		return c.end(md)
	}
	return c.into(md, steps)
}

// past returns the steps after those that go nowhere in what is no list.
func past(steps []extractor.Step) []extractor.Step {
	for len(steps) > 0 && steps[0].OrSelf {
		steps = steps[1:]
	}
	return steps
}

// end adds the operation that takes a message for a single value.
func (c *compiler) end(md protoreflect.MessageDescriptor) *extractor.TypeError {
	switch name := md.FullName(); name {
	case "google.protobuf.Timestamp":
		c.add(op{kind: opTime})
	case "google.protobuf.Duration":
		c.add(op{kind: opSpan})
	case "google.protobuf.DoubleValue", "google.protobuf.FloatValue", "google.protobuf.Int64Value", "google.protobuf.UInt64Value", "google.protobuf.Int32Value",
		"google.protobuf.UInt32Value", "google.protobuf.BoolValue", "google.protobuf.StringValue", "google.protobuf.BytesValue":
		value := md.Fields().ByNumber(1)
		c.field(value)
		c.add(leafOf(value))
	default:
		return misfit(name, nil, "a message is no single value; name one of its fields: %s", fieldNames(md.Fields()))
	}
	return nil
}

func (c *compiler) field(fd protoreflect.FieldDescriptor) {
	single := fd.Cardinality() != protoreflect.Repeated
	message := single && fd.Message() != nil
	c.add(op{kind: opField, field: fd, message: message, presence: fd.HasPresence() && !message})
}

// into goes into a field of a message.
func (c *compiler) into(md protoreflect.MessageDescriptor, steps []extractor.Step) *extractor.TypeError {
	fd, err := fieldOf(md, steps[0])
	if err != "" {
		return misfit(md.FullName(), steps, "%s", err)
	}
	c.field(fd)
	steps = steps[1:]
	switch {
	case fd.IsMap():
		return c.mapped(fd, steps)
	case fd.IsList():
		return c.listed(fd, steps)
	}
	return c.value(fd, steps)
}

// value goes on in a single value of a field's type.
func (c *compiler) value(fd protoreflect.FieldDescriptor, steps []extractor.Step) *extractor.TypeError {
	if md := fd.Message(); md != nil {
		return c.message(md, steps)
	}
	if steps = past(steps); len(steps) > 0 {
		return misfit(fd.FullName(), steps, "a value of type %s has nothing inside", fd.Kind())
	}
	c.add(leafOf(fd))
	return nil
}

// leafOf returns the operation that takes a value of a field's type.
func leafOf(fd protoreflect.FieldDescriptor) op {
	o := op{kind: opLeaf, of: fd.Kind()}
	if enum := fd.Enum(); enum != nil {
		values := enum.Values()
		o.names = make(map[protoreflect.EnumNumber]extractor.Value, values.Len())
		for i := range values.Len() {
			// Of several names of one number the first counts, as in JSON.
			v := values.Get(i)
			if _, ok := o.names[v.Number()]; !ok {
				o.names[v.Number()] = extractor.Text(string(v.Name()))
			}
		}
	}
	return o
}

// name returns the name of an enum's number.
func (o *op) name(n protoreflect.EnumNumber) extractor.Value {
	if name, ok := o.names[n]; ok {
		return name
	}
	return extractor.Int(int64(n))
}

func (c *compiler) listed(fd protoreflect.FieldDescriptor, steps []extractor.Step) *extractor.TypeError {
	switch {
	case len(steps) == 0:
		return misfit(fd.FullName(), steps, "a repeated field is no single value; take one of its elements, or each by [*]")
	case steps[0].All:
		c.add(op{kind: opAll})
	case steps[0].Name != "":
		return misfit(fd.FullName(), steps, "a repeated field has elements: [0], [-1] or [*]")
	default:
		c.add(op{kind: opElement, index: steps[0].Index})
	}
	return c.value(fd, steps[1:])
}

func (c *compiler) mapped(fd protoreflect.FieldDescriptor, steps []extractor.Step) *extractor.TypeError {
	steps = past(steps)
	switch {
	case len(steps) == 0:
		return misfit(fd.FullName(), steps, "a map is no single value; take one of its elements, or each by [*]")
	case steps[0].All:
		c.add(op{kind: opAllKeys})
	default:
		key, ok := mapKey(fd.MapKey().Kind(), steps[0])
		if !ok {
			return misfit(fd.FullName(), steps, "its keys are of type %s", fd.MapKey().Kind())
		}
		c.add(op{kind: opKey, key: key})
	}
	return c.value(fd.MapValue(), steps[1:])
}

// mapKey returns the key of a map that a step names.
func mapKey(kind protoreflect.Kind, s extractor.Step) (protoreflect.MapKey, bool) {
	text := keyText(s)
	var v protoreflect.Value
	var err error
	switch kind {
	case protoreflect.StringKind:
		v = protoreflect.ValueOfString(text)
	case protoreflect.BoolKind:
		v, err = protoreflect.ValueOfBool(text == "true"), nil
		if text != "true" && text != "false" {
			return protoreflect.MapKey{}, false
		}
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		var n int64
		n, err = strconv.ParseInt(text, 10, 32)
		v = protoreflect.ValueOfInt32(int32(n))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		var n uint64
		n, err = strconv.ParseUint(text, 10, 32)
		v = protoreflect.ValueOfUint32(uint32(n))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		var n int64
		n, err = strconv.ParseInt(text, 10, 64)
		v = protoreflect.ValueOfInt64(n)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		var n uint64
		n, err = strconv.ParseUint(text, 10, 64)
		v = protoreflect.ValueOfUint64(n)
	default:
		return protoreflect.MapKey{}, false
	}
	return v.MapKey(), err == nil
}

// keyText is a step as the key of a map.
func keyText(s extractor.Step) string {
	if s.Name == "" {
		return strconv.Itoa(s.Index)
	}
	return s.Name
}

// fieldOf returns the field that a step names, or why there is none.
func fieldOf(md protoreflect.MessageDescriptor, s extractor.Step) (protoreflect.FieldDescriptor, string) {
	fields := md.Fields()
	if s.Name == "" {
		return nil, "a message has fields: " + fieldNames(fields)
	}
	if fd := fields.ByName(protoreflect.Name(s.Name)); fd != nil {
		return fd, ""
	}
	if fd := fields.ByJSONName(s.Name); fd != nil {
		return fd, ""
	}
	plain := func(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }
	var found protoreflect.FieldDescriptor
	for i := range fields.Len() {
		fd := fields.Get(i)
		if plain(string(fd.Name())) != plain(s.Name) && !strings.EqualFold(fd.JSONName(), s.Name) {
			continue
		}
		if found != nil {
			return nil, fmt.Sprintf("the fields %s and %s both mean that; write the name in the .proto file", found.Name(), fd.Name())
		}
		found = fd
	}
	if found != nil {
		return found, ""
	}
	if oneof := md.Oneofs().ByName(protoreflect.Name(s.Name)); oneof != nil {
		return nil, "that is a oneof; name one of its fields: " + fieldNames(oneof.Fields())
	}
	return nil, "there is no such field; fields are: " + fieldNames(fields)
}

// fieldNames lists fields for people.
func fieldNames(fields protoreflect.FieldDescriptors) string {
	const most = 10
	var names []string
	for i := range fields.Len() {
		if i == most {
			names = append(names, "...")
			break
		}
		names = append(names, string(fields.Get(i).Name()))
	}
	if len(names) == 0 {
		return "it has none"
	}
	return strings.Join(names, ", ")
}
