package gateway

import (
	"iter"
	"net"
	"net/http"
	"path"
	"slices"
	"strings"
)

// maxHost is the length of the longest host name there can be.
const maxHost = 253

// A table finds the route of a request in time that grows with the depth of its path, bounded by that of the deepest prefix.
// It is immutable.
type table struct {
	routes    map[routeKey]*route
	paths     map[routeKey]bool // without method: which hosts and prefixes there are routes for
	maxPrefix int
}

func newTable(routes []*route) *table {
	t := &table{routes: map[routeKey]*route{}, paths: map[routeKey]bool{}}
	for _, r := range routes {
		for _, key := range routeKeys(r.Route) {
			t.routes[key] = r
			t.paths[routeKey{host: key.host, prefix: key.prefix}] = true
			t.maxPrefix = max(t.maxPrefix, len(key.prefix))
		}
	}
	return t
}

// find returns the route of a request for a host and a path; without one, methods are those that there would be one for.
func (t *table) find(method, host, urlPath string) (r *route, methods []string) {
	if urlPath == "" || urlPath[0] != '/' {
		return nil, nil
	}
	p := path.Clean(urlPath)
	host = hostName(host)
	for h := range hostKeys(host) {
		for prefix := range prefixes(p, t.maxPrefix) {
			if !t.paths[routeKey{host: h, prefix: prefix}] {
				continue
			}
			if r := t.routes[routeKey{h, prefix, method}]; r != nil {
				return r, nil
			}
			if r := t.routes[routeKey{h, prefix, ""}]; r != nil {
				return r, nil
			}
			methods = append(methods, t.methods(h, prefix)...)
		}
	}
	slices.Sort(methods)
	return nil, slices.Compact(methods)
}

// methods is only for the answer to a request that there is no route for.
func (t *table) methods(host, prefix string) []string {
	var methods []string
	for key := range t.routes {
		if key.host == host && key.prefix == prefix {
			methods = append(methods, key.method)
		}
	}
	return methods
}

// hostKeys yields the host, its wildcards from the longest, and any.
func hostKeys(host string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if host != "" && len(host) <= maxHost { // no route's host is longer
			if !yield(host) {
				return
			}
			for _, rest, more := strings.Cut(host, "."); more; _, rest, more = strings.Cut(rest, ".") {
				if !yield(anyHostMark + rest) {
					return
				}
			}
		}
		yield("")
	}
}

// prefixes yields the path and all its parents, longest first, without trailing slash (so "/" is empty), but none longer than most.
func prefixes(p string, most int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for end := len(p); end >= 0; end = strings.LastIndexByte(p[:end], '/') {
			if end <= most && !yield(p[:end]) {
				return
			}
		}
	}
}

// hostName is a host as routes name it: without port and trailing dot, in lower case.
func hostName(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// cleanPrefix is a prefix as the table keeps it: without trailing slash, so that "/" is empty.
func cleanPrefix(prefix string) string {
	return strings.TrimSuffix(path.Clean("/"+prefix), "/")
}

// hasDotSegment reports whether a path has a segment "." or "..", with or without parameters ("..;x", which some servers read
// as ".."): a route chosen by one reading of it may not be the one that an upstream with another should have had.
func hasDotSegment(p string) bool {
	if !strings.Contains(p, "/.") {
		return false
	}
	for segment := range strings.SplitSeq(p, "/") {
		if name, _, _ := strings.Cut(segment, ";"); name == "." || name == ".." {
			return true
		}
	}
	return false
}

// stripPrefix returns the path below the prefix. A path that is not written as the prefix is (with a doubled slash, say) is cleaned first.
func stripPrefix(p, prefix string) string {
	rest, ok := strings.CutPrefix(p, prefix)
	if !ok {
		rest = strings.TrimPrefix(path.Clean(p), prefix)
	}
	if !strings.HasPrefix(rest, "/") {
		rest = "/" + rest
	}
	return rest
}

// stripURL strips both forms of a request's path; the escaped one is dropped (and so escaped anew) where its prefix is escaped otherwise.
func stripURL(r *http.Request, prefix string) {
	r.URL.Path = stripPrefix(r.URL.Path, prefix)
	if raw, ok := strings.CutPrefix(r.URL.RawPath, prefix); ok && strings.HasPrefix(raw, "/") {
		r.URL.RawPath = raw
	} else {
		r.URL.RawPath = ""
	}
}
