package flow

import (
	"time"

	"github.com/cordon-go/cordon/stat"
)

// gaugeBuckets is into how many parts a gauge cuts its interval, besides the running one.
const gaugeBuckets = 16

// A Gauge counts what passes of one resource, for rules on other resources that look at its traffic (Rule.Related). It
// never counts too little: what it returns covers the interval and up to a sixteenth more. Its methods are safe for concurrent use and allocate nothing.
type Gauge struct{ window stat.Window }

// NewGauge returns a gauge of the last interval of length per, which must be 1ms to 24h (0 means 1s); it panics
// otherwise.
func NewGauge(per time.Duration) *Gauge {
	setDefault(&per, defaultPer)
	if per < minPer || per > maxPer {
		panic("flow: a gauge over " + text(per) + ": want " + text(minPer) + " to " + text(maxPer))
	}
	g := new(Gauge)
	g.window.Init((per+gaugeBuckets-1)/gaugeBuckets, gaugeBuckets+1, 1)
	return g
}

// Add counts a call of the given cost (at least 1) that passed at now.
func (g *Gauge) Add(now time.Duration, cost int) { g.window.Add(now, 0, int64(max(cost, 1))) }

// Count returns what passed in the interval that ends at now.
func (g *Gauge) Count(now time.Duration) int64 { return g.window.Sum(now, 0) }
