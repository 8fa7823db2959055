package breaker

// State is a breaker's state.
type State uint8

const (
	// Closed lets all calls pass and watches them.
	Closed State = iota
	// Open refuses all calls until its time is over.
	Open
	// HalfOpen lets single probes pass.
	HalfOpen
	// ForcedOpen refuses all calls until it is released by hand.
	ForcedOpen
	// ForcedClosed lets all calls pass and never opens, still counting, until it is released by hand.
	ForcedClosed
	// Disabled lets all calls pass and counts nothing, until it is released by hand.
	Disabled
)

// Values returns the names of all states, as documents write them.
func (State) Values() []string {
	return []string{"closed", "open", "halfOpen", "forcedOpen", "forcedClosed", "disabled"}
}

// String returns "closed", "open", "halfOpen", "forcedOpen", "forcedClosed" or "disabled".
func (s State) String() string { return enumName(uint8(s), "state", s.Values()) }

// MarshalText writes the state as String does; an unknown one is an error.
func (s State) MarshalText() ([]byte, error) { return enumText(uint8(s), "state", s.Values()) }

// UnmarshalText reads what MarshalText writes.
func (s *State) UnmarshalText(text []byte) error {
	i, err := enumValue(text, "state", s.Values())
	if err == nil {
		*s = State(i)
	}
	return err
}
