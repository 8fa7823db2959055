package balance

import (
	"slices"
	"time"

	"github.com/cordon-go/cordon/isolation"
)

// chooser is a strategy over a fixed set of instances.
type chooser interface {
	// choose returns the index of a candidate. try counts the choices made before for the same call, whose results would not do.
	choose(hash uint64, try int) int32
}

// plan is a view of the group, made ready to choose from. It is immutable.
type plan struct {
	view *isolation.View
	// own has the candidates of the caller's region, and others the rest. If regions are one, all are own.
	own, others set
	// allOwn is true if all calls go to the own region; else those do whose number is below keep.
	allOwn bool
	keep   uint64

	// watch is the group of regions, and regions its view; nil if regions are one.
	watch   *isolation.Group
	regions *isolation.View
	zones   []zone
	// zoneOf says of every candidate which zone it is in; nil if regions are one.
	zoneOf []uint32
}

// set is what there is to choose from.
type set struct {
	// steady has those in service; nil if there are none.
	steady chooser
	// probes has those that only take probes, with ConsistentHash those in service too; nil if there are none.
	probes chooser
	// probing is the limit of the share of choices in which a probe is tried first.
	probing uint64
}

func (p *plan) isOwn(i int32) bool { return p.zoneOf == nil || p.zones[p.zoneOf[i]].own }

// onlyProbes reports whether calls to a candidate, or to its region, are probes.
func (p *plan) onlyProbes(i int32) bool {
	return p.view.Candidates[i].Probe || p.zoneOf != nil && p.zones[p.zoneOf[i]].probe
}

// current returns the plan for the group's view. While another call makes it, it returns the old one, unless the caller wants to wait.
func (b *Balancer) current(now time.Duration, wait bool) *plan {
	p := b.plan.Load()
	if p.isOf(b.group.View(now), now) {
		return p
	}
	if p == nil || wait {
		b.mu.Lock()
	} else if !b.mu.TryLock() {
		return p
	}
	defer b.mu.Unlock()
	// Another call may have made it meanwhile, or one for a newer view: so plans never go back.
	p = b.plan.Load()
	view := b.group.View(now)
	if !p.isOf(view, now) {
		p = b.compile(view, now)
		b.plan.Store(p)
	}
	return p
}

func (p *plan) isOf(view *isolation.View, now time.Duration) bool {
	return p != nil && p.view == view && (p.watch == nil || p.watch.View(now) == p.regions)
}

// compile makes a plan. The caller must hold b.mu.
func (b *Balancer) compile(view *isolation.View, now time.Duration) *plan {
	p := &plan{view: view, allOwn: true}
	var own, others selection
	own.grow(len(view.Candidates)) // mostly they are the caller's
	if !b.divides(view) {
		for i := range view.Candidates {
			own.add(p, i, 1)
		}
		p.own = b.set(p, own, own.weight(), ownSide, otherSide)
		return p
	}
	b.zone(p, now)
	for i := range view.Candidates {
		switch z := &p.zones[p.zoneOf[i]]; {
		case z.out:
		case z.own:
			own.add(p, i, 1) // how much the region as a whole gets is in p.keep
		default:
			others.add(p, i, z.weight)
		}
	}
	p.others = b.set(p, others, others.weight(), otherSide)
	p.own = b.set(p, own, b.split(p), ownSide)
	return p
}

// selection collects candidates with their weights.
type selection struct {
	steady, all       []int32
	weights, allOfAll []float64
	probes            float64 // the weight of those that only take probes
}

func (s *selection) grow(n int) {
	s.steady, s.all = make([]int32, 0, n), make([]int32, 0, n)
	s.weights, s.allOfAll = make([]float64, 0, n), make([]float64, 0, n)
}

func (s *selection) add(p *plan, i int, factor float64) {
	w := p.view.Candidates[i].Weight * factor
	s.all, s.allOfAll = append(s.all, int32(i)), append(s.allOfAll, w)
	if p.onlyProbes(int32(i)) {
		s.probes += w
		return
	}
	s.steady, s.weights = append(s.steady, int32(i)), append(s.weights, w)
}

func (s *selection) weight() float64 { return sum(s.allOfAll) }

// onlyProbes returns those that only take probes.
func (s *selection) onlyProbes(p *plan) (who []int32, weights []float64) {
	for k, i := range s.all {
		if p.onlyProbes(i) {
			who, weights = append(who, i), append(weights, s.allOfAll[k])
		}
	}
	return who, weights
}

// set makes a set of a selection. total is what its weights would be with all in service, and sides where its calls under way are counted.
func (b *Balancer) set(p *plan, s selection, total float64, sides ...int) set {
	var made set
	if len(s.steady) > 0 {
		made.steady = b.chooser(p, s.steady, s.weights, sides)
	}
	if len(s.steady) < len(s.all) {
		made.probing = below(s.probes / total)
		if b.options.Strategy == ConsistentHash {
			made.probes = b.chooser(p, s.all, s.allOfAll, sides)
		} else {
			who, weights := s.onlyProbes(p)
			made.probes = newLottery(who, weights, &b.source)
		}
	}
	return made
}

// chooser returns the balancer's strategy for instances with weights.
func (b *Balancer) chooser(p *plan, who []int32, weights []float64, sides []int) chooser {
	switch b.options.Strategy {
	case Random:
		return newLottery(who, weights, &b.source)
	case LeastInFlight:
		return newPairs(who, weights, p.view.Candidates, &b.source)
	case ConsistentHash:
		return newRing(who, weights, p.view.Candidates, b.options.LoadBound, func() (calls float64) {
			for _, side := range sides {
				calls += float64(int64(b.flights[side].Load()))
			}
			return max(calls, 0)
		})
	}
	return newTurns(who, weights, &b.turn[sides[0]].Uint64)
}

// divides reports whether the caller's region is one of several that have instances.
func (b *Balancer) divides(view *isolation.View) bool {
	if b.options.Region == "" {
		return false
	}
	listed := func(r isolation.RegionShare) bool { return r.Listed > 0 }
	own := slices.ContainsFunc(view.Regions, func(r isolation.RegionShare) bool { return r.Name == b.options.Region && listed(r) })
	other := slices.ContainsFunc(view.Regions, func(r isolation.RegionShare) bool { return r.Name != b.options.Region && listed(r) })
	return own && other
}
