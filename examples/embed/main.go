// Command embed guards a function with a limit of three calls a second.
package main

import (
	"context"
	"fmt"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

func main() {
	limit := flow.Rule{Resource: rule.Name("orders.Create"), Limit: 3} // per second
	eng, err := cordon.New(cordon.WithRules(cordon.Rules{Flow: []flow.Rule{limit}}))
	if err != nil {
		panic(err)
	}
	defer eng.Close()
	for i := range 5 {
		err := eng.Do(context.Background(), "orders.Create", func(context.Context) error { return nil })
		fmt.Println("order", i, "refused:", err != nil)
	}
}
