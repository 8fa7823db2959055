package sentinel

import (
	"slices"

	cordon "github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/rule"
)

// A Document is a read Sentinel document.
type Document struct {
	// Source names the document in problems.
	Source string
	// Kind is what it was read as.
	Kind Kind
	// Dialect is that of its rules; Auto if no rule told it.
	Dialect Dialect
	// Elements are what the array holds, in order.
	Elements []Element
	// Problems are the faults and warnings of all elements, in order.
	Problems rule.Problems
}

// An Element is one element of a document: a rule, or what was meant to be one.
type Element struct {
	// Index is its place in the array, and Position where in the document it begins.
	Index    int
	Position rule.Position
	// Dialect is whose form it has; Auto if that could not be told, and for a rule of Java's among isolation rules, which is refused.
	Dialect Dialect
	// ID is the id the element gives, as text; "" if it gives none, or one that an earlier rule of the same kind has.
	ID string
	// Resource is the resource's name or expression, as written; the API's name for API, "" for System.
	Resource string
	// Rules holds the native rule made of it (one at most, of one kind). It is empty if the element has a fault, or repeats another. A rule's ID is ID; without one
	// it is left empty, for Engine and rule.DeriveIDs to derive, unless a refused rule of the same document would be left
	// out of their count: then it is the id derived with that rule counted.
	//
	// A system rule of Java's is a native rule for each limit that it sets, each good or refused by itself. These and gateway rules have derived ids, whatever ID is.
	Rules cordon.Rules
	// Problems are its faults, which refuse it, and warnings.
	Problems rule.Problems

	// kind is the document's.
	kind Kind
	// node is the element as written, and members are its fields, those around a nested rule first.
	node    *rule.Node
	members []member
	// nested says that the rule is in an object under "rule".
	nested bool
	// native is the native kind that it is, or would be, a rule of.
	native string
	// match is the native rule's, and regex says that it is an expression.
	match rule.Match
	regex bool
	// parts are the native rules that it is, or would be if it were not refused: one, but for system rules of Java's. None if the element is no object.
	parts []part
	// lines is how many lines stand before the YAML document that it is in, from which positions count until the document is read.
	lines int
	// likeness is equal for rules of which Java takes only one; nil if it takes all.
	likeness any
}

// A part is a native rule that an element has, or would have if it were not refused.
type part struct {
	kind string
	// field is the key of the field that is the rule, where the element is several; "" if all of the element is.
	field string
	match rule.Match
	// id is the id that the element gives it, and ruleID the rule's, or the one it would have had; "" without a resource.
	id, ruleID string
	// made says that there is a rule.
	made bool
}

// A member is a field of an element.
type member struct {
	// key is the field's key as Sentinel spells it, or, where it knows none, as written; known tells which.
	key   key
	known bool
	// outer is a field beside a nested rule, not in it.
	outer bool
	field *rule.Field
}

// OK reports whether the element was understood: it has no fault.
func (e *Element) OK() bool {
	return !slices.ContainsFunc(e.Problems, func(p rule.Problem) bool { return !p.Warning })
}

// Unused returns the element's fields that its native rule does not say: cluster settings, what a dashboard keeps beside a rule, options of other modes, unknown
// keys. Document.Encode keeps them. For an element that was refused it is all of them.
func (e *Element) Unused() []rule.Field {
	object := encodeElement(e)
	var unused []rule.Field
	for _, m := range e.members {
		if !object.says(m.key.name) {
			unused = append(unused, *m.field)
		}
	}
	return unused
}

// Rules returns the native rules of all elements.
func (d *Document) Rules() cordon.Rules {
	var all cordon.Rules
	for i := range d.Elements {
		r := &d.Elements[i].Rules
		all.Flow = append(all.Flow, r.Flow...)
		all.Concurrency = append(all.Concurrency, r.Concurrency...)
		all.Breaker = append(all.Breaker, r.Breaker...)
		all.Param = append(all.Param, r.Param...)
		all.System = append(all.System, r.System...)
		all.Authority = append(all.Authority, r.Authority...)
		all.APIGroup = append(all.APIGroup, r.APIGroup...)
	}
	return all
}

// WithoutRefused returns the document without what was refused: elements with a fault, and limits with a fault among those that an element sets. Encode then writes
// only what is read without a fault.
func (d *Document) WithoutRefused() Document {
	good := *d
	good.Elements, good.Problems = nil, d.Problems.Warnings()
	for i := range d.Elements {
		if e := &d.Elements[i]; e.OK() || e.madeAny() {
			good.Elements = append(good.Elements, e.withoutRefused())
		}
	}
	return good
}

// withoutRefused returns the element without the fields that are refused rules by themselves.
func (e *Element) withoutRefused() Element {
	good := *e
	if e.OK() {
		return good
	}
	refused := func(f rule.Field) bool {
		return slices.ContainsFunc(e.parts, func(p part) bool { return !p.made && fold(p.field) == fold(f.Key) })
	}
	inner, node := *ruleNode(e.node), *e.node
	inner.Fields = slices.DeleteFunc(slices.Clone(inner.Fields), refused)
	if e.nested {
		node.Fields = slices.Clone(node.Fields)
		for i := range node.Fields {
			if &e.node.Fields[i].Value == ruleNode(e.node) {
				node.Fields[i].Value = inner
			}
		}
		node.Fields = slices.DeleteFunc(node.Fields, refused) // where the rule does not say it, what is beside it counts
	} else {
		node = inner
	}
	good.node = &node
	good.members = slices.DeleteFunc(slices.Clone(e.members), func(m member) bool { return refused(*m.field) })
	good.parts = slices.DeleteFunc(slices.Clone(e.parts), func(p part) bool { return !p.made })
	good.Problems = e.Problems.Warnings()
	return good
}

// newElement takes an array's element apart. Nothing is judged yet.
func (d *decoder) newElement(index int, n *rule.Node) Element {
	e := Element{Index: index, Position: n.Pos, kind: d.doc.Kind, node: n}
	inner := ruleNode(n)
	e.nested = inner != n
	e.members = make([]member, 0, len(n.Fields)+len(inner.Fields))
	if e.nested {
		for i := range n.Fields {
			if f := &n.Fields[i]; &f.Value != inner {
				e.members = append(e.members, d.newMember(f, true))
			}
		}
	}
	for i := range inner.Fields {
		e.members = append(e.members, d.newMember(&inner.Fields[i], false))
	}
	return e
}

func (d *decoder) newMember(f *rule.Field, outer bool) member {
	m, met := d.met[f.Key]
	if !met {
		m = d.keys.member(f.Key)
		d.met[f.Key] = m
	}
	m.field, m.outer = f, outer
	return m
}

// member is a member with this key, without a field yet.
func (t keyTable) member(written string) member {
	k, known := t[fold(written)]
	if !known {
		k = key{name: written}
	}
	return member{key: k, known: known}
}

// owned returns the first member whose key only one of the given owners has, or nil.
func (e *Element) owned(owners ...owner) *member {
	for i := range e.members {
		if m := &e.members[i]; m.known && slices.Contains(owners, m.key.owner) {
			return m
		}
	}
	return nil
}
