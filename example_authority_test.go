package cordon_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/authority"
)

// Who may call is asked before anything else.
func Example_authority() {
	decoded, err := cordon.Native("rules.yaml", []byte(`cordon: 1
authority:
  - {id: partners, resource: "POST /orders", allow: [shop, checkout, "team-*"]}
  - {id: robots, resource: {default: true}, deny: ["crawler-*"], also: true}
  - {id: signed, resource: admin, allow: [ops], anonymous: refuse}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	eng, err := cordon.New(cordon.WithRules(decoded.Rules))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close()
	for _, req := range []cordon.Request{
		{Resource: "POST /orders", Origin: "team-7"}, {Resource: "POST /orders", Origin: "search"}, {Resource: "POST /orders"},
		{Resource: "search", Origin: "crawler-2"}, {Resource: "admin"},
	} {
		ent, err := eng.Enter(context.Background(), req)
		fmt.Printf("%q calls %s: refused %t\n", req.Origin, req.Resource, errors.Is(err, authority.ErrRefused))
		ent.Exit(&err)
	}
	// Output:
	// "team-7" calls POST /orders: refused false
	// "search" calls POST /orders: refused true
	// "" calls POST /orders: refused false
	// "crawler-2" calls search: refused true
	// "" calls admin: refused true
}
