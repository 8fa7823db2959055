package rule

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// TestParseYAMLForms reads every form of YAML that documents may use; the right-hand side is the same value in JSON.
func TestParseYAMLForms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ yaml, json string }{
		// blocks
		{"a: 1\nb: 2\n", `{"a":1,"b":2}`},
		{"a:\n  b:\n    c: 1\n  d: 2\ne: 3", `{"a":{"b":{"c":1},"d":2},"e":3}`},
		{"- a\n- b", `["a","b"]`},
		{"a:\n- b\n- c\nd: 1", `{"a":["b","c"],"d":1}`},
		{"a:\n  - b\n  -\n    c\n  -\n  - d", `{"a":["b","c",null,"d"]}`},
		{"- - a\n  - b\n-   - c", `[["a","b"],["c"]]`},
		{"- a: 1\n  b: 2\n-\n  c: 3\n- - d: 4\n", `[{"a":1,"b":2},{"c":3},[{"d":4}]]`},
		{"a:\nb:\n  - \n", `{"a":null,"b":[null]}`},
		{"  a: 1\n  b: 2\n", `{"a":1,"b":2}`},
		{"a:    # comment\n\n  # another\n  b: 1 # third\n\n", `{"a":{"b":1}}`},
		{"a: b#c\nd: e #f\n", `{"a":"b#c","d":"e"}`},
		{"a:\r\n  - b\r\n  - c\r\n", `{"a":["b","c"]}`},
		{"a: 1\rb: 2\r", `{"a":1,"b":2}`},
		{"? a\n: 1\n? b\n? - x\n  y\n", `bad`},
		{"? a\n: - 1\n  - 2\n? b", `{"a":[1,2],"b":null}`},
		{"? |\n  long\n  key\n: 1", `{"long\nkey\n":1}`},
		{"a b c : d e\n\"q\": 1\n'r' : 2\n3: x", `{"a b c":"d e","q":1,"r":2,"3":"x"}`},
		// scalars
		{"[null, Null, NULL, ~, , ]", `bad`},
		{"[null, Null, NULL, ~]", `[null,null,null,null]`},
		{"[true, True, TRUE, false, False, FALSE]", `[true,true,true,false,false,false]`},
		{"[yes, no, on, off, y, n, nULL, tRUE]", `["yes","no","on","off","y","n","nULL","tRUE"]`},
		{"[1, -2, +3, 1.5, .5, 5., 1e3, 1.5E-3, 0x1F, 0o17, -0]", `[1,-2,3,1.5,0.5,5,1e3,1.5E-3,31,15,-0]`},
		{"[0b1, 1_000, 1:30, 1e, e1, --1, 0x, 0xg, 0o8, ., +, 1.2.3, 2020-01-01]", `["0b1","1_000","1:30","1e","e1","--1","0x","0xg","0o8",".","+","1.2.3","2020-01-01"]`},
		{"[.inf, -.INF, .nan]", `[".inf","-.INF",".nan"]`},
		{"a: b: c", `bad`},
		{"a: http://x:80/y", `{"a":"http://x:80/y"}`},
		{"a: -b\nb: ?c\nc: :d\nd: - e", `bad`},
		{"a: -b\nb: ?c\nc: :d\nd: \\n", `{"a":"-b","b":"?c","c":":d","d":"\\n"}`},
		{"a: b\n  c\n\n  d\n\n\n  e\nf: g", `{"a":"b c\nd\n\ne","f":"g"}`},
		{"a: b\n  # c\n  d", `bad`},
		{"a: [b\n  c, d: e\n  f]", `{"a":["b c",{"d":"e f"}]}`},
		{`a: "b\n\t\"\\\x41\u00e9\U0001F600\0\a\b\e\f\r\v\N\_\L\P\ "`, `{"a":"b\n\t\"\\Aé😀\u0000\u0007\b\u001b\f\r\u000b\u0085\u00a0\u2028\u2029 "}`},
		{`a: "\q"`, `bad`},
		{`a: "\xg1"`, `bad`},
		{`a: "\ud83d"`, `bad`},
		{`a: "\ude00\ud83d"`, `bad`},
		{`a: "\UFFFFFFFF"`, `bad`},
		{"a: \"b  \n  c\\\n   d\\n \n\n e\\ \n f\"", `{"a":"b cd\n\ne  f"}`},
		{"a: 'b''c  \n\n  d'", `{"a":"b'c\nd"}`},
		{"a: ''\nb: \"\"", `{"a":"","b":""}`},
		{"a: 'b' c", `bad`},
		{"a: \"b\"c", `bad`},
		{"a: \"b\nc\"", `{"a":"b c"}`},
		{"a: \"b\n---\nc\"", `bad`},
		{"a: 'b", `bad`},
		{"a: @b", `bad`},
		{"a: `b`", `bad`},
		{"a: %b", `bad`},
		// block scalars
		{"a: |\n  b\n   c\n\n  d\n\ne: 1", `{"a":"b\n c\n\nd\n","e":1}`},
		{"a: >\n  b\n  c\n\n  d\n   e\n  f\n", `{"a":"b c\nd\n e\nf\n"}`},
		{"a: |-\n  b\n\n", `{"a":"b"}`},
		{"a: |+\n  b\n\n\nc: 1", `{"a":"b\n\n\n","c":1}`},
		{"a: |2-\n    b\n   c", `{"a":"  b\n c"}`},
		{"a: |-2 # c\n    b\n", `{"a":"  b"}`},
		{"- |\n a\n- >-\n b\n c\n", `["a\n","b c"]`},
		{"a: |\nb: 1", `{"a":"","b":1}`},
		{"a: |", `{"a":""}`},
		{"a: |\n  b", `{"a":"b"}`},
		{"a: |+\n\n\nb: 1", `{"a":"\n\n","b":1}`},
		{"a: |\n  \n     \n  b", `bad`},
		{"a: |x\n  b", `bad`},
		{"a: |#c\n  b", `{"a":"b"}`},
		{"a: |\n  # text\n  b\n # comment\nc: 1", `{"a":"# text\nb\n","c":1}`},
		{"--- |\n indent\n...\n", `"indent\n"`},
		// flow
		{"{a: 1, b: {c: [d, e]}, f, g: , \"h\":1, 'i': 2, ? j : 3}", `{"a":1,"b":{"c":["d","e"]},"f":null,"g":null,"h":1,"i":2,"j":3}`},
		{"[a: 1, b, {c: d}, [e], \"f\": g, ? h : i]", `[{"a":1},"b",{"c":"d"},["e"],{"f":"g"},{"h":"i"}]`},
		{"[\na, # c\nb\n]\n", `["a","b"]`},
		{"a: [\n  b,\n]\nc: {\n}\n", `{"a":["b"],"c":{}}`},
		{"{a: http://b:1, c:d: e, [f]: 1}", `bad`},
		{"{a: http://b:1, c:d: e}", `{"a":"http://b:1","c:d":"e"}`},
		{"[a, , b]", `bad`},
		{"[a b c, -1, -a]", `["a b c",-1,"-a"]`},
		{"[-]", `["-"]`},
		{"[a", `bad`},
		{"{a: 1", `bad`},
		{"{a: 1]", `bad`},
		{"[a]]", `bad`},
		{"[a\n: b]", `bad`},
		{"[a,#b\n]", `["a"]`},
		{"{: 1}", `bad`},
		{"{~: 1}", `bad`},
		{"[\n--- a]", `bad`},
		// anchors, aliases, merge keys, tags
		{"a: &x 1\nb: *x\nc: &x 2\nd: *x", `{"a":1,"b":1,"c":2,"d":2}`},
		{"&k a: &v\n  b: 1\nc: *v\nd: *k", `{"a":{"b":1},"c":{"b":1},"d":"a"}`},
		{"a: &x\nb: *x", `{"a":null,"b":null}`},
		{"- &a [b]\n- [*a, *a]\n- {*a : 1}", `bad`},
		{"- &a b\n- {*a : 1}\n- *a : 2", `["b",{"b":1},{"b":2}]`},
		{"&a\nb: 1", `{"b":1}`},
		{"&a\n- b", `["b"]`},
		{"&a - b", `bad`},
		{"a: &x &y b", `bad`},
		{"a: & b", `bad`},
		{"a: &x *x", `bad`},
		{"- &x a\n- &y *x", `bad`},
		{"a: &x [*x]", `bad`},
		{"- &x a\n- &x [*x]", `bad`},
		{"a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\ne:\n  f: 4\n  <<: *x", `{"a":{"b":1,"c":2},"d":{"c":3,"b":1},"e":{"f":4,"b":1,"c":2}}`},
		{"a: {<<: [{b: 1}, {b: 2, c: 3}], d: 4}", `{"a":{"d":4,"b":1,"c":3}}`},
		{"a: {\"<<\": 1}", `{"a":{"<<":1}}`},
		{"a: {<<: {b: 1}, <<: {c: 2}}", `bad`},
		{"a: {<<: [1]}", `bad`},
		{"a: {<<: ~}", `bad`},
		{"[!!str 1, !!int 2, !!float 3, !!bool true, !!null ~, !!seq [], !!map {}, !!int '5', !!str , !<tag:yaml.org,2002:str> 6, !<tag:yaml.org,2002:seq> []]", `["1",2,3,true,null,[],{},5,"","6",[]]`},
		{"a: !!map\n  b: 1\nc: !!seq\n- d", `{"a":{"b":1},"c":["d"]}`},
		{"!!str a: !!str b", `{"a":"b"}`},
		{"a: !!int b", `bad`},
		{"a: !!seq {}", `bad`},
		{"a: !!binary b", `bad`},
		{"a: !b c", `bad`},
		{"a: !!str !!str c", `bad`},
		// documents
		{"%YAML 1.1\n---\na: 1\n...\n", `{"a":1}`},
		{"%YAML 1.2\n---\na: 1\n...\n", `bad`},
		{"%YAML 1.1 # c\n--- a", `"a"`},
		{"%YAML 1.1 # c\n%FOO bar\n--- a", `bad`},
		{"%YAML 2.0\n---\na", `bad`},
		{"%YAML 1.2\n%YAML 1.2\n---\na", `bad`},
		{"%TAG ! x\n---\n!a b", `bad`},
		{"%YAML 1.2\na: 1", `bad`},
		{"---\na: 1\n---\n", `{"a":1}`},
		{"a: 1\n---\nb: 2", `bad`},
		{"a: 1\n...\nb: 2", `bad`},
		{"a: 1\n... b", `bad`},
		{"--- a: 1", `bad`},
		{"--- [a]\n", `["a"]`},
		{"---a: 1", `{"---a":1}`},
		// indentation
		{"a:\n\tb: 1", `bad`},
		{"\ta: 1", `bad`},
		{"a:\n  b: 1\n c: 2", `bad`},
		{"a: 1\n b: 2", `bad`},
		{"- a\n b", `["a b"]`},
		{"- a\nb: 1", `bad`},
		{"a: 1\n- b", `bad`},
		{"a:\n  - b\n c", `bad`},
		{"a: b\nc", `bad`},
		{"a: [b]c", `bad`},
		{"a: 1\na: 2", `bad`},
		{"a:\t1\nb: \t[2]\t\n", `{"a":1,"b":[2]}`},
		{"-\ta", `bad`},
		{"-\t- a", `bad`},
		{strings.Repeat("k", 1025) + ": 1", `bad`},
		{strings.Repeat("k", 1024) + ": 1", `{"` + strings.Repeat("k", 1024) + `":1}`},
	} {
		n, err := ParseYAML([]byte(c.yaml))
		if c.json == "bad" {
			var p Problem
			require.ErrorAs(t, err, &p, "%q: %v", c.yaml, n)
			require.NotZero(t, p.Position, "%q: %v", c.yaml, err)
			continue
		}
		require.NoError(t, err, "%q", c.yaml)
		require.JSONEq(t, c.json, string(n.JSON()), "%q", c.yaml)
		again, err := ParseYAML(n.YAML())
		require.NoError(t, err, "%q as %q", c.yaml, n.YAML())
		require.Equal(t, string(n.JSON()), string(again.JSON()), "%q as %q", c.yaml, n.YAML())
	}
}

func TestParseYAMLPositions(t *testing.T) {
	t.Parallel()
	n, err := ParseYAML([]byte("\xef\xbb\xbf# c\nflow:\n  - &r id: \"é\"   # x\n    é: {a: 日本, b: [1,\n     2]}\n  -\n  - |\n    text\ng: *r\n"))
	require.NoError(t, err)
	for path, want := range map[string]Position{
		"":               {2, 1},
		"flow":           {3, 3},
		"flow[0]":        {3, 5},
		"flow[0].id":     {3, 12},
		"flow[0].é":      {4, 8},
		"flow[0].é.a":    {4, 12},
		"flow[0].é.b":    {4, 19},
		"flow[0].é.b[1]": {5, 6},
		"flow[1]":        {6, 4},
		"flow[2]":        {7, 5},
		"g":              {9, 4},
	} {
		require.Equal(t, want, n.Locate(path), path)
	}
	require.Equal(t, Position{4, 17 - 1}, n.Field("flow").Items[0].Field("é").Fields[1].Pos, "columns count characters")
}

// Aliases that repeat each other grow by powers; the bound is on what they stand for, not on their number.
func TestAliasBombs(t *testing.T) {
	t.Parallel()
	bomb := func(levels int, first, step string) []byte {
		var b strings.Builder
		fmt.Fprintf(&b, "- &a0 %s\n", first)
		for i := 1; i < levels; i++ {
			fmt.Fprintf(&b, "- &a%d %s\n", i, strings.ReplaceAll(step, "*", fmt.Sprint("*a", i-1)))
		}
		return []byte(b.String())
	}
	for name, data := range map[string][]byte{
		"lists":   bomb(30, "[x, x, x, x]", "[* , * , * , * , * , * , * , * , * , * ]"),
		"objects": bomb(30, "{x: 1}", "{a: * , b: * , c: * , d: * , e: * , f: * }"),
		"merges":  bomb(30, "{x: 1, y: 2}", "{<<: [* , * , * , * , * , * ], a: * }"),
		"flat":    []byte("- &a [" + strings.Repeat("x, ", 2000) + "]\n" + strings.Repeat("- *a\n", 2000)),
	} {
		_, err := ParseYAML(data)
		require.ErrorContains(t, err, "aliases repeat more than 1000000 values; want the values written out", name)
	}
	_, err := ParseYAML(bomb(70, "x", "[* ]"))
	require.ErrorContains(t, err, "nested too deep")
	_, err = ParseYAML(bomb(70, "{}", "{<<: * }"))
	require.NoError(t, err, "what is merged is not nested")
}

// Every shape that a parser could choke on is read in a time in proportion to its length: at this size anything else would not end.
func TestParseYAMLIsLinear(t *testing.T) {
	t.Parallel()
	size := 1 << 17
	if testing.Short() || raceEnabled {
		size = 1 << 14
	}
	for _, shape := range []string{
		"{", "[", "}", "]", ",", "[a,", "{a,", "- ", "-\n", "? ", "? a\n", ": ", ":", "a: ", "&a ", "&a\n", "*a ", "*", "!a ", "!", "%", "%a b\n", "@", "\"", "'", "''",
		"|\n", "- |\n", "- >\n\n", "#", "# x\n", " #", "\n", "\r", " ", "\t", "a\n", "a ", "a", "é", "a\n\n", "- a\n", "a:\n", "---\n", "...\n", "---\na\n...\n", "\\", "\"\\\n",
		"a: \"\n  b", "[a\n", "a: b\n  c\n", "- {<<: *a}\n", "a:\n b:\n  c:\n", "a, #\n", "- #\n", "  # c\n\n", "[],", "\"a\": ",
	} {
		repeated := strings.Repeat(shape, size/len(shape))
		for _, text := range []string{repeated, "a: " + repeated, "[" + repeated + "]", "{" + repeated, "a: \"" + repeated, "a: |\n  " + repeated} {
			if _, err := ParseYAML([]byte(text)); err != nil {
				require.ErrorAs(t, err, new(Problem))
			}
		}
	}
	long, err := ParseYAML([]byte(strings.Repeat("a ", 32*size)))
	require.NoError(t, err)
	require.Len(t, long.Text, 64*size-1)
	var indented strings.Builder
	for i := 0; indented.Len() < size; i++ {
		indented.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	_, err = ParseYAML([]byte(indented.String()))
	require.ErrorContains(t, err, "nested too deep")
}

// What a document may hold is bounded before the library makes values of it.
func TestYAMLMarks(t *testing.T) {
	t.Parallel()
	for _, mark := range []string{",", ":", "-", "?", "[", "{", "\n", "\r", "\u0085", "\u2028", "\u2029"} {
		_, err := ParseYAML([]byte("a" + strings.Repeat(mark, maxYAMLMarks+1)))
		require.ErrorContains(t, err, "the document has more than 1000000 commas, colons, dashes, brackets and line breaks; want fewer values, or JSON", mark)
	}
	require.NoError(t, printable(strings.Repeat("-", maxYAMLMarks)))
	require.NoError(t, printable(strings.Repeat("a", maxYAMLMarks+1)))
}

// Faults of syntax are found at the line where they are, or where the library notices them.
func TestParseYAMLFaults(t *testing.T) {
	t.Parallel()
	const before, after = "flow:\n  - id: x\n    limit: 5\n", "\n    mode: x\n  - id: y\n    limit: 3\n"
	for text, want := range map[string]string{
		"    limit 5":           "4:5: could not find expected ':'; want a key and a colon, followed by a space",
		"     per: 1s":          "4:6: mapping values are not allowed in this context; want the key on a line of its own",
		"   per: 1s":            "4:4: did not find expected '-' indicator up to here; want an entry with the indentation of its neighbors",
		"    per: [a, b":        "6:3: did not find expected ',' or ']' up to here; want a comma, or a closing ]",
		"    per: {a, b":        "6:3: did not find expected ',' or '}' up to here; want a comma, or a closing }",
		"    per: \"a":          "4:5: found unexpected end of stream; want a closing quote",
		"    per: \"a\" b":      "5:5: did not find expected key up to here; want a key with the indentation of its neighbors",
		"    per: %a":           "4:5: found character that cannot start any token; want spaces, no tabs",
		"    per: a: b":         "4:5: mapping values are not allowed in this context",
		"    per: *a":           "4:10: alias \"*a\" has no anchor; want an anchor further up, not around it, or quotes",
		"    per: [*ab, *a] #a": "4:11: alias \"*ab\" has no anchor",
		"    per: *":            "4:5: did not find expected alphabetic or numeric character; want quotes around a text that begins with * or &",
		"    per: \"\\q\"":      "4:5: found unknown escape character",
		"\tper: 1":              "3:5: found a tab character that violates indentation; want spaces",
		"    per: !e!x 1":       "5:5: found undefined tag handle up to here; want the value without its tag",
		"\u0001":                "4:1: control character '\\x01'",
		"# \u0080":              "4:3: control character '\\u0080'",
	} {
		_, err := ParseYAML([]byte(before + text + after))
		require.ErrorContains(t, err, want, text)
	}
	_, err := ParseYAML([]byte("a: b: c"))
	require.ErrorContains(t, err, "1:1: mapping values are not allowed")
	require.Equal(t, Position{1, 4}, (&lineReader{text: "a: *x\n# *xy", at: 11}).lastAlias("*x"))
	require.Equal(t, Position{1, 1}, (&lineReader{text: "a: x", at: 4}).lastAlias("*x"))
}

type panicReader struct{}

func (panicReader) Read([]byte) (int, error) { panic("broken") }

// Should the library panic, the document is at fault, not the process.
func TestParseYAMLOutlivesPanics(t *testing.T) {
	t.Parallel()
	err := decodeYAML(yaml.NewDecoder(panicReader{}), new(yaml.Node))
	require.EqualError(t, yamlFault(err, &lineReader{text: "a"}), "1:1: cannot be read: broken")
}

// Keys longer than the library looks for a colon are written so that it need not.
func TestWriteLongKeys(t *testing.T) {
	t.Parallel()
	for _, size := range []int{900, 1000, 1020, 1021, 1022, 1023, 1024, 1025, 1026, 5000} {
		for _, letter := range []string{"k", "é", "\n"} {
			key := strings.Repeat(letter, size)
			long := Node{Kind: Object, Fields: []Field{{Key: key, Value: Node{Kind: Number, Text: "1"}}}}
			list := Node{Kind: List, Items: []Node{{Kind: Object, Fields: []Field{{Key: key, Value: long}, {Key: "a", Value: long}}}}}
			n := Node{Kind: Object, Fields: []Field{{Key: key, Value: list}, {Key: "b", Value: long}}}
			for _, n := range []Node{long, list, n} {
				again, err := ParseYAML(n.YAML())
				require.NoError(t, err, "%d %s", size, n.YAML())
				require.Equal(t, string(n.JSON()), string(again.JSON()))
			}
		}
	}
}

// style writes a value in YAML in one of the many ways that mean the same.
type style struct{ t *rapid.T }

func (s style) coin(what string) bool { return rapid.Bool().Draw(s.t, what) }

func (s style) scalar(n *Node) string {
	switch n.Kind {
	case Null:
		return rapid.SampledFrom([]string{"null", "~", "Null"}).Draw(s.t, "null")
	case Bool, Number:
		return n.Text
	}
	if plain := yamlScalar(n.Text); plain == n.Text && s.coin("plain") {
		return plain
	}
	if !strings.ContainsAny(n.Text, "\n\r\t\x00\u0085\u00a0\u2028\u2029") && printable(n.Text) == nil && s.coin("single") {
		return "'" + strings.ReplaceAll(n.Text, "'", "''") + "'"
	}
	return string(appendQuoted(nil, n.Text))
}

func (s style) flow(n *Node) string {
	space := rapid.SampledFrom([]string{"", " ", "\n  ", " # c\n   "})
	var b strings.Builder
	switch n.Kind {
	case List:
		b.WriteString("[" + space.Draw(s.t, "space"))
		for i := range n.Items {
			b.WriteString(s.flow(&n.Items[i]) + space.Draw(s.t, "space"))
			if i < len(n.Items)-1 || s.coin("trailing") {
				b.WriteString(", ")
			}
		}
		return b.String() + "]"
	case Object:
		b.WriteString("{" + space.Draw(s.t, "space"))
		for i := range n.Fields {
			f := &n.Fields[i]
			b.WriteString(s.scalar(&Node{Kind: String, Text: f.Key}) + rapid.SampledFrom([]string{": ", " : ", ":\n "}).Draw(s.t, "colon") + s.flow(&f.Value) + space.Draw(s.t, "space"))
			if i < len(n.Fields)-1 || s.coin("trailing") {
				b.WriteString(", ")
			}
		}
		return b.String() + "}"
	}
	return s.scalar(n)
}

// block writes what comes behind "key:" or "-" of an entry at an indentation.
func (s style) block(n *Node, indent int, inMapping bool) string {
	anchor := ""
	if s.coin("anchor") {
		anchor = " &a" + fmt.Sprint(rapid.IntRange(0, 99).Draw(s.t, "name"))
	}
	if len(n.Items)+len(n.Fields) == 0 || s.coin("flow") {
		return anchor + " " + s.flow(n) + rapid.SampledFrom([]string{"\n", " # c\n", "\n\n"}).Draw(s.t, "end")
	}
	deeper := indent + rapid.IntRange(1, 4).Draw(s.t, "indent")
	if inMapping && n.Kind == List && s.coin("level") {
		deeper = indent
	}
	pad := strings.Repeat(" ", deeper)
	first := anchor + rapid.SampledFrom([]string{"\n", " # c\n", "\n\n"}).Draw(s.t, "break") + pad
	if indent >= 0 && !inMapping && anchor == "" && s.coin("compact") {
		first = strings.Repeat(" ", deeper-indent-1) // what stands before it is the dash
		if first == "" {
			first = "\n" + pad
		}
	}
	var b strings.Builder
	b.WriteString(first)
	for i := range n.Items {
		if i > 0 {
			b.WriteString(pad)
		}
		b.WriteString("-" + s.block(&n.Items[i], deeper, false))
	}
	for i := range n.Fields {
		if i > 0 {
			b.WriteString(pad)
		}
		key := s.scalar(&Node{Kind: String, Text: n.Fields[i].Key})
		if s.coin("explicit") {
			b.WriteString("? " + key + "\n" + pad + ":" + s.block(&n.Fields[i].Value, deeper, true))
		} else {
			b.WriteString(key + ":" + s.block(&n.Fields[i].Value, deeper, true))
		}
	}
	return b.String()
}

// drawNode draws a value without positions.
func drawNode(t *rapid.T, depth int) Node {
	text := rapid.OneOf(rapid.StringN(0, 12, -1), rapid.SampledFrom([]string{"true", "1", "~", "a: b", "- a", "#", "a #b", "0x1", "yes", "<<", "", " a", "a ", "---", "*a", "10ms", "é"}))
	switch kind := rapid.IntRange(0, 5).Draw(t, "kind"); {
	case kind == 0:
		return Node{}
	case kind == 1:
		return Node{Kind: Bool, Text: rapid.SampledFrom([]string{"true", "false"}).Draw(t, "bool")}
	case kind == 2:
		return Node{Kind: Number, Text: rapid.SampledFrom([]string{"0", "-1", "1.5", "1e9", "123456789"}).Draw(t, "number")}
	case kind == 3 || depth == 0:
		return Node{Kind: String, Text: text.Draw(t, "text")}
	case kind == 4:
		n := Node{Kind: List}
		for range rapid.IntRange(0, 4).Draw(t, "items") {
			n.Items = append(n.Items, drawNode(t, depth-1))
		}
		return n
	}
	n := Node{Kind: Object}
	for _, key := range rapid.SliceOfNDistinct(text, 0, 4, rapid.ID).Draw(t, "keys") {
		n.Fields = append(n.Fields, Field{Key: key, Value: drawNode(t, depth-1)})
	}
	return n
}

// A value is read back the same in whatever style it is written.
func TestParseYAMLStyles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := drawNode(t, 4)
		text := "---" + style{t}.block(&n, -1, false)
		got, err := ParseYAML([]byte(text))
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if string(got.JSON()) != string(n.JSON()) {
			t.Fatalf("%q: got %s, want %s", text, got.JSON(), n.JSON())
		}
	})
}

// Both forms of a document say the same of the same value.
func TestWriteNode(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := drawNode(t, 5)
		fromYAML, err := ParseYAML(n.YAML())
		require.NoError(t, err, "%s", n.YAML())
		fromJSON, err := ParseJSON(n.JSON(), ParseOptions{})
		require.NoError(t, err, "%s", n.JSON())
		require.Equal(t, string(n.JSON()), string(fromYAML.JSON()))
		require.Equal(t, string(n.YAML()), string(fromJSON.YAML()))
	})
}

func TestWriteNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"1": "1", "-1.50": "-1.50", "+1": "1", ".5": "0.5", "-.5": "-0.5", "5.": "5", "5.e3": "5e3", "017": "17", "00": "0", "-007.5": "-7.5", "0x1F": "31", "0o17": "15", "1E+2": "1E+2",
		".inf": `".inf"`, "-.inf": `"-.inf"`, ".nan": `".nan"`, "NaN": `"NaN"`, "-Infinity": `"-Infinity"`,
	} {
		n := Node{Kind: Number, Text: text}
		require.Equal(t, want+"\n", string(n.JSON()), text)
	}
	for text, want := range map[string]string{"NaN": ".nan", "Infinity": ".inf", "-Infinity": "-.inf", "1e3": "1e3"} {
		n := Node{Kind: Number, Text: text}
		require.Equal(t, want+"\n", string(n.YAML()), text)
	}
}

func FuzzParseYAML(f *testing.F) {
	for _, s := range []string{
		"a: 1\nb:\n  - x\n  - {c: d, e: [f, g]}\n", "- a\n-\n  - b\n  - c: d\n    e: 'f''g'\n", "a: |\n  b\n   c\n\nd: >-\n  e\n  f\n", "a: b\n  c\n# x\ne: \"f\n  g\\n\"\n",
		"? a\n: b\n? - c\n", "a: &x {b: 1}\nc: {<<: *x}\n", "%YAML 1.2\n--- !!str\n1\n...\n", "[a: b, ? c : d, \"e\":f]", "\ta: b", "a:\r\n- 'b\r\n\r\n c'\r\n", "- ! 0\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := ParseYAML(data)
		if err != nil {
			var p Problem
			require.True(t, errors.As(err, &p), "%q: %v", data, err)
			return
		}
		again, err := ParseYAML(n.YAML())
		require.NoError(t, err, "%q as %q", data, n.YAML())
		require.Equal(t, string(n.JSON()), string(again.JSON()), "%q as %q", data, n.YAML())
		_, err = ParseJSON(n.JSON(), ParseOptions{})
		require.NoError(t, err, "%q as %q", data, n.JSON())
	})
}
