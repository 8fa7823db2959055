package gateway

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/cordon-go/cordon/adapter/nethttp"
	"github.com/cordon-go/cordon/apigroup"
	"github.com/cordon-go/cordon/rule"
)

// parsePrefix reads a prefix of addresses, or one address. Bits beyond the prefix are a mistake: who writes 10.1.2.3/8 may mean either.
func parsePrefix(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, fmt.Errorf("%.100q is no prefix of addresses", text)
	}
	if p != p.Masked() {
		return p, fmt.Errorf("%s has bits beyond its prefix, which is %s", text, p.Masked())
	}
	return p, nil
}

// parsePrefixes reads the prefixes of a configuration without faults.
func parsePrefixes(texts []string) []netip.Prefix {
	list := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		p, err := parsePrefix(text)
		if err != nil {
			panic(err) // configurations with a fault are not used
		}
		list = append(list, p)
	}
	return list
}

// isFrom reports whether a request was sent by one of those with an address within the prefixes.
func isFrom(r *http.Request, prefixes []netip.Prefix) bool {
	if len(prefixes) == 0 {
		return false
	}
	addr, ok := nethttp.ClientIP(r)
	return ok && slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(addr.WithZone("")) })
}

// below reports whether a pattern of a path fits some path below a prefix.
func below(pattern, prefix string) bool {
	pattern, prefix = strings.TrimPrefix(pattern, "/"), strings.TrimPrefix(prefix, "/")
	for pattern != "" && prefix != "" {
		var want, segment string
		want, pattern, _ = strings.Cut(pattern, "/")
		segment, prefix, _ = strings.Cut(prefix, "/")
		if !strings.HasPrefix(want, "{") && want != segment {
			return false
		}
		if strings.HasSuffix(want, "...}") {
			return true
		}
	}
	return true
}

// valuelessRules returns the rules on hot parameters that look at what no request through the gateway has, as "param users (arg[0].id)": arguments, what other protocols
// carry, segments of paths that no route names.
func (g *Gateway) valuelessRules() []string {
	var found []string
	rules := g.eng.Rules()
	for _, r := range rules.Param {
		for term := range strings.SplitSeq(r.Param, "+") {
			root, _, _ := strings.Cut(strings.TrimSpace(term), ".")
			root, _, _ = strings.Cut(root, "[")
			switch root {
			case "arg", "meta", "attachment", "value":
			case "path":
				if g.namesPath(r.Resource, rules.APIGroup) {
					continue
				}
			default:
				continue
			}
			found = append(found, fmt.Sprintf("param %s (%s)", r.ID, r.Param))
			break
		}
	}
	return found
}

// namesPath reports whether a route of one of those resources names segments of its path, or any route does if one of them is a group's.
func (g *Gateway) namesPath(resources rule.Match, groups []apigroup.Group) bool {
	matcher, err := resources.Compile()
	if err != nil {
		return true
	}
	ofGroup := slices.ContainsFunc(groups, func(group apigroup.Group) bool { return matcher.Matches(group.Name) })
	return slices.ContainsFunc(g.cfg.Routes, func(r Route) bool { return r.PathPattern != "" && (ofGroup || matcher.Matches(r.Resource)) })
}
