package sentinel

import (
	"bytes"
	"fmt"
	"slices"

	cordon "github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/apigroup"
	"github.com/cordon-go/cordon/authority"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/system"
)

// Encode writes the rules that belong in a document of the given kind and dialect, and lists what the dialect cannot say of them. In
// Java flow documents these are the rates and the concurrency limits, in Go's the rates; in isolation documents the concurrency
// limits; in breaker documents the breakers; in param documents the limits by a value; in system and authority documents the rules of that name; in API documents the groups of paths; in
// gateway documents the rates, the concurrency limits and the limits by a value, as limits of an API where the rules have a group of paths of that name, else of a route. Rules of other lists are not looked at. Of authority, gateway and API rules sentinel-golang has none: all are losses.
//
// What is written is read back by Decode as the same rules, but for the listed losses, defaults that are spelt out, and ids that rule.DeriveIDs derives:
// those are not written. A rule that would refuse other calls than it does is not written at all (Loss.Omitted), and so is a
// rule in shadow, as it would refuse calls. A CRD is not written: that is an error. The error is about the arguments: a kind or dialect that is not written, or rules that are not valid.
func Encode(dialect Dialect, kind Kind, rules cordon.Rules) ([]byte, []Loss, error) {
	entries, err := entriesOf(dialect, kind, rules)
	if err != nil {
		return nil, nil, err
	}
	slots := make([]slot, len(entries))
	for i := range entries {
		slots[i].now = []*entry{&entries[i]}
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
		s := slot{e, make([]*entry, len(e.parts))}
		for n, p := range e.parts {
			key := ruleKey{p.kind, p.ruleID}
			s.now[n] = byID[key]
			delete(byID, key)
		}
		if len(s.rules()) == 0 && (e.OK() || e.Dialect == CRD) { // whose form is not written
			continue
		}
		if s.keeps() {
			for _, now := range s.rules() {
				now.losses.omitted, now.losses.list = false, nil // nothing is said anew
			}
		}
		slots = append(slots, s)
	}
	for i := range entries {
		if now := &entries[i]; byID[now.key] == now {
			slots = append(slots, slot{nil, []*entry{now}})
		}
	}
	data, lost := writeSlots(d.Dialect, slots)
	return data, lost, nil
}

// entry is a rule to write.
type entry struct {
	key ruleKey
	// rule is the native rule with its id.
	rule  any
	match rule.Match
	// nameless says that the dialect has no id for it.
	nameless bool
	object   object
	losses   losses
}

// ruleKey identifies a rule among those of all kinds.
type ruleKey struct{ kind, id string }

// slot is one place in a document to write: rules, the element they came from, or both. An element without a rule was refused, and stays.
type slot struct {
	e *Element
	// now are the rules of the element's parts, nil for those that have none; without an element it is one rule.
	now []*entry
}

// rules are the rules that there are.
func (s slot) rules() []*entry {
	var all []*entry
	for _, now := range s.now {
		if now != nil {
			all = append(all, now)
		}
	}
	return all
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
		if n := s.node(dialect); n != nil {
			nodes = append(nodes, n)
		}
		for _, now := range s.rules() {
			lost = append(lost, now.losses.list...)
		}
	}
	return writeArray(nodes), lost
}

// node is what is written for the slot's rules; nil if that is nothing.
func (s slot) node(dialect Dialect) *rule.Node {
	var written []object
	for _, now := range s.rules() {
		if !now.losses.omitted {
			written = append(written, now.object)
		}
	}
	o := merged(written)
	switch {
	case s.e == nil || s.e.Dialect != dialect && len(s.rules()) > 0: // keys of both dialects in one rule would make it unreadable
		if len(written) == 0 {
			return nil
		}
		return o.node()
	case len(s.rules()) == 0 && !s.e.madeAny():
		return s.e.node
	case len(s.rules()) > 0 && len(written) == 0:
		return nil
	case s.keeps() && !o.says("id"):
		return s.e.node
	case s.e.several():
		o = merged(append(written, noSystemLimits()))
	}
	return o.over(s.e)
}

// madeAny reports whether there is a rule of any of the element's parts.
func (e *Element) madeAny() bool { return e.made(len(e.parts)) > 0 }

// several reports whether the element's fields are rules by themselves.
func (e *Element) several() bool { return len(e.parts) > 0 && e.parts[0].field != "" }

// keeps reports whether the element still says what the rules are.
func (s slot) keeps() bool {
	if s.e == nil || len(s.rules()) == 0 {
		return false
	}
	for n, now := range s.now {
		if s.e.parts[n].made != (now != nil) || now != nil && !s.e.holds(n, now) {
			return false
		}
	}
	return true
}

// holds reports whether the element still says what the rule of one of its parts is.
func (e *Element) holds(n int, now *entry) bool {
	id := e.parts[n].ruleID
	switch r := now.rule.(type) {
	case flow.Rule:
		return r.Equal(e.Rules.Flow[0].WithID(id))
	case flow.ConcurrencyRule:
		return r.Equal(e.Rules.Concurrency[0].WithID(id))
	case breaker.Rule:
		return r.Equal(e.Rules.Breaker[0].WithID(id))
	case paramflow.Rule:
		return r.Equal(e.Rules.Param[0].WithID(id))
	case authority.Rule:
		return r.Equal(e.Rules.Authority[0].WithID(id))
	case apigroup.Group:
		return r.Equal(e.Rules.APIGroup[0].WithID(id))
	case system.Rule:
		return r.Equal(e.Rules.System[e.made(n)].WithID(id))
	}
	return false
}

// encodeElement writes the rules of an element by themselves, as if for the first time; an empty object if it has none.
func encodeElement(e *Element) object {
	var objects []object
	write := func(to func(w *writer)) {
		w := writer{dialect: e.Dialect, gateway: e.kind == Gateway, l: &losses{}}
		to(&w)
		objects = append(objects, w.o)
	}
	for _, f := range e.Rules.Flow {
		write(func(w *writer) { w.flow(f) })
	}
	for _, c := range e.Rules.Concurrency {
		write(func(w *writer) { w.concurrency(c) })
	}
	for _, b := range e.Rules.Breaker {
		write(func(w *writer) { w.breaker(b) })
	}
	for _, p := range e.Rules.Param {
		write(func(w *writer) { w.param(p) })
	}
	for _, s := range e.Rules.System {
		write(func(w *writer) { w.system(s) })
	}
	for _, a := range e.Rules.Authority {
		write(func(w *writer) { w.authority(a) })
	}
	for _, g := range e.Rules.APIGroup {
		write(func(w *writer) { w.apiGroup(g) })
	}
	w := writer{dialect: e.Dialect, o: merged(objects)}
	if len(objects) > 0 && e.parts[0].id != "" {
		w.id(e.parts[0].id)
	}
	return w.o
}

// entriesOf returns what is to be written of all rules of a document.
func entriesOf(dialect Dialect, kind Kind, rules cordon.Rules) ([]entry, error) {
	switch {
	case !kind.Supported():
		return nil, fmt.Errorf("sentinel: cannot write %v rules: %w", kind, ErrUnsupported)
	case dialect == CRD:
		return nil, fmt.Errorf("sentinel: resources of Kubernetes are only read, not written; want java or go")
	case dialect != Java && dialect != Go:
		return nil, fmt.Errorf("sentinel: cannot write rules in dialect %v; want java or go", dialect)
	case dialect == Java && kind == Isolation:
		return nil, fmt.Errorf("sentinel: Sentinel Java has no isolation rules; want kind flow, where it limits concurrency by grade 0")
	}
	b := batch{dialect: dialect, kind: kind, apis: make(map[string]bool)}
	for _, g := range rules.APIGroup {
		b.apis[g.Name] = true
	}
	if kind == Flow || kind == Gateway {
		addEntries(&b, kindFlow, rules.Flow, (*writer).flow)
	}
	if kind == Isolation || kind == Flow && dialect == Java || kind == Gateway {
		addEntries(&b, kindConcurrency, rules.Concurrency, (*writer).concurrency)
	}
	if kind == Breaker {
		addEntries(&b, kindBreaker, rules.Breaker, (*writer).breaker)
	}
	if kind == Param || kind == Gateway {
		addEntries(&b, kindParam, rules.Param, (*writer).param)
	}
	if kind == System {
		addEntries(&b, kindSystem, rules.System, (*writer).system)
	}
	if kind == Authority {
		addEntries(&b, kindAuthority, rules.Authority, (*writer).authority)
	}
	if kind == API {
		addEntries(&b, kindAPIGroup, rules.APIGroup, (*writer).apiGroup)
	}
	if len(b.problems) > 0 {
		return nil, fmt.Errorf("sentinel: cannot write rules that are not valid: %w", b.problems)
	}
	return b.all, nil
}

// batch is the rules of a document on their way into it.
type batch struct {
	dialect Dialect
	kind    Kind
	// apis are the names of the groups of paths.
	apis     map[string]bool
	all      []entry
	problems rule.Problems
}

// addEntries encodes rules of one native kind.
func addEntries[R rule.Rule[R]](b *batch, kind string, rules []R, write func(*writer, R)) {
	rules = slices.Clone(rules)
	bad := append(rule.DeriveIDs(kind, rules), faults(kind, rules)...)
	if len(bad) > 0 {
		b.problems = append(b.problems, bad...)
		return
	}
	written := make(map[string]string)
	for _, r := range rules {
		meta := r.Meta()
		e := entry{key: ruleKey{kind, meta.ID}, rule: r, match: meta.Resource, nameless: b.kind.nameless(b.dialect), losses: losses{kind: kind, id: meta.ID}}
		w := writer{dialect: b.dialect, gateway: b.kind == Gateway, apis: b.apis, l: &e.losses}
		write(&w, r)
		e.object = w.o
		if b.dialect == Java {
			omitRepetition(written, &e)
		}
		b.all = append(b.all, e)
	}
}

// omitRepetition leaves a rule out of which Java takes only an earlier one: one that is written as that is, and of authority rules and APIs one for the same resource. written are the
// ids by what was written.
func omitRepetition(written map[string]string, e *entry) {
	if e.losses.omitted || e.key.kind == kindBreaker || e.key.kind == kindSystem {
		return
	}
	var b bytes.Buffer
	writeNode(&b, e.object.node())
	what, why := b.String(), "as written it is equal to %s, and Sentinel Java holds these for one"
	switch e.key.kind {
	case kindAuthority:
		what, why = e.object.field("resource").Value.Text, "Sentinel Java takes only one authority rule for a resource, and %s is written before"
	case kindAPIGroup:
		what, why = e.object.field("apiName").Value.Text, "Sentinel Java takes only one API of a name, and %s is written before"
	}
	if first, twice := written[what]; twice {
		e.losses.omit("", why, first)
		return
	}
	written[what] = e.key.id
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
	var entries []*entry // nil for what was refused
	for _, s := range slots {
		for n, now := range s.now {
			var of part
			if s.e != nil {
				of = s.e.parts[n]
			}
			switch {
			case now == nil && !of.made && of.kind == kind && of.ruleID != "":
				places, entries = append(places, place{of.id, of.match}), append(entries, nil)
			case now != nil && now.key.kind == kind && !now.losses.omitted:
				p := place{match: now.match}
				if s.e != nil && s.e.Dialect == dialect && of.id == now.key.id {
					p.id = of.id // it is there already
				}
				places, entries = append(places, p), append(entries, now)
			}
		}
	}
	var derived []place
	for again := true; again; {
		again = false
		derived = slices.Clone(places)
		rule.DeriveIDs(kind, derived)
		for i, now := range entries {
			if now != nil && derived[i].id != now.key.id && !now.nameless && dialect.hasID(now.key.id) {
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
