package main

import (
	"time"

	"github.com/cordon-go/cordon/bench"
	"github.com/cordon-go/cordon/extractor"
)

// params measures limits by a value, over the same call without the rule, and the way to the value.
func params(rounds int, length time.Duration) ([]Result, error) {
	var works []*work
	for _, c := range []struct {
		name      string
		customers int
	}{
		{"hot parameter, one value", 1},
		{"hot parameter, 1 M values zipf", 1_000_000},
	} {
		without, err := bench.NewBuyers(c.customers, false)
		if err != nil {
			return nil, err
		}
		defer without.Close()
		with, err := bench.NewBuyers(c.customers, true)
		if err != nil {
			return nil, err
		}
		defer with.Close()
		plain := &work{name: c.name + ": the call without the rule", run: without.Buy, silent: true}
		works = append(works, plain, &work{name: c.name + ", besides the call", floor: twoReads, target: 2.5, run: with.Buy, less: plain})
	}
	path, err := extractor.Compile("arg[0].Customer.ID", extractor.Options{})
	if err != nil {
		return nil, err
	}
	call := extractor.Call{Args: []any{&bench.Order{Customer: &bench.Customer{ID: 102}}}}
	var values extractor.List
	works = append(works, &work{name: "a value by the path arg[0].Customer.ID", floor: oneRead, target: 1.2, run: func(n int) {
		for range n {
			values.Reset()
			if err := path.Extract(&call, &values); err != nil {
				panic(err)
			}
		}
	}})
	return measure(clockFloors(), works, rounds, length), nil
}
