package sentinel

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/cordon-go/cordon/apigroup"
	"github.com/cordon-go/cordon/rule"
)

// How a predicate of an API matches a path.
const (
	javaPathExact  = 0
	javaPathPrefix = 1
	javaPathRegex  = 2
)

func (r *reader) javaAPI() {
	g := apigroup.Group{ID: r.e.ID, Name: r.e.Resource}
	if m := r.find("predicateItems"); m == nil {
		r.fault("predicateItems", "a list of {pattern, matchStrategy}; [] for none", "it is missing, and Sentinel Java would refuse the API")
	}
	paths := map[string]string{"name": "apiName", "paths": "predicateItems"}
	for i, in := range r.list("predicateItems", predicateKeys, "{pattern, matchStrategy}") {
		if p, ok := in.path(); ok {
			paths[fmt.Sprintf("paths[%d]", len(g.Paths))] = fmt.Sprintf("predicateItems[%d]", i)
			g.Paths = append(g.Paths, p)
		}
	}
	if r.e.OK() && len(g.Paths) == 0 {
		r.warn("predicateItems", "the paths of the API", "the API has no path, and no request is one of its")
	}
	r.e.likeness = r.e.Resource
	if r.accept(g.Problems(), paths) {
		r.e.Rules.APIGroup = []apigroup.Group{g}
	}
}

// path reads a predicate. An expression that is not valid is a fault of its own, while Java goes without the API's other predicates too.
func (r *reader) path() (p apigroup.Path, ok bool) {
	strategy, ok := r.choice("matchStrategy", javaPathExact, span{javaPathExact, javaPathRegex})
	if !ok {
		return p, false
	}
	pattern := r.text("pattern")
	if isBlank(pattern) {
		r.warn("pattern", "a path", "it is missing or blank; the item is left out, as Sentinel Java does")
		return p, false
	}
	switch strategy {
	case javaPathExact:
		p.Exact = pattern
	case javaPathPrefix:
		p.Pattern = r.antPattern(pattern)
	case javaPathRegex:
		expr, err := fromJavaRegex(pattern)
		if err != nil {
			r.fault("pattern", "an expression that RE2 knows", "%v", err)
			return p, false
		}
		p.Regex = expr
	}
	return p, true
}

// antPattern checks what Java calls a prefix.
func (r *reader) antPattern(pattern string) string {
	if !isAnt(pattern) {
		r.warn("pattern", strings.TrimSuffix(pattern, "/")+"/**", "a prefix is an Ant pattern, and this one has neither * nor ?: here it matches the path itself, in Sentinel Java nothing")
	}
	return pattern
}

func (w *writer) apiGroup(g apigroup.Group) {
	if w.dialect != Java {
		w.l.omit("", "sentinel-golang has no APIs")
		return
	}
	if isBlank(g.Name) {
		w.l.omit("name", "Sentinel Java refuses a name of blanks")
	}
	w.text("name", "apiName", g.Name)
	var items []rule.Node
	for i, p := range g.Paths {
		field, strategy, text := fmt.Sprintf("paths[%d]", i), int64(javaPathExact), p.Exact
		switch {
		case p.Pattern != "":
			text = p.Pattern
			if isAnt(text) {
				strategy = javaPathPrefix // else it is exact: to Sentinel Java the prefix would match nothing
			}
		case p.Regex != "":
			expr, err := toJavaRegex(p.Regex)
			if err != nil {
				w.l.add(field, "%v; it is not written", err)
				continue
			}
			text, strategy = expr, javaPathRegex
		}
		if !utf8.ValidString(text) || isBlank(text) {
			w.l.add(field, "Sentinel Java cannot have %q as a path; it is not written", text)
			continue
		}
		items = append(items, itemNode("pattern", textNode(text), "matchStrategy", wholeNode(strategy)))
	}
	w.o.say("predicateItems", rule.Node{Kind: rule.List, Items: items})
}

// isAnt reports whether a path has what makes it a pattern: a star, a question mark or a variable.
func isAnt(path string) bool {
	begin := strings.IndexByte(path, '{')
	return strings.ContainsAny(path, "*?") || begin >= 0 && strings.IndexByte(path[begin:], '}') > 0
}
