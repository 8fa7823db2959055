package rule

// An Index finds the rules of one kind that apply to a resource. It is immutable and safe for concurrent use.
type Index[R Rule[R]] struct{}

// NewIndex builds an index over valid rules with unique ids. It panics on a match that does not compile:
// check the rules first.
func NewIndex[R Rule[R]](rules []R) *Index[R] { panic("stub") }

// Update returns an index over rules that takes over all compiled parts of x for the rules that did not change their Match.
func (x *Index[R]) Update(rules []R) *Index[R] { panic("stub") }

// Rules returns all rules in written order. The caller must not change the slice.
func (x *Index[R]) Rules() []R { panic("stub") }

// Match returns the rules that apply to the resource, in written order: those of the most specific
// layer that matches (name, else the matching wildcard with the longest pattern, else the first matching regex in written order, else
// the default), and every matching rule that says Also. Rules with the same Match are one layer.
// It also reports whether any rule was found by name.
func (x *Index[R]) Match(name string) (rules []R, byName bool) { panic("stub") }

// Names calls f for every resource that some rule names literally.
func (x *Index[R]) Names(f func(name string)) { panic("stub") }
