package rule

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// plain reads a scalar without quotes. Its further lines must be indented more than parent, unless in [] or {} (flow).
func (p *yamlParser) plain(parent int, flow bool) (string, error) {
	if !p.plainBegins(flow) {
		return "", p.unexpected("a value; a text that begins so needs quotes")
	}
	text := p.plainLine(flow)
	if p.at >= len(p.text) || !isBreak(p.text[p.at]) {
		return text, nil
	}
	var buf []byte
	for p.at < len(p.text) && isBreak(p.text[p.at]) {
		m := p.mark()
		breaks := p.breaks()
		if p.end() || p.comment() || !flow && p.indent <= parent {
			p.back(m)
			break
		}
		at := p.at
		line := p.plainLine(flow)
		if !flow && p.peek(0) == ':' {
			return "", p.fail(p.pos(), "the key on a line of its own, or quotes around the text", "a colon inside a text of several lines")
		}
		if p.at == at {
			p.back(m) // a delimiter of [] or {}
			break
		}
		if buf == nil {
			buf = append(buf, text...)
		}
		buf = append(appendFold(buf, breaks), line...)
	}
	if buf == nil {
		return text, nil
	}
	return string(buf), nil
}

// plainBegins reports whether a scalar without quotes may begin with what comes next.
func (p *yamlParser) plainBegins(flow bool) bool {
	switch c := p.peek(0); c {
	case '-', '?', ':':
		return !p.spaced(1) && !(flow && isFlow(p.peek(1)))
	case ',', '[', ']', '{', '}', '#', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`':
		return false
	}
	return p.at < len(p.text)
}

// plainLine reads what belongs to a scalar without quotes on the current line, and skips the blanks behind it.
func (p *yamlParser) plainLine(flow bool) string {
	from, last := p.at, p.at
	for p.at < len(p.text) {
		c := p.text[p.at]
		switch {
		case isBreak(c), c == '#' && p.comment(), flow && isFlow(c), c == ':' && (p.spaced(1) || flow && isFlow(p.peek(1))):
			return p.text[from:last]
		case isBlank(c):
			p.at++
		default:
			p.step()
			last = p.at
		}
	}
	return p.text[from:last]
}

// breaks goes past line breaks and the blanks behind them, up to something or a line that ends the document, and counts the breaks.
func (p *yamlParser) breaks() int {
	n := 0
	for p.at < len(p.text) && isBreak(p.text[p.at]) {
		p.lineBreak()
		n++
		if p.end() {
			break
		}
		p.blanks()
	}
	return n
}

// appendFold appends what a number of line breaks inside a text means: one is a space, each further one a line break.
func appendFold(buf []byte, breaks int) []byte {
	if breaks == 1 {
		return append(buf, ' ')
	}
	return appendLines(buf, breaks-1)
}

func appendLines(buf []byte, breaks int) []byte {
	for range breaks {
		buf = append(buf, '\n')
	}
	return buf
}

// quoted reads a scalar in quotes. Its further lines must be indented more than parent.
func (p *yamlParser) quoted(parent int) (string, error) {
	open, quote := p.pos(), p.text[p.at]
	p.at++
	from := p.at
	for p.at < len(p.text) {
		c := p.text[p.at]
		if c == quote && !(quote == '\'' && p.peek(1) == quote) {
			p.at++
			return p.text[from : p.at-1], nil
		}
		if c == quote || c == '\\' && quote == '"' || isBreak(c) {
			return p.quotedOn(open, quote, parent, []byte(p.text[from:p.at]))
		}
		p.step()
	}
	return "", p.fail(open, "a closing quote", "the text does not end")
}

// quotedOn reads on in a quoted scalar that is not just a piece of the document's text; buf is what was read so far.
func (p *yamlParser) quotedOn(open Position, quote byte, parent int, buf []byte) (string, error) {
	// Blanks before a line break are dropped, but not those that an escape made: buf up to hard stays.
	hard := 0
	for p.at < len(p.text) {
		c := p.text[p.at]
		var err error
		switch {
		case c == quote && quote == '\'' && p.peek(1) == quote:
			p.at += 2
			buf = append(buf, quote)
		case c == quote:
			p.at++
			return string(buf), nil
		case isBreak(c) || c == '\\' && quote == '"' && p.at+1 < len(p.text) && isBreak(p.text[p.at+1]):
			if buf, err = p.quotedBreak(buf, hard, parent, open); err != nil {
				return "", err
			}
			hard = len(buf)
		case c == '\\' && quote == '"':
			if buf, err = p.escape(buf); err != nil {
				return "", err
			}
			hard = len(buf)
		default:
			buf = append(buf, c)
			p.step()
		}
	}
	return "", p.fail(open, "a closing quote", "the text does not end")
}

// quotedBreak reads the line breaks that come next in a quoted scalar, the first of them perhaps escaped.
func (p *yamlParser) quotedBreak(buf []byte, hard, parent int, open Position) ([]byte, error) {
	escaped := p.text[p.at] == '\\'
	if escaped {
		p.at++
	} else {
		buf = append(buf[:hard], bytes.TrimRight(buf[hard:], " \t")...)
	}
	breaks := p.breaks()
	switch {
	case p.at >= len(p.text):
		return buf, nil
	case p.end():
		return nil, p.fail(open, "a closing quote", "the text does not end before the document does, at %s", p.pos())
	case p.indent <= parent:
		return nil, p.fail(open, "a closing quote, or its lines indented", "the text goes on in line %d, which is not indented", p.line)
	case escaped:
		return appendLines(buf, breaks-1), nil
	}
	return appendFold(buf, breaks), nil
}

// escape reads one escape in double quotes and appends what it stands for.
func (p *yamlParser) escape(buf []byte) ([]byte, error) {
	c := p.peek(1)
	if r, ok := yamlEscape(c); ok {
		p.at += 2
		return utf8.AppendRune(buf, r), nil
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	r, ok := hexRune(p.text, p.at+2, digits)
	size := 2 + digits
	if ok && c == 'u' && utf16.IsSurrogate(r) && p.at+7 < len(p.text) && p.text[p.at+6:p.at+8] == `\u` {
		low, _ := hexRune(p.text, p.at+8, 4) // JSON writes characters beyond U+FFFF as two halves
		r = utf16.DecodeRune(r, low)
		size, ok = 12, r != utf8.RuneError
	}
	if !ok || !utf8.ValidRune(r) {
		return nil, p.fail(p.pos(), `one that YAML knows, as \n or \u00e9, or \\ for a backslash`, "unknown escape")
	}
	p.at += size
	return utf8.AppendRune(buf, r), nil
}

// hexRune reads a number of hexadecimal digits at an offset.
func hexRune(text string, at, digits int) (rune, bool) {
	if digits == 0 || at+digits > len(text) {
		return 0, false
	}
	v, err := strconv.ParseUint(text[at:at+digits], 16, 32)
	return rune(v), err == nil && v <= utf8.MaxRune
}

// yamlEscape returns what an escape of one letter stands for.
func yamlEscape(c byte) (rune, bool) {
	switch c {
	case '"', '\\', '/', ' ', '\t':
		return rune(c), true
	case '0':
		return 0, true
	case 'a':
		return '\a', true
	case 'b':
		return '\b', true
	case 't':
		return '\t', true
	case 'n':
		return '\n', true
	case 'v':
		return '\v', true
	case 'f':
		return '\f', true
	case 'r':
		return '\r', true
	case 'e':
		return 0x1B, true
	case 'N':
		return 0x85, true
	case '_':
		return 0xA0, true
	case 'L':
		return 0x2028, true
	case 'P':
		return 0x2029, true
	}
	return 0, false
}

// blockScalar reads a scalar behind | or >, which comes next. Its lines must be indented more than parent.
func (p *yamlParser) blockScalar(parent int) (string, error) {
	folded := p.text[p.at] == '>'
	p.at++
	content, chomp, err := p.blockHeader(parent)
	if err != nil || p.at >= len(p.text) {
		return "", err
	}
	p.lineBreak()
	var (
		buf      []byte
		breaks   int  // since the last line of content
		started  bool // a line of content has been read
		lastMore bool // it was indented further
		widest   int  // indentation of the blank lines before
	)
	for !p.end() {
		rest := p.begin + p.indent
		blank := rest >= len(p.text) || isBreak(p.text[rest])
		if blank && (content < 0 || p.indent <= content) {
			widest = max(widest, p.indent)
			p.at = rest
			if rest < len(p.text) {
				p.lineBreak()
				breaks++
			}
			continue
		}
		if content < 0 {
			if p.indent <= parent {
				break
			}
			content = p.indent
			if widest > content {
				return "", p.fail(p.pos(), "less indented blank lines, or an indentation indicator as in |2", "a blank line before the text is indented further than it")
			}
		}
		if p.indent < content {
			break
		}
		p.at = p.begin + content
		from := p.at
		p.toBreak()
		line := p.text[from:p.at]
		more := line != "" && isBlank(line[0])
		if folded && started && !more && !lastMore {
			buf = appendFold(buf, breaks)
		} else {
			buf = appendLines(buf, breaks)
		}
		buf = append(buf, line...)
		started, lastMore, breaks = true, more, 0
		if p.at < len(p.text) {
			p.lineBreak()
			breaks = 1
		}
	}
	switch {
	case chomp == '+':
		buf = appendLines(buf, breaks)
	case chomp == 0 && started && breaks > 0:
		buf = append(buf, '\n')
	}
	return string(buf), nil
}

// blockHeader reads what stands behind | or > on its line: the indentation of the text (-1: that of its first line) and what
// becomes of the line breaks at its end ('+', '-' or 0).
func (p *yamlParser) blockHeader(parent int) (content int, chomp byte, err error) {
	content = -1
	for range 2 {
		switch c := p.peek(0); {
		case (c == '+' || c == '-') && chomp == 0:
			chomp = c
			p.at++
		case '1' <= c && c <= '9' && content < 0:
			content = max(parent, 0) + int(c-'0')
			p.at++
		}
	}
	p.blanks()
	if p.comment() {
		p.toBreak()
	}
	if p.at < len(p.text) && !isBreak(p.text[p.at]) {
		return 0, 0, p.unexpected(fmt.Sprintf("a line break; a text that begins with %q needs quotes", "|"))
	}
	return content, chomp, nil
}
