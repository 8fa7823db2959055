package balance

import (
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/isolation"
)

// zone is a region of a plan.
type zone struct {
	// member is the region as an instance of the group of regions; nil if it is none.
	member *isolation.Member
	own    bool
	// out is true if the region gets no calls, probe if only probes; weight is the part of its calls that it gets otherwise: less than 1 while they grow back.
	out, probe bool
	weight     float64
	listed     float64 // RegionShare's
	inService  float64
}

// A region that is lost as a whole is found as an instance is: by comparing it with others. Its instances fail alike and so have no better
// peers, but the region has. The bar is high, for a few sick instances are better dealt with singly, and other regions are farther away: a region that fails
// 25 points more often than the others is never left, and one that fails 50 points more often is.
const regionGap = .5

// regionRule is the rule of the group of regions. Any but the last may be out, and there is no fallback: what it would be for, a fault
// common to all, is no region's sickness. Probes go on at least every 30 seconds, for they cost a single call, and should the other regions fail meanwhile
// nothing else would say that this one is well again.
func regionRule() *isolation.Rule {
	return &isolation.Rule{ID: "regions", MinGap: regionGap, GrossRate: 1, MaxShare: 1, NoFallback: true, Max: 30 * time.Second}
}

// unnamed is the address of the region whose name is not known.
const unnamed = "(no region)"

func regionAddress(name string) string {
	if name == "" {
		return unnamed
	}
	return name
}

// zone finds the plan's zones, and which one each candidate is in. The caller must hold b.mu.
func (b *Balancer) zone(p *plan, now time.Duration) {
	served := map[string]isolation.Candidate{}
	if b.group.Enforces() {
		b.update(p.view, now)
		p.watch, p.regions = b.regions, b.regions.View(now)
		for _, c := range p.regions.Candidates {
			served[c.Member.Address()] = c
		}
	}
	// The first zone is for instances whose region has changed since the view was made.
	p.zones = append(p.zones, zone{weight: 1})
	index := make(map[string]uint32, len(p.view.Regions))
	for _, r := range p.view.Regions {
		z := zone{own: r.Name == b.options.Region, weight: 1, listed: r.Listed, inService: r.InService}
		if p.watch != nil {
			address := regionAddress(r.Name)
			z.member = p.watch.Member(address)
			c, ok := served[address]
			z.out, z.probe, z.weight = !ok, c.Probe, c.Weight
		}
		index[r.Name] = uint32(len(p.zones))
		p.zones = append(p.zones, z)
	}
	p.zoneOf = make([]uint32, len(p.view.Candidates))
	for i := range p.view.Candidates {
		p.zoneOf[i] = index[p.view.Candidates[i].Member.Region()]
	}
}

// update lists the view's regions as instances of the group of regions. The caller must hold b.mu.
func (b *Balancer) update(view *isolation.View, now time.Duration) {
	if b.regions == nil {
		g, err := isolation.NewGroup(b.group.Service(), isolation.Config{
			Rule: regionRule(), Now: now, Name: b.group.Name(), Seed: b.source.next(), OnEvent: b.options.OnRegion,
		})
		if err != nil {
			panic(err) // the rule is ours
		}
		b.regions = g
	}
	list := make([]isolation.Instance, 0, len(view.Regions))
	for _, r := range view.Regions {
		if r.Listed > 0 {
			list = append(list, isolation.Instance{Address: regionAddress(r.Name)})
		}
	}
	b.regions.Update(now, list)
}

// split says how many of the calls go to the own region if any go there, and returns the weight of its instances that are listed. The caller must hold b.mu.
func (b *Balancer) split(p *plan) (listed float64) {
	own := zone{}
	for _, z := range p.zones {
		if z.own {
			own = z
		}
	}
	share := b.share(p.view, own.inService/own.listed) * min(own.weight, 1)
	p.allOwn, p.keep = share >= 1, below(share)
	return own.listed
}

// share returns which share of the calls the own region gets with that share of it in service. The caller must hold b.mu.
func (b *Balancer) share(view *isolation.View, inService float64) float64 {
	// Sums of weights may be a little off.
	const about = 1e-9
	back := min(view.RegionMin+view.RegionBack, 1)
	switch {
	case inService >= back-about:
		b.spilling = false
	case inService < view.RegionMin-about:
		b.spilling = true
	}
	switch {
	case !b.spilling:
		return 1
	case view.RegionSwitch:
		return 0
	}
	return inService / back
}

// Share returns which share of the calls goes to the own region now, 0 to 1; 1 if all regions are one.
func (b *Balancer) Share(now time.Duration) float64 {
	switch p := b.current(now, false); {
	case p.others.steady == nil, p.own.steady != nil && p.allOwn:
		return 1
	case p.own.steady == nil:
		return 0
	default:
		return float64(p.keep) / (1 << 64)
	}
}

// Regions returns how the regions stand, as instances of a group of their own whose addresses are the regions' names; they count the calls by which they are compared. It reports false if
// they are not watched: there is one only, or the caller's is not known, or nothing has been picked yet.
func (b *Balancer) Regions(now time.Duration) (isolation.Snapshot, bool) {
	b.mu.Lock()
	g := b.regions
	b.mu.Unlock()
	if g == nil {
		return isolation.Snapshot{}, false
	}
	return g.Snapshot(now), true
}

// region chooses between the own region and the others. explores says that the call tries the others though the own region gets all.
func (b *Balancer) region(p *plan, r *Request) (s *set, explores bool) {
	switch {
	case p.others.steady == nil:
		return &p.own, false
	case p.own.steady == nil:
		return &p.others, false
	case p.allOwn:
		if p.watch != nil {
			if explored := b.recent.explored(); explored != 0 && spread(b.ticks.Add(1), stepRegion) < explored {
				return &p.others, true
			}
		}
		return &p.own, false
	}
	number := uint64(0)
	if b.options.Strategy == ConsistentHash {
		number = mix(r.Hash ^ stepRegion) // a hash belongs to one region
	} else {
		number = spread(b.ticks.Add(1), stepRegion)
	}
	if number < p.keep {
		return &p.own, false
	}
	return &p.others, false
}

// compares reports whether a call to a region counts for it. As long as the own region gets all calls it is compared with none, and its calls do not count: the others are
// tried when it fails, and what it did in better times must not speak against them.
func (b *Balancer) compares(p *plan, z *zone) bool {
	return !p.allOwn || !z.own || z.out || z.probe || b.recent.explored() != 0
}

// recent says how the own region's last calls went: about a hundred, the older the less they count. A region that fails as a whole is compared
// with others only if those get calls too.
type recent struct {
	// word holds the calls in its high half and the failures in its low one.
	word atomic.Uint64
}

const (
	recentCalls = 128 // at so many, calls and failures are halved
	recentFirst = 8   // with fewer, nothing is said
)

func (r *recent) count(failed bool) {
	add := uint64(1 << 32)
	if failed {
		add++
	}
	if w := r.word.Add(add); w>>32 >= recentCalls {
		// If another call comes between, it halves.
		r.word.CompareAndSwap(w, w>>33<<32|w&(1<<32-1)>>1)
	}
}

// explored returns the limit of the share of calls that try the other regions though the own one gets all: a quarter when half of them fail there,
// a 16th when a fifth does, and 0 otherwise. If the other regions fail as well nothing is lost by it.
func (r *recent) explored() uint64 {
	w := r.word.Load()
	calls, fails := w>>32, w&(1<<32-1)
	switch {
	case calls < recentFirst || fails*5 < calls:
		return 0
	case fails*2 < calls:
		return 1 << 60
	}
	return 1 << 62
}
