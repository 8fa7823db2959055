package rule

import (
	"fmt"
	"strings"
)

// UnknownKeys returns a problem for each key of an object node that is not among the known ones, with the one most likely meant. Source is left to the caller.
func UnknownKeys(n *Node, known ...string) Problems {
	var problems Problems
	for i := range n.Fields {
		f := &n.Fields[i]
		unknown := true
		for _, k := range known {
			unknown = unknown && f.Key != k
		}
		if !unknown {
			continue
		}
		p := Problem{Position: f.Pos, Index: -1, Field: f.Key, Message: fmt.Sprintf("unknown key %q", f.Key), Want: "one of " + strings.Join(known, ", ")}
		if near := nearest(f.Key, known); near != "" {
			p.Want = near
		}
		problems = append(problems, p)
	}
	return problems
}
