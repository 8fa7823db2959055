package cordon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

// paramPath is a compiled path of one rule, or of a Namer.
type paramPath struct {
	path *extractor.Path
	// own tells that extractors of one's own are in it. They see the call, so they get one that nobody else will.
	own bool
}

// compilePath compiles a path with the engine's options.
func (e *Engine) compilePath(path string) (*paramPath, error) {
	p, err := extractor.Compile(path, e.cfg.paths)
	if err != nil {
		return nil, err
	}
	c := &paramPath{path: p}
	if len(e.cfg.paths.Named) > 0 {
		_, err := extractor.Compile(path, extractor.Options{})
		c.own = err != nil
	}
	return c, nil
}

// extract adds the call's values to the list; see extractor.Path.Extract.
func (p *paramPath) extract(call *extractor.Call, values *extractor.List) error {
	if p.own {
		once := *call
		call = &once
	}
	return p.path.Extract(call, values)
}

// compilePaths compiles the paths of rules, which were checked, by the rules' ids. Those of before that did not change are taken over with the types that they have met.
func (e *Engine) compilePaths(old map[string]*paramPath, rules []ref[paramflow.Rule]) map[string]*paramPath {
	if len(rules) == 0 {
		return nil
	}
	paths := make(map[string]*paramPath, len(rules))
	for _, f := range rules {
		r := f.r
		if was := old[r.ID]; was != nil && was.path.String() == r.Param {
			paths[r.ID] = was
			continue
		}
		p, err := e.compilePath(r.Param)
		if err != nil {
			panic(err) // rules with a fault are never put in force
		}
		paths[r.ID] = p
	}
	return paths
}

// pathProblems returns what is wrong with the path of a rule. at is where rules have theirs in the document, by id.
func (e *Engine) pathProblems(r paramflow.Rule, at map[string]rule.Position) []rule.Problem {
	if r.Param == "" {
		return nil // the rule says so itself
	}
	_, err := extractor.Compile(r.Param, e.cfg.paths)
	if err == nil {
		return nil
	}
	p := pathProblem(err)
	p.Position = at[r.ID]
	return []rule.Problem{p}
}

// pathFaults returns what is wrong with the path of a rule whatever extractors of one's own an engine may have.
func pathFaults(r paramflow.Rule) []rule.Problem {
	if r.Param == "" {
		return nil // the rule says so itself
	}
	named := map[string]extractor.Extractor{}
	for {
		_, err := extractor.Compile(r.Param, extractor.Options{Named: named})
		if err == nil {
			return nil
		}
		word := ownWord(r.Param, err)
		if word == "" || named[word] != nil {
			return []rule.Problem{pathProblem(err)}
		}
		named[word] = extractor.Func(func(*extractor.Call) (extractor.Value, bool) { return extractor.Value{}, false })
		if (extractor.Options{Named: named}).Validate() != nil {
			return []rule.Problem{pathProblem(err)}
		}
	}
}

// ownWord returns the word at which a path has a fault, if it stands alone as the names of extractors do.
func ownWord(path string, err error) string {
	var fault *extractor.SyntaxError
	if !errors.As(err, &fault) || fault.Offset >= len(path) {
		return ""
	}
	word := path[fault.Offset:]
	if end := strings.IndexAny(word, " \t+.["); end >= 0 {
		if word[end] == '.' || word[end] == '[' {
			return ""
		}
		word = word[:end]
	}
	return word
}

// pathProblem makes a problem of an error of compiling a path.
func pathProblem(err error) rule.Problem {
	p := rule.Problem{Field: "param", Message: err.Error()}
	var fault *extractor.SyntaxError
	if errors.As(err, &fault) {
		p.Message, p.Want = fmt.Sprintf("the path %q, byte %d: %s", fault.Path, fault.Offset, fault.Message), fault.Want
	}
	return p
}

// own returns rules whose slices are nobody else's.
func own(rules []paramflow.Rule) []paramflow.Rule {
	rules = slices.Clone(rules)
	for i := range rules {
		rules[i].Overrides = slices.Clone(rules[i].Overrides)
	}
	return rules
}

// Values is what a call carries besides its arguments, given by code, for rules on `value.tenant`. The values may have any type that package extractor
// knows. It is not changed and not kept.
type Values map[string]any

// Lookup returns the value of a key, for extractor.Values; it has no other part.
func (v Values) Lookup(part extractor.Part, key string) (extractor.Value, bool) {
	x, ok := v[key]
	if !ok || part != extractor.Values {
		return extractor.Value{}, false
	}
	return extractor.Of(x)
}

// Body returns extractor.ErrNoBody: there is none.
func (v Values) Body(int) ([]byte, error) { return nil, extractor.ErrNoBody }

// Namer names resources by what is in calls, such as one resource for each tenant. It is safe for concurrent use.
type Namer struct {
	eng  *Engine
	path *paramPath
}

// Namer returns a namer for a path (package extractor). `resource + header["X-Tenant"]` gives every tenant a resource of its own, as "orders.Create|acme". However many names calls
// bring, the engine keeps no more resources than WithMaxResources says, and rules for names beyond match as for all. The error says what is wrong with the path.
func (e *Engine) Namer(path string) (*Namer, error) {
	p, err := e.compilePath(path)
	if err != nil {
		problem := pathProblem(err)
		return nil, fmt.Errorf("cordon: Namer: %s; want %s", problem.Message, problem.Want)
	}
	return &Namer{e, p}, nil
}

// Name returns the resource's name for a request: the first value at the path, or req.Resource if it has none. A panic in an extractor is an internal fault, and gives req.Resource. ctx
// is for extractors of one's own.
func (n *Namer) Name(ctx context.Context, req *Request) string {
	p, _ := n.eng.paramCalls.Get().(*paramCall)
	if p == nil {
		p = new(paramCall)
	}
	p.call = extractor.Call{Context: ctx, Resource: req.Resource, Origin: req.Origin, Method: req.Method, Args: req.Args, Carrier: req.Carrier}
	err := n.path.extract(&p.call, &p.values)
	name := req.Resource
	if p.values.Len() > 0 {
		name = p.values.At(0).String()
	}
	n.eng.putParamCall(p)
	if err != nil && tellsOfMistake(err) {
		n.eng.ReportFault("namer "+n.path.path.String(), req.Resource, err)
	}
	return name
}

// tellsOfMistake reports whether an error of extracting tells of more than a call without a good body.
func tellsOfMistake(err error) bool {
	return !errors.Is(err, extractor.ErrNoBody) && !errors.Is(err, extractor.ErrNotJSON) && !errors.Is(err, extractor.ErrTooLarge)
}
