package extractor_test

import (
	"errors"
	"fmt"

	"github.com/cordon-go/cordon/extractor"
)

// show prints what is at a path in a call.
func show(path string, call *extractor.Call) {
	p, err := extractor.Compile(path, extractor.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var values extractor.List
	if err := p.Extract(call, &values); err != nil {
		fmt.Println(err)
	}
	for i := range values.Len() {
		fmt.Println(values.At(i))
	}
}

// By a field of an object in the arguments.
func Example_struct() {
	type Customer struct {
		ID int64 `json:"id"`
	}
	type Order struct{ Customer *Customer }
	show("arg[0].customer.id", &extractor.Call{Args: []any{&Order{&Customer{ID: 102}}}})
	// Output: 102
}

// By a member of a generic map, as decoded documents and generic calls pass it.
func Example_map() {
	order := map[string]any{"customer": map[string]any{"id": 102.0}}
	show("arg[0].customer.id", &extractor.Call{Args: []any{order}})
	// Output: 102
}

// By a member of the JSON body that an adapter offers, for every element of a list.
func Example_body() {
	show("body.items[*].sku", &extractor.Call{Carrier: &carrier{body: []byte(`{"items":[{"sku":"a"},{"sku":"b"},{"sku":"a"}]}`)}})
	// Output:
	// a
	// b
}

// By two values together.
func Example_composite() {
	headers := map[string]string{"X-Tenant": "acme"}
	show(`header["X-Tenant"] + method`, &extractor.Call{Method: "POST /orders", Carrier: &carrier{parts: map[extractor.Part]map[string]string{extractor.Header: headers}}})
	// Output: acme|POST /orders
}

// By an extractor of one's own.
func ExampleOptions() {
	type userKey struct{}
	options := extractor.Options{Named: map[string]extractor.Extractor{
		"uid": extractor.Func(func(c *extractor.Call) (extractor.Value, bool) {
			id, ok := c.Context.Value(userKey{}).(int64)
			return extractor.Int(id), ok
		}),
	}}
	_, err := extractor.Compile("udi", options)
	var fault *extractor.SyntaxError
	fmt.Println(errors.As(err, &fault), fault.Message)
	// Output: true there is no value called "udi"
}

// The same value in one form, whatever type it comes in.
func ExampleOf() {
	for _, x := range []any{102, "102", 102.0, []byte("102"), uint8(102)} {
		v, _ := extractor.Of(x)
		fmt.Println(v == extractor.Int(102))
	}
	// Output:
	// true
	// true
	// true
	// true
	// true
}

func ExampleValue_Redacted() {
	seed := extractor.NewSeed()
	a, b := extractor.Text("ann@example.com"), extractor.Text("ann@example.com")
	fmt.Println(a.Redacted(seed) == b.Redacted(seed), len(a.Redacted(seed).String()))
	// Output: true 37
}
