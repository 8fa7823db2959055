package rule

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// ParseYAML parses one YAML 1.2 document, keeping positions; merge keys work. It takes time and memory in proportion to the document's size, whatever is in it:
// together aliases may repeat a million values. Of YAML it leaves out what rules have no use for: keys that are no scalars, tags other than the
// standard ones for texts, numbers, booleans, null, lists and mappings, tag directives, more than one document. Scalars follow the core
// schema (yes and 0b1 are texts). Each key may be given once. The error is a Problem with position.
func ParseYAML(data []byte) (*Node, error) {
	s, err := document(data, maxDocument)
	if err != nil {
		return nil, err
	}
	if err := printable(s); err != nil {
		return nil, err
	}
	p := &yamlParser{text: s, line: 1, anchors: make(map[string]anchored)}
	p.measureIndent()
	n := new(Node)
	if err := p.whole(n); err != nil {
		return nil, err
	}
	return n, nil
}

// printable refuses what YAML does not allow in a document: bytes that are no UTF-8, and control characters.
func printable(s string) error {
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				return Problem{Index: -1, Position: positionAt(s, i), Message: fmt.Sprintf("byte 0x%02X is not valid UTF-8", c), Want: "UTF-8"}
			}
			i += size
			continue
		}
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7F {
			return Problem{Index: -1, Position: positionAt(s, i), Message: fmt.Sprintf("control character %q", c), Want: `it escaped in double quotes, as "\x00"`}
		}
		i++
	}
	return nil
}

// yamlParser reads a document by recursive descent, each byte at most a few times. Its methods return nil or a Problem.
//
// The text is valid UTF-8. Indentation is counted in bytes, as only spaces count, and before a nested block nothing but
// spaces and the indicators - ? : may stand on its line.
type yamlParser struct {
	text string
	// at is the next byte.
	at int
	// line is the current line, counted from 1, begin the offset of its first byte, and indent the number of spaces it begins with.
	line, begin, indent int
	// wide counts the bytes on the line before at that continue a character: a column is the offset in the line without them.
	wide int
	// tab tells that a tab was skipped since the line or the last indicator began. No block may begin behind one.
	tab bool
	// items and fields collect the elements of all open lists and mappings, so that each can be allocated in one piece.
	items   []Node
	fields  []Field
	anchors map[string]anchored
	// values counts the values and keys so far.
	values int
	// aliased counts the values that aliases have repeated.
	aliased int
}

// mark is a place to go back to.
type mark struct {
	at, line, begin, indent, wide int
	tab                           bool
}

func (p *yamlParser) mark() mark { return mark{p.at, p.line, p.begin, p.indent, p.wide, p.tab} }

func (p *yamlParser) back(m mark) {
	p.at, p.line, p.begin, p.indent, p.wide, p.tab = m.at, m.line, m.begin, m.indent, m.wide, m.tab
}

// pos is the position of the next byte.
func (p *yamlParser) pos() Position { return Position{p.line, p.at - p.begin - p.wide + 1} }

// column is how far the next byte is indented.
func (p *yamlParser) column() int { return p.at - p.begin }

func (p *yamlParser) fail(at Position, want, format string, args ...any) error {
	return Problem{Index: -1, Position: at, Message: fmt.Sprintf(format, args...), Want: want}
}

// unexpected is the fault of a character that cannot stand here.
func (p *yamlParser) unexpected(want string) error {
	if p.at >= len(p.text) {
		return p.fail(p.pos(), want, "the document ends too early")
	}
	if p.end() {
		return p.fail(p.pos(), want, "unexpected end of the document (%s)", p.text[p.at:p.at+3])
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.at:])
	return p.fail(p.pos(), want, "unexpected %q", r)
}

// peek returns the byte that comes i bytes after the next, a line break at the end.
func (p *yamlParser) peek(i int) byte {
	if p.at+i < len(p.text) {
		return p.text[p.at+i]
	}
	return '\n'
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isBreak(c byte) bool { return c == '\n' || c == '\r' }

// isFlow reports whether c delimits values in [] and {}.
func isFlow(c byte) bool {
	return c == ',' || c == '[' || c == ']' || c == '{' || c == '}'
}

// spaced reports whether the byte i bytes on is white space or the end: what must follow an indicator.
func (p *yamlParser) spaced(i int) bool { return isBlank(p.peek(i)) || isBreak(p.peek(i)) }

// lineBreak goes past a line break: \n, \r\n or \r.
func (p *yamlParser) lineBreak() {
	if p.text[p.at] == '\r' && p.peek(1) == '\n' && p.at+1 < len(p.text) {
		p.at++
	}
	p.at++
	p.line++
	p.begin, p.wide, p.tab = p.at, 0, false
	p.measureIndent()
}

// measureIndent counts the spaces that the line begins with.
func (p *yamlParser) measureIndent() {
	i := p.begin
	for i < len(p.text) && p.text[i] == ' ' {
		i++
	}
	p.indent = i - p.begin
}

// blanks skips spaces and tabs.
func (p *yamlParser) blanks() {
	for p.at < len(p.text) && isBlank(p.text[p.at]) {
		p.tab = p.tab || p.text[p.at] == '\t'
		p.at++
	}
}

// toBreak goes to the end of the line.
func (p *yamlParser) toBreak() {
	for p.at < len(p.text) && !isBreak(p.text[p.at]) {
		p.step()
	}
}

// step goes on by one byte that is no line break.
func (p *yamlParser) step() {
	if p.text[p.at]&0xC0 == 0x80 {
		p.wide++
	}
	p.at++
}

// comment reports whether a comment comes next: a # at the line's begin or after white space.
func (p *yamlParser) comment() bool {
	return p.peek(0) == '#' && (p.at == p.begin || isBlank(p.text[p.at-1]))
}

// space skips white space, comments and line breaks, and reports whether the line changed.
func (p *yamlParser) space() (crossed bool) {
	for {
		p.blanks()
		if p.comment() {
			p.toBreak()
		}
		if p.at >= len(p.text) || !isBreak(p.text[p.at]) {
			return crossed
		}
		p.lineBreak()
		crossed = true
	}
}

// fresh reports whether nothing but white space stands before the next byte on its line.
func (p *yamlParser) fresh() bool {
	return strings.Trim(p.text[p.begin:p.at], " \t") == ""
}

// end reports whether the document ends here: at the end of the text, or at a line that begins with --- or ...
func (p *yamlParser) end() bool {
	if p.at >= len(p.text) {
		return true
	}
	return p.at == p.begin && (p.marker("---") || p.marker("..."))
}

// marker reports whether m comes next, as a word.
func (p *yamlParser) marker(m string) bool {
	return strings.HasPrefix(p.text[p.at:], m) && p.spaced(len(m))
}

// whole reads the document.
func (p *yamlParser) whole(n *Node) error {
	if err := p.directives(); err != nil {
		return err
	}
	sameLine := false
	if p.at < len(p.text) && p.at == p.begin && p.marker("---") {
		p.at += 3
		sameLine = true
	}
	sameLine = !p.space() && sameLine
	if p.end() {
		if err := p.rest(); err != nil {
			return err
		}
		return empty(Position{1, 1})
	}
	if _, err := p.block(n, place{parent: -1, compact: !sameLine, depth: 1}); err != nil {
		return err
	}
	p.space()
	if !p.end() {
		return p.unexpected("nothing more after the document's value, or indentation that shows where it belongs")
	}
	return p.rest()
}

// directives reads what may stand before the document. Nothing but the version is of any use here.
func (p *yamlParser) directives() error {
	version := false
	var last Position
	for p.space(); p.peek(0) == '%' && p.at == p.begin; p.space() {
		last = p.pos()
		from := p.at
		p.toBreak()
		words := strings.Fields(p.text[from:p.at])
		switch {
		case words[0] == "%TAG":
			return p.fail(last, "standard tags", "tag directives are not supported")
		case words[0] != "%YAML":
		case version || len(words) < 2 || len(words) > 2 && words[2][0] != '#' || !strings.HasPrefix(words[1], "1."):
			return p.fail(last, "%YAML 1.2, once", "this is no version that can be read")
		default:
			version = true
		}
	}
	if last.Line > 0 && (p.at != p.begin || !p.marker("---")) {
		return p.unexpected("--- after directives")
	}
	return nil
}

// rest checks that nothing follows the document but its end, and empty documents.
func (p *yamlParser) rest() error {
	for {
		p.space()
		if p.at >= len(p.text) {
			return nil
		}
		if p.at != p.begin || !p.marker("---") && !p.marker("...") {
			return p.fail(p.pos(), "one document in a file", "a second document begins")
		}
		dots := p.marker("...")
		p.at += 3
		if !p.space() && dots && p.at < len(p.text) {
			return p.unexpected("nothing after ...")
		}
	}
}
