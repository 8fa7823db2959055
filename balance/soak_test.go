package balance

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/isolation"
)

// soak is a group and a balancer that 64 goroutines use at one time: they pick and report, change lists and rules, and hold what must hold at every moment.
type soak struct {
	*world
	wild bool // pins, fallbacks, shadow and no rule at all besides
	now  atomic.Int64
	list []isolation.Instance
	// probes are the probes under way, by *isolation.Member.
	probes                               sync.Map
	calls, lent, failed, outs, fallbacks atomic.Int64
}

const soakShare = .4 // MaxShare of all its rules

func newSoak(t *testing.T, s Strategy, wild bool) *soak {
	k := &soak{wild: wild}
	o, list := regions(Options{Strategy: s, Seed: 1}, 6)
	g, err := isolation.NewGroup("orders", isolation.Config{Rule: k.rules()[0], Seed: 1, OnEvent: func(e isolation.Event) {
		switch e.Kind {
		case isolation.EventQuarantined:
			k.outs.Add(1)
		case isolation.EventFallbackOn:
			k.fallbacks.Add(1)
		}
	}})
	require.NoError(t, err)
	b, err := New(g, o)
	require.NoError(t, err)
	g.Update(0, list)
	k.world, k.list = &world{T: t, group: g, Balancer: b}, list
	return k
}

// rules are those that are set in turn. Probes are never given up for lost, so that a second one at the same time is always one too many.
func (k *soak) rules() []*isolation.Rule {
	const ms = time.Millisecond
	quick := isolation.Rule{
		Preset: isolation.Quick, MaxShare: soakShare, NoFallback: !k.wild, Base: 100 * ms, Max: 400 * ms, SlowStart: 200 * ms,
		Probes: 2, ProbeEvery: 5 * ms, ProbeLease: time.Hour, FallbackHold: time.Second,
	}
	rules := []*isolation.Rule{&quick}
	change := func(f func(*isolation.Rule)) {
		r := quick
		f(&r)
		rules = append(rules, &r)
	}
	change(func(r *isolation.Rule) { r.MinSuccessRate, r.MinCalls, r.LocalErrors = .7, 10, 4 })
	change(func(r *isolation.Rule) { r.RegionSwitch, r.SlowStartNew, r.Probes = true, true, 1 })
	if k.wild {
		change(func(r *isolation.Rule) { r.Shadow = true })
		rules = append(rules, nil)
	}
	return rules
}

func (k *soak) read(r *rand.Rand) time.Duration {
	return time.Duration(k.now.Add(r.Int64N(int64(30 * time.Microsecond))))
}

// outcome is what a call comes to: some are sick for a while, and then well; all are a little noisy. Where nothing else is said few enough are sick for all of them to be out.
func (k *soak) outcome(at time.Duration, index int, r *rand.Rand) isolation.Outcome {
	phase := at / time.Second % 4
	switch {
	case index%3 == 0 && phase < 2, k.wild && index%2 == 0 && phase < 2: // 6 of 18, or 12
		return isolation.Outcome(1 + r.IntN(3))
	case k.wild && phase == 3 && index != 7:
		return isolation.Failure
	case r.IntN(100) == 0:
		return isolation.Failure
	case r.IntN(50) == 0:
		return isolation.Ignored
	}
	return isolation.Success
}

type soaking struct {
	*Call
	under *atomic.Int64 // the probes of its instance under way; nil if it is none
}

func (k *soak) pickOne(r *rand.Rand) (soaking, bool) {
	c, err := k.Pick(k.read(r), Request{Hash: r.Uint64N(100)})
	if !assert.NoError(k.T, err, "never empty") {
		return soaking{}, false
	}
	k.calls.Add(1)
	s := soaking{Call: &c}
	if c.Probe() {
		under, _ := k.probes.LoadOrStore(c.Member(), new(atomic.Int64))
		s.under = under.(*atomic.Int64)
		k.lent.Add(1)
		if n := s.under.Add(1); !k.wild && n != 1 {
			k.failed.Add(1)
			assert.EqualValues(k.T, 1, n, "one probe of %s at a time", c.Address())
		}
	}
	return s, true
}

func (k *soak) end(s soaking, index map[string]int, r *rand.Rand) {
	at := k.read(r)
	if s.under != nil {
		s.under.Add(-1)
	}
	s.End(at, k.outcome(at, index[s.Address()], r))
}

// check holds what must hold at any moment.
func (k *soak) check(r *rand.Rand) {
	s := k.group.Snapshot(k.read(r))
	n, out, byHand := 0, 0, 0
	for _, in := range s.Instances {
		switch in.State {
		case isolation.Drained:
			continue
		case isolation.PinnedOut:
			byHand++
		case isolation.Quarantined, isolation.Probing:
			out++
		}
		n++
		assert.GreaterOrEqual(k.T, in.InFlight, 0)
	}
	most := min(int(math.Ceil(soakShare*float64(n)-1e-9)), n-1)
	assert.LessOrEqual(k.T, out+byHand, max(most, byHand), "never above the cap")
	v := k.group.View(k.read(r))
	open := 0
	for _, c := range v.Candidates {
		if !c.Probe {
			open++
		}
		assert.True(k.T, c.Weight > 0)
	}
	assert.Positive(k.T, open, "never empty")
	share := k.Share(k.read(r))
	assert.True(k.T, share >= 0 && share <= 1)
}

func (k *soak) update(r *rand.Rand) {
	from := r.IntN(4)
	list := append([]isolation.Instance(nil), k.list[from:len(k.list)-r.IntN(3)]...)
	list[r.IntN(len(list))].Weight = float64(r.IntN(4))
	if k.wild {
		list[r.IntN(len(list))].Drained = true
	}
	if r.IntN(2) == 0 {
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	k.group.Update(k.read(r), list)
}

func (k *soak) meddle(r *rand.Rand) {
	address := k.list[r.IntN(len(k.list))].Address
	switch r.IntN(4) {
	case 0:
		for _, a := range k.group.Waiting(k.read(r), nil) {
			k.group.Checked(k.read(r), a)
		}
	case 1:
		k.group.Report(k.read(r), address, isolation.Success, time.Millisecond)
	case 2:
		k.group.Why(k.read(r), address)
		k.Regions(k.read(r))
	default:
		if k.wild {
			_ = k.group.Pin(k.read(r), address, r.IntN(3) > 0, time.Duration(1+r.IntN(100))*time.Millisecond)
			_ = k.group.Unpin(k.read(r), k.list[r.IntN(len(k.list))].Address)
		}
	}
}

func (k *soak) run(length time.Duration) {
	index := map[string]int{}
	for i, in := range k.list {
		index[in.Address] = i
	}
	rules := k.rules()
	clk := clock.System()
	until := clk.Now() + length
	var all sync.WaitGroup
	for g := range 64 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			var open []soaking
			for i := 0; i%32 > 0 || clk.Now() < until && !k.Failed(); i++ {
				switch {
				case g < 56 || i%16 > 0:
					if c, ok := k.pickOne(r); ok {
						open = append(open, c)
					}
					if len(open) > r.IntN(6) {
						k.end(open[0], index, r)
						open = open[1:]
					}
				case g < 58:
					k.update(r)
				case g < 59:
					if i%256 == 0 {
						assert.NoError(k.T, k.group.SetRule(k.read(r), rules[r.IntN(len(rules))]))
					}
				case g < 61:
					k.meddle(r)
				default:
					k.check(r)
				}
			}
			for _, c := range open {
				k.end(c, index, r)
			}
		})
	}
	all.Wait()
}

// 64 goroutines pick, report, change lists and rules and look, with every strategy and with regions: the service is never empty, no more are out than may be, and of every instance that is
// probed one probe is under way at a time (faults #39, #41, #42). In the end nothing is. With CORDON_SOAK it lasts 30 seconds.
func TestSoak(t *testing.T) {
	length := 150 * time.Millisecond
	if os.Getenv("CORDON_SOAK") != "" {
		length = 30 * time.Second / 8
	}
	for _, wild := range []bool{false, true} {
		for s := RoundRobin; s <= ConsistentHash; s++ {
			t.Run(fmt.Sprintf("%v, wild %v", s, wild), func(t *testing.T) {
				k := newSoak(t, s, wild)
				for range 100 { // on a busy machine little may happen in the time
					k.run(length)
					if k.outs.Load() > 0 && k.lent.Load() > 0 {
						break
					}
				}
				k.group.Update(time.Duration(k.now.Load()), k.list)
				for _, in := range k.list {
					require.Zero(t, k.group.Member(in.Address).InFlight(), in.Address)
				}
				require.Zero(t, k.flights[ownSide].Load()+k.flights[otherSide].Load())
				k.probes.Range(func(_, under any) bool {
					require.Zero(t, under.(*atomic.Int64).Load())
					return true
				})
				t.Logf("%d calls in %v of their time, %d quarantines, %d probes, %d fallbacks",
					k.calls.Load(), time.Duration(k.now.Load()), k.outs.Load(), k.lent.Load(), k.fallbacks.Load())
				require.Positive(t, k.outs.Load())
				require.Positive(t, k.lent.Load())
			})
		}
	}
}
