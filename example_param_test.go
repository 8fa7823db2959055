package cordon_test

import (
	"context"
	"fmt"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/extractor"
)

// check stops an example at an error.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// newEngine returns an engine with the rules of a document, whose time stands still.
func newEngine(document string, opts ...cordon.Option) *cordon.Engine {
	decoded, err := cordon.Native("rules.yaml", []byte(document))
	check(err)
	eng, err := cordon.New(append(opts, cordon.WithClock(clock.NewManual()), cordon.WithRules(decoded.Rules))...)
	check(err)
	return eng
}

// No user may create more than 10 orders a second, by a field of the order.
func Example_limitByAField() {
	eng := newEngine(`
cordon: 1
param:
  - {id: users, resource: orders.Create, param: "arg[0].Customer.ID", limit: 10}
`)
	defer eng.Close()

	type customer struct{ ID int }
	type order struct{ Customer *customer }
	create := func(ctx context.Context, o *order) (err error) {
		ent, err := eng.Enter(ctx, cordon.Request{Resource: "orders.Create", Args: []any{o}})
		if err != nil {
			return err
		}
		defer ent.Exit(&err)
		return nil // the order is created here
	}

	for _, id := range []int{102, 7} {
		created := 0
		for range 50 {
			if create(context.Background(), &order{&customer{ID: id}}) == nil {
				created++
			}
		}
		fmt.Println("user", id, "created", created)
	}
	fmt.Println(create(context.Background(), &order{&customer{ID: 102}}))
	// Output:
	// user 102 created 10
	// user 7 created 10
	// cordon: param rule "users" blocked "orders.Create": limit of the value exceeded (limit 10), retry after 100ms
}

// The same for a message whose body is JSON, with a limit of its own for one tenant.
func Example_limitByABody() {
	eng := newEngine(`
cordon: 1
param:
  - {id: tenants, resource: orders, param: body.tenant.id, limit: 2, overrides: [{value: acme, limit: 5}]}
`)
	defer eng.Close()

	take := func(message []byte) (err error) {
		ent, err := eng.Enter(context.Background(), cordon.Request{Resource: "orders", Carrier: cordon.Body(message)})
		if err != nil {
			return err
		}
		defer ent.Exit(&err)
		return nil // the message is worked on here
	}

	for _, message := range []string{`{"tenant": {"id": "small"}}`, `{"tenant": {"id": "acme"}}`} {
		taken := 0
		for range 50 {
			if take([]byte(message)) == nil {
				taken++
			}
		}
		fmt.Println(message, taken)
	}
	// Output:
	// {"tenant": {"id": "small"}} 2
	// {"tenant": {"id": "acme"}} 5
}

// An extractor of one's own, which rules name as they do built-in paths.
func ExampleWithExtractor() {
	type user struct{}
	uid := extractor.Func(func(c *extractor.Call) (extractor.Value, bool) {
		name, ok := c.Context.Value(user{}).(string)
		return extractor.Text(name), ok
	})
	eng := newEngine(`
cordon: 1
param:
  - {id: users, resource: report, param: uid, mode: concurrency, limit: 1}
`, cordon.WithExtractor("uid", uid))
	defer eng.Close()

	ann := context.WithValue(context.Background(), user{}, "ann")
	bob := context.WithValue(context.Background(), user{}, "bob")
	first, err := eng.Enter(ann, cordon.Request{Resource: "report"})
	fmt.Println("ann:", err)
	_, err = eng.Enter(ann, cordon.Request{Resource: "report"})
	fmt.Println("ann again:", err)
	second, err := eng.Enter(bob, cordon.Request{Resource: "report"})
	fmt.Println("bob:", err)
	first.Exit(nil)
	second.Exit(nil)
	// Output:
	// ann: <nil>
	// ann again: cordon: param rule "users" blocked "report": limit of the value exceeded (limit 1)
	// bob: <nil>
}

// Every tenant is a resource of its own, with all statistics and rules by pattern.
func ExampleEngine_Namer() {
	eng := newEngine(`
cordon: 1
flow:
  - {id: tenants, resource: {wildcard: "orders|*"}, limit: 3}
`)
	defer eng.Close()
	perTenant, err := eng.Namer("resource + value.tenant")
	check(err)

	passed := map[string]int{}
	for range 20 {
		for _, tenant := range []string{"acme", "other"} {
			req := cordon.Request{Resource: "orders", Carrier: cordon.Values{"tenant": tenant}}
			req.Resource = perTenant.Name(context.Background(), &req)
			ent, err := eng.Enter(context.Background(), req)
			if err == nil {
				passed[req.Resource]++
			}
			ent.Exit(nil)
		}
	}
	fmt.Println(passed)
	// Output: map[orders|acme:3 orders|other:3]
}
