package authority

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cordon-go/cordon/rule"
)

// A List is a Rule made ready to be asked. It does not change, and is safe for concurrent use.
type List struct {
	deny      bool
	anonymous bool // calls without an origin may pass
	exact     map[string]struct{}
	// Patterns are looked up by the text that they begin with, so that many of them cost no more than one.
	byPrefix map[string][]rule.Matcher
	lengths  []int // of the prefixes, ascending
}

// NewList makes a rule ready. It fails if the rule has faults (rule.Problems). The rule's resource is not looked at.
func NewList(r Rule) (*List, error) {
	if faults := rule.Problems(r.check()).Faults(); len(faults) > 0 {
		return nil, faults
	}
	origins := r.Allow
	l := &List{deny: len(r.Deny) > 0, anonymous: r.Anonymous == Pass, exact: make(map[string]struct{}, len(origins)), byPrefix: map[string][]rule.Matcher{}}
	if l.deny {
		origins = r.Deny
	}
	for _, o := range origins {
		if !isPattern(o) {
			l.exact[o] = struct{}{}
			continue
		}
		m, err := compile(o)
		if err != nil {
			return nil, err
		}
		prefix, _, _ := strings.Cut(o, "*")
		l.byPrefix[prefix] = append(l.byPrefix[prefix], m)
		if !slices.Contains(l.lengths, len(prefix)) {
			l.lengths = append(l.lengths, len(prefix))
		}
	}
	slices.Sort(l.lengths)
	return l, nil
}

// Allows reports whether calls of the origin may pass; "" is a call without one. It allocates nothing, and costs no more for ten thousand names than for one.
func (l *List) Allows(origin string) bool {
	if origin == "" {
		return l.anonymous
	}
	return l.names(origin) != l.deny
}

// names reports whether the list has the origin, by its name or by a pattern.
func (l *List) names(origin string) bool {
	if _, ok := l.exact[origin]; ok {
		return true
	}
	for _, n := range l.lengths {
		if n > len(origin) {
			break
		}
		for _, m := range l.byPrefix[origin[:n]] {
			if m.Matches(origin) {
				return true
			}
		}
	}
	return false
}

// isPattern reports whether an origin in a list stands for many.
func isPattern(origin string) bool { return strings.Contains(origin, "*") }

func validPattern(origin string) bool { return utf8.ValidString(origin) }

// compile makes a pattern ready. A ? in it is a ?, and nothing else, though it is more in a rule's wildcards.
func compile(pattern string) (rule.Matcher, error) {
	if !strings.Contains(pattern, "?") {
		return rule.Wildcard(pattern).Compile()
	}
	parts := strings.Split(pattern, "*")
	for i, p := range parts {
		parts[i] = regexp.QuoteMeta(p)
	}
	return rule.Regex("(?s)" + strings.Join(parts, ".*")).Compile()
}
