package cordon

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cordon-go/cordon/apigroup"
	"github.com/cordon-go/cordon/authority"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/system"
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
	return nativeSections(root, source), nil
}

// NativeWithin reads rules that stand within a document of another kind: an object like a native document, which may leave out `cordon: 1`. The
// problems have the positions of the node, which stays as it is.
func NativeWithin(source string, root *rule.Node) (Decoded, error) {
	if root.Kind != rule.Object || root.Field("cordon") != nil {
		if problems := nativeHead(root, source); len(problems) > 0 {
			return Decoded{}, problems
		}
	} else if problems := unknownSections(root, source); len(problems) > 0 {
		return Decoded{}, problems
	}
	return nativeSections(root, source), nil
}

// nativeSections reads the lists of rules.
func nativeSections(root *rule.Node, source string) Decoded {
	var d Decoded
	d.Rules.Flow = section[flow.Rule](&d, root, "flow", source)
	d.Rules.Concurrency = section[flow.ConcurrencyRule](&d, root, "concurrency", source)
	d.Rules.Breaker = section[breaker.Rule](&d, root, "breaker", source)
	d.Rules.Isolation = section[isolation.Rule](&d, root, "isolation", source)
	d.Rules.Param = section[paramflow.Rule](&d, root, "param", source)
	d.Rules.System = section[system.Rule](&d, root, "system", source)
	d.Rules.Authority = section[authority.Rule](&d, root, "authority", source)
	d.Rules.APIGroup = section[apigroup.Group](&d, root, "apiGroup", source)
	return d
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
	return append(problems, unknownSections(root, source)...)
}

// unknownSections names the keys that no native document has.
func unknownSections(root *rule.Node, source string) rule.Problems {
	problems := rule.Problems(rule.UnknownKeys(root, "cordon", "flow", "concurrency", "breaker", "isolation", "param", "system", "authority", "apiGroup"))
	for i := range problems {
		problems[i].Source = source
	}
	return problems
}

// section decodes one list of rules. Ids are given to good and bad rules together, so that a bad rule is known by the id its
// last good version has.
func section[R rule.Rule[R]](d *Decoded, root *rule.Node, kind, source string) []R {
	list := root.Field(kind)
	rules, bad, problems := rule.DecodeList[R](list, kind, source)
	never := neverZero(kind)
	for i := range rules {
		for _, p := range unsaid(&list.Items[i], kind, never, bad[i]) {
			p.Source, p.Kind, p.Index = source, kind, i
			bad[i] = true
			problems = append(problems, p)
		}
	}
	if kind == "param" {
		for i := range rules {
			r := any(rules[i]).(paramflow.Rule)
			for _, p := range append(memoryWarning(r), pathFaults(r)...) {
				p.Source, p.Position, p.Kind, p.Index = source, list.Items[i].Locate(p.Field), kind, i
				bad[i] = bad[i] || !p.Warning
				problems = append(problems, p)
			}
		}
	}
	problems.Sort()
	unknown := make([]bool, len(rules))
	for i := range rules {
		unknown[i] = bad[i] && nameless(&list.Items[i], kind, rules[i].Meta().ID, i, problems)
	}
	for _, p := range rule.DeriveIDs(kind, rules) {
		p.Source, p.Position = source, list.Items[p.Index].Locate("id")
		bad[p.Index] = true
		problems = append(problems, p)
	}
	for i := range problems {
		if at := problems[i].Index; at >= 0 && !unknown[at] {
			meta := rules[at].Meta()
			problems[i].RuleID, problems[i].Resource = meta.ID, meta.Resource
		}
	}
	if kind == "isolation" {
		for _, p := range overridden(rules) {
			if bad[p.Index] {
				continue // that comes first
			}
			p.Source, p.Position = source, list.Items[p.Index].Locate("service")
			problems = append(problems, p)
		}
	}
	if kind == "param" {
		d.paramAt = make(map[string]rule.Position, len(rules))
		for i := range rules {
			d.paramAt[rules[i].Meta().ID] = list.Items[i].Locate("param")
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

// nameless reports whether nobody can tell which rule a bad one was meant to be: it has no id, and what would give it one is what is wrong, or missing.
func nameless(item *rule.Node, kind, id string, i int, problems rule.Problems) bool {
	if id != "" {
		return false
	}
	name := map[string]string{"isolation": "service", "system": "metric", "apiGroup": "name"}[kind]
	if name == "" {
		name = "resource"
	}
	return item.Kind != rule.Object || item.Field(name) == nil || slices.ContainsFunc(problems, func(p rule.Problem) bool {
		field, _, _ := strings.Cut(p.Field, ".")
		return p.Index == i && !p.Warning && field == name
	})
}

// unsaid returns what a written rule leaves to chance though a struct may not: a limit that is not given, which as a struct's zero
// would refuse all (unless the rule is bad anyhow: the key may be there, misspelt), and a 0 that is out of its field's range (never names those
// fields), which as a struct's zero would be the default.
func unsaid(item *rule.Node, kind string, never []string, bad bool) rule.Problems {
	var problems rule.Problems
	if !bad && lacksLimit(item, kind) {
		problems = append(problems, rule.Problem{Position: item.Pos, Field: "limit", Message: "is missing", Want: "a limit; 0 to refuse all calls"})
	}
	problems = append(problems, zeros(item, "", never)...)
	if kind != "param" || item.Field("overrides") == nil {
		return problems
	}
	overrides := item.Field("overrides").Items
	for i := range overrides {
		at := "overrides[" + strconv.Itoa(i) + "]."
		if o := &overrides[i]; !bad && lacksLimit(o, kind) {
			problems = append(problems, rule.Problem{Position: o.Pos, Field: at + "limit", Message: "is missing", Want: "a limit; 0 to refuse all calls"})
		}
		problems = append(problems, zeros(&overrides[i], at, []string{"burst"})...)
	}
	return problems
}

// zeros returns the fields of an object, which stands at a path, that are 0 and must not be.
func zeros(object *rule.Node, at string, never []string) (problems rule.Problems) {
	for _, key := range never {
		if v := object.Field(key); v != nil && (v.Kind == rule.Number || v.Kind == rule.String) && zero(v.Text) {
			problems = append(problems, rule.Problem{
				Position: v.Pos, Field: at + key, Message: "0 is out of range", Want: "more, or no such field for the default",
			})
		}
	}
	return problems
}

// lacksLimit reports whether a rule that needs a limit has none written.
func lacksLimit(item *rule.Node, kind string) bool {
	if item.Kind != rule.Object || item.Field("limit") != nil || item.Field("memory") != nil {
		return false
	}
	switch kind {
	case "flow", "concurrency", "param":
		return true
	case "system":
		metric := item.Field("metric")
		return metric == nil || metric.Text != system.ResponseTime.String()
	}
	return false
}

// neverZero returns the keys of a kind that are to be left out for their default, and never 0.
func neverZero(kind string) []string {
	switch kind {
	case "flow":
		return []string{"per", "burst", "warmUp", "coldFactor"}
	case "concurrency":
		return []string{"queue"}
	case "breaker":
		return []string{"slowerThan", "window", "buckets", "minCalls", "open", "probes", "successes", "probeLease"}
	case "param":
		return []string{"per", "burst", "maxQueue", "values"}
	case "system":
		return []string{"slowerThan"}
	case "authority", "apiGroup":
		return nil
	}
	return numbers(reflect.TypeFor[isolation.Rule]()) // whose zeros all mean the preset's value
}

// numbers returns the keys of a struct's numbers and durations.
func numbers(t reflect.Type) []string {
	var keys []string
	for i := range t.NumField() {
		f := t.Field(i)
		key, tagged := f.Tag.Lookup("rule")
		switch f.Type.Kind() {
		case reflect.Int, reflect.Int64, reflect.Float64:
			if tagged {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// zero reports whether a number or a duration is 0, however it is written.
func zero(text string) bool {
	if d, err := time.ParseDuration(text); err == nil {
		return d == 0
	}
	f, err := strconv.ParseFloat(text, 64)
	return err == nil && f == 0
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
	root, err := encodeRules(rules)
	if err != nil {
		return nil, err
	}
	if len(root.Fields) == 1 { // which would be written in braces, and be taken for JSON
		return []byte("cordon: " + strconv.Itoa(nativeVersion) + "\n"), nil
	}
	return root.YAML(), nil
}

// encodeRules makes a native document of rules.
func encodeRules(rules Rules) (*rule.Node, error) {
	root, err := rule.Encode(rules)
	if err != nil {
		return nil, err
	}
	for i := range root.Fields {
		for j := range root.Fields[i].Value.Items {
			item, kind := &root.Fields[i].Value.Items[j], root.Fields[i].Key
			writeLimit(item, kind)
			if overrides := item.Field("overrides"); overrides != nil {
				for k := range overrides.Items {
					writeLimit(&overrides.Items[k], kind)
				}
			}
		}
	}
	version := rule.Field{Key: "cordon", Value: rule.Node{Kind: rule.Number, Text: strconv.Itoa(nativeVersion)}}
	root.Fields = append([]rule.Field{version}, root.Fields...)
	return root, nil
}

// writeLimit writes a limit of 0 too.
func writeLimit(item *rule.Node, kind string) {
	if lacksLimit(item, kind) {
		item.Fields = append(item.Fields, rule.Field{Key: "limit", Value: rule.Node{Kind: rule.Number, Text: "0"}})
	}
}
