package rule

import (
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// lineReader hands a text to the library by lines: what it has handed out when the library refuses the text tells where the library was.
type lineReader struct {
	text string
	// at is how many bytes have been handed out.
	at int
}

// Read hands out the rest of the current line.
func (r *lineReader) Read(p []byte) (int, error) {
	rest := r.text[r.at:]
	if rest == "" {
		return 0, io.EOF
	}
	rest = rest[:min(len(rest), len(p))] // before looking for a line's end, which may be far away
	if end := strings.IndexByte(rest, '\n'); end >= 0 {
		rest = rest[:end+1]
	}
	r.at += len(rest)
	return copy(p, rest), nil
}

// lastLine is the line that was handed out last.
func (r *lineReader) lastLine() int {
	return strings.Count(strings.TrimSuffix(r.text[:r.at], "\n"), "\n") + 1
}

// beginning is the position of the first character on a line that is no space.
func (r *lineReader) beginning(line int) Position {
	rest := r.text
	for range line - 1 {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	rest, _, _ = strings.Cut(rest, "\n")
	return Position{line, len(rest) - len(strings.TrimLeft(rest, " ")) + 1}
}

// syntaxFault is what we know of one of the library's messages.
type syntaxFault struct {
	// want is what would be right.
	want string
	// structure marks a fault that the library finds in the order of values, not in characters. It then names the line before the
	// one where the list or mapping around it begins, which may be far up; the line it has read to is nearer.
	structure bool
}

// syntaxFaults are the library's messages that bad rules are likely to cause.
var syntaxFaults = map[string]syntaxFault{
	"mapping values are not allowed in this context":        {want: "the key on a line of its own, indented like its neighbors, or quotes around a text with a colon"},
	"could not find expected ':'":                           {want: "a key and a colon, followed by a space"},
	"found unexpected end of stream":                        {want: "a closing quote"},
	"found character that cannot start any token":           {want: "spaces, no tabs, as indentation, and quotes around a text that begins with %, @ or `"},
	"found a tab character that violates indentation":       {want: "spaces"},
	"did not find expected alphabetic or numeric character": {want: "quotes around a text that begins with * or &"},
	"found unknown escape character":                        {want: `\\ for a backslash in double quotes, or single quotes`},
	"did not find expected key":                             {want: "a key with the indentation of its neighbors, and nothing behind a closing quote", structure: true},
	"did not find expected '-' indicator":                   {want: "an entry with the indentation of its neighbors, and nothing behind a closing quote", structure: true},
	"did not find expected ',' or ']'":                      {want: "a comma, or a closing ]", structure: true},
	"did not find expected ',' or '}'":                      {want: "a comma, or a closing }", structure: true},
	"did not find expected node content":                    {want: "a value, in quotes if it is a text of brackets, commas, colons or the like", structure: true},
	"found incompatible YAML document":                      {want: "the document without its %YAML line", structure: true},
	"found unknown directive name":                          {want: "the document without it"},
	"found undefined tag handle":                            {want: "the value without its tag", structure: true},
	"did not find expected <document start>":                {want: "one document in a file, all of it indented by its first line", structure: true},
}

// yamlFault makes a Problem of the library's error.
func yamlFault(err error, r *lineReader) error {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1 // which the library does not name
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		digits, rest, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(digits); err == nil {
			line, message = n, rest
		}
	}
	if name, ok := strings.CutPrefix(message, "unknown anchor '"); ok {
		name = "*" + strings.TrimSuffix(name, "' referenced")
		return Problem{
			Index: -1, Position: r.lastAlias(name), Message: "alias " + shown(name) + " has no anchor",
			Want: "an anchor further up, not around it, or quotes around a text that begins with *",
		}
	}
	known := syntaxFaults[message]
	if known.structure {
		line = r.lastLine()
		message += " up to here"
	}
	return Problem{Index: -1, Position: r.beginning(line), Message: message, Want: known.want}
}

// lastAlias is the position of the last alias of a name in what was handed out.
func (r *lineReader) lastAlias(alias string) Position {
	read := r.text[:r.at]
	for end := len(read); ; {
		at := strings.LastIndex(read[:end], alias)
		if at < 0 {
			return r.beginning(r.lastLine())
		}
		end = at + len(alias)
		next, _ := utf8.DecodeRuneInString(read[end:])
		if next != '_' && next != '-' && !unicode.IsLetter(next) && !unicode.IsDigit(next) {
			return positionAt(read, at)
		}
		end--
	}
}
