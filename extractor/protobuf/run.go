package protobuf

import (
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/cordon-go/cordon/extractor"
)

// run adds the values that the program gets out of a message. depth is how many Anys lie around it.
func (p *program) run(m protoreflect.Message, values *extractor.List, depth int) error {
	for _, fd := range p.parents {
		if m = m.Get(fd).Message(); !m.IsValid() {
			return nil
		}
	}
	if p.scalar {
		if field := &p.ops[0]; !field.presence || m.Has(field.field) {
			if value, ok := p.ops[1].read(m.Get(field.field)); ok {
				values.Add(value)
			}
		}
		return nil
	}
	return run(p.ops, protoreflect.ValueOfMessage(m), values, depth)
}

func run(ops []op, v protoreflect.Value, values *extractor.List, depth int) error {
	for i := range ops {
		o := &ops[i]
		switch o.kind {
		case opField:
			m := v.Message()
			if o.presence && !m.Has(o.field) {
				return nil
			}
			if v = m.Get(o.field); o.message && !v.Message().IsValid() {
				return nil
			}
		case opElement:
			list, j := v.List(), o.index
			if j < 0 {
				j += list.Len()
			}
			if j < 0 || j >= list.Len() {
				return nil
			}
			v = list.Get(j)
		case opKey:
			if v = v.Map().Get(o.key); !v.IsValid() {
				return nil
			}
		case opAll:
			list := v.List()
			for j := 0; j < list.Len() && values.More(); j++ {
				if err := run(ops[i+1:], list.Get(j), values, depth); err != nil {
					return err
				}
			}
			return nil
		case opAllKeys:
			return eachKey(ops[i+1:], v.Map(), values, depth)
		case opJSON:
			walkJSON(v.Message(), o.steps, values)
			return nil
		case opAny:
			return o.held.any(v.Message(), values, depth)
		default:
			if value, ok := o.read(v); ok {
				values.Add(value)
			}
		}
	}
	return nil
}

// eachKey runs operations for every element of a map.
func eachKey(ops []op, in protoreflect.Map, values *extractor.List, depth int) (err error) {
	in.Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool {
		if !values.More() {
			return false
		}
		err = run(ops, v, values, depth)
		return err == nil
	})
	return err
}

// read takes the value of a field, or of a message that is one.
func (o *op) read(v protoreflect.Value) (extractor.Value, bool) {
	switch o.kind {
	case opTime:
		seconds, nanos := secondsOf(v.Message())
		return extractor.Time(time.Unix(seconds, nanos)), true
	case opSpan:
		return span(secondsOf(v.Message())), true
	}
	switch o.of {
	case protoreflect.StringKind:
		return extractor.Text(v.String()), true
	case protoreflect.BoolKind:
		return extractor.Bool(v.Bool()), true
	case protoreflect.BytesKind:
		return extractor.Bytes(v.Bytes()), true
	case protoreflect.EnumKind:
		return o.name(v.Enum()), true
	case protoreflect.FloatKind:
		return extractor.Float(v.Float(), 32)
	case protoreflect.DoubleKind:
		return extractor.Float(v.Float(), 64)
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind:
		return extractor.Uint(v.Uint()), true
	}
	return extractor.Int(v.Int()), true
}

// secondsOf returns the fields of a Timestamp or Duration.
func secondsOf(m protoreflect.Message) (seconds, nanos int64) {
	fields := m.Descriptor().Fields()
	return m.Get(fields.ByNumber(1)).Int(), m.Get(fields.ByNumber(2)).Int()
}

// span returns the Value of a time.Duration of that length; beyond its range, of its end.
func span(seconds, nanos int64) extractor.Value {
	const most = int64(1<<63-1) / int64(time.Second)
	d := time.Duration(max(min(seconds, most), -most))*time.Second + time.Duration(nanos)
	switch {
	case seconds > most || seconds > 0 && d < 0:
		d = 1<<63 - 1
	case seconds < -most || seconds < 0 && d > 0 && nanos < 0:
		d = -1 << 63
	}
	return extractor.Text(d.String())
}
