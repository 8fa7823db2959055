package rule

import (
	"strings"
	"unicode/utf8"
)

// wildcard is a compiled pattern of * and ?, cut at its stars.
type wildcard struct {
	// head must start the name and tail must end it; without a star in the pattern head is all of it.
	head, tail segment
	// middle are the parts between the first star and the last, to be found in this order.
	middle []segment
	star   bool
}

// segment is a part of a pattern without stars.
type segment struct {
	text string
	// runes is how many characters it matches, marks tells whether some of them are ?.
	runes int
	marks bool
}

func compileWildcard(pattern string) *wildcard {
	parts := strings.Split(pattern, "*")
	w := &wildcard{head: newSegment(parts[0])}
	if len(parts) == 1 {
		return w
	}
	w.star = true
	w.tail = newSegment(parts[len(parts)-1])
	for _, part := range parts[1 : len(parts)-1] {
		if part != "" { // ** is *
			w.middle = append(w.middle, newSegment(part))
		}
	}
	return w
}

func newSegment(text string) segment {
	return segment{text, utf8.RuneCountInString(text), strings.IndexByte(text, '?') >= 0}
}

// matches finds the segments greedily from the left. That is enough: if a segment can be placed at all, placing it
// leftmost leaves the most room to the others, so that no placing is ever taken back.
func (w *wildcard) matches(name string) bool {
	n, ok := w.head.prefix(name)
	if !ok {
		return false
	}
	name = name[n:]
	if !w.star {
		return name == ""
	}
	n, ok = w.tail.suffix(name)
	if !ok {
		return false
	}
	name = name[:len(name)-n]
	for _, s := range w.middle {
		n, ok = s.find(name)
		if !ok {
			return false
		}
		name = name[n:]
	}
	return true
}

// prefix reports whether s matches the start of name, and how many bytes of it.
func (s segment) prefix(name string) (int, bool) {
	if !s.marks {
		return len(s.text), strings.HasPrefix(name, s.text)
	}
	i := 0
	for j := 0; j < len(s.text); j++ {
		switch {
		case i == len(name):
			return 0, false
		case s.text[j] == '?':
			_, size := utf8.DecodeRuneInString(name[i:])
			i += size
		case s.text[j] != name[i]:
			return 0, false
		default:
			i++
		}
	}
	return i, true
}

// suffix reports whether s matches the end of name, and how many bytes of it.
func (s segment) suffix(name string) (int, bool) {
	if !s.marks {
		return len(s.text), strings.HasSuffix(name, s.text)
	}
	// Going back by characters finds the only start that can fit: one character for each of the segment's.
	start := len(name)
	for range s.runes {
		if start == 0 {
			return 0, false
		}
		_, size := utf8.DecodeLastRuneInString(name[:start])
		start -= size
	}
	n, ok := s.prefix(name[start:])
	return n, ok && start+n == len(name)
}

// find returns where the leftmost match of s in name ends.
func (s segment) find(name string) (end int, ok bool) {
	if !s.marks {
		i := strings.Index(name, s.text)
		return i + len(s.text), i >= 0
	}
	for i := 0; i <= len(name); {
		if n, ok := s.prefix(name[i:]); ok {
			return i + n, true
		}
		_, size := utf8.DecodeRuneInString(name[i:])
		i += max(size, 1)
	}
	return 0, false
}
