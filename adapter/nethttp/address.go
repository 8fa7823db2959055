package nethttp

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/cordon-go/cordon/extractor"
)

// An address is an IP address, with the text that it was read from.
type address struct {
	addr netip.Addr
	text string
}

// value returns the address as rules see it: in its shortest form, IPv4 without a mapping into IPv6, with the zone if it has one. Mostly it is written so, and needs no copy.
func (a address) value() extractor.Value {
	var buf [64]byte
	b := buf[:0]
	if a.addr.IsValid() {
		b = a.addr.AppendTo(b)
	}
	if string(b) == a.text {
		return extractor.Text(a.text)
	}
	return extractor.Bytes(b)
}

// addressOf reads an address with or without a port; false for anything else, as the name of a Unix socket.
func addressOf(s string) (address, bool) {
	host := s
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 || s[end+1:] != "" && s[end+1] != ':' {
			return address{}, false
		}
		host = s[1:end]
	} else if colon := strings.IndexByte(s, ':'); colon >= 0 && colon == strings.LastIndexByte(s, ':') {
		host = s[:colon]
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return address{}, false
	}
	return address{addr.Unmap(), host}, true
}

// clientAddress returns who a request came from, as far as proxies that are trusted say. The trusted prefixes are unmapped.
func clientAddress(r *http.Request, trusted []netip.Prefix) (address, bool) {
	from, ok := addressOf(r.RemoteAddr)
	if !ok {
		return from, false
	}
	lines := r.Header["X-Forwarded-For"]
	for i := len(lines) - 1; i >= 0; i-- {
		for rest, more := lines[i], true; more; {
			if !from.within(trusted) {
				return from, true
			}
			var last string
			comma := strings.LastIndexByte(rest, ',')
			last, more = strings.TrimSpace(rest[comma+1:]), comma >= 0
			rest = rest[:max(comma, 0)]
			before, ok := addressOf(last)
			if !ok {
				return from, true // what is before it has not come by way of those who are trusted
			}
			from = before
		}
	}
	return from, true
}

// within reports whether one of the prefixes has the address, whatever its zone.
func (a address) within(prefixes []netip.Prefix) bool {
	addr := a.addr.WithZone("")
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// unmapped returns a prefix of IPv4 addresses for one of them mapped into IPv6.
func unmapped(p netip.Prefix) netip.Prefix {
	if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(a.Unmap(), p.Bits()-96)
	}
	return p
}

// ClientIP returns the address of the client that a request came from, when those with an address within trusted are proxies that are believed: see WithTrustedProxies. It is false if the
// request did not come from an IP address.
func ClientIP(r *http.Request, trusted ...netip.Prefix) (netip.Addr, bool) {
	prefixes := slices.Clone(trusted)
	for i, p := range prefixes {
		prefixes[i] = unmapped(p)
	}
	a, ok := clientAddress(r, prefixes)
	return a.addr, ok
}
