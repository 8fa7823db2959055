package gateway

import (
	"fmt"
	"slices"

	"github.com/cordon-go/cordon/rule"
)

// spelledOut returns the document with every upstream that is written as a base URL alone as the object it stands for. What is written stays as it was, since a
// parsed document is not to be changed.
func spelledOut(doc *rule.Node) *rule.Node {
	return mapField(doc, "routes", func(routes *rule.Node) *rule.Node {
		return mapItems(routes, func(route *rule.Node) *rule.Node {
			return mapField(route, "upstreams", func(upstreams *rule.Node) *rule.Node {
				return mapItems(upstreams, func(upstream *rule.Node) *rule.Node {
					if upstream.Kind == rule.Object {
						return upstream
					}
					return &rule.Node{Kind: rule.Object, Pos: upstream.Pos, Fields: []rule.Field{{Key: "url", Pos: upstream.Pos, Value: *upstream}}}
				})
			})
		})
	})
}

// mapField returns a copy of an object with the fields of that name changed; anything else as it is.
func mapField(n *rule.Node, key string, change func(*rule.Node) *rule.Node) *rule.Node {
	if n.Kind != rule.Object {
		return n
	}
	changed := *n
	changed.Fields = slices.Clone(n.Fields)
	for i := range changed.Fields {
		if f := &changed.Fields[i]; f.Key == key {
			f.Value = *change(&f.Value)
		}
	}
	return &changed
}

// mapItems returns a copy of a list with every item changed; anything else as it is.
func mapItems(n *rule.Node, change func(*rule.Node) *rule.Node) *rule.Node {
	if n.Kind != rule.List {
		return n
	}
	changed := *n
	changed.Items = make([]rule.Node, len(n.Items))
	for i := range n.Items {
		changed.Items[i] = *change(&n.Items[i])
	}
	return &changed
}

// unweighted returns a fault for every upstream whose weight is written as 0: a Config cannot tell that from a weight left out.
func unweighted(doc *rule.Node, c Config) rule.Problems {
	var f faults
	for i, r := range c.Routes {
		for j, u := range r.Upstreams {
			if u.Weight != 0 {
				continue
			}
			at := fmt.Sprintf("routes[%d].upstreams[%d].weight", i, j)
			if position(doc, at) != position(doc, fmt.Sprintf("routes[%d].upstreams[%d]", i, j)) {
				f.add(at, "0 is no weight", "above 0; an upstream that is to get no requests is left out")
			}
		}
	}
	return f.list
}
