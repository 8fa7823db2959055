package sim

import (
	"math"
	"math/rand/v2"
	"time"
)

// Latency is a distribution of times. Implementations must be comparable values.
type Latency interface {
	// Draw returns a time, 0 or more.
	Draw(r *rand.Rand) time.Duration
}

// Fixed is always the same time.
type Fixed time.Duration

// Draw returns the time.
func (f Fixed) Draw(*rand.Rand) time.Duration { return time.Duration(f) }

// Uniform is any time between Min and Max.
type Uniform struct {
	// Min and Max are the bounds, 0 or more.
	Min, Max time.Duration
}

// Draw returns a time.
func (u Uniform) Draw(r *rand.Rand) time.Duration {
	return u.Min + time.Duration(r.Float64()*float64(u.Max-u.Min))
}

// Exponential is a least time and an exponentially distributed one on top.
type Exponential struct {
	// Min is the least time, 0 or more.
	Min time.Duration
	// Mean is the mean of what comes on top.
	Mean time.Duration
}

// Draw returns a time.
func (e Exponential) Draw(r *rand.Rand) time.Duration {
	return e.Min + time.Duration(r.ExpFloat64()*float64(e.Mean))
}

// LogNormal is as latencies of services mostly are: few far above the median.
type LogNormal struct {
	// Median is the time that half of the calls need at most.
	Median time.Duration
	// P99 is the time that 99 of 100 calls need at most.
	P99 time.Duration
}

// Draw returns a time.
func (l LogNormal) Draw(r *rand.Rand) time.Duration {
	const z99 = 2.3263478740408408
	sigma := math.Log(float64(l.P99)/float64(l.Median)) / z99
	return time.Duration(float64(l.Median) * math.Exp(sigma*r.NormFloat64()))
}
