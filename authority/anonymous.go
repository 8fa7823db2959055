package authority

import (
	"fmt"
	"slices"
)

// Anonymous says what becomes of calls without an origin.
type Anonymous uint8

const (
	// Pass lets them pass.
	Pass Anonymous = iota
	// Refuse refuses them.
	Refuse
)

var anonymousNames = [...]string{Pass: "pass", Refuse: "refuse"}

// String returns pass or refuse.
func (a Anonymous) String() string {
	if int(a) < len(anonymousNames) {
		return anonymousNames[a]
	}
	return fmt.Sprintf("Anonymous(%d)", uint8(a))
}

// Values returns the names, as documents write them.
func (Anonymous) Values() []string { return slices.Clone(anonymousNames[:]) }

// MarshalText is String, and an error for an unknown value.
func (a Anonymous) MarshalText() ([]byte, error) {
	if int(a) >= len(anonymousNames) {
		return nil, fmt.Errorf("authority: anonymous %d is unknown: want 0 to %d", uint8(a), len(anonymousNames)-1)
	}
	return []byte(anonymousNames[a]), nil
}

// UnmarshalText reads what String writes.
func (a *Anonymous) UnmarshalText(text []byte) error {
	i := slices.Index(anonymousNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("unknown value %q of anonymous", text)
	}
	*a = Anonymous(i)
	return nil
}
