package apigroup

import (
	"regexp"
	"strings"

	"github.com/cordon-go/cordon/rule"
)

// An ant is a compiled Pattern. It has the meaning that Spring's matcher gives to such patterns, which Sentinel uses: paths are compared segment by segment, empty segments do not count, ** stands
// for any number of segments, and a slash at the end is asked for where the pattern ends with a segment other than **.
type ant struct {
	rooted bool // the pattern begins with a slash, and so must the path
	closed bool // the pattern ends with a slash
	deep   bool // there is a **
	// head are the segments before the first **, or all; tail those after the last, and blocks the runs between others.
	head, tail []segment
	blocks     [][]segment
}

// A segment matches one segment of a path.
type segment struct {
	text    string
	any     bool // it is *
	matcher *rule.Matcher
}

func (s *segment) matches(name string) bool {
	switch {
	case s.any:
		return true
	case s.matcher == nil:
		return name == s.text
	}
	return s.matcher.Matches(name)
}

// variable finds the variables of a segment, as {id} and {id:[0-9]+}.
var variable = regexp.MustCompile(`\{((?:\{[^/]+?\}|[^/{}]|\\[{}])+?)\}`)

// isPattern reports whether a text has anything that stands for others: ?, * or a variable.
func isPattern(text string) bool {
	return strings.ContainsAny(text, "*?") || variable.MatchString(text)
}

// newAnt compiles a pattern.
func newAnt(pattern string) (*ant, error) {
	a := &ant{rooted: strings.HasPrefix(pattern, "/"), closed: strings.HasSuffix(pattern, "/")}
	var run []segment
	for text := range strings.SplitSeq(pattern, "/") {
		switch {
		case text == "":
			continue
		case text != "**":
			s, err := newSegment(text)
			if err != nil {
				return nil, err
			}
			run = append(run, s)
			continue
		case !a.deep:
			a.deep, a.head = true, run
		case len(run) > 0:
			a.blocks = append(a.blocks, run)
		}
		run = nil
	}
	if a.deep {
		a.tail = run
	} else {
		a.head = run
	}
	return a, nil
}

// newSegment compiles a segment that is not **.
func newSegment(text string) (segment, error) {
	s := segment{text: text, any: text == "*"}
	if s.any || !isPattern(text) {
		return s, nil
	}
	// A variable without an expression is a *.
	wildcard, own := "", false
	var expr strings.Builder
	rest := text
	for _, at := range variable.FindAllStringIndex(text, -1) {
		skipped := len(text) - len(rest)
		literal, inner := text[skipped:at[0]], text[at[0]+1:at[1]-1]
		rest = text[at[1]:]
		wildcard += literal + "*"
		expr.WriteString(quoted(literal))
		if _, re, ok := strings.Cut(inner, ":"); ok {
			own = true
			if err := rule.Regex(re).Check(); err != nil {
				return s, err
			}
			expr.WriteString("(?:" + re + ")")
		} else {
			expr.WriteString("(?s:.*)")
		}
	}
	match := rule.Wildcard(wildcard + rest)
	if own {
		match = rule.Regex(expr.String() + quoted(rest))
	}
	m, err := match.Compile()
	s.matcher = &m
	return s, err
}

// quoted writes a text with ? and * as an expression.
func quoted(text string) string {
	return strings.NewReplacer(`\?`, `(?s:.)`, `\*`, `(?s:.*)`).Replace(regexp.QuoteMeta(text))
}

// patternPrefix returns a text that all paths begin with which the pattern matches.
func patternPrefix(pattern string) string {
	if end := strings.IndexAny(pattern, "*?{"); end >= 0 {
		pattern = pattern[:end]
	}
	if strings.Contains(pattern, "//") {
		return pattern[:strings.Index(pattern, "//")] // the slashes of a path need not be doubled
	}
	return strings.TrimSuffix(pattern, "/") // /orders/** matches /orders too
}

// matches reports whether the pattern matches the path. It takes time by the product of their lengths at most, and allocates nothing.
func (a *ant) matches(path string) bool {
	if strings.HasPrefix(path, "/") != a.rooted {
		return false
	}
	closed := strings.HasSuffix(path, "/")
	rest := path
	for i := range a.head {
		name, after := first(rest)
		if name == "" {
			// The path is at its end. Of what is left of the pattern only a * at its end is content with a slash instead of a segment.
			return !a.deep && i == len(a.head)-1 && a.head[i].any && closed
		}
		if !a.head[i].matches(name) {
			return false
		}
		rest = after
	}
	if name, _ := first(rest); name == "" {
		if a.deep {
			return len(a.blocks) == 0 && len(a.tail) == 0
		}
		return a.closed == closed
	}
	if !a.deep {
		return false
	}
	for i := len(a.tail) - 1; i >= 0; i-- {
		name, before := last(rest)
		if name == "" || !a.tail[i].matches(name) || i == len(a.tail)-1 && a.closed != closed {
			return false
		}
		rest = before
	}
	// A block that is found as early as possible leaves the most to those after it.
	for _, block := range a.blocks {
		for {
			if after, ok := begins(rest, block); ok {
				rest = after
				break
			}
			name, after := first(rest)
			if name == "" {
				return false
			}
			rest = after
		}
	}
	return true
}

// begins reports whether the path begins with the segments, and what comes after them.
func begins(path string, block []segment) (rest string, ok bool) {
	for i := range block {
		name, after := first(path)
		if name == "" || !block[i].matches(name) {
			return "", false
		}
		path = after
	}
	return path, true
}

// first returns the first segment of a path, "" if there is none, and the path after it.
func first(path string) (name, rest string) {
	path = strings.TrimLeft(path, "/")
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}

// last returns the last segment of a path, "" if there is none, and the path before it.
func last(path string) (name, rest string) {
	path = strings.TrimRight(path, "/")
	i := strings.LastIndexByte(path, '/')
	return path[i+1:], path[:i+1]
}
