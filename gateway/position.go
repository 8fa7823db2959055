package gateway

import (
	"strconv"
	"strings"

	"github.com/cordon-go/cordon/rule"
)

// position finds the place of a field by its path ("routes[1].upstreams[0]"), or of the innermost part of it that is written.
func position(n *rule.Node, path string) rule.Position {
	pos := n.Pos
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		if n = child(n, step); n == nil {
			break
		}
		pos = n.Pos
	}
	return pos
}

func child(n *rule.Node, step string) *rule.Node {
	if n.Kind != rule.List {
		return n.Field(step)
	}
	i, err := strconv.Atoi(step)
	if err != nil || i >= len(n.Items) {
		return nil
	}
	return &n.Items[i]
}
