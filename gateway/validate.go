package gateway

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/rule"
)

const (
	maxTimeout = 24 * time.Hour
	maxGrace   = time.Hour
	minHeader  = 1 << 10
	maxHeader  = 16 << 20
	// maxParamBody is what the engine takes at most (cordon.WithMaxBody).
	maxParamBody = 1 << 30
	adminNone    = "none"
	anyHostMark  = "*."
)

// faults collects what is wrong with a configuration.
type faults struct{ list rule.Problems }

func (f *faults) add(field, message, want string) {
	f.list = append(f.list, rule.Problem{Index: -1, Field: field, Message: message, Want: want})
}

// problems returns everything that is wrong with the configuration, each with its field's path.
func (c Config) problems() rule.Problems {
	var f faults
	f.address("listen", c.Listen)
	if c.Admin != adminNone {
		f.address("admin", c.Admin)
	}
	f.duration("grace", c.Grace, maxGrace)
	f.timeouts(c.Timeouts)
	f.limits(c.Limits)
	if c.OriginHeader != "" && !isToken(c.OriginHeader) {
		f.add("originHeader", fmt.Sprintf("%q is no header's name", c.OriginHeader), "a name like X-Client")
	}
	if int(c.Isolation) >= len(c.Isolation.Values()) {
		f.add("isolation", "no such isolation", "one of "+strings.Join(c.Isolation.Values(), ", "))
	}
	for i, text := range c.TrustedProxies {
		if _, err := parsePrefix(text); err != nil {
			f.add(fmt.Sprintf("trustedProxies[%d]", i), err.Error(), "a prefix like 10.0.0.0/8 or fd00::/8, or an address")
		}
	}
	f.nacos(c.Nacos, c.Rules)
	f.rules(c)
	f.routes(c.Routes)
	return f.list
}

func (f *faults) address(field, addr string) {
	if addr == "" {
		return
	}
	if _, port, err := net.SplitHostPort(addr); err != nil || port == "" {
		f.add(field, fmt.Sprintf("%q is no address", addr), `host:port, as "127.0.0.1:8080" or ":8080"`)
	}
}

func (f *faults) duration(field string, d, most time.Duration) {
	if d < 0 || d > most {
		f.add(field, fmt.Sprintf("%v is out of range", d), fmt.Sprintf("above 0 up to %v", most))
	}
}

func (f *faults) timeouts(t Timeouts) {
	f.duration("timeouts.readHeader", t.ReadHeader, maxTimeout)
	f.duration("timeouts.read", t.Read, maxTimeout)
	f.duration("timeouts.idle", t.Idle, maxTimeout)
	f.duration("timeouts.dial", t.Dial, maxTimeout)
	f.duration("timeouts.send", t.Send, maxTimeout)
	f.duration("timeouts.responseHeader", t.ResponseHeader, maxTimeout)
	f.duration("timeouts.upstreamIdle", t.UpstreamIdle, maxTimeout)
}

func (f *faults) limits(l Limits) {
	header := func(field string, n int64) {
		if n != 0 && (n < minHeader || n > maxHeader) {
			f.add(field, fmt.Sprintf("%d is out of range", n), fmt.Sprintf("%d to %d bytes", minHeader, maxHeader))
		}
	}
	header("limits.headerBytes", int64(l.HeaderBytes))
	header("limits.responseHeaderBytes", l.ResponseHeaderBytes)
	if l.BodyBytes < -1 {
		f.add("limits.bodyBytes", fmt.Sprintf("%d is out of range", l.BodyBytes), "at least 1 byte, or -1 for no bound")
	}
	if l.ParamBodyBytes < 0 || l.ParamBodyBytes > maxParamBody {
		f.add("limits.paramBodyBytes", fmt.Sprintf("%d is out of range", l.ParamBodyBytes), fmt.Sprintf("1 to %d bytes", maxParamBody))
	}
}

func (f *faults) routes(routes []Route) {
	if len(routes) == 0 {
		f.add("routes", "there is no route", "at least one")
	}
	names := map[string]int{}
	taken := map[routeKey]int{}
	for i, r := range routes {
		at := fmt.Sprintf("routes[%d]", i)
		if r.Name == "" {
			f.add(at+".name", "a name is missing", "a name for logs and rules")
		} else if first, again := names[r.Name]; again {
			f.add(at+".name", fmt.Sprintf("%q is the name of routes[%d] already", r.Name, first), "a name of its own")
		} else {
			names[r.Name] = i
		}
		f.route(at, r)
		for _, key := range routeKeys(r) {
			if first, again := taken[key]; again {
				f.add(at, fmt.Sprintf("routes[%d] takes the same requests (%s)", first, key), "another host, prefix or methods")
				break
			}
			taken[key] = i
		}
	}
}

func (f *faults) route(at string, r Route) {
	if host := strings.TrimPrefix(r.Host, anyHostMark); r.Host != "" && (host == "" || strings.ContainsAny(host, "*:/ ") || len(host) > maxHost) {
		f.add(at+".host", fmt.Sprintf("%q is no host name", r.Host), `a name without port, or "*." and a name`)
	}
	if r.Prefix != "" && (r.Prefix[0] != '/' || hasDotSegment(r.Prefix) || strings.ContainsAny(r.Prefix, "?#%")) {
		f.add(at+".prefix", fmt.Sprintf("%q is no path", r.Prefix), "a path that begins with /, unescaped, without . and .. and query")
	}
	for j, m := range r.Methods {
		if !isToken(m) || m != strings.ToUpper(m) {
			f.add(fmt.Sprintf("%s.methods[%d]", at, j), fmt.Sprintf("%q is no method", m), "a method in capital letters, as GET")
		}
	}
	if r.PathPattern != "" {
		if err := nethttp.CheckPathPattern(r.PathPattern); err != nil {
			f.add(at+".pathPattern", fmt.Sprintf("%q is no pattern: %v", r.PathPattern, err), "a pattern like /orders/{id}")
		} else if r.Prefix != "" && !below(r.PathPattern, cleanPrefix(r.Prefix)) {
			f.add(at+".pathPattern", fmt.Sprintf("%q fits no path below %s", r.PathPattern, r.Prefix), "a pattern that begins with the prefix")
		}
	}
	f.upstreams(at, r)
	f.duration(at+".timeouts.dial", r.Timeouts.Dial, maxTimeout)
	f.duration(at+".timeouts.send", r.Timeouts.Send, maxTimeout)
	f.duration(at+".timeouts.responseHeader", r.Timeouts.ResponseHeader, maxTimeout)
}

// upstreams checks where a route's requests go, and how.
func (f *faults) upstreams(at string, r Route) {
	if len(r.Upstreams) == 0 {
		f.add(at+".upstreams", "there is no upstream", "at least one base URL")
	} else if !slices.ContainsFunc(r.Upstreams, func(u Upstream) bool { return !u.Drained }) {
		f.add(at+".upstreams", "all are drained: there is none to send requests to", "at least one that is not drained")
	}
	for _, p := range nethttp.CheckTargets(targets(r.Upstreams)) {
		f.add(at+".upstreams"+p.Field, p.Message, p.Want)
	}
	if int(r.Balance) >= len(r.Balance.Values()) {
		f.add(at+".balance", "no such strategy", "one of "+strings.Join(r.Balance.Values(), ", "))
	}
	for field, name := range map[string]string{"hashHeader": r.HashHeader, "hashCookie": r.HashCookie} {
		switch {
		case name == "":
		case !isToken(name):
			f.add(at+"."+field, fmt.Sprintf("%q is no name of that kind", name), "a name like X-User or session")
		case r.Balance != Balance(balance.ConsistentHash):
			f.add(at+"."+field, "is used only to choose upstreams by hash", "balance: consistentHash besides")
		}
	}
	if r.HashHeader != "" && r.HashCookie != "" {
		f.add(at+".hashCookie", "there is a hashHeader already", "one of the two")
	}
	for _, p := range r.Retry.Problems() {
		f.add(at+".retry."+p.Field, p.Message, p.Want)
	}
	if r.Retry.Off && r.Retry != (nethttp.Retry{Off: true}) {
		f.add(at+".retry", "is off, and has settings all the same", "off: true alone, or the settings without it")
	}
}

// isToken reports whether s is a token as methods and header names are (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	})
}

// A routeKey is what requests are told apart by; the empty method stands for any.
type routeKey struct{ host, prefix, method string }

func (k routeKey) String() string {
	return fmt.Sprintf("host %q, prefix %q, method %q", k.host, k.prefix, k.method)
}

func routeKeys(r Route) []routeKey {
	host, prefix := hostName(r.Host), cleanPrefix(r.Prefix)
	if len(r.Methods) == 0 {
		return []routeKey{{host, prefix, ""}}
	}
	var keys []routeKey
	for _, m := range slices.Compact(slices.Sorted(slices.Values(r.Methods))) {
		keys = append(keys, routeKey{host, prefix, m})
	}
	return keys
}
