package extractor

import (
	"math"
	"strconv"
)

// Float returns the Value of a float of 32 or 64 bits; false for NaN, which is absent.
func Float(f float64, bits int) (Value, bool) {
	switch {
	case math.IsNaN(f):
		return Value{}, false
	case math.IsInf(f, 1):
		return Value{text: "+Inf"}, true
	case math.IsInf(f, -1):
		return Value{text: "-Inf"}, true
	case f == math.Trunc(f) && math.Abs(f) < 1<<53:
		return Int(int64(f)), true
	}
	var buf [32]byte
	// The 32-bit float that is written 0.0001 is a little less than the 64-bit one.
	least, most := 1e-4, 1e21
	if bits == 32 {
		least = float64(float32(least))
	}
	format := byte('f')
	if a := math.Abs(f); a < least || a >= most {
		format = 'e'
	}
	return Bytes(strconv.AppendFloat(buf[:0], f, format, -1, bits)), true
}

// Uint returns the Value of an unsigned integer.
func Uint(n uint64) Value {
	if n <= math.MaxInt64 {
		return Int(int64(n))
	}
	return Value{text: strconv.FormatUint(n, 10)}
}

// jsonNumber returns the Value of a number as JSON writes it; of a text that is none, that text.
func jsonNumber[T string | []byte](s T) Value {
	if n, ok := canonicalInt(s); ok {
		return Int(n)
	}
	n, whole := numberLen(s)
	text := string(s)
	if n != len(s) || whole && text != "-0" {
		return Text(text) // no number, or an integer beyond 64 bits
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return Text(text) // beyond the floats
	}
	v, _ := Float(f, 64)
	return v
}

// numberLen returns how many bytes of s are a number as JSON writes it, 0 if it begins with none, and whether that is an integer without an exponent.
func numberLen[T string | []byte](s T) (n int, whole bool) {
	digits := func() int {
		from := n
		for n < len(s) && '0' <= s[n] && s[n] <= '9' {
			n++
		}
		return n - from
	}
	if n < len(s) && s[n] == '-' {
		n++
	}
	zero := n < len(s) && s[n] == '0'
	if zero {
		n++
	} else if digits() == 0 {
		return 0, false
	}
	whole = true
	if n < len(s) && s[n] == '.' {
		n++
		if whole = false; digits() == 0 {
			return 0, false
		}
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		n++
		if n < len(s) && (s[n] == '+' || s[n] == '-') {
			n++
		}
		if whole = false; digits() == 0 {
			return 0, false
		}
	}
	return n, whole
}
