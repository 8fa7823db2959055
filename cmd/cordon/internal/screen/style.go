package screen

import (
	"strings"
	"unicode/utf8"
)

// A Style is how a piece of text looks on a coloured screen.
type Style string

// The styles.
const (
	Bold   Style = "\x1b[1m"
	Dim    Style = "\x1b[2m"
	Red    Style = "\x1b[31m"
	Green  Style = "\x1b[32m"
	Yellow Style = "\x1b[33m"
	Cyan   Style = "\x1b[36m"

	reset = "\x1b[0m"
)

// Paint returns text in that style, or as it is when the screen has no colour.
func (s *Screen) Paint(style Style, text string) string {
	if !s.color || text == "" {
		return text
	}
	return string(style) + text + reset
}

// Pad fills text with spaces on the right up to width columns, not counting what only styles it.
func Pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-Columns(text)))
}

// PadLeft fills text with spaces on the left up to width columns.
func PadLeft(text string, width int) string {
	return strings.Repeat(" ", max(0, width-Columns(text))) + text
}

// Columns counts the columns that text takes: its runes without control sequences. Everything drawn here is one column wide.
func Columns(text string) int {
	n := 0
	eachVisible(text, func(string) bool { n++; return true }, func(string) {})
	return n
}

// cut shortens a line to the given columns and ends its style; columns <= 0 leaves it as it is.
func cut(line string, columns int) string {
	if columns <= 0 || Columns(line) <= columns {
		return line
	}
	var b strings.Builder
	n := 0
	eachVisible(line, func(r string) bool {
		if n == columns-1 {
			b.WriteString("…")
			return false
		}
		n++
		b.WriteString(r)
		return true
	}, func(sequence string) { b.WriteString(sequence) })
	b.WriteString(reset)
	return b.String()
}

// wrap breaks lines that are longer than the given columns between words; what is broken off is indented two columns further. A single
// word that is too long stays whole: it may be a path or an address to be copied.
func wrap(text string, columns int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if columns <= 0 || Columns(strings.TrimSuffix(line, "\n")) <= columns {
			b.WriteString(line)
			continue
		}
		indent := len(line) - len(strings.TrimLeft(line, " "))
		at := indent
		b.WriteString(line[:indent])
		for i, word := range strings.SplitAfter(line[indent:], " ") {
			if i > 0 && at+Columns(strings.TrimRight(word, " \n")) > columns {
				at = indent + 2
				b.WriteString("\n" + strings.Repeat(" ", at))
			}
			b.WriteString(word)
			at += Columns(word)
		}
	}
	return b.String()
}

// eachVisible walks text: visible gets every rune that takes a column and may stop the walk, sequence every control sequence.
func eachVisible(text string, visible func(r string) bool, sequence func(string)) {
	for text != "" {
		if strings.HasPrefix(text, "\x1b[") {
			end := strings.IndexByte(text, 'm')
			if end < 0 {
				return
			}
			sequence(text[:end+1])
			text = text[end+1:]
			continue
		}
		_, size := utf8.DecodeRuneInString(text)
		if !visible(text[:size]) {
			return
		}
		text = text[size:]
	}
}

// Bar draws value against full as a bar of width columns, in eighths; what is above full is cut.
func Bar(value, full float64, width int) string {
	if full <= 0 || value <= 0 {
		return strings.Repeat(" ", width)
	}
	eighths := min(int(value/full*float64(width*8)+0.5), width*8)
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return Pad(bar, width)
}
