package apigroup

import (
	"slices"
	"strings"
)

// Prefixes find what may match a path by the text that the path begins with, so that ten thousand patterns of which each has a beginning of its own cost no more than one.
type prefixes struct {
	of      map[string][]int32
	lengths []int // of the texts, ascending
}

// add adds the i-th matcher, which matches only paths that begin with the prefix.
func (p *prefixes) add(prefix string, i int) {
	if p.of == nil {
		p.of = make(map[string][]int32)
	}
	if _, known := p.of[prefix]; !known {
		if at, known := slices.BinarySearch(p.lengths, len(prefix)); !known {
			p.lengths = slices.Insert(p.lengths, at, len(prefix))
		}
	}
	p.of[prefix] = append(p.of[prefix], int32(i))
}

// few is up to how many groups found are looked through to spare a match.
const few = 16

// among tries all that may match by the text that the path begins with, and appends the groups of those that match.
func among[T string | []byte](found []int32, matchers []matcher, p *prefixes, text T, path string) []int32 {
	for _, n := range p.lengths {
		if n > len(text) {
			break
		}
		for _, i := range p.of[string(text[:n])] {
			m := &matchers[i]
			if len(found) <= few && slices.Contains(found, m.group) {
				continue
			}
			if m.matches(path) {
				found = append(found, m.group)
			}
		}
	}
	return found
}

// collapse appends the path without slashes that follow another.
func collapse(b []byte, path string) []byte {
	for {
		i := strings.Index(path, "//")
		if i < 0 {
			return append(b, path...)
		}
		b = append(b, path[:i]...)
		path = path[i+1:]
	}
}
