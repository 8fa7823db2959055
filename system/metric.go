package system

import (
	"fmt"
	"slices"
)

// Metric is what a rule looks at.
type Metric uint8

const (
	// Load is the machine's load average of the last minute.
	Load Metric = iota + 1
	// CPU is the share in use of the CPU that the process may use: of its cgroup's quota, or of the machine where there is none, whichever is nearer to its end; 0 to 1.
	CPU
	// ResponseTime is the mean response time of the inbound calls that ended within the last second.
	ResponseTime
	// Concurrency is how many inbound calls are in flight, their costs added up.
	Concurrency
	// Rate is how many inbound calls were admitted within the last second, their costs added up.
	Rate
)

var metricNames = [...]string{Load: "load", CPU: "cpu", ResponseTime: "responseTime", Concurrency: "concurrency", Rate: "rate"}

// String returns the metric as documents write it: load, cpu, responseTime, concurrency or rate.
func (m Metric) String() string {
	if m != 0 && int(m) < len(metricNames) {
		return metricNames[m]
	}
	return fmt.Sprintf("Metric(%d)", uint8(m))
}

// Values returns the metrics as documents write them.
func (Metric) Values() []string { return slices.Clone(metricNames[1:]) }

// MarshalText is String, and an error for an unknown metric.
func (m Metric) MarshalText() ([]byte, error) {
	if m == 0 || int(m) >= len(metricNames) {
		return nil, fmt.Errorf("system: metric %d is unknown: want 1 to %d", uint8(m), len(metricNames)-1)
	}
	return []byte(metricNames[m]), nil
}

// UnmarshalText reads what String writes.
func (m *Metric) UnmarshalText(text []byte) error {
	i := slices.Index(metricNames[1:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown metric %q", text)
	}
	*m = Metric(i + 1)
	return nil
}
