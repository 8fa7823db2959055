package rule

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"unicode/utf8"
)

// MatchKind is the form of a Match.
type MatchKind uint8

const (
	// ByName matches the one resource of that name.
	ByName MatchKind = iota
	// ByWildcard matches with * (any run of characters, also none) and ? (any one character).
	ByWildcard
	// ByRegex matches where the RE2 expression matches the whole name.
	ByRegex
	// ByDefault matches every resource.
	ByDefault
)

// String returns the form as documents call it: name, wildcard, regex or default.
func (k MatchKind) String() string {
	switch k {
	case ByName:
		return "name"
	case ByWildcard:
		return "wildcard"
	case ByRegex:
		return "regex"
	case ByDefault:
		return "default"
	}
	return "MatchKind(" + strconv.Itoa(int(k)) + ")"
}

// A Match says which resources a rule is for. It is a small comparable value. In documents it
// is a plain string (a name), {wildcard: ...}, {regex: ...} or {default: true}.
// The zero Match names the empty resource and is refused in rules.
type Match struct {
	kind    MatchKind
	pattern string
}

// Name matches the one resource of that name.
func Name(name string) Match { return Match{ByName, name} }

// Wildcard matches names by * (any run of characters, also none) and ? (any one character). Nothing escapes them: use a regex
// to match a literal star. In a name that is not UTF-8 every byte that belongs to no character counts as one.
func Wildcard(pattern string) Match { return Match{ByWildcard, pattern} }

// Regex matches names that the RE2 expression matches as a whole.
func Regex(expr string) Match { return Match{ByRegex, expr} }

// Default matches every name.
func Default() Match { return Match{kind: ByDefault} }

// Kind returns the form.
func (m Match) Kind() MatchKind { return m.kind }

// Pattern returns the name, the wildcard or the expression; "" for the default.
func (m Match) Pattern() string { return m.pattern }

// String returns the match as one would write it in a YAML document.
func (m Match) String() string {
	switch m.kind {
	case ByName:
		return yamlScalar(m.pattern)
	case ByDefault:
		return "{default: true}"
	default:
		return "{" + m.kind.String() + ": " + yamlScalar(m.pattern) + "}"
	}
}

// Check reports why the match cannot be used, nil if it can: an empty pattern, an expression or a wildcard that is not valid. It is
// cheaper than Compile.
func (m Match) Check() error {
	if m.pattern == "" && m.kind != ByDefault {
		if m.kind == ByName {
			return errors.New("the resource's name is empty")
		}
		return fmt.Errorf("the %s is empty and matches no resource that has a name", m.kind)
	}
	switch m.kind {
	case ByWildcard:
		if !utf8.ValidString(m.pattern) {
			return fmt.Errorf("wildcard %q is not valid UTF-8", m.pattern)
		}
	case ByRegex:
		if _, err := syntax.Parse(m.pattern, syntax.Perl); err != nil {
			return regexError(m.pattern, err)
		}
	}
	return nil
}

// Compile checks the match and makes it ready to be used; regexes are compiled here and nowhere else.
func (m Match) Compile() (Matcher, error) {
	if err := m.Check(); err != nil {
		return Matcher{}, err
	}
	c := Matcher{kind: m.kind, name: m.pattern}
	switch m.kind {
	case ByWildcard:
		c.wildcard = compileWildcard(m.pattern)
	case ByRegex:
		// Check has parsed the expression by itself, so that it cannot break out of the group, as in "a)|(b".
		re, err := regexp.Compile(`\A(?:` + m.pattern + `)\z`)
		if err != nil {
			return Matcher{}, regexError(m.pattern, err)
		}
		c.regex = re
	}
	return c, nil
}

// regexError tells what is wrong with an expression without the name of the package that found out.
func regexError(expr string, err error) error {
	var bad *syntax.Error
	if errors.As(err, &bad) {
		return fmt.Errorf("regex %q is not valid: %s in %q", expr, bad.Code, bad.Expr)
	}
	return fmt.Errorf("regex %q is not valid: %w", expr, err)
}

// A Matcher is a compiled Match, safe for concurrent use. The zero Matcher matches the empty name.
type Matcher struct {
	kind     MatchKind
	name     string
	wildcard *wildcard
	regex    *regexp.Regexp
}

// Matches reports whether the resource's name matches. It costs at most linear time in the name's length for names, wildcards
// of one star and regexes, and at most length times pattern for other wildcards; it allocates nothing.
func (m Matcher) Matches(name string) bool {
	switch m.kind {
	case ByName:
		return name == m.name
	case ByWildcard:
		return m.wildcard.matches(name)
	case ByRegex:
		return m.regex.MatchString(name)
	default:
		return true
	}
}
