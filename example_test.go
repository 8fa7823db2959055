package cordon_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/breaker"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/rule"
)

func ExampleEngine_Enter() {
	eng, err := cordon.New(cordon.WithClock(clock.NewManual()), cordon.WithRules(cordon.Rules{
		Concurrency: []flow.ConcurrencyRule{{ID: "db", Resource: rule.Name("db.Query"), Limit: 1}},
	}))
	if err != nil {
		panic(err)
	}
	defer eng.Close()

	query := func(work func()) (err error) {
		ent, err := eng.Enter(context.Background(), cordon.Request{Resource: "db.Query"})
		if err != nil {
			return err
		}
		defer ent.Exit(&err)
		work()
		return nil
	}
	err = query(func() {
		fmt.Println("a second one at once:", query(nil))
	})
	fmt.Println("the first:", err)
	// Output:
	// a second one at once: cordon: concurrency rule "db" blocked "db.Query": concurrency limit exceeded (limit 1, observed 1)
	// the first: <nil>
}

func ExampleCall() {
	eng, _ := cordon.New()
	defer eng.Close()
	n, err := cordon.Call(context.Background(), eng, "stock.Get", func(context.Context) (int, error) { return 42, nil })
	fmt.Println(n, err)
	// Output: 42 <nil>
}

func ExampleBlockedError() {
	clk := clock.NewManual()
	eng, _ := cordon.New(cordon.WithClock(clk), cordon.WithRules(cordon.Rules{
		Flow: []flow.Rule{{ID: "orders", Resource: rule.Name("orders.Create"), Limit: 1}},
	}))
	defer eng.Close()
	create := func() error {
		return eng.Do(context.Background(), "orders.Create", func(context.Context) error { return nil })
	}
	create()
	err := create()
	var blocked *cordon.BlockedError
	if errors.As(err, &blocked) {
		fmt.Println(blocked.Kind, blocked.RuleID, blocked.RetryAfter)
	}
	fmt.Println(errors.Is(err, cordon.ErrBlocked), errors.Is(err, flow.ErrLimited))
	clk.Advance(blocked.RetryAfter)
	fmt.Println(create())
	// Output:
	// flow orders 1s
	// true true
	// <nil>
}

func ExampleEngine_Apply() {
	eng, _ := cordon.New()
	defer eng.Close()
	rules := cordon.Rules{Flow: []flow.Rule{
		{ID: "orders", Resource: rule.Name("orders.Create"), Limit: 100},
		{ID: "search", Resource: rule.Wildcard("/search/*"), Limit: 50, Mode: flow.Pace, MaxWait: 500 * time.Millisecond},
	}}
	eng.Apply(rules)
	rules.Flow[0].Limit = 200
	report, err := eng.Apply(rules)
	fmt.Println(report.Changed, report.Unchanged, err)
	rules.Flow[0].Limit = -1
	_, err = eng.Apply(rules)
	fmt.Println(err)
	fmt.Println(eng.Rules().Flow[0].Limit)
}

// One of three instances fails: it is out after a few calls, and an edit of the rule keeps it there.
func ExampleEngine_NewGroup() {
	clk := clock.NewManual()
	eng, _ := cordon.New(cordon.WithClock(clk), cordon.WithRules(cordon.Rules{
		Isolation: []isolation.Rule{{ID: "all", Service: rule.Default()}},
	}), cordon.WithObserver(cordon.Observer{Isolation: func(ev cordon.IsolationEvent) {
		fmt.Println(ev.Service, ev.Address, ev.Kind)
	}}))
	defer eng.Close()
	orders := eng.NewGroup("orders")
	defer orders.Close()
	orders.Update(clk.Now(), []isolation.Instance{{Address: "10.0.0.1:80"}, {Address: "10.0.0.2:80"}, {Address: "10.0.0.3:80"}})

	call := func(i int) {
		clk.Advance(10 * time.Millisecond)
		view := orders.View(clk.Now())
		chosen := view.Candidates[i%len(view.Candidates)].Member // or by package balance
		call, ok := chosen.Begin(clk.Now())
		if !ok {
			return
		}
		if chosen.Address() == "10.0.0.2:80" {
			call.End(clk.Now(), isolation.Failure)
		} else {
			call.End(clk.Now(), isolation.Success)
		}
	}
	for i := range 100 {
		call(i)
	}
	eng.Apply(cordon.Rules{Isolation: []isolation.Rule{{ID: "all", Service: rule.Default(), Base: 10 * time.Second}}})
	for _, candidate := range orders.View(clk.Now()).Candidates {
		fmt.Println("in service:", candidate.Member.Address())
	}
	why, _ := orders.Why(clk.Now(), "10.0.0.2:80")
	fmt.Println(why.State, "after", why.Verdict.Failures, "of", why.Verdict.Calls, "calls failed, of its peers", why.Verdict.PeerFailures)
	// Output:
	// orders 10.0.0.2:80 quarantined
	// in service: 10.0.0.1:80
	// in service: 10.0.0.3:80
	// quarantined after 11 of 11 calls failed, of its peers 0
}

// A test of one's own rules: time stands still until the test moves it.
func Example_testingRules() {
	clk := clock.NewManual()
	eng, _ := cordon.New(cordon.WithClock(clk), cordon.WithRules(cordon.Rules{
		Breaker: []breaker.Rule{{ID: "pay", Resource: rule.Name("pay.Charge"), Threshold: 0.5, MinCalls: 2, Open: 5 * time.Second}},
	}), cordon.WithObserver(cordon.Observer{Breaker: func(ev cordon.BreakerEvent) {
		fmt.Println(ev.Transition.From, "->", ev.Transition.To)
	}}))
	defer eng.Close()
	charge := func(err error) error {
		return eng.Do(context.Background(), "pay.Charge", func(context.Context) error { return err })
	}
	charge(errors.New("declined"))
	charge(errors.New("declined"))
	fmt.Println(errors.Is(charge(nil), breaker.ErrOpen))
	clk.Advance(5 * time.Second)
	charge(nil)
	// Output:
	// closed -> open
	// true
	// open -> halfOpen
	// halfOpen -> closed
}
