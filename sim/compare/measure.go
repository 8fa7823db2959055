package main

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/cordon-go/cordon/sim"
	"github.com/cordon-go/cordon/sim/worlds"
)

// row is a world with what came of it, by policy.
type row struct {
	world worlds.World
	cells []cell
}

// cell is what came of a policy in a world, over all seeds.
type cell struct {
	median, worst float64 // infinite: never
	sum           float64
	falseOnes     int
	noInstance    bool // a call found no instance
}

// measure runs every world with every policy and seed, on all processors. The order of runs does not matter to what comes of them.
func measure(list []worlds.World, policies []sim.Policy, seeds int, first uint64) ([]row, error) {
	rows := make([]row, len(list))
	type job struct{ world, policy int }
	jobs := make(chan job)
	errs := make([]error, len(list)*len(policies))
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for j := range jobs {
				rows[j.world].cells[j.policy], errs[j.world*len(policies)+j.policy] = one(list[j.world], policies[j.policy], seeds, first)
			}
		})
	}
	for i := range list {
		rows[i] = row{world: list[i], cells: make([]cell, len(policies))}
		for p := range policies {
			jobs <- job{i, p}
		}
	}
	close(jobs)
	workers.Wait()
	return rows, errors.Join(errs...)
}

func one(w worlds.World, p sim.Policy, seeds int, first uint64) (cell, error) {
	var c cell
	values := make([]float64, seeds)
	for i := range seeds {
		f, err := w.Measure(p, first+uint64(i))
		if err != nil {
			return cell{}, err
		}
		value, ok := w.Shows.Of(&f)
		if !ok {
			value = math.Inf(1)
		}
		values[i] = value
		c.sum += value
		c.falseOnes += f.False
		c.noInstance = c.noInstance || f.NoInstance > 0
	}
	slices.Sort(values)
	c.median, c.worst = values[seeds/2], values[seeds-1]
	return c, nil
}
