package sim

import "time"

// Condition is how an instance fares. The zero Condition adds nothing: all is well. Conditions that hold at one time add up: the
// shares of failures (up to 1) and the latencies; it is down or hangs if one of them says so.
type Condition struct {
	// Failures is the share of calls that fail, 0 to 1, each by itself.
	Failures float64
	// Throttles is the share of calls that are answered with "not now" (429), 0 to 1.
	Throttles float64
	// Latency is how long a call takes. Nil: no time at all, its result is known at once.
	Latency Latency
	// FailFast makes the calls that fail or are throttled be answered at once, instead of after Latency.
	FailFast bool
	// Down makes the instance refuse connections: all calls are local errors, at once, and those under way when it goes down are
	// lost at that moment.
	Down bool
	// Hangs makes the instance take calls and never answer. A client without a Timeout waits for ever.
	Hangs bool
}

// Dead returns the condition of an instance whose process is gone: Down.
func Dead() Condition { return Condition{Down: true} }

// Fails returns the condition of an instance that fails a share of its calls.
func Fails(share float64) Condition { return Condition{Failures: share} }

// Slow returns the condition of an instance that takes so much longer.
func Slow(by Latency) Condition { return Condition{Latency: by} }

// Hung returns the condition of an instance that takes calls and never answers.
func Hung() Condition { return Condition{Hangs: true} }

// well reports whether the condition adds nothing.
func (c *Condition) well() bool { return *c == Condition{} }

// Forever is an end that does not come.
const Forever time.Duration = 1<<63 - 1
