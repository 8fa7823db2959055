package nethttp

import (
	"context"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/cordon-go/cordon"
)

// WithAPIGroups makes a request a call of each group of paths that it belongs to (cordon.Rules.APIGroup) besides its own resource: first of its own, then of the groups in written order, each once.
// What one of them refuses is refused, and the calls entered before are given back (cordon.Entry.Cancel). All of them end with the same outcome.
//
// The path is compared as the client wrote it, escapes included and without query. One that holds escapes, doubled slashes or dots as segments is also compared decoded and cleaned, so that nobody
// gets around a group by writing %6F for o. An empty path is /. Calls of groups are not marked as inbound, so that system rules count a request once. For servers.
func WithAPIGroups() Option {
	return optionFunc(func(c *config) { c.apiGroups = true })
}

// groupsOf appends the names of the groups that a request belongs to but for its own resource's.
func (c *config) groupsOf(eng *cordon.Engine, dst []string, r *http.Request, own string) []string {
	if !c.apiGroups || r.URL == nil {
		return dst
	}
	written := r.URL.EscapedPath()
	if written == "" && r.Method != http.MethodConnect {
		written = "/" // http://example.com is http://example.com/
	}
	names := eng.APIGroups(dst, written)
	if strings.Contains(written, "%") || strings.Contains(written, "//") || strings.Contains(written, "/.") {
		for _, name := range eng.APIGroups(nil, plainPath(r.URL.Path)) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if i := slices.Index(names, own); i >= 0 {
		names = slices.Delete(names, i, i+1)
	}
	return names
}

// plainPath returns a decoded path without doubled slashes and dots as segments. A slash at its end stays.
func plainPath(p string) string {
	if p == "" || p[0] != '/' {
		return p
	}
	plain := path.Clean(p)
	if strings.HasSuffix(p, "/") && plain != "/" {
		plain += "/"
	}
	return plain
}

// calls are what one request is: a call of its own resource, and one of each group of paths that it belongs to.
type calls struct {
	own    cordon.Entry
	groups []cordon.Entry
}

// enter asks for all calls of a request. Without error all of them are held, with one none.
func enter(ctx context.Context, eng *cordon.Engine, req cordon.Request, groups []string) (calls, error) {
	req.Cancelable = len(groups) > 0
	own, err := eng.Enter(ctx, req)
	if err != nil || len(groups) == 0 {
		return calls{own: own}, err
	}
	c := calls{own: own, groups: make([]cordon.Entry, 0, len(groups))}
	admitted := false
	defer func() {
		if !admitted { // or something handed to the engine ended the goroutine
			c.cancel()
		}
	}()
	req.Inbound = false // this is counted once
	for i, name := range groups {
		req.Resource, req.Cancelable = name, i < len(groups)-1
		ent, err := eng.Enter(ctx, req)
		if err != nil {
			return calls{}, err
		}
		c.groups = append(c.groups, ent)
	}
	admitted = true
	return c, nil
}

// cancel gives all calls back, the last one first.
func (c *calls) cancel() {
	for i := range slices.Backward(c.groups) {
		c.groups[i].Cancel()
	}
	c.own.Cancel()
}

// end ends all calls, the last one first.
func (c *calls) end(o cordon.Outcome) {
	for i := range slices.Backward(c.groups) {
		c.groups[i].End(o)
	}
	c.own.End(o)
}
