package balance

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/isolation"
)

// Balancer chooses instances of one group. It is safe for concurrent use. A choice takes the same time whatever the number of instances, and allocates
// nothing; when the group's view has changed, the next choice prepares it, which takes time in proportion to the instances, while
// others go on with what was prepared before.
type Balancer struct {
	group   *isolation.Group
	options Options
	source  source
	plan    atomic.Pointer[plan]

	// turn counts the round robin's turns in the own region and in the others, ticks the choices that are split between regions or
	// with probes, and flights the calls under way in the own region and in the others (ConsistentHash only).
	turn    [2]counter
	ticks   counter
	flights [2]counter
	recent  recent

	// mu is held while a plan is made, and guards what follows.
	mu sync.Mutex
	// regions is the group whose instances are the regions; nil as long as there was no need.
	regions *isolation.Group
	// spilling is true from when less than RegionMin of the own region is in service until RegionBack more is.
	spilling bool
}

// Request is what a choice depends on.
type Request struct {
	// Hash is what ConsistentHash goes by.
	Hash uint64
	// Tried are instances to choose only if there is no other: a retry's.
	Tried []*isolation.Member
}

func (r *Request) tried(m *isolation.Member) bool {
	return len(r.Tried) > 0 && slices.Contains(r.Tried, m)
}

// Pick chooses an instance and begins a call to it. The error is isolation.ErrNoInstance or isolation.ErrAllOut (errors.Is); there is none as long as
// any instance takes the call, be it one of Request.Tried.
func (b *Balancer) Pick(now time.Duration, r Request) (call Call, err error) {
	p := b.current(now, false)
	if !b.pick(p, now, &r, &call) {
		err = b.insist(p, now, &r, &call)
	}
	return call, err
}

// insist picks after everyone in the plan has refused: the plan was old, or became so meanwhile. It ends when nothing has changed since
// the last time.
func (b *Balancer) insist(p *plan, now time.Duration, r *Request, call *Call) error {
	for {
		if len(p.view.Candidates) > 0 {
			b.group.Settled(now)
		}
		next := b.current(now, true)
		if next == p {
			break
		}
		p = next
		if b.pick(p, now, r, call) {
			return nil
		}
	}
	if err := p.view.Err(); err != nil {
		return err
	}
	return isolation.ErrAllOut // all there are can only be probed, and are
}

// tries is how often a strategy is asked for another instance after one that was tried or refuses, before any one will do.
const tries = 8

// pick, like all that it calls, begins the call in place, for a Call is large; it reports whether it has. Else the Call is as it was: the zero one.
func (b *Balancer) pick(p *plan, now time.Duration, r *Request, call *Call) bool {
	if p.own.probes != nil && b.probe(p, &p.own, now, r, call) {
		return true
	}
	s, explores := b.region(p, r)
	if !b.pickOf(p, s, now, r, call) {
		return false
	}
	call.explores = explores && call.elsewhere && !call.Probe()
	return true
}

// pickOf picks of a set, or else of all.
func (b *Balancer) pickOf(p *plan, s *set, now time.Duration, r *Request, call *Call) bool {
	if s == &p.others && s.probes != nil && b.probe(p, s, now, r, call) {
		return true
	}
	if s.steady != nil {
		for try := range tries {
			i := s.steady.choose(r.Hash, try)
			if r.tried(p.view.Candidates[i].Member) {
				continue
			}
			if b.begin(p, i, now, false, call) {
				return true
			}
		}
	}
	return b.any(p, s, now, r, call)
}

// probe begins a probe of one of the set's instances that only takes probes, as often as such an instance would be chosen if it took all calls. Mostly it refuses, and
// the choice goes on among the others.
func (b *Balancer) probe(p *plan, s *set, now time.Duration, r *Request, call *Call) bool {
	if b.options.Strategy != ConsistentHash && spread(b.ticks.Add(1), stepProbe) >= s.probing {
		return false
	}
	i := s.probes.choose(r.Hash, 0)
	if !p.onlyProbes(i) || r.tried(p.view.Candidates[i].Member) {
		return false
	}
	return b.begin(p, i, now, false, call)
}

// any begins a call to any instance that takes it, the set's first, and those that were tried last. It looks at all of them.
func (b *Balancer) any(p *plan, s *set, now time.Duration, r *Request, call *Call) bool {
	n := len(p.view.Candidates)
	if n == 0 {
		return false
	}
	const (
		inSet = iota
		elsewhere
		tried
		passes
	)
	from := int(b.source.next() % uint64(n))
	for pass := range passes {
		for k := range n {
			i := int32((from + k) % n)
			kind := elsewhere
			if r.tried(p.view.Candidates[i].Member) {
				kind = tried
			} else if p.isOwn(i) == (s == &p.own) {
				kind = inSet
			}
			if kind != pass {
				continue
			}
			if b.begin(p, i, now, true, call) {
				return true
			}
		}
	}
	return false
}

// begin begins a call to a candidate, and to its region if regions are watched. A region that refuses is called all the same if insist is true.
func (b *Balancer) begin(p *plan, i int32, now time.Duration, insist bool, call *Call) bool {
	if p.zoneOf != nil {
		if z := &p.zones[p.zoneOf[i]]; z.member != nil && b.compares(p, z) {
			ok := false
			if call.region, ok = z.member.Begin(now); !ok && !insist {
				return false
			}
		}
	}
	ok := false
	if call.Call, ok = p.view.Candidates[i].Member.Begin(now); !ok {
		call.region.End(now, isolation.Ignored)
		call.region = isolation.Call{}
		return false
	}
	call.elsewhere = !p.isOwn(i)
	if b.options.Strategy == ConsistentHash || p.zoneOf != nil {
		call.balancer = b
		b.begun(call)
	}
	return true
}
