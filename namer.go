package cordon

import (
	"context"
	"errors"
	"fmt"

	"github.com/cordon-go/cordon/extractor"
)

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
	p.used = true
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
