package extractor_test

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cordon-go/cordon/extractor"
)

type (
	userID   int64
	tenant   string
	level    uint8
	uuid     [16]byte
	digest   [4]byte
	keyed    struct{ a, b string }
	stringer struct{ name string }
	pointed  struct{ name string }
	both     struct{}
	message  struct{ Name string }
	self     struct{ n int }
	failing  struct{}
)

func (l level) String() string               { return "level-" + strconv.Itoa(int(l)) }
func (u uuid) String() string                { return fmt.Sprintf("%x-%x", u[:4], u[4:]) }
func (k keyed) ParamKey() string             { return k.a + "/" + k.b }
func (keyed) String() string                 { return "not this" }
func (s stringer) String() string            { return s.name }
func (p *pointed) String() string            { return "*" + p.name }
func (both) String() string                  { return "not this" }
func (both) MarshalText() ([]byte, error)    { return []byte("this"), nil }
func (*message) ProtoMessage()               {}
func (*message) String() string              { return "not this" }
func (s self) Value() (any, error)           { return s, nil }
func (failing) MarshalText() ([]byte, error) { return nil, errors.New("no text") }
func of(t *testing.T, x any) string {
	v, ok := extractor.Of(x)
	require.True(t, ok, "%#v", x)
	return v.String()
}
func pointerTo[T any](x T) *T { return &x }
func value(t *testing.T, x any) extractor.Value {
	v, ok := extractor.Of(x)
	require.True(t, ok)
	return v
}

func TestCanonicalForm(t *testing.T) {
	long := strings.Repeat("x", extractor.MaxText+1)
	sum := sha256.Sum256([]byte(long))
	at := time.Date(2024, 2, 29, 23, 59, 58, 1_500_000, time.FixedZone("", 3600))
	for _, c := range []struct {
		in   any
		want string
	}{
		{102, "102"}, {int8(-5), "-5"}, {uint16(7), "7"}, {userID(9), "9"}, {uintptr(3), "3"}, {102.0, "102"}, {float32(102), "102"}, {"102", "102"}, {tenant("102"), "102"},
		{[]byte("102"), "102"}, {json.Number("102"), "102"}, {json.RawMessage(" 102 "), "102"}, {json.Number("102.0"), "102"}, {json.Number("1.02e2"), "102"},
		{int64(math.MinInt64), "-9223372036854775808"}, {uint64(math.MaxUint64), "18446744073709551615"}, {json.Number("18446744073709551615"), "18446744073709551615"},
		{json.Number("123456789012345678901234567890"), "123456789012345678901234567890"}, {math.Copysign(0, -1), "0"}, {json.Number("-0"), "0"}, {json.Number("-0.0"), "0"},
		{"-0", "-0"}, {"+1", "+1"}, {"007", "007"}, {"1_000", "1_000"}, {"102.0", "102.0"}, {"", ""},
		{.1, "0.1"}, {float32(.1), "0.1"}, {1e-4, "0.0001"}, {float32(1e-4), "0.0001"}, {1e-5, "1e-05"}, {1e20, "100000000000000000000"}, {1e21, "1e+21"}, {float32(1e21), "1e+21"}, {-2.5, "-2.5"},
		{float64(1 << 53), "9007199254740992"}, {float64(1 << 60), "1152921504606847000"}, {"9223372036854775808", "9223372036854775808"}, {"-9223372036854775809", "-9223372036854775809"}, {json.Number("1e400"), "1e400"}, {json.Number("Inf"), "Inf"}, {json.Number("0x10"), "0x10"}, {json.Number("01"), "01"},
		{math.Inf(1), "+Inf"}, {math.Inf(-1), "-Inf"}, {true, "true"}, {false, "false"}, {"\xff\xfe", "\xff\xfe"}, {[]byte{0xff}, "\xff"}, {2 + 3i, "(2+3i)"},
		{uuid{1, 2, 3, 4, 5}, "01020304-050000000000000000000000"}, {digest{0xde, 0xad, 0xbe, 0xef}, "deadbeef"}, {&digest{1}, "01000000"},
		{long, "sha256:" + hex.EncodeToString(sum[:])}, {[]byte(long), "sha256:" + hex.EncodeToString(sum[:])}, {long[1:], long[1:]},
		{keyed{"a", "b"}, "a/b"}, {&keyed{"a", "b"}, "a/b"}, {level(3), "level-3"}, {stringer{"s"}, "s"}, {&stringer{"s"}, "s"}, {pointed{"p"}, "*p"}, {&pointed{"p"}, "*p"}, {both{}, "this"},
		{at, "2024-02-29T22:59:58.0015Z"}, {&at, "2024-02-29T22:59:58.0015Z"}, {90 * time.Second, "1m30s"}, {net.IPv4(10, 0, 0, 1), "10.0.0.1"}, {netip.MustParseAddr("::1"), "::1"},
		{big.NewInt(77), "77"}, {*big.NewInt(77), "77"}, {url.URL{Scheme: "http", Host: "x"}, "http://x"},
		{sql.NullString{String: "5", Valid: true}, "5"}, {sql.NullInt64{Int64: 5, Valid: true}, "5"}, {sql.Null[userID]{V: 5, Valid: true}, "5"}, {sql.NullTime{Time: at, Valid: true}, "2024-02-29T22:59:58.0015Z"},
		{pointerTo(pointerTo("x")), "x"}, {json.RawMessage(`"a\u0062"`), "ab"}, {json.RawMessage(`false`), "false"},
	} {
		require.Equal(t, c.want, of(t, c.in), "%T %#v", c.in, c.in)
		require.Equal(t, extractor.Text(c.want), value(t, c.in), "%T %#v: the same text is the same value", c.in, c.in)
	}
}

func TestAbsentValues(t *testing.T) {
	var loop any
	loop = &loop
	for _, x := range []any{
		nil, (*int)(nil), pointerTo((*int)(nil)), math.NaN(), float32(math.NaN()), []byte(nil), json.RawMessage(nil), json.RawMessage("null"), json.RawMessage("{}"), json.RawMessage("x"),
		sql.NullString{}, sql.Null[int]{}, (*keyed)(nil), net.IP(nil), struct{ A int }{1}, []int{1}, [2]int{1, 2}, map[string]int{"a": 1}, func() {}, make(chan int),
		message{"x"}, &message{"x"}, self{1}, failing{}, loop, json.Number(""), errors.New("an error"),
	} {
		v, ok := extractor.Of(x)
		require.False(t, ok, "%T: %v", x, v)
	}
}

// What a document writes, what a string says and what any of Go's types holds is one value if it is one number.
func TestOneIntegerIsOneValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64().Draw(t, "n")
		want := extractor.Int(n)
		same := []any{n, strconv.FormatInt(n, 10), json.Number(strconv.FormatInt(n, 10)), &n, userID(n), []byte(strconv.FormatInt(n, 10)), big.NewInt(n)}
		if n >= 0 {
			same = append(same, uint64(n))
		}
		if int64(int16(n)) == n {
			same = append(same, int16(n))
		}
		if n > -1<<53 && n < 1<<53 {
			same = append(same, float64(n), json.Number(strconv.FormatFloat(float64(n), 'e', -1, 64)), json.Number(strconv.FormatInt(n, 10)+".0"))
		}
		for _, x := range same {
			got, ok := extractor.Of(x)
			if !ok || got != want {
				t.Fatalf("%T(%v) is %q, want %q", x, x, got, want)
			}
		}
		if next := extractor.Int(n + 1); next == want || next.String() == want.String() || next.Hash(extractor.SeedOf(1)) == want.Hash(extractor.SeedOf(1)) {
			t.Fatalf("%v and %v are the same", n, n+1)
		}
	})
}

func TestFloatsReadBack(t *testing.T) {
	check := func(t *rapid.T, f float64, bits int, v extractor.Value) {
		text := v.String()
		back, err := strconv.ParseFloat(text, bits)
		if err != nil || back != f {
			t.Fatalf("%v of %d bits is %q", f, bits, text)
		}
		shortest := strconv.FormatFloat(f, 'e', -1, bits)
		exponent, _ := strconv.Atoi(shortest[strings.IndexByte(shortest, 'e')+1:])
		if want := exponent < -4 || exponent >= 21; strings.Contains(text, "e") != (want && f != 0) {
			t.Fatalf("%v is %q", f, text)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-1e-3, 1e-3), rapid.Float64Range(1e20, 1e22)).Draw(t, "f")
		v, _ := extractor.Of(f)
		check(t, f, 64, v)
		if text, _ := extractor.Of(json.Number(strconv.FormatFloat(f, 'e', -1, 64))); text != v {
			t.Fatalf("%q of a document is %q", v, text)
		}
		g := rapid.OneOf(rapid.Float32(), rapid.Float32Range(1e-5, 1e-3)).Draw(t, "g")
		v, _ = extractor.Of(g)
		check(t, float64(g), 32, v)
	})
}

// Two values are equal if and only if their texts are, and equal ones have equal hashes.
func TestValuesAreTheirTexts(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`-?[0-9]{0,20}`), rapid.StringMatching(`[0-9a-c|\\]{0,3}`))
	seed := extractor.SeedOf(3)
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		u, v := extractor.Text(a), extractor.Text(b)
		if len(a) <= extractor.MaxText && u.String() != a {
			t.Fatalf("%q is %q", a, u)
		}
		if (u == v) != (u.String() == v.String()) || (u == v) != (a == b) || (u == v) != (u.Hash(seed) == v.Hash(seed)) || (u == v) != (u.Redacted(seed) == v.Redacted(seed)) {
			t.Fatalf("%q and %q", a, b)
		}
		if u.Clone() != u || string(u.Append([]byte("x"))) != "x"+u.String() || extractor.Text(u.String()) != u {
			t.Fatalf("%q", a)
		}
	})
}

func TestCompositesTellListsApart(t *testing.T) {
	part := rapid.Map(rapid.StringMatching(`[a1|\\]{0,3}`), extractor.Text)
	list := rapid.SliceOfN(part, 1, 4)
	rapid.Check(t, func(t *rapid.T) {
		a, b := list.Draw(t, "a"), list.Draw(t, "b")
		same := len(a) == len(b)
		for i := range min(len(a), len(b)) {
			same = same && a[i] == b[i]
		}
		if (extractor.Join(a...) == extractor.Join(b...)) != same {
			t.Fatalf("%q and %q are both %q", a, b, extractor.Join(a...))
		}
	})
	require.Equal(t, "acme|7", extractor.Join(extractor.Text("acme"), extractor.Int(7)).String())
	require.Equal(t, `a\|b|\\`, extractor.Join(extractor.Text("a|b"), extractor.Text(`\`)).String())
	require.Equal(t, extractor.Int(7), extractor.Join(extractor.Int(7)))
	long := extractor.Text(strings.Repeat("x", 200))
	require.Len(t, extractor.Join(long, long, long).String(), len("sha256:")+64)
}

func TestHashesAreKeyed(t *testing.T) {
	seed := extractor.SeedOf(7)
	v := extractor.Text("user-1")
	require.Equal(t, seed, extractor.SeedOf(7))
	require.NotEqual(t, seed, extractor.SeedOf(8))
	require.NotEqual(t, extractor.NewSeed(), extractor.NewSeed())
	require.NotEqual(t, v.Hash(seed), v.Hash(extractor.SeedOf(8)))
	require.NotEqual(t, v.Redacted(seed), v.Redacted(extractor.SeedOf(8)))
	require.Regexp(t, `^hmac:[0-9a-f]{32}$`, v.Redacted(seed).String())
	require.NotEqual(t, extractor.Int(1).Hash(seed), extractor.Text("\x01\x00\x00\x00\x00\x00\x00\x00").Hash(seed))
}

// Values that somebody makes for the purpose still spread over a sketch's rows.
func TestHashSpreads(t *testing.T) {
	seed := extractor.SeedOf(1)
	const n, rows = 1 << 16, 256
	for name, make := range map[string]func(i int) extractor.Value{
		"integers": func(i int) extractor.Value { return extractor.Int(int64(i) << 20) },
		"texts":    func(i int) extractor.Value { return extractor.Text("user-" + strconv.Itoa(i)) },
	} {
		var low, high [rows]float64
		for i := range n {
			h := make(i).Hash(seed)
			low[h%rows]++
			high[h>>56]++
		}
		for _, counts := range [][rows]float64{low, high} {
			chi := 0.0
			for _, c := range counts {
				chi += (c - n/rows) * (c - n/rows) / (n / rows)
			}
			require.Less(t, chi, 370.0, name) // one in a million by chance
		}
	}
}
