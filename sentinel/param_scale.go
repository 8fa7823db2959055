package sentinel

import (
	"math"
	"time"
)

// A paramScale turns rates into whole calls per whole seconds, as Sentinel has them.
type paramScale struct {
	per     time.Duration
	seconds int64
	// exact says that it rounds nothing.
	exact bool
}

// scaleOf finds the interval in which all limits are whole, the shortest of up to a minute if it is not the rule's own. If there is none they are rounded up, in an interval in which
// that is at most a tenth.
func scaleOf(per time.Duration, limits []float64) paramScale {
	if own := int64(per / time.Second); per%time.Second == 0 {
		if s := (paramScale{per, own, true}); s.whole(limits) {
			return s
		}
	}
	for n := range int64(60) {
		if s := (paramScale{per, n + 1, true}); s.whole(limits) {
			return s
		}
	}
	lowest := math.Inf(1)
	for _, limit := range limits {
		if limit > 0 {
			lowest = min(lowest, limit/per.Seconds())
		}
	}
	return paramScale{per, int64(min(max(math.Ceil(10/lowest), 1), maxSeconds)), false}
}

// whole reports whether all limits are whole calls.
func (s paramScale) whole(limits []float64) bool {
	for _, limit := range limits {
		scaled := s.scaled(limit)
		if math.Abs(scaled-math.Round(scaled)) > 1e-9*scaled {
			return false
		}
	}
	return true
}

func (s paramScale) scaled(limit float64) float64 {
	return limit * (float64(s.seconds) * float64(time.Second) / float64(s.per))
}

// count is a limit in whole calls, no more than cordon takes.
func (s paramScale) count(limit float64) int64 {
	count := math.Round(s.scaled(limit))
	if !s.exact {
		count = math.Ceil(s.scaled(limit))
	}
	return int64(min(count, maxRate*float64(s.seconds)))
}
