package breaker

import (
	"fmt"
	"slices"
	"strings"
)

// Trip says what opens a breaker.
type Trip uint8

const (
	// ErrorRatio opens at a share of failed calls of at least Threshold.
	ErrorRatio Trip = iota
	// SlowRatio opens at a share of calls slower than SlowerThan of at least Threshold. It does not look at failures: a
	// call that fails fast is a good one, a probe too.
	SlowRatio
	// ErrorCount opens at Threshold failed calls in the window.
	ErrorCount
	// Consecutive opens at Threshold failed calls in a row.
	Consecutive
)

// Values returns the names of all trips, as documents write them.
func (Trip) Values() []string {
	return []string{"errorRatio", "slowRatio", "errorCount", "consecutive"}
}

// String returns "errorRatio", "slowRatio", "errorCount" or "consecutive".
func (t Trip) String() string { return enumName(uint8(t), "trip", t.Values()) }

// MarshalText writes the trip as String does; an unknown one is an error.
func (t Trip) MarshalText() ([]byte, error) { return enumText(uint8(t), "trip", t.Values()) }

// UnmarshalText reads what MarshalText writes.
func (t *Trip) UnmarshalText(text []byte) error {
	i, err := enumValue(text, "trip", t.Values())
	if err == nil {
		*t = Trip(i)
	}
	return err
}

// ratio reports whether the threshold is a share of calls, not a number of them.
func (t Trip) ratio() bool { return t == ErrorRatio || t == SlowRatio }

func enumName(value uint8, what string, names []string) string {
	if int(value) < len(names) {
		return names[value]
	}
	return fmt.Sprintf("%s(%d)", what, value)
}

func enumText(value uint8, what string, names []string) ([]byte, error) {
	if int(value) < len(names) {
		return []byte(names[value]), nil
	}
	return nil, fmt.Errorf("breaker: no such %s: %d; want one of %s", what, value, strings.Join(names, ", "))
}

func enumValue(text []byte, what string, names []string) (int, error) {
	if i := slices.Index(names, string(text)); i >= 0 {
		return i, nil
	}
	return 0, fmt.Errorf("breaker: no such %s: %q; want one of %s", what, text, strings.Join(names, ", "))
}
