package rule

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// maxDocument is the size of the largest document, in bytes.
	maxDocument = 64 << 20
	// maxDepth is how deep lists and objects may be nested.
	maxDepth = 64
	// maxValues is how many values a document may hold. Each takes some hundred bytes of memory, however short it is written.
	maxValues = 2_000_000
)

// ParseOptions says what a JSON parser accepts besides JSON. Documents are always UTF-8 (a byte order mark is skipped,
// UTF-16 is refused by name), at most 64 MiB with two million values, nested at most 64 deep. An empty document is refused: it is
// rather a half-written file than one that wants no rules.
type ParseOptions struct {
	// Lenient accepts what Java's fastjson does: // and /* */ and # comments, single quotes, bare keys, trailing commas, NaN, Infinity, control
	// characters but NUL in strings and the escapes \' \v \0 to \7 and \x41.
	Lenient bool
	// AllowDuplicates keeps members of the same name instead of refusing the document.
	AllowDuplicates bool
}

// Parse parses JSON when the first character that is no space is { or [, else YAML.
func Parse(data []byte) (*Node, error) {
	start := bytes.TrimLeft(bytes.TrimPrefix(data, []byte(byteOrderMark)), " \t\r\n")
	if len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		return ParseJSON(data, ParseOptions{})
	}
	return ParseYAML(data)
}

const byteOrderMark = "\uFEFF"

// document checks what all documents must keep to and returns the document without its byte order mark. Whether it is valid UTF-8 is
// left to the parsers.
func document(data []byte, limit int) (string, error) {
	if name := foreignEncoding(data); name != "" {
		return "", Problem{Index: -1, Position: Position{1, 1}, Message: "the document is encoded in " + name, Want: "UTF-8"}
	}
	if len(data) > limit {
		return "", Problem{Index: -1, Message: fmt.Sprintf("the document has %d bytes", len(data)), Want: fmt.Sprintf("at most %d MiB", limit>>20)}
	}
	return strings.TrimPrefix(string(data), byteOrderMark), nil
}

// foreignEncoding names the encoding of a document that is obviously in UTF-16 or UTF-32: by its byte order mark, or because of its first two bytes one is zero
// and the other is not.
func foreignEncoding(data []byte) string {
	has := func(prefix string) bool { return strings.HasPrefix(string(data[:min(len(data), 4)]), prefix) }
	switch {
	case has("\xFF\xFE\x00\x00"), has("\x00\x00\xFE\xFF"):
		return "UTF-32"
	case has("\xFF\xFE"), len(data) >= 2 && data[0] != 0 && data[1] == 0:
		return "UTF-16 (little endian)"
	case has("\xFE\xFF"), len(data) >= 2 && data[0] == 0 && data[1] != 0:
		return "UTF-16 (big endian)"
	}
	return ""
}

// empty is the fault of a document without any value.
func empty(at Position) error {
	return Problem{
		Index: -1, Position: at, Message: "the document is empty, which is never taken for one without rules",
		Want: "one that says that there are none, or the rules",
	}
}

// tooMany is the fault of a document with more than maxValues values.
func tooMany(at Position) error {
	return Problem{Index: -1, Position: at, Message: "the document holds too many values", Want: fmt.Sprintf("at most %d", maxValues)}
}

// positionAt returns the position of a byte of the text.
func positionAt(text string, offset int) Position {
	before := text[:offset]
	line := strings.LastIndexByte(before, '\n') + 1
	return Position{strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[line:]) + 1}
}

// fail returns a Problem at a position.
func fail(at Position, want, format string, args ...any) error {
	return Problem{Index: -1, Position: at, Message: fmt.Sprintf(format, args...), Want: want}
}
