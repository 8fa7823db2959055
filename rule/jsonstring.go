package rule

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// str reads a string, whose opening quote comes next. Without escapes it is a piece of the document's text.
func (p *jsonParser) str(quote byte) (string, error) {
	open := p.pos()
	p.at++
	begin := p.at
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == quote:
			s := p.text[begin:p.at]
			p.at++
			return s, nil
		case c == '\\':
			return p.escaped(quote, open, begin)
		case c >= utf8.RuneSelf:
			if err := p.wide(); err != nil {
				return "", err
			}
		case c < ' ':
			if err := p.control(); err != nil {
				return "", err
			}
		default:
			p.at++
		}
	}
	return "", fail(open, "a closing quote", "the text does not end")
}

// control goes past a control character in a string, where that is allowed. A zero byte never is: nobody writes one, but a disk or a wire that lost what
// was there leaves them.
func (p *jsonParser) control() error {
	c := p.text[p.at]
	if !p.opts.Lenient || c == 0 {
		return fail(p.pos(), "it escaped, as \\n or \\u0000", "control character %q in a text", c)
	}
	p.at++
	if c == '\n' {
		p.newline()
	}
	return nil
}

// escaped reads on in a string that has an escape, which comes next.
func (p *jsonParser) escaped(quote byte, open Position, begin int) (string, error) {
	buf := append(p.buf[:0], p.text[begin:p.at]...)
	for p.at < len(p.text) {
		from := p.at
		switch c := p.text[p.at]; {
		case c == quote:
			p.at++
			p.buf = buf
			return string(buf), nil
		case c == '\\':
			var err error
			if buf, err = p.escape(buf); err != nil {
				return "", err
			}
			continue
		case c >= utf8.RuneSelf:
			if err := p.wide(); err != nil {
				return "", err
			}
		case c < ' ':
			if err := p.control(); err != nil {
				return "", err
			}
		default:
			p.at++
		}
		buf = append(buf, p.text[from:p.at]...)
	}
	return "", fail(open, "a closing quote", "the text does not end")
}

// escape reads one escape, whose \ comes next, and adds what it stands for to buf.
func (p *jsonParser) escape(buf []byte) ([]byte, error) {
	if p.at+1 >= len(p.text) {
		return nil, fail(p.pos(), "a closing quote", "the text does not end")
	}
	c := p.text[p.at+1]
	if plain := plainEscape(c); plain != 0 {
		p.at += 2
		return append(buf, plain), nil
	}
	if c == 'u' {
		return p.unicode(buf)
	}
	if p.opts.Lenient {
		switch {
		case c == '\'':
			p.at += 2
			return append(buf, '\''), nil
		case c == 'v':
			p.at += 2
			return append(buf, '\v'), nil
		case '0' <= c && c <= '7':
			p.at += 2
			return append(buf, c-'0'), nil
		case c == 'x':
			if r, ok := p.hex(2, 2); ok {
				p.at += 4
				return utf8.AppendRune(buf, r), nil
			}
		}
	}
	return nil, fail(p.pos(), `one of \" \\ \/ \b \f \n \r \t \u0000`, "unknown escape")
}

// plainEscape returns what JSON's one-letter escape stands for, 0 if there is none.
func plainEscape(c byte) byte {
	switch c {
	case '"', '\\', '/':
		return c
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return 0
}

// hex reads digits hexadecimal digits that begin skip bytes on, without going on.
func (p *jsonParser) hex(skip, digits int) (rune, bool) {
	begin := p.at + skip
	if begin+digits > len(p.text) {
		return 0, false
	}
	v, err := strconv.ParseUint(p.text[begin:begin+digits], 16, 32)
	return rune(v), err == nil
}

// unicode reads \uXXXX, or two of them that make one character, and adds it to buf.
func (p *jsonParser) unicode(buf []byte) ([]byte, error) {
	r, ok := p.hex(2, 4)
	if !ok {
		return nil, fail(p.pos(), "four hexadecimal digits after \\u", "unknown escape")
	}
	size := 6
	if utf16.IsSurrogate(r) {
		pair := rune(utf8.RuneError)
		if p.at+7 < len(p.text) && p.text[p.at+6:p.at+8] == `\u` {
			if low, ok := p.hex(8, 4); ok {
				pair = utf16.DecodeRune(r, low)
			}
		}
		if pair != utf8.RuneError {
			size = 12
		} else if !p.opts.Lenient {
			return nil, fail(p.pos(), "both halves of a surrogate pair", "escape %s is half a character", p.text[p.at:p.at+6])
		}
		r = pair
	}
	p.at += size
	return utf8.AppendRune(buf, r), nil
}
