package rule

import (
	"reflect"
	"slices"
	"strings"
)

// DecodeList decodes each item of a list node into a value of kind R (a struct), and checks it with its Problems.
// rules and bad have one element per item; bad[i] tells whether item i had a fault; problems carry source, kind, index, id, and the position of the field they name
// (of the item, if they name none that is written), and come by position. A nil node gives nothing. A node that is no list gives one fault.
//
// Of an item that did not decode, only such checks are reported as do not just follow from that: none of a field that did not decode, none of a missing
// field when there is an unknown one, and none at all when a type with UnmarshalText failed, as that may be what says how to read the rest.
func DecodeList[R Rule[R]](n *Node, kind, source string) (rules []R, bad []bool, problems Problems) {
	if n == nil {
		return nil, nil, nil
	}
	d := newDecoder()
	d.about = Problem{Source: source, Kind: kind, Index: -1}
	if n.Kind != List {
		d.wrong(n, "a list of rules; [] for none")
		return nil, nil, d.done()
	}
	rules, bad = make([]R, len(n.Items)), make([]bool, len(n.Items))
	c := d.codec(reflect.TypeFor[R]())
	for i := range n.Items {
		item := &n.Items[i]
		d.about.Index = i
		listed, before := len(d.problems), d.faults
		d.textFailed = false
		c(d, item, reflect.ValueOf(&rules[i]).Elem())
		d.check(item, rules[i].Problems(), d.problems[listed:])
		bad[i] = d.faults > before
		meta := rules[i].Meta()
		for j := listed; j < len(d.problems); j++ {
			d.problems[j].RuleID, d.problems[j].Resource = meta.ID, meta.Resource
		}
	}
	return rules, bad, d.done()
}

// check adds what a rule says is wrong with it, unless that follows from the faults that decoding found.
func (d *decoder) check(item *Node, found []Problem, faults Problems) {
	for _, p := range found {
		if d.follows(p.Field, item, faults) {
			continue
		}
		if !p.Warning {
			d.faults++
		}
		if len(d.problems) >= maxProblems {
			continue
		}
		p.Source, p.Kind, p.Index, p.Position = d.about.Source, d.about.Kind, d.about.Index, item.Locate(p.Field)
		d.problems = append(d.problems, p)
	}
}

// follows reports whether a check of a field may have failed only because of the faults that decoding found.
func (d *decoder) follows(field string, item *Node, faults Problems) bool {
	if len(faults) == 0 {
		return false
	}
	if d.textFailed || field == "" || item.Kind != Object {
		return true
	}
	key, _, _ := cutPath(field)
	unwritten := item.Field(key) == nil
	return slices.ContainsFunc(faults, func(p Problem) bool {
		if p.Field == "" {
			return unwritten // an unknown field: it may have been meant for this one
		}
		rest, inside := strings.CutPrefix(p.Field, field)
		return inside && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}
