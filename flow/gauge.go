package flow

import (
	"time"

	"github.com/cordon-go/cordon/stat"
)

// gaugeBuckets is into how many buckets a gauge cuts its interval.
const gaugeBuckets = 20

// A Gauge counts what a resource has passed in the last interval, for rules on another resource's traffic
// (Rule.Related). It never counts less than the interval holds: the bucket that the interval's start falls into counts whole. Its methods
// are safe for concurrent use and allocate nothing.
type Gauge struct{ window *stat.Window }

// NewGauge returns a gauge for an interval of 1ms to 24h.
func NewGauge(per time.Duration) *Gauge {
	bucket := max((per+gaugeBuckets-1)/gaugeBuckets, time.Microsecond)
	return &Gauge{stat.NewWindow(bucket, gaugeBuckets+1, 1)}
}

// Add counts n passed at time now.
func (g *Gauge) Add(now time.Duration, n int) { g.window.Add(now, 0, int64(n)) }

// Count returns what passed in the interval before now, and up to one twentieth of the interval more.
func (g *Gauge) Count(now time.Duration) int64 { return g.window.Sum(now, 0) }
