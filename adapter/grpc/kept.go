package cordongrpc

import (
	"slices"
	"time"

	"github.com/cordon-go/cordon/isolation"
)

// gRPC takes a channel's balancer down when the channel has had no call for a while, or is told to use another policy, and does not say whether it will come back. So the group of one that is closed is kept
// for the next one with the same target and service.
const (
	keepFor  = time.Hour
	mostKept = 100
)

// keptGroup is the group of a balancer that was closed.
type keptGroup struct {
	target string
	group  *isolation.Group
	until  time.Duration
}

// take returns the group for a channel: one that was kept, or a new one.
func (p *policy) take(target, service string) *isolation.Group {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop(mostKept)
	for i := len(p.kept) - 1; i >= 0; i-- {
		if k := p.kept[i]; k.target == target && k.group.Service() == service {
			p.kept = slices.Delete(p.kept, i, i+1)
			return k.group
		}
	}
	return p.eng.NewNamedGroup(service, target)
}

// keep keeps a group that no channel uses any more. Its instances are listed as unreachable meanwhile.
func (p *policy) keep(target string, g *isolation.Group) {
	now := p.clock.Now()
	snapshot := g.Snapshot(now)
	list := make([]isolation.Instance, len(snapshot.Instances))
	for i, in := range snapshot.Instances {
		list[i] = isolation.Instance{Address: in.Address, Region: in.Region, Unreachable: true}
	}
	g.Update(now, list)
	p.mu.Lock() // only now: Update may tell observers
	defer p.mu.Unlock()
	p.drop(mostKept - 1)
	p.kept = append(p.kept, keptGroup{target, g, now + keepFor})
}

// drop closes the groups whose time is over, and as many of the oldest that no more than most are left.
func (p *policy) drop(most int) {
	now := p.clock.Now()
	for len(p.kept) > 0 && (len(p.kept) > most || now >= p.kept[0].until) {
		p.kept[0].group.Close()
		p.kept = slices.Delete(p.kept, 0, 1)
	}
}
