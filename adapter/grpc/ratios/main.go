// Command ratios measures what the adapter costs, interleaved with the same work without it, and prints the ratios beside their targets. With -check it exits with 1 when a target is missed
// beyond what noise explains.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"text/tabwriter"
	"time"
)

// serviceBytes is what a small service keeps in memory.
const serviceBytes = 64 << 20

func main() {
	check := flag.Bool("check", false, "exit with 1 if a target is missed")
	rounds := flag.Int("rounds", 60, "rounds of each work, at least 40")
	round := flag.Duration("round", 50*time.Millisecond, "length of a round of one work")
	flag.Parse()

	// The collector has to do with what a service keeps, and comes the more seldom the more that is. Without anything it would be measured instead of the works.
	live := make([]byte, serviceBytes)
	defer runtime.KeepAlive(live)
	var results []Result
	for _, group := range []func(int, time.Duration) ([]Result, error){unary, picks} {
		rs, err := group(max(*rounds, 40), *round)
		if err != nil {
			fmt.Fprintln(os.Stderr, "ratios:", err)
			os.Exit(2)
		}
		results = append(results, rs...)
		runtime.GC()
	}
	print(results)
	for _, r := range results {
		if *check && r.Missed && (r.Held == 0 || r.Median > r.Held) {
			os.Exit(1)
		}
	}
}

// Result is one work's figure beside its target.
type Result struct {
	Work string
	// Unit is what the figures count.
	Unit string
	// Median is that of the rounds; it lies between Low and High with 95 %, or these are the least and the most. NsOp is the median time of one operation.
	Median, Low, High, NsOp float64
	// Allocs is how many allocations one operation makes beyond those of the bare work.
	Allocs float64
	Target float64
	// Held is up to what a median above the target passes a check: for works that are not where they shall be. 0 for none.
	Held   float64
	Missed bool
}

func print(results []Result) {
	fmt.Printf("%s %s/%s, %d CPUs\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "work\tmedian\t95 %\ttarget\tunit\tns\tallocs\t")
	for _, r := range results {
		verdict := ""
		if r.Missed {
			verdict = "MISSED"
			if r.Held > 0 && r.Median <= r.Held {
				verdict = fmt.Sprintf("missed; held at %.4g", r.Held)
			}
		}
		fmt.Fprintf(w, "%s\t%.3f\t%.3f to %.3f\t≤ %.4g\t%s\t%.0f\t%.1f\t%s\n", r.Work, r.Median, r.Low, r.High, r.Target, r.Unit, r.NsOp, r.Allocs, verdict)
	}
	w.Flush()
}
