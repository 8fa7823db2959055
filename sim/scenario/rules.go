package scenario

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sentinel"
	"github.com/cordon-go/cordon/sim"
)

// reader reads the rules of a document.
type reader struct {
	source   string
	read     func(name string) ([]byte, error)
	faults   *faults
	warnings rule.Problems
}

// rules returns the rules of a field, which stand in the document or in files.
func (r *reader) rules(field string, node *rule.Node, files []RuleFile) cordon.Rules {
	if inline(node) {
		decoded, err := cordon.NativeWithin(r.source, node)
		return r.take(r.source, node, decoded, err)
	}
	var all cordon.Rules
	for i := range files {
		appendRules(&all, r.file(fmt.Sprintf("%s[%d]", field, i), &files[i]))
	}
	if len(files) > 1 {
		r.once(field, rule.DeriveIDs("flow", all.Flow))
		r.once(field, rule.DeriveIDs("concurrency", all.Concurrency))
		r.once(field, rule.DeriveIDs("breaker", all.Breaker))
		r.once(field, rule.DeriveIDs("isolation", all.Isolation))
		r.once(field, rule.DeriveIDs("authority", all.Authority))
	}
	return all
}

// appendRules adds rules of all kinds, whichever there are.
func appendRules(all *cordon.Rules, more cordon.Rules) {
	to, from := reflect.ValueOf(all).Elem(), reflect.ValueOf(more)
	for i := range to.NumField() {
		to.Field(i).Set(reflect.AppendSlice(to.Field(i), from.Field(i)))
	}
}

// once adds the faults of ids that several files have.
func (r *reader) once(field string, problems rule.Problems) {
	for _, p := range problems {
		r.faults.add(field, fmt.Sprintf("several files have the %s rule %q", p.Kind, p.RuleID), "each id once within its kind, and rules with an id")
	}
}

// file returns the rules of a file.
func (r *reader) file(field string, f *RuleFile) cordon.Rules {
	if f.File == "" {
		r.faults.add(field+".file", "is missing", "the path of a rule document")
		return cordon.Rules{}
	}
	decode := cordon.Decoder(cordon.Native)
	if f.Sentinel != "" {
		var kind sentinel.Kind
		if err := kind.UnmarshalText([]byte(f.Sentinel)); err != nil || !kind.Supported() {
			r.faults.add(field+".sentinel", fmt.Sprintf("%q is no kind of rules that can be read", f.Sentinel), "flow, breaker, isolation or authority")
			return cordon.Rules{}
		}
		decode = sentinel.Decoder(kind)
	}
	data, err := r.read(f.File)
	if err != nil {
		r.faults.add(field+".file", "cannot be read: "+err.Error(), "the path of a rule document, relative to the scenario's folder")
		return cordon.Rules{}
	}
	decoded, err := decode(f.File, data)
	return r.take(f.File, nil, decoded, err)
}

// take keeps what a decoder said, and returns the rules, none if there is a fault. The node is where they stand in the document; nil: in a file.
func (r *reader) take(source string, node *rule.Node, decoded cordon.Decoded, err error) cordon.Rules {
	if err != nil {
		r.faults.list = append(r.faults.list, problemsOf(source, err)...)
		return cordon.Rules{}
	}
	r.warnings = append(r.warnings, decoded.Problems.Warnings()...)
	faults := decoded.Problems.Faults()
	for i, f := range decoded.Rules.Flow {
		if len(faults) == 0 && f.Memory.HighLimit > 0 {
			r.faults.list = append(r.faults.list, rule.Problem{
				Source: source, Position: node.Locate(fmt.Sprintf("flow[%d].memory", i)), Kind: "flow", Index: i, RuleID: f.ID, Field: "memory",
				Message: "goes by the memory of whatever process simulates it", Want: "a limit",
			})
		}
	}
	if len(faults) > 0 {
		r.faults.list = append(r.faults.list, faults...)
		return cordon.Rules{}
	}
	return r.simulated(source, node, decoded.Rules)
}

// simulated leaves out the rules that look at what simulated calls and clients do not have, and warns of them.
func (r *reader) simulated(source string, node *rule.Node, rules cordon.Rules) cordon.Rules {
	leaveOut := func(kind string, n int, why, want string) {
		if n > 0 {
			r.warnings = append(r.warnings, rule.Problem{
				Source: source, Position: node.Locate(kind), Kind: kind, Index: -1, Warning: true, Message: "are left out, for " + why, Want: want,
			})
		}
	}
	leaveOut("param", len(rules.Param), "simulated calls carry no values", "limits by rate or concurrency")
	leaveOut("system", len(rules.System), "what is simulated shares the machine of whatever simulates it", "limits by rate or concurrency")
	leaveOut("apiGroup", len(rules.APIGroup), "simulated calls have no paths", "limits of what is called here")
	rules.Param, rules.System, rules.APIGroup = nil, nil, nil
	return rules
}

// problemsOf returns what is wrong with a document that cannot be read.
func problemsOf(source string, err error) rule.Problems {
	var list rule.Problems
	var one rule.Problem
	switch {
	case errors.As(err, &list):
	case errors.As(err, &one):
		list = rule.Problems{one}
	default:
		list = rule.Problems{{Message: err.Error(), Index: -1}}
	}
	for i := range list {
		if list[i].Source == "" {
			list[i].Source = source
		}
	}
	return list
}

// guard returns the guard with the rules that are not about isolation, nil if there are none.
func guard(rules cordon.Rules) *sim.Guard {
	rules.Isolation = nil
	for _, list := range reflect.ValueOf(rules).Fields() {
		if list.Len() > 0 {
			return &sim.Guard{Rules: rules}
		}
	}
	return nil
}

// clientRules checks what an engine of a client can have.
func (r *reader) clientRules(field string, rules cordon.Rules, resources []string) {
	lines := 0
	for _, c := range rules.Concurrency {
		if c.MaxWait > 0 && !c.Shadow {
			lines++
		}
	}
	if lines > 1 {
		r.faults.add(field, fmt.Sprintf("have %d concurrency rules with maxWait", lines), "at most one, since it would be left to chance whose line moves first")
	}
	if guard(rules) != nil && !concern(rules.Flow, resources) && !concern(rules.Concurrency, resources) && !concern(rules.Breaker, resources) && !concern(rules.Authority, resources) {
		r.warnings = append(r.warnings, rule.Problem{
			Source: r.source, Position: r.faults.doc.Locate(field), Index: -1, Field: field, Warning: true,
			Message: "none of the rules is about what is called here: " + strings.Join(resources, ", "), Want: "rules for these, or loads that name their resource",
		})
	}
}

// concern reports whether one of the rules is for one of the resources.
func concern[R rule.Rule[R]](rules []R, resources []string) bool {
	index := rule.NewIndex(rules)
	return slices.ContainsFunc(resources, func(name string) bool {
		found, _ := index.Match(name)
		return len(found) > 0
	})
}

// instanceRules checks what an engine of an instance can have.
func (r *reader) instanceRules(field string, rules cordon.Rules) {
	if len(rules.Isolation) > 0 {
		r.faults.add(field, "have isolation rules", "these among the clients' rules: it is for those who call to isolate")
	}
	waits := false
	for _, f := range rules.Flow {
		waits = waits || f.MaxWait > 0 && !f.Shadow
	}
	for _, c := range rules.Concurrency {
		waits = waits || c.MaxWait > 0 && !c.Shadow
	}
	if waits {
		r.faults.add(field, "make calls wait", "rules without maxWait: an instance's own line is its workers and queue")
	}
}

// isolationRule returns the rule that a policy goes by, nil for the default one.
func (r *reader) isolationRule(field string, p *Policy, file *File, rules []isolation.Rule) *isolation.Rule {
	switch {
	case p.Kind != Cordon:
		return nil
	case p.Preset != nil:
		return &isolation.Rule{Preset: *p.Preset}
	case p.Rule == "":
		if file.rule == nil && len(rules) > 0 {
			r.faults.add("rules", fmt.Sprintf("none of the isolation rules is for the service %q", file.Document.Service), "one that is, or the name of a service that they are for")
		}
		return file.rule
	}
	known := make([]string, len(rules))
	for i := range rules {
		if rules[i].ID == p.Rule {
			return &rules[i]
		}
		known[i] = rules[i].ID
	}
	want := "one of " + strings.Join(known, ", ")
	if len(known) == 0 {
		want = "one among the rules"
	}
	r.faults.add(field+".rule", fmt.Sprintf("there is no isolation rule %q", p.Rule), want)
	return nil
}
