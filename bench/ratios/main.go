// Command ratios measures the engine's works against readings of the clock, interleaved, and prints the ratios beside their
// targets. With -check it exits with 1 when a target is missed by both the median and the best of the rounds.
package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"text/tabwriter"
	"time"
)

func main() {
	asJSON := flag.Bool("json", false, "print the results as JSON")
	check := flag.Bool("check", false, "exit with 1 if a target is missed")
	rounds := flag.Int("rounds", 15, "rounds of each work")
	round := flag.Duration("round", 50*time.Millisecond, "length of a round of one work")
	flag.Parse()

	debug.SetGCPercent(400) // the works allocate nothing; what the set-up left behind is not what is measured
	var results []Result
	for _, group := range []func(int, time.Duration) ([]Result, error){calls, scaling, systems, instances, params, memory, fleets, applying, reloads} {
		rs, err := group(*rounds, *round)
		if err != nil {
			fmt.Fprintln(os.Stderr, "ratios:", err)
			os.Exit(2)
		}
		results = append(results, rs...)
		runtime.GC()
	}
	if *asJSON {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		enc.Encode(results)
	} else {
		print(results)
	}
	for _, r := range results {
		if *check && r.Missed {
			os.Exit(1)
		}
	}
}

// Result is one work's figure beside its target.
type Result struct {
	Work string `json:"work"`
	// Unit is what the figures count: "two reads", "one read", "bytes", "ms", "× one goroutine".
	Unit string `json:"unit"`
	// Median and Best are over the rounds; NsOp is the median time of one operation, where that means something.
	Median float64 `json:"median"`
	Best   float64 `json:"best"`
	NsOp   float64 `json:"nsOp,omitempty"`
	Allocs float64 `json:"allocs"`
	Target float64 `json:"target"`
	// Held is what -check holds where the target is not reached (docs/benchmarks.md says why); else 0.
	Held float64 `json:"held,omitempty"`
	// AtLeast marks targets to be reached from above.
	AtLeast bool `json:"atLeast,omitempty"`
	Missed  bool `json:"missed"`
}

// judge applies the noise rule: a target is missed only if the median and the best both miss it.
func (r *Result) judge() {
	bound := cmp.Or(r.Held, r.Target)
	if r.AtLeast {
		r.Missed = r.Median < bound && r.Best < bound
	} else {
		r.Missed = r.Median > bound && r.Best > bound
	}
	r.Missed = r.Missed || r.Allocs > 0
}

func print(results []Result) {
	fmt.Printf("%s %s/%s, %d CPUs; one read is one time.Since\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "work\tmedian\tbest\ttarget\tunit\tns\tallocs\t")
	for _, r := range results {
		bound, verdict := "≤", ""
		if r.AtLeast {
			bound = "≥"
		}
		if r.Held > 0 {
			verdict = fmt.Sprintf("held at %.4g", r.Held)
		}
		if r.Missed {
			verdict = "MISSED"
		}
		ns := ""
		if r.NsOp > 0 {
			ns = fmt.Sprintf("%.1f", r.NsOp)
		}
		fmt.Fprintf(w, "%s\t%.2f\t%.2f\t%s %.4g\t%s\t%s\t%.0f\t%s\n", r.Work, r.Median, r.Best, bound, r.Target, r.Unit, ns, r.Allocs, verdict)
	}
	w.Flush()
}
