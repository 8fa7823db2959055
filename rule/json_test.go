package rule

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// asAny returns what encoding/json makes of the same value, numbers as json.Number; of members of the same name the last.
func asAny(n *Node) any {
	switch n.Kind {
	case Bool:
		return n.Text == "true"
	case Number:
		return json.Number(n.Text)
	case String:
		return n.Text
	case List:
		list := make([]any, len(n.Items))
		for i := range n.Items {
			list[i] = asAny(&n.Items[i])
		}
		return list
	case Object:
		object := make(map[string]any, len(n.Fields))
		for i := range n.Fields {
			object[n.Fields[i].Key] = asAny(&n.Fields[i].Value)
		}
		return object
	}
	return nil
}

// standard reads a document with encoding/json.
func standard(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err == nil || err.Error() != "EOF" {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

// ownRefusal reports whether an error is one of those by which we are stricter than encoding/json on purpose.
func ownRefusal(err error) bool {
	for _, reason := range []string{"not valid UTF-8", "half a character", "nested too deep", "encoded in UTF-"} {
		if strings.Contains(err.Error(), reason) {
			return true
		}
	}
	return false
}

func checkAgainstStandard(t require.TestingT, data []byte) {
	n, err := ParseJSON(data, ParseOptions{AllowDuplicates: true})
	if bytes.HasPrefix(data, []byte(byteOrderMark)) {
		return // encoding/json refuses it
	}
	want, standardErr := standard(data)
	if err != nil {
		var p Problem
		require.ErrorAs(t, err, &p)
		require.True(t, ownRefusal(err) || standardErr != nil, "%q is valid, but: %v", data, err)
		require.True(t, p.Position.Line >= 1 && p.Position.Column >= 1, "%q: no position: %v", data, err)
		return
	}
	require.NoError(t, standardErr, "%q is accepted", data)
	require.Equal(t, want, asAny(n), "%q", data)
	again, err := ParseJSON(n.JSON(), ParseOptions{AllowDuplicates: true})
	require.NoError(t, err)
	require.Equal(t, want, asAny(again), "%q written and read again", data)
}

func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{
		``, ` `, `null`, `true`, `-0`, `1.5e-3`, `01`, `1.`, `.5`, `+1`, `1e`, `"a\u00e9\n"`, `"\ud83d\ude00"`, `"\ud800"`, `"\x41"`, "\"\x00\"", "\"\xff\"",
		`[]`, `[1,2]`, `[1,]`, `[,1]`, `{}`, `{"a":1,"a":2}`, `{"a":{"b":[{}]}}`, `{a:1}`, `{'a':1}`, `{"a" 1}`, `[1 2]`, `[1]x`, `NaN`, `tru`,
		"\xef\xbb\xbf{}", "\xff\xfe{\x00", "{\r\n\"a\"\t:\n1}", `// x`, strings.Repeat("[", 70),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkAgainstStandard(t, data)
		// Lenient takes all that strict takes, for the same, and must not fall over the rest.
		strict, err := ParseJSON(data, ParseOptions{})
		lenient, lenientErr := ParseJSON(data, ParseOptions{Lenient: true})
		if err == nil {
			require.NoError(t, lenientErr)
			require.Equal(t, strict, lenient)
		}
	})
}

// drawJSON draws a value that encoding/json can write.
func drawJSON(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.Just(any(nil)), rapid.Map(rapid.Bool(), toAny[bool]), rapid.Map(rapid.Float64Range(-1e18, 1e18), toAny[float64]),
		rapid.Map(rapid.Int64(), toAny[int64]), rapid.Map(rapid.String(), toAny[string]),
	)
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(drawJSON(depth-1), 0, 4), toAny[[]any]),
		rapid.Map(rapid.MapOfN(rapid.String(), drawJSON(depth-1), 0, 20), toAny[map[string]any]))
}

func toAny[T any](v T) any { return v }

func TestParseJSONModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := drawJSON(3).Draw(t, "value")
		data, err := json.Marshal(v)
		require.NoError(t, err)
		if rapid.Bool().Draw(t, "indent") {
			var b bytes.Buffer
			require.NoError(t, json.Indent(&b, data, "\r\n", "\t "))
			data = b.Bytes()
		}
		if rapid.Bool().Draw(t, "damage") && len(data) > 0 {
			i := rapid.IntRange(0, len(data)-1).Draw(t, "at")
			data[i] = rapid.SampledFrom([]byte("{}[],:\"\\0e.-+a \n\x00\x80")).Draw(t, "byte")
		}
		checkAgainstStandard(t, data)
	})
}

func TestParseJSONPositions(t *testing.T) {
	t.Parallel()
	n, err := ParseJSON([]byte("\xef\xbb\xbf{\"é\": \"日本\", \"b\":\r\n  [1,\n\t{\"c\": null}]\n}"), ParseOptions{})
	require.NoError(t, err)
	require.Equal(t, Position{1, 1}, n.Pos)
	require.Equal(t, Position{1, 2}, n.Fields[0].Pos)
	require.Equal(t, Position{1, 7}, n.Fields[0].Value.Pos)
	require.Equal(t, Position{1, 13}, n.Fields[1].Pos, "columns count characters")
	require.Equal(t, Position{2, 3}, n.Field("b").Pos)
	require.Equal(t, Position{3, 2}, n.Locate("b[1]"))
	require.Equal(t, Position{3, 8}, n.Locate("b[1].c"))
	require.Equal(t, Position{3, 2}, n.Locate("b[1].other.deep"), "the innermost that is written")
	require.Equal(t, Position{2, 3}, n.Locate("b[7].c"))
	require.Nil(t, n.Field("other"))
	require.Zero(t, (*Node)(nil).Locate("a"))
	require.Nil(t, (*Node)(nil).Field("a"))
}

func TestParseJSONLenient(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[ // c\n {\"resource\":'/a',count:\"12.5\",\"limit_app\":\"appA\",},]": `[{"resource":"/a","count":"12.5","limit_app":"appA"}]`,
		"# head\n{a: NaN, b: Infinity, c: -Infinity} /* tail */":                `{"a":"NaN","b":"Infinity","c":"-Infinity"}`,
		"/* a\n * b */ [1,/**/2,]//":                                            `[1,2]`,
		`{'a"b': 'it\'s "x"', $b_1: 1, é: 2}`:                                   `{"a\"b":"it's \"x\"","$b_1":1,"é":2}`,
		"[\"a\tb\nc\"]":                                                         `["a\tb\nc"]`,
		`["\v\0\7\x41\xe9\'"]`:                                                  `["\u000b\u0000\u0007Aé'"]`,
		`["\ud800", "\ud83d\ude00", "\udc00\ud800"]`:                            `["�","😀","��"]`,
		`[]`: `[]`,
	} {
		n, err := ParseJSON([]byte(text), ParseOptions{Lenient: true})
		require.NoError(t, err, text)
		require.JSONEq(t, want, string(n.JSON()), text)
		_, err = ParseJSON([]byte(text), ParseOptions{})
		require.Equal(t, text == `[]`, err == nil, "%s must need Lenient", text)
	}
	for text, want := range map[string]string{
		"/* a":         "1:1: the comment does not end; want */ at its end",
		"// a":         "1:5: the document is empty",
		"[1,,2]":       "1:4: unexpected ','; want a value",
		"[\"a\x00\"]":  `1:4: control character '\x00' in a text; want it escaped`,
		"[,]":          "1:2: unexpected ','; want a value",
		"{a 1}":        `1:4: unexpected '1'; want a colon after the key "a"`,
		"{'a: 1}":      "1:2: the text does not end; want a closing quote",
		"'a\\":         "1:3: the text does not end; want a closing quote",
		"[nan]":        `1:2: unexpected "nan"; want a value; a text needs double quotes`,
		"[+1]":         "1:2: unexpected '+'; want a value",
		"[\n// \xff]":  "2:4: byte 0xFF is not valid UTF-8; want UTF-8",
		`["\x4"]`:      `1:3: unknown escape; want one of`,
		"/a":           "1:1: unexpected '/'; want a value or a comment",
		"{a: 1, a: 2}": `1:8: key "a" is given twice, first at 1:2; want each key once`,
	} {
		_, err := ParseJSON([]byte(text), ParseOptions{Lenient: true})
		require.ErrorContains(t, err, want, text)
	}
}

func TestParseJSONDuplicates(t *testing.T) {
	t.Parallel()
	n, err := ParseJSON([]byte(`{"a": 1, "b": 2, "a": 3}`), ParseOptions{AllowDuplicates: true})
	require.NoError(t, err)
	require.Len(t, n.Fields, 3)
	require.Equal(t, "3", n.Field("a").Text, "the last one counts")

	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, `"k%d": 0, `, i)
	}
	_, err = ParseJSON([]byte("{"+b.String()+`"k7": 1}`), ParseOptions{})
	require.ErrorContains(t, err, `key "k7" is given twice, first at 1:65; want each key once`)
}

// Whatever stands in a document, it is read in bounded depth and memory.
func TestDocumentBounds(t *testing.T) {
	t.Parallel()
	nested := func(depth int) []byte {
		return []byte(strings.Repeat("[", depth) + strings.Repeat("]", depth))
	}
	for name, parse := range map[string]func([]byte) (*Node, error){
		"JSON": func(data []byte) (*Node, error) { return ParseJSON(data, ParseOptions{Lenient: true}) }, "YAML": ParseYAML, "any": Parse,
	} {
		_, err := parse(nested(64))
		require.NoError(t, err, name)
		_, err = parse(nested(65))
		require.EqualError(t, err, "1:65: lists and objects are nested too deep; want at most 64 levels", name)
		_, err = parse([]byte(strings.Repeat("[{a: ", 100_000)))
		require.Error(t, err, name)
		limit := maxDocument
		if name != "JSON" {
			limit = maxYAML
		}
		_, err = parse(make([]byte, limit+1))
		require.EqualError(t, err, fmt.Sprintf("the document has %d bytes; want at most %d MiB", limit+1, limit>>20), name)
	}
	// Counting from close below the bound, as a document of two million values takes half a gigabyte.
	const text = "[1, {a: 2}]"
	for left, want := range map[int]string{6: "", 5: "", 3: "1:9: the document holds too many values; want at most 2000000", 1: "1:2: the document"} {
		j := &jsonParser{text: text, opts: ParseOptions{Lenient: true}, line: 1, values: maxValues - left}
		err := j.whole(new(Node))
		if want == "" {
			require.NoError(t, err, left)
		} else {
			require.ErrorContains(t, err, want, left)
		}
	}
}

func TestParseChooses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"\n\t {\"a\": 1}":          `{"a": 1}`,
		"\xef\xbb\xbf[1]":          `[1]`,
		"a: 1":                     `{"a": 1}`,
		"- {a: 1}":                 `[{"a": 1}]`,
		"\xef\xbb\xbf# c\na: '1'":  `{"a": "1"}`,
		"---\n{a: 1, b: [c, d],}":  `{"a": 1, "b": ["c", "d"]}`,
		"'a text'":                 `"a text"`,
		"# not JSON\n{a: 1, b: 2}": `{"a": 1, "b": 2}`,
	} {
		n, err := Parse([]byte(text))
		require.NoError(t, err, text)
		require.JSONEq(t, want, string(n.JSON()), text)
	}
	for _, text := range []string{"", " \n", "\xef\xbb\xbf", "# c\n", "---\n...\n"} {
		_, err := Parse([]byte(text))
		require.ErrorContains(t, err, "the document is empty, which is never taken for one without rules", "%q (faults #63)", text)
	}
}

func TestNodeKindString(t *testing.T) {
	t.Parallel()
	require.Equal(t, "null, a boolean, a number, a text, a list, an object, NodeKind(6)",
		fmt.Sprintf("%s, %s, %s, %s, %s, %s, %s", Null, Bool, Number, String, List, Object, NodeKind(6)))
}

func BenchmarkParseJSON(b *testing.B) {
	data := manyRulesDocument(b, (*Node).JSON)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := ParseJSON(data, ParseOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseYAML(b *testing.B) {
	data := manyRulesDocument(b, (*Node).YAML)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := ParseYAML(data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStandardJSON is what encoding/json takes for the same document, without positions.
func BenchmarkStandardJSON(b *testing.B) {
	data := manyRulesDocument(b, (*Node).JSON)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			b.Fatal(err)
		}
	}
}

// manyRulesDocument writes 10,000 rules.
func manyRulesDocument(b *testing.B, write func(*Node) []byte) []byte {
	rules := manyRules(10_000)
	for i := range rules {
		rules[i].Per, rules[i].Mode, rules[i].Burst, rules[i].Memory = 1e9, smooth, 5, memory{1, 2}
	}
	n, err := Encode(rules)
	require.NoError(b, err)
	return write(n)
}
