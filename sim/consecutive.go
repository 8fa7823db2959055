package sim

import (
	"fmt"
	"time"

	"github.com/cordon-go/cordon/isolation"
)

// Consecutive puts an instance out for a constant time after failures in a row, and then takes it back as it is. With all of them out there is none to call.
type Consecutive struct {
	// Failures is how many; default 5.
	Failures int
	// Out is for how long; default 30s.
	Out time.Duration
}

// String returns "consecutive".
func (Consecutive) String() string { return "consecutive" }

// Open begins a client's view.
func (c Consecutive) Open(e Environment) (Session, error) {
	if c.Failures == 0 {
		c.Failures = 5
	}
	if c.Out == 0 {
		c.Out = 30 * time.Second
	}
	if c.Failures < 0 || c.Out < 0 {
		return nil, fmt.Errorf("consecutive: %d failures, out for %v; want both above 0", c.Failures, c.Out)
	}
	return &consecutiveSession{pool: newPool[run](e, closed), settings: c}, nil
}

// run is how many failures there were in a row.
type run int

type consecutiveSession struct {
	pool[run]
	settings Consecutive
}

func (s *consecutiveSession) Pick(now time.Duration, try Try) (Choice, bool) {
	s.Tick(now)
	m := s.pick(try.Tried)
	if m == nil {
		return Choice{}, false
	}
	return Choice{ID: m.id}, true
}

func (s *consecutiveSession) Done(now time.Duration, c Choice, outcome isolation.Outcome, _ time.Duration) {
	m := s.byID[c.ID]
	if m == nil || m.out {
		return
	}
	if outcome == isolation.Success {
		m.state = 0
	} else if m.state++; int(m.state) >= s.settings.Failures {
		m.state = 0
		s.put(now, m, s.settings.Out, "failures in a row")
	}
}

func (s *consecutiveSession) Tick(now time.Duration) {
	if now < s.due {
		return
	}
	s.due = Forever
	for _, m := range s.members {
		if !m.out {
			continue
		}
		if m.until <= now {
			s.readmit(now, m)
		} else {
			s.due = min(s.due, m.until)
		}
	}
}
