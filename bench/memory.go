package bench

import (
	"context"
	"fmt"
	"runtime"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

// BytesPerResource returns the bytes that a resource takes, all told: its name, rules, windows and state, with a hundred calls
// made on it. It has a flow rule of that limit per second and a breaker, or no rules if limit is negative.
func BytesPerResource(limit float64) (float64, error) {
	const resources = 10_000
	before := heap()
	var rules cordon.Rules
	for i := range resources {
		if name := LongName(i); limit >= 0 {
			rules.Flow = append(rules.Flow, flow.Rule{Resource: rule.Name(name), Limit: limit})
			rules.Breaker = append(rules.Breaker, breaker.Rule{Resource: rule.Name(name), Threshold: 0.5})
		}
	}
	e, err := cordon.New(cordon.WithRules(rules))
	if err != nil {
		return 0, err
	}
	rules = cordon.Rules{}
	for i := range resources {
		name := LongName(i)
		for range 100 {
			ent, err := e.Enter(context.Background(), cordon.Request{Resource: name})
			ent.Exit(&err)
		}
	}
	after := heap()
	runtime.KeepAlive(e)
	return (after - before) / resources, nil
}

// LongName is Name for more resources than Name tells apart.
func LongName(i int) string { return fmt.Sprintf("orders.Service/Crea%05d", i) }

// heap returns the bytes in use after two collections.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
