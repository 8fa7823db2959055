package nethttp

import (
	"net/http"
	"strings"
)

// Unmatched is what stands in a resource's name for the pattern of a request that matched none, after the method:
// "GET (unmatched)". Paths are never names, so that whoever asks for many makes no resources.
const Unmatched = "(unmatched)"

// serverName names a request by the first that knows a name: WithName, the pattern it will match (WithMux), the pattern it
// has matched (http.Request.Pattern), its method.
func (c *config) serverName(r *http.Request) string {
	if c.name != nil {
		if name := c.name(r); name != "" {
			return name
		}
	}
	if c.mux != nil {
		if _, pattern := c.mux.Handler(r); pattern != "" {
			return pattern
		}
	}
	if r.Pattern != "" {
		return r.Pattern
	}
	return unmatchedName(r.Method)
}

// unmatchedName is a table of constants: methods are the client's to invent too, so unknown ones share a name.
func unmatchedName(method string) string {
	switch method {
	case http.MethodGet, "":
		return "GET " + Unmatched
	case http.MethodHead:
		return "HEAD " + Unmatched
	case http.MethodPost:
		return "POST " + Unmatched
	case http.MethodPut:
		return "PUT " + Unmatched
	case http.MethodPatch:
		return "PATCH " + Unmatched
	case http.MethodDelete:
		return "DELETE " + Unmatched
	case http.MethodConnect:
		return "CONNECT " + Unmatched
	case http.MethodOptions:
		return "OPTIONS " + Unmatched
	case http.MethodTrace:
		return "TRACE " + Unmatched
	default:
		return "OTHER " + Unmatched
	}
}

// clientName names a request by WithName, else by the host and port it goes to, in lower case.
func (c *config) clientName(r *http.Request) string {
	if c.name != nil {
		if name := c.name(r); name != "" {
			return name
		}
	}
	return strings.ToLower(r.URL.Host)
}
