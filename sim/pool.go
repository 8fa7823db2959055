package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cordon-go/cordon/isolation"
)

// pool is what the models of others have in common: the instances, those in service, and a choice at random by weight.
type pool[S any] struct {
	env     Environment
	chance  *rand.Rand
	members []*member[S] // as listed, without those drained
	byID    []*member[S]

	in   []*member[S] // in service, or all if nobody is and the model fails open
	sums []float64    // of the weights of in
	// stale is true when in is to be built anew.
	stale bool
	// open says whether all are called, whoever is in service.
	open func() bool
	// due is the time at which something may be due.
	due time.Duration
}

// member is an instance to a model.
type member[S any] struct {
	id      int
	address string
	weight  float64
	out     bool
	until   time.Duration // while it is out
	listed  bool
	state   S // the model's own
}

func newPool[S any](e Environment, open func() bool) pool[S] {
	return pool[S]{env: e, chance: rand.New(rand.NewPCG(e.Seed, mix(e.Seed))), byID: make([]*member[S], e.Instances), open: open, due: Forever}
}

// Update replaces the list. What is known of an instance is forgotten when it leaves.
func (p *pool[S]) Update(_ time.Duration, list []Listed) {
	for _, m := range p.members {
		m.listed = false
	}
	p.members = p.members[:0]
	for _, l := range list {
		if l.Drained {
			continue
		}
		m := p.byID[l.ID]
		if m == nil {
			m = &member[S]{id: l.ID, address: l.Address}
			p.byID[l.ID] = m
		}
		m.weight, m.listed = l.Weight, true
		p.members = append(p.members, m)
	}
	for i, m := range p.byID {
		if m != nil && !m.listed {
			p.byID[i] = nil
		}
	}
	p.stale = true
}

// pick chooses a member at random, by weight, and not one that was tried if there is another.
func (p *pool[S]) pick(tried []int) *member[S] {
	if p.stale {
		p.build()
	}
	if len(p.in) == 0 {
		return nil
	}
	m := p.draw()
	if len(tried) == 0 || !slices.Contains(tried, m.id) {
		return m
	}
	first := p.chance.IntN(len(p.in))
	for i := range p.in {
		if o := p.in[(first+i)%len(p.in)]; !slices.Contains(tried, o.id) {
			return o
		}
	}
	return m
}

func (p *pool[S]) draw() *member[S] {
	x := p.chance.Float64() * p.sums[len(p.sums)-1]
	i, found := slices.BinarySearch(p.sums, x)
	if found {
		i++ // a sum is the first weight that is not below it any more
	}
	return p.in[min(i, len(p.in)-1)]
}

func (p *pool[S]) build() {
	p.stale = false
	p.in, p.sums = p.in[:0], p.sums[:0]
	open := p.open()
	sum := 0.
	for _, m := range p.members {
		if open || !m.out {
			sum += m.weight
			p.in, p.sums = append(p.in, m), append(p.sums, sum)
		}
	}
}

// outs counts those who are out.
func (p *pool[S]) outs() int {
	n := 0
	for _, m := range p.members {
		if m.out {
			n++
		}
	}
	return n
}

// put takes a member out of service.
func (p *pool[S]) put(now time.Duration, m *member[S], length time.Duration, why string) {
	m.out, m.until = true, now+length
	p.due = min(p.due, m.until)
	p.stale = true
	p.tell(now, m, isolation.EventQuarantined, why)
}

// readmit puts a member back into service.
func (p *pool[S]) readmit(now time.Duration, m *member[S]) {
	m.out, m.until = false, 0
	p.stale = true
	p.tell(now, m, isolation.EventReadmitted, "")
}

func (p *pool[S]) tell(now time.Duration, m *member[S], k isolation.EventKind, why string) {
	if !m.listed {
		return
	}
	p.env.Decided(Event{Instance: m.id, Event: isolation.Event{
		Service: p.env.Service, Address: m.address, Kind: k, At: now, Reason: why, Until: m.until, Sick: p.outs(), Instances: len(p.members),
	}})
}

// Weights says who is out. (While all are called, nobody is.)
func (p *pool[S]) Weights(_ time.Duration, weights []float64) {
	if p.open() {
		return
	}
	for _, m := range p.members {
		if m.out {
			weights[m.id] = 0
		}
	}
}

// Close has nothing to do.
func (p *pool[S]) Close() {}

// closed is open for those who never call whom they have put out.
func closed() bool { return false }
