package extractor_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cordon-go/cordon/extractor"
)

// document draws what a JSON document can hold.
func document(depth int) *rapid.Generator[any] {
	leaf := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }), rapid.Map(rapid.Int64Range(-3, 3), func(n int64) any { return n }), rapid.Map(rapid.Float64Range(-3, 3), func(f float64) any { return f }),
		rapid.Map(rapid.StringMatching(`[a1"\\é\n]{0,3}`), func(s string) any { return s }),
	)
	if depth == 0 {
		return leaf
	}
	below := document(depth - 1)
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(below, 0, 3), func(list []any) any { return list }),
		rapid.Map(rapid.MapOfN(rapid.StringMatching(`[ab5]`), below, 0, 3), func(m map[string]any) any { return m }))
}

type holder struct {
	Any   any
	Raw   json.RawMessage
	Named map[string]named
}

type named = any

// Whatever route a value takes into a call, it is the same value: in a body, decoded as a generic map, as json.RawMessage in an object, in a map with keys of any type.
func TestAllRoutesAgree(t *testing.T) {
	step := rapid.SampledFrom([]string{".a", ".b", "[0]", "[1]", "[-1]", "[5]", "[*]", "[*?]"})
	rapid.Check(t, func(t *rapid.T) {
		x := document(3).Draw(t, "document")
		steps := strings.Join(rapid.SliceOfN(step, 0, 3).Draw(t, "steps"), "")
		text, err := json.Marshal(x)
		require.NoError(t, err)
		decoder := json.NewDecoder(strings.NewReader(string(text)))
		decoder.UseNumber()
		var numbers any
		require.NoError(t, decoder.Decode(&numbers))
		call := &extractor.Call{Args: []any{x, numbers, &holder{Any: x, Raw: text}, looseKeys(x)}, Carrier: &carrier{body: text}}
		var want string
		for i, root := range []string{"body", "arg[0]", "arg[1]", "arg[2].any", "arg[2].raw", "arg[3]"} {
			p, err := extractor.Compile(root+steps, extractor.Options{})
			require.NoError(t, err)
			var list extractor.List
			if err := p.Extract(call, &list); err != nil {
				require.IsType(t, (*extractor.TypeError)(nil), err)
			}
			got := fmt.Sprintf("%q", texts(&list))
			list.Reset()
			_ = p.Extract(call, &list)
			require.Equal(t, got, fmt.Sprintf("%q", texts(&list)), "the types are known now")
			if i == 0 {
				want = got
			} else if got != want {
				t.Fatalf("%s%s of %s is %s, want %s", root, steps, text, got, want)
			}
		}
	})
}

// looseKeys returns the document with keys of any type in its maps, and numbers where they are such.
func looseKeys(x any) any {
	switch x := x.(type) {
	case map[string]any:
		m := map[any]any{}
		for k, v := range x {
			if k == "5" {
				m[int32(5)] = looseKeys(v)
			} else {
				m[k] = looseKeys(v)
			}
		}
		return m
	case []any:
		var list []any
		for _, v := range x {
			list = append(list, looseKeys(v))
		}
		return list
	}
	return x
}

type account struct{ id int }

func (a *account) GetId() int                  { return a.id }
func (a account) GetOwner() fmt.Stringer       { return stringer{"owner"} }
func (a account) GetNone() *account            { return nil }
func (a account) GetSelf() any                 { return &account{a.id + 1} }
func (a *account) GetMissing() (string, bool)  { return "x", false }
func (a account) GetUserName() string          { return "user" }
func (account) GetTwo() (int, string)          { return 1, "2" }
func (account) GetList() []*account            { return []*account{{1}, nil, {2}} }
func (account) GetMap() map[string]json.Number { return map[string]json.Number{"k": "5.0"} }

func (account) GetURL() string { return "a" }
func (account) GetUrl() string { return "b" }

type outer struct{ account }

func TestGetters(t *testing.T) {
	for path, want := range map[string]string{
		"arg[0].id": "7", "arg[1].id": "7", "arg[2].id": "7", "arg[3].id": "8", "arg[0].owner": "owner", "arg[0].none.id": "", "arg[0].self.id": "8", "arg[0].self.self.id": "9", "arg[0].missing": "", "arg[0].user_name": "user",
		"arg[0].list[*].id": "1 2", "arg[0].list[-1].id": "2", "arg[0].map.k": "5",
	} {
		got, err := extract(t, path, &extractor.Call{Args: []any{&account{7}, account{7}, []account{{7}}[0], &outer{account{8}}}})
		require.NoError(t, err, path)
		require.Equal(t, want, strings.Join(got, " "), path)
	}
	for _, path := range []string{"arg[0].two", "arg[0].url"} {
		_, err := extract(t, path, &extractor.Call{Args: []any{account{}}})
		require.ErrorContains(t, err, "no such field or getter", path)
	}
}
