package paramflow

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/rule"
)

// Override gives one value, or those that a pattern matches, a limit of its own. Exactly one of Value, Wildcard and Regex is given.
type Override struct {
	// Value is the value's canonical text (see extractor.Value). A document may write it as text, number, true or false: 7, 7.0 and "7" are the same value. Not empty:
	// the empty text is matched by the regex ^$.
	Value Scalar `rule:"value"`
	// Wildcard matches the canonical text by * (any characters, also none) and ? (any one character). At most 1,000 bytes.
	Wildcard string `rule:"wildcard"`
	// Regex matches the canonical text by an RE2 expression, which must match all of it. At most 1,000 bytes.
	Regex string `rule:"regex"`
	// Limit replaces the rule's, per the rule's Per and in the same range. Default 0: refuse all.
	Limit float64 `rule:"limit"`
	// Burst replaces the rule's, in the same range; default: Limit rounded up, at least 1. Only for reject.
	Burst int `rule:"burst"`
}

// match returns the pattern of an override that has one.
func (o Override) match() rule.Match {
	if o.Regex != "" {
		return rule.Regex(o.Regex)
	}
	return rule.Wildcard(o.Wildcard)
}

// Scalar is the canonical text of a value that documents may write as text, number, true or false.
type Scalar string

// UnmarshalScalar takes a number in its canonical form, and everything else as it is.
func (s *Scalar) UnmarshalScalar(kind rule.NodeKind, text string) error {
	if kind == rule.Number {
		text = strings.TrimPrefix(text, "+")
		switch digits := strings.TrimPrefix(text, "-"); {
		case digits == "0":
			text = digits
		case strings.Trim(digits, "0123456789") != "":
			f, err := strconv.ParseFloat(text, 64)
			v, ok := extractor.Of(f)
			if err != nil || !ok {
				return fmt.Errorf("%s is no number of 64 bits", text)
			}
			text = v.String()
		}
	}
	*s = Scalar(text)
	return nil
}
