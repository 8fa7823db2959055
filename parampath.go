package cordon

import (
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
	// needsBody tells that it looks into the body.
	needsBody bool
	// message tells that it looks into the message, or may, see PartMessage.
	message bool
}

// compilePath compiles a path with the engine's options.
func (e *Engine) compilePath(path string) (*paramPath, error) {
	p, err := extractor.Compile(path, e.cfg.paths)
	if err != nil {
		return nil, err
	}
	c := &paramPath{path: p, needsBody: p.NeedsBody()}
	if len(e.cfg.paths.Named) > 0 {
		_, err := extractor.Compile(path, extractor.Options{})
		c.own = err != nil
	}
	c.message = c.own || c.needsBody || p.NeedsArgs()
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
		return memoryWarning(r) // the rule says itself what is missing
	}
	problems := memoryWarning(r)
	if _, err := extractor.Compile(r.Param, e.cfg.paths); err != nil {
		p := pathProblem(err)
		p.Position = at[r.ID]
		problems = append(problems, p)
	}
	return problems
}

// memoryWarning warns of a rule that takes its memory for each of any number of resources, if it does not say how much.
func memoryWarning(r paramflow.Rule) []rule.Problem {
	if r.Resource.Kind() == rule.ByName || r.Values != 0 || r.Shared || r.Mode == paramflow.Concurrency {
		return nil
	}
	return []rule.Problem{{
		Field: "values", Warning: true, Message: "is not set: each resource that the rule matches takes about 600 KiB",
		Want: "how many different values are in use at one time, or shared: true for one budget of all",
	}}
}

// pathFaults returns what is wrong with the path of a rule whatever extractors of one's own an engine may have.
func pathFaults(r paramflow.Rule) []rule.Problem {
	if r.Param == "" {
		return nil // the rule says itself what is missing
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
