package rulefile

import (
	"fmt"
	"slices"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/sentinel"
)

// Formats lists the formats that can be written, for help texts.
func Formats() string { return "native, sentinel-java or sentinel-go" }

// ParseFormat returns the format of that name.
func ParseFormat(name string) (Format, error) {
	switch f := Format(name); f {
	case Native, SentinelJava, SentinelGo:
		return f, nil
	}
	return "", fmt.Errorf("no format %q; want %s", name, Formats())
}

// A Part is one document that rules were written to.
type Part struct {
	// Format is its form, Kind what a Sentinel document is about; "" for a native one, which holds rules of all kinds.
	Format Format
	Kind   string
	Data   []byte
	// Losses are what the form cannot say of the rules that belong in the document.
	Losses []sentinel.Loss
}

// FileName is a name that tells what is in the document.
func (p Part) FileName() string {
	if p.Kind == "" {
		return "rules.yaml"
	}
	return p.Kind + ".json"
}

// Write writes the good rules in a form: to one native document, or to as many Sentinel documents as the rules' kinds need, none if there is no rule. With gateway, Java's limits are written for its gateway
// adapters instead of its services. A document of the same form and kind as the one that was read keeps all that stands there beside the rules. lost are the rules that belong in no document of the form, and what the
// document that was read says beside its rules and no other form keeps.
func (d *Document) Write(format Format, gateway bool) (parts []Part, lost []sentinel.Loss, err error) {
	if format == Native {
		data, err := cordon.EncodeNative(withoutEmpty(d.Rules))
		if err != nil {
			return nil, nil, err
		}
		return []Part{{Format: Native, Data: data}}, d.leftBehind(nil), nil
	}
	var kept []*sentinel.Document
	for _, kind := range kindsNeeded(d.Rules, format, gateway) {
		encode := func() ([]byte, []sentinel.Loss, error) { return sentinel.Encode(dialectOf(format), kind, d.Rules) }
		for i := range d.read {
			if read := &d.read[i]; read.Kind == kind && read.Dialect == dialectOf(format) {
				good := read.WithoutRefused()
				encode = func() ([]byte, []sentinel.Loss, error) { return good.Encode(d.Rules) }
				kept = append(kept, read)
			}
		}
		data, losses, err := encode()
		if err != nil {
			return nil, nil, err
		}
		parts = append(parts, Part{Format: format, Kind: kind.String(), Data: data, Losses: losses})
	}
	lost = d.leftBehind(kept)
	lose := func(kind, id, reason string) {
		lost = append(lost, sentinel.Loss{Kind: kind, RuleID: id, Omitted: true, Reason: reason})
	}
	for _, r := range d.Rules.Isolation {
		lose("isolation", r.ID, "Sentinel has no rules that take instances out of service (its isolation rules limit concurrency)")
	}
	if format == SentinelGo {
		for _, r := range d.Rules.Authority {
			lose("authority", r.ID, "sentinel-golang has no rules by origin")
		}
		for _, g := range d.Rules.APIGroup {
			lose("apiGroup", g.ID, "sentinel-golang has no groups of paths")
		}
	}
	return parts, lost, nil
}

// leftBehind returns what the documents say that were read, but for those that are kept, and the rules do not.
func (d *Document) leftBehind(kept []*sentinel.Document) []sentinel.Loss {
	var lost []sentinel.Loss
	for i := range d.read {
		if read := &d.read[i]; !slices.Contains(kept, read) {
			lost = append(lost, read.Losses()...)
		}
	}
	return lost
}

// withoutEmpty returns the rules without the lists that hold none, which would be written as empty ones.
func withoutEmpty(rules cordon.Rules) cordon.Rules {
	var r cordon.Rules
	add(&r, rules) // nothing added to nothing is no list
	return r
}

// kindsNeeded returns the kinds of Sentinel documents that the rules belong in. Java keeps concurrency limits among its flow rules, and all limits of a gateway in one document.
func kindsNeeded(rules cordon.Rules, format Format, gateway bool) []sentinel.Kind {
	var kinds []sentinel.Kind
	need := func(kind sentinel.Kind, rules int) {
		if rules > 0 {
			kinds = append(kinds, kind)
		}
	}
	flow, concurrency, param := len(rules.Flow), len(rules.Concurrency), len(rules.Param)
	java := format == SentinelJava
	switch {
	case java && gateway:
		need(sentinel.Gateway, flow+concurrency+param)
		param = 0
	case java:
		need(sentinel.Flow, flow+concurrency)
	default:
		need(sentinel.Flow, flow)
		need(sentinel.Isolation, concurrency)
	}
	need(sentinel.Breaker, len(rules.Breaker))
	need(sentinel.Param, param)
	need(sentinel.System, len(rules.System))
	if java {
		need(sentinel.Authority, len(rules.Authority))
		need(sentinel.API, len(rules.APIGroup))
	}
	return kinds
}

func dialectOf(format Format) sentinel.Dialect {
	if format == SentinelJava {
		return sentinel.Java
	}
	return sentinel.Go
}
