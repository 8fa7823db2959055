package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/bench"
	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/flow"
	"github.com/cordon-go/cordon/rule"
)

// memory measures the bytes of a resource, all told: its name, rules, windows and state, with a hundred calls made on it.
func memory(int, time.Duration) ([]Result, error) {
	var results []Result
	for _, c := range []struct {
		work   string
		target float64
		limit  float64
	}{
		{"a resource without rules", 1024, -1},
		{"a resource with flow at 100 per interval + breaker", 2.4 * 1024, 100},
		{"a resource with flow at any limit + breaker", 4 * 1024, 1_000_000},
	} {
		var samples []float64
		for range 3 {
			n, err := bench.BytesPerResource(c.limit)
			if err != nil {
				return nil, err
			}
			samples = append(samples, n)
		}
		r := Result{Work: c.work, Unit: "bytes", Median: median(samples), Best: slices.Min(samples), Target: c.target}
		r.judge()
		results = append(results, r)
	}
	return results, nil
}

// applying measures how long rules take to be in force.
func applying(int, time.Duration) ([]Result, error) {
	const rules = 10_000
	first := structs(rules)
	changed := cordon.Rules{Flow: slices.Clone(first.Flow)}
	changed.Flow[rules/2].Limit++
	var applyFirst, applySame, applyOne, docJSON, docYAML []float64
	for i := range 5 {
		e, err := cordon.New()
		if err != nil {
			return nil, err
		}
		applyFirst = append(applyFirst, ms(func() { _, err = e.Apply(first) }))
		if err != nil {
			return nil, err
		}
		for j := range rules { // resources that live with the rules
			ent, err := e.Enter(context.Background(), cordon.Request{Resource: first.Flow[j].Resource.Pattern()})
			ent.Exit(&err)
		}
		applySame = append(applySame, ms(func() { _, err = e.Apply(first) }))
		applyOne = append(applyOne, ms(func() { _, err = e.Apply(changed) }))
		if err != nil {
			return nil, err
		}
		e.Close()
		t, err := document(bench.Document(rules, true))
		if err != nil {
			return nil, err
		}
		docJSON = append(docJSON, t)
		if i < 3 {
			if t, err = document(bench.Document(rules, false)); err != nil {
				return nil, err
			}
			docYAML = append(docYAML, t)
		}
	}
	var results []Result
	for _, c := range []struct {
		work   string
		ms     []float64
		target float64
	}{
		{"Apply 10,000 rules, first", applyFirst, 50},
		{"Apply 10,000 rules, the same again", applySame, 10},
		{"Apply 10,000 rules, one changed", applyOne, 10},
		{"a JSON document of 10,000 rules, read, checked, applied", docJSON, 300},
		{"a YAML document of 10,000 rules, read, checked, applied", docYAML, 1500},
	} {
		r := Result{Work: c.work, Unit: "ms", Median: median(c.ms), Best: slices.Min(c.ms), Target: c.target}
		r.judge()
		results = append(results, r)
	}
	return results, nil
}

func structs(n int) cordon.Rules {
	var rules cordon.Rules
	for i := range n {
		rules.Flow = append(rules.Flow, flow.Rule{
			ID: fmt.Sprintf("rule-%05d", i), Resource: rule.Name(bench.LongName(i)), Limit: float64(100 + i%900),
		})
	}
	return rules
}

func ms(f func()) float64 {
	start := time.Now()
	f()
	return float64(time.Since(start)) / float64(time.Millisecond)
}

// document returns how many milliseconds a document takes from a source's delivery to being in force.
func document(data []byte) (float64, error) {
	e, err := cordon.New()
	if err != nil {
		return 0, err
	}
	defer e.Close()
	var watchErr error
	t := ms(func() { _, watchErr = e.Watch(context.Background(), static(data), cordon.Native) })
	return t, watchErr
}

// static is a source of one document that never changes.
type static []byte

func (static) Name() string { return "static" }

func (s static) Watch(ctx context.Context, deliver func(datasource.Update)) error {
	deliver(datasource.Update{Document: datasource.Document{Data: s, Version: "1"}})
	<-ctx.Done()
	return nil
}
