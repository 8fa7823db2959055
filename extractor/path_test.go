package extractor_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/extractor"
)

// carrier carries what a map holds, and a body.
type carrier struct {
	parts map[extractor.Part]map[string]string
	body  []byte
	err   error
}

func (c *carrier) Lookup(part extractor.Part, key string) (extractor.Value, bool) {
	v, ok := c.parts[part][key]
	return extractor.Text(v), ok
}

func (c *carrier) Body(max int) ([]byte, error) {
	if c.err == nil && len(c.body) > max {
		return nil, extractor.ErrTooLarge
	}
	return c.body, c.err
}

type customer struct {
	ID    int64 `json:"id"`
	Name  string
	Email *string `json:"email,omitempty" hessian:"mail"`
	level string
	Tags  map[string]string
	Rank  level
}

// GetLevel reads what has no exported field.
func (c customer) GetLevel() string { return c.level }

// GetPartner returns another customer, if there is one.
func (c *customer) GetPartner() (*customer, bool) { return &customer{ID: c.ID + 1}, c.ID > 0 }

// GetCredit may fail.
func (c *customer) GetCredit() (int, error) {
	if c.ID < 0 {
		return 0, errors.New("no credit")
	}
	return 500, nil
}

// GetBroken panics.
func (c *customer) GetBroken() int { panic("out of order") }

// GetOf is no getter, for it wants an argument.
func (c *customer) GetOf(int) int { return 1 }

type item struct {
	SKU   string `protobuf:"bytes,1,opt,name=sku_code,json=skuCode,proto3"`
	Count int
}

type audit struct{ By string }

type hidden struct{ Trace string }

type base struct {
	Region string
	Shared int
}

type order struct {
	base
	*audit
	*hidden
	Customer *customer `json:"buyer"`
	Items    []item
	Lines    []*item
	Any      any
	ByNumber map[int32]*item
	ByKind   map[level]item
	Named    namedMap
	Raw      json.RawMessage
	Null     sql.NullString
	At       time.Time
	Array    [3]int
	URLName  string
	urlName  string
	Shared   string
	Twice    **customer
	Matrix   [][]int
	Options  map[string]any
}

type namedMap map[string]any

func anOrder() *order {
	mail := "a@b"
	c := &customer{ID: 102, Name: "Ann", Email: &mail, level: "gold", Tags: map[string]string{"tier": "1", "x.y": "2"}, Rank: 2}
	return &order{
		base: base{Region: "eu", Shared: 1}, audit: &audit{By: "root"}, Customer: c,
		Items: []item{{"a", 1}, {"b", 2}, {"a", 3}}, Lines: []*item{{"c", 4}, nil, {"d", 5}},
		Any:      map[string]any{"uid": json.Number("102"), "list": []any{1.0, "1", "2"}, "c": c, "m": map[any]any{"k": "v", int32(5): "five", 6: "six"}},
		ByNumber: map[int32]*item{7: {"n", 7}, -1: {"m", 1}}, ByKind: map[level]item{1: {"k", 1}}, Named: namedMap{"a": map[string]any{"b": 1}},
		Raw: json.RawMessage(`{"user":{"id":"102","roles":["x","y"]}}`), Null: sql.NullString{String: "n", Valid: true}, At: time.Unix(0, 0),
		Array: [3]int{1, 2, 3}, URLName: "u", urlName: "hidden", Shared: "outer", Twice: &c, Matrix: [][]int{{1, 2}, {3}}, Options: map[string]any{"deep": map[string]any{"er": []any{map[string]any{"x": 1}}}},
	}
}

// extract returns the texts at a path, sorted. They are the same when the types are known.
func extract(t testing.TB, path string, c *extractor.Call) ([]string, error) {
	t.Helper()
	p, err := extractor.Compile(path, extractor.Options{})
	require.NoError(t, err, path)
	var list, again extractor.List
	err = p.Extract(c, &list)
	for range 2 {
		again.Reset()
		_ = p.Extract(c, &again)
		require.Equal(t, texts(&list), texts(&again), path)
	}
	return texts(&list), err
}

func texts(l *extractor.List) []string {
	var got []string
	for i := range l.Len() {
		got = append(got, l.At(i).String())
	}
	slices.Sort(got)
	return got
}

func TestPathsThroughArguments(t *testing.T) {
	o := anOrder()
	loose := map[any]*item{5: {"five", 5}, int64(6): {"six", 6}, int32(7): {"seven", 7}, "8": {"eight", 8}, "k": {"word", 9}}
	args := []any{o, *o, map[string]any{"order": o, "loose": loose}, nil, 7, (*order)(nil), []any{o, "s"}, map[string]string{"k": "v"}}
	for path, want := range map[string]string{
		"arg[0].customer.id": "102", "arg[0].Customer.ID": "102", "arg[0].buyer.Id": "102", "arg[1].buyer.id": "102", "arg[2].order.buyer.id": "102", "arg[-2][0].buyer.id": "102",
		"arg[0].buyer.mail": "a@b", "arg[0].buyer.email": "a@b", "arg[0].buyer.name": "Ann", "arg[0].buyer.rank": "level-2",
		"arg[0].buyer.tags.tier": "1", `arg[0].buyer.tags["x.y"]`: "2", "arg[0].buyer.tags.none": "", "arg[0].buyer.tags[*]": "1 2",
		"arg[0].buyer.level": "gold", "arg[1].customer.Level": "gold", "arg[0].buyer.partner.id": "103", "arg[0].buyer.credit": "500",
		"arg[0].region": "eu", "arg[0].Region": "eu", "arg[0].By": "root", "arg[0].trace": "", "arg[0].shared": "outer", "arg[0].urlname": "u",
		"arg[0].items[0].sku_code": "a", "arg[0].items[-1].count": "3", "arg[0].items[*].skuCode": "a b", "arg[0].items[3].SKU": "", "arg[0].items[-4].SKU": "",
		"arg[0].lines[*].sku": "c d", "arg[0].lines[1].sku": "", "arg[0].matrix[*][*]": "1 2 3", "arg[0].matrix[0][-1]": "2", "arg[0].array[1]": "2", "arg[1].array[*]": "1 2 3",
		"arg[0].any.uid": "102", "arg[0].any.list[*]": "1 2", "arg[0].any.list[0]": "1", "arg[0].any.c.id": "102", "arg[0].any.m.k": "v", "arg[0].any.m[5]": "five", "arg[0].any.m[6]": "six", "arg[0].any.none.x": "",
		"arg[0].ByNumber[7].sku": "n", `arg[0].ByNumber["-1"].sku`: "m", "arg[0].ByNumber[-1].sku": "m", "arg[0].ByNumber[8].sku": "", "arg[0].ByKind[1].sku": "k", "arg[0].Named.a.b": "1",
		"arg[2].loose[5].sku": "five", "arg[2].loose[6].sku": "six", "arg[2].loose[7].sku": "seven", "arg[2].loose[8].sku": "eight", "arg[2].loose[9].sku": "", "arg[2].loose.k.sku": "word",
		"arg[0].raw.user.id": "102", "arg[0].raw.user.roles[-1]": "y", "arg[0].null": "n", "arg[0].null.Valid": "true", "arg[0].at": "1970-01-01T00:00:00Z", "arg[0].twice.id": "102",
		"arg[0].options.deep.er[0].x": "1", "arg[3]": "", "arg[4]": "7", "arg[5].customer.id": "", "arg[9]": "", "arg[-9]": "", "arg[-1].k": "v", "arg[*].k": "v",
	} {
		got, err := extract(t, path, &extractor.Call{Args: args})
		if path == "arg[*].k" {
			require.IsType(t, (*extractor.TypeError)(nil), err, "the other arguments have no k")
		} else {
			require.NoError(t, err, path)
		}
		require.Equal(t, want, strings.Join(got, " "), path)
	}
}

type words []string

func (words) String() string { return "words" }

// TestElementsIfThereAreAny: [*?] is every element of a list, and of all else nothing but what it is.
func TestElementsIfThereAreAny(t *testing.T) {
	o := anOrder()
	text := "t"
	args := []any{"s", 7, []string{"a", "b", "a"}, [2]int{1, 2}, []any{"x", nil, 3.5}, o, []*order{o, nil}, map[string]any{"k": []int{4}}, []byte("bytes"), words{"a"}, nil, []int(nil), &text, &o.Items,
		json.RawMessage(`[1,"2"]`), json.RawMessage(`"3"`), map[any]any{"k": "v"}}
	for path, want := range map[string]string{
		"arg[0][*?]": "s", "arg[1][*?]": "7", "arg[2][*?]": "a b", "arg[3][*?]": "1 2", "arg[4][*?]": "3.5 x", "arg[5][*?].buyer.id": "102", "arg[6][*?].buyer.id": "102", "arg[7].k[*?]": "4", "arg[7][*?].k[0]": "4",
		"arg[8][*?]": "bytes", "arg[9][*?]": "words", "arg[10][*?]": "", "arg[11][*?]": "", "arg[12][*?]": "t", "arg[13][*?].sku_code": "a b", "arg[14][*?]": "1 2", "arg[15][*?]": "3", "arg[16][*?].k": "v",
		"arg[5].matrix[*?][*?]": "1 2 3", "arg[5].buyer[*?].name": "Ann", "arg[5].any[*?].list[*?]": "1 2", "arg[5].Items[*?].sku_code[*?]": "a b", "arg[0][*?][*?]": "s", "arg[2][*?] + arg[0][*?]": "a|s b|s",
	} {
		got, err := extract(t, path, &extractor.Call{Args: args})
		require.NoError(t, err, path)
		require.Equal(t, want, strings.Join(got, " "), path)
	}
	for path, want := range map[string]string{
		"arg[5][*?]": "a struct is no single value", "arg[7][*?]": "a map is no single value", "arg[3][*?].x": "a int has nothing inside", "arg[8][*?].x": "a uint8 has nothing inside",
	} {
		_, err := extract(t, path, &extractor.Call{Args: args})
		require.ErrorContains(t, err, want, path)
	}
}

func TestPathsThroughWhatACallCarries(t *testing.T) {
	c := &extractor.Call{Resource: "GET /x", Origin: "app", Method: "GET", Carrier: &carrier{
		parts: map[extractor.Part]map[string]string{
			extractor.Header: {"X-Tenant": "acme"}, extractor.Query: {"uid": "1"}, extractor.Cookie: {"sid": "2"}, extractor.PathValue: {"id": "3"}, extractor.Metadata: {"x-user": "4"},
			extractor.Attachment: {"Uid": "5"}, extractor.Peer: {"ip": "10.0.0.1"}, extractor.Client: {"ip": "10.0.0.2"}, extractor.Values: {"tenant": "6"},
		},
		body: []byte(`{"user":{"id":7,"roles":["a","b"]},"n":null}`),
	}}
	for path, want := range map[string]string{
		`header["X-Tenant"]`: "acme", "header.x-tenant": "acme", "header['x-TENANT']": "acme", "query.uid": "1", "query.UID": "", "cookie.sid": "2", "path.id": "3", `meta["X-User"]`: "4", "attachment.Uid": "5",
		"peer.ip": "10.0.0.1", "client.ip": "10.0.0.2", "value.tenant": "6", "method": "GET", "origin": "app", "resource": "GET /x",
		"body.user.id": "7", "body.user.roles[*]": "a b", "body.user.roles[-1]": "b", "body.n": "", "body.user": "", "body": "",
		`header["X-Tenant"] + method`: "acme|GET", "body.user.roles[*]+query.uid": "a|1 b|1", "method + query.none": "", "body.user.roles[*] + body.user.roles[*]": "a|a a|b b|a b|b",
	} {
		got, err := extract(t, path, c)
		require.NoError(t, err, path)
		require.Equal(t, want, strings.Join(got, " "), path)
	}
	for _, path := range []string{"header.x", "body.x", "method", "origin", "resource", "arg[0]", "header.x + body.x"} {
		got, err := extract(t, path, &extractor.Call{})
		require.NoError(t, err, path)
		require.Empty(t, got, path)
	}
}

// Header keys come as net/http has them, so that its maps can be looked into directly.
func TestHeaderKeysAreCanonical(t *testing.T) {
	for _, key := range []string{"x-tenant", "X-TENANT", "etag", "x--y", "a_b", "x y", "ä", "x-1a", "X-Forwarded-For"} {
		var asked string
		p, err := extractor.Compile(fmt.Sprintf("header[%q]", key), extractor.Options{})
		require.NoError(t, err)
		var list extractor.List
		require.NoError(t, p.Extract(&extractor.Call{Carrier: lookup(func(_ extractor.Part, key string) (extractor.Value, bool) {
			asked = key
			return extractor.Value{}, true
		})}, &list))
		require.Equal(t, http.CanonicalHeaderKey(key), asked)
	}
}

type lookup func(part extractor.Part, key string) (extractor.Value, bool)

func (f lookup) Lookup(part extractor.Part, key string) (extractor.Value, bool) { return f(part, key) }
func (f lookup) Body(int) ([]byte, error)                                       { panic("no body here") }

func TestPathNeeds(t *testing.T) {
	for path, want := range map[string][2]bool{"arg[0]": {false, true}, "body.x + method": {true, false}, "method": {}, "arg[0] + body": {true, true}} {
		p, err := extractor.Compile(path, extractor.Options{})
		require.NoError(t, err)
		require.Equal(t, want, [2]bool{p.NeedsBody(), p.NeedsArgs()}, path)
		require.Equal(t, path, p.String())
	}
}

// Every fault says where it is and what would be right.
func TestFaultsInPaths(t *testing.T) {
	options := extractor.Options{Named: map[string]extractor.Extractor{"uid": extractor.Func(func(*extractor.Call) (extractor.Value, bool) { return extractor.Int(1), true })}}
	for path, want := range map[string]string{
		"":                 "byte 0: the end cannot begin a path; want one of arg, header",
		"arg":              "byte 3: arg alone is no value; want the argument's number",
		"arg.user":         "byte 3: arg has no .user; want the argument's number",
		"arg[0":            "byte 5: the end inside brackets; want ]",
		"arg[":             "byte 4: the path ends inside brackets",
		"arg[]":            `byte 4: "]" inside brackets; want a number, *, or a quoted name`,
		"arg[-]":           `byte 4: "-" inside brackets`,
		"arg[01]":          "byte 4: 01 is no index",
		"arg[-0]":          "byte 4: -0 is no index",
		"arg[99999999999]": "byte 4: 99999999999 is no index",
		"arg[x]":           `byte 4: "x" inside brackets`,
		"arg[0].":          "byte 7: the end after .",
		"arg[0].0":         `byte 7: "0" after .`,
		"arg[0]..x":        `byte 7: "." after .`,
		"arg[0] x":         `byte 7: "x" cannot follow arg[0]`,
		"arg[0] +":         "byte 8: the end cannot begin a path",
		`header["x`:        "byte 7: the quote is not closed",
		`header[""]`:       "byte 7: the name is empty",
		`header["\q"]`:     "byte 8: unknown escape; want",
		`header["\ud800"]`: "byte 8: unknown escape; want",
		`header["\u12"]`:   "byte 8: unknown escape; want",
		`header["\`:        `byte 8: \ at the end`,
		"header":           `byte 6: header alone is no value; want a name, as header["X-Tenant"]`,
		"header[0]":        "byte 6: header has no [0]; want one name",
		"header.a.b":       "byte 8: header.a has no .b; want one name",
		"peer.port":        "byte 4: peer has no .port; want peer.ip",
		"arg[*?]":          "byte 3: arg has no [*?]; want the argument's number, as arg[0]",
		"arg[0][?]":        "byte 7: \"?\" inside brackets",
		"header[*?]":       "byte 6: header has no [*?]; want one name",
		"client[*]":        "byte 6: client has no [*]; want one name, as client.ip",
		"method.x":         "byte 6: method has no .x; want method alone",
		"uid.x":            "byte 3: uid has no .x; want uid alone",
		"headers.x":        `byte 0: there is no value called "headers"; want header (did you mean that?)`,
		"haeder.x":         "want header (did you mean that?)",
		"udi":              "want uid (did you mean that?)",
		"zebra":            "want one of arg, header, query, cookie, path, meta, attachment, body, peer, client, value, method, origin, resource, or an extractor of one's own: uid",
		"method+method+method+method+method+method+method+method+method": "byte 56: too many values for a composite; want at most 8",
		"arg" + strings.Repeat("[0]", 33):                                "byte 99: too many steps; want at most 32",
		"body." + strings.Repeat("x", 1024):                              "byte 1024: the path has 1029 bytes; want at most 1024",
		"header.\xff":                                                    "byte 7: the path is not valid UTF-8",
	} {
		_, err := extractor.Compile(path, options)
		var fault *extractor.SyntaxError
		require.ErrorAs(t, err, &fault, path)
		require.ErrorContains(t, err, want, path)
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	one := extractor.Func(func(*extractor.Call) (extractor.Value, bool) { return extractor.Int(1), true })
	err := extractor.Options{Named: map[string]extractor.Extractor{"header": one, "a.b": one, "none": nil, "nowhere": extractor.Func(nil), "": one}, Walkers: []extractor.Walker{nil}, MaxBody: -1}.Validate()
	for _, want := range []string{`the name "header" has a meaning in paths already`, `the name "a.b" cannot be written`, `the name "" cannot be written`, `the extractor "none" is nil`, `the extractor "nowhere" is nil`, "walker 0 is nil", "MaxBody -1 is negative"} {
		require.ErrorContains(t, err, want)
	}
	_, err = extractor.Compile("method", extractor.Options{MaxBody: -1})
	require.ErrorContains(t, err, "MaxBody -1")
}

// Each type that a path does not fit is said once, and costs little from then on. Whole objects, lists and maps are no keys (faults #54, #55).
func TestTypesThatAPathDoesNotFit(t *testing.T) {
	type twins struct {
		A int `json:"x"`
		B int `hessian:"x"`
	}
	type loop *loop
	for _, c := range []struct {
		path string
		arg  any
		want string
	}{
		{"arg[0].custmer.id", anOrder(), `does not fit extractor_test.order: at .custmer, there is no such field or getter; did you mean Customer?`},
		{"arg[0].customer.zzz", anOrder(), "does not fit extractor_test.customer: at .zzz, there is no such field or getter; fields are: ID, Name, Email, Tags, Rank"},
		{"arg[0].customer", anOrder(), "at its end, a struct is no single value; name one of its fields: ID, Name"},
		{"arg[0].items", anOrder(), "a slice is no single value; take one of its elements, or each by [*]"},
		{"arg[0].items.sku", anOrder(), "at .sku, a slice has elements: [0], [-1] or [*]"},
		{"arg[0].customer[0]", anOrder(), "at [0], a struct has fields: ID"},
		{"arg[0].customer.id.x", anOrder(), "at .x, a int64 has nothing inside"},
		{"arg[0].customer.name[0]", anOrder(), "at [0], a string has nothing inside"},
		{"arg[0].customer.of", anOrder(), "there is no such field or getter"},
		{"arg[0].ByNumber.x.sku", anOrder(), "at .x, its keys are of type int32"},
		{"arg[0].ByNumber[9999999999999].sku", nil, ""},
		{"arg[0].x", map[struct{}]int{{}: 1}, "its keys are of type struct {}; want strings or integers"},
		{"arg[0].x", map[error]int{}, "its keys are of type error; want strings or integers"},
		{"arg[0][300]", map[uint8]int{}, "its keys are of type uint8"},
		{"arg[0].x", twins{}, "the fields A and B both mean that; write the field's Go name"},
		{"arg[0].x", []any{1}, "a slice has elements"},
		{"arg[0].k.x", map[string]string{"k": "v"}, "does not fit string: at .x, a string has nothing inside"},
		{"arg[0]", map[string]any{}, "a map is no single value"},
		{"arg[0]", &message{"x"}, "a struct is no single value"},
		{"arg[0].x", new(loop), "too many pointers"},
		{"arg[0].By", struct{ by string }{"x"}, "it has none that are exported"},
	} {
		p, err := extractor.Compile(c.path, extractor.Options{})
		if c.want == "" {
			require.Error(t, err)
			continue
		}
		require.NoError(t, err)
		var list extractor.List
		call := &extractor.Call{Args: []any{c.arg}}
		err = p.Extract(call, &list)
		var misfit *extractor.TypeError
		require.ErrorAs(t, err, &misfit, c.path)
		require.ErrorContains(t, err, c.want, c.path)
		require.Equal(t, c.path, misfit.Path)
		require.Zero(t, list.Len())
		require.NoError(t, p.Extract(call, &list), "it was said")
		require.Zero(t, list.Len())
	}
}

// Elements of other types count although one type does not fit.
func TestMisfitsAmongElements(t *testing.T) {
	p, err := extractor.Compile("arg[0][*].id", extractor.Options{})
	require.NoError(t, err)
	call := &extractor.Call{Args: []any{[]any{customer{ID: 1}, item{}, map[string]any{"id": 2}, "text", nil}}}
	for _, want := range []string{"extractor_test.item", "string", ""} {
		var list extractor.List
		err := p.Extract(call, &list)
		if want != "" {
			require.ErrorContains(t, err, want)
		} else {
			require.NoError(t, err)
		}
		require.Equal(t, []string{"1", "2"}, texts(&list))
	}
}

type panicky struct{ N int }

func (panicky) String() string { panic(errors.New("no string today")) }

type bomb struct{}

func (bomb) Extract(*extractor.Call) (extractor.Value, bool) { panic(strings.Repeat("boom ", 100)) }

// What objects and extractors do wrong never hurts the caller, and leaves nothing behind.
func TestForeignFaultsAreErrors(t *testing.T) {
	nowhere := extractor.Func(func(c *extractor.Call) (extractor.Value, bool) { return extractor.Text(c.Context.Err().Error()), true })
	options := extractor.Options{Named: map[string]extractor.Extractor{"bomb": bomb{}, "null": nowhere}}
	for _, c := range []struct {
		path     string
		arg      any
		what     string
		message  string
		panicked bool
	}{
		{"arg[0].buyer.broken", anOrder(), "GetBroken of extractor_test.customer", "out of order", true},
		{"arg[0].credit", &customer{ID: -1}, "GetCredit of extractor_test.customer", "no credit", false},
		{"arg[0]", panicky{}, "String of extractor_test.panicky", "no string today", true},
		{"arg[0][*]", []any{1, 2, panicky{}}, "String of extractor_test.panicky", "no string today", true},
		{"arg[0]", failing{}, "MarshalText of extractor_test.failing", "no text", false},
		{"method + bomb", nil, `extractor "bomb"`, "boom boom", true},
		{"null", nil, `extractor "null"`, "nil pointer", true},
		{"body.x", nil, "the carrier", "no body here", true},
	} {
		p, err := extractor.Compile(c.path, options)
		require.NoError(t, err)
		for range 3 {
			var list extractor.List
			list.Add(extractor.Text("before"))
			err = p.Extract(&extractor.Call{Method: "m", Args: []any{c.arg}, Carrier: lookup(nil)}, &list)
			var fault *extractor.CallError
			require.ErrorAs(t, err, &fault, c.path)
			require.Equal(t, extractor.CallError{Path: c.path, What: c.what, Message: fault.Message, Panicked: c.panicked}, *fault)
			require.Contains(t, fault.Error(), c.message)
			require.LessOrEqual(t, len(fault.Message), 260)
			require.Equal(t, []string{"before"}, texts(&list))
		}
	}
}

func TestBodiesThatCannotBeRead(t *testing.T) {
	p, err := extractor.Compile("body.x", extractor.Options{MaxBody: 10})
	require.NoError(t, err)
	for _, c := range []struct {
		body string
		err  error
		want error
	}{
		{`{"x":1`, nil, extractor.ErrNotJSON}, {"", nil, extractor.ErrNotJSON}, {`{"x":1} `, fmt.Errorf("adapter: %w", extractor.ErrNoBody), extractor.ErrNoBody}, {`{"x":1,"y":2}`, nil, extractor.ErrTooLarge}, {`{"x":1}`, nil, nil},
	} {
		var list extractor.List
		err := p.Extract(&extractor.Call{Carrier: &carrier{body: []byte(c.body), err: c.err}}, &list)
		require.ErrorIs(t, err, c.want)
		if c.want == nil {
			require.NoError(t, err)
			require.Equal(t, []string{"1"}, texts(&list))
			continue
		}
		require.ErrorContains(t, err, `"body.x"`)
		require.Zero(t, list.Len())
	}
	var list extractor.List
	err = p.Extract(&extractor.Call{Carrier: &carrier{err: errors.New("broken pipe")}}, &list)
	require.EqualError(t, err, `extractor: path "body.x": reading the body failed: broken pipe`)
	got, err := extract(t, "arg[0].raw.x", &extractor.Call{Args: []any{&order{Raw: json.RawMessage("{")}}})
	require.ErrorIs(t, err, extractor.ErrNotJSON)
	require.Empty(t, got)
	_, err = extract(t, "arg[0].raw", &extractor.Call{Args: []any{&order{Raw: json.RawMessage("{")}}})
	require.ErrorIs(t, err, extractor.ErrNotJSON)
}

func TestOwnExtractors(t *testing.T) {
	p, err := extractor.Compile("uid + method", extractor.Options{Named: map[string]extractor.Extractor{"uid": extractor.Func(func(c *extractor.Call) (extractor.Value, bool) {
		return extractor.Int(c.Context.Value(userID(0)).(int64)), true
	})}})
	require.NoError(t, err)
	ctx := context.WithValue(t.Context(), userID(0), int64(5))
	var list extractor.List
	require.NoError(t, p.Extract(&extractor.Call{Context: ctx, Method: "m"}, &list))
	require.Equal(t, []string{"5|m"}, texts(&list))
}

// A value that holds itself ends.
func TestCyclesEnd(t *testing.T) {
	var loop any
	loop = &loop
	m := map[string]any{}
	m["m"] = m
	type node struct{ Next *node }
	n := &node{}
	n.Next = n
	for path, arg := range map[string]any{"arg[0]": loop, "arg[0].x": loop, "arg[0].m.m.m.m.x": m, "arg[0].next.next.next": n} {
		got, _ := extract(t, path, &extractor.Call{Args: []any{arg}})
		require.Empty(t, got, path)
	}
}

// What a type does not fit is remembered for a bounded number of types; more still work.
func TestManyTypes(t *testing.T) {
	p, err := extractor.Compile("arg[0].f0", extractor.Options{})
	require.NoError(t, err)
	for i := range 200 {
		fields := []reflect.StructField{{Name: "F0", Type: reflect.TypeFor[int]()}}
		for j := range i {
			fields = append(fields, reflect.StructField{Name: fmt.Sprint("F", j+1), Type: reflect.TypeFor[int8]()})
		}
		v := reflect.New(reflect.StructOf(fields)).Elem()
		v.Field(0).SetInt(int64(i))
		for range 2 {
			var list extractor.List
			require.NoError(t, p.Extract(&extractor.Call{Args: []any{v.Interface()}}, &list))
			require.Equal(t, []string{fmt.Sprint(i)}, texts(&list))
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	p, err := extractor.Compile("arg[0].id + header.x", extractor.Options{})
	require.NoError(t, err)
	var group sync.WaitGroup
	misfits := make(chan error, 100)
	for i := range 8 {
		group.Go(func() {
			c := &carrier{parts: map[extractor.Part]map[string]string{extractor.Header: {"X": fmt.Sprint(i)}}}
			for j := range 500 {
				var list extractor.List
				args := []any{[]any{customer{ID: 1}, &customer{ID: 1}, map[string]any{"id": 1}, item{}}[j%4]}
				if err := p.Extract(&extractor.Call{Args: args, Carrier: c}, &list); err != nil {
					misfits <- err
				}
				if want := fmt.Sprint("1|", i); j%4 < 3 && (list.Len() != 1 || list.At(0).String() != want) {
					panic(fmt.Sprint(texts(&list), want))
				}
			}
		})
	}
	group.Wait()
	require.Len(t, misfits, 1, "a type that does not fit is said once")
}

func TestAllArguments(t *testing.T) {
	got, err := extract(t, "arg[*].id", &extractor.Call{Args: []any{&customer{ID: 1}, customer{ID: 2}, &customer{ID: 3}, nil}})
	require.NoError(t, err)
	require.Equal(t, []string{"1", "2", "3"}, got)
}
