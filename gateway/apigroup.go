package gateway

import (
	"fmt"
	"strings"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/apigroup"
	"github.com/cordon-go/cordon/rule"
)

// idleGroups returns the groups of paths that no request which a route takes can be of, as "apiGroup orders-api#1 (orders-api)": mostly for a prefix that was misspelt, or taken off by something in front.
func (g *Gateway) idleGroups() []string {
	var prefixes []string
	for _, r := range g.cfg.Routes {
		prefixes = append(prefixes, cleanPrefix(r.Prefix))
	}
	var idle []string
	for _, group := range g.eng.Rules().APIGroup {
		if len(group.Paths) > 0 && !taken(group, prefixes) { // of one without paths the report says it
			idle = append(idle, fmt.Sprintf("apiGroup %s (%s)", group.ID, group.Name))
		}
	}
	return idle
}

// taken reports whether requests of a group may be below one of the prefixes. One of the two texts begins with the other, or they have no path in common.
func taken(group apigroup.Group, prefixes []string) bool {
	for _, p := range group.Paths {
		begins := p.Prefix()
		for _, prefix := range prefixes {
			if strings.HasPrefix(begins, prefix) || strings.HasPrefix(prefix, begins) {
				return true
			}
		}
	}
	return false
}

// originlessRules returns the rules on origins which refuse nobody, since requests through the gateway have no origin, as "authority who".
func (g *Gateway) originlessRules() []string {
	if g.cfg.OriginHeader != "" {
		return nil
	}
	for _, r := range g.cfg.Routes {
		if r.Origin != "" {
			return nil
		}
	}
	var found []string
	for _, r := range g.eng.Rules().Authority {
		found = append(found, "authority "+r.ID)
	}
	return found
}

// A census knows which resources there are.
type census struct{ routes, groups map[string]bool }

// census counts the resources of routes and, under the rules in force, of groups of paths.
func (g *Gateway) census(rules cordon.Rules) census {
	c := census{map[string]bool{}, map[string]bool{}}
	for _, r := range g.cfg.Routes {
		c.routes[r.Resource] = true
	}
	for _, group := range rules.APIGroup {
		c.groups[group.Name] = true
	}
	return c
}

// has reports whether a rule may be for one of the resources; only rules on instances are for routes alone.
func (c census) has(m rule.Match, groups bool) bool {
	return m.Kind() != rule.ByName || c.routes[m.Pattern()] || groups && c.groups[m.Pattern()]
}
