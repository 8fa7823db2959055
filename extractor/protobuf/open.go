package protobuf

import (
	"reflect"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/cordon-go/cordon/extractor"
)

// open gets values out of messages whose Go structs have their fields exported (open and hybrid API), for which Go's reflection is a third of the work of protobuf's.
type open struct {
	// fields are the fields to go through, by their number in the struct. All but the last are pointers to messages.
	fields []int
	// optional says that the last is a pointer, nil if it is not set.
	optional bool
	leaf     op
}

// openPath returns a getter for steps through single fields to a scalar. It is nil for others, and for structs that do not have such fields.
func openPath(t reflect.Type, md protoreflect.MessageDescriptor, steps []extractor.Step) extractor.Getter {
	var o open
	for i, s := range steps {
		last := i == len(steps)-1
		fd, err := fieldOf(md, s)
		if err != "" || fd.Cardinality() == protoreflect.Repeated || last != (fd.Message() == nil) {
			return nil
		}
		f, ok := structField(t.Elem(), fd)
		if !ok {
			return nil
		}
		o.fields = append(o.fields, f.Index[0])
		if !last {
			md, t = fd.Message(), f.Type
			if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct || strings.HasPrefix(string(md.FullName()), "google.protobuf.") {
				return nil
			}
			continue
		}
		o.optional = f.Type.Kind() == reflect.Pointer
		// Bytes that can tell whether they are set are no pointer: that is left to protobuf's reflection.
		if o.optional != fd.HasPresence() {
			return nil
		}
		o.leaf = leafOf(fd)
		return o.get
	}
	return nil
}

// structField returns the exported field of a generated struct that holds a message's field. Members of a oneof have none.
func structField(t reflect.Type, fd protoreflect.FieldDescriptor) (reflect.StructField, bool) {
	number := strconv.Itoa(int(fd.Number()))
	for i := range t.NumField() {
		f := t.Field(i)
		if parts := strings.Split(f.Tag.Get("protobuf"), ","); f.IsExported() && len(parts) > 1 && parts[1] == number {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// get adds the value to the list.
func (o *open) get(object any, values *extractor.List) error {
	v := reflect.ValueOf(object)
	for _, i := range o.fields {
		if v = v.Elem(); !v.IsValid() {
			return nil
		}
		v = v.Field(i)
	}
	if o.optional {
		if v = v.Elem(); !v.IsValid() {
			return nil
		}
	}
	if value, ok := o.read(v); ok {
		values.Add(value)
	}
	return nil
}

// read takes the value of a field.
func (o *open) read(v reflect.Value) (extractor.Value, bool) {
	switch v.Kind() {
	case reflect.String:
		return extractor.Text(v.String()), true
	case reflect.Bool:
		return extractor.Bool(v.Bool()), true
	case reflect.Slice:
		return extractor.Bytes(v.Bytes()), true
	case reflect.Float32:
		return extractor.Float(v.Float(), 32)
	case reflect.Float64:
		return extractor.Float(v.Float(), 64)
	case reflect.Uint32, reflect.Uint64:
		return extractor.Uint(v.Uint()), true
	}
	if o.leaf.names != nil {
		return o.leaf.name(protoreflect.EnumNumber(v.Int())), true
	}
	return extractor.Int(v.Int()), true
}
