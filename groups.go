package cordon

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cordon-go/cordon/isolation"
)

// groups are the groups of instances that an engine keeps up to date, by service. It holds a group until that is closed.
type groups struct {
	// mu guards what follows. It may be taken under applyMu, and nothing is called under it.
	mu        sync.Mutex
	byService map[string][]*group // those of one service in the order in which they were made
}

// group is a group of instances with the rule that it follows.
type group struct {
	*isolation.Group
	eng *Engine

	// mu guards the events on their way to the observers. A rule is set while applyMu is held, under which nobody may be told anything, since
	// observers may call the engine: what that decides waits.
	mu      sync.Mutex
	events  []isolation.Event
	setting bool // a rule is being set
	telling bool // somebody tells the observers
}

// NewGroup returns a new group for the instances of a service: see package isolation for its use. It follows the isolation rule that matches the
// service's name, through all edits of the rules and without losing a quarantine, until it is closed; of several rules in the most specific layer
// that matches, the first one written decides. While none does, all instances are in service. Its readings of time are those of the engine's clock. The name "" is
// a service's as any other: no rule is for it by name, but those by pattern that match it and the default are.
//
// Every call makes another group, and each judges by its own calls alone: make one per service and channel, or route, and Close it with that. The engine
// holds it until then, so the number of groups and of their instances is the caller's to bound. A group of a closed engine has no rule.
func (e *Engine) NewGroup(service string) *isolation.Group { return e.NewNamedGroup(service, "") }

// NewNamedGroup is NewGroup, of a group with a name: what tells it, in snapshots and events, from others of the same service.
func (e *Engine) NewNamedGroup(service, name string) *isolation.Group {
	e.applyMu.Lock()
	defer e.applyMu.Unlock()
	g := &group{eng: e}
	var err error
	g.Group, err = isolation.NewGroup(service, isolation.Config{
		Now: e.clock.Now(), Name: name, OnEvent: g.happened, OnClose: func() { e.groups.remove(service, g) },
	})
	if err != nil {
		panic(err) // only a rule can be wrong, and there is none yet
	}
	g.follow(e.set.Load())
	e.groups.add(service, g)
	return g.Group
}

// Groups returns the groups that were made and not closed, sorted by service; those of one service in the order in which they were made.
func (e *Engine) Groups() []*isolation.Group {
	all := e.groups.all()
	list := make([]*isolation.Group, len(all))
	for i, g := range all {
		list[i] = g.Group
	}
	return list
}

// PinInstance keeps an instance in service (in) or out of it by hand, in all groups of the service that have it, for that long; 0: until UnpinInstance. It
// fails if no group has it (isolation.ErrUnknownInstance), or one of them refuses, as for the last instance in service; the others are pinned all the same. A pin
// is the groups' that there are: one that is made later has none.
func (e *Engine) PinInstance(service, address string, in bool, length time.Duration) error {
	now := e.clock.Now()
	return e.groups.each(service, address, func(g *isolation.Group) error { return g.Pin(now, address, in, length) })
}

// UnpinInstance ends the pins of an instance in all groups of the service. It fails if no group has it (isolation.ErrUnknownInstance).
func (e *Engine) UnpinInstance(service, address string) error {
	now := e.clock.Now()
	return e.groups.each(service, address, func(g *isolation.Group) error { return g.Unpin(now, address) })
}

func (s *groups) add(service string, g *group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byService == nil {
		s.byService = map[string][]*group{}
	}
	s.byService[service] = append(s.byService[service], g)
}

func (s *groups) remove(service string, g *group) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := slices.DeleteFunc(s.byService[service], func(o *group) bool { return o == g })
	if len(left) == 0 {
		delete(s.byService, service)
		return
	}
	s.byService[service] = left
}

// of returns the groups of one service.
func (s *groups) of(service string) []*group {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.byService[service])
}

// all returns all groups, sorted by service.
func (s *groups) all() []*group {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*group
	for _, service := range slices.Sorted(maps.Keys(s.byService)) {
		all = append(all, s.byService[service]...)
	}
	return all
}

// follow brings the rules to all groups. The caller holds applyMu, and calls tell once it does not.
func (s *groups) follow(set *ruleset) {
	for _, g := range s.all() {
		g.follow(set)
	}
}

// tell tells the observers what setting rules has decided. The caller holds no lock.
func (s *groups) tell() {
	for _, g := range s.all() {
		g.tell()
	}
}

// each does something to an instance in all groups of the service that have it.
func (s *groups) each(service, address string, do func(*isolation.Group) error) error {
	var errs []error
	known := false
	for _, g := range s.of(service) {
		switch err := do(g.Group); {
		case errors.Is(err, isolation.ErrUnknownInstance):
			continue
		case err != nil:
			errs = append(errs, err)
		}
		known = true
	}
	if !known {
		errs = append(errs, isolation.ErrUnknownInstance)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cordon: instance %q of service %q: %w", address, service, err)
	}
	return nil
}

// follow brings the group the rule that a ruleset has for it, also if somebody else has set another one meanwhile. The caller holds applyMu.
func (g *group) follow(set *ruleset) {
	g.mu.Lock()
	g.setting = true
	g.mu.Unlock()
	err := g.SetRule(g.eng.clock.Now(), set.service(g.Service()))
	g.mu.Lock()
	g.setting = false
	g.mu.Unlock()
	if err != nil {
		panic(err) // rules with a fault are never put in force
	}
}

// happened takes an event of the group.
func (g *group) happened(ev isolation.Event) {
	g.mu.Lock()
	g.events = append(g.events, ev)
	wait := g.setting
	g.mu.Unlock()
	if !wait {
		g.tell()
	}
}

// tell tells the observers of the events that wait, in order, unless somebody does so already, who then goes on with these.
func (g *group) tell() {
	for g.tellOne() {
	}
}

// tellOne tells of the first event that waits. It reports whether it did.
func (g *group) tellOne() bool {
	g.mu.Lock()
	if g.telling || len(g.events) == 0 {
		g.mu.Unlock()
		return false
	}
	ev := g.events[0]
	if g.events = g.events[1:]; len(g.events) == 0 {
		g.events = nil
	}
	g.telling = true
	g.mu.Unlock()
	defer func() { // an observer may end its goroutine
		g.mu.Lock()
		g.telling = false
		g.mu.Unlock()
	}()
	g.eng.notifyIsolation(IsolationEvent{Event: ev, Time: g.eng.clock.Wall(ev.At)})
	return true
}
