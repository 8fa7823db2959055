package scenario

import (
	"slices"

	"github.com/cordon-go/cordon/rule"
)

// spelledOut returns the document with everything that may be written in a short form written in its long one: latencies and loads that are a number, policies that are a
// name, files that are a path, and single ones of what are lists. Rules that stand in the document itself are left out: they are read by themselves. What
// is written stays as it was, since a parsed document is not to be changed.
func spelledOut(n *rule.Node) *rule.Node {
	switch n.Kind {
	case rule.List:
		return mapItems(n, spelledOut)
	case rule.Object:
		return mapFields(n, func(key string, value *rule.Node) *rule.Node {
			switch key {
			case "latency", "slow":
				return inObject("fixed", value)
			case "load":
				return mapItems(inList(value), func(item *rule.Node) *rule.Node { return inObject("rate", item) })
			case "policy":
				return inObject("kind", value)
			case "policies":
				return mapItems(inList(value), func(item *rule.Node) *rule.Node { return inObject("kind", item) })
			case "rules":
				if inline(value) {
					return &rule.Node{Kind: rule.List, Pos: value.Pos}
				}
				return mapItems(inList(value), func(item *rule.Node) *rule.Node { return inObject("file", item) })
			}
			return spelledOut(value)
		})
	}
	return n
}

// inline reports whether rules stand in the document itself.
func inline(rules *rule.Node) bool {
	return rules != nil && rules.Kind == rule.Object && rules.Field("file") == nil
}

// inObject returns the object that a value alone stands for. What is nothing of the kind stays as it is, for the decoder to refuse.
func inObject(key string, value *rule.Node) *rule.Node {
	switch value.Kind {
	case rule.String, rule.Number:
		return &rule.Node{Kind: rule.Object, Pos: value.Pos, Fields: []rule.Field{{Key: key, Pos: value.Pos, Value: *value}}}
	}
	return value
}

// inList returns the list that an item alone stands for.
func inList(value *rule.Node) *rule.Node {
	switch value.Kind {
	case rule.String, rule.Number, rule.Object:
		return &rule.Node{Kind: rule.List, Pos: value.Pos, Items: []rule.Node{*value}}
	}
	return value
}

// mapFields returns a copy of an object with every field changed.
func mapFields(n *rule.Node, change func(key string, value *rule.Node) *rule.Node) *rule.Node {
	changed := *n
	changed.Fields = slices.Clone(n.Fields)
	for i := range changed.Fields {
		f := &changed.Fields[i]
		f.Value = *change(f.Key, &f.Value)
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
