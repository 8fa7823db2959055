package bench

import (
	"context"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/system"
)

// Inbound makes inbound calls to one resource, of an engine with or without system rules.
type Inbound struct {
	engine *cordon.Engine
	handle cordon.Resource
	// Refused is how many of the last calls were refused.
	Refused int
}

// NewInbound returns inbound calls without system rules, or with rules on cpu, concurrency and responseTime, which refuse all calls (by concurrency) or none.
func NewInbound(guarded, refuse bool) (*Inbound, error) {
	var rules cordon.Rules
	if guarded {
		limit := 10_000.0
		if refuse {
			limit = 0
		}
		rules.System = []system.Rule{
			{Metric: system.CPU, Limit: 1}, {Metric: system.Concurrency, Limit: limit}, {Metric: system.ResponseTime, SlowerThan: time.Hour},
		}
	}
	e, err := cordon.New(cordon.WithRules(rules))
	if err != nil {
		return nil, err
	}
	in := &Inbound{engine: e, handle: e.Resource(Name(0))}
	in.Call(1000)
	return in, nil
}

// Close closes the engine.
func (in *Inbound) Close() { in.engine.Close() }

// Call makes n calls, which end at once.
func (in *Inbound) Call(n int) {
	ctx := context.Background()
	in.Refused = 0
	for range n {
		ent, err := in.handle.EnterWith(ctx, cordon.Request{Inbound: true})
		if err != nil {
			in.Refused++
		}
		ent.Exit(&err)
	}
}
