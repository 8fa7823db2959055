package nethttp

import (
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// CheckPathPattern returns what is wrong with a pattern for WithPathPattern.
func CheckPathPattern(pattern string) error {
	rest, ok := strings.CutPrefix(pattern, "/")
	if !ok {
		return fmt.Errorf("nethttp: the path pattern %q does not begin with /; want one as /users/{id}", pattern)
	}
	fault := func(segment, why string) error {
		return fmt.Errorf("nethttp: the path pattern %q: %q %s; want segments as users, {id} and, at the end, {rest...}", pattern, segment, why)
	}
	names := map[string]bool{}
	for more := true; more; {
		var segment string
		segment, rest, more = strings.Cut(rest, "/")
		name, manyfold, named := wildcard(segment)
		switch {
		case !named && (segment == "" || segment == "." || segment == ".." || strings.ContainsAny(segment, "{}?#%")):
			return fault(segment, "is no segment of a path")
		case !named:
		case name == "" || strings.ContainsAny(name, "{}."):
			return fault(segment, "has no name")
		case manyfold && more:
			return fault(segment, "is not at the end")
		case names[name]:
			return fault(segment, "is there twice")
		default:
			names[name] = true
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("nethttp: the path pattern %q names nothing; want one as /users/{id}", pattern)
	}
	return nil
}

// wildcard returns the name in a pattern's segment that stands for any, and whether it is for all that is left.
func wildcard(segment string) (name string, rest, ok bool) {
	if !strings.HasPrefix(segment, "{") || !strings.HasSuffix(segment, "}") {
		return "", false, false
	}
	name, rest = strings.CutSuffix(segment[1:len(segment)-1], "...")
	return name, rest, true
}

// pathValue returns the part of a request's path that a name stands for in the pattern that the mux will find, or in the one of WithPathPattern.
func (c *config) pathValue(r *http.Request, name string) string {
	if r.URL == nil {
		return ""
	}
	if c.mux != nil {
		if _, pattern := c.mux.Handler(r); pattern != "" {
			if slash := strings.IndexByte(pattern, '/'); slash >= 0 { // before it are method and host
				if v := segmentValue(pattern[slash:], r.URL.EscapedPath(), name); v != "" {
					return v
				}
			}
		}
	}
	if c.pathPattern != "" {
		return segmentValue(c.pathPattern, r.URL.EscapedPath(), name)
	}
	return ""
}

// segmentValue returns the part of an escaped path, cleaned as ServeMux cleans it, that a name stands for in a pattern; "" if there is none, or if something before it is not as
// the pattern says.
func segmentValue(pattern, escaped, name string) string {
	if !strings.HasPrefix(escaped, "/") {
		return ""
	}
	clean := path.Clean(escaped)
	if clean != "/" && strings.HasSuffix(escaped, "/") {
		clean += "/"
	}
	pattern, clean = pattern[1:], clean[1:]
	for pattern != "" && clean != "" {
		var want string
		want, pattern, _ = strings.Cut(pattern, "/")
		segment, after, _ := strings.Cut(clean, "/")
		known, rest, named := wildcard(want)
		if rest {
			segment = clean
		}
		clean = after
		text, err := url.PathUnescape(segment)
		switch {
		case err != nil:
			return ""
		case named && known == name:
			return text
		case !named && !sameSegment(want, text):
			return ""
		}
	}
	return ""
}

// sameSegment reports whether a pattern's segment, which may be escaped, is a text.
func sameSegment(want, text string) bool {
	if want == text {
		return true
	}
	plain, err := url.PathUnescape(want)
	return err == nil && plain == text
}
