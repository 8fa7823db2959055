package extractor

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// Value is a value of a call in its canonical form, which tells values apart and shows them: two Values are equal (==) if and only if they are the same value. The zero
// Value is the empty string.
//
// The canonical form is a text, kept as a number where it is a decimal integer of 64 bits:
//
//   - Integers of all Go types, and floats without fraction below 2^53, are their decimal digits: 102. So is a string that is exactly those digits (no sign +, no leading
//     zeros, no -0). Integers beyond int64 are their digits too.
//   - Other floats are the shortest text that reads back to them, with an exponent below 1e-4 and from 1e21 on (1e-05, 1e+21), 32-bit ones by their own precision. NaN is
//     absent. Infinities are "+Inf" and "-Inf". Numbers in JSON are integers if they are written so, of any length, else floats of 64 bits; one beyond those is its text.
//   - true and false are those words. Strings and byte slices are their bytes, also if they are not valid UTF-8. Arrays of bytes (as UUIDs) are what their String method
//     says, or their hexadecimal digits without one. Complex numbers are as strconv writes them.
//   - A string of more than MaxText bytes is "sha256:" and the hash of it in hexadecimal, so that what is kept is bounded.
//   - What says its own key (Keyer) is that text. A time is RFC 3339 with nanoseconds in UTC. What has database/sql's Value method is what that returns, and what has a
//     MarshalText or else a String method is that text; but not a protobuf message, whose String method is no stable text.
//   - nil, and what says that it is null (an invalid sql.Null, an unset optional field) is absent.
//   - A struct, slice, array or map without such a method is no single value, and absent (a path can take its fields, and its elements by [*]). So are channels and functions.
type Value struct {
	// text is the text, or "" if number is not 0: an integer, all but 0, which is the text 0. So one value has one representation.
	text   string
	number int64
}

// MaxText is the length in bytes up to which a string is kept as it is.
const MaxText = 256

// Keyer is implemented by objects that state their own key.
type Keyer interface {
	// ParamKey returns what the object is limited by. It is called on every call and must be quick.
	ParamKey() string
}

// Text returns the Value of a string.
func Text(s string) Value {
	if n, ok := canonicalInt(s); ok {
		return Int(n)
	}
	if len(s) > MaxText {
		return hashed(s)
	}
	return Value{text: s}
}

// Bytes returns the Value of bytes, which it does not keep. nil is the empty text.
func Bytes(b []byte) Value {
	if n, ok := canonicalInt(b); ok {
		return Int(n)
	}
	if len(b) > MaxText {
		return hashed(b)
	}
	return Value{text: string(b)}
}

// hashed returns what stands for a text that is too long, without a copy of it.
func hashed[T string | []byte](s T) Value {
	h := sha256.New()
	var part [1024]byte
	for len(s) > 0 {
		n := copy(part[:], s)
		h.Write(part[:n])
		s = s[n:]
	}
	const prefix = "sha256:"
	return Value{text: string(hex.AppendEncode([]byte(prefix), h.Sum(part[:0])))}
}

// Int returns the Value of an integer.
func Int(n int64) Value {
	if n == 0 {
		return Value{text: "0"}
	}
	return Value{number: n}
}

// canonicalInt reads the decimal digits of an int64 as strconv would write them, and nothing else.
func canonicalInt[T string | []byte](s T) (int64, bool) {
	const longest = len("-9223372036854775808")
	if len(s) == 0 || len(s) > longest {
		return 0, false
	}
	i := 0
	if s[0] == '-' {
		i = 1
	}
	digits := len(s) - i
	if digits == 0 || digits > longest-1 || s[i] == '0' && len(s) > 1 {
		return 0, false
	}
	var n uint64 // 19 digits cannot overflow it
	for ; i < len(s); i++ {
		d := s[i] - '0'
		if d > 9 {
			return 0, false
		}
		n = n*10 + uint64(d)
	}
	if s[0] == '-' {
		return -int64(n), n <= 1<<63
	}
	return int64(n), n < 1<<63
}

// Separator stands between the parts of a composite.
const Separator = "|"

// Join returns the composite of one or more values: different lists of values give different composites. It is their texts with | between them; a | or \ of their own
// has a \ before it: Join of "acme" and 7 is "acme|7".
func Join(values ...Value) Value {
	var buf [2 * MaxText]byte
	b := buf[:0]
	for i, v := range values {
		if i > 0 {
			b = append(b, Separator...)
		}
		if v.number != 0 || !strings.ContainsAny(v.text, `|\`) {
			b = v.Append(b)
			continue
		}
		for j := range len(v.text) {
			if c := v.text[j]; c == '|' || c == '\\' {
				b = append(b, '\\')
			}
			b = append(b, v.text[j])
		}
	}
	return Bytes(b)
}

// String returns the canonical text.
func (v Value) String() string {
	if v.number != 0 {
		return strconv.FormatInt(v.number, 10)
	}
	return v.text
}

// Append appends the canonical text to b.
func (v Value) Append(b []byte) []byte {
	if v.number != 0 {
		return strconv.AppendInt(b, v.number, 10)
	}
	return append(b, v.text...)
}

// Clone returns the same value without a hold on the memory of the call that it came from: for what outlives the call.
func (v Value) Clone() Value {
	v.text = strings.Clone(v.text)
	return v
}
