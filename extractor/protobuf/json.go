package protobuf

import (
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/cordon-go/cordon/extractor"
)

// The numbers of the fields of google.protobuf.Value, and of the only field of Struct and ListValue.
const (
	numberValue = 2
	stringValue = 3
	boolValue   = 4
	structValue = 5
	listValue   = 6
	elements    = 1
)

// walkJSON adds the values at the steps in a Struct, Value or ListValue, of the generated types or dynamic ones.
func walkJSON(m protoreflect.Message, steps []extractor.Step, values *extractor.List) {
	if !m.IsValid() {
		return
	}
	switch in := m.Interface().(type) {
	case *structpb.Struct:
		walkStruct(in, steps, values)
		return
	case *structpb.Value:
		walkValue(in, steps, values)
		return
	case *structpb.ListValue:
		walkList(in, steps, values)
		return
	}
	switch md := m.Descriptor(); md.Name() {
	case "Value":
		fd := m.WhichOneof(md.Oneofs().Get(0))
		if fd == nil {
			return
		}
		switch v := m.Get(fd); fd.Number() {
		case structValue, listValue:
			walkJSON(v.Message(), steps, values)
		default:
			if len(past(steps)) == 0 {
				addScalar(fd.Number(), v, values)
			}
		}
	case "Struct":
		if steps = past(steps); len(steps) > 0 {
			walkMembers(m.Get(md.Fields().ByNumber(elements)).Map(), steps, values)
		}
	case "ListValue":
		if len(steps) > 0 {
			walkElements(m.Get(md.Fields().ByNumber(elements)).List(), steps, values)
		}
	}
}

// addScalar adds the value of one of a Value's fields.
func addScalar(number protoreflect.FieldNumber, v protoreflect.Value, values *extractor.List) {
	switch number {
	case numberValue:
		if value, ok := extractor.Float(v.Float(), 64); ok {
			values.Add(value)
		}
	case stringValue:
		values.Add(extractor.Text(v.String()))
	case boolValue:
		values.Add(extractor.Bool(v.Bool()))
	}
}

func walkMembers(in protoreflect.Map, steps []extractor.Step, values *extractor.List) {
	if !steps[0].All {
		if v := in.Get(protoreflect.ValueOfString(keyText(steps[0])).MapKey()); v.IsValid() {
			walkJSON(v.Message(), steps[1:], values)
		}
		return
	}
	in.Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
		if !values.More() {
			return false
		}
		walkJSON(v.Message(), steps[1:], values)
		return true
	})
}

func walkElements(in protoreflect.List, steps []extractor.Step, values *extractor.List) {
	switch s := steps[0]; {
	case s.All:
		for i := 0; i < in.Len() && values.More(); i++ {
			walkJSON(in.Get(i).Message(), steps[1:], values)
		}
	case s.Name == "":
		i := s.Index
		if i < 0 {
			i += in.Len()
		}
		if 0 <= i && i < in.Len() {
			walkJSON(in.Get(i).Message(), steps[1:], values)
		}
	}
}

// walkValue is walkJSON for the generated type, as the two that follow: protobuf's reflection would allocate.
func walkValue(in *structpb.Value, steps []extractor.Step, values *extractor.List) {
	switch kind := in.GetKind().(type) {
	case *structpb.Value_StructValue:
		walkStruct(kind.StructValue, steps, values)
		return
	case *structpb.Value_ListValue:
		walkList(kind.ListValue, steps, values)
		return
	}
	if len(past(steps)) > 0 {
		return
	}
	switch kind := in.GetKind().(type) {
	case *structpb.Value_NumberValue:
		if value, ok := extractor.Float(kind.NumberValue, 64); ok {
			values.Add(value)
		}
	case *structpb.Value_StringValue:
		values.Add(extractor.Text(kind.StringValue))
	case *structpb.Value_BoolValue:
		values.Add(extractor.Bool(kind.BoolValue))
	}
}

func walkStruct(in *structpb.Struct, steps []extractor.Step, values *extractor.List) {
	switch steps = past(steps); {
	case len(steps) == 0:
	case steps[0].All:
		for _, v := range in.GetFields() {
			if !values.More() {
				return
			}
			walkValue(v, steps[1:], values)
		}
	default:
		if v, ok := in.GetFields()[keyText(steps[0])]; ok {
			walkValue(v, steps[1:], values)
		}
	}
}

func walkList(in *structpb.ListValue, steps []extractor.Step, values *extractor.List) {
	if len(steps) == 0 || steps[0].Name != "" {
		return
	}
	list, i := in.GetValues(), steps[0].Index
	if steps[0].All {
		for _, v := range list {
			if !values.More() {
				return
			}
			walkValue(v, steps[1:], values)
		}
		return
	}
	if i < 0 {
		i += len(list)
	}
	if 0 <= i && i < len(list) {
		walkValue(list[i], steps[1:], values)
	}
}
