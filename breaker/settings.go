package breaker

import (
	"time"

	"github.com/cordon-go/cordon/stat"
)

// tolerance is how far a share of calls may be off its threshold and still count as equal to it. It is wider than any
// rounding of a share or of a threshold computed by a user (1-0.7), and narrower than one call among a billion.
const tolerance = 1e-9

// settings is a Rule with its defaults resolved, reduced to what a breaker needs, in 64 bytes.
type settings struct {
	threshold                                float64
	slowerThan, window, open, maxOpen, lease time.Duration
	jitter                                   float32
	minCalls                                 int32
	probes, successes                        uint16
	trip                                     Trip
	above                                    bool
	buckets                                  uint8
}

// newSettings resolves a rule without faults.
func newSettings(r Rule) settings {
	r = r.withDefaults()
	return settings{
		threshold:  r.Threshold,
		slowerThan: r.SlowerThan,
		window:     r.Window,
		open:       r.Open,
		maxOpen:    r.MaxOpen,
		lease:      r.ProbeLease,
		jitter:     float32(r.Jitter),
		minCalls:   int32(r.MinCalls),
		probes:     uint16(r.Probes),
		successes:  uint16(r.Successes),
		trip:       r.Trip,
		above:      r.Above && !r.opensAtOne(),
		buckets:    uint8(r.Buckets),
	}
}

// bad reports whether a call's end speaks against the callee.
func (s *settings) bad(outcome stat.Outcome, latency time.Duration) bool {
	if s.trip == SlowRatio {
		return latency > s.slowerThan
	}
	return outcome == stat.Failure
}

// trips reports whether that many bad calls among that many open the breaker. Without a bad call nothing does.
func (s *settings) trips(bad, calls int64) bool {
	if bad == 0 || calls < int64(s.minCalls) {
		return false
	}
	observed, slack := float64(bad), 0.0
	if s.trip.ratio() {
		observed, slack = observed/float64(calls), tolerance
	}
	if s.above {
		return observed > s.threshold+slack
	}
	return observed >= s.threshold-slack
}

// openTime returns how long to stay open after that many failed recoveries in a row. random is in [0, 1).
func (s *settings) openTime(reopened int, random func() float64) time.Duration {
	d := s.open
	for i := 0; i < reopened && d < s.maxOpen; i++ {
		d *= 2
	}
	d = min(d, s.maxOpen)
	if s.jitter > 0 {
		d += time.Duration(float64(d) * float64(s.jitter) * (2*random() - 1))
	}
	return d
}
