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
	kindSystem      = "system"
	kindAuthority   = "authority"
	kindAPIGroup    = "apiGroup"
)

// nativeKinds are the kinds of rules that documents hold.
var nativeKinds = []string{kindFlow, kindConcurrency, kindBreaker, kindParam, kindSystem, kindAuthority, kindAPIGroup}

// nativeKind is the native kind of a document's rules, as far as the document's kind tells.
func nativeKind(k Kind) string {
	switch k {
	case Breaker:
		return kindBreaker
	case Isolation:
		return kindConcurrency
	case Param:
		return kindParam
	case System:
		return kindSystem
	case Authority:
		return kindAuthority
	case API:
		return kindAPIGroup
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
			p := &e.Problems[j]
			p.Kind = e.native
			if of := e.partOf(p.Field); of != nil {
				p.Kind, p.RuleID, p.Resource = of.kind, of.ruleID, of.match
			}
		}
	}
}

// partOf returns the part that a field belongs to, nil if it belongs to none in particular.
func (e *Element) partOf(field string) *part {
	for i := range e.parts {
		if p := &e.parts[i]; p.field == field || p.field == "" {
			return p
		}
	}
	return nil
}

func (d *decoder) identifyKind(kind string) {
	type owned struct {
		e *Element
		n int // of the part
	}
	var (
		owners  []owned
		places  []place
		refused bool
		given   = make(map[string]int)
	)
	for i := range d.doc.Elements {
		e := &d.doc.Elements[i]
		ok := e.OK()
		for n := range e.parts {
			p := &e.parts[n]
			if p.kind != kind || ok && !p.made || p.id == "" && p.match == rule.Name("") {
				continue
			}
			if p.id != "" {
				first, twice := given[p.id]
				if twice {
					d.giveUpID(e, p, first)
				} else {
					given[p.id] = i
				}
			}
			refused = refused || !p.made
			owners = append(owners, owned{e, n})
			places = append(places, place{p.id, p.match})
		}
	}
	rule.DeriveIDs(kind, places)
	for i, o := range owners {
		p := &o.e.parts[o.n]
		p.ruleID = places[i].id
		if refused && p.made {
			o.e.setID(o.n, p.ruleID)
		}
	}
}

// giveUpID takes an id away that an earlier rule has: to Sentinel ids mean nothing, but cordon knows rules by them.
func (d *decoder) giveUpID(e *Element, p *part, first int) {
	d.reader(e).warn("id", "each id once", "element %d has the id %q too; here it is not used", first, e.ID)
	e.ID, p.id = "", ""
	if p.made {
		e.setID(0, "") // only elements of one part give their rule an id
	}
}

// setID sets the id of the native rule of a part, which there is.
func (e *Element) setID(n int, id string) {
	r := &e.Rules
	switch e.parts[n].kind {
	case kindFlow:
		r.Flow[0].ID = id
	case kindConcurrency:
		r.Concurrency[0].ID = id
	case kindBreaker:
		r.Breaker[0].ID = id
	case kindParam:
		r.Param[0].ID = id
	case kindAuthority:
		r.Authority[0].ID = id
	case kindAPIGroup:
		r.APIGroup[0].ID = id
	case kindSystem:
		r.System[e.made(n)].ID = id
	}
}

// made returns how many rules were made of the parts before one.
func (e *Element) made(n int) int {
	count := 0
	for _, p := range e.parts[:n] {
		if p.made {
			count++
		}
	}
	return count
}
