package isolation

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Preset chooses the values of the fields that a Rule leaves out, for those who do not want to know them.
type Preset uint8

const (
	// Default is for most services: a dead instance goes after a dozen of its calls, and a healthy one practically never.
	Default Preset = iota
	// Careful is for services whose instances differ by nature, or cannot spare one: it looks for larger differences (10 points), wants more
	// evidence, and puts out at most three of ten, rounded up: one of three, two of five.
	Careful
	// Quick is for many small calls that can be retried: it decides on less evidence and on connections refused, and its quarantines begin shorter.
	Quick
)

// Values returns the names of all presets, as documents write them.
func (Preset) Values() []string { return []string{"default", "careful", "quick"} }

// String returns "default", "careful" or "quick".
func (p Preset) String() string {
	if names := p.Values(); int(p) < len(names) {
		return names[p]
	}
	return fmt.Sprintf("preset(%d)", uint8(p))
}

// MarshalText writes the preset as String does; an unknown one is an error.
func (p Preset) MarshalText() ([]byte, error) {
	if names := p.Values(); int(p) < len(names) {
		return []byte(names[p]), nil
	}
	return nil, fmt.Errorf("isolation: no such preset: %d; want one of %s", uint8(p), strings.Join(p.Values(), ", "))
}

// UnmarshalText reads what MarshalText writes.
func (p *Preset) UnmarshalText(text []byte) error {
	i := slices.Index(p.Values(), string(text))
	if i < 0 {
		return fmt.Errorf("isolation: no such preset: %q; want one of %s", text, strings.Join(p.Values(), ", "))
	}
	*p = Preset(i)
	return nil
}

// values returns the fields that rules of the preset leave out.
func (p Preset) values() Rule {
	r := Rule{
		MinGap: .05, MinRatio: 3, Evidence: 14, RateRef: 20, MinFailures: 4, GrossRate: .25,
		MaxWindowCalls: 8000, MaxWindowAge: 30 * time.Minute, LevelCalls: 200, LevelTime: 10 * time.Second, FlightFactor: 2,
		Window: 10 * time.Second, MinCalls: 20,
		Base: 5 * time.Second, Max: 5 * time.Minute, Jitter: .2, StrikeHalfLife: 5 * time.Minute, Remember: 10 * time.Minute,
		Probes: 3, ProbeEvery: 500 * time.Millisecond, ProbeLease: 30 * time.Second,
		PeersNoisy: .05, PeersFailing: .5, PeersMinCalls: 20,
		SlowStart: 15 * time.Second, SlowStartFrom: .1,
		MaxShare: .5, FallbackAt: .7, FallbackHold: 5 * time.Second, FallbackRate: .5,
		RegionMin: .7, RegionBack: .1,
	}
	switch p {
	case Careful:
		r.MinGap, r.Evidence, r.MinFailures, r.GrossRate = .1, 18, 6, .4
		r.MaxShare, r.SlowStart = .3, 30*time.Second
	case Quick:
		r.Evidence, r.MinFailures, r.LocalErrors = 10, 3, 3
		r.Base, r.SlowStart = 2*time.Second, 5*time.Second
	}
	return r
}
