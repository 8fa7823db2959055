package gateway

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func tableOf(routes ...Route) *table {
	var list []*route
	for _, r := range routes {
		list = append(list, &route{Route: r})
	}
	return newTable(list)
}

func TestRouting(t *testing.T) {
	t.Parallel()
	tb := tableOf(
		Route{Name: "all"},
		Route{Name: "orders", Prefix: "/orders"},
		Route{Name: "orders-write", Prefix: "/orders", Methods: []string{"POST", "PUT"}},
		Route{Name: "archive", Prefix: "/orders/archive/"},
		Route{Name: "shop", Host: "Shop.example.com"},
		Route{Name: "shop-get", Host: "shop.example.com", Prefix: "/only/get", Methods: []string{"GET"}},
		Route{Name: "example", Host: "*.example.com", Prefix: "/x"},
		Route{Name: "deep", Host: "*.deep.example.com", Prefix: "/x"},
	)
	tests := []struct{ method, host, path, want string }{
		{"GET", "h", "/", "all"},
		{"GET", "", "/ordersx", "all"},
		{"GET", "h", "/orders", "orders"},
		{"GET", "h", "/orders/", "orders"},
		{"GET", "h", "/orders/7", "orders"},
		{"POST", "h", "/orders/7", "orders-write"},
		{"POST", "h", "/orders/archive/1", "archive"},
		{"GET", "h", "//orders//7", "orders"},
		{"GET", "shop.example.com", "/orders", "shop"},
		{"GET", "SHOP.example.com:8080", "/", "shop"},
		{"GET", "shop.example.com.", "/", "shop"},
		{"GET", "shop.example.com", "/only/get/x", "shop-get"},
		{"POST", "shop.example.com", "/only/get/x", "shop"},
		{"GET", "a.example.com", "/x", "example"},
		{"GET", "a.b.example.com", "/x", "example"},
		{"GET", "a.deep.example.com", "/x", "deep"},
		{"GET", "deep.example.com", "/x", "example"},
		{"GET", "example.com", "/x", "all"},
		{"GET", "a.example.com", "/y", "all"},
		{"GET", strings.Repeat("a.", 30_000) + "example.com", "/x", "all"},
		{"GET", "h", "/orders" + strings.Repeat("/", 60_000), "orders"},
	}
	for _, tt := range tests {
		r, _ := tb.find(tt.method, tt.host, tt.path)
		require.NotNil(t, r, "%+v", tt)
		require.Equal(t, tt.want, r.Name, "%s %s %s", tt.method, tt.host, tt.path)
	}
	for _, p := range []string{"", "*", "x"} {
		r, methods := tb.find("GET", "h", p)
		require.Nil(t, r)
		require.Empty(t, methods)
	}
	r, methods := tableOf(Route{Name: "a", Prefix: "/a", Methods: []string{"PUT", "GET"}}, Route{Name: "b", Prefix: "/a/b", Methods: []string{"GET"}}).find("POST", "h", "/a/b/c")
	require.Nil(t, r)
	require.Equal(t, []string{"GET", "PUT"}, methods)
}

// The table finds what a search through all routes by the documented order finds.
func TestRoutingModel(t *testing.T) {
	t.Parallel()
	segments := []string{"a", "b", "ab"}
	genPath := rapid.Map(rapid.SliceOfN(rapid.SampledFrom(segments), 0, 4), func(s []string) string { return "/" + strings.Join(s, "/") })
	genHost := rapid.SampledFrom([]string{"", "x.t", "y.x.t", "*.t", "*.x.t"})
	rapid.Check(t, func(t *rapid.T) {
		routes := map[routeKey]Route{}
		for range rapid.IntRange(1, 10).Draw(t, "routes") {
			r := Route{Host: genHost.Draw(t, "host"), Prefix: genPath.Draw(t, "prefix")}
			if m := rapid.SampledFrom([]string{"", "GET", "PUT"}).Draw(t, "method"); m != "" {
				r.Methods = []string{m}
			}
			r.Name = routeKeys(r)[0].String()
			routes[routeKeys(r)[0]] = r
		}
		var list []Route
		for _, r := range routes {
			list = append(list, r)
		}
		tb := tableOf(list...)
		method := rapid.SampledFrom([]string{"GET", "PUT", "POST"}).Draw(t, "asked method")
		host := rapid.SampledFrom([]string{"x.t", "y.x.t", "z.y.x.t", "t", "u"}).Draw(t, "asked host")
		p := genPath.Draw(t, "asked path")
		got, _ := tb.find(method, host, p)
		want := naiveFind(list, method, host, p)
		if want == "" {
			require.Nil(t, got)
			return
		}
		require.NotNil(t, got)
		require.Equal(t, want, got.Name)
	})
}

func naiveFind(routes []Route, method, host, p string) string {
	var fit []Route
	for _, r := range routes {
		byHost := r.Host == "" || r.Host == host || strings.HasPrefix(r.Host, "*.") && strings.HasSuffix(host, r.Host[1:])
		byPath := r.Prefix == "/" || p == r.Prefix || strings.HasPrefix(p, r.Prefix+"/")
		byMethod := len(r.Methods) == 0 || slices.Contains(r.Methods, method)
		if byHost && byPath && byMethod {
			fit = append(fit, r)
		}
	}
	if len(fit) == 0 {
		return ""
	}
	rank := func(r Route) [4]int {
		exact := 0
		if r.Host == host {
			exact = 1
		}
		return [4]int{exact, len(r.Host), len(cleanPrefix(r.Prefix)), len(r.Methods)}
	}
	return slices.MaxFunc(fit, func(a, b Route) int {
		x, y := rank(a), rank(b)
		return slices.Compare(x[:], y[:])
	}).Name
}

// However deep a path is, no more of it is looked up than there can be routes for.
func TestPrefixesAreBounded(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"/a/b", "/a", ""}, slices.Collect(prefixes("/a/b", 10)))
	require.Equal(t, []string{"/a", ""}, slices.Collect(prefixes("/a"+strings.Repeat("/a", 10_000), 3)))
	require.Len(t, slices.Collect(hostKeys(strings.Repeat("a.", 10_000))), 1)
}

func TestDotSegments(t *testing.T) {
	t.Parallel()
	for _, p := range []string{"/..", "/../x", "/a/../b", "/a/./b", "/.", "/a/..", "/a/..;x=1/b", "/.;/"} {
		require.True(t, hasDotSegment(p), p)
	}
	for _, p := range []string{"/", "/a", "/.well-known", "/a..b", "/a/...", "/..a", "", "/a.b/c.", "/a;..", "/a;/b"} {
		require.False(t, hasDotSegment(p), p)
	}
}

func TestStripPrefix(t *testing.T) {
	t.Parallel()
	for _, tt := range [][3]string{
		{"/a", "/a", "/"}, {"/a/", "/a", "/"}, {"/a/b", "/a", "/b"}, {"/a/b//c", "/a", "/b//c"}, {"//a//b", "/a", "/b"}, {"/x", "", "/x"},
	} {
		require.Equal(t, tt[2], stripPrefix(tt[0], tt[1]), "%q without %q", tt[0], tt[1])
	}
}

func FuzzRouting(f *testing.F) {
	tb := tableOf(Route{Name: "all"}, Route{Name: "a", Prefix: "/a/b"}, Route{Name: "h", Host: "*.t", Prefix: "/a"})
	f.Add("GET", "x.t:80", "/a/b/c")
	f.Add("", "[::1]:9", "//a/./../b")
	f.Fuzz(func(t *testing.T, method, host, p string) {
		r, _ := tb.find(method, host, p)
		require.Equal(t, strings.HasPrefix(p, "/"), r != nil)
		if r != nil && r.Name == "a" {
			require.True(t, strings.HasPrefix(path.Clean(p)+"/", "/a/b/"))
		}
	})
}
