package cordon

import (
	"context"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/flow"
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

// An entry of up to four words stays in registers.
func TestEntrySize(t *testing.T) {
	t.Parallel()
	require.LessOrEqual(t, unsafe.Sizeof(Entry{}), 4*unsafe.Sizeof(uint64(0)))
	require.EqualValues(t, 4, unsafe.Sizeof(Entry{}.state), "what is changed atomically must be aligned on 32-bit processors, wherever an entry lies")
}

func TestIdleEngineStartsNothing(t *testing.T) {
	e, err := New(WithRules(flowRules(limit("f", "r", 1))))
	require.NoError(t, err)
	require.Equal(t, 1, passes(e, "r", 3))
	// No Close: goleak finds any goroutine that an engine would start (faults #97).
}
