package apigroup

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cordon-go/cordon/rule"
)

// The bounds of a group.
const (
	maxName  = 1000 // bytes
	maxPaths = 10_000
	maxPath  = 1000 // bytes
	// maxLoose is how many paths may begin with something that stands for others: each is tried on every request.
	maxLoose = 1000
)

// maxSlips is of how many paths that look like slips a group warns one by one.
const maxSlips = 10

// checks collects what is wrong with a group.
type checks struct {
	list  []rule.Problem
	slips int
}

func (c *checks) fault(field, want, format string, args ...any) {
	c.list = append(c.list, rule.Problem{Field: field, Message: fmt.Sprintf(format, args...), Want: want})
}

// slip warns of a path, unless there are too many already.
func (c *checks) slip(field, want, format string, args ...any) {
	if c.slips++; c.slips <= maxSlips {
		c.warn(field, want, format, args...)
	}
}

func (c *checks) warn(field, want, format string, args ...any) {
	c.fault(field, want, format, args...)
	c.list[len(c.list)-1].Warning = true
}

// Problems returns what is wrong with the group: a name that is missing or too long, too many paths, paths that say nothing, or more than one thing, or do not compile. Warnings name
// what is in force and looks like a slip: a group without paths, paths given twice, or that no request can have, and patterns that stand for one path only.
func (g Group) Problems() []rule.Problem {
	var c checks
	switch {
	case g.Name == "":
		c.fault("name", "the resource that its calls count on", "is missing: a group must have a name")
	case len(g.Name) > maxName:
		c.fault("name", fmt.Sprintf("at most %d bytes", maxName), "is %d bytes long", len(g.Name))
	}
	switch {
	case len(g.Paths) == 0:
		c.warn("paths", "the paths of its requests, such as {pattern: /orders/**}", "is empty: no request is of the group")
	case len(g.Paths) > maxPaths:
		c.fault("paths", fmt.Sprintf("at most %d", maxPaths), "are %d: too many to be kept", len(g.Paths))
		return c.list
	}
	loose := 0
	first := make(map[Path]int, len(g.Paths))
	for i, p := range g.Paths {
		at := "paths[" + strconv.Itoa(i) + "]"
		if j, again := first[p]; again {
			c.slip(at, "each path once", "is the same as paths[%d]", j)
			continue
		}
		first[p] = i
		if c.path(at, p) {
			loose++
		}
	}
	if c.slips > maxSlips {
		c.warn("paths", "paths that requests have, each once", "have %d more that look like slips", c.slips-maxSlips)
	}
	if loose > maxLoose {
		c.fault("paths", fmt.Sprintf("at most %d of them, and for the rest paths that begin with their own text", maxLoose),
			"have %d patterns and regexes that begin with no text of their own: too many to be tried on a request", loose)
	}
	return c.list
}

// path finds what is wrong with a path. It returns whether the path has to be tried on every request.
func (c *checks) path(at string, p Path) (loose bool) {
	const one = "one of exact, pattern and regex"
	field, text, set := "", "", 0
	for _, f := range []struct{ name, text string }{{"exact", p.Exact}, {"pattern", p.Pattern}, {"regex", p.Regex}} {
		if f.text != "" {
			field, text = at+"."+f.name, f.text
			set++
		}
	}
	switch {
	case set == 0:
		c.fault(at, one, "says no path")
		return false
	case set > 1:
		c.fault(at, one, "has %d of exact, pattern and regex", set)
		return false
	case len(text) > maxPath:
		c.fault(field, fmt.Sprintf("at most %d bytes", maxPath), "is %d bytes long", len(text))
		return false
	case p.Pattern != "" && !utf8.ValidString(text):
		c.fault(field, "", "pattern %q is not valid UTF-8", text)
		return false
	}
	if text, ok := p.exact(); ok {
		c.exact(field, text)
		if p.Pattern != "" {
			c.slip(field, strconv.Quote(strings.TrimSuffix(text, "/")+"/**")+" for all that is below too, or exact", "has no ?, * or **: %q matches only itself", text)
		}
		return false
	}
	m, err := p.compile()
	if err != nil {
		c.fault(field, "", "%v", err)
		return false
	}
	if p.Regex != "" {
		prefix := p.Prefix()
		if prefix != "" && prefix[0] != '/' {
			c.slip(field, strconv.Quote("/"+text), "matches no request: paths begin with a slash, what %q matches does not", text)
		}
		return len(prefix) < 2
	}
	if !m.ant.rooted {
		c.slip(field, strconv.Quote("/"+text), "matches no request: paths begin with a slash, %q does not", text)
	}
	return len(p.Prefix()) < 2
}

// exact warns of a path that no request has.
func (c *checks) exact(field, path string) {
	switch {
	case path[0] != '/':
		c.slip(field, strconv.Quote("/"+path), "matches no request: paths begin with a slash, %q does not", path)
	case strings.ContainsAny(path, "?#"):
		c.slip(field, strconv.Quote(path[:strings.IndexAny(path, "?#")]), "matches no request: paths are compared without query, %q has one", path)
	case strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		c.slip(field, "the path as clients write it", "matches no request: clients write characters such as those in %q as escapes", path)
	}
}
