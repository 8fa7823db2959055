package scenario

import (
	"time"

	"github.com/cordon-go/cordon/sim"
)

// Latency is a distribution of times: Fixed; any time from Min to Max; a Mean, exponentially distributed, on top of Min; or a Median and a P99, of
// which the rest follows (log-normal). A duration alone is Fixed.
type Latency struct {
	// Fixed is always the same time.
	Fixed time.Duration `rule:"fixed"`
	// Min is the least time; default 0.
	Min time.Duration `rule:"min"`
	// Max is the longest.
	Max time.Duration `rule:"max"`
	// Mean is the mean of what comes on top of Min.
	Mean time.Duration `rule:"mean"`
	// Median is the time that half of the calls need at most.
	Median time.Duration `rule:"median"`
	// P99 is the time that 99 of 100 calls need at most.
	P99 time.Duration `rule:"p99"`
}

// build returns the kit's distribution, nil for none.
func (l Latency) build() sim.Latency {
	switch {
	case l.Max > 0:
		return sim.Uniform{Min: l.Min, Max: l.Max}
	case l.Mean > 0:
		return sim.Exponential{Min: l.Min, Mean: l.Mean}
	case l.Median > 0:
		return sim.LogNormal{Median: l.Median, P99: l.P99}
	case l.Fixed > 0:
		return sim.Fixed(l.Fixed)
	}
	return nil
}

const wantLatency = "a duration, or {min, max}, {min, mean} or {median, p99}"

func (f *faults) latency(field string, l Latency) {
	forms := 0
	for _, given := range []bool{l.Fixed > 0, l.Max > 0, l.Mean > 0, l.Median > 0 || l.P99 > 0} {
		if given {
			forms++
		}
	}
	switch {
	case forms > 1:
		f.add(field, "is several distributions at once", wantLatency)
	case l.Min > 0 && l.Max == 0 && l.Mean == 0:
		f.add(field+".min", "is the least time of nothing", wantLatency)
	case l.Max > 0 && l.Max < l.Min:
		f.add(field+".max", l.Max.String()+" is below min", "min or more")
	case l.Median > 0 && l.P99 < l.Median, l.P99 > 0 && l.Median == 0:
		f.add(field, "has a median and a p99 that do not fit", "both, the p99 not below the median")
	}
}
