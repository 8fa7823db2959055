package extractor

import "strings"

// term is one value's path: a root and steps.
type term struct {
	root  root
	steps []step
	// key is the key of a part.
	key string
	// own is an extractor of one's own, what how errors call it.
	own  Extractor
	what string
	// types are the programs for the types met, by how many steps were taken before; for arguments.
	types []typeTable
}

// describe returns the term up to a step, as it is written in a path.
func (t *term) describe(steps int) string {
	var b strings.Builder
	b.WriteString(t.root.name)
	for _, s := range t.steps[:steps] {
		b.WriteString(s.String())
	}
	return b.String()
}
