package extractor

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// step is a Step with what it takes to walk it through generic maps.
type step struct {
	Step
	// text is the name, or the index in decimal digits.
	text string
	// key is text, ready for a map[any]any.
	key any
	// folds is text, ready to be compared without regard to upper and lower case.
	folds []byte
}

func stepOf(s Step) step {
	text := s.Name
	if text == "" && !s.All {
		text = strconv.Itoa(s.Index)
	}
	return step{Step: s, text: text, key: text, folds: []byte(text)}
}

// String returns the step as it is written in a path.
func (s Step) String() string {
	switch {
	case s.OrSelf:
		return "[*?]"
	case s.All:
		return "[*]"
	case s.Name == "":
		return "[" + strconv.Itoa(s.Index) + "]"
	case isWord(s.Name):
		return "." + s.Name
	}
	var b strings.Builder
	b.WriteString(`["`)
	for _, r := range s.Name {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			b.WriteString(`\u00`)
			b.WriteByte("0123456789abcdef"[r>>4])
			b.WriteByte("0123456789abcdef"[r&15])
		case r == utf8.RuneError:
			b.WriteString(`\ufffd`)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteString(`"]`)
	return b.String()
}
