package isolation

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Change says what an Update changed.
type Change struct {
	// Added, Removed and Changed (in weight, region or drained) count instances; Returned those of Added that were remembered.
	Added, Removed, Changed, Returned int
	// Ignored counts entries without address and further ones with the address of an earlier one.
	Ignored int
}

// remembered is what is kept of an instance that has left the list.
type remembered struct {
	standing
	until time.Duration
}

// mostRemembered bounds how many are remembered: that many, or as many as there are instances.
const mostRemembered = 1000

// Update replaces the list of instances by what the registry says now. An empty list means that there are none. It takes time in proportion to the list, and does
// nothing if that is unchanged.
func (g *Group) Update(now time.Duration, list []Instance) Change {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return Change{}
	}
	c, changed := g.setList(now, list)
	if changed {
		g.fit(now)
		g.build(now)
	}
	g.mu.Unlock()
	g.tell()
	return c
}

// setList makes the group's members those of the list, and reports whether it is another than before.
func (g *Group) setList(now time.Duration, list []Instance) (c Change, another bool) {
	if g.unchanged(list) {
		return c, false
	}
	old := *g.members.Load()
	members := make(map[string]*Member, len(list))
	next := make([]*Member, 0, len(list))
	changed := make([]*Member, 0)
	names := regionNames{}
	for i := range list {
		in := list[i]
		if in.Address == "" || members[in.Address] != nil {
			c.Ignored++
			continue
		}
		in = in.normal()
		m := old[in.Address]
		switch {
		case m == nil:
			c.Added++
			m = &Member{group: g}
			m.listed.Store(names.keep(in, strings.Clone(in.Address)))
			if r, ok := g.gone[in.Address]; ok && now < r.until {
				c.Returned++
				delete(g.gone, in.Address)
				m.standing = r.standing
				g.leastOut = 0 // it may be less sick than those who are out
				if g.fallback != nil {
					m.standing.state = InService
				}
			} else if p := g.params.Load(); g.listed && g.fallback == nil && p.rule.SlowStartNew && !p.off {
				m.standing.state, m.standing.since = SlowStart, now
			}
			m.good = now
			changed = append(changed, m)
		case *m.listed.Load() != in:
			c.Changed++
			drained := m.listed.Load().Drained != in.Drained
			g.count(m, -1)
			m.listed.Store(names.keep(in, m.Address()))
			g.count(m, 1)
			if drained {
				changed = append(changed, m)
			}
		}
		members[m.Address()] = m
		next = append(next, m)
	}
	for address, m := range old {
		if members[address] == nil {
			c.Removed++
			g.remove(now, m)
		}
	}
	g.list, g.listed = next, true
	g.group(now)
	for _, m := range changed {
		if old[m.Address()] == nil {
			m.setCriteria(g.params.Load(), true)
			g.count(m, 1)
		} else if m.state == Probing { // a probe under way counts no more
			m.ill.lease = 0
			m.nextProbe.Store(int64(now))
		}
		g.setGate(now, m)
	}
	g.members.Store(&members) // now that they can be called
	g.params.Store(g.params.Load().of(g.counted.instances))
	g.forget(now)
	return c, true
}

// regionNames are the names of the regions of one list: the group keeps no memory of the caller's, and each name once.
type regionNames map[string]string

// keep returns the instance as the group keeps it, with that address.
func (r regionNames) keep(in Instance, address string) *Instance {
	name, ok := r[in.Region]
	if !ok {
		name = strings.Clone(in.Region)
		r[name] = name
	}
	in.Address, in.Region = address, name
	return &in
}

// unchanged reports whether the list is the one in force, so that nothing needs to be done.
func (g *Group) unchanged(list []Instance) bool {
	if len(list) != len(g.list) || !g.listed {
		return false
	}
	for i := range list {
		in := list[i]
		in = in.normal()
		if *g.list[i].listed.Load() != in {
			return false
		}
	}
	return true
}

// normal returns the instance as a group keeps it.
func (in Instance) normal() Instance {
	in.Weight = weight(in.Weight)
	in.Drained = in.Drained || in.Unreachable
	return in
}

// group makes the instances of a region each other's peers where there are at least three (and as long as there are two), and all the others
// those of all.
func (g *Group) group(now time.Duration) {
	const fewest = 3
	sizes := map[string]int{}
	active := 0
	for _, m := range g.list {
		if in := m.listed.Load(); !in.Drained {
			sizes[in.Region]++
			active++
		}
	}
	regions := map[string]*peers{}
	for region, n := range sizes {
		p := g.regions[region]
		if region == "" || n < fewest-1 || n < fewest && p == nil {
			continue
		}
		if p == nil {
			p = newRegion(now, &g.all)
		}
		p.size.Store(int64(n))
		regions[region] = p
	}
	g.regions = regions
	g.all.size.Store(int64(active))
	for _, m := range g.list {
		p := regions[m.Region()]
		if p == nil {
			p = &g.all
		}
		if m.peers.Load() != p {
			m.mu.Lock()
			m.peers.Store(p)
			m.detector.start(now, m.read(), p.read())
			m.mu.Unlock()
			if m.ill != nil {
				m.ill.mark = m.markNow(now)
			}
		}
	}
}

// remove takes a member off, and keeps of it what it may come back to.
func (g *Group) remove(now time.Duration, m *Member) {
	p := g.params.Load()
	g.count(m, -1)
	g.serve(p, m, now)
	m.left = true
	g.setGate(now, m)
	if m.strikes < forgotten && m.pin == notPinned && !m.out() {
		return
	}
	r := remembered{m.standing, now + p.rule.Remember}
	r.left = false
	if r.ill != nil {
		ill := *r.ill
		ill.lease = 0
		r.ill = &ill
	}
	g.gone[m.Address()] = r
}

// recoverGone puts those who are remembered back in service, for when they return under the new rule.
func (g *Group) recoverGone(old, p *params) {
	for address, r := range g.gone {
		r.state = InService
		r.leave(old, p)
		g.gone[address] = r
	}
}

// forget drops those who were remembered long enough, and those who would go first if they are too many.
func (g *Group) forget(now time.Duration) {
	for address, r := range g.gone {
		if now >= r.until {
			delete(g.gone, address)
		}
	}
	most := max(mostRemembered, len(g.list))
	if len(g.gone) <= most {
		return
	}
	addresses := slices.SortedFunc(maps.Keys(g.gone), func(a, b string) int {
		return cmp.Or(cmp.Compare(g.gone[a].until, g.gone[b].until), cmp.Compare(a, b))
	})
	for _, address := range addresses[:len(addresses)-most] {
		delete(g.gone, address)
	}
}

// weight returns a usable weight.
func weight(w float64) float64 {
	const least, most = 1e-6, 1e12
	if !(w > 0) || math.IsInf(w, 0) {
		return 1
	}
	return min(max(w, least), most)
}
