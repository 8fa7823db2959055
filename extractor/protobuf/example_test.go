package protobuf_test

import (
	"fmt"

	"github.com/cordon-go/cordon/extractor"
	"github.com/cordon-go/cordon/extractor/protobuf"
	"github.com/cordon-go/cordon/extractor/protobuf/testdata/openapi"
)

// A rule on a field of a protobuf message: the same path whatever API the message was generated with.
func Example() {
	path, err := extractor.Compile("arg[0].customer.id", extractor.Options{Walkers: []extractor.Walker{protobuf.Walker()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var values extractor.List
	order := &openapi.Order{Customer: &openapi.Customer{Id: 102}}
	if err := path.Extract(&extractor.Call{Args: []any{order}}, &values); err != nil {
		fmt.Println(err)
	}
	fmt.Println(values.At(0))
	// Output: 102
}
