package isolation

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/rule"
)

// Config is what a Group is made with.
type Config struct {
	// Rule is the rule; nil: all instances are in service.
	Rule *Rule
	// Now is the reading of the clock at which the group is made.
	Now time.Duration
	// Name tells the group from others of the same service, in snapshots and events: as that of a route. May be empty.
	Name string
	// OnEvent is told of every decision, in order, with no lock held; it may call the group. May be nil.
	OnEvent func(Event)
	// OnClose is called once, by Close. May be nil.
	OnClose func()
	// Seed seeds the jitter; 0: a random one.
	Seed uint64
}

// Group is one caller's view of a service.
type Group struct {
	service string
	cfg     Config
	params  atomic.Pointer[params]
	view    atomic.Pointer[View]
	// due is the reading from which on there is something to do.
	due atomic.Int64
	// lookAt is the reading from which on a failure ends a span of strain.
	lookAt  atomic.Int64
	members atomic.Pointer[map[string]*Member]
	muted   atomic.Bool // in a fallback: no verdicts
	all     peers

	// mu guards what follows, the members' standing and the changes of what is above.
	mu      sync.Mutex
	list    []*Member // in the list's order
	regions map[string]*peers
	gone    map[string]remembered
	random  *rand.Rand
	listed  bool // there has been a list
	closed  bool

	counted   tally
	leastOut  float64 // no instance put out is less sick than that
	builtAt   time.Duration
	fallback  *fallback
	strain    strain
	holding   hold
	fallbacks int64
	putOut    int64 // quarantines so far
	// heldReview is when those held are looked at again.
	heldReview time.Duration

	pending []Event
	telling bool
}

// params is the rule in force, ready for use, with what else verdicts depend on. It is immutable.
type params struct {
	rule         Rule
	off          bool    // there is no rule
	odds         float64 // √MinRatio
	kinks        [2]float64
	instances    int
	logInstances float64
	mostStrikes  float64 // more do not lengthen the quarantine
	regions      *params // for the comparison of a region with the group
}

// regionGap is the rule's MinGap when regions are compared: one that fails up to 40 points more often than the others is not lost.
const regionGap = .8

func newParams(r *Rule, instances int) *params {
	p := &params{off: r == nil}
	if r != nil {
		p.rule = *r
	}
	p.rule = p.rule.WithDefaults()
	p.odds = math.Sqrt(p.rule.MinRatio)
	p.kinks = kinks(p.rule.MinGap/2, p.odds)
	p.mostStrikes = math.Ceil(math.Log2(float64(p.rule.Max) / float64(p.rule.Base)))
	regions := *p
	regions.rule.MinGap, regions.rule.GrossRate = regionGap, 1
	regions.kinks = kinks(regionGap/2, p.odds)
	p.regions = &regions
	return p.of(instances)
}

// of returns the params for another number of instances.
func (p *params) of(instances int) *params {
	n := *p
	n.instances = instances
	n.logInstances = math.Log(float64(max(instances, 1)))
	if p.regions != nil {
		n.regions = p.regions.of(instances)
	}
	return &n
}

// NewGroup returns a group without instances. It fails if the rule has a fault (rule.Problems).
func NewGroup(service string, cfg Config) (*Group, error) {
	if err := usable(cfg.Rule); err != nil {
		return nil, err
	}
	if cfg.Seed == 0 {
		cfg.Seed = rand.Uint64()
	}
	g := &Group{
		service: service, cfg: cfg, regions: map[string]*peers{}, gone: map[string]remembered{},
		random: rand.New(rand.NewPCG(cfg.Seed, cfg.Seed)),
	}
	g.params.Store(newParams(cfg.Rule, 0))
	g.members.Store(&map[string]*Member{})
	g.build(cfg.Now)
	return g, nil
}

// usable returns what keeps a group from using a rule: everything that is wrong but the service.
func usable(r *Rule) error {
	if r == nil {
		return nil
	}
	var c checker
	r.check(&c)
	if problems := rule.Problems(c.problems); len(problems.Faults()) > 0 {
		for i := range problems {
			problems[i].Kind, problems[i].RuleID, problems[i].Index = "isolation", r.ID, -1
		}
		return problems
	}
	return nil
}

// Service returns the service's name.
func (g *Group) Service() string { return g.service }

// Name returns what tells the group from others of the same service; it may be empty.
func (g *Group) Name() string { return g.cfg.Name }

// SetRule changes the rule; nil: all instances are in service from now on, and quarantines are forgotten. With another rule quarantines,
// strikes and what was counted go on; under one in shadow all are in service, and the strikes taken there are forgotten when it leaves the shadow. A rule with a fault is
// refused (rule.Problems) and the old one stays. The rule of a group of a cordon.Engine is the engine's to set: another one holds only until the engine's isolation
// rules change, whichever of them.
func (g *Group) SetRule(now time.Duration, r *Rule) error {
	if err := usable(r); err != nil {
		return err
	}
	g.mu.Lock()
	old := g.params.Load()
	p := newParams(r, old.instances)
	if old.off == p.off && old.rule == p.rule {
		g.params.Store(p)
		g.mu.Unlock()
		return nil
	}
	g.params.Store(p)
	newWindow := old.rule.MinSuccessRate != p.rule.MinSuccessRate || old.rule.Window != p.rule.Window
	newCriteria := newWindow || old.off != p.off || (old.rule.LocalErrors == 0) != (p.rule.LocalErrors == 0) || old.rule.MayEmpty != p.rule.MayEmpty
	reset := p.off || p.rule.Shadow != old.rule.Shadow
	if reset && g.fallback != nil {
		g.endFallback(now, "the rule was changed")
	}
	for _, m := range g.list {
		if newCriteria {
			m.setCriteria(p, newWindow)
		}
		if reset {
			g.recover(now, m)
			m.leave(old, p)
		}
	}
	if reset {
		g.recoverGone(old, p)
	}
	if old.rule.Shadow && !p.rule.Shadow {
		g.holding = hold{}
	}
	if p.rule.NoFallback && g.fallback != nil {
		g.endFallback(now, "the rule was changed")
	}
	g.fit(now)
	g.build(now)
	g.mu.Unlock()
	g.tell()
	return nil
}

// View returns who is in service now. It does what is due first, unless another call is at it: then it returns what was in force before.
func (g *Group) View(now time.Duration) *View {
	if int64(now) >= g.due.Load() {
		g.advance(now)
	}
	return g.view.Load()
}

// Tick does what is due: for hosts that want events in time though no call comes.
func (g *Group) Tick(now time.Duration) { g.View(now) }

// Member returns the instance of an address, or nil.
func (g *Group) Member(address string) *Member { return (*g.members.Load())[address] }

// Report counts a call to the instance of an address as Begin and End would, for hosts that do not begin calls here. It reports false if there is
// no such instance (any more), and the call is not counted.
func (g *Group) Report(now time.Duration, address string, o Outcome, latency time.Duration) bool {
	m := g.Member(address)
	if m == nil {
		return false
	}
	g.View(now)
	if c, ok := m.Begin(now); ok {
		c.start = now - latency
		c.End(now, o)
	}
	return true
}

// Close frees what the group holds and calls Config.OnClose. It has no instances from then on (its views' error is ErrClosed). Calls under way may still end.
func (g *Group) Close() {
	g.mu.Lock()
	closed := g.closed
	g.closed = true
	if !closed {
		g.setList(g.builtAt, nil)
		g.gone = map[string]remembered{}
		g.fallback = nil
		g.build(g.builtAt) // which says that it is closed
		g.pending = nil
	}
	g.mu.Unlock()
	if !closed && g.cfg.OnClose != nil {
		g.cfg.OnClose()
	}
}

// event appends an event to those to be told. The caller must hold g.mu, and call tell when it has let it go.
func (g *Group) event(e Event) {
	if g.cfg.OnEvent == nil {
		return
	}
	p := g.params.Load()
	e.Service, e.Group, e.RuleID, e.Shadow = g.service, g.cfg.Name, p.rule.ID, p.rule.Shadow
	if e.Instances == 0 {
		e.Sick, e.Instances = g.counted.sick, g.counted.instances
	}
	g.pending = append(g.pending, e)
}

// tell calls OnEvent for the pending events, unless someone is at it: then that one goes on with ours.
func (g *Group) tell() {
	g.mu.Lock()
	if g.telling {
		g.mu.Unlock()
		return
	}
	g.telling = true
	done := false
	var events []Event
	defer func() {
		if !done { // OnEvent panicked, with the lock let go
			g.mu.Lock()
			g.pending = append(events, g.pending...)
		}
		g.telling = false
		g.mu.Unlock()
	}()
	for len(g.pending) > 0 {
		events = g.pending
		g.pending = nil
		g.mu.Unlock()
		for len(events) > 0 {
			e := events[0]
			events = events[1:]
			g.cfg.OnEvent(e)
		}
		g.mu.Lock()
	}
	done = true
}
