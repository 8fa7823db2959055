package sim

import (
	"time"

	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/isolation"
)

// Cordon is packages isolation and balance themselves.
type Cordon struct {
	// Rule is the rule; nil: the default one.
	Rule *isolation.Rule
	// Balance is how one of the instances in service is chosen. Region and Seed are the kit's.
	Balance balance.Options
	// Label is what the policy is called in tables; default "cordon".
	Label string
}

// String returns the label.
func (c Cordon) String() string {
	if c.Label == "" {
		return "cordon"
	}
	return c.Label
}

// Open makes a group and a balancer.
func (c Cordon) Open(e Environment) (Session, error) {
	s := &cordonSession{ids: make(map[string]int), members: make([]*isolation.Member, e.Instances), weights: make([]float64, e.Instances)}
	r := c.Rule
	if r == nil {
		r = &isolation.Rule{}
	}
	group, err := isolation.NewGroup(e.Service, isolation.Config{Rule: r, Seed: e.Seed, OnEvent: func(ev isolation.Event) {
		id, ok := s.ids[ev.Address]
		if !ok {
			id = int(none)
		}
		e.Decided(Event{Event: ev, Instance: id})
	}})
	if err != nil {
		return nil, err
	}
	o := c.Balance
	o.Region, o.Seed = e.Region, mix(e.Seed)|1
	o.OnRegion = func(ev isolation.Event) {
		if c.Balance.OnRegion != nil {
			c.Balance.OnRegion(ev)
		}
		if ev.Address != "" { // else it is about all regions together
			e.Decided(Event{Event: ev, Instance: int(none)})
		}
	}
	b, err := balance.New(group, o)
	if err != nil {
		group.Close()
		return nil, err
	}
	s.group, s.balancer = group, b
	return s, nil
}

// cordonSession is a client's group and balancer.
type cordonSession struct {
	group    *isolation.Group
	balancer *balance.Balancer
	ids      map[string]int      // by address
	members  []*isolation.Member // by id; nil for those never listed
	weights  []float64           // by id, as the registry lists them; 0 for those not listed or drained
	calls    []balance.Call      // under way, by ticket
	free     []int               // tickets
	tried    []*isolation.Member
}

func (s *cordonSession) Update(now time.Duration, list []Listed) {
	instances := make([]isolation.Instance, len(list))
	clear(s.weights)
	for i, l := range list {
		instances[i] = l.Instance
		s.ids[l.Address] = l.ID
		if !l.Drained {
			s.weights[l.ID] = l.Weight
		}
	}
	s.group.Update(now, instances)
	for _, l := range list {
		s.members[l.ID] = s.group.Member(l.Address)
	}
}

func (s *cordonSession) Pick(now time.Duration, try Try) (Choice, bool) {
	r := balance.Request{Hash: try.Hash}
	if len(try.Tried) > 0 {
		s.tried = s.tried[:0]
		for _, id := range try.Tried {
			s.tried = append(s.tried, s.members[id])
		}
		r.Tried = s.tried
	}
	call, err := s.balancer.Pick(now, r)
	if err != nil {
		return Choice{}, false
	}
	var ticket int
	if n := len(s.free); n > 0 {
		ticket = s.free[n-1]
		s.free = s.free[:n-1]
		s.calls[ticket] = call
	} else {
		ticket = len(s.calls)
		s.calls = append(s.calls, call)
	}
	return Choice{ID: s.ids[call.Member().Address()], Ticket: ticket, Probe: call.Probe()}, true
}

func (s *cordonSession) Done(now time.Duration, c Choice, outcome isolation.Outcome, _ time.Duration) {
	s.calls[c.Ticket].End(now, outcome)
	s.free = append(s.free, c.Ticket)
}

func (s *cordonSession) Tick(now time.Duration) { s.group.Tick(now) }

func (s *cordonSession) Weights(now time.Duration, weights []float64) {
	for id, w := range s.weights {
		if w > 0 {
			weights[id] = 0
		}
	}
	for _, c := range s.group.View(now).Candidates {
		id := s.ids[c.Member.Address()]
		if !c.Probe && s.weights[id] > 0 {
			weights[id] = c.Weight / s.weights[id]
		}
	}
}

func (s *cordonSession) Close() { s.group.Close() }
