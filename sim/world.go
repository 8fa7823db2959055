package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cordon-go/cordon/isolation"
)

// world is a scenario while it is played.
type world struct {
	scenario *Scenario
	now      time.Duration
	line     timeline
	chance   *rand.Rand // decides over outcomes and latencies

	servers []server
	common  weather
	tracks  []track
	callers []caller
	loads   []load

	calls     []call
	freeCalls []int32
	jobs      []job
	freeJobs  []int32
	sleepers  []sleeper
	freeSleep []int32 // places in sleepers

	relistAt []time.Duration // ascending
	book     book
	fault    error // ends the run
}

// sleeper is a timer of a guard's; guard is nil for a function to be called.
type sleeper struct {
	guard *guardian
	timer *virtualTimer
}

// What random streams are for. Each has its own, so that a change in one leaves the others as they were.
const (
	forOutcomes = iota + 1
	forTracks
	forLoads
	forSessions
	forRetries
)

// stream returns the random numbers for one purpose.
func (w *world) stream(purpose, index int) *rand.Rand {
	return rand.New(rand.NewPCG(w.scenario.Seed, mix(uint64(purpose)<<32|uint64(index))))
}

// mix spreads a number over all bits (SplitMix64's finish).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// newWorld builds the world of a scenario that is normal.
func newWorld(s *Scenario, p Policy) (*world, error) {
	w := &world{scenario: s}
	w.chance = w.stream(forOutcomes, 0)
	w.book.begin(s)
	if err := w.addServers(); err != nil {
		w.close()
		return nil, err
	}
	if err := w.addCallers(p); err != nil {
		w.close()
		return nil, err
	}
	w.addTracks()
	w.addLists()
	w.line.add(s.Tick, ticks, 0, 0)
	w.line.add(s.Bucket, completes, 0, 0)
	return w, nil
}

func (w *world) addServers() error {
	s := w.scenario
	w.servers = make([]server, len(s.Instances))
	for i := range w.servers {
		v := &w.servers[i]
		v.spec = &s.Instances[i]
		v.first, v.last = none, none
		v.stale = true
		if v.spec.Guard == nil {
			continue
		}
		g, err := newGuardian(v.spec.Guard, w, "", nil)
		if err != nil {
			return fmt.Errorf("sim: instances[%d] (%s): guard: %w", i, v.spec.Address, err)
		}
		v.guard = g
	}
	return nil
}

func (w *world) addCallers(p Policy) error {
	s := w.scenario
	w.callers = make([]caller, len(s.Clients))
	for i := range w.callers {
		c := &w.callers[i]
		c.spec = &s.Clients[i]
		c.chance = w.stream(forRetries, i)
		var resources []string
		for j := range c.spec.Loads {
			l := &c.spec.Loads[j]
			w.addLoad(i, l)
			if !slices.Contains(resources, l.Resource) {
				resources = append(resources, l.Resource)
			}
		}
		policy := c.spec.Policy
		if policy == nil {
			policy = p
		}
		if policy == nil {
			return fmt.Errorf("sim: clients[%d] (%s): no policy; want one, or one given to Run", i, c.spec.Name)
		}
		session, err := policy.Open(Environment{
			Service: s.Name, Client: i, Region: c.spec.Region, Seed: w.stream(forSessions, i).Uint64() | 1, Instances: len(s.Instances),
			Decided: func(e Event) {
				e.Client = i
				w.book.decided(w.now, e)
			},
		})
		if err != nil {
			return fmt.Errorf("sim: clients[%d] (%s): %w", i, c.spec.Name, err)
		}
		c.session = session
		if c.spec.Guard == nil {
			continue
		}
		if c.guard, err = newGuardian(c.spec.Guard, w, c.spec.Name, resources); err != nil {
			return fmt.Errorf("sim: clients[%d] (%s): guard: %w", i, c.spec.Name, err)
		}
	}
	return nil
}

// addTracks begins all scripts.
func (w *world) addTracks() {
	add := func(script Script, owner int32) {
		i := len(w.tracks)
		w.tracks = append(w.tracks, track{owner: owner, next: script.Play(w.stream(forTracks, i)), name: fmt.Sprintf("%T", script)})
		w.turn(int32(i))
	}
	for _, script := range w.scenario.Common {
		add(script, none)
	}
	for i := range w.servers {
		v := &w.servers[i]
		v.firstTrack = len(w.tracks)
		for _, script := range v.spec.Ill {
			add(script, int32(i))
			v.endTrack = len(w.tracks)
		}
	}
}

// addLists finds out when the registry's list changes, and gives the clients the first one.
func (w *world) addLists() {
	for i := range w.servers {
		for _, spans := range [][]Span{w.servers[i].spec.Absent, w.servers[i].spec.Drained} {
			for _, s := range spans {
				w.relistAt = append(w.relistAt, s.From, s.until())
			}
		}
	}
	slices.Sort(w.relistAt)
	w.relistAt = slices.Compact(w.relistAt)
	for _, at := range w.relistAt {
		if at > 0 && at < w.scenario.Length {
			w.line.add(at, relists, 0, 0)
		}
	}
	w.relist()
}

// relist tells the clients what the registry lists now.
func (w *world) relist() {
	var list []Listed
	for i := range w.servers {
		spec := w.servers[i].spec
		if within := func(spans []Span) bool {
			return slices.ContainsFunc(spans, func(s Span) bool { return s.Contains(w.now) })
		}; !within(spec.Absent) {
			list = append(list, Listed{ID: i, Instance: isolation.Instance{
				Address: spec.Address, Weight: spec.Weight, Region: spec.Region, Drained: within(spec.Drained),
			}})
		}
	}
	for i := range w.callers {
		w.callers[i].session.Update(w.now, slices.Clone(list))
	}
}

// play runs the world to its end.
func (w *world) play() error {
	for len(w.line.heap) > 0 && w.fault == nil {
		d := w.line.next()
		if d.at >= w.scenario.Length {
			break
		}
		w.now = d.at
		w.happen(&d)
	}
	w.now = w.scenario.Length
	return w.fault
}

func (w *world) happen(d *due) {
	switch d.kind {
	case arrives:
		w.arrive(d)
	case changes:
		w.turn(d.ref)
	case ends:
		if j := &w.jobs[d.ref]; j.gen == d.gen {
			w.endJob(d.ref)
		}
	case timesOut:
		if j := &w.jobs[d.ref]; j.gen == d.gen {
			w.timeOut(d.ref)
		}
	case retries:
		w.try(d.ref)
	case wakes:
		s := w.sleepers[d.ref]
		w.sleepers[d.ref] = sleeper{}
		w.freeSleep = append(w.freeSleep, d.ref)
		if s.guard == nil {
			if s.timer.Stop() {
				s.timer.f()
			}
			return
		}
		s.guard.wake(s.timer, w.admitted)
	case adjusts:
		w.adjust(d)
	case relists:
		w.relist()
	case ticks:
		w.tick()
		w.line.add(w.now+w.scenario.Tick, ticks, 0, 0)
	case completes:
		w.book.complete(w.now, w.callers)
		w.line.add(w.now+w.scenario.Bucket, completes, 0, 0)
	}
}

// tick lets clients do what is due, and looks at weights.
func (w *world) tick() {
	for i := range w.callers {
		w.callers[i].session.Tick(w.now)
	}
	w.book.weigh(w.now, w.callers)
}

// sleepUntil makes a timer fire.
func (w *world) sleepUntil(g *guardian, t *virtualTimer) {
	i := int32(len(w.sleepers))
	if n := len(w.freeSleep); n > 0 {
		i = w.freeSleep[n-1]
		w.freeSleep = w.freeSleep[:n-1]
		w.sleepers[i] = sleeper{g, t}
	} else {
		w.sleepers = append(w.sleepers, sleeper{g, t})
	}
	w.line.add(t.due, wakes, i, 0)
}

// close ends sessions and engines.
func (w *world) close() {
	for i := range w.callers {
		if s := w.callers[i].session; s != nil {
			s.Close()
		}
		if g := w.callers[i].guard; g != nil {
			g.close()
		}
	}
	for i := range w.servers {
		if g := w.servers[i].guard; g != nil {
			g.close()
		}
	}
}
