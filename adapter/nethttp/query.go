package nethttp

import (
	"net/url"
	"strings"
)

// queryValue returns the first value of a key in a query as url.ParseQuery reads it, without a copy of what needs none: pairs with a semicolon or a wrong
// escape are no pairs.
func queryValue(query, key string) (string, bool) {
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		if !unescapesTo(name, key) || strings.Contains(pair, ";") {
			continue
		}
		if strings.ContainsAny(value, "%+") {
			var err error
			if value, err = url.QueryUnescape(value); err != nil {
				continue
			}
		}
		return value, true
	}
	return "", false
}

// unescapesTo reports whether a query's text is another one escaped.
func unescapesTo(escaped, text string) bool {
	for ; escaped != "" && text != ""; text = text[1:] {
		c, size := escaped[0], 1
		switch c {
		case '+':
			c = ' '
		case '%':
			if len(escaped) < 3 {
				return false
			}
			high, low := hexDigit(escaped[1]), hexDigit(escaped[2])
			if high > 15 || low > 15 {
				return false
			}
			c, size = high<<4|low, 3
		}
		if c != text[0] {
			return false
		}
		escaped = escaped[size:]
	}
	return escaped == "" && text == ""
}

// hexDigit returns a hexadecimal digit's value, more than 15 for anything else.
func hexDigit(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 0xff
}
