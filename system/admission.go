package system

import (
	"fmt"
	"slices"
)

// Admission says what a rule on Load or CPU does while its limit is passed.
type Admission uint8

const (
	// BBR admits as many calls as the process has lately shown to be able to work on without queueing: the most that ended per second times the least mean response time,
	// and at least one. It is Sentinel's check of that name.
	BBR Admission = iota
	// Refuse refuses all inbound calls.
	Refuse
)

var admissionNames = [...]string{BBR: "bbr", Refuse: "refuse"}

// String returns the admission as documents write it: bbr or refuse.
func (a Admission) String() string {
	if int(a) < len(admissionNames) {
		return admissionNames[a]
	}
	return fmt.Sprintf("Admission(%d)", uint8(a))
}

// Values returns the admissions as documents write them.
func (Admission) Values() []string { return slices.Clone(admissionNames[:]) }

// MarshalText is String, and an error for an unknown admission.
func (a Admission) MarshalText() ([]byte, error) {
	if int(a) >= len(admissionNames) {
		return nil, fmt.Errorf("system: admission %d is unknown: want 0 to %d", uint8(a), len(admissionNames)-1)
	}
	return []byte(admissionNames[a]), nil
}

// UnmarshalText reads what String writes.
func (a *Admission) UnmarshalText(text []byte) error {
	i := slices.Index(admissionNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown admission %q", text)
	}
	*a = Admission(i)
	return nil
}
