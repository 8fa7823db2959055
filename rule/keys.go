package rule

import (
	"fmt"
	"slices"
	"strings"
)

// UnknownKeys returns a problem for each key of an object node that is not among the known ones, with the one most likely meant. Source
// is left to the caller.
func UnknownKeys(n *Node, known ...string) Problems {
	var problems Problems
	for i := range n.Fields {
		f := &n.Fields[i]
		if slices.Contains(known, f.Key) {
			continue
		}
		message, want := unknownField(f.Key, known)
		problems = append(problems, Problem{Position: f.Pos, Index: -1, Message: message, Want: want})
	}
	return problems
}

// unknownField says that a key is unknown and what would be right: the nearest of the names, or else any of them.
func unknownField(key string, names []string) (message, want string) {
	message = "unknown field " + shown(key)
	if near := nearest(key, names); near != "" {
		return message + fmt.Sprintf("; did you mean %q?", near), ""
	}
	return message, oneOf(names)
}

// oneOf lists what would be right.
func oneOf(names []string) string {
	switch len(names) {
	case 0:
		return "none"
	case 1:
		return names[0]
	}
	return "one of " + strings.Join(names, ", ")
}
