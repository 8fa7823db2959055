package paramflow

import (
	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/rule"
)

// uncounted is the class of values that the rule is not for: more than the classes of all patterns that a rule may have.
const uncounted = 1<<16 - 1

// An only tells the values that a rule is for, by Rule.Only. A nil one holds all.
type only struct {
	value    extractor.Value // if there are no patterns
	patterns *patterns
}

// newOnly makes a valid match ready. It returns nil if that holds all values.
func newOnly(m rule.Match) (*only, error) {
	switch {
	case m == rule.Match{} || m.Kind() == rule.ByDefault:
		return nil, nil
	case m.Kind() == rule.ByName:
		return &only{value: extractor.Text(m.Pattern()).Clone()}, nil
	}
	p, err := newPatterns([]Override{patternOf(m)})
	if err != nil {
		return nil, err
	}
	return &only{patterns: p}, nil
}

// patternOf returns an override for what a pattern matches.
func patternOf(m rule.Match) Override {
	if m.Kind() == rule.ByRegex {
		return Override{Regex: m.Pattern()}
	}
	return Override{Wildcard: m.Pattern()}
}

// holds reports whether the value is one of them.
func (o *only) holds(v extractor.Value) bool {
	switch {
	case o == nil || v == extractor.Text(AbsentValue) || v == extractor.Text(FurtherValue):
		return true
	case o.patterns == nil:
		return v == o.value
	}
	return o.patterns.find(v) >= 0
}
