package sentinel

import (
	"math"
	"slices"
	"time"
)

// A paramScale turns rates into whole calls per whole seconds, as Sentinel has them.
type paramScale struct {
	per     time.Duration
	seconds int64
	// exact says that it rounds nothing, but what is lost when fractions are calculated, and same that it changes nothing.
	exact, same bool
}

// scaleOf finds the interval in which all limits are whole, the shortest of up to a minute if it is not the rule's own. If there is none they are rounded up, in an interval in which
// that is at most a tenth.
func scaleOf(per time.Duration, limits []float64) paramScale {
	fraction := func(limit float64) bool { return limit != math.Trunc(limit) }
	if per%time.Second == 0 && !slices.ContainsFunc(limits, fraction) {
		return paramScale{per: per, seconds: int64(per / time.Second), exact: true, same: true}
	}
	for n := range int64(60) {
		if s := (paramScale{per: per, seconds: n + 1, exact: true}); s.whole(limits) {
			return s
		}
	}
	lowest := math.Inf(1)
	for _, limit := range limits {
		if limit > 0 {
			lowest = min(lowest, limit/per.Seconds())
		}
	}
	return paramScale{per: per, seconds: int64(min(max(math.Ceil(10/lowest), 1), maxSeconds))}
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

// count is a limit in whole calls.
func (s paramScale) count(limit float64) int64 {
	if s.exact {
		return int64(math.Round(s.scaled(limit)))
	}
	return int64(math.Ceil(s.scaled(limit)))
}
