package rule

import (
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

const (
	// maxYAML is the size of the largest YAML document, in bytes. The library reads about a megabyte a second at worst.
	maxYAML = 16 << 20
	// maxYAMLMarks is how many characters that can begin a value a YAML document may hold. It bounds the library's memory, which no option of its own
	// does: a value takes some 200 bytes, and one mark begins at most two.
	maxYAMLMarks = 1_000_000
)

// ParseYAML parses one YAML document, keeping positions; merge keys work. It takes time and memory in proportion to the document's size, whatever is in it:
// a document has at most 16 MiB and a million commas, colons, dashes, brackets and line breaks, and together its aliases may repeat a million values. Of YAML it leaves out
// what rules have no use for: keys that are no scalars, tags other than the standard ones for texts, numbers, booleans, null, lists and
// mappings, more than one document. Scalars follow the core schema of YAML 1.2 (yes and 0b1 are texts). Each key may be given
// once. The error is a Problem; for faults of syntax its position is the beginning of the line.
func ParseYAML(data []byte) (*Node, error) {
	s, err := document(data, maxYAML)
	if err != nil {
		return nil, err
	}
	if err := printable(s); err != nil {
		return nil, err
	}
	r := &lineReader{text: s}
	d := yaml.NewDecoder(r)
	var root yaml.Node
	if err := decodeYAML(d, &root); err != nil {
		return nil, yamlFault(err, r)
	}
	if absent(&root) {
		return nil, empty(Position{1, 1})
	}
	if err := nothingMore(d, r); err != nil {
		return nil, err
	}
	return nodeOf(root.Content[0])
}

// decodeYAML reads the next document, which is left as it is if there is none. A panic of the library is an error: a bad document must not
// end a process that reads its rules anew.
func decodeYAML(d *yaml.Decoder, into *yaml.Node) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot be read: %v", p)
		}
	}()
	if err := d.Decode(into); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// absent reports whether there is no document, or nothing in it.
func absent(document *yaml.Node) bool {
	if len(document.Content) == 0 {
		return true
	}
	root := document.Content[0]
	return root.Kind == yaml.ScalarNode && root.Style == 0 && root.Value == ""
}

// nothingMore checks that only empty documents follow, as behind a --- at the end of the text.
func nothingMore(d *yaml.Decoder, r *lineReader) error {
	for {
		var next yaml.Node
		if err := decodeYAML(d, &next); err != nil {
			return yamlFault(err, r)
		}
		switch {
		case next.Kind == 0:
			return nil
		case !absent(&next):
			return Problem{Index: -1, Position: Position{next.Line, next.Column}, Message: "a second document begins", Want: "one document in a file"}
		}
	}
}

// printable refuses what YAML does not allow in a document, bytes that are no UTF-8 and control characters, and more marks than maxYAMLMarks.
func printable(s string) error {
	marks := 0
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case r == utf8.RuneError && size == 1:
			return Problem{Index: -1, Position: positionAt(s, i), Message: fmt.Sprintf("byte 0x%02X is not valid UTF-8", s[i]), Want: "UTF-8"}
		case isControl(r):
			return Problem{Index: -1, Position: positionAt(s, i), Message: fmt.Sprintf("control character %q", r), Want: `it escaped in double quotes, as "\x00"`}
		case isMark(r):
			if marks++; marks > maxYAMLMarks {
				return Problem{
					Index: -1, Position: positionAt(s, i), Want: "fewer values, or JSON",
					Message: fmt.Sprintf("the document has more than %d commas, colons, dashes, brackets and line breaks", maxYAMLMarks),
				}
			}
		}
		i += size
	}
	return nil
}

// isControl reports whether YAML does not allow a character, unless escaped.
func isControl(r rune) bool {
	switch {
	case r < ' ':
		return r != '\t' && r != '\n' && r != '\r'
	case r < 0xA0:
		return r >= 0x7F && r != 0x85
	}
	return r == 0xFFFE || r == 0xFFFF
}

// isMark reports whether a character can end a value or begin one that is not the first: without any a document is one value.
func isMark(r rune) bool {
	switch r {
	case ',', ':', '-', '?', '[', '{', '\n', '\r', 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}
