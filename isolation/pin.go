package isolation

import (
	"fmt"
	"time"
)

// Pin keeps an instance in service (in) or out of it by hand, for that long; 0: until Unpin. A pin outlives the instance's leaving the list and coming
// back, as long as it is remembered. The last instance in service cannot be pinned out (ErrLastInstance), unless the rule has MayEmpty; and should the others leave
// later, a pin out ends.
func (g *Group) Pin(now time.Duration, address string, in bool, length time.Duration) error {
	if length < 0 {
		return fmt.Errorf("isolation: pin of %q for %v: want 0 or more", address, length)
	}
	g.mu.Lock()
	err := g.setPin(now, address, in, length)
	g.mu.Unlock()
	g.tell()
	return err
}

func (g *Group) setPin(now time.Duration, address string, in bool, length time.Duration) error {
	m := g.Member(address)
	if m == nil {
		return fmt.Errorf("%w: %q in %q", ErrUnknownInstance, address, g.service)
	}
	if !in && !g.params.Load().rule.MayEmpty && !g.anyOpen(m) {
		return fmt.Errorf("%w: %q of %q", ErrLastInstance, address, g.service)
	}
	g.serve(g.params.Load(), m, now)
	g.count(m, -1)
	m.pin, m.until = pinnedOut, 0
	if in {
		m.pin = pinnedIn
	}
	m.state, m.since, m.good = InService, now, now
	if length > 0 {
		m.until = now + length
	}
	g.count(m, 1)
	g.setGate(now, m)
	g.fit(now)
	g.build(now)
	reason := "kept out of service by hand"
	if in {
		reason = "kept in service by hand"
	}
	g.event(Event{Kind: EventPinned, Address: m.Address(), Region: m.Region(), At: now, Reason: reason, Until: m.until, Strikes: g.strikes(now, m)})
	return nil
}

// Unpin ends a pin. An instance that was out starts slowly. Without a pin it does nothing.
func (g *Group) Unpin(now time.Duration, address string) error {
	g.mu.Lock()
	m := g.Member(address)
	if m == nil {
		g.mu.Unlock()
		return fmt.Errorf("%w: %q in %q", ErrUnknownInstance, address, g.service)
	}
	if m.pin != notPinned {
		g.unpin(now, m, "by hand")
		g.build(now)
	}
	g.mu.Unlock()
	g.tell()
	return nil
}

// unpin ends a member's pin.
func (g *Group) unpin(now time.Duration, m *Member, why string) {
	p := g.params.Load()
	if m.pin == pinnedIn {
		g.serve(p, m, now)
	}
	g.count(m, -1)
	m.state, m.since, m.good = InService, now, now
	if m.pin == pinnedOut && !p.off && !p.rule.Shadow && g.fallback == nil {
		m.state = SlowStart
	}
	m.pin, m.until = notPinned, 0
	g.count(m, 1)
	g.setGate(now, m)
	g.event(Event{Kind: EventUnpinned, Address: m.Address(), Region: m.Region(), At: now, Reason: why, Strikes: g.strikes(now, m)})
}
