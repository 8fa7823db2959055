package extractor

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxPath, maxTerms and maxSteps bound a path: its bytes, its terms and the steps of each.
	maxPath  = 1024
	maxTerms = 8
	maxSteps = 32
)

// parse reads a path. The terms' own extractors are taken from the options.
func parse(path string, named map[string]Extractor) ([]*term, error) {
	p := parser{path: path, named: named}
	if len(path) > maxPath {
		return nil, &SyntaxError{Path: bounded(path, 64), Offset: maxPath, Message: fmt.Sprintf("the path has %d bytes", len(path)), Want: fmt.Sprintf("at most %d", maxPath)}
	}
	if !utf8.ValidString(path) {
		return nil, &SyntaxError{Path: path, Offset: len(strings.ToValidUTF8(path, "")), Message: "the path is not valid UTF-8"}
	}
	var terms []*term
	for {
		p.space()
		from := p.at
		t, err := p.term()
		if err != nil {
			return nil, err
		}
		if len(terms) == maxTerms {
			return nil, p.fault(from, "too many values for a composite", fmt.Sprintf("at most %d", maxTerms))
		}
		terms = append(terms, t)
		p.space()
		if p.end() {
			return terms, nil
		}
		if !p.take('+') {
			return nil, p.fault(p.at, fmt.Sprintf("%s cannot follow %s", p.found(), path[from:p.at]), "a step (.name or [...]), + and another value, or the end")
		}
	}
}

// parser reads a path from left to right.
type parser struct {
	path  string
	at    int
	named map[string]Extractor
}

func (p *parser) fault(at int, message, want string) error {
	return &SyntaxError{Path: p.path, Offset: at, Message: message, Want: want}
}

func (p *parser) end() bool { return p.at == len(p.path) }

// found names what stands at the parser's place.
func (p *parser) found() string {
	if p.end() {
		return "the end"
	}
	_, size := utf8.DecodeRuneInString(p.path[p.at:])
	return strconv.Quote(p.path[p.at : p.at+size])
}

func (p *parser) take(c byte) bool {
	if p.end() || p.path[p.at] != c {
		return false
	}
	p.at++
	return true
}

func (p *parser) space() {
	for p.take(' ') || p.take('\t') {
	}
}

// name reads a plain word, "" if there is none.
func (p *parser) name() string {
	from := p.at
	for i, r := range p.path[from:] {
		if !wordRune(r, i == 0) {
			break
		}
		p.at = from + i + utf8.RuneLen(r)
	}
	return p.path[from:p.at]
}

// wordRune reports whether a plain word can have the rune, at its beginning or after it.
func wordRune(r rune, first bool) bool {
	return r == '_' || unicode.IsLetter(r) || !first && (r == '-' || unicode.IsDigit(r))
}

// isWord reports whether the text is one plain word.
func isWord(s string) bool {
	for i, r := range s {
		if !wordRune(r, i == 0) || r == utf8.RuneError {
			return false
		}
	}
	return s != ""
}

// term reads one value's path.
func (p *parser) term() (*term, error) {
	from := p.at
	name := p.name()
	if name == "" {
		return nil, p.fault(p.at, p.found()+" cannot begin a path", "one of "+rootNames())
	}
	r, ok := rootOf(name)
	if !ok {
		own := p.named[name]
		if own == nil {
			return nil, p.fault(from, fmt.Sprintf("there is no value called %q", name), p.suggest(name))
		}
		r = root{name: name, kind: rootOwn, example: name}
		return p.checked(&term{root: r, own: own, what: fmt.Sprintf("extractor %q", name)})
	}
	return p.checked(&term{root: r})
}

// checked reads the steps and checks that the root has such.
func (p *parser) checked(t *term) (*term, error) {
	for {
		from := p.at
		s, ok, err := p.step()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if len(t.steps) == maxSteps {
			return nil, p.fault(from, "too many steps", fmt.Sprintf("at most %d", maxSteps))
		}
		if want := t.misfit(s); want != "" {
			return nil, p.fault(from, fmt.Sprintf("%s has no %s", t.describe(len(t.steps)), s), want)
		}
		t.steps = append(t.steps, s)
	}
	if want := t.missing(); want != "" {
		return nil, p.fault(p.at, t.root.name+" alone is no value", want)
	}
	if t.root.kind == rootPart {
		t.key = keyOf(t.root.part, t.steps[0].Name)
	}
	return t, nil
}

// misfit says what would be right instead if the term cannot go on with the step.
func (t *term) misfit(s step) string {
	n := len(t.steps)
	switch t.root.kind {
	case rootArg:
		if n == 0 && (s.Name != "" || s.OrSelf) {
			return "the argument's number, as arg[0]"
		}
	case rootPart:
		if n > 0 || s.Name == "" {
			return "one name, as " + t.root.example
		}
		if (t.root.part == Peer || t.root.part == Client) && s.Name != "ip" {
			return t.root.example
		}
	case rootMethod, rootOrigin, rootResource, rootOwn:
		return t.root.name + " alone"
	}
	return ""
}

// missing says what must follow if the term cannot end here.
func (t *term) missing() string {
	if len(t.steps) > 0 {
		return ""
	}
	switch t.root.kind {
	case rootArg:
		return "the argument's number, as arg[0]"
	case rootPart:
		return "a name, as " + t.root.example
	}
	return ""
}

// step reads one step, if there is one.
func (p *parser) step() (step, bool, error) {
	switch {
	case p.take('.'):
		name := p.name()
		if name == "" {
			return step{}, false, p.fault(p.at, p.found()+" after .", `a name; one that is no plain word is quoted, as ["X-Tenant"]`)
		}
		return stepOf(Step{Name: name}), true, nil
	case p.take('['):
		p.space()
		s, err := p.bracket()
		if err != nil {
			return step{}, false, err
		}
		p.space()
		if !p.take(']') {
			return step{}, false, p.fault(p.at, p.found()+" inside brackets", "]")
		}
		return stepOf(s), true, nil
	}
	return step{}, false, nil
}

// bracket reads what stands between brackets.
func (p *parser) bracket() (Step, error) {
	const want = `a number, *, or a quoted name, as [0], [-1], [*], [*?], ["X-Tenant"]`
	switch {
	case p.end():
		return Step{}, p.fault(p.at, "the path ends inside brackets", want)
	case p.take('*'):
		return Step{All: true, OrSelf: p.take('?')}, nil
	case p.path[p.at] == '"' || p.path[p.at] == '\'':
		name, err := p.quoted()
		return Step{Name: name}, err
	}
	from := p.at
	p.take('-')
	for !p.end() && '0' <= p.path[p.at] && p.path[p.at] <= '9' {
		p.at++
	}
	digits := p.path[from:p.at]
	if digits == "" || digits == "-" {
		p.at = from
		return Step{}, p.fault(from, p.found()+" inside brackets", want)
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	if err != nil || strconv.FormatInt(n, 10) != digits {
		return Step{}, p.fault(from, digits+" is no index", "a number of up to 32 bits without leading zeros")
	}
	return Step{Index: int(n)}, nil
}

// quoted reads a name in quotes.
func (p *parser) quoted() (string, error) {
	quote, from := p.path[p.at], p.at
	p.at++
	var b strings.Builder
	for !p.end() {
		c := p.path[p.at]
		p.at++
		switch {
		case c == quote:
			if b.Len() == 0 {
				return "", p.fault(from, "the name is empty", "a name")
			}
			return b.String(), nil
		case c == '\\':
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
		default:
			b.WriteByte(c)
		}
	}
	return "", p.fault(from, "the quote is not closed", string(quote))
}

// escape reads what follows a backslash.
func (p *parser) escape() (rune, error) {
	const want = `\\, \", \', \n, \r, \t or \u and four hexadecimal digits (no surrogates)`
	from := p.at - 1
	if p.end() {
		return 0, p.fault(from, `\ at the end`, want)
	}
	c := p.path[p.at]
	p.at++
	switch c {
	case '\\', '"', '\'':
		return rune(c), nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		if len(p.path)-p.at >= 4 {
			n, err := strconv.ParseUint(p.path[p.at:p.at+4], 16, 32)
			if r := rune(n); err == nil && utf8.ValidRune(r) {
				p.at += 4
				return r, nil
			}
		}
	}
	p.at = from
	return 0, p.fault(from, "unknown escape", want)
}

// suggest says what could be meant by a word that is no root.
func (p *parser) suggest(name string) string {
	if other, ok := otherNames[name]; ok {
		return fmt.Sprintf("%s (did you mean that?), or one of %s", other, rootNames())
	}
	var names []string
	for _, r := range roots {
		names = append(names, r.name)
	}
	own := slices.Sorted(maps.Keys(p.named))
	want := "one of " + rootNames()
	if len(own) > 0 {
		const most = 10
		list := strings.Join(own[:min(len(own), most)], ", ")
		if len(own) > most {
			list += ", ..."
		}
		want += ", or an extractor of one's own: " + list
	}
	if near := closest(name, append(names, own...)); near != "" {
		want = fmt.Sprintf("%s (did you mean that?), or %s", near, want)
	}
	return want
}

// rootNames lists the words that a path can begin with.
func rootNames() string {
	var names []string
	for _, r := range roots {
		names = append(names, r.name)
	}
	return strings.Join(names, ", ")
}
