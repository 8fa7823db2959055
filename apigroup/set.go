package apigroup

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cordon-go/cordon/rule"
)

// A Set is groups made ready to be asked. It does not change, and is safe for concurrent use. A nil Set holds no groups.
type Set struct {
	groups   []Group
	names    []string // of the groups, each once, in written order
	exact    map[string][]int32
	matchers []matcher
	// patterns are found by how paths begin when their slashes are collapsed, regexes by how they begin as they are.
	patterns, regexes prefixes
}

// A matcher is a pattern or a regex of a group.
type matcher struct {
	path  Path
	group int32 // the index of its name
	ant   *ant  // nil for a regex
	regex rule.Matcher
}

func (m *matcher) matches(path string) bool {
	if m.ant != nil {
		return m.ant.matches(path)
	}
	return m.regex.Matches(path)
}

// NewSet makes groups ready. It fails if one has faults (rule.Problems).
func NewSet(groups []Group) (*Set, error) {
	var none *Set
	return none.Update(groups)
}

// Update returns the groups made ready, taking over from s what is compiled already. s stays as it is.
func (s *Set) Update(groups []Group) (*Set, error) {
	if s == nil {
		s = &Set{}
	}
	known := s.compiled()
	n := &Set{groups: slices.Clone(groups), exact: map[string][]int32{}}
	index := make(map[string]int32, len(groups))
	for i, g := range groups {
		if i < len(s.groups) && g.Equal(s.groups[i]) {
			// It was good before.
		} else if faults := rule.Problems(g.Problems()).Faults(); len(faults) > 0 {
			return nil, fmt.Errorf("apigroup: %q: %w", g.Name, faults)
		}
		group, ok := index[g.Name]
		if !ok {
			group = int32(len(n.names))
			index[g.Name] = group
			n.names = append(n.names, g.Name)
		}
		for _, p := range g.Paths {
			if err := n.add(p, group, known); err != nil {
				return nil, err
			}
		}
	}
	return n, nil
}

// compiled returns what is compiled, by what it was compiled from.
func (s *Set) compiled() map[Path]matcher {
	known := make(map[Path]matcher, len(s.matchers))
	for _, m := range s.matchers {
		known[m.path] = m
	}
	return known
}

// add adds a path of a group.
func (s *Set) add(p Path, group int32, known map[Path]matcher) error {
	if text, ok := p.exact(); ok {
		if !slices.Contains(s.exact[text], group) {
			s.exact[text] = append(s.exact[text], group)
		}
		return nil
	}
	m, ok := known[p]
	if !ok {
		var err error
		if m, err = p.compile(); err != nil {
			return err
		}
	}
	m.group = group
	if m.ant != nil {
		s.patterns.add(p.Prefix(), len(s.matchers))
	} else {
		s.regexes.add(p.Prefix(), len(s.matchers))
	}
	s.matchers = append(s.matchers, m)
	return nil
}

// exact returns the one path that p matches, if it is only one.
func (p Path) exact() (text string, ok bool) {
	if p.Pattern != "" && !isPattern(p.Pattern) {
		return p.Pattern, true
	}
	return p.Exact, p.Exact != ""
}

// compile makes a pattern or a regex ready.
func (p Path) compile() (matcher, error) {
	m := matcher{path: p}
	var err error
	if p.Pattern != "" {
		m.ant, err = newAnt(p.Pattern)
	} else {
		m.regex, err = rule.Regex(p.Regex).Compile()
	}
	return m, err
}

// Prefix returns a text that all paths begin with which p matches, after slashes that follow another are left out (for a regex, as they are); "" if there is none, or p does not compile.
func (p Path) Prefix() string {
	if text, ok := p.exact(); ok {
		return text
	}
	if p.Pattern != "" {
		return patternPrefix(p.Pattern)
	}
	re, err := regexp.Compile(p.Regex)
	if err != nil {
		return ""
	}
	prefix, _ := re.LiteralPrefix()
	return prefix
}

// Match appends the names of the groups that the path belongs to, in written order, each once. The path is that of a request as the client wrote it, without query. It allocates nothing but what
// append may need, and for a path of more than 512 bytes with doubled slashes. What it costs grows with the path's length, and with the patterns and regexes that begin as the path does.
func (s *Set) Match(dst []string, path string) []string {
	if s == nil {
		return dst
	}
	var room [few]int32
	found := append(room[:0], s.exact[path]...)
	if strings.Contains(path, "//") {
		var text [512]byte
		found = among(found, s.matchers, &s.patterns, collapse(text[:0], path), path)
	} else {
		found = among(found, s.matchers, &s.patterns, path, path)
	}
	found = among(found, s.matchers, &s.regexes, path, path)
	slices.Sort(found)
	for i, group := range found {
		if i == 0 || group != found[i-1] {
			dst = append(dst, s.names[group])
		}
	}
	return dst
}

// Names returns the names of the groups, each once, in written order. The caller must not change the slice.
func (s *Set) Names() []string {
	if s == nil {
		return nil
	}
	return s.names
}
