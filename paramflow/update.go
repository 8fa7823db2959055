package paramflow

import (
	"math"
	"slices"
	"time"

	"github.com/cordon-go/cordon/extractor"
)

// Update puts the edited rule in force, keeping what was counted. It may race with any other method and never lets a bound be passed: a caller sees the old rule or the new one. It holds
// all callers up for as long as it takes to go through the cells, if allowances or the memory change: about a nanosecond for each.
//
// What is carried over, for each value, whatever changes: until what was spent is earned back, what was left of the burst is left of a larger one, and what was spent is spent of a smaller one, so that edits at one instant yield no more than one burst; between Pace and Pace the turns that
// are promised; in mode Concurrency what is in flight. A value that gains or loses an override, by name or by pattern, takes its past along. Only an edit from or to Concurrency, which has
// no measure in common with the others, begins anew: then kept is false. What a value has in cells that it shares may count for more than it was, by an edit of patterns.
//
// Permits from before can no longer be given back by Cancel, except in mode Concurrency.
func (l *Limiter) Update(r Rule, now time.Duration) (kept bool, err error) {
	if err := r.faults(); err != nil {
		return true, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.plan
	if r.withDefaults().numbers().Equal(old.rule) {
		return true, nil
	}
	p, err := newPlan(r, l.seed, old)
	if err != nil {
		return true, err
	}
	e := edit{l: l, old: old, new: p, t: l.ticks(now)}
	e.prepare()
	for i := range l.stripes {
		l.stripes[i].mu.Lock()
	}
	kept = e.carry()
	l.plan = p
	for i := range l.stripes {
		l.stripes[i].mu.Unlock()
	}
	return kept, nil
}

// An edit takes what was counted by one plan to another.
type edit struct {
	l        *Limiter
	old, new *plan
	t        int64
	// measures says for each measure of the old plan which one of the new follows it.
	measures []uint16
	// leaving are the named values that lose their override, by index, and going the class that each goes to.
	leaving []int
	going   []uint16
	// shared are the pairs of allowances that a past in shared cells may go from and to.
	shared [][2]allowance
	// slowest is the largest room of the new plan, for more pairs than are tried.
	slowest int64
}

// maxPairs is up to how many pairs of allowances are tried on every shared cell. With more each value that shares one is taken to have spent all.
const maxPairs = 64

// maxMeasures is how many a cell can name.
const maxMeasures = 1 << 16

// prepare does what needs no lock of all stripes.
func (e *edit) prepare() {
	if e.old.rule.Mode == Concurrency || e.new.rule.Mode == Concurrency {
		return
	}
	e.follow()
	for i := range e.old.named.values {
		if n := &e.old.named.values[i]; e.new.named.find(n.value, n.hash) < 0 {
			e.leaving = append(e.leaving, i)
			e.going = append(e.going, e.new.class(n.value))
		}
	}
	e.pair()
}

// follow finds the measures. Where patterns are the same, or there are none by now, it is known what class a past goes to. Else it keeps its measure until its value comes.
func (e *edit) follow() {
	same := slices.Equal(e.old.texts, e.new.texts)
	used := e.used()
	classes := len(e.new.classes)
	for i, m := range e.old.measures {
		resolved := i < len(e.old.classes)
		to := 0
		switch {
		case e.new.patterns == nil || !resolved && !used[i]:
		case resolved && same:
			to = i
		default:
			m = m.measure()
			if len(e.new.measures) == maxMeasures-1 {
				m = spent()
			}
			if to = slices.Index(e.new.measures[classes:], m); to < 0 {
				to = len(e.new.measures) - classes
				e.new.measures = append(e.new.measures, m)
			}
			to += classes
		}
		e.measures = append(e.measures, uint16(to))
	}
}

// used reports which measures cells that count name. While calls go on only those of classes can become more.
func (e *edit) used() []bool {
	used := make([]bool, len(e.old.measures))
	for i := range e.l.stripes {
		s := &e.l.stripes[i]
		s.mu.Lock()
		for cell, m := range s.classes {
			if *s.own(cell) > e.t {
				used[m] = true
			}
		}
		s.mu.Unlock()
	}
	return used
}

// pair lists what a past in shared cells may go from and to: nobody knows which pattern its value fits.
func (e *edit) pair() {
	same := slices.Equal(e.old.texts, e.new.texts)
	for i, from := range e.old.measures {
		if same && i < len(e.old.classes) {
			e.addPair(from, e.new.classes[i])
			continue
		}
		for _, to := range e.new.classes {
			e.addPair(from, to)
		}
	}
}

func (e *edit) addPair(from, to allowance) {
	e.slowest = max(e.slowest, to.room)
	if pair := [2]allowance{from.measure(), to.measure()}; len(e.shared) <= maxPairs && !slices.Contains(e.shared, pair) {
		e.shared = append(e.shared, pair)
	}
}

// carry takes everything over, and reports whether it could. Caller must hold all stripes.
func (e *edit) carry() bool {
	l := e.l
	e.redact()
	if (e.old.rule.Mode == Concurrency) != (e.new.rule.Mode == Concurrency) {
		for i := range l.stripes {
			s := &l.stripes[i]
			s.cells = cells{}
			s.drop()
		}
		l.furnish(e.new, e.t, e.new.patterns != nil)
		return false
	}
	if e.new.rule.Mode == Concurrency {
		l.furnish(e.new, e.t, false)
		return true
	}
	e.call()
	l.furnish(e.new, e.t, e.old.patterns != nil || e.new.patterns != nil)
	changes := e.changes()
	for i := range l.stripes {
		s := &l.stripes[i]
		if changes {
			e.convert(s)
		}
		if e.new.patterns == nil {
			s.classes = nil
		}
		s.edited = max(s.edited, e.t)
	}
	e.dismiss()
	return true
}

// redact drops the names of values that must not be kept any more, and the hashes of those that may be shown now.
func (e *edit) redact() {
	if e.old.rule.Redact == e.new.rule.Redact {
		return
	}
	for i := range e.l.stripes {
		s := &e.l.stripes[i]
		s.ranks.value, s.ranks.known = [ranked]extractor.Value{}, [ranked]bool{}
		if e.new.rule.Redact {
			for j, weight := range s.ranks.weight {
				s.ranks.known[j] = weight > 0
			}
		}
		if e.new.hashed && !e.old.hashed && len(s.live) > 0 {
			s.rekey(func(v extractor.Value) extractor.Value { return extractor.Int(int64(v.Hash(e.l.seed))) })
		}
	}
}

// call gives the values that have an override by now their past.
func (e *edit) call() {
	for i := range e.new.named.values {
		n := &e.new.named.values[i]
		if j := e.old.named.find(n.value, n.hash); j >= 0 {
			was := &e.old.named.values[j]
			n.at = carry(was.at, e.t, was.allowance, n.allowance)
			continue
		}
		s, tag := e.l.stripe(n.hash)
		at, cell := s.until(tag)
		from := e.new.were[i]
		if cell >= 0 && s.classes != nil {
			from = e.old.measures[s.classes[cell]]
		}
		n.at = carry(at, e.t, from, n.allowance)
	}
}

// changes reports whether cells name another measure by now, or count in another. A smaller memory makes values share whose own cells named one that none of the new rule's patterns has.
func (e *edit) changes() bool {
	if len(e.shared) > maxPairs || slices.ContainsFunc(e.shared, func(p [2]allowance) bool { return p[0] != p[1] }) {
		return true
	}
	for i, to := range e.measures {
		if int(to) != i || e.old.measures[i].measure() != e.new.measures[to].measure() {
			return true
		}
	}
	return false
}

// convert brings the cells of a stripe to the measures of the new plan.
func (e *edit) convert(s *stripe) {
	for i := range s.lines {
		l := &s.lines[i]
		for j, at := range l.own {
			var class uint16
			if s.classes != nil {
				class = s.classes[i*ownCells+j]
				s.classes[i*ownCells+j] = e.measures[class]
			}
			l.own[j] = carry(at, e.t, e.old.measures[class], e.new.measures[e.measures[class]])
		}
		for j := range l.shared {
			l.shared[j] = e.worst(l.shared[j])
		}
	}
}

// worst returns the latest time that a past in a shared cell may count until.
func (e *edit) worst(at int64) int64 {
	switch {
	case at <= e.t || len(e.shared) == 0:
		return at
	case len(e.shared) > maxPairs:
		return at + e.slowest
	}
	var worst int64 = math.MinInt64
	for _, pair := range e.shared {
		worst = max(worst, carry(at, e.t, pair[0], pair[1]))
	}
	return worst
}

// dismiss brings the past of values that lost their override to the cells.
func (e *edit) dismiss() {
	for i, j := range e.leaving {
		n, class := &e.old.named.values[j], e.going[i]
		to := e.new.classes[class]
		at := carry(n.at, e.t, n.allowance, to)
		if at <= 0 {
			continue // it was never called
		}
		s, tag := e.l.stripe(n.hash)
		before, cell := s.until(tag)
		if cell >= 0 && s.classes != nil {
			before = carry(before, e.t, e.new.measures[s.classes[cell]], to)
		}
		s.set(tag, cell, max(at, before), e.t, class)
	}
}
