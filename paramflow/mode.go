package paramflow

import (
	"fmt"
	"slices"
)

// Mode says how a limit is enforced.
type Mode uint8

const (
	// Reject refuses what is above the limit (GCRA): in any interval of length T at most Burst + Limit×T/Per of one value pass.
	Reject Mode = iota
	// Pace lets calls of one value pass at even distances of Per/Limit, each waiting for its turn at most MaxWait.
	Pace
	// Concurrency limits how many calls of one value are in flight.
	Concurrency
)

var modeNames = [...]string{Reject: "reject", Pace: "pace", Concurrency: "concurrency"}

// String returns the mode as documents write it: "reject", "pace" or "concurrency".
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// Values returns the modes as documents write them.
func (Mode) Values() []string { return slices.Clone(modeNames[:]) }

// MarshalText is String, and an error for an unknown mode.
func (m Mode) MarshalText() ([]byte, error) {
	if int(m) >= len(modeNames) {
		return nil, fmt.Errorf("paramflow: mode %d is unknown: want 0 to %d", uint8(m), len(modeNames)-1)
	}
	return []byte(modeNames[m]), nil
}

// UnmarshalText reads what String writes.
func (m *Mode) UnmarshalText(text []byte) error {
	i := slices.Index(modeNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown mode %q", text)
	}
	*m = Mode(i)
	return nil
}

const (
	// AbsentValue is the text that calls without the value count as, where the rule counts them. An override may name it.
	AbsentValue = "(absent)"
	// FurtherValue is the text that calls with more values than are looked at count as besides. An override may name it.
	FurtherValue = "(further)"
)

// Absent says what becomes of calls that do not have the value.
type Absent uint8

const (
	// Pass lets them pass, uncounted.
	Pass Absent = iota
	// Count counts them together, as one value.
	Count
)

var absentNames = [...]string{Pass: "pass", Count: "count"}

// String returns the word that documents use: "pass" or "count".
func (a Absent) String() string {
	if int(a) < len(absentNames) {
		return absentNames[a]
	}
	return fmt.Sprintf("Absent(%d)", uint8(a))
}

// Values returns the words that documents use.
func (Absent) Values() []string { return slices.Clone(absentNames[:]) }

// MarshalText is String, and an error for an unknown one.
func (a Absent) MarshalText() ([]byte, error) {
	if int(a) >= len(absentNames) {
		return nil, fmt.Errorf("paramflow: absent %d is unknown: want 0 to %d", uint8(a), len(absentNames)-1)
	}
	return []byte(absentNames[a]), nil
}

// UnmarshalText reads what String writes.
func (a *Absent) UnmarshalText(text []byte) error {
	i := slices.Index(absentNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown word %q", text)
	}
	*a = Absent(i)
	return nil
}
