// Package trial runs a scenario under several policies and seeds, and reduces what came of it to the figures that tell them apart.
package trial

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/cordon-go/cordon/sim"
)

// Trial is what came of one policy.
type Trial struct {
	// Policy is its name.
	Policy string
	// First is the run with the first seed.
	First *sim.Result
	// Figures are those of all runs.
	Figures Figures
}

// Run runs the scenario under each of the policies, seeds times: with the scenario's seed, the next one and so on. Runs go side by side, and what comes of
// them does not depend on that. When ctx ends Run returns its error at once, though the runs that were begun go on in vain.
func Run(ctx context.Context, s sim.Scenario, policies []sim.Policy, seeds int) ([]Trial, error) {
	r := &runner{scenario: s, policies: policies, seeds: seeds, stop: ctx.Done(), trials: make([]Trial, len(policies))}
	r.results = make([]*sim.Result, seeds*len(policies))
	done := make(chan error, 1)
	go func() { done <- r.all() }()
	select {
	case err := <-done:
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		return r.trials, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// runner runs everything.
type runner struct {
	scenario sim.Scenario
	policies []sim.Policy
	seeds    int
	stop     <-chan struct{}
	trials   []Trial

	mu      sync.Mutex
	next    int           // run to begin
	added   int           // how many runs the figures hold, in order
	results []*sim.Result // those that wait for earlier ones
	err     error
}

// all runs everything on as many goroutines as there are processors.
func (r *runner) all() error {
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(r.results)) {
		wg.Go(func() {
			for {
				i, ok := r.take()
				if !ok {
					return
				}
				s := r.scenario
				s.Seed += uint64(i % r.seeds)
				result, err := sim.Run(s, r.policies[i/r.seeds])
				r.put(i, result, err)
			}
		})
	}
	wg.Wait()
	return r.err
}

// take returns the next run, and false if there is none to begin.
func (r *runner) take() (int, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.stop:
		return 0, false
	default:
	}
	if r.err != nil || r.next == len(r.results) {
		return 0, false
	}
	r.next++
	return r.next - 1, true
}

// put keeps a result, and adds all to the figures whose turn it is: sums of times and medians are the same whoever was faster.
func (r *runner) put(i int, result *sim.Result, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		if r.err == nil {
			r.err = fmt.Errorf("policy %s: %w", r.policies[i/r.seeds], err)
		}
		return
	}
	r.results[i] = result
	for r.added < len(r.results) && r.results[r.added] != nil {
		t := &r.trials[r.added/r.seeds]
		if r.added%r.seeds == 0 {
			t.Policy, t.First = r.policies[r.added/r.seeds].String(), r.results[r.added]
		}
		t.Figures.add(r.results[r.added])
		r.results[r.added] = nil
		r.added++
		if r.added%r.seeds == 0 {
			t.Figures.sort()
		}
	}
}
