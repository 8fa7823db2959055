package cordon

import (
	"strconv"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

// nativeVersion is the version of the native document, its `cordon` key.
const nativeVersion = 1

// Native reads cordon's own document, YAML or JSON: an object with `cordon: 1` and a list of rules for each kind (see docs/rules.md). It is
// strict: unknown keys, wrong types and values out of range are faults, each with its line and column. A document with a fault is refused whole.
// The error, if it cannot be read at all, is a rule.Problem or rule.Problems.
func Native(source string, data []byte) (Decoded, error) {
	root, err := rule.Parse(data)
	if err != nil {
		return Decoded{}, fromSource(err, source)
	}
	if problems := nativeHead(root, source); len(problems) > 0 {
		return Decoded{}, problems
	}
	var d Decoded
	d.Rules.Flow = section[flow.Rule](&d, root, "flow", source)
	d.Rules.Concurrency = section[flow.ConcurrencyRule](&d, root, "concurrency", source)
	d.Rules.Breaker = section[breaker.Rule](&d, root, "breaker", source)
	return d, nil
}

// nativeHead checks that a document is one of ours, of a version we know, with keys we know.
func nativeHead(root *rule.Node, source string) rule.Problems {
	var problems rule.Problems
	fault := func(pos rule.Position, field, message, want string) {
		problems = append(problems, rule.Problem{Source: source, Position: pos, Index: -1, Field: field, Message: message, Want: want})
	}
	if root.Kind != rule.Object {
		fault(root.Pos, "", "the document is no object", "an object with `cordon: 1` and lists of rules; a Sentinel document is read by its own decoder")
		return problems
	}
	version := root.Field("cordon")
	switch {
	case version == nil:
		fault(root.Pos, "cordon", "the key that marks a cordon document is missing", "cordon: 1")
	case version.Kind != rule.Number || version.Text != strconv.Itoa(nativeVersion):
		fault(version.Pos, "cordon", "unknown version of the document: "+version.Text, "1")
	}
	for _, p := range rule.UnknownKeys(root, "cordon", "flow", "concurrency", "breaker") {
		p.Source = source
		problems = append(problems, p)
	}
	return problems
}

// section decodes one list of rules. Ids are given to good and bad rules together, so that a bad rule is known by the id its
// last good version has.
func section[R rule.Rule[R]](d *Decoded, root *rule.Node, kind, source string) []R {
	list := root.Field(kind)
	rules, bad, problems := rule.DecodeList[R](list, kind, source)
	for _, p := range rule.DeriveIDs(kind, rules) {
		p.Source, p.Position = source, list.Items[p.Index].Locate("id")
		bad[p.Index] = true
		problems = append(problems, p)
	}
	for i := range problems {
		if at := problems[i].Index; at >= 0 {
			problems[i].RuleID = rules[at].Meta().ID
		}
	}
	d.Problems = append(d.Problems, problems...)
	good := make([]R, 0, len(rules))
	for i, r := range rules {
		if !bad[i] {
			good = append(good, r)
		}
	}
	return good
}

// fromSource names the source in the problems of an error.
func fromSource(err error, source string) error {
	problems := problemsOf(err, source)
	for i := range problems {
		problems[i].Source = source
	}
	return problems
}

// EncodeNative writes rules as a native document in YAML, which Native reads back to the same rules.
func EncodeNative(rules Rules) ([]byte, error) {
	root, err := rule.Encode(rules)
	if err != nil {
		return nil, err
	}
	version := rule.Field{Key: "cordon", Value: rule.Node{Kind: rule.Number, Text: strconv.Itoa(nativeVersion)}}
	root.Fields = append([]rule.Field{version}, root.Fields...)
	return root.YAML(), nil
}
