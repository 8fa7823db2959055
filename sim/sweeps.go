package sim

import (
	"fmt"
	"math"
	"time"

	"github.com/cordon-go/cordon/isolation"
)

// What Envoy and gRPC's proposal A50 have in common, with their defaults.
const (
	sweepEvery     = 10 * time.Second
	sweepHosts     = 5   // with the volume
	sweepVolume    = 100 // calls between two sweeps, for the success rate
	sweepDeviation = 1.9
	percentVolume  = 50 // calls between two sweeps, for the failure percentage
	percentLimit   = 85
	ejectionBase   = 30 * time.Second
	ejectionMax    = 300 * time.Second
)

// swept is what is counted between two sweeps.
type swept struct {
	calls, failures int
	multiplier      int // of the next ejection, less one
	inRow           int // failures, for Envoy
}

// sweeper is a session that looks at the instances every ten seconds.
type sweeper struct {
	pool[swept]
	maxEjection float64
	// may reports whether one more may be put out, by the model's rounding.
	may  func() bool
	next time.Duration
}

// eject puts a member out if the cap allows it.
func (s *sweeper) eject(now time.Duration, m *member[swept], why string) {
	if m.out || !s.may() {
		return
	}
	m.state.multiplier++
	s.put(now, m, min(time.Duration(m.state.multiplier)*ejectionBase, ejectionMax), why)
}

// age takes back those whose time is over, and forgets a little of what the others did.
func (s *sweeper) age(now time.Duration) {
	for _, m := range s.members {
		if !m.out {
			m.state.multiplier = max(m.state.multiplier-1, 0)
		} else if m.until <= now {
			m.state.inRow = 0
			s.readmit(now, m)
		}
	}
}

// bySuccessRate puts out whoever is far below the mean.
func (s *sweeper) bySuccessRate(now time.Duration) {
	n, sum := 0, 0.
	for _, m := range s.members {
		if m.state.calls >= sweepVolume {
			n++
			sum += m.state.rate()
		}
	}
	if n < sweepHosts {
		return
	}
	mean, squares := sum/float64(n), 0.
	for _, m := range s.members {
		if m.state.calls >= sweepVolume {
			squares += (m.state.rate() - mean) * (m.state.rate() - mean)
		}
	}
	bound := mean - sweepDeviation*math.Sqrt(squares/float64(n))
	for _, m := range s.members {
		if m.state.calls >= sweepVolume && m.state.rate() < bound {
			s.eject(now, m, "success rate")
		}
	}
}

// byPercentage puts out whoever fails nearly always.
func (s *sweeper) byPercentage(now time.Duration) {
	n := 0
	for _, m := range s.members {
		if m.state.calls >= percentVolume {
			n++
		}
	}
	if n < sweepHosts {
		return
	}
	for _, m := range s.members {
		if m.state.calls >= percentVolume && 100*m.state.failures > percentLimit*m.state.calls {
			s.eject(now, m, "failure percentage")
		}
	}
}

// forget begins to count anew.
func (s *sweeper) forget() {
	for _, m := range s.members {
		m.state.calls, m.state.failures = 0, 0
	}
}

func (s *sweeper) Pick(_ time.Duration, try Try) (Choice, bool) {
	m := s.pick(try.Tried)
	if m == nil {
		return Choice{}, false
	}
	return Choice{ID: m.id}, true
}

// count counts a result and returns whose it is, nil if that one has left.
func (s *sweeper) count(c Choice, failed bool) *member[swept] {
	m := s.byID[c.ID]
	if m == nil {
		return nil
	}
	m.state.calls++
	if failed {
		m.state.failures++
	}
	return m
}

// isSweep reports whether it is time for a sweep.
func (s *sweeper) isSweep(now time.Duration) bool {
	if now < s.next {
		return false
	}
	s.next = now + sweepEvery
	return true
}

// rate returns the share of successes.
func (s *swept) rate() float64 { return 1 - float64(s.failures)/float64(s.calls) }

// Envoy is a model of Envoy's outlier detection with its defaults: whoever fails five times in a row is put out at once, and whoever's success rate
// is more than 1.9 standard deviations below the mean at a sweep, each ten seconds; for 30 s, longer each time, up to 300 s. With less than half in service all
// are called.
type Envoy struct {
	// MaxEjection is which share of the instances may be out, above 0 up to 1; default .5. (Envoy's own is .1, with which none of fewer than
	// ten is ever put out.)
	MaxEjection float64
}

// String returns "Envoy".
func (Envoy) String() string { return "Envoy" }

// Open begins a client's view.
func (e Envoy) Open(env Environment) (Session, error) {
	share, err := ejectionShare(e.MaxEjection)
	if err != nil {
		return nil, err
	}
	s := &envoySession{}
	s.sweeper = sweeper{pool: newPool[swept](env, s.panics), maxEjection: share, next: sweepEvery}
	s.may = func() bool { return float64(s.outs()+1) <= s.maxEjection*float64(len(s.members))+1e-9 }
	return s, nil
}

// envoyInRow is how many failures in a row put an instance out.
const envoyInRow = 5

type envoySession struct{ sweeper }

// panics reports whether so few are left that all are called.
func (s *envoySession) panics() bool { return 2*(len(s.members)-s.outs()) < len(s.members) }

func (s *envoySession) Done(now time.Duration, c Choice, outcome isolation.Outcome, _ time.Duration) {
	// A 429 is no 5xx.
	failed := outcome == isolation.Failure || outcome == isolation.LocalError
	m := s.count(c, failed)
	switch {
	case m == nil:
	case !failed:
		m.state.inRow = 0
	default:
		if m.state.inRow++; m.state.inRow >= envoyInRow {
			m.state.inRow = 0
			s.eject(now, m, "consecutive 5xx")
		}
	}
}

func (s *envoySession) Tick(now time.Duration) {
	if !s.isSweep(now) {
		return
	}
	s.age(now)
	s.bySuccessRate(now)
	s.forget()
}

// A50 is a model of gRPC's outlier detection (proposal A50) with its defaults: each ten seconds it puts out whoever's success rate is more than 1.9 standard
// deviations below the mean, and whoever fails more than 85 %; for 30 s, longer each time, up to 300 s. It has no quicker way, and with all of them out there is
// none to call.
type A50 struct {
	// MaxEjection is which share of the instances may be out, above 0 up to 1; default .5. (gRPC's own is .1.)
	MaxEjection float64
}

// String returns "A50".
func (A50) String() string { return "A50" }

// Open begins a client's view.
func (a A50) Open(env Environment) (Session, error) {
	share, err := ejectionShare(a.MaxEjection)
	if err != nil {
		return nil, err
	}
	s := &a50Session{sweeper{pool: newPool[swept](env, closed), maxEjection: share, next: sweepEvery}}
	s.may = func() bool { return float64(s.outs()) < s.maxEjection*float64(len(s.members)) }
	return s, nil
}

type a50Session struct{ sweeper }

func (s *a50Session) Done(_ time.Duration, c Choice, outcome isolation.Outcome, _ time.Duration) {
	s.count(c, outcome != isolation.Success)
}

func (s *a50Session) Tick(now time.Duration) {
	if !s.isSweep(now) {
		return
	}
	s.bySuccessRate(now)
	s.byPercentage(now)
	s.forget()
	s.age(now)
}

func ejectionShare(share float64) (float64, error) {
	if share == 0 {
		return .5, nil
	}
	if !(share > 0 && share <= 1) {
		return 0, fmt.Errorf("max ejection: %v; want a share of the instances above 0 up to 1", share)
	}
	return share, nil
}
