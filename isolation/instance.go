package isolation

import (
	"fmt"
	"slices"
	"strings"
)

// Instance is one instance of a service, as its registry lists it.
type Instance struct {
	// Address identifies the instance within its group. Required.
	Address string
	// Weight is its share of the traffic relative to others'; 1e-6 to 1e12 (what is out of that is drawn in); default 1. What is
	// not finite or below 0 counts as 1. An instance that shall
	// get no calls is not weighted 0 but Drained.
	Weight float64
	// Region is where it stands; "" if that is not known.
	Region string
	// Drained instances get no calls, and are nobody's peers.
	Drained bool
	// Unreachable instances are treated as drained ones, but count as listed and not in service when it is asked how much of their region is. It is for those who keep
	// connections, and know before a call that an instance has none.
	Unreachable bool
}

// Outcome is what a call to an instance came to.
type Outcome uint8

const (
	// Success is an answer, be it one that says no: the instance works.
	Success Outcome = iota
	// Failure is a failure of the instance: no answer in time, an internal error.
	Failure
	// Throttled is an answer by which the instance protects itself, as status 429. It counts as a failure in the rate, since its peers may have room; but it
	// neither lengthens nor ends a run of local errors, and it decides no probe.
	Throttled
	// LocalError is a failure before the instance got the call: no connection. It is a failure, and counts in Rule.LocalErrors.
	LocalError
	// Ignored says nothing about the instance: the call was never sent, say. So does a number that is none of these.
	Ignored
	// Abandoned is a call whose caller gave up while it waited. That may be the caller's affair, and is Ignored; but it counts as a Failure if the caller
	// had waited for at least a second and ten times as long as the instance's successes lately took (if there were any), or nobody would notice an
	// instance that hangs while its callers have less patience than the call's deadline. See Call.Counts.
	Abandoned
)

// String returns "success", "failure", "throttled", "local error", "ignored" or "abandoned".
func (o Outcome) String() string {
	names := [...]string{"success", "failure", "throttled", "local error", "ignored", "abandoned"}
	if int(o) < len(names) {
		return names[o]
	}
	return fmt.Sprintf("outcome(%d)", uint8(o))
}

// State is where an instance stands.
type State uint8

const (
	// InService: it gets its share of the traffic.
	InService State = iota
	// SlowStart: it gets a share that grows.
	SlowStart
	// Quarantined: it gets no calls until a time that is known.
	Quarantined
	// Probing: its quarantine is over, and it gets single calls, one at a time.
	Probing
	// Held: it is sick, but so many are out that it stays in service.
	Held
	// PinnedOut: it was taken out by hand.
	PinnedOut
	// PinnedIn: it is kept in service by hand.
	PinnedIn
	// Drained: the registry lists it as not to be called.
	Drained
	// Unreachable: it is listed as one that nobody is connected to.
	Unreachable
)

// states returns the names of all states.
func states() []string {
	return []string{"in service", "slow start", "quarantined", "probing", "held", "pinned out", "pinned in", "drained", "unreachable"}
}

// String returns "in service", "slow start", "quarantined", "probing", "held", "pinned out", "pinned in", "drained" or "unreachable".
func (s State) String() string {
	if names := states(); int(s) < len(names) {
		return names[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// MarshalText writes the state as String does.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (s *State) UnmarshalText(text []byte) error {
	names := states()
	i := slices.Index(names, string(text))
	if i < 0 {
		return fmt.Errorf("isolation: no such state: %q; want one of %s", text, strings.Join(names, ", "))
	}
	*s = State(i)
	return nil
}
