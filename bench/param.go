package bench

import (
	"context"
	"math/rand/v2"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/paramflow"
	"github.com/cordon-go/cordon/rule"
)

// Customer is the one that an Order is for.
type Customer struct {
	// ID is what a rule limits by.
	ID int64
}

// Order is an argument that a rule looks into.
type Order struct {
	// Customer is given by address, as in requests it mostly is.
	Customer *Customer
}

// Buyers makes calls with an order in their arguments, by keys drawn from a distribution.
type Buyers struct {
	engine *cordon.Engine
	call   cordon.Request
	order  *Order
	keys   []int64
	at     int
}

// NewBuyers returns calls of an engine, with or without a rule of 10 a second for each customer. Of so many customers some buy much more often
// than others (Zipf's law, s = 1.1).
func NewBuyers(customers int, limited bool) (*Buyers, error) {
	var rules cordon.Rules
	if limited {
		rules.Param = []paramflow.Rule{{Resource: rule.Name("orders.Create"), Param: "arg[0].Customer.ID", Limit: 10_000_000}}
	}
	e, err := cordon.New(cordon.WithRules(rules))
	if err != nil {
		return nil, err
	}
	const draws = 1 << 20
	b := &Buyers{engine: e, order: &Order{&Customer{}}, keys: make([]int64, draws)}
	b.call = cordon.Request{Resource: "orders.Create", Args: []any{b.order}}
	random := rand.New(rand.NewPCG(1, 2))
	if zipf := rand.NewZipf(random, 1.1, 1, uint64(customers-1)); customers > 1 {
		for i := range b.keys {
			b.keys[i] = int64(zipf.Uint64())
		}
	}
	b.Buy(draws)
	return b, nil
}

// With makes b call the engine of another, as another customer and to another resource of the same budgets: what the two share is the rule's memory. It fails if the rule cannot be shared.
func (b *Buyers) With(o *Buyers) error {
	for i := range b.keys {
		b.keys[i] = 1
	}
	rules := o.engine.Rules()
	rules.Param[0].Resource = rule.Default()
	rules.Param[0].Shared = true
	if _, err := o.engine.Apply(rules); err != nil {
		return err
	}
	b.engine.Close()
	b.engine, b.call.Resource = o.engine, "orders.Cancel"
	return nil
}

// Close closes the engine.
func (b *Buyers) Close() { b.engine.Close() }

// Buy makes n calls.
func (b *Buyers) Buy(n int) {
	ctx := context.Background()
	for range n {
		b.order.Customer.ID = b.keys[b.at&(len(b.keys)-1)]
		b.at++
		ent, err := b.engine.Enter(ctx, b.call)
		ent.Exit(&err)
	}
}
