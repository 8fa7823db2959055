package isolation

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// EventKind is what happened.
type EventKind uint8

const (
	// EventQuarantined: an instance was put out of service, by a verdict or by failed probes.
	EventQuarantined EventKind = iota
	// EventProbing: an instance's quarantine is over; calls probe it.
	EventProbing
	// EventReadmitted: its probes succeeded; its share of the traffic begins to grow.
	EventReadmitted
	// EventInService: it has its whole share again.
	EventInService
	// EventHeld: a sick instance stays in service, or goes back, since too many are out and others are worse.
	EventHeld
	// EventFallbackOn: nearly all are sick, all are put back in service, and no verdicts are passed.
	EventFallbackOn
	// EventFallbackOff: isolation works again.
	EventFallbackOff
	// EventPinned and EventUnpinned: by hand. A pin that expires ends with EventUnpinned too.
	EventPinned
	EventUnpinned
)

// eventKinds returns the names of all kinds.
func eventKinds() []string {
	return []string{"quarantined", "probing", "readmitted", "in service", "held", "fallback on", "fallback off", "pinned", "unpinned"}
}

// String returns "quarantined", "probing", "readmitted", "in service", "held", "fallback on", "fallback off", "pinned" or "unpinned".
func (k EventKind) String() string {
	if names := eventKinds(); int(k) < len(names) {
		return names[k]
	}
	return fmt.Sprintf("event(%d)", uint8(k))
}

// MarshalText writes the kind as String does.
func (k EventKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (k *EventKind) UnmarshalText(text []byte) error {
	names := eventKinds()
	i := slices.Index(names, string(text))
	if i < 0 {
		return fmt.Errorf("isolation: no such kind of event: %q; want one of %s", text, strings.Join(names, ", "))
	}
	*k = EventKind(i)
	return nil
}

// Evidence is the numbers that a verdict rests on.
type Evidence struct {
	// Criterion is what found the instance sick: "peers" (its failure rate against theirs), "gross" (the same, for large differences), "absolute" (MinSuccessRate),
	// "local errors" (a run of them), "probes" (its probes failed) or "alone" (it fails while all its peers are out, under a rule with MayEmpty).
	Criterion string `json:"criterion,omitempty"`
	// Calls and Failures are the instance's own since Since; PeerCalls and PeerFailures those of its peers in the same time.
	Calls        int64 `json:"calls"`
	Failures     int64 `json:"failures"`
	PeerCalls    int64 `json:"peerCalls"`
	PeerFailures int64 `json:"peerFailures"`
	// Since is the reading of the clock at which the instance and its peers began to differ.
	Since time.Duration `json:"since"`
	// Nats is how strongly the numbers speak against the instance, and Bound how strongly they must, for the criteria that compare with
	// peers and for "alone". For "absolute" they are the share of successes and MinSuccessRate, for the others the failures and how many it takes.
	Nats  float64 `json:"nats"`
	Bound float64 `json:"bound"`
}

// Rate returns the instance's failure rate, 0 without calls.
func (e *Evidence) Rate() float64 { return rate(e.Failures, e.Calls) }

// PeerRate returns the peers' failure rate, 0 without calls.
func (e *Evidence) PeerRate() float64 { return rate(e.PeerFailures, e.PeerCalls) }

func rate(failures, calls int64) float64 {
	if calls <= 0 {
		return 0
	}
	return float64(failures) / float64(calls)
}

// String says in words what the numbers are.
func (e Evidence) String() string {
	own := fmt.Sprintf("%d of %d calls failed (%s)", e.Failures, e.Calls, percent(e.Rate()))
	others := fmt.Sprintf("%d of %d calls to its peers did (%s)", e.PeerFailures, e.PeerCalls, percent(e.PeerRate()))
	switch e.Criterion {
	case "":
		return "nothing speaks against it"
	case "absolute":
		return fmt.Sprintf("%s, %s succeeded, the rule wants %s", own, percent(e.Nats), percent(e.Bound))
	case "local errors":
		return fmt.Sprintf("%.0f calls in a row could not reach it, while %s", e.Nats, others)
	case alone:
		return fmt.Sprintf("%s while all its peers are out: %.1f nats, it takes %.1f", own, e.Nats, e.Bound)
	case "probes":
		return fmt.Sprintf("%d of %d probes failed, while %s", e.Failures, e.Calls, others)
	}
	return fmt.Sprintf("%s while %s: %.1f nats, it takes %.1f", own, others, e.Nats, e.Bound)
}

// Event is one decision with the numbers that led to it.
type Event struct {
	// Service, Region and Address say whose; Address is "" for the fallback's.
	Service string `json:"service"`
	Address string `json:"address,omitempty"`
	Region  string `json:"region,omitempty"`
	// Group is the group's name, which tells it from others of the same service; "" if it has none.
	Group string `json:"group,omitempty"`
	// Kind is what happened, At the reading of the clock at which it did.
	Kind EventKind     `json:"kind"`
	At   time.Duration `json:"at"`
	// Reason says in words why.
	Reason string `json:"reason"`
	// RuleID is the rule that decided.
	RuleID string `json:"rule,omitempty"`
	// Evidence is what a verdict rests on; Criterion is "" where there was none.
	Evidence Evidence `json:"evidence"`
	// Strikes is the instance's after the event, as InstanceSnapshot has it: 1 for its first quarantine.
	Strikes float64 `json:"strikes"`
	// Until is when what begins with the event ends by itself: the quarantine, the slow start (EventReadmitted) or the pin. 0 if that is not known, as for a pin
	// without an end, or if nothing begins.
	Until time.Duration `json:"until,omitempty"`
	// Sick and Instances are how many are sick (out of service, or held in it), and how many there are.
	Sick      int `json:"sick"`
	Instances int `json:"instances"`
	// Shadow is true when the rule only says so and does nothing.
	Shadow bool `json:"shadow,omitempty"`
}
