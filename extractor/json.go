package extractor

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// maxNesting is how deep JSON may be nested.
	maxNesting = 1000
	// maxAlike is how many members of an object may have a name that is one to some readers, where the path leads to it. Each value counts, and nobody needs so many.
	maxAlike = 8
)

// scanJSON adds the values at the steps in a JSON document, which it reads once, from end to end, without decoding what is not asked for. Who reads the document afterwards may take the first of
// several members of one name, or the last, or what all of them say together, as encoding/json does with structs, and that takes names that differ only in upper and lower case for one, too. So
// every such member counts, or one that is put beside it would hide a value. An object or array where a single value is wanted is absent. The error is ErrNotJSON or ErrTooLarge.
func scanJSON(b []byte, steps []step, out *List) error {
	s := scanner{b: b, steps: steps, out: out}
	if err := s.value(0); err != nil {
		return err
	}
	if s.space(); s.at < len(b) {
		return ErrNotJSON
	}
	return nil
}

// scalarJSON returns the value that a JSON document consists of; false if it is null, an object or an array.
func scalarJSON(b []byte) (Value, bool, error) {
	if len(b) == 0 {
		return Value{}, false, nil
	}
	var l List
	if err := scanJSON(b, nil, &l); err != nil || l.Len() == 0 {
		return Value{}, false, err
	}
	return l.At(0), true, nil
}

// scanner reads a JSON document from left to right.
type scanner struct {
	b     []byte
	at    int
	depth int
	steps []step
	out   *List
}

// aside stands for the number of steps taken in what the path does not lead to.
const aside = -1

func (s *scanner) space() {
	for s.at < len(s.b) {
		switch s.b[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// next returns the next byte that is no space, 0 at the end.
func (s *scanner) next() byte {
	s.space()
	if s.at == len(s.b) {
		return 0
	}
	return s.b[s.at]
}

// value reads a value that n steps led to.
func (s *scanner) value(n int) error {
	c := s.next()
	for n != aside && n < len(s.steps) && s.steps[n].OrSelf && c != '[' {
		n++
	}
	wanted := n == len(s.steps)
	switch {
	case c == '{':
		return s.nested(n, s.object)
	case c == '[':
		return s.nested(n, s.array)
	case c == '"':
		text, escaped, err := s.text()
		if err == nil && wanted {
			s.out.Add(stringOf(text, escaped))
		}
		return err
	case c == '-' || '0' <= c && c <= '9':
		size, _ := numberLen(s.b[s.at:])
		if size == 0 {
			return ErrNotJSON
		}
		if wanted {
			s.out.Add(jsonNumber(s.b[s.at : s.at+size]))
		}
		s.at += size
		return nil
	case s.word("true"):
		if wanted {
			s.out.Add(Bool(true))
		}
	case s.word("false"):
		if wanted {
			s.out.Add(Bool(false))
		}
	case !s.word("null"):
		return ErrNotJSON
	}
	return nil
}

// word takes a word if it comes next.
func (s *scanner) word(w string) bool {
	if len(s.b)-s.at < len(w) || string(s.b[s.at:s.at+len(w)]) != w {
		return false
	}
	s.at += len(w)
	return true
}

// nested reads an object or array, the bracket of which comes next.
func (s *scanner) nested(n int, read func(n int) error) error {
	if s.depth == maxNesting {
		return ErrTooLarge
	}
	s.depth++
	s.at++
	err := read(n)
	s.depth--
	return err
}

// object reads the members of an object up to its closing bracket.
func (s *scanner) object(n int) error {
	if s.next() == '}' {
		s.at++
		return nil
	}
	for alike := 0; ; {
		if s.next() != '"' {
			return ErrNotJSON
		}
		name, escaped, err := s.text()
		if err != nil {
			return err
		}
		if s.next() != ':' {
			return ErrNotJSON
		}
		s.at++
		into := aside
		if n != aside && n < len(s.steps) {
			switch step := &s.steps[n]; {
			case step.All:
				if s.out.More() {
					into = n + 1
				}
			case step.named(name, escaped):
				if alike++; alike > maxAlike {
					return ErrNotJSON
				}
				into = n + 1
			}
		}
		if err := s.value(into); err != nil {
			return err
		}
		if done, err := s.separator('}'); done || err != nil {
			return err
		}
	}
}

// named reports whether a member's name, as it stands between quotes, is the step's to some reader.
func (st *step) named(name []byte, escaped bool) bool {
	if escaped {
		var buf [maxPath]byte
		return bytes.EqualFold(unquote(buf[:0], name), st.folds)
	}
	const caseBit = 'a' - 'A'
	if len(name) == 0 || name[0]|st.folds[0] < utf8.RuneSelf && (name[0]^st.folds[0])&^caseBit != 0 {
		return false // as most are, which the first letter tells
	}
	return string(name) == st.text || bytes.EqualFold(name, st.folds)
}

// array reads the elements of an array up to its closing bracket.
func (s *scanner) array(n int) error {
	if s.next() == ']' {
		s.at++
		return nil
	}
	all, wanted := false, -1
	if n != aside && n < len(s.steps) && s.steps[n].Name == "" {
		all, wanted = s.steps[n].All, s.steps[n].Index
		if wanted < 0 {
			// Only the end tells which one that is.
			from := s.at
			count, err := s.elements(func(int) int { return aside })
			if err != nil {
				return err
			}
			if wanted += count; wanted < 0 {
				return nil
			}
			s.at = from
		}
	}
	_, err := s.elements(func(i int) int {
		if i == wanted && !all || all && s.out.More() {
			return n + 1
		}
		return aside
	})
	return err
}

// elements reads the elements of an array, which is not empty, up to its closing bracket, and counts them; into says how many steps lead to each.
func (s *scanner) elements(into func(i int) int) (count int, err error) {
	for {
		if err := s.value(into(count)); err != nil {
			return 0, err
		}
		count++
		if done, err := s.separator(']'); done || err != nil {
			return count, err
		}
	}
}

// separator reads what follows a member or element: a comma, or the closing bracket, after which it is done.
func (s *scanner) separator(closing byte) (done bool, err error) {
	switch s.next() {
	case closing:
		s.at++
		return true, nil
	case ',':
		s.at++
		return false, nil
	}
	return false, ErrNotJSON
}

// text reads a string and returns what stands between the quotes, and whether it has escapes.
func (s *scanner) text() (text []byte, escaped bool, err error) {
	s.at++
	from := s.at
	for s.at < len(s.b) {
		c := s.b[s.at]
		s.at++
		switch {
		case c == '"':
			return s.b[from : s.at-1], escaped, nil
		case c < ' ':
			return nil, false, ErrNotJSON
		case c == '\\':
			escaped = true
			if !s.escape() {
				return nil, false, ErrNotJSON
			}
		}
	}
	return nil, false, ErrNotJSON
}

// escape reads what follows a backslash.
func (s *scanner) escape() bool {
	if s.at == len(s.b) {
		return false
	}
	c := s.b[s.at]
	s.at++
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		if _, ok := hex4(s.b[s.at:]); ok {
			s.at += 4
			return true
		}
	}
	return false
}

// hex4 reads four hexadecimal digits.
func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

// stringOf returns the Value of a string's text.
func stringOf(text []byte, escaped bool) Value {
	if !escaped {
		return Bytes(text)
	}
	var buf [MaxText]byte
	return Bytes(unquote(buf[:0], text))
}

// unquote appends a string's text, whose escapes are valid, to b with the escapes resolved; half a surrogate pair is U+FFFD.
func unquote(b, text []byte) []byte {
	for i := 0; i < len(text); {
		c := text[i]
		i++
		if c != '\\' {
			b = append(b, c)
			continue
		}
		c = text[i]
		i++
		switch c {
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u':
			r, _ := hex4(text[i:])
			i += 4
			if utf16.IsSurrogate(r) {
				second := rune(utf8.RuneError)
				if i+1 < len(text) && text[i] == '\\' && text[i+1] == 'u' {
					second, _ = hex4(text[i+2:])
				}
				if r = utf16.DecodeRune(r, second); r != utf8.RuneError {
					i += 6
				}
			}
			b = utf8.AppendRune(b, r)
		default:
			b = append(b, c)
		}
	}
	return b
}
