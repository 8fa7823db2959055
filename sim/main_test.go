package sim_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/isolation"
	"github.com/cordon-go/cordon/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// play runs a scenario that must be good.
func play(t *testing.T, s sim.Scenario, p sim.Policy) *sim.Result {
	t.Helper()
	r, err := sim.Run(s, p)
	require.NoError(t, err)
	return r
}

// one is a client with one load.
func one(rate float64) []sim.Client { return []sim.Client{{Loads: []sim.Load{{Rate: rate}}}} }

// steady is a client whose calls come at equal distances.
func steady(rate float64) []sim.Client {
	return []sim.Client{{Loads: []sim.Load{{Rate: rate, Steady: true}}}}
}

// A watcher is a policy of a test: it calls the listed instances in turn, not those that were tried if there are others, and notes everything.
type watcher struct {
	t     *testing.T
	seen  []seen
	lists [][]sim.Listed
	// decide is asked at every tick; nil: nothing is decided.
	decide func(now time.Duration, decided func(sim.Event))
	// weight is what all instances have; default 1.
	weight func(now time.Duration, id int) float64
	empty  func(now time.Duration) bool
}

type seen struct {
	id         int
	begun, end time.Duration
	outcome    isolation.Outcome
	latency    time.Duration
	over       bool
}

func (w *watcher) String() string { return "watcher" }

func (w *watcher) Open(e sim.Environment) (sim.Session, error) {
	require.NotZero(w.t, e.Seed)
	return &watching{w: w, e: e}, nil
}

type watching struct {
	w    *watcher
	e    sim.Environment
	list []sim.Listed
	turn int
}

func (s *watching) Update(_ time.Duration, list []sim.Listed) {
	s.list = list
	s.w.lists = append(s.w.lists, list)
}

func (s *watching) Pick(now time.Duration, try sim.Try) (sim.Choice, bool) {
	if len(s.list) == 0 || s.w.empty != nil && s.w.empty(now) {
		return sim.Choice{}, false
	}
	id := -1
	for range s.list {
		s.turn++
		id = s.list[s.turn%len(s.list)].ID
		if !contains(try.Tried, id) {
			break
		}
	}
	s.w.seen = append(s.w.seen, seen{id: id, begun: now})
	return sim.Choice{ID: id, Ticket: len(s.w.seen) - 1}, true
}

func contains(list []int, id int) bool {
	for _, x := range list {
		if x == id {
			return true
		}
	}
	return false
}

func (s *watching) Done(now time.Duration, c sim.Choice, o isolation.Outcome, latency time.Duration) {
	x := &s.w.seen[c.Ticket]
	if x.over || x.id != c.ID || latency != now-x.begun {
		s.w.t.Errorf("at %v: %+v ends as %+v, after %v; want each try to end once, after what it took", now, x, c, latency)
	}
	x.end, x.outcome, x.latency, x.over = now, o, latency, true
}

func (s *watching) Tick(now time.Duration) {
	if s.w.decide != nil {
		s.w.decide(now, s.e.Decided)
	}
}

func (s *watching) Weights(now time.Duration, weights []float64) {
	if s.w.weight != nil {
		for id := range weights {
			weights[id] = s.w.weight(now, id)
		}
	}
}

func (s *watching) Close() {}
