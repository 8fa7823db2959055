package rule

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

const wantWhole = "a whole number"

func decodeInt(d *decoder, n *Node, v reflect.Value) {
	if n.Kind != Number {
		d.wrong(n, wantWhole)
		return
	}
	bits := v.Type().Bits()
	top := uint64(1)<<(bits-1) - 1
	want := fmt.Sprintf("%s from %d to %d", wantWhole, -int64(top)-1, top)
	negative, size, why := wholeNumber(n.Text)
	switch {
	case why != "":
		d.fault(n.Pos, wantWhole, "%s %s", n.Text, why)
	case negative && size > top+1 || !negative && size > top:
		d.fault(n.Pos, want, "%s is out of range", n.Text)
	case negative:
		v.SetInt(-int64(size-1) - 1)
	default:
		v.SetInt(int64(size))
	}
}

func decodeUint(d *decoder, n *Node, v reflect.Value) {
	if n.Kind != Number {
		d.wrong(n, wantWhole)
		return
	}
	top := uint64(math.MaxUint64) >> (64 - v.Type().Bits())
	negative, size, why := wholeNumber(n.Text)
	switch {
	case why != "":
		d.fault(n.Pos, wantWhole, "%s %s", n.Text, why)
	case negative && size > 0 || size > top:
		d.fault(n.Pos, fmt.Sprintf("%s from 0 to %d", wantWhole, top), "%s is out of range", n.Text)
	default:
		v.SetUint(size)
	}
}

func decodeFloat(d *decoder, n *Node, v reflect.Value) {
	if n.Kind != Number {
		d.wrong(n, "a number")
		return
	}
	f, why := number(n.Text, v.Type().Bits())
	if why != "" {
		d.fault(n.Pos, "a finite number", "%s %s", n.Text, why)
		return
	}
	v.SetFloat(f)
}

// wholeNumber reads a whole number as JSON or YAML write it, as sign and absolute value; why says what is wrong with it.
func wholeNumber(text string) (negative bool, size uint64, why string) {
	if size, err := strconv.ParseUint(text, 10, 64); err == nil && (text[0] != '0' || len(text) == 1) {
		return false, size, "" // the frequent case
	}
	if size, based, why := basedNumber(text); based || why != "" {
		return false, size, why
	}
	digits := strings.TrimPrefix(text, "+")
	if digits == text {
		digits, negative = strings.CutPrefix(text, "-")
	}
	if size, err := strconv.ParseUint(digits, 10, 64); err == nil {
		return negative, size, ""
	}
	f, why := number(text, 64)
	switch {
	case why != "":
		return false, 0, why
	case f != math.Trunc(f):
		return false, 0, "is not a whole number"
	case math.Abs(f) > 1<<53:
		return false, 0, "is out of range, or too big to be exact in this form"
	}
	return math.Signbit(f) && f != 0, uint64(math.Abs(f)), ""
}

// basedNumber reads 0x1F and 0o17, and refuses 017, which means 15 in YAML 1.1 and 17 in YAML 1.2.
func basedNumber(text string) (size uint64, based bool, why string) {
	base := 0
	switch {
	case strings.HasPrefix(text, "0x"):
		base = 16
	case strings.HasPrefix(text, "0o"):
		base = 8
	default:
		digits := strings.TrimLeft(text, "+-")
		if len(digits) > 1 && digits[0] == '0' && strings.Trim(digits, "0123456789") == "" {
			return 0, false, "begins with a zero and is octal to some readers, decimal to others"
		}
		return 0, false, ""
	}
	size, err := strconv.ParseUint(text[2:], base, 64)
	if err != nil {
		return 0, true, "is out of range"
	}
	return size, true, ""
}

// number reads a number as JSON or YAML write it; why says what is wrong with it.
func number(text string, bits int) (f float64, why string) {
	if size, based, why := basedNumber(text); based || why != "" {
		return float64(size), why
	}
	f, err := strconv.ParseFloat(text, bits)
	switch {
	case err == nil && f == 0 && strings.ContainsAny(mantissa(text), "123456789"):
		return 0, "is too small to be told from 0"
	case err == nil && !math.IsNaN(f) && !math.IsInf(f, 0):
		return f, ""
	case math.IsInf(f, 0) && strings.ContainsAny(text, "0123456789"):
		return 0, "is out of range"
	}
	return 0, "is not a finite number"
}

// mantissa returns a number's text up to its exponent.
func mantissa(text string) string {
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		return text[:i]
	}
	return text
}

const wantDuration = `a duration such as "250ms", "10s" or "1m30s"`

func decodeDuration(d *decoder, n *Node, v reflect.Value) {
	switch n.Kind {
	case String:
		length, want, why := duration(n.Text)
		if why != "" {
			d.fault(n.Pos, want, "%s %s", shown(n.Text), why)
			return
		}
		v.SetInt(int64(length))
	case Number:
		if f, why := number(n.Text, 64); why != "" || f != 0 {
			d.fault(n.Pos, fmt.Sprintf(`a duration such as "%[1]sms" or "%[1]ss"`, n.Text), "%s has no unit", n.Text)
			return
		}
		v.SetInt(0)
	default:
		d.wrong(n, wantDuration)
	}
}

// duration reads a duration; why says what is wrong with it and want what would be right.
func duration(text string) (length time.Duration, want, why string) {
	length, err := time.ParseDuration(text)
	switch {
	case err == nil && length < 0:
		return 0, "a duration of 0 or more", "is negative"
	case err == nil:
		return length, "", ""
	case text == "":
		return 0, wantDuration, "is empty"
	}
	amount := strings.TrimLeft(text, "0123456789.")
	unit := strings.TrimSpace(amount)
	amount = strings.TrimSpace(text[:len(text)-len(amount)])
	if amount == "" {
		return 0, wantDuration, "is not a duration"
	}
	if unit == "" {
		return 0, fmt.Sprintf(`a duration such as "%[1]sms" or "%[1]ss"`, amount), "has no unit"
	}
	if hours := longUnit(unit); hours > 0 {
		if f, err := strconv.ParseFloat(amount, 64); err == nil && f*hours < 1e6 {
			return 0, fmt.Sprintf(`it in hours: "%sh"`, strconv.FormatFloat(f*hours, 'f', -1, 64)), "has a unit that is not known; ns, us, ms, s, m and h are"
		}
	}
	if known := knownUnit(unit); known != "" {
		if _, err := time.ParseDuration(amount + known); err == nil {
			return 0, fmt.Sprintf("%q", amount+known), "is not a duration"
		}
		if known == unit && strings.Count(amount, ".") < 2 {
			return 0, "at most 2562047h", "is too long"
		}
	}
	return 0, wantDuration, "is not a duration"
}

// longUnit returns how many hours a unit above the hour has, 0 if it is none.
func longUnit(unit string) float64 {
	switch strings.ToLower(unit) {
	case "d", "day", "days":
		return 24
	case "w", "week", "weeks":
		return 7 * 24
	}
	return 0
}

// knownUnit returns Go's word for what others call a unit.
func knownUnit(unit string) string {
	switch strings.ToLower(unit) {
	case "ns", "us", "ms", "s", "m", "h":
		return strings.ToLower(unit)
	case "sec", "secs", "second", "seconds":
		return "s"
	case "min", "mins", "minute", "minutes":
		return "m"
	case "hour", "hours", "hr", "hrs":
		return "h"
	case "millis", "msec", "millisecond", "milliseconds":
		return "ms"
	}
	return ""
}
