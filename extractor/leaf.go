package extractor

import (
	"database/sql/driver"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// leafKind is how a single value is read.
type leafKind uint8

const (
	leafNone leafKind = iota
	leafString
	leafInt
	leafUint
	leafFloat
	leafBool
	leafBytes
	leafByteArray
	leafComplex
	leafJSONNumber
	leafJSON
	leafTime
	// Those from here on call methods of the object's own.
	leafKeyer
	leafValuer
	leafMarshaler
	leafStringer
)

// method is the name of the method that the kind calls.
func (k leafKind) method() string {
	switch k {
	case leafKeyer:
		return "ParamKey"
	case leafValuer:
		return "Value"
	case leafMarshaler:
		return "MarshalText"
	case leafStringer:
		return "String"
	}
	return ""
}

// leafOf says how values of a type that is no pointer and no interface are read; leafNone if they are no single values.
func leafOf(t reflect.Type) leafKind {
	pointer := reflect.PointerTo(t) // has the methods of both
	switch {
	case pointer.Implements(reflect.TypeFor[Keyer]()):
		return leafKeyer
	case t == reflect.TypeFor[time.Time]():
		return leafTime
	case t == reflect.TypeFor[json.Number]():
		return leafJSONNumber
	case t == reflect.TypeFor[json.RawMessage]():
		return leafJSON
	case pointer.Implements(reflect.TypeFor[driver.Valuer]()):
		return leafValuer
	case pointer.Implements(reflect.TypeFor[interface{ ProtoMessage() }]()):
		return leafNone
	case pointer.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return leafMarshaler
	case pointer.Implements(reflect.TypeFor[fmt.Stringer]()):
		return leafStringer
	}
	return plainLeaf(t)
}

// plainLeaf is leafOf without methods.
func plainLeaf(t reflect.Type) leafKind {
	switch t.Kind() {
	case reflect.String:
		return leafString
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return leafInt
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return leafUint
	case reflect.Float32, reflect.Float64:
		return leafFloat
	case reflect.Bool:
		return leafBool
	case reflect.Complex64, reflect.Complex128:
		return leafComplex
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return leafBytes
		}
	case reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return leafByteArray
		}
	}
	return leafNone
}

// read reads a single value; false if it is absent.
func (k leafKind) read(v reflect.Value) (Value, bool, error) {
	switch k {
	case leafString:
		return Text(v.String()), true, nil
	case leafInt:
		return Int(v.Int()), true, nil
	case leafUint:
		return Uint(v.Uint()), true, nil
	case leafFloat:
		value, ok := Float(v.Float(), v.Type().Bits())
		return value, ok, nil
	case leafBool:
		return Bool(v.Bool()), true, nil
	case leafBytes:
		return Bytes(v.Bytes()), !v.IsNil(), nil
	case leafByteArray:
		return byteArray(v), true, nil
	case leafComplex:
		return Text(strconv.FormatComplex(v.Complex(), 'g', -1, v.Type().Bits())), true, nil
	case leafJSONNumber:
		return jsonNumber(v.String()), v.String() != "", nil
	case leafJSON:
		return scalarJSON(v.Bytes())
	case leafNone:
		return Value{}, false, nil
	}
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.Func, reflect.Chan:
		if v.IsNil() {
			return Value{}, false, nil
		}
	}
	return k.ask(objectOf(v))
}

// ask gets the value from a method of the object.
func (k leafKind) ask(object any) (Value, bool, error) {
	switch k {
	case leafTime:
		if t, ok := object.(*time.Time); ok {
			return Time(*t), true, nil
		}
		return Time(object.(time.Time)), true, nil
	case leafKeyer:
		return Text(object.(Keyer).ParamKey()), true, nil
	case leafValuer:
		x, err := object.(driver.Valuer).Value()
		if err != nil {
			return Value{}, false, err
		}
		return plain(x)
	case leafMarshaler:
		b, err := object.(encoding.TextMarshaler).MarshalText()
		if err != nil {
			return Value{}, false, err
		}
		return Bytes(b), true, nil
	}
	return Text(object.(fmt.Stringer).String()), true, nil
}

// objectOf returns the value as an object that has all methods of its type and of pointers to it. One that cannot be pointed to is copied if the pointer has more.
func objectOf(v reflect.Value) any {
	if v.CanAddr() {
		return v.Addr().Interface()
	}
	if reflect.PointerTo(v.Type()).NumMethod() == v.Type().NumMethod() {
		return v.Interface()
	}
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	return p.Interface()
}

// plain returns the Value of what a Value method returned, whose own methods are not asked.
func plain(x any) (Value, bool, error) {
	switch x := x.(type) {
	case nil:
		return Value{}, false, nil
	case time.Time:
		return Time(x), true, nil
	}
	v := reflect.ValueOf(x)
	return plainLeaf(v.Type()).read(v)
}

// Bool returns the Value of a boolean.
func Bool(b bool) Value {
	if b {
		return Value{text: "true"}
	}
	return Value{text: "false"}
}

// Time returns the Value of a time.
func Time(t time.Time) Value {
	var buf [40]byte
	return Bytes(t.UTC().AppendFormat(buf[:0], time.RFC3339Nano))
}

// byteArray returns the hexadecimal digits of an array of bytes.
func byteArray(v reflect.Value) Value {
	b := make([]byte, v.Len())
	reflect.Copy(reflect.ValueOf(b), v)
	return Bytes(hex.AppendEncode(nil, b))
}

// Of returns the Value of any Go value; false if it is absent (see Value). A panic of the value's own methods is the caller's.
func Of(x any) (Value, bool) {
	switch x := x.(type) {
	case nil:
		return Value{}, false
	case string:
		return Text(x), true
	case int:
		return Int(int64(x)), true
	case bool:
		return Bool(x), true
	case float64:
		return Float(x, 64)
	}
	v := reflect.ValueOf(x)
	for range maxDepth {
		if k := v.Kind(); k != reflect.Pointer && k != reflect.Interface {
			value, ok, err := leafOf(v.Type()).read(v)
			return value, ok && err == nil
		}
		if v.IsNil() {
			return Value{}, false
		}
		v = v.Elem()
	}
	return Value{}, false
}
