package nethttp

import (
	"net/textproto"
	"strings"
)

// cookieValue returns the value of the first cookie of that name as http.Request.Cookie does, but without a copy: one with bytes that no cookie has is none, and
// quotes around a value are not part of it.
func cookieValue(lines []string, name string) (string, bool) {
	if name == "" || strings.ContainsFunc(name, notToken) {
		return "", false
	}
	for _, line := range lines {
		for line != "" {
			var part string
			part, line, _ = strings.Cut(line, ";")
			part = textproto.TrimString(part)
			found, value, _ := strings.Cut(part, "=")
			if textproto.TrimString(found) != name {
				continue
			}
			if n := len(value); n > 1 && value[0] == '"' && value[n-1] == '"' {
				value = value[1 : n-1]
			}
			if !strings.ContainsFunc(value, notInCookie) {
				return value, true
			}
		}
	}
	return "", false
}

// notToken is true for what stands in no token (RFC 9110, section 5.6.2).
func notToken(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
}

// notInCookie is true for what net/http takes in no cookie's value.
func notInCookie(r rune) bool { return r < ' ' || r >= 0x7f || r == '"' || r == ';' || r == '\\' }
