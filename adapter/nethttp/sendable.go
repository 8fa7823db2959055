package nethttp

import (
	"fmt"
	"net/http"
	"strings"
)

// unsendable returns why a request cannot be sent to anyone, as no transport takes it; nil if it can. Were it left to the transport, every instance would be blamed for it, and the
// request tried with the next one.
func unsendable(r *http.Request) error {
	if r.Method != "" && !isToken(r.Method) {
		return fmt.Errorf("nethttp: the method %.40q cannot be sent; want letters, digits and !#$%%&'*+-.^_`|~", r.Method)
	}
	for _, header := range [...]http.Header{r.Header, r.Trailer} {
		for name, values := range header {
			if !isToken(name) {
				return fmt.Errorf("nethttp: a header field named %.40q cannot be sent; want letters, digits and !#$%%&'*+-.^_`|~", name)
			}
			for _, v := range values {
				if strings.ContainsFunc(v, isControl) {
					return fmt.Errorf("nethttp: the value of header field %.40q cannot be sent; want one without control characters", name)
				}
			}
		}
	}
	return nil
}

// isToken reports whether s is a token of RFC 9110, section 5.6.2.
func isToken(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		digit := c >= '0' && c <= '9'
		if !letter && !digit && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return true
}

func isControl(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }
