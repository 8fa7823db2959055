package sim

import (
	"math"
	"time"

	"github.com/cordon-go/cordon/isolation"
)

// Finagle is a model of Finagle's failure accrual with its defaults: an instance is marked dead when the moving average of its success rate over 30 s is
// below .8, or after five failures in a row; for 5 s, doubled each time up to 300 s, half of it at random. Then one call probes it: if that fails it is dead for longer, if not
// all is forgotten. With all of them dead all are called.
type Finagle struct{}

// String returns "Finagle".
func (Finagle) String() string { return "Finagle" }

// Open begins a client's view.
func (Finagle) Open(e Environment) (Session, error) {
	s := &finagleSession{}
	s.pool = newPool[accrual](e, s.allDead)
	return s, nil
}

const (
	finagleWindow  = 30 * time.Second
	finagleRate    = .8
	finagleInRow   = 5
	finagleMinimum = 5 // calls
	finagleBase    = 5 * time.Second
	finagleMax     = 300 * time.Second
)

// accrual is what is known of an instance.
type accrual struct {
	average    float64
	calls      int
	since, at  time.Duration // of the average: its first and its last call
	inRow      int
	times      int  // it was marked dead in a row
	probing    bool // its time is over: the next call probes it
	underProbe bool // and is under way
}

type finagleSession struct{ pool[accrual] }

// allDead reports whether nobody is left.
func (s *finagleSession) allDead() bool {
	for _, m := range s.members {
		if !m.out {
			return false
		}
	}
	return true
}

func (s *finagleSession) Pick(now time.Duration, try Try) (Choice, bool) {
	s.Tick(now)
	m := s.pick(try.Tried)
	if m == nil {
		return Choice{}, false
	}
	if !m.state.probing {
		return Choice{ID: m.id}, true
	}
	m.state.probing, m.state.underProbe = false, true
	m.out = true // for everyone else
	s.stale = true
	return Choice{ID: m.id, Probe: true}, true
}

func (s *finagleSession) Done(now time.Duration, c Choice, outcome isolation.Outcome, _ time.Duration) {
	m := s.byID[c.ID]
	if m == nil {
		return
	}
	a := &m.state
	failed := outcome != isolation.Success
	if c.Probe && a.underProbe {
		a.underProbe = false
		if failed {
			s.markDead(now, m, "probe failed")
			return
		}
		*a = accrual{}
		s.readmit(now, m)
	}
	if m.out || a.probing {
		return // a late result, or one while all are called
	}
	if dead, why := a.count(now, failed); dead {
		s.markDead(now, m, why)
	}
}

// count counts a result, and reports whether and why it is one too many.
func (a *accrual) count(now time.Duration, failed bool) (dead bool, why string) {
	result := 1.
	a.inRow++
	if failed {
		result = 0
	} else {
		a.inRow = 0
	}
	if a.calls == 0 {
		a.average, a.since = result, now
	} else {
		old := math.Exp(-float64(now-a.at) / float64(finagleWindow))
		a.average = a.average*old + result*(1-old)
	}
	a.calls++
	a.at = now
	switch {
	case a.inRow >= finagleInRow:
		return true, "failures in a row"
	case failed && a.average < finagleRate && now-a.since >= finagleWindow && a.calls >= finagleMinimum:
		return true, "success rate"
	}
	return false, ""
}

func (s *finagleSession) markDead(now time.Duration, m *member[accrual], why string) {
	times := m.state.times
	m.state = accrual{times: times + 1}
	length := float64(min(finagleBase<<min(times, 16), finagleMax))
	s.put(now, m, time.Duration(length/2+s.chance.Float64()*length/2), why)
}

// Tick lets those be probed whose time is over.
func (s *finagleSession) Tick(now time.Duration) {
	if now < s.due {
		return
	}
	s.due = Forever
	for _, m := range s.members {
		if !m.out || m.state.underProbe {
			continue
		}
		if m.until <= now {
			m.state.probing = true
			m.out = false // for the one call that probes it
			s.stale = true
		} else {
			s.due = min(s.due, m.until)
		}
	}
}

// Weights says who is out, or only to be probed.
func (s *finagleSession) Weights(now time.Duration, weights []float64) {
	s.pool.Weights(now, weights)
	for _, m := range s.members {
		if m.state.probing {
			weights[m.id] = 0
		}
	}
}
