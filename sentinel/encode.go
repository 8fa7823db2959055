package sentinel

import (
	"bytes"
	"fmt"
	"slices"

	cordon "github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/rule"
)

// Encode writes the rules that belong in a document of the given kind and dialect, and lists what the dialect cannot say of them. In
// Java flow documents these are the rates and the concurrency limits, in Go's the rates; in isolation documents the concurrency
// limits; in breaker documents the breakers. Rules of other lists are not looked at.
//
// What is written is read back by Decode as the same rules, but for the listed losses, defaults that are spelt out, and ids that rule.DeriveIDs derives:
// those are not written. A rule that would refuse other calls than it does is not written at all (Loss.Omitted), and so is a
// rule in shadow, as it would refuse calls. The error is about the arguments: a kind or dialect that is not written, or rules that are not valid.
func Encode(dialect Dialect, kind Kind, rules cordon.Rules) ([]byte, []Loss, error) {
	entries, err := entriesOf(dialect, kind, rules)
	if err != nil {
		return nil, nil, err
	}
	nodes := make([]*rule.Node, 0, len(entries))
	var lost []Loss
	for i := range entries {
		e := &entries[i]
		if !e.losses.omitted {
			nodes = append(nodes, e.object.node())
		}
		lost = append(lost, e.losses.list...)
	}
	return writeArray(nodes), lost, nil
}

// Encode writes rules back in the document's form and dialect: those that came from its elements (by id) keep what cordon does not use, and if they are
// unchanged, all that was written. Elements that were refused stay, unless a rule has the id they would have had. Elements of rules that
// are not among the given ones go, as do repetitions. A document without rules may not have told its dialect: then Dialect must be set. Losses and errors: see the function Encode; a rule that cannot be written is left out, its element goes too.
func (d *Document) Encode(rules cordon.Rules) ([]byte, []Loss, error) {
	entries, err := entriesOf(d.Dialect, d.Kind, rules)
	if err != nil {
		return nil, nil, err
	}
	byID := make(map[ruleKey]*entry, len(entries))
	for i := range entries {
		byID[entries[i].key] = &entries[i]
	}
	var (
		nodes []*rule.Node
		lost  []Loss
	)
	for i := range d.Elements {
		e := &d.Elements[i]
		key := ruleKey{e.native, e.ruleID}
		now := byID[key]
		delete(byID, key)
		switch {
		case now == nil && e.OK():
		case now == nil:
			nodes = append(nodes, e.node)
		case e.holds(now):
			nodes = append(nodes, e.node)
		default:
			if !now.losses.omitted {
				nodes = append(nodes, now.over(e, d.Dialect))
			}
			lost = append(lost, now.losses.list...)
		}
	}
	for i := range entries {
		e := &entries[i]
		if byID[e.key] != e {
			continue
		}
		if !e.losses.omitted {
			nodes = append(nodes, e.object.node())
		}
		lost = append(lost, e.losses.list...)
	}
	return writeArray(nodes), lost, nil
}

// entry is a rule to write.
type entry struct {
	key ruleKey
	// rule is the native rule with its id.
	rule   any
	object object
	losses losses
}

// ruleKey identifies a rule among those of all kinds.
type ruleKey struct{ kind, id string }

// over is the element with the rule put in.
func (now *entry) over(e *Element, dialect Dialect) *rule.Node {
	if e.Dialect != dialect {
		return now.object.node() // nothing to keep: keys of both dialects in one rule make it unreadable
	}
	return now.object.over(e)
}

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
	added := make([]entry, len(rules))
	written := make(map[string]string)
	var places []place
	for i, r := range rules {
		id := r.Meta().ID
		added[i] = entry{key: ruleKey{kind, id}, rule: r, losses: losses{kind: kind, id: id}}
		w := writer{dialect: dialect, l: &added[i].losses}
		write(&w, r)
		added[i].object = w.o
		if dialect == Java && kind != kindBreaker {
			omitRepetition(written, &added[i])
		}
		if !w.l.omitted {
			places = append(places, place{id, r.Meta().Resource})
		}
	}
	derived := derivedIDs(kind, places, dialect)
	for i := range added {
		e := &added[i]
		if e.losses.omitted || derived[e.key.id] {
			continue
		}
		w := writer{dialect: dialect, o: e.object, l: &e.losses}
		w.id(e.key.id)
		e.object = w.o
	}
	return append(all, added...)
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

// derivedIDs tells which ids come out by themselves if they are not written. A rule whose id does not must have it written, which takes it out of
// the count of the others, so that it goes on until all that are left out come out, or cannot be written.
func derivedIDs(kind string, places []place, dialect Dialect) map[string]bool {
	given := make([]place, len(places))
	for i, p := range places {
		given[i].match = p.match
	}
	out := make(map[string]bool)
	for again := true; again; {
		again = false
		clear(out)
		derived := slices.Clone(given)
		rule.DeriveIDs(kind, derived)
		for i := range derived {
			switch id := places[i].id; {
			case given[i].id != "":
			case derived[i].id == id:
				out[id] = true
			case dialect.hasID(id):
				given[i].id, again = id, true
			}
		}
	}
	return out
}
