package extractor

// List collects the values of one call, each once. The zero List is empty. It holds up to 8 without allocating, and MaxValues at most; what is beyond is left out. It must
// not be copied after use, nor used by several goroutines at once.
type List struct {
	n   int
	few [8]Value
	// more are those that few has no room for, seen the same.
	more      []Value
	seen      map[Value]struct{}
	elements  int
	truncated bool
}

// MaxValues is how many values of one call a List holds.
const MaxValues = 1000

// maxElements is how many elements of one call are looked at.
const maxElements = 10 * MaxValues

// Add adds a value, unless it is there already.
func (l *List) Add(v Value) {
	for i := range min(l.n, len(l.few)) {
		if l.few[i] == v {
			return
		}
	}
	if l.n < len(l.few) {
		l.few[l.n] = v
		l.n++
		return
	}
	if _, ok := l.seen[v]; ok {
		return
	}
	if l.n >= MaxValues {
		l.truncated = true
		return
	}
	if l.seen == nil {
		l.seen = map[Value]struct{}{}
	}
	l.seen[v] = struct{}{}
	l.more = append(l.more, v)
	l.n++
}

// More reports whether one more element should be looked at. It is false, and the list Truncated, when the list is full or when 10 × MaxValues elements were looked at, for
// elements without a value, or with the same one, cost time too. A Getter asks it before each element of [*].
func (l *List) More() bool {
	l.elements++
	if l.n >= MaxValues || l.elements > maxElements {
		l.truncated = true
		return false
	}
	return true
}

// Truncated reports whether values may have been left out because there were too many.
func (l *List) Truncated() bool { return l.truncated }

// Len returns how many values there are.
func (l *List) Len() int { return l.n }

// At returns the i-th value, from 0 to Len()-1.
func (l *List) At(i int) Value {
	if i < len(l.few) {
		return l.few[:min(l.n, len(l.few))][i]
	}
	return l.more[i-len(l.few)]
}

// Reset empties the list. Nothing of the values is kept.
func (l *List) Reset() {
	l.cut(mark{})
	l.elements = 0
}

// A mark is a state of a list to return to.
type mark struct {
	n         int
	truncated bool
}

func (l *List) mark() mark { return mark{l.n, l.truncated} }

// cut takes away what was added since the mark.
func (l *List) cut(m mark) {
	for i := m.n; i < min(l.n, len(l.few)); i++ {
		l.few[i] = Value{}
	}
	if keep := max(m.n-len(l.few), 0); keep < len(l.more) {
		for _, v := range l.more[keep:] {
			delete(l.seen, v)
		}
		clear(l.more[keep:])
		l.more = l.more[:keep]
	}
	l.n, l.truncated = m.n, m.truncated
}
