package sim

import (
	"math/rand/v2"
	"time"
)

// Script says how an instance, or all of them, fare over time.
type Script interface {
	// Play begins the script at time 0. What is random about it comes from r, which is the track's own.
	Play(r *rand.Rand) Track
}

// Track is a script while it is played. Each call returns the next condition and until when it holds; the first begins at 0,
// each further one where the last ended. Ends must not go back, and Forever is the last.
type Track func() (c Condition, until time.Duration)

// During is a condition for one span of time. The zero span is the whole scenario.
type During struct {
	Span
	// Condition is what holds in it.
	Condition Condition
}

// Always returns a script of one condition for all the time.
func Always(c Condition) Script { return During{Condition: c} }

// From returns a script of one condition from a time on.
func From(at time.Duration, c Condition) Script { return During{Span{From: at}, c} }

// Between returns a script of one condition between two times.
func Between(from, until time.Duration, c Condition) Script { return During{Span{from, until}, c} }

// Flapping is bad for a while and good for a while, in turn, within a span of time.
type Flapping struct {
	Span
	// Bad and Good are how long each lasts. Required. It begins with Bad.
	Bad, Good time.Duration
	// Condition is what holds while it is bad.
	Condition Condition
}

// Noisy fails a share of calls that is drawn anew again and again.
type Noisy struct {
	Span
	// Min and Max are the bounds of the share of failures, which is uniform between them.
	Min, Max float64
	// Every is the mean of the times between two draws, which are exponential. Required.
	Every time.Duration
}

// Shocks are moments of failure that come at random.
type Shocks struct {
	Span
	// Every is the mean of the times between a shock's end and the next, which are exponential. Required.
	Every time.Duration
	// Shortest and Longest bound how long a shock lasts, uniformly.
	Shortest, Longest time.Duration
	// Min and Max bound the share of failures in a shock, uniformly.
	Min, Max float64
}

// Restart is a restart: calls under way are lost, connections refused for a time, and the fresh process is slow at first.
type Restart struct {
	// At is when it begins, Every after what time it does so again; 0: never.
	At, Every time.Duration
	// Down is how long connections are refused. Required.
	Down time.Duration
	// Warmup is how long it is slow afterwards, and Slow by how much. Both may be left out.
	Warmup time.Duration
	Slow   Latency
}
