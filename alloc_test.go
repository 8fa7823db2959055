package cordon

import (
	"context"
	"net/http"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

// Law 6 and the budget: calls allocate nothing, admitted or refused, by name or by handle.
func TestCallsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	e, err := New(WithRules(Rules{
		Flow:        []flow.Rule{limit("f", "all", 1e7), limit("f2", "flow", 1e7), limit("r", "refusedFlow", 0)},
		Concurrency: []flow.ConcurrencyRule{atMost("c", "all", 10), atMost("c0", "refusedConcurrency", 0)},
		Breaker:     []breaker.Rule{errorBreaker("b", "all"), errorBreaker("b2", "all"), errorBreaker("b3", "refusedBreaker")},
	}), WithObserver(Observer{Block: func(BlockEvent) {}}))
	require.NoError(t, err)
	defer e.Close()
	require.NoError(t, e.ForceBreaker("refusedBreaker", "", breaker.ForcedOpen))
	cancellable, cancel := context.WithCancel(bg)
	defer cancel()
	for _, name := range []string{"none", "flow", "all", "refusedFlow", "refusedConcurrency", "refusedBreaker"} {
		h := e.Resource(name)
		for range 200 { // the histogram is made
			call(e, name, nil)
		}
		for _, ctx := range []context.Context{bg, cancellable} {
			require.Zero(t, testing.AllocsPerRun(2000, func() {
				ent, err := e.Enter(ctx, Request{Resource: name, Origin: "me", Cost: 2})
				ent.Exit(&err)
			}), name)
			require.Zero(t, testing.AllocsPerRun(2000, func() {
				ent, err := h.Enter(ctx)
				defer ent.Exit(&err)
			}), name)
		}
	}
	d := e.Resource("none")
	require.Zero(t, testing.AllocsPerRun(2000, func() { e.Do(bg, d.Name(), nop) }))
}

// A call with rules on values allocates nothing, admitted or refused, but for a record of what it has in flight, and the call that an extractor of one's own is given.
func TestCallsWithValuesDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	type order struct{ Customer struct{ ID int } }
	of := func(id, resource, param string, n float64, mode paramflow.Mode) paramflow.Rule {
		return paramflow.Rule{ID: id, Resource: rule.Name(resource), Param: param, Limit: n, Mode: mode}
	}
	header, overridden, trial := of("h", "header", `header["X-Tenant"]`, 1e6, paramflow.Reject), of("o", "override", "arg[0].Customer.ID", 1, paramflow.Reject), of("s", "shadow", "arg[0].Customer.ID", 0, paramflow.Reject)
	overridden.Overrides, trial.Shadow = []paramflow.Override{{Value: "7", Limit: 0}}, true
	others := of("only", "only", "arg[0].Customer.ID", 0, paramflow.Concurrency)
	others.Only = rule.Name("8")
	own := of("own", "own", "uid", 1e6, paramflow.Reject)
	e, err := New(WithRules(paramRules(
		of("p", "passed", "arg[0].Customer.ID", 1e6, paramflow.Reject), of("r", "refused", "arg[0].Customer.ID", 0, paramflow.Reject),
		of("c", "flights", "arg[0].Customer.ID", 5, paramflow.Concurrency), of("c0", "full", "arg[0].Customer.ID", 0, paramflow.Concurrency),
		of("pace", "pace", "arg[0].Customer.ID", 1e6, paramflow.Pace), of("again", "passed", "arg[0].Customer.ID", 1e6, paramflow.Reject), header, overridden, trial, own, others,
	)), WithObserver(Observer{Block: func(BlockEvent) {}}), WithExtractor("uid", extractor.Func(func(*extractor.Call) (extractor.Value, bool) { return extractor.Int(7), true })))
	require.NoError(t, err)
	defer e.Close()
	o := &order{}
	o.Customer.ID = 7
	req := Request{Args: []any{o}, Carrier: &fakeCarrier{header: http.Header{"X-Tenant": {"acme"}}}}
	for name, most := range map[string]float64{
		"passed": 0, "refused": 0, "flights": 1, "full": 0, "pace": 0, "header": 0, "override": 0, "shadow": 0, "own": 1, "only": 0,
	} {
		req.Resource = name
		one := func() {
			ent, err := e.Enter(bg, req)
			ent.Exit(&err)
		}
		for range 200 {
			one()
		}
		require.LessOrEqual(t, testing.AllocsPerRun(2000, one), most, name)
	}
}

// An entry of up to four words stays in registers.
func TestEntrySize(t *testing.T) {
	t.Parallel()
	require.LessOrEqual(t, unsafe.Sizeof(Entry{}), 4*unsafe.Sizeof(uint64(0)))
	if unsafe.Sizeof(uintptr(0)) == 8 {
		require.EqualValues(t, 64, unsafe.Sizeof(table{}), "a table is one cache line")
		require.EqualValues(t, 192, unsafe.Sizeof(resource{}), "a resource is whole cache lines, with the hot fields in the first")
	}
	require.EqualValues(t, 4, unsafe.Sizeof(Entry{}.state), "what is changed atomically must be aligned on 32-bit processors, wherever an entry lies")
}

func TestIdleEngineStartsNothing(t *testing.T) {
	e, err := New(WithRules(flowRules(limit("f", "r", 1))))
	require.NoError(t, err)
	require.Equal(t, 1, passes(e, "r", 3))
	// No Close: goleak finds any goroutine that an engine would start (faults #97).
}
