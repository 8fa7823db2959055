package sentinel

import (
	"github.com/cordon-go/cordon/rule"
)

// The native kinds, as rule documents and problems call them.
const (
	kindFlow        = "flow"
	kindConcurrency = "concurrency"
	kindBreaker     = "breaker"
	kindParam       = "param"
)

// nativeKinds are the kinds of rules that documents hold.
var nativeKinds = []string{kindFlow, kindConcurrency, kindBreaker, kindParam}

// nativeKind is the native kind of a document's rules, as far as the document's kind tells.
func nativeKind(k Kind) string {
	switch k {
	case Breaker:
		return kindBreaker
	case Isolation:
		return kindConcurrency
	case Param:
		return kindParam
	default:
		return kindFlow
	}
}

// place is what identifies a rule, good or refused, of any kind: enough for rule.DeriveIDs.
type place struct {
	id    string
	match rule.Match
}

var _ rule.Rule[place] = place{}

func (p place) Meta() rule.Meta          { return rule.Meta{ID: p.id, Resource: p.match} }
func (p place) WithID(id string) place   { return place{id, p.match} }
func (p place) Equal(o place) bool       { return p == o }
func (p place) Problems() []rule.Problem { return nil }

// identify gives every problem the native kind and the id of its rule. Ids are derived over good and refused rules together, so that a rule that turns
// bad is still the same rule and its last good version can stay.
func (d *decoder) identify() {
	for _, kind := range nativeKinds {
		d.identifyKind(kind)
	}
	for i := range d.doc.Elements {
		e := &d.doc.Elements[i]
		for j := range e.Problems {
			e.Problems[j].Kind, e.Problems[j].RuleID = e.native, e.ruleID
		}
	}
}

func (d *decoder) identifyKind(kind string) {
	var (
		elements []*Element
		places   []place
		refused  bool
		given    = make(map[string]int)
	)
	for i := range d.doc.Elements {
		e := &d.doc.Elements[i]
		ok := e.OK()
		if e.native != kind || ok && e.empty() || e.ID == "" && e.Resource == "" {
			continue
		}
		if e.ID != "" {
			first, twice := given[e.ID]
			if twice {
				d.giveUpID(e, first)
			} else {
				given[e.ID] = i
			}
		}
		refused = refused || !ok
		elements = append(elements, e)
		places = append(places, place{e.ID, e.match})
	}
	rule.DeriveIDs(kind, places)
	for i, e := range elements {
		e.ruleID = places[i].id
		if refused {
			e.setID(e.ruleID)
		}
	}
}

// giveUpID takes an id away that an earlier rule has: to Sentinel ids mean nothing, but cordon knows rules by them.
func (d *decoder) giveUpID(e *Element, first int) {
	d.reader(e).warn("id", "each id once", "element %d has the id %q too; here it is not used", first, e.ID)
	e.ID = ""
	e.setID("")
}

// empty reports whether no native rule was made of the element.
func (e *Element) empty() bool {
	return len(e.Rules.Flow)+len(e.Rules.Concurrency)+len(e.Rules.Breaker)+len(e.Rules.Param) == 0
}

// setID sets the id of the native rule, if there is one.
func (e *Element) setID(id string) {
	for i := range e.Rules.Flow {
		e.Rules.Flow[i].ID = id
	}
	for i := range e.Rules.Concurrency {
		e.Rules.Concurrency[i].ID = id
	}
	for i := range e.Rules.Breaker {
		e.Rules.Breaker[i].ID = id
	}
	for i := range e.Rules.Param {
		e.Rules.Param[i].ID = id
	}
}
