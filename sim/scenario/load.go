package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/sim"
)

// File is a scenario that was read from a document, ready to be run.
type File struct {
	// Document is what the document says.
	Document Document
	// Scenario is what it comes to, with the document's first seed.
	Scenario sim.Scenario
	// Seeds is how many times it is to be run, 1 or more: with Scenario.Seed, the next number and so on.
	Seeds int
	// Policies are what is to be tried out, at least one, each with a name of its own.
	Policies []sim.Policy
	// Warnings are what is in force as written, but probably not what was meant.
	Warnings rule.Problems

	rule *isolation.Rule // what cordon goes by; nil: the default
}

// defaultService is what a service is called that has no name.
const defaultService = "service"

// Load reads the scenario in the file at path, and the rules that it names, whose paths are relative to its folder. The error is
// rule.Problems, which names every fault with its position, or says that the file cannot be read.
func Load(path string) (*File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("scenario: %w", err)
	}
	return Parse(path, data, func(name string) ([]byte, error) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(filepath.Dir(path), name)
		}
		return os.ReadFile(name)
	})
}

// Parse reads a scenario in YAML or JSON, as Load does. The source is what messages call the document, and read reads the files of rules that it names; nil: there are
// none to be read.
func Parse(source string, data []byte, read func(name string) ([]byte, error)) (*File, error) {
	node, err := rule.Parse(data)
	if err != nil {
		return nil, problemsOf(source, err)
	}
	if read == nil {
		read = func(string) ([]byte, error) { return nil, errors.New("there are no files here") }
	}
	f := &faults{doc: spelledOut(node)}
	r := &reader{source: source, read: read, faults: f}
	file := new(File)
	f.list = rule.Decode(f.doc, &file.Document, "")
	if len(f.list) == 0 {
		if file.Document.Service == "" {
			file.Document.Service = defaultService
		}
		f.document(&file.Document)
	}
	if len(f.list) == 0 {
		file.Scenario = file.Document.build()
		r.build(file, node)
	}
	if len(f.list) > 0 {
		return nil, inOrder(f.list, source)
	}
	file.Warnings = r.warnings
	return file, nil
}

// inOrder names the document in its own problems, and puts them first, by position.
func inOrder(problems rule.Problems, source string) rule.Problems {
	var own, others rule.Problems
	for _, p := range problems {
		if p.Kind == "" {
			p.Index = -1
		}
		if p.Source = cmp.Or(p.Source, source); p.Source == source {
			own = append(own, p)
		} else {
			others = append(others, p)
		}
	}
	own.Sort()
	return append(own, others...)
}

// build adds rules and policies to the scenario.
func (r *reader) build(file *File, written *rule.Node) {
	d := &file.Document
	rules := r.rules("rules", written.Field("rules"), d.Rules)
	var resources []string
	for i := range file.Scenario.Clients {
		c := &file.Scenario.Clients[i]
		c.Guard = guard(rules)
		for _, l := range c.Loads {
			if name := cmp.Or(l.Resource, d.Service); !slices.Contains(resources, name) {
				resources = append(resources, name)
			}
		}
	}
	r.clientRules("rules", rules, resources)
	at := 0
	for i := range d.Instances {
		field := fmt.Sprintf("instances[%d].rules", i)
		own := r.rules(field, written.Field("instances").Items[i].Field("rules"), d.Instances[i].Rules)
		r.instanceRules(field, own)
		for range max(d.Instances[i].Count, 1) {
			file.Scenario.Instances[at].Guard = guard(own)
			at++
		}
	}
	if len(r.faults.list) == 0 { // else rules may be missing that policies name
		r.policies(file, rules.Isolation)
	}
}

// policies adds the policies, and those that clients have whatever is tried out.
func (r *reader) policies(file *File, rules []isolation.Rule) {
	d := &file.Document
	if found, _ := rule.NewIndex(rules).Match(d.Service); len(found) > 0 {
		file.rule = &found[0]
	}
	build := func(field string, p Policy) sim.Policy {
		return p.build(r.isolationRule(field, &p, file, rules))
	}
	at := 0
	for i := range d.Clients {
		var own sim.Policy
		if p := d.Clients[i].Policy; p.Kind != "" {
			own = build(fmt.Sprintf("clients[%d].policy", i), p)
		}
		for range max(d.Clients[i].Count, 1) {
			file.Scenario.Clients[at].Policy = own
			at++
		}
	}
	file.Seeds = max(d.Seeds, 1)
	if len(d.Policies) == 0 {
		d.Policies = []Policy{{Kind: Cordon}}
	}
	for i, p := range d.Policies {
		file.Policies = append(file.Policies, build(fmt.Sprintf("policies[%d]", i), p))
	}
}

// Compare adds a policy as it is when a document only names it, unless one that is called the same is there.
func (f *File) Compare(k Kind) {
	added := Policy{Kind: k}.build(f.rule)
	if !slices.ContainsFunc(f.Policies, func(p sim.Policy) bool { return p.String() == added.String() }) {
		f.Policies = append(f.Policies, added)
	}
}
