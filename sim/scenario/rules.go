package scenario

import (
	"errors"
	"fmt"
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
	written  *rule.Node // as it is written, with the rules that stand in it
	read     func(name string) ([]byte, error)
	faults   *faults
	warnings rule.Problems
}

// rules returns the rules at a path, which stand in the document or in files.
func (r *reader) rules(field string, node *rule.Node, files []RuleFile) cordon.Rules {
	if inline(node) {
		decoded, err := cordon.NativeWithin(r.source, node)
		return r.take(decoded, err, node)
	}
	var all cordon.Rules
	for i := range files {
		one := r.file(fmt.Sprintf("%s[%d]", field, i), &files[i])
		all.Flow = append(all.Flow, one.Flow...)
		all.Concurrency = append(all.Concurrency, one.Concurrency...)
		all.Breaker = append(all.Breaker, one.Breaker...)
		all.Isolation = append(all.Isolation, one.Isolation...)
	}
	r.twice(field, len(files), all)
	return all
}

// file returns the rules of a file.
func (r *reader) file(field string, f *RuleFile) cordon.Rules {
	if f.File == "" {
		r.faults.add(field+".file", "is missing", "the path of a rule document")
		return cordon.Rules{}
	}
	var kind sentinel.Kind
	if f.Sentinel != "" {
		if err := kind.UnmarshalText([]byte(f.Sentinel)); err != nil || !kind.Supported() {
			r.faults.add(field+".sentinel", fmt.Sprintf("%q is no kind of rules that can be read", f.Sentinel), "flow, breaker or isolation")
			return cordon.Rules{}
		}
	}
	data, err := r.read(f.File)
	if err != nil {
		r.faults.add(field+".file", "cannot be read: "+err.Error(), "the path of a rule document, relative to the scenario's folder")
		return cordon.Rules{}
	}
	if f.Sentinel != "" {
		decoded, err := sentinel.Decoder(kind)(f.File, data)
		return r.take(decoded, err, nil)
	}
	decoded, err := cordon.Native(f.File, data)
	return r.take(decoded, err, nil)
}

// take keeps what a decoder said, and returns the rules. The node is where the rules stand in the document; nil: in a file.
func (r *reader) take(decoded cordon.Decoded, err error, node *rule.Node) cordon.Rules {
	if err != nil {
		r.faults.list = append(r.faults.list, problemsOf(err)...)
		return cordon.Rules{}
	}
	r.faults.list = append(r.faults.list, decoded.Problems.Faults()...)
	r.warnings = append(r.warnings, decoded.Problems.Warnings()...)
	if len(decoded.Problems.Faults()) > 0 {
		return cordon.Rules{}
	}
	for i := range decoded.Rules.Flow {
		if rl := &decoded.Rules.Flow[i]; rl.Memory.HighLimit > 0 {
			p := rule.Problem{
				Source: decoded.Source(r.source, node), Kind: "flow", Index: i, RuleID: rl.ID, Field: "memory",
				Message: "goes by the memory of the process that simulates", Want: "a limit",
			}
			if node != nil {
				p.Position = node.Locate(fmt.Sprintf("flow[%d].memory", i))
			}
			r.faults.list = append(r.faults.list, p)
		}
	}
	return decoded.Rules
}
