package rulefile

import (
	"fmt"

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

// Write writes rules in a form: to one native document, or to as many Sentinel documents as the rules' kinds need, none if there is no rule. lost
// are the rules that belong in no document of the form.
func Write(rules cordon.Rules, format Format) (parts []Part, lost []sentinel.Loss, err error) {
	if format == Native {
		data, err := cordon.EncodeNative(rules)
		if err != nil {
			return nil, nil, err
		}
		return []Part{{Format: Native, Data: data}}, nil, nil
	}
	for _, kind := range kindsNeeded(rules, format) {
		data, losses, err := sentinel.Encode(dialectOf(format), kind, rules)
		if err != nil {
			return nil, nil, err
		}
		parts = append(parts, Part{Format: format, Kind: kind.String(), Data: data, Losses: losses})
	}
	for _, r := range rules.Isolation {
		lost = append(lost, sentinel.Loss{Kind: "isolation", RuleID: r.ID, Omitted: true,
			Reason: "Sentinel has no rules that take instances out of service (its isolation rules limit concurrency)"})
	}
	return parts, lost, nil
}

// kindsNeeded returns the kinds of Sentinel documents that the rules belong in. Java keeps concurrency limits among its flow rules.
func kindsNeeded(rules cordon.Rules, format Format) []sentinel.Kind {
	var kinds []sentinel.Kind
	if len(rules.Flow) > 0 || format == SentinelJava && len(rules.Concurrency) > 0 {
		kinds = append(kinds, sentinel.Flow)
	}
	if format == SentinelGo && len(rules.Concurrency) > 0 {
		kinds = append(kinds, sentinel.Isolation)
	}
	if len(rules.Breaker) > 0 {
		kinds = append(kinds, sentinel.Breaker)
	}
	if len(rules.Param) > 0 {
		kinds = append(kinds, sentinel.Param)
	}
	return kinds
}

func dialectOf(format Format) sentinel.Dialect {
	if format == SentinelJava {
		return sentinel.Java
	}
	return sentinel.Go
}
