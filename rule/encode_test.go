package rule

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestEncode(t *testing.T) {
	t.Parallel()
	type document struct {
		Version int         `rule:"cordon"`
		Flow    []limitRule `rule:"flow"`
		None    []limitRule `rule:"none"`
	}
	n, err := Encode(document{Version: 1, Flow: []limitRule{
		{ID: "orders", Resource: Name("orders.Create"), Limit: 100, Per: time.Second},
		{ID: "search", Resource: Wildcard("/search/*"), Limit: 0.5, Per: 90 * time.Minute, Mode: pace, Also: true, Memory: memory{1e9, 2.5e20}},
		{},
	}})
	require.NoError(t, err)
	require.Equal(t, `cordon: 1
flow:
  - id: orders
    resource: orders.Create
    limit: 100
    per: 1s
  - id: search
    resource: {wildcard: "/search/*"}
    limit: 0.5
    per: 1h30m
    mode: pace
    memory:
      lowMark: 1000000000
      highMark: 2.5e+20
    also: true
  - {}
`, string(n.YAML()))
	require.Equal(t, `{
  "cordon": 1,
  "flow": [
    {
      "id": "orders",
      "resource": "orders.Create",
      "limit": 100,
      "per": "1s"
    },
    {
      "id": "search",
      "resource": {
        "wildcard": "/search/*"
      },
      "limit": 0.5,
      "per": "1h30m",
      "mode": "pace",
      "memory": {
        "lowMark": 1000000000,
        "highMark": 2.5e+20
      },
      "also": true
    },
    {}
  ]
}
`, string(n.JSON()))
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]any{
		"rule: cannot encode: float: NaN is not a finite number":            everything{Float: math.NaN()},
		"rule: cannot encode: inner: float: +Inf is not a finite number":    everything{Inner: &everything{Float: math.Inf(1)}},
		"rule: cannot encode: duration: duration -1s is negative":           everything{Duration: -time.Second},
		`rule: cannot encode: string: text "\xff" is not valid UTF-8`:       everything{String: "\xff"},
		`rule: cannot encode: strings: [1]: text "\xff" is not valid UTF-8`: everything{Strings: []string{"", "\xff"}},
		`rule: cannot encode: match: text "\xff" is not valid UTF-8`:        everything{Match: Name("\xff")},
		`rule: cannot encode: match: text "a\xff" is not valid UTF-8`:       everything{Match: Regex("a\xff")},
		`rule: cannot encode: map: key "\xff" is not valid UTF-8`:           everything{Map: map[label]float64{"\xff": 1}},
		"rule: cannot encode: map: a: NaN is not a finite number":           everything{Map: map[label]float64{"a": math.NaN()}},
		"rule: cannot encode: mode: unknown mode 9":                         everything{Mode: 9},
	} {
		_, err := Encode(v)
		require.EqualError(t, err, want)
	}
	require.Panics(t, func() { _, _ = Encode(make(chan int)) })
	require.Panics(t, func() { _, _ = Encode(map[int]int{}) })
	n, err := Encode(nil)
	require.NoError(t, err)
	require.Equal(t, Node{}, *n)
}

// drawEverything draws a value that documents can hold.
func drawEverything(t *rapid.T, depth int) everything {
	text := rapid.String()
	duration := rapid.Map(rapid.Int64Min(0), func(n int64) time.Duration { return time.Duration(n) })
	match := rapid.OneOf(rapid.Map(text, Name), rapid.Map(text, Wildcard), rapid.Map(text, Regex), rapid.Just(Default()))
	number := rapid.Float64Range(-math.MaxFloat64, math.MaxFloat64)
	mem := rapid.Custom(func(t *rapid.T) memory { return memory{number.Draw(t, "low"), number.Draw(t, "high")} })
	e := everything{
		Bool: rapid.Bool().Draw(t, "bool"), String: text.Draw(t, "string"), Named: label(text.Draw(t, "named")), Int: rapid.Int().Draw(t, "int"),
		Int8: rapid.Int8().Draw(t, "int8"), Int64: rapid.Int64().Draw(t, "int64"), Uint: rapid.Uint().Draw(t, "uint"), Uint16: rapid.Uint16().Draw(t, "uint16"),
		Uint64: rapid.Uint64().Draw(t, "uint64"), Float: number.Draw(t, "float"), Float32: rapid.Float32Range(-math.MaxFloat32, math.MaxFloat32).Draw(t, "float32"),
		Duration: duration.Draw(t, "duration"), Match: match.Draw(t, "match"), Mode: mode(rapid.IntRange(0, 2).Draw(t, "mode")),
		Word: word{rapid.StringMatching(`[a-z0-9~:]*`).Draw(t, "word")}, Struct: mem.Draw(t, "struct"),
		Strings: rapid.SliceOfN(text, 0, 3).Draw(t, "strings"), Structs: rapid.SliceOfN(mem, 0, 3).Draw(t, "structs"), Matches: rapid.SliceOfN(match, 0, 3).Draw(t, "matches"),
		Modes: rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 2), func(i int) mode { return mode(i) }), 0, 3).Draw(t, "modes"),
		Map:   rapid.MapOfN(rapid.Map(text, func(s string) label { return label(s) }), number, 0, 3).Draw(t, "map"),
		Maps:  rapid.MapOfN(text, mem, 0, 3).Draw(t, "maps"),
	}
	if rapid.Bool().Draw(t, "pointer") {
		e.Pointer = new(rapid.Int().Draw(t, "to"))
	}
	if depth > 0 && rapid.Bool().Draw(t, "inner") {
		e.Inner = new(drawEverything(t, depth-1))
	}
	return e
}

// checkRoundTrip writes a value in both forms and reads it back.
func checkRoundTrip(t require.TestingT, v everything) {
	n, err := Encode(v)
	require.NoError(t, err)
	for _, data := range [][]byte{n.YAML(), n.JSON()} {
		again, err := Parse(data)
		require.NoError(t, err, "%s", data)
		var got everything
		require.Empty(t, Decode(again, &got, ""), "%s", data)
		require.True(t, reflect.DeepEqual(v, got), "%s\nwant %+v\ngot  %+v", data, v, got)
	}
}

func TestEncodeDecode(t *testing.T) {
	t.Parallel()
	checkRoundTrip(t, everything{})
	checkRoundTrip(t, everything{Strings: []string{}, Map: map[label]float64{}, Float: math.Copysign(0, -1), Inner: &everything{}})
	rapid.Check(t, func(t *rapid.T) { checkRoundTrip(t, drawEverything(t, 2)) })
}

func FuzzEncodeDecode(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { checkRoundTrip(t, drawEverything(t, 2)) }))
}
