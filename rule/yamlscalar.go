package rule

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// plain says what a scalar without quotes is in YAML 1.2's core schema, and its text.
func plain(s string) (NodeKind, string) {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return Null, ""
	case "true", "True", "TRUE":
		return Bool, "true"
	case "false", "False", "FALSE":
		return Bool, "false"
	}
	if yamlNumber(s) {
		return Number, s
	}
	return String, s
}

// yamlNumber reports whether a scalar without quotes is a number in YAML 1.2's core schema.
func yamlNumber(s string) bool {
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		return hex != "" && strings.Trim(hex, "0123456789abcdefABCDEF") == ""
	}
	if octal, ok := strings.CutPrefix(s, "0o"); ok {
		return octal != "" && strings.Trim(octal, "01234567") == ""
	}
	if s == ".nan" || s == ".NaN" || s == ".NAN" {
		return true
	}
	if s != "" && (s[0] == '-' || s[0] == '+') {
		s = s[1:]
	}
	if s == ".inf" || s == ".Inf" || s == ".INF" {
		return true
	}
	whole := cutDigits(&s)
	fraction := 0
	if strings.HasPrefix(s, ".") {
		s = s[1:]
		fraction = cutDigits(&s)
	}
	if whole+fraction == 0 {
		return false
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '-' || s[0] == '+') {
			s = s[1:]
		}
		if cutDigits(&s) == 0 {
			return false
		}
	}
	return s == ""
}

// cutDigits removes the digits s begins with and says how many.
func cutDigits(s *string) int {
	n := 0
	for n < len(*s) && '0' <= (*s)[n] && (*s)[n] <= '9' {
		n++
	}
	*s = (*s)[n:]
	return n
}

// yamlScalar writes a text so that every reader of YAML takes it for that text: without quotes where nothing could go wrong.
func yamlScalar(s string) string {
	if plainIsSafe(s) {
		return s
	}
	return string(appendQuoted(nil, s))
}

// plainIsSafe reports whether a text needs no quotes, in YAML 1.1 neither, inside a flow mapping neither.
func plainIsSafe(s string) bool {
	if s == "" {
		return false
	}
	switch strings.ToLower(s) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return false
	}
	if '0' <= s[0] && s[0] <= '9' {
		// Of what begins with a digit only durations are frequent. 1e5s is none.
		_, err := time.ParseDuration(s)
		return err == nil && strings.Trim(s, "0123456789.hmsun") == "" && s[len(s)-1] > '9'
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', c == '/':
		case '0' <= c && c <= '9', c == '.', c == '-', c == '$':
			if i == 0 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// appendQuoted appends a text in double quotes, with only such escapes as JSON and YAML both know. The text must be valid UTF-8.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r > 0xFFFF || r == ' ' || unicode.IsPrint(r):
			b = utf8.AppendRune(b, r)
		default:
			b = append(b, `\u`...)
			hex := strconv.FormatUint(uint64(r), 16)
			b = append(b, "0000"[len(hex):]...)
			b = append(b, hex...)
		}
	}
	return append(b, '"')
}
