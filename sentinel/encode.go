package sentinel

import (
	"bytes"
	"fmt"
	"slices"

	cordon "github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

// Encode writes the rules that belong in a document of the given kind and dialect, and lists what the dialect cannot say of them. In
// Java flow documents these are the rates and the concurrency limits, in Go's the rates; in isolation documents the concurrency
// limits; in breaker documents the breakers; in param documents the limits by a value. Rules of other lists are not looked at.
//
// What is written is read back by Decode as the same rules, but for the listed losses, defaults that are spelt out, and ids that rule.DeriveIDs derives:
// those are not written. A rule that would refuse other calls than it does is not written at all (Loss.Omitted), and so is a
// rule in shadow, as it would refuse calls. The error is about the arguments: a kind or dialect that is not written, or rules that are not valid.
func Encode(dialect Dialect, kind Kind, rules cordon.Rules) ([]byte, []Loss, error) {
	entries, err := entriesOf(dialect, kind, rules)
	if err != nil {
		return nil, nil, err
	}
	slots := make([]slot, len(entries))
	for i := range entries {
		slots[i].now = &entries[i]
	}
	data, lost := writeSlots(dialect, slots)
	return data, lost, nil
}

// Encode writes rules back in the document's form and dialect: those that came from its elements (by id) keep what cordon does not use, and if they are
// unchanged, all that was written. Elements that were refused stay, unless a rule has the id they would have had. Elements of rules that
// are not among the given ones go, as do repetitions. A document without rules may not have told its dialect: then Dialect must be set.
//
// Losses and errors: see the function Encode. Where a rule cannot be written its element goes too. A rule that would be known by another id when
// read, because one before it is gone, gets its id written.
func (d *Document) Encode(rules cordon.Rules) ([]byte, []Loss, error) {
	entries, err := entriesOf(d.Dialect, d.Kind, rules)
	if err != nil {
		return nil, nil, err
	}
	byID := make(map[ruleKey]*entry, len(entries))
	for i := range entries {
		byID[entries[i].key] = &entries[i]
	}
	var slots []slot
	for i := range d.Elements {
		e := &d.Elements[i]
		key := ruleKey{e.native, e.ruleID}
		if now := byID[key]; now != nil || !e.OK() {
			s := slot{e, now}
			if s.keeps() {
				now.losses.omitted, now.losses.list = false, nil // nothing is said anew
			}
			slots = append(slots, s)
			delete(byID, key)
		}
	}
	for i := range entries {
		if now := &entries[i]; byID[now.key] == now {
			slots = append(slots, slot{nil, now})
		}
	}
	data, lost := writeSlots(d.Dialect, slots)
	return data, lost, nil
}

// entry is a rule to write.
type entry struct {
	key ruleKey
	// rule is the native rule with its id.
	rule   any
	match  rule.Match
	object object
	losses losses
}

// ruleKey identifies a rule among those of all kinds.
type ruleKey struct{ kind, id string }

// slot is one place in a document to write: a rule, the element it came from, or both. An element without a rule was refused, and stays.
type slot struct {
	e   *Element
	now *entry
}

// writeSlots writes a document.
func writeSlots(dialect Dialect, slots []slot) ([]byte, []Loss) {
	for _, kind := range nativeKinds {
		writeIDs(kind, dialect, slots)
	}
	var (
		nodes []*rule.Node
		lost  []Loss
	)
	for _, s := range slots {
		if s.now == nil {
			nodes = append(nodes, s.e.node)
			continue
		}
		if !s.now.losses.omitted {
			nodes = append(nodes, s.node(dialect))
		}
		lost = append(lost, s.now.losses.list...)
	}
	return writeArray(nodes), lost
}

// node is what is written for the slot's rule.
func (s slot) node(dialect Dialect) *rule.Node {
	switch {
	case s.e == nil || s.e.Dialect != dialect: // keys of both dialects in one rule would make it unreadable
		return s.now.object.node()
	case s.keeps() && !s.now.object.says("id"):
		return s.e.node
	default:
		return s.now.object.over(s.e)
	}
}

// keeps reports whether the element still says what the rule is.
func (s slot) keeps() bool { return s.now != nil && s.e != nil && s.e.holds(s.now) }

// holds reports whether the element still says what the rule is.
func (e *Element) holds(now *entry) bool {
	for _, f := range e.Rules.Flow {
		return now.rule == any(f.WithID(e.ruleID))
	}
	for _, c := range e.Rules.Concurrency {
		return now.rule == any(c.WithID(e.ruleID))
	}
	for _, b := range e.Rules.Breaker {
		return now.rule == any(b.WithID(e.ruleID))
	}
	for _, p := range e.Rules.Param {
		n, ok := now.rule.(paramflow.Rule)
		return ok && n.Equal(p.WithID(e.ruleID))
	}
	return false
}

// encodeElement writes the rule of an element by itself, as if for the first time; an empty object if it has none.
func encodeElement(e *Element) object {
	w := writer{dialect: e.Dialect, l: &losses{}}
	for _, f := range e.Rules.Flow {
		w.flow(f)
	}
	for _, c := range e.Rules.Concurrency {
		w.concurrency(c)
	}
	for _, b := range e.Rules.Breaker {
		w.breaker(b)
	}
	for _, p := range e.Rules.Param {
		w.param(p)
	}
	if !e.empty() && e.ID != "" {
		w.id(e.ID)
	}
	return w.o
}

// entriesOf returns what is to be written of all rules of a document.
func entriesOf(dialect Dialect, kind Kind, rules cordon.Rules) ([]entry, error) {
	switch {
	case !kind.Supported():
		return nil, fmt.Errorf("sentinel: cannot write %v rules: %w", kind, ErrUnsupported)
	case dialect != Java && dialect != Go:
		return nil, fmt.Errorf("sentinel: cannot write rules in dialect %v; want java or go", dialect)
	case dialect == Java && kind == Isolation:
		return nil, fmt.Errorf("sentinel: Sentinel Java has no isolation rules; want kind flow, where it limits concurrency by grade 0")
	}
	var (
		all      []entry
		problems rule.Problems
	)
	if kind == Flow {
		all = addEntries(all, &problems, dialect, kindFlow, rules.Flow, (*writer).flow)
	}
	if kind == Isolation || kind == Flow && dialect == Java {
		all = addEntries(all, &problems, dialect, kindConcurrency, rules.Concurrency, (*writer).concurrency)
	}
	if kind == Breaker {
		all = addEntries(all, &problems, dialect, kindBreaker, rules.Breaker, (*writer).breaker)
	}
	if kind == Param {
		all = addEntries(all, &problems, dialect, kindParam, rules.Param, (*writer).param)
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("sentinel: cannot write rules that are not valid: %w", problems)
	}
	return all, nil
}

// addEntries encodes rules of one native kind.
func addEntries[R rule.Rule[R]](all []entry, problems *rule.Problems, dialect Dialect, kind string, rules []R, write func(*writer, R)) []entry {
	rules = slices.Clone(rules)
	bad := append(rule.DeriveIDs(kind, rules), faults(kind, rules)...)
	if len(bad) > 0 {
		*problems = append(*problems, bad...)
		return all
	}
	written := make(map[string]string)
	for _, r := range rules {
		meta := r.Meta()
		e := entry{key: ruleKey{kind, meta.ID}, rule: r, match: meta.Resource, losses: losses{kind: kind, id: meta.ID}}
		w := writer{dialect: dialect, l: &e.losses}
		write(&w, r)
		e.object = w.o
		if dialect == Java && kind != kindBreaker {
			omitRepetition(written, &e)
		}
		all = append(all, e)
	}
	return all
}

// omitRepetition leaves a rule out that is written as one before it, because Java holds these for one. written are the ids by what was written.
func omitRepetition(written map[string]string, e *entry) {
	if e.losses.omitted {
		return
	}
	var b bytes.Buffer
	writeNode(&b, e.object.node())
	if first, twice := written[b.String()]; twice {
		e.losses.omit("", "as written it is equal to %s, and Sentinel Java holds these for one", first)
		return
	}
	written[b.String()] = e.key.id
}

// faults returns what makes rules not valid.
func faults[R rule.Rule[R]](kind string, rules []R) rule.Problems {
	var found rule.Problems
	for i, r := range rules {
		for _, p := range r.Problems() {
			if !p.Warning {
				p.Kind, p.Index, p.RuleID = kind, i, r.Meta().ID
				found = append(found, p)
			}
		}
	}
	return found
}

// writeIDs puts ids into the rules of a kind that reading would not give the same id. A rule that gets one is out of the count of the others, so
// it goes on until all that have none are given theirs, or cannot have it written.
func writeIDs(kind string, dialect Dialect, slots []slot) {
	var places []place
	var entries []*entry // nil for a refused element
	for _, s := range slots {
		switch {
		case s.now == nil && s.e.native == kind && s.e.ruleID != "":
			places, entries = append(places, place{s.e.ID, s.e.match}), append(entries, nil)
		case s.now != nil && s.now.key.kind == kind && !s.now.losses.omitted:
			p := place{match: s.now.match}
			if s.e != nil && s.e.Dialect == dialect && s.e.ID == s.now.key.id {
				p.id = s.e.ID // it is there already
			}
			places, entries = append(places, p), append(entries, s.now)
		}
	}
	var derived []place
	for again := true; again; {
		again = false
		derived = slices.Clone(places)
		rule.DeriveIDs(kind, derived)
		for i, now := range entries {
			if now != nil && derived[i].id != now.key.id && dialect.hasID(now.key.id) {
				places[i].id, again = now.key.id, true
				w := writer{dialect: dialect, o: now.object}
				w.id(now.key.id)
				now.object = w.o
			}
		}
	}
	for i, now := range entries {
		if now != nil && derived[i].id != now.key.id {
			now.losses.add("id", "%s cannot have this id; none is written", dialect.sentinel())
		}
	}
}
