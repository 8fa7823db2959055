package rule

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

// A Match says which resources a rule is for. It is a small comparable value. In documents it
// is a plain string (a name), {wildcard: ...}, {regex: ...} or {default: true}.
// The zero Match names the empty resource and is refused in rules.
type Match struct {
	kind    MatchKind
	pattern string
}

// Name matches the one resource of that name.
func Name(name string) Match { return Match{ByName, name} }

// Wildcard matches names by * and ?.
func Wildcard(pattern string) Match { return Match{ByWildcard, pattern} }

// Regex matches names that the RE2 expression matches as a whole.
func Regex(expr string) Match { return Match{ByRegex, expr} }

// Default matches every name.
func Default() Match { return Match{kind: ByDefault} }

// Kind returns the form.
func (m Match) Kind() MatchKind { return m.kind }

// Pattern returns the name, the wildcard or the expression; "" for the default.
func (m Match) Pattern() string { return m.pattern }

// String returns the match as one would write it in a document.
func (m Match) String() string { panic("stub") }

// Compile checks the match and makes it ready to be used; regexes are compiled here and nowhere else.
func (m Match) Compile() (Matcher, error) { panic("stub") }

// A Matcher is a compiled Match, safe for concurrent use.
type Matcher struct{}

// Matches reports whether the resource's name matches. It costs at most linear time in the name's length for names, wildcards of one star and regexes; it allocates nothing.
func (m Matcher) Matches(name string) bool { panic("stub") }
