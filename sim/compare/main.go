// Command compare runs cordon and its peers in all worlds.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/cordon-go/cordon/sim"
	"github.com/cordon-go/cordon/sim/worlds"
)

func main() {
	seeds := flag.Int("seeds", 3, "")
	only := flag.String("world", "", "")
	peers := flag.Bool("peers", false, "")
	flag.Parse()
	ps := []sim.Policy{sim.Cordon{}}
	if *peers {
		ps = append(ps, sim.Envoy{}, sim.A50{}, sim.Finagle{}, sim.Consecutive{})
	}
	for _, w := range worlds.All() {
		if *only != "" && w.Name != *only {
			continue
		}
		for _, p := range ps {
			var found []time.Duration
			var tries []int64
			var full []time.Duration
			var sum worlds.Figures
			t0 := time.Now()
			for seed := range *seeds {
				f, err := w.Measure(p, uint64(seed))
				if err != nil {
					fmt.Println(err)
					os.Exit(1)
				}
				found = append(found, f.Found)
				tries = append(tries, f.Tries)
				full = append(full, f.Full)
				sum.False += f.False
				sum.WrongReturns += f.WrongReturns
				sum.Fallbacks += f.Fallbacks
				sum.NoInstance += f.NoInstance
				sum.Failed = max(sum.Failed, f.Failed)
				sum.FailedAtFirst = max(sum.FailedAtFirst, f.FailedAtFirst)
				sum.SickShare = max(sum.SickShare, f.SickShare)
			}
			slices.Sort(found)
			slices.Sort(tries)
			slices.Sort(full)
			fmt.Printf("%-5s %-12s found %.1f/%.1f tries %d/%d full %.0f/%.0f share %.2f%% first %.2f%% failed %.3f%% false %d wrong %d fb %d noinst %d  (%v)\n", w.Name, p, found[len(found)/2].Seconds(), found[len(found)-1].Seconds(),
				tries[len(found)/2], tries[len(found)-1], full[len(full)/2].Seconds(), full[len(full)-1].Seconds(), 100*sum.SickShare, 100*sum.FailedAtFirst, 100*sum.Failed, sum.False, sum.WrongReturns, sum.Fallbacks, sum.NoInstance, time.Since(t0)/time.Duration(*seeds))
		}
	}
}
