package rule

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"
)

// An Index finds the rules of one kind that apply to a resource. It is immutable and safe for concurrent use.
// A nil Index holds no rules.
type Index[R Rule[R]] struct {
	rules []R
	// named holds the first rule of every name, and next, per rule, the next one of the same name (0: none, as no rule comes after itself).
	named map[string]int32
	next  []int32
	// also tells per rule whether it says Also.
	also []bool
	// patterns are the layers of wildcards, longest first, then those of regexes in written order, then the default's: in the order of precedence.
	patterns []layer
	// besides says which of patterns hold a rule that says Also, so that a name that has its own rules need not try all others.
	besides []int
}

// A layer is the rules with the same match, in written order.
type layer struct {
	match   Match
	matcher Matcher
	rules   []int32
	// place is that of the first rule that does not say Also, as the others stand beside the layers.
	place int32
}

// NewIndex builds an index over valid rules with unique ids. It panics on a match that does not compile:
// check the rules first.
func NewIndex[R Rule[R]](rules []R) *Index[R] {
	var none *Index[R]
	return none.Update(rules)
}

// Update returns an index over rules that takes over all compiled parts of x for the rules that did not change their Match.
// It panics as NewIndex does. x stays as it is.
func (x *Index[R]) Update(rules []R) *Index[R] {
	y := &Index[R]{
		rules: slices.Clone(rules),
		named: make(map[string]int32, len(rules)),
		next:  make([]int32, len(rules)),
		also:  make([]bool, len(rules)),
	}
	layers := make(map[Match]int)
	// From the last rule to the first, so that the lists by name are built by putting in front.
	for i := len(rules) - 1; i >= 0; i-- {
		meta := rules[i].Meta()
		y.also[i] = meta.Also
		m := meta.Resource
		if m.kind == ByName && m.pattern != "" {
			y.next[i] = y.named[m.pattern]
			y.named[m.pattern] = int32(i)
			continue
		}
		at, ok := layers[m]
		if !ok {
			at = len(y.patterns)
			layers[m] = at
			y.patterns = append(y.patterns, layer{match: m})
		}
		l := &y.patterns[at]
		l.rules = append(l.rules, int32(i))
		if !meta.Also {
			l.place = int32(i)
		}
	}
	y.compile(x.matchers())
	return y
}

// matchers returns the compiled matches of the index.
func (x *Index[R]) matchers() map[Match]Matcher {
	if x == nil {
		return nil
	}
	known := make(map[Match]Matcher, len(x.patterns))
	for _, l := range x.patterns {
		known[l.match] = l.matcher
	}
	return known
}

// compile makes the collected layers ready: their rules and themselves in order, their matches compiled or taken from known.
func (x *Index[R]) compile(known map[Match]Matcher) {
	for i := range x.patterns {
		l := &x.patterns[i]
		slices.Reverse(l.rules)
		matcher, ok := known[l.match]
		if !ok {
			var err error
			if matcher, err = l.match.Compile(); err != nil {
				panic(fmt.Sprintf("rule: index over an invalid rule (%s): %v", x.rules[l.rules[0]].Meta().ID, err))
			}
		}
		l.matcher = matcher
	}
	slices.SortStableFunc(x.patterns, compareLayers)
	for at, l := range x.patterns {
		if slices.ContainsFunc(l.rules, func(i int32) bool { return x.also[i] }) {
			x.besides = append(x.besides, at)
		}
	}
}

// compareLayers orders by precedence: wildcards by length, then all by place.
func compareLayers(a, b layer) int {
	if c := cmp.Compare(a.match.kind, b.match.kind); c != 0 {
		return c
	}
	if a.match.kind == ByWildcard {
		if c := cmp.Compare(utf8.RuneCountInString(b.match.pattern), utf8.RuneCountInString(a.match.pattern)); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.place, b.place)
}

// Rules returns all rules in written order. The caller must not change the slice.
func (x *Index[R]) Rules() []R {
	if x == nil {
		return nil
	}
	return x.rules
}

// Match returns the rules that apply to the resource, in written order: those of the most specific
// layer that matches (name, else the matching wildcard with the longest pattern, else the first matching regex in written order, else
// the default), and every matching rule that says Also. Rules with the same Match are one layer. A rule that says Also stands
// beside the layers: it neither is overridden nor overrides, so that a layer of nothing else leaves the next one in force.
// Among wildcards of the same length (in characters) the first written wins.
// It also reports whether any rule was found by name. The slice is the caller's.
func (x *Index[R]) Match(name string) (rules []R, byName bool) {
	if x == nil {
		return nil, false
	}
	var found []int32
	first, byName := x.named[name]
	decided := false
	if byName {
		for i := first; ; i = x.next[i] {
			found = append(found, i)
			decided = decided || !x.also[i]
			if x.next[i] == 0 {
				break
			}
		}
	}
	found = x.addPatterns(found, name, decided)
	if len(found) == 0 {
		return nil, false
	}
	slices.Sort(found)
	rules = make([]R, len(found))
	for i, at := range found {
		rules[i] = x.rules[at]
	}
	return rules, byName
}

// addPatterns adds what applies by pattern: the rules of the first layer that holds some that do not say Also, unless
// a name has decided already, and all that say Also.
func (x *Index[R]) addPatterns(found []int32, name string, decided bool) []int32 {
	done := 0 // the layers tried so far
	for !decided && done < len(x.patterns) {
		l := &x.patterns[done]
		done++
		if l.matcher.Matches(name) {
			found = append(found, l.rules...)
			decided = slices.ContainsFunc(l.rules, func(i int32) bool { return !x.also[i] })
		}
	}
	for _, at := range x.besides {
		if at < done {
			continue
		}
		if l := &x.patterns[at]; l.matcher.Matches(name) {
			for _, i := range l.rules {
				if x.also[i] {
					found = append(found, i)
				}
			}
		}
	}
	return found
}

// Names calls f for every resource that some rule names literally, once each, in written order.
func (x *Index[R]) Names(f func(name string)) {
	if x == nil {
		return
	}
	for i, r := range x.rules {
		m := r.Meta().Resource
		if m.kind == ByName && x.named[m.pattern] == int32(i) {
			f(m.pattern)
		}
	}
}
