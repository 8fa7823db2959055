package rule

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// everything has a field of every type that documents can hold.
type everything struct {
	Bool     bool              `rule:"bool"`
	String   string            `rule:"string"`
	Named    label             `rule:"named"`
	Int      int               `rule:"int"`
	Int8     int8              `rule:"int8"`
	Int64    int64             `rule:"int64"`
	Uint     uint              `rule:"uint"`
	Uint16   uint16            `rule:"uint16"`
	Uint64   uint64            `rule:"uint64"`
	Float    float64           `rule:"float"`
	Float32  float32           `rule:"float32"`
	Duration time.Duration     `rule:"duration"`
	Match    Match             `rule:"match"`
	Mode     mode              `rule:"mode"`
	Word     word              `rule:"word"`
	Struct   memory            `rule:"struct"`
	Strings  []string          `rule:"strings"`
	Structs  []memory          `rule:"structs"`
	Matches  []Match           `rule:"matches"`
	Modes    []mode            `rule:"modes"`
	Map      map[label]float64 `rule:"map"`
	Maps     map[string]memory `rule:"maps"`
	Pointer  *int              `rule:"pointer"`
	Inner    *everything       `rule:"inner"`
	Ignored  string
}

type label string

// word is a text that knows itself what it accepts, but no list of it.
type word struct{ text string }

func (w word) MarshalText() ([]byte, error) { return []byte(w.text), nil }

func (w *word) UnmarshalText(text []byte) error {
	if strings.ContainsRune(string(text), ' ') {
		return errors.New("a word has no space")
	}
	w.text = string(text)
	return nil
}

func parse(t require.TestingT, text string) *Node {
	n, err := ParseYAML([]byte(text))
	require.NoError(t, err)
	return n
}

func TestDecodeEverything(t *testing.T) {
	t.Parallel()
	var got everything
	problems := Decode(parse(t, `
bool: true
string: "1"
named: n
int: -3
int8: -128
int64: -9223372036854775808
uint: 1e3
uint16: 65535
uint64: 18446744073709551615
float: -1.5e-3
float32: .5
duration: 1m30s
match: {regex: a+}
mode: pace
word: hello
struct: {lowMark: 1, highMark: 2}
strings: [a, "2", ""]
structs: [{}, {lowMark: 3}]
matches: [a, {default: true}]
modes: [reject, smooth]
map: {a: 1, "": 2}
maps: {a.b: {lowMark: 0x10}}
pointer: 0
inner: {pointer: null, inner: {int: 10.0}}
`), &got, "")
	require.Empty(t, problems)
	zero := 0
	require.Equal(t, everything{
		Bool: true, String: "1", Named: "n", Int: -3, Int8: -128, Int64: math.MinInt64, Uint: 1000, Uint16: 65535, Uint64: math.MaxUint64,
		Float: -0.0015, Float32: 0.5, Duration: 90 * time.Second, Match: Regex("a+"), Mode: pace, Word: word{"hello"}, Struct: memory{1, 2},
		Strings: []string{"a", "2", ""}, Structs: []memory{{}, {Low: 3}}, Matches: []Match{Name("a"), Default()}, Modes: []mode{reject, smooth},
		Map: map[label]float64{"a": 1, "": 2}, Maps: map[string]memory{"a.b": {Low: 16}}, Pointer: &zero, Inner: &everything{Inner: &everything{Int: 10}},
	}, got)
}

func TestDecodeProblems(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"int8: 128":                  "1:7: b.int8: 128 is out of range; want a whole number from -128 to 127",
		"int8: -129":                 "1:7: b.int8: -129 is out of range; want a whole number from -128 to 127",
		"int64: 9223372036854775808": "1:8: b.int64: 9223372036854775808 is out of range; want a whole number from -9223372036854775808 to 9223372036854775807",
		"uint16: -1":                 "1:9: b.uint16: -1 is out of range; want a whole number from 0 to 65535",
		"uint16: 65536":              "1:9: b.uint16: 65536 is out of range; want a whole number from 0 to 65535",
		"uint: 0.5":                  "1:7: b.uint: 0.5 is not a whole number; want a whole number",
		"float32: 1e39":              "1:10: b.float32: 1e39 is out of range; want a finite number",
		"word: a b":                  "1:7: b.word: a word has no space",
		"word: 3":                    "1:7: b.word: 3 is a number; want a text",
		"modes: [pace, pase]":        "1:15: b.modes[1]: unknown value \"pase\"; did you mean \"pace\"?; want one of reject, smooth, pace",
		"structs: [{}, {low: 1}]":    "1:16: b.structs[1]: unknown field \"low\"; want one of lowMark, highMark",
		"strings: a":                 "1:10: b.strings: \"a\" is a text; want a list",
		"strings: [a, 2, ~]":         "1:14: b.strings[1]: 2 is a number; want a text, in quotes: \"2\"\n1:17: b.strings[2]: has no value; want a text",
		"map: {a: x}":                "1:10: b.map.a: \"x\" is a text; want a number",
		"map: [1]":                   "1:6: b.map: is a list; want an object",
		"maps: {a: {lowMark: @}}":    "", // not YAML
		"maps: {x: {lowMark: a}}":    "1:21: b.maps.x.lowMark: \"a\" is a text; want a number",
		"inner: {inner: {int: x}}":   "1:22: b.inner.inner.int: \"x\" is a text; want a whole number",
		"pointer: x":                 "1:10: b.pointer: \"x\" is a text; want a whole number",
		"bool: 1":                    "1:7: b.bool: 1 is a number; want true or false",
		"bool:":                      "1:6: b.bool: has no value; want true or false, or no such field",
		"Ignored: x":                 "1:1: b: unknown field \"Ignored\"; want one of bool, string, named, int, int8, int64, uint, uint16, uint64, float, float32, duration, match, mode, word, struct, strings, structs, matches, modes, map, maps, pointer, inner",
		"[]":                         "1:1: b: is a list; want an object",
	} {
		n, err := Parse([]byte(text))
		if want == "" {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, want, Decode(n, new(everything), "b").Error(), text)
	}
}

// What has no fault is filled, whatever is wrong around it, and the fault of a key given twice is not hidden by the last one.
func TestDecodeFillsTheRest(t *testing.T) {
	t.Parallel()
	n, err := ParseJSON([]byte(`{"int": 1, "string": 2, "bool": true, "int": 3, "strings": ["a", 1, "c"], "map": {"a": 1, "a": 2}}`), ParseOptions{AllowDuplicates: true})
	require.NoError(t, err)
	var got everything
	problems := Decode(n, &got, "")
	require.Equal(t, `1:22: string: 2 is a number; want a text, in quotes: "2"
1:39: field "int" is given twice, first at 1:2; want each key once
1:66: strings[1]: 1 is a number; want a text, in quotes: "1"
1:91: map: key "a" is given twice, first at 1:83; want each key once`, problems.Error())
	require.Equal(t, everything{Int: 3, Bool: true, Strings: []string{"a", "", "c"}, Map: map[label]float64{"a": 2}}, got)
}

func TestDecodeBoundsProblems(t *testing.T) {
	t.Parallel()
	n := parse(t, "strings: ["+strings.Repeat("1, ", 5000)+"]")
	problems := Decode(n, new(everything), "")
	require.Len(t, problems, maxProblems+1)
	require.Equal(t, "4000 faults more, which are not listed", problems[maxProblems].Message)

	rules := parse(t, "["+strings.Repeat("{limt: 1}, ", 3000)+"]")
	_, bad, problems := DecodeList[limitRule](rules, "flow", "")
	require.Len(t, problems, maxProblems+1)
	require.True(t, bad[2999], "faults that are not listed count all the same")
}

func TestDecodePanics(t *testing.T) {
	t.Parallel()
	require.Empty(t, Decode(nil, new(everything), ""))
	for name, into := range map[string]any{
		"no pointer": everything{},
		"nil":        (*everything)(nil),
		"no struct":  new(int),
		"a channel": new(struct {
			C chan int `rule:"c"`
		}),
		"any": new(struct {
			A any `rule:"a"`
		}),
		"a map by numbers": new(struct {
			M map[int]int `rule:"m"`
		}),
		"not exported": new(struct {
			a int `rule:"a"`
		}),
		"deep": new(struct {
			M map[string][]chan int `rule:"m"`
		}),
	} {
		require.Panics(t, func() { Decode(parse(t, "{}"), into, "") }, name)
	}
}

func TestDecodeListEdges(t *testing.T) {
	t.Parallel()
	rules, bad, problems := DecodeList[limitRule](nil, "flow", "s")
	require.Nil(t, rules)
	require.Nil(t, bad)
	require.Nil(t, problems)

	rules, bad, problems = DecodeList[limitRule](parse(t, "[]"), "flow", "s")
	require.NotNil(t, rules, "an empty list is a list")
	require.Empty(t, bad)
	require.Empty(t, problems)

	_, _, problems = DecodeList[limitRule](parse(t, "null"), "flow", "s")
	require.EqualError(t, problems, "s:1:1: flow: has no value; want a list of rules; [] for none")

	// One bad rule of two: both are told apart (faults #64).
	rules, bad, problems = DecodeList[limitRule](parse(t, "[{id: good, resource: a, limit: 1}, {id: bad, resource: b, limit: -5}]"), "flow", "s")
	require.Equal(t, []bool{false, true}, bad)
	require.Equal(t, limitRule{ID: "good", Resource: Name("a"), Limit: 1}, rules[0])
	require.Equal(t, Problems{{Source: "s", Position: Position{1, 67}, Kind: "flow", Index: 1, RuleID: "bad", Resource: Name("b"), Field: "limit", Message: "-5 is negative", Want: "0 or more"}}, problems)
}

func TestUnknownKeys(t *testing.T) {
	t.Parallel()
	problems := UnknownKeys(parse(t, "{cordon: 1, flwo: [], other: 2}"), "cordon", "flow")
	require.EqualError(t, problems, "1:13: unknown field \"flwo\"; did you mean \"flow\"?\n1:23: unknown field \"other\"; want one of cordon, flow")
	require.Empty(t, UnknownKeys(parse(t, "{}")))
	require.EqualError(t, UnknownKeys(parse(t, "{a: 1}")), `1:2: unknown field "a"; want none`)
}

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"id", "limit", "maxWait", "minCalls", "maxOpen", "open"}
	for word, want := range map[string]string{
		"limt": "limit", "Limit": "limit", "lmiit": "limit", "max_wait": "maxWait", "max-wait": "maxWait", "maxwait": "maxWait", "mincals": "minCalls",
		"opne": "open", "maxopn": "maxOpen", "i": "id", "x": "", "threshold": "", "": "", "ix": "id", strings.Repeat("limit", 100): "",
	} {
		require.Equal(t, want, nearest(word, names), word)
	}
	require.Equal(t, "", nearest("a", nil))
}

func BenchmarkDecodeList(b *testing.B) {
	n := parse(b, string(manyRulesDocument(b, (*Node).JSON)))
	for b.Loop() {
		if _, _, problems := DecodeList[limitRule](n, "flow", "bench"); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}

// scalarText is a text that documents may write as any scalar.
type scalarText string

func (s *scalarText) UnmarshalScalar(kind NodeKind, text string) error {
	if text == "bad" {
		return errors.New("is bad")
	}
	*s = scalarText(kind.String() + " " + text)
	return nil
}

func TestDecodeScalar(t *testing.T) {
	t.Parallel()
	var h struct {
		List []scalarText `rule:"list"`
	}
	require.Empty(t, Decode(parse(t, `list: ["7", 7, 7.0, 0x1F, true, vip, 123456789012345678901234567890, +5]`), &h, ""))
	require.Equal(t, []scalarText{"a text 7", "a number 7", "a number 7.0", "a number 31", "a boolean true", "a text vip",
		"a number 123456789012345678901234567890", "a number +5"}, h.List)
	problems := Decode(parse(t, `list: [null, {}, .inf, 1e400, 017, bad]`), &h, "")
	require.Len(t, problems, 6)
	require.Equal(t, `1:8: list[0]: has no value; want a text, a number, true or false`, problems[0].Error())
	require.Equal(t, `list[1]`, problems[1].Field)
	require.Equal(t, `is bad`, problems[5].Message)
	schema := Schema(reflect.TypeFor[struct {
		S scalarText `rule:"s"`
	}](), nil)
	require.Equal(t, map[string]any{"type": []any{"string", "number", "boolean"}}, schema["properties"].(map[string]any)["s"])
}
