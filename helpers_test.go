package cordon

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var bg = context.Background()

// nilContext is a context that somebody forgot.
func nilContext() context.Context { return nil }

// newTest returns an engine on a manual clock.
func newTest(t testing.TB, rules Rules, opts ...Option) (*Engine, *clock.Manual) {
	t.Helper()
	clk := clock.NewManual()
	e, err := New(append([]Option{WithClock(clk), WithRules(rules)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { e.Close() })
	return e, clk
}

// apply applies rules that must be good.
func apply(t testing.TB, e *Engine, rules Rules) rule.Report {
	t.Helper()
	rep, err := e.Apply(rules)
	require.NoError(t, err)
	require.True(t, rep.Applied)
	return rep
}

func flowRules(rs ...flow.Rule) Rules            { return Rules{Flow: rs} }
func bulkRules(rs ...flow.ConcurrencyRule) Rules { return Rules{Concurrency: rs} }
func breakerRules(rs ...breaker.Rule) Rules      { return Rules{Breaker: rs} }
func limit(id, resource string, n float64) flow.Rule {
	return flow.Rule{ID: id, Resource: rule.Name(resource), Limit: n}
}
func atMost(id, res string, n int) flow.ConcurrencyRule {
	return flow.ConcurrencyRule{ID: id, Resource: rule.Name(res), Limit: n}
}

func errorBreaker(id, resource string) breaker.Rule {
	return breaker.Rule{
		ID: id, Resource: rule.Name(resource), Threshold: 0.5, MinCalls: 4, Window: 10 * time.Second, Open: 5 * time.Second,
	}
}

var errBoom = errors.New("boom")

// call makes one call that ends with err at once, and returns what Enter said.
func call(e *Engine, resource string, err error) error {
	ent, refused := e.Enter(bg, Request{Resource: resource})
	if refused != nil {
		return refused
	}
	ent.Exit(&err)
	return nil
}

// passes makes n calls at once and returns how many were admitted.
func passes(e *Engine, resource string, n int) int {
	admitted := 0
	for range n {
		if call(e, resource, nil) == nil {
			admitted++
		}
	}
	return admitted
}

// snap returns the snapshot of one resource.
func snap(t testing.TB, e *Engine, resource string) ResourceSnapshot {
	t.Helper()
	s, ok := e.ResourceSnapshot(resource)
	require.True(t, ok, "resource %q", resource)
	return s
}

// recorder collects events.
type recorder struct {
	mu         sync.Mutex
	blocks     []BlockEvent
	breakers   []BreakerEvent
	isolations []IsolationEvent
	reports    []rule.Report
	faults     []FaultEvent
	params     []ParamEvent
	sources    []SourceEvent
}

func (r *recorder) observer() Observer {
	return Observer{
		Block:     func(ev BlockEvent) { r.mu.Lock(); r.blocks = append(r.blocks, ev); r.mu.Unlock() },
		Breaker:   func(ev BreakerEvent) { r.mu.Lock(); r.breakers = append(r.breakers, ev); r.mu.Unlock() },
		Isolation: func(ev IsolationEvent) { r.mu.Lock(); r.isolations = append(r.isolations, ev); r.mu.Unlock() },
		Report:    func(ev rule.Report) { r.mu.Lock(); r.reports = append(r.reports, ev); r.mu.Unlock() },
		Param:     func(ev ParamEvent) { r.mu.Lock(); r.params = append(r.params, ev); r.mu.Unlock() },
		Source:    func(ev SourceEvent) { r.mu.Lock(); r.sources = append(r.sources, ev); r.mu.Unlock() },
		Fault:     func(ev FaultEvent) { r.mu.Lock(); r.faults = append(r.faults, ev); r.mu.Unlock() },
	}
}
