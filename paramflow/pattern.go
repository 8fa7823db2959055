package paramflow

import (
	"regexp"
	"slices"
	"strings"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/rule"
)

// Patterns find the first pattern that fits a value. Those that begin with a literal text are looked up by it, so that a thousand of tenant-17-* cost no more than one.
type patterns struct {
	matchers []rule.Matcher
	byPrefix map[string][]int // in order
	lengths  []int            // of the prefixes, ascending
}

// newPatterns compiles the patterns of valid overrides.
func newPatterns(overrides []Override) (*patterns, error) {
	p := &patterns{byPrefix: make(map[string][]int)}
	for _, o := range overrides {
		m, err := o.match().Compile()
		if err != nil {
			return nil, err
		}
		prefix := o.prefix()
		p.byPrefix[prefix] = append(p.byPrefix[prefix], len(p.matchers))
		p.matchers = append(p.matchers, m)
	}
	for prefix := range p.byPrefix {
		if !slices.Contains(p.lengths, len(prefix)) {
			p.lengths = append(p.lengths, len(prefix))
		}
	}
	slices.Sort(p.lengths)
	return p, nil
}

// prefix returns a text that all values which fit the pattern begin with.
func (o Override) prefix() string {
	if o.Regex == "" {
		head, _, _ := strings.Cut(o.Wildcard, "*")
		head, _, _ = strings.Cut(head, "?")
		return head
	}
	re, err := regexp.Compile(o.Regex)
	if err != nil {
		return ""
	}
	prefix, _ := re.LiteralPrefix()
	return prefix
}

// find returns the first pattern that fits the value, -1 if none does.
func (p *patterns) find(v extractor.Value) int {
	var buf [extractor.MaxText]byte
	b := v.Append(buf[:0])
	text, first := "", -1
	for _, n := range p.lengths {
		if n > len(b) {
			break
		}
		for _, i := range p.byPrefix[string(b[:n])] {
			if first >= 0 && i > first {
				break
			}
			if text == "" {
				text = v.String() // which a number has to be written for
			}
			if p.matchers[i].Matches(text) {
				first = i
				break
			}
		}
	}
	return first
}

// A guess remembers which class a value is of.
type guess struct {
	hash  uint64
	class uint16
}

// guesses is how many a stripe remembers, a power of two.
const guesses = 32
