package isolation

import "time"

// Settled returns who is in service now, as View does, but waits for whoever is at work on the group, and the view is as new as the gates. It is for a call that all
// candidates of a View have refused; it looks at all instances.
func (g *Group) Settled(now time.Duration) *View {
	g.mu.Lock()
	if int64(now) >= g.due.Load() || g.outdated() {
		g.step(now)
	}
	v := g.view.Load()
	g.mu.Unlock()
	g.tell()
	return v
}

// outdated reports whether the view's candidates are not those whose gates let calls in. The caller must hold g.mu.
func (g *Group) outdated() bool {
	candidates := g.view.Load().Candidates
	for _, m := range g.list {
		kind := m.gate.Load() & gateMask
		if kind == gateShut || m.listed.Load().Drained {
			continue
		}
		if len(candidates) == 0 || candidates[0].Member != m || candidates[0].Probe != (kind == gateProbing) {
			return true
		}
		candidates = candidates[1:]
	}
	return len(candidates) > 0
}

// Enforces reports whether there is a rule and it is not in shadow: whether instances are put out of service at all.
func (g *Group) Enforces() bool {
	p := g.params.Load()
	return !p.off && !p.rule.Shadow
}
