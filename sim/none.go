package sim

import (
	"time"

	"github.com/cordon-go/cordon/isolation"
)

// None calls any instance at random, by weight, however ill it is.
type None struct{}

// String returns "none".
func (None) String() string { return "none" }

// Open begins a client's view.
func (None) Open(e Environment) (Session, error) {
	return &noneSession{newPool[struct{}](e, closed)}, nil
}

type noneSession struct{ pool[struct{}] }

func (s *noneSession) Pick(_ time.Duration, try Try) (Choice, bool) {
	m := s.pick(try.Tried)
	if m == nil {
		return Choice{}, false
	}
	return Choice{ID: m.id}, true
}

func (s *noneSession) Done(time.Duration, Choice, isolation.Outcome, time.Duration) {}

func (s *noneSession) Tick(time.Duration) {}
