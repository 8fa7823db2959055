package rule

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ParseJSON parses one JSON value, keeping positions. The error is a Problem with position. It takes no longer than encoding/json does without positions.
// A lone half of a surrogate pair in an escape is refused, because there is no such character; Lenient replaces it by U+FFFD.
func ParseJSON(data []byte, opts ParseOptions) (*Node, error) {
	s, err := document(data, maxDocument)
	if err != nil {
		return nil, err
	}
	p := &jsonParser{text: s, opts: opts, line: 1}
	n := new(Node)
	if err := p.whole(n); err != nil {
		return nil, err
	}
	return n, nil
}

// jsonParser reads a value by recursive descent. Its methods return nil or a Problem.
type jsonParser struct {
	text string
	opts ParseOptions
	// at is the next byte.
	at int
	// line is the current line, counted from 1, and start the offset its first character would have if every character before at on
	// the line were one byte long: a column is then a subtraction.
	line, start int
	depth       int
	// values counts the values so far.
	values int
	// items and fields collect the elements of all open lists and objects, so that each can be allocated in one piece.
	items  []Node
	fields []Field
	// buf holds the string with escapes that is being read.
	buf []byte
}

// pos is the position of the next byte.
func (p *jsonParser) pos() Position { return Position{p.line, p.at - p.start + 1} }

func (p *jsonParser) whole(n *Node) error {
	if err := p.space(); err != nil {
		return err
	}
	if p.at == len(p.text) {
		return empty(p.pos())
	}
	if err := p.value(n); err != nil {
		return err
	}
	if err := p.space(); err != nil {
		return err
	}
	if p.at < len(p.text) {
		return p.unexpected("nothing after the document's value")
	}
	return nil
}

// unexpected is the fault of a byte that cannot stand here.
func (p *jsonParser) unexpected(want string) error {
	if p.at >= len(p.text) {
		return fail(p.pos(), want, "the document ends too early")
	}
	r, size := utf8.DecodeRuneInString(p.text[p.at:])
	if r == utf8.RuneError && size == 1 {
		return p.invalidUTF8()
	}
	return fail(p.pos(), want, "unexpected %q", r)
}

func (p *jsonParser) invalidUTF8() error {
	return fail(p.pos(), "UTF-8", "byte 0x%02X is not valid UTF-8", p.text[p.at])
}

// space skips white space, and comments where they are allowed.
func (p *jsonParser) space() error {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\r':
			p.at++
		case '\n':
			p.at++
			p.newline()
		case '/', '#':
			if !p.opts.Lenient {
				return nil
			}
			if err := p.comment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// newline counts a line; at is behind its break.
func (p *jsonParser) newline() {
	p.line++
	p.start = p.at
}

// comment skips a comment.
func (p *jsonParser) comment() error {
	rest := p.text[p.at:]
	switch {
	case rest[0] == '#' || strings.HasPrefix(rest, "//"):
		end := strings.IndexByte(rest, '\n')
		if end < 0 {
			end = len(rest)
		}
		return p.skip(end)
	case strings.HasPrefix(rest, "/*"):
		end := strings.Index(rest[2:], "*/")
		if end < 0 {
			return fail(p.pos(), "*/ at its end", "the comment does not end")
		}
		return p.skip(end + 4)
	}
	return p.unexpected("a value or a comment")
}

// skip goes n bytes on through arbitrary text.
func (p *jsonParser) skip(n int) error {
	for end := p.at + n; p.at < end; {
		if c := p.text[p.at]; c < utf8.RuneSelf {
			p.at++
			if c == '\n' {
				p.newline()
			}
		} else if err := p.wide(); err != nil {
			return err
		}
	}
	return nil
}

// wide goes on by one character of several bytes.
func (p *jsonParser) wide() error {
	r, size := utf8.DecodeRuneInString(p.text[p.at:])
	if r == utf8.RuneError && size == 1 {
		return p.invalidUTF8()
	}
	p.at += size
	p.start += size - 1
	return nil
}

const wantValue = "a value"

// value reads a value; the next byte is its first.
func (p *jsonParser) value(n *Node) error {
	n.Pos = p.pos()
	if p.values++; p.values > maxValues {
		return tooMany(n.Pos)
	}
	if p.at >= len(p.text) {
		return p.unexpected(wantValue)
	}
	var err error
	switch c := p.text[p.at]; {
	case c == '"':
		n.Kind = String
		n.Text, err = p.str('"')
		return err
	case c == '{':
		return p.object(n)
	case c == '[':
		return p.list(n)
	case c == '-' || '0' <= c && c <= '9':
		n.Kind = Number
		n.Text, err = p.number()
		return err
	case c == '\'' && p.opts.Lenient:
		n.Kind = String
		n.Text, err = p.str('\'')
		return err
	}
	return p.word(n)
}

// word reads true, false or null, and NaN or Infinity where they are allowed.
func (p *jsonParser) word(n *Node) error {
	w := p.ident()
	switch {
	case w == "true" || w == "false":
		n.Kind, n.Text = Bool, w
	case w == "null":
		n.Kind = Null
	case p.opts.Lenient && (w == "NaN" || w == "Infinity"):
		n.Kind, n.Text = Number, w
	case w == "":
		return p.unexpected(wantValue)
	default:
		return fail(n.Pos, wantValue+"; a text needs double quotes", "unexpected %s", shown(w))
	}
	p.at += len(w)
	return nil
}

// ident returns the letters, digits, underscores and dollar signs that come next, without going on.
func (p *jsonParser) ident() string {
	rest := p.text[p.at:]
	for i, r := range rest {
		if r != '_' && r != '$' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return rest[:i]
		}
	}
	return rest
}

// enter goes past the first byte of a list or an object, one level deeper.
func (p *jsonParser) enter() error {
	if p.depth == maxDepth {
		return tooDeep(p.pos())
	}
	p.depth++
	p.at++
	return nil
}

func tooDeep(at Position) error {
	return Problem{Index: -1, Position: at, Message: "lists and objects are nested too deep", Want: fmt.Sprintf("at most %d levels", maxDepth)}
}

// list reads a list, whose [ comes next.
func (p *jsonParser) list(n *Node) error {
	if err := p.enter(); err != nil {
		return err
	}
	n.Kind = List
	base := len(p.items)
	var item Node // not in the loop, or it would be allocated every time
	for first := true; ; first = false {
		done, err := p.next(']', first)
		if err != nil {
			return err
		}
		if done {
			break
		}
		item = Node{}
		if err := p.value(&item); err != nil {
			return err
		}
		p.items = append(p.items, item)
	}
	p.depth--
	n.Items = cut(&p.items, base)
	return nil
}

// next goes on to the next element of a list or object, past the comma before it, or past the closing end: then it reports done.
func (p *jsonParser) next(end byte, first bool) (done bool, err error) {
	if err := p.space(); err != nil {
		return false, err
	}
	if p.byte(end) {
		return true, nil
	}
	if first {
		return false, nil
	}
	comma := p.pos()
	if !p.byte(',') {
		return false, p.unexpected(fmt.Sprintf("a comma or %c", end))
	}
	if err := p.space(); err != nil {
		return false, err
	}
	if p.at < len(p.text) && p.text[p.at] == end {
		if !p.opts.Lenient {
			return false, fail(comma, "no comma after the last element", "a comma before %q", end)
		}
		p.at++
		return true, nil
	}
	return false, nil
}

// byte goes past the next byte if it is c.
func (p *jsonParser) byte(c byte) bool {
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

// object reads an object, whose { comes next.
func (p *jsonParser) object(n *Node) error {
	if err := p.enter(); err != nil {
		return err
	}
	n.Kind = Object
	base := len(p.fields)
	var f Field // not in the loop, or it would be allocated every time
	for first := true; ; first = false {
		done, err := p.next('}', first)
		if err != nil {
			return err
		}
		if done {
			break
		}
		f = Field{}
		if err := p.field(&f); err != nil {
			return err
		}
		p.fields = append(p.fields, f)
	}
	p.depth--
	n.Fields = cut(&p.fields, base)
	if p.opts.AllowDuplicates {
		return nil
	}
	return duplicates(n.Fields)
}

// field reads a key, a colon and a value.
func (p *jsonParser) field(f *Field) error {
	f.Pos = p.pos()
	var err error
	if f.Key, err = p.key(); err != nil {
		return err
	}
	if err := p.space(); err != nil {
		return err
	}
	if !p.byte(':') {
		return p.unexpected(fmt.Sprintf("a colon after the key %s", shown(f.Key)))
	}
	if err := p.space(); err != nil {
		return err
	}
	return p.value(&f.Value)
}

func (p *jsonParser) key() (string, error) {
	if p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '"':
			return p.str('"')
		case c == '\'' && p.opts.Lenient:
			return p.str('\'')
		case p.opts.Lenient:
			key := p.ident()
			if key != "" {
				return key, p.skip(len(key))
			}
		}
	}
	return "", p.unexpected("a key in double quotes")
}

// duplicates finds the first member whose key an earlier one has.
func duplicates(fields []Field) (err error) {
	repeated(fields, func(again *Field, first Position) bool {
		err = twice(again, first)
		return false
	})
	return err
}

// repeated calls f for every member whose key an earlier one has, with that one's position, until f returns false.
func repeated(fields []Field, f func(again *Field, first Position) bool) {
	const few = 16 // up to so many, comparing all with all is cheaper than a map
	if len(fields) > few {
		repeatedOfMany(fields, f)
		return
	}
	for i := range fields {
		for j := range i {
			if fields[i].Key != fields[j].Key {
				continue
			}
			if !f(&fields[i], fields[j].Pos) {
				return
			}
			break
		}
	}
}

func repeatedOfMany(fields []Field, f func(again *Field, first Position) bool) {
	seen := make(map[string]Position, len(fields))
	for i := range fields {
		again := &fields[i]
		first, dup := seen[again.Key]
		if !dup {
			seen[again.Key] = again.Pos
		} else if !f(again, first) {
			return
		}
	}
}

func twice(f *Field, first Position) error {
	return Problem{Index: -1, Position: f.Pos, Message: fmt.Sprintf("key %s is given twice, first at %s", shown(f.Key), first), Want: "each key once"}
}

// number reads a number in JSON's grammar; -Infinity too where it is allowed.
func (p *jsonParser) number() (string, error) {
	begin := p.at
	p.byte('-')
	if p.opts.Lenient && strings.HasPrefix(p.text[p.at:], "Infinity") {
		p.at += len("Infinity")
		return p.text[begin:p.at], nil
	}
	if !p.byte('0') && p.digits() == 0 {
		return "", p.unexpected("a digit")
	}
	if p.byte('.') && p.digits() == 0 {
		return "", p.unexpected("a digit after the point")
	}
	if p.byte('e') || p.byte('E') {
		if !p.byte('+') {
			p.byte('-')
		}
		if p.digits() == 0 {
			return "", p.unexpected("a digit in the exponent")
		}
	}
	if p.at < len(p.text) {
		if c := p.text[p.at]; c >= utf8.RuneSelf || c == '.' || c == '_' || c == '+' || c == '-' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' {
			return "", p.unexpected("a number as JSON writes it (12, -0.5, 1e3); a text, as a duration is, needs double quotes")
		}
	}
	return p.text[begin:p.at], nil
}

// digits skips digits and says how many.
func (p *jsonParser) digits() int {
	begin := p.at
	for p.at < len(p.text) && '0' <= p.text[p.at] && p.text[p.at] <= '9' {
		p.at++
	}
	return p.at - begin
}

// shown quotes a text for a message, cut to a sensible length.
func shown(s string) string {
	const most = 60
	if len(s) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return fmt.Sprintf("%q", s)
}

// cut takes the elements from base on off a stack, in a slice of their own.
func cut[T any](stack *[]T, base int) []T {
	out := slices.Clone((*stack)[base:])
	clear((*stack)[base:])
	*stack = (*stack)[:base]
	return out
}
