package cordon

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/authority"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
	"github.com/cordon-go/cordon/system"
)

// An observer that ends the goroutine of a call that only a rule in shadow would have refused ends the call.
func TestObserverEndsTheGoroutine(t *testing.T) {
	t.Parallel()
	rules := systemRules(system.Rule{ID: "trial", Metric: system.Concurrency, Shadow: true}, system.Rule{ID: "rate", Metric: system.Rate, Limit: 1})
	rules.Concurrency = []flow.ConcurrencyRule{{ID: "c", Resource: rule.Name("lists"), Limit: 1, Origin: "x"}}
	var ends atomic.Bool
	e, _ := newTest(t, rules, WithObserver(Observer{Block: func(BlockEvent) {
		if ends.Load() {
			runtime.Goexit()
		}
	}}))
	for _, name := range []string{"plain", "lists"} {
		ends.Store(true)
		for range 3 {
			var wg sync.WaitGroup
			wg.Go(func() { _, _ = arrive(e, name) })
			wg.Wait()
		}
		ends.Store(false)
		require.Zero(t, e.Snapshot().System.InFlight, name)
	}
	ent, err := arrive(e, "plain")
	require.NoError(t, err, "the rate is given back too")
	ent.Exit(nil)
}

// stormRules are sets of rules that follow each other.
func stormRules() []Rules {
	all := Rules{
		Flow: []flow.Rule{
			limit("none", "none", 0), limit("rate", "lists", 1e6), {ID: "x", Resource: rule.Name("lists"), Limit: 1e6, Origin: "x"},
			{ID: "pace", Resource: rule.Name("paced"), Limit: 2000, Mode: flow.Pace, MaxWait: 2 * time.Millisecond},
		},
		Concurrency: []flow.ConcurrencyRule{atMost("two", "plain", 2), {ID: "queue", Resource: rule.Name("queued"), Limit: 1, MaxWait: time.Millisecond}},
		Breaker:     []breaker.Rule{errorBreaker("b1", "plain"), errorBreaker("b2", "plain"), errorBreaker("b3", "lists")},
		Param: []paramflow.Rule{
			{ID: "p", Resource: rule.Name("valued"), Param: "arg[0]", Mode: paramflow.Concurrency, Limit: 2},
			{ID: "q", Resource: rule.Name("valued"), Param: "arg[0]", Limit: 1000, Mode: paramflow.Pace, MaxWait: time.Millisecond},
		},
		Authority: []authority.Rule{{ID: "a", Resource: rule.Name("lists"), Deny: []string{"bad"}}},
	}
	with := func(r Rules, rs ...system.Rule) Rules { r.System = rs; return r }
	return []Rules{
		{}, all,
		with(Rules{}, atOnce("c", 3)),
		with(all, atOnce("c", 2), system.Rule{ID: "r", Metric: system.Rate, Limit: 5000}),
		with(all, atOnce("c", 5), system.Rule{ID: "trial", Metric: system.Concurrency, Limit: 1, Shadow: true}, system.Rule{ID: "r", Metric: system.Rate, Limit: 100, Shadow: true}),
		with(all, system.Rule{ID: "cpu", Metric: system.CPU, Limit: 0.5}, system.Rule{ID: "rt", Metric: system.ResponseTime, SlowerThan: time.Hour}),
		with(all, system.Rule{ID: "c", Metric: system.Load, Limit: 0.5, Admission: system.Refuse}),
	}
}

// Whatever becomes of calls, while rules come and go, and when the engine is closed in between: what was taken is given back, once.
func TestSystemStorm(t *testing.T) {
	t.Parallel()
	for _, checked := range []bool{false, true} {
		for _, closes := range []bool{false, true} {
			storm(t, checked, closes)
		}
	}
}

func storm(t *testing.T, checked, closes bool) {
	chaos := func() error {
		switch rand.IntN(12) {
		case 0:
			panic("checker")
		case 1:
			runtime.Goexit()
		case 2, 3:
			return errBoom
		}
		return nil
	}
	opts := []Option{WithClock(clock.System()), WithSystemReader(newMachine(0.9, 1)), WithMaxResources(4), WithObserver(Observer{Block: func(BlockEvent) { _ = chaos() }})}
	if checked {
		opts = append(opts, WithChecker(checkFunc(func(*CheckedCall) error { return chaos() })))
	}
	e, err := New(opts...)
	require.NoError(t, err)
	defer e.Close()
	names := []string{"plain", "lists", "none", "paced", "queued", "valued", "free", "beyond1", "beyond2"}
	one := func(r *rand.Rand) {
		ctx, stop := context.WithTimeout(bg, time.Duration(r.IntN(3))*time.Millisecond)
		defer stop()
		req := Request{
			Resource: names[r.IntN(len(names))], Inbound: r.IntN(4) > 0, Cost: r.IntN(3), Args: []any{r.IntN(2)}, Origin: []string{"", "x", "bad"}[r.IntN(3)], Cancelable: r.IntN(3) == 0,
			Part: []Part{0, 0, PartAtOnce, PartAtOnce | PartWaiting}[r.IntN(4)],
		}
		if r.IntN(4) == 0 {
			req.Classify = func(error) Outcome { return Ignored }
		}
		ent, err := e.Enter(ctx, req)
		if err != nil {
			ent.Exit(&err) // harmless
			return
		}
		defer ent.Cancel() // what follows may not come back
		if req.Part != 0 {
			req.Part = (PartAtOnce | PartWaiting | PartMessage) &^ req.Part
			rest, err := e.Enter(ctx, req)
			defer rest.End(Success)
			if err != nil {
				ent.Cancel()
			}
		}
		yield()
		switch r.IntN(5) {
		case 0:
			ent.Exit(&err)
		case 1:
			ent.Cancel()
		case 2:
			ent.End(Failure)
		case 3:
			func() {
				defer func() { _ = recover() }()
				defer ent.Exit(&err)
				panic("the call")
			}()
		}
		var wg sync.WaitGroup
		wg.Go(func() { ent.Cancel() })
		ent.Exit(nil) // once more
		wg.Wait()
	}
	sets := stormRules()
	for _, s := range sets {
		apply(t, e, s)
	}
	race(func(i int) {
		r := rand.New(rand.NewPCG(uint64(i), 7))
		for n := range 150 {
			if n%10 == 0 {
				_, _ = e.Apply(sets[r.IntN(len(sets))]) // once the engine is closed: a report that says so
			}
			if closes && i == 0 && n == 100 {
				_ = e.Close()
			}
			var wg sync.WaitGroup
			wg.Go(func() { one(r) }) // which may not come back
			wg.Wait()
		}
	})
	for _, r := range e.Snapshot().Resources {
		require.Zero(t, r.InFlight, "%s", r.Name)
	}
	e.overload.Update([]system.Rule{atOnce("three", 3)}, e.clock.Now())
	require.Zero(t, e.overload.InFlight())
	for i := range 4 { // what is given back twice would make room
		_, _, ok := e.overload.Enter(e.clock.Now(), 1)
		require.Equal(t, i < 3, ok)
	}
}
