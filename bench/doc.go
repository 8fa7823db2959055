// Package bench holds the engine's own benchmarks and allocation gates, and the works that bench/ratios measures against the clock.
//
// An absolute time on a shared machine means nothing; a ratio to a clock read taken in the same
// round does. See docs/benchmarks.md.
package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

// Names of which many are alive, so that a look-up by name is an honest one.
const (
	Alive  = 1000 // resources with names of 24 bytes
	InTurn = 64   // of which so many are called in turn
)

// Name returns the i-th resource name, of 24 bytes.
func Name(i int) string { return fmt.Sprintf("orders.Service/Create%03d", i) }

// Set says which rules a work has.
type Set struct {
	// Flow, Concurrency and Breaker are the kinds present.
	Flow, Concurrency, Breaker bool
	// Refuse makes the kinds refuse every call.
	Refuse bool
}

// Rules returns the rules of a set, for every resource by name.
func (s Set) Rules() cordon.Rules {
	var rules cordon.Rules
	for i := range Alive {
		name := rule.Name(Name(i))
		if s.Flow {
			limit := 10_000_000.0
			if s.Refuse {
				limit = 1
			}
			rules.Flow = append(rules.Flow, flow.Rule{Resource: name, Limit: limit, Per: per(s.Refuse)})
		}
		if s.Concurrency {
			limit := 1000
			if s.Refuse {
				limit = 0
			}
			rules.Concurrency = append(rules.Concurrency, flow.ConcurrencyRule{Resource: name, Limit: limit})
		}
		if s.Breaker {
			rules.Breaker = append(rules.Breaker, breaker.Rule{Resource: name, Threshold: 0.5, MinCalls: 20, Window: 10 * time.Second})
		}
	}
	return rules
}

// per is the interval of a set's rates: a day where everything is to be refused.
func per(refuse bool) time.Duration {
	if refuse {
		return 24 * time.Hour
	}
	return time.Second
}

// Engine returns an engine with the set's rules, on the system clock, on which every resource has had its first 200 calls.
func (s Set) Engine() (*cordon.Engine, error) {
	e, err := cordon.New(cordon.WithRules(s.Rules()))
	if err != nil {
		return nil, err
	}
	for i := range Alive {
		if s.Refuse && s.Breaker {
			if err := e.ForceBreaker(Name(i), "", breaker.ForcedOpen); err != nil {
				return nil, err
			}
		}
		for range 200 {
			ent, _ := e.Enter(context.Background(), cordon.Request{Resource: Name(i)})
			ent.Exit(nil)
		}
	}
	return e, nil
}

// ByHandle makes n calls through one handle.
func ByHandle(h cordon.Resource, n int) {
	ctx := context.Background()
	for range n {
		ent, err := h.Enter(ctx)
		ent.Exit(&err)
	}
}

// ByName makes n calls by name, of InTurn resources in turn.
func ByName(e *cordon.Engine, names []string, n int) {
	ctx := context.Background()
	for i := range n {
		ent, err := e.Enter(ctx, cordon.Request{Resource: names[i%InTurn]})
		ent.Exit(&err)
	}
}

// Names returns the names that are called in turn.
func Names() []string {
	names := make([]string, InTurn)
	for i := range names {
		names[i] = Name(i * (Alive / InTurn))
	}
	return names
}

// Now is the floor of all works: n readings of the monotonic clock.
func Now(base time.Time, n int) (last time.Duration) {
	for range n {
		last = time.Since(base)
	}
	return last
}

// TwoReads is the floor of admitted calls: n times two readings.
func TwoReads(base time.Time, n int) (last time.Duration) {
	for range n {
		last = time.Since(base)
		last += time.Since(base)
	}
	return last
}

// Document returns a native document of n rules of all kinds, in JSON or YAML.
func Document(n int, json bool) []byte {
	var b []byte
	open, sep, end := "cordon: 1\nflow:\n", "", ""
	if json {
		open, sep, end = "{\"cordon\": 1,\n\"flow\": [\n", ",", "]}\n"
	}
	b = append(b, open...)
	for i := range n {
		if json {
			b = fmt.Appendf(b, `  {"id": "rule-%05d", "resource": "orders.Service/Create%05d", "limit": %d, "per": "1s", "mode": "reject"}`, i, i, 100+i%900)
			if i < n-1 {
				b = append(b, sep...)
			}
			b = append(b, '\n')
		} else {
			b = fmt.Appendf(b, "  - {id: rule-%05d, resource: orders.Service/Create%05d, limit: %d, per: 1s, mode: reject}\n", i, i, 100+i%900)
		}
	}
	return append(b, end...)
}
