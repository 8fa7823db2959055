package bench

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cordon-go/cordon/balance"
	"github.com/cordon-go/cordon/isolation"
)

// Fleet is services with their instances, each under the default isolation rule, with a balancer.
type Fleet struct {
	groups    []*isolation.Group
	balancers []*balance.Balancer
	lists     [][]isolation.Instance
	updates   int
	now       time.Duration // of calls; updates of lists have their own, so that both can go on at once
	listed    time.Duration
}

// NewFleet returns a fleet of groups with so many instances each, every one of which has been picked a few times.
func NewFleet(groups, instances int, s balance.Strategy) (*Fleet, error) {
	f := &Fleet{}
	for i := range groups {
		g, err := isolation.NewGroup(fmt.Sprintf("service-%04d", i), isolation.Config{Rule: &isolation.Rule{}, Seed: 1})
		if err != nil {
			return nil, err
		}
		b, err := balance.New(g, balance.Options{Strategy: s, Seed: 1})
		if err != nil {
			return nil, err
		}
		list := make([]isolation.Instance, instances)
		for j := range list {
			list[j].Address = fmt.Sprintf("10.%d.%d.%d:20880", i/250, i%250, j)
		}
		g.Update(0, list)
		f.groups, f.balancers, f.lists = append(f.groups, g), append(f.balancers, b), append(f.lists, list)
	}
	for i := range groups {
		if err := f.PickAndReport(i, 2*instances); err != nil {
			return nil, err
		}
	}
	f.listed = f.now
	return f, nil
}

// Close closes the groups.
func (f *Fleet) Close() {
	for _, g := range f.groups {
		g.Close()
	}
}

// PickAndReport picks an instance of a group and reports a success, n times. It reads no clock: readings are a microsecond apart.
func (f *Fleet) PickAndReport(group, n int) error {
	b, now := f.balancers[group], f.now
	for i := range n {
		now += time.Microsecond
		c, err := b.Pick(now, balance.Request{Hash: uint64(i) * 0x9e3779b97f4a7c15})
		if err != nil {
			return err
		}
		c.End(now, isolation.Success)
	}
	f.now = now
	return nil
}

// Succeed begins and ends n calls, to the group's instances in turn, all of which succeed.
func (f *Fleet) Succeed(group, n int) {
	f.report(group, n, false)
}

// FailNowAndThen is Succeed in which every call is followed by one that fails: the peers fail alike, so that nothing follows from it.
func (f *Fleet) FailNowAndThen(group, n int) {
	f.report(group, n, true)
}

func (f *Fleet) report(group, n int, fail bool) {
	candidates, now := f.groups[group].View(f.now).Candidates, f.now
	for i := range n {
		now += time.Microsecond
		m := candidates[i%len(candidates)].Member
		if c, ok := m.Begin(now); ok {
			c.End(now, isolation.Success)
		}
		if !fail {
			continue
		}
		if c, ok := m.Begin(now); ok {
			c.End(now, isolation.Failure)
		}
	}
	f.now = now
}

// UpdateList replaces the list of one group: one of its instances goes, another one comes.
func (f *Fleet) UpdateList(group int) {
	f.updates++
	f.listed += time.Millisecond
	list := f.lists[group]
	list[f.updates%len(list)].Address = fmt.Sprintf("10.255.%d.%d:20880", f.updates/250%250, f.updates%250)
	f.groups[group].Update(f.listed, list)
}

// Bare is what a strategy takes without isolation: a choice among addresses, and a count of calls under way where the strategy looks at it.
type Bare struct {
	strategy  balance.Strategy
	addresses []string
	flights   []atomic.Int64
	points    []uint64 // of a hash ring, sorted
	owners    []int32  // of the points
	turn      atomic.Uint64
	random    *rand.Rand
	last      string
}

// NewBare returns the bare strategy for so many instances.
func NewBare(instances int, s balance.Strategy) *Bare {
	const pointsEach = 100 // as is usual for hash rings
	b := &Bare{strategy: s, flights: make([]atomic.Int64, instances), random: rand.New(rand.NewPCG(1, 2))}
	type point struct {
		at    uint64
		owner int32
	}
	var ring []point
	for i := range instances {
		b.addresses = append(b.addresses, fmt.Sprintf("10.0.0.%d:20880", i))
		for range pointsEach {
			ring = append(ring, point{b.random.Uint64(), int32(i)})
		}
	}
	slices.SortFunc(ring, func(a, b point) int { return cmp.Compare(a.at, b.at) })
	for _, p := range ring {
		b.points, b.owners = append(b.points, p.at), append(b.owners, p.owner)
	}
	return b
}

// Pick chooses n times.
func (b *Bare) Pick(n int) {
	count := len(b.addresses)
	for i := range n {
		at := 0
		switch b.strategy {
		case balance.LeastInFlight:
			one, other := b.random.IntN(count), b.random.IntN(count)
			if at = one; b.flights[other].Load() < b.flights[one].Load() {
				at = other
			}
		case balance.ConsistentHash:
			k, _ := slices.BinarySearch(b.points, uint64(i)*0x9e3779b97f4a7c15)
			at = int(b.owners[k%len(b.owners)])
		default:
			b.last = b.addresses[b.turn.Add(1)%uint64(count)]
			continue
		}
		b.flights[at].Add(1)
		b.last = b.addresses[at]
		b.flights[at].Add(-1)
	}
}

// BytesPerInstance returns the bytes that an instance takes, all told: in its group and in its balancer, without its address and the list that the host holds.
func BytesPerInstance(s balance.Strategy) (float64, error) {
	const groups, instances = 200, 50
	lists := make([][]isolation.Instance, groups)
	for i := range lists {
		for j := range instances {
			lists[i] = append(lists[i], isolation.Instance{Address: fmt.Sprintf("10.0.%d.%d:20880", i, j)})
		}
	}
	before := heap()
	f := &Fleet{}
	for i := range groups {
		g, err := isolation.NewGroup("service", isolation.Config{Rule: &isolation.Rule{}, Seed: 1})
		if err != nil {
			return 0, err
		}
		b, err := balance.New(g, balance.Options{Strategy: s, Seed: 1})
		if err != nil {
			return 0, err
		}
		g.Update(0, lists[i])
		f.groups, f.balancers = append(f.groups, g), append(f.balancers, b)
		if err := f.PickAndReport(i, 2*instances); err != nil {
			return 0, err
		}
	}
	after := heap()
	runtime.KeepAlive(f)
	runtime.KeepAlive(lists)
	return (after - before) / (groups * instances), nil
}
