package extractor_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/extractor"
)

func bodyCall(body string) *extractor.Call {
	return &extractor.Call{Carrier: &carrier{body: []byte(body)}}
}

func TestJSONBodies(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for _, c := range []struct{ path, body, want string }{
		{"body", ` "x" `, "x"}, {"body", "102.0", "102"}, {"body[1]", "[1,2]", "2"}, {"body[-2]", "[1,2]", "1"}, {"body[-3]", "[1,2]", ""}, {"body[2]", "[1,2]", ""}, {"body[0]", "[]", ""},
		{"body[-1][-1].x", `[[],[{},{"x":[]},{"x":"y"}]]`, "y"}, {"body[*][*]", `[[1,2],[3],[],4,"5"]`, "1 2 3"}, {"body[*]", `{"a":1,"b":[2],"c":3,"a":4}`, "1 3 4"}, {"body[5]", `{"5":1}`, "1"},
		{"body[*].id", `[{"id":1},{"id":1,"id":2},{"id":2,"id":1}]`, "1 2"}, {"body.id", `{` + strings.Repeat(`"Id":1,`, 7) + `"id":2}`, "1 2"},
		{"body[*?]", "[1,2,[3],{}]", "1 2"}, {"body[*?]", "5", "5"}, {"body[*?]", `{"a":1}`, ""}, {"body[*?].id[*?]", `[{"id":[1,2]},{"id":3},4]`, "1 2 3"}, {"body[*?].id", `{"id":"x"}`, "x"},
		{"body.id", `{"\u0069\u0064":"\ud83d\ude00\n\/\"\\\b\f\r\t"}`, "😀\n/\"\\\b\f\r\t"}, {"body.id", `{"id":"\ud83dx\udc00\ud83d\u0041"}`, "�x��A"}, {"body.id", `{"idx":1,"i":2,"":3}`, ""}, {"body.sku", `{"ſku":1,"Sku":2}`, "1 2"},
		{`body["a.b"]["\n"]`, `{"a.b":{"\n":true}}`, "true"}, {"body.id", `{"id":"` + strings.Repeat("x", 256) + `"}`, strings.Repeat("x", 256)},
		{"body.id", `{"id":12345678901234567890123}`, "12345678901234567890123"}, {"body.id", `{"id":1e400}`, "1e400"}, {"body.id", `{"id":-0}`, "0"}, {"body.id", `{"id":null}`, ""}, {"body.id", `{"id":{"x":1}}`, ""},
		{"body.a", nested(1), "1"}, {"body.z", nested(1000), ""}, {"body[-1]", "[" + strings.Repeat("[{}],", 2000) + "5]", "5"}, {"body.id", "{\"id\":\"\xff\"}", "\xff"},
	} {
		got, err := extract(t, c.path, bodyCall(c.body))
		require.NoError(t, err, c.body)
		require.Equal(t, c.want, strings.Join(got, " "), "%s of %s", c.path, c.body)
	}
	for _, body := range []string{
		"", " ", "x", "{", "[", `"`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{a:1}`, "[1,]", "[1 2]", "[1]]", "{} {}", "01", "1.", ".1", "1e", "-", "+1", "0x1", "tru", "truex", "nul", "NaN",
		`"\x"`, `"\u12"`, `"\u12g4"`, "\"\n\"", `{"a":1 "b":2}`, `{"a":"b"`, "\ufeff{}", `"a\`, `{"id":1,"x":tru}`, `{"x":[1,{"y":}]}`, "[[1],[2}]", `{` + strings.Repeat(`"Id":1,`, 8) + `"id":2}`,
	} {
		got, err := extract(t, "body.id", bodyCall(body))
		require.ErrorIs(t, err, extractor.ErrNotJSON, body)
		require.Empty(t, got, body)
	}
	_, err := extract(t, "body.z", bodyCall(nested(1001)))
	require.ErrorIs(t, err, extractor.ErrTooLarge)
}

// Whatever encoding/json makes of a body, the value that a handler gets from it is among those that count: no member hides another.
func TestNoMemberHidesAnother(t *testing.T) {
	for _, c := range []struct{ body, all string }{
		{`{"user":{"id":"a"},"user":{"id":"b"}}`, "a b"}, {`{"user":{"id":"a"},"User":{"id":"b"}}`, "a b"}, {`{"USER":{"Id":"b"}}`, "b"}, {`{"user":{"id":"b"},"user":{}}`, "b"},
		{`{"user":{"id":"b"},"user":null}`, "b"}, {`{"user":{"id":"b","id":null}}`, "b"}, {`{"user":{"id":"b","\u0049D":"a"}}`, "a b"}, {`{"u\u017fer":{"id":"b"},"user":{"ide":"a"}}`, "b"},
		{"{\"u\u017fer\":{\"id\":\"b\"}}", "b"}, {`{"user":{"id":"a"},"user":{"id":"b"},"USER":{"x":1}}`, "a b"},
	} {
		var handler struct {
			User struct {
				ID string `json:"id"`
			} `json:"user"`
		}
		require.NoError(t, json.Unmarshal([]byte(c.body), &handler))
		got, err := extract(t, "body.user.id", bodyCall(c.body))
		require.NoError(t, err, c.body)
		require.Equal(t, c.all, strings.Join(got, " "), c.body)
		require.Contains(t, got, handler.User.ID, c.body)
	}
}

// A member of an object in a document, in the order in which they are written.
type member struct {
	name  string
	value any
}

// decode decodes what comes next with encoding/json: objects as []member, in which none is lost.
func decode(t *testing.T, d *json.Decoder) any {
	token, err := d.Token()
	require.NoError(t, err)
	switch token {
	case json.Delim('{'):
		members := []member{}
		for d.More() {
			name, err := d.Token()
			require.NoError(t, err)
			members = append(members, member{name.(string), decode(t, d)})
		}
		_, err = d.Token()
		require.NoError(t, err)
		return members
	case json.Delim('['):
		elements := []any{}
		for d.More() {
			elements = append(elements, decode(t, d))
		}
		_, err = d.Token()
		require.NoError(t, err)
		return elements
	}
	return token
}

// alike reports whether an object has more members of one name than are taken.
func alike(x any) bool {
	switch x := x.(type) {
	case []member:
		n := map[string]int{}
		for _, m := range x {
			name := strings.ToLower(m.name)
			if n[name]++; n[name] > 8 || alike(m.value) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(x, alike)
	}
	return false
}

// reference is what a document has at the steps.
func reference(x any, steps []any) []extractor.Value {
	if len(steps) == 0 {
		switch x.(type) {
		case []member, []any:
			return nil
		}
		if v, ok := extractor.Of(x); ok {
			return []extractor.Value{v}
		}
		return nil
	}
	var all []extractor.Value
	switch step := steps[0].(type) {
	case string:
		if in, ok := x.([]member); ok {
			for _, m := range in {
				if strings.EqualFold(m.name, step) {
					all = append(all, reference(m.value, steps[1:])...)
				}
			}
		}
	case int:
		if _, ok := x.([]member); ok {
			return reference(x, append([]any{strconv.Itoa(step)}, steps[1:]...))
		}
		if in, ok := x.([]any); ok {
			if step < 0 {
				step += len(in)
			}
			if 0 <= step && step < len(in) {
				return reference(in[step], steps[1:])
			}
		}
	case nil, elementsOrSelf:
		in, ok := x.([]any)
		if step != nil && !ok {
			return reference(x, steps[1:])
		}
		for _, x := range in {
			all = append(all, reference(x, steps[1:])...)
		}
	}
	return all
}

// elementsOrSelf stands for [*?] among the steps.
type elementsOrSelf struct{}

// jsonPaths are paths into bodies, each beside its steps.
var jsonPaths = map[string][]any{
	"body": {}, "body.a": {"a"}, "body.a.b": {"a", "b"}, "body[0]": {0}, "body[-1]": {-1}, "body.a[1]": {"a", 1}, "body.a[*].b": {"a", nil, "b"}, "body.a[*?].b": {"a", elementsOrSelf{}, "b"}, "body[-2][-1]": {-2, -1},
}

// FuzzJSON compares with encoding/json: the same documents are JSON, and the same values are at the paths.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":{"b":1}}`, `{"a":[1,{"b":"x"},{"b":2.50}]}`, `[[1],["\u00e9\ud83d\ude00"]]`, `{"a":1,"\u0061":{"b":-0}}`, `[1e5,-0.0,true,null]`, "[\"\xff\"]", `{"a":{"b":1},"a":{"b":2}} x`, `12345678901234567890`, `{"0":0,"A":{"b":1},"a":[{"B":2}]}`} {
		f.Add([]byte(s))
	}
	paths := map[string]*extractor.Path{}
	for text := range jsonPaths {
		p, err := extractor.Compile(text, extractor.Options{MaxBody: 1 << 20})
		require.NoError(f, err)
		paths[text] = p
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if bytes.Count(body, []byte("["))+bytes.Count(body, []byte("{")) > 1000 || len(body) > 1<<16 {
			t.Skip("encoding/json nests deeper")
		}
		before := bytes.Clone(body)
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		var x any
		valid := json.Valid(body)
		if valid {
			if x = decode(t, decoder); alike(x) {
				t.Skip("more of one name than are taken")
			}
		}
		for text, p := range paths {
			var list extractor.List
			err := p.Extract(&extractor.Call{Carrier: &carrier{body: body}}, &list)
			if valid != (err == nil) {
				t.Fatalf("%q: valid %v, but %v", body, valid, err)
			}
			if !valid || !utf8.Valid(body) {
				continue // encoding/json replaces what is not UTF-8
			}
			var want extractor.List
			for _, v := range reference(x, jsonPaths[text]) {
				want.Add(v)
			}
			require.Equal(t, texts(&want), texts(&list), "%s of %s", text, body)
		}
		require.Equal(t, before, body)
	})
}
