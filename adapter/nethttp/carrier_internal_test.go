package nethttp

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/extractor"
)

// What is looked for in place is what net/url reads.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{"uid=7", "a=1&uid=%37&uid=8", "u%69d=x+y%20z", "uid", "uid=&uid=1", "uid=%zz&uid=1", "uid=%2", "a;uid=1&uid=2", "uid=1;x&uid=2", "&&=1&uid==", "uid%", "u%6", "%75id=%00"} {
		f.Add(q, "uid")
	}
	f.Add("=x&%3D=y", "=")
	f.Add("a+b=1", "a b")
	f.Add("é=1&%C3%A9=2", "é")
	f.Fuzz(func(t *testing.T, query, key string) {
		if strings.Count(query, "&") > 5000 {
			t.Skip("net/url has a bound")
		}
		values, _ := url.ParseQuery(query) // what is wrong is left out
		want, there := values[key]
		if key == "" {
			// A pair without a name is one for net/url if there is a = or an escape in it, and no rule can ask for it.
			t.Skip()
		}
		got, ok := queryValue(query, key)
		require.Equal(t, there, ok)
		if there {
			require.Equal(t, want[0], got)
		}
	})
}

// What is looked for in place is what net/http reads.
func FuzzCookie(f *testing.F) {
	for _, c := range []string{"sid=1", "a=b; sid=2", `sid="quoted"; sid=3`, "sid=a b,c", "sid=\x7f\nsid=4", "sid", " sid = x ", `sid="`, `sid=""`, "=1;sid==", "SID=1", "sid=é;sid=5"} {
		f.Add(c, "sid")
	}
	f.Add("a,b=1", "a,b")
	f.Fuzz(func(t *testing.T, lines, name string) {
		if strings.Count(lines, ";")+strings.Count(lines, "\n") > 2000 || name == "" {
			t.Skip("net/http has a bound, and takes no name for all of them")
		}
		r := &http.Request{Header: http.Header{"Cookie": strings.Split(lines, "\n")}}
		want, err := r.Cookie(name)
		got, ok := cookieValue(r.Header["Cookie"], name)
		require.Equal(t, err == nil, ok)
		if ok {
			require.Equal(t, want.Value, got)
		}
	})
}

// Outside of a mux the same values are found in a path as within.
func FuzzPathValue(f *testing.F) {
	patterns := []string{"/users/{id}", "GET /users/{id}/orders/{order}", "/files/{rest...}", "shop.test/a%20b/{id}/", "/x/{id}/{$}"}
	var found *http.Request
	mux := http.NewServeMux()
	for _, p := range patterns {
		mux.HandleFunc(p, func(_ http.ResponseWriter, r *http.Request) { found = r })
	}
	for _, p := range []string{"/users/7", "/users/%37/orders/a%2Fb", "/files/a/b%20c/", "/files/", "/users//7", "/a%20b/7/x", "/a b/7/", "/x/1/", "/x/1", "/users/.", "/users/%2e%2e/orders/1", "/users/é"} {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || u.Host != "" || u.Scheme != "" {
			t.Skip()
		}
		r := &http.Request{Method: "GET", URL: u, Host: "shop.test", Header: http.Header{}}
		outside := *r
		found = nil
		mux.ServeHTTP(httptest.NewRecorder(), r)
		if found == nil {
			t.Skip("not found, or sent to the path in its clean form")
		}
		cfg := newConfig([]Option{WithMux(mux)})
		for _, name := range []string{"id", "order", "rest", "none"} {
			require.Equal(t, found.PathValue(name), cfg.pathValue(&outside, name), name)
		}
	})
}

// modelClient is WithTrustedProxies as it is documented, with lists.
func modelClient(remote string, lines []string, trusted []netip.Prefix) string {
	isTrusted := func(a netip.Addr) bool {
		for _, p := range trusted {
			if p.Contains(a.WithZone("")) {
				return true
			}
		}
		return false
	}
	client := netip.MustParseAddr(remote)
	var chain []string
	for _, line := range lines {
		chain = append(chain, strings.Split(line, ",")...)
	}
	for i := len(chain) - 1; i >= 0 && isTrusted(client); i-- {
		text := strings.TrimSpace(chain[i])
		a, err := netip.ParseAddr(text)
		if err != nil {
			ap, err := netip.ParseAddrPort(text)
			if err != nil {
				if a, err = netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")); err != nil || !strings.HasPrefix(text, "[") || !strings.HasSuffix(text, "]") {
					break
				}
				ap = netip.AddrPortFrom(a, 0)
			}
			a = ap.Addr()
		}
		client = a.Unmap()
	}
	return client.String()
}

func FuzzClientAddress(f *testing.F) {
	for _, xff := range []string{"", "1.2.3.4", "9.9.9.9, 10.0.0.1", "10.0.0.3,10.0.0.2", "unknown, 10.0.0.1", "1.2.3.4:80", "[2001:db8::1]:443,10.0.0.1", "[2001:DB8::1]", "::ffff:1.2.3.4", "fe80::1%eth0",
		"1.1.1.1\n2.2.2.2", ",", "10.0.0.1,,", "[::1", "1.2.3.4, [10.0.0.1]:9"} {
		f.Add(xff)
	}
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("fe80::/10")}
	f.Fuzz(func(t *testing.T, xff string) {
		if strings.Contains(xff, ":") && !validPorts(xff) {
			t.Skip("a port is not looked at")
		}
		lines := strings.Split(xff, "\n")
		for _, remote := range []string{"10.1.1.1", "8.8.8.8"} {
			r := &http.Request{RemoteAddr: remote + ":1234", Header: http.Header{"X-Forwarded-For": lines}}
			got, ok := clientAddress(r, trusted)
			require.True(t, ok)
			require.Equal(t, modelClient(remote, lines, trusted), got.value().String())
		}
	})
}

// validPorts reports whether whatever looks like a port is one.
func validPorts(xff string) bool {
	for _, text := range strings.FieldsFunc(xff, func(r rune) bool { return r == ',' || r == '\n' }) {
		text = strings.TrimSpace(text)
		if _, ok := addressOf(text); !ok {
			continue
		}
		if _, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
			continue
		}
		if _, err := netip.ParseAddrPort(text); err != nil {
			return false
		}
	}
	return true
}

// Whatever was looked at, and in however small pieces the body comes, the handler sees what was sent, and the rule all of it or nothing.
func FuzzPeek(f *testing.F) {
	f.Add([]byte(`{"a":1}`), 10, false)
	f.Add([]byte(`{"a":1}`), 7, true)
	f.Add([]byte(`{"a":1}`), 6, true)
	f.Add([]byte{}, 5, true)
	f.Add(bytes.Repeat([]byte(`x`), 3000), 2000, false)
	f.Fuzz(func(t *testing.T, body []byte, most int, known bool) {
		if most < 1 || most > 1<<20 {
			t.Skip()
		}
		for _, how := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.DataErrReader, iotest.HalfReader} {
			r := &http.Request{Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(how(bytes.NewReader(body))), ContentLength: -1}
			if known {
				r.ContentLength = int64(len(body))
			}
			for range 2 { // of two rules
				got, err := peek(r, most)
				switch {
				case len(body) > most:
					require.ErrorIs(t, err, extractor.ErrTooLarge)
				case len(body) == 0:
					require.ErrorIs(t, err, extractor.ErrNoBody)
				default:
					require.NoError(t, err)
					require.Equal(t, body, got)
				}
			}
			seen, err := io.ReadAll(iotest.HalfReader(r.Body))
			require.NoError(t, err)
			require.True(t, bytes.Equal(body, seen))
			_, err = peek(r, most)
			if !known || len(body) <= most {
				require.ErrorIs(t, err, extractor.ErrNoBody, "it was read")
			}
			require.NoError(t, r.Body.Close())
			_, err = r.Body.Read(make([]byte, 1))
			if r.Body != http.NoBody && (!known || len(body) <= most) {
				require.ErrorIs(t, err, http.ErrBodyReadAfterClose)
			}
		}
	})
}

func TestPeekFindsFaultsToBeTheClients(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	for name, tt := range map[string]struct {
		body io.Reader
		most int
		want error
		then error
	}{
		"breaks off":               {io.MultiReader(strings.NewReader(`{"a":`), iotest.ErrReader(io.ErrUnexpectedEOF)), 100, extractor.ErrNoBody, io.ErrUnexpectedEOF},
		"fails":                    {iotest.ErrReader(broken), 100, extractor.ErrNoBody, broken},
		"fails beyond the bound":   {io.MultiReader(strings.NewReader(`{"a":1}`), iotest.ErrReader(broken)), 3, extractor.ErrTooLarge, broken},
		"closed before":            {iotest.ErrReader(http.ErrBodyReadAfterClose), 100, extractor.ErrNoBody, http.ErrBodyReadAfterClose},
		"never gives anything":     {idle{}, 100, extractor.ErrNoBody, io.ErrNoProgress},
		"too much for a bound":     {http.MaxBytesReader(nil, io.NopCloser(strings.NewReader(`{"a":1}`)), 4), 100, extractor.ErrTooLarge, &http.MaxBytesError{}},
		"read by somebody already": {strings.NewReader(""), 100, extractor.ErrNoBody, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &http.Request{Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(tt.body), ContentLength: -1}
			for range 2 {
				_, err := peek(r, tt.most)
				require.ErrorIs(t, err, tt.want)
			}
			_, err := io.ReadAll(r.Body)
			if large := (*http.MaxBytesError)(nil); errors.As(tt.then, &large) {
				require.ErrorAs(t, err, &large)
				return
			}
			require.ErrorIs(t, err, tt.then)
		})
	}
}

// idle returns nothing, for ever.
type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

// A rule with a higher bound, of an engine further in, reads on where the first stopped.
func TestPeekReadsOn(t *testing.T) {
	t.Parallel()
	text := `{"user":"` + strings.Repeat("x", 3000) + `"}`
	r := &http.Request{Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(text)), ContentLength: -1}
	_, err := peek(r, 10)
	require.ErrorIs(t, err, extractor.ErrTooLarge)
	got, err := peek(r, 4000)
	require.NoError(t, err)
	require.Equal(t, text, string(got))
	_, err = peek(r, 10)
	require.ErrorIs(t, err, extractor.ErrTooLarge)
	all, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.Equal(t, text, string(all))
}

func TestWhatIsJSONByItsHeader(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"application/json": true, "Application/JSON; charset=utf-8": true, "application/problem+json": true, "application/vnd.api+JSON ;x": true, "text/json": true,
		"text/plain": false, "": false, "+json": false, "application/jsonx": false, "application/x-www-form-urlencoded": false, "json": false,
	} {
		require.Equal(t, want, isJSON(http.Header{"Content-Type": {text}}), text)
	}
	require.False(t, isJSON(http.Header{}))
	require.True(t, isJSON(http.Header{"Content-Type": {"text/plain", "application/json"}}))
	require.True(t, isJSON(http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"identity"}}))
	require.False(t, isJSON(http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}))
}

func TestPathPatterns(t *testing.T) {
	t.Parallel()
	for pattern, fault := range map[string]string{
		"/users/{id}": "", "/{a}/b/{c...}": "", "/a b/{id}": "",
		"users/{id}": "begin", "": "begin", "/users": "names nothing", "/users/{}": "has no name", "/{...}": "has no name", "/{a...}/b": "not at the end", "/{a}/{a}": "twice",
		"/a//{b}": "no segment", "/{a}/": "no segment", "/../{a}": "no segment", "/x{a}": "no segment", "/{a}?b": "no segment", "/a%20b/{id}": "no segment", "/{{a}}": "has no name",
	} {
		err := CheckPathPattern(pattern)
		if fault == "" {
			require.NoError(t, err, pattern)
			continue
		}
		require.ErrorContains(t, err, fault, pattern)
		require.ErrorContains(t, err, "want ", pattern)
		require.Panics(t, func() { WithPathPattern(pattern) }, pattern)
	}
	for _, tt := range [][4]string{
		{"/users/{id}", "/users/7", "id", "7"},
		{"/users/{id}", "/users/7/orders", "id", "7"},
		{"/users/{id}", "//users//7/", "id", "7"},
		{"/users/{id}", "/users/x/../7", "id", "7"},
		{"/users/{id}", "/users/a%2Fb", "id", "a/b"},
		{"/users/{id}", "/%75sers/7", "id", "7"},
		{"/a b/{id}", "/a%20b/7", "id", "7"},
		{"/users/{id}", "/members/7", "id", ""},
		{"/users/{id}", "/users", "id", ""},
		{"/users/{id}", "/users/%zz", "id", ""},
		{"/users/{id}", "*", "id", ""},
		{"/{a}/x/{b}", "/1/y/2", "a", "1"},
		{"/{a}/x/{b}", "/1/y/2", "b", ""},
		{"/f/{rest...}", "/f/a/b%20c/", "rest", "a/b c/"},
	} {
		require.Equal(t, tt[3], segmentValue(tt[0], tt[1], tt[2]), tt)
	}
}

// Nothing that a rule looks at needs memory, but for what is escaped, and for bodies.
func TestLookupAllocatesNothing(t *testing.T) {
	r := httptest.NewRequest("GET", "/users/7?a=1&uid=7&long=x", nil)
	r.Header.Set("X-Tenant", "acme")
	r.Header.Set("Cookie", `a=b; sid="xyz"`)
	r.Header.Set("X-Forwarded-For", "203.0.113.7, 10.0.0.1")
	r.RemoteAddr = "10.0.0.2:55"
	r.SetPathValue("id", "7")
	cfg := newConfig([]Option{
		WithTrustedProxies(netip.MustParsePrefix("::ffff:10.0.0.0/104")), WithPathPattern("/users/{uid}"), WithValues(func(*http.Request, string) any { return "v" }),
	})
	plain, own := newConfig(nil).carrier(r, true), cfg.carrier(r, true)
	for _, tt := range []struct {
		c    extractor.Carrier
		part extractor.Part
		key  string
		want string
	}{
		{plain, extractor.Header, "X-Tenant", "acme"}, {plain, extractor.Header, "Host", "example.com"}, {plain, extractor.Query, "uid", "7"}, {plain, extractor.Cookie, "sid", "xyz"},
		{plain, extractor.PathValue, "id", "7"}, {plain, extractor.Peer, "ip", "10.0.0.2"}, {plain, extractor.Client, "ip", "10.0.0.2"},
		{own, extractor.Header, "X-Tenant", "acme"}, {own, extractor.Client, "ip", "203.0.113.7"}, {own, extractor.Peer, "ip", "10.0.0.2"}, {own, extractor.PathValue, "uid", "7"},
		{own, extractor.PathValue, "id", "7"}, {own, extractor.Values, "x", "v"},
	} {
		var got extractor.Value
		var ok bool
		allocations := testing.AllocsPerRun(100, func() { got, ok = tt.c.Lookup(tt.part, tt.key) })
		require.True(t, ok, tt)
		require.Equal(t, tt.want, got.String(), tt)
		require.Zero(t, allocations, tt)
	}
	for _, part := range []extractor.Part{extractor.Values, extractor.Metadata, extractor.Attachment} {
		_, ok := plain.Lookup(part, "x")
		require.False(t, ok)
	}
	cfg.release(own)
	_, ok := own.Lookup(extractor.Header, "X-Tenant")
	require.False(t, ok, "its call has ended")
	_, err := own.Body(10)
	require.ErrorIs(t, err, extractor.ErrNoBody)
}
