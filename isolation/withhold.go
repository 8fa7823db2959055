package isolation

import "time"

// Withhold marks instances in a list as Unreachable that are out of service, if an Update with the list as it is would put some of those back for want of others, and returns how many it marked. It is for hosts that
// keep connections, while they are still connecting to some: what is decided for want of others should wait for them, for a while. An instance that has left the list is out of service if it would be
// on its return.
func (g *Group) Withhold(now time.Duration, list []Instance) (marked int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return 0
	}
	p := g.params.Load()
	reachable, out, sick := 0, 0, 0
	for i := range list {
		if in := list[i].normal(); in.Drained {
			continue
		}
		reachable++
		if s := g.standingOf(now, list[i].Address); s.withheld(p) {
			out++
			if s.pin == notPinned {
				sick++
			}
		}
	}
	if !(sick > 0 && out > p.rule.maxOut(reachable)) && !(out > 0 && out == reachable && !p.rule.MayEmpty) {
		return 0
	}
	for i := range list {
		if s := g.standingOf(now, list[i].Address); !list[i].normal().Drained && s.withheld(p) {
			list[i].Unreachable = true
			marked++
		}
	}
	return marked
}

// standingOf returns where the instance of an address stands, or will when it returns.
func (g *Group) standingOf(now time.Duration, address string) standing {
	if m := g.Member(address); m != nil {
		return m.standing
	}
	if r, ok := g.gone[address]; ok && now < r.until {
		if g.fallback != nil {
			r.state = InService
		}
		return r.standing
	}
	return standing{}
}

// withheld reports whether an instance that is listed gets no calls, or only probes.
func (s *standing) withheld(p *params) bool {
	switch s.pin {
	case pinnedOut:
		return true
	case pinnedIn:
		return false
	}
	return s.out() && !p.off && !p.rule.Shadow
}
