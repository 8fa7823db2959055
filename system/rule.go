package system

import (
	"time"

	"github.com/cordon-go/cordon/rule"
)

// Rule bounds one metric of the whole process. A zero field means its default. Rules are plain comparable values. Of several rules on one metric each holds.
type Rule struct {
	// ID identifies the rule; its state is kept across edits by it. Default: derived from the metric.
	ID string `rule:"id"`
	// Metric is what is looked at: load, cpu, responseTime, concurrency or rate. Required.
	Metric Metric `rule:"metric"`
	// Limit is up to what the metric is well: for load 0 to 100,000; for cpu 0 to 1; for concurrency a whole number from 0 to 10,000,000; for rate 0 to 10,000,000 calls in any second, of a fraction above 1
	// its whole part, while less than 1 means one call in 1/limit seconds (at least one a day). Not for responseTime. Calls are refused while load or cpu is above it, and when they would make concurrency or rate pass it. Default 0.
	Limit float64 `rule:"limit"`
	// SlowerThan is above which mean response time calls are refused, 1µs to 1h. Required for responseTime, and only for it.
	SlowerThan time.Duration `rule:"slowerThan"`
	// Admission is what becomes of calls while the limit of load or cpu is passed: bbr or refuse. Default bbr. Only for these.
	Admission Admission `rule:"admission"`
	// Shadow makes the rule say what it would have refused, and refuse nothing. Default false.
	Shadow bool `rule:"shadow"`
}

// Meta returns what the rule has in common with rules of other kinds. A system rule is for no resource: its match names the metric, from which its id is derived.
func (r Rule) Meta() rule.Meta {
	name := "system" // of a rule that lacks the metric, for messages
	if r.Metric != 0 {
		name = r.Metric.String()
	}
	return rule.Meta{ID: r.ID, Resource: rule.Name(name), Shadow: r.Shadow}
}

// WithID returns a copy with another id.
func (r Rule) WithID(id string) Rule {
	r.ID = id
	return r
}

// Equal reports whether both are the same in every field, as written: a default left out differs from one spelled out.
func (r Rule) Equal(o Rule) bool { return r == o }

// limit returns the limit as refusals tell it: of a response time in seconds.
func (r *Rule) limit() float64 {
	if r.Metric == ResponseTime {
		return r.SlowerThan.Seconds()
	}
	return r.Limit
}
