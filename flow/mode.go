package flow

import (
	"fmt"
	"slices"
)

// Mode says how a rate is enforced.
type Mode uint8

const (
	// Reject refuses what would make more than Limit calls in any interval of length Per, whatever its phase: an exact
	// sliding window. An interval includes its start and not its end: a call may come exactly Per after the one it follows.
	// Admissions are counted in up to 224 groups, one by one up to a limit of 96; a larger group counts until its latest
	// call has left the interval, which at most delays one group's share of the limit.
	Reject Mode = iota
	// Smooth refuses what comes faster than Limit per Per beyond Burst (GCRA): in every interval of length T at most
	// Burst + Limit·T/Per.
	Smooth
	// Pace lets calls pass at even distances of Per/Limit, each waiting for its turn at most MaxWait.
	Pace
	// WarmUp is Reject with a limit that grows from Limit/ColdFactor (at least one call) to Limit while there is
	// traffic: Sentinel's warm-up curve. Never more than Limit calls in any interval of length Per. A single call that
	// costs more than the current limit passes when nothing else is in the interval.
	WarmUp
	// WarmUpPace is Pace at the warm-up's current rate: distances shrink from ColdFactor·Per/Limit to Per/Limit.
	WarmUpPace
)

var modeNames = [...]string{Reject: "reject", Smooth: "smooth", Pace: "pace", WarmUp: "warmUp", WarmUpPace: "warmUpPace"}

// String returns the mode as documents write it: "reject", "smooth", "pace", "warmUp" or "warmUpPace".
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
		return nil, fmt.Errorf("flow: mode %d is unknown: want 0 to %d", uint8(m), len(modeNames)-1)
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

// paces reports whether admitted calls wait for a turn.
func (m Mode) paces() bool { return m == Pace || m == WarmUpPace }

// warms reports whether the limit follows the warm-up curve.
func (m Mode) warms() bool { return m == WarmUp || m == WarmUpPace }
