package balance

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cordon-go/cordon/isolation"
)

func TestOptions(t *testing.T) {
	t.Parallel()
	g, err := isolation.NewGroup("s", isolation.Config{})
	require.NoError(t, err)
	for want, o := range map[string]Options{
		"loadBound: 1 is out of range; want above 1 up to 100": {LoadBound: 1},
		"loadBound: 101 is out of range":                       {LoadBound: 101},
		"loadBound: -2 is out of range":                        {LoadBound: -2},
		"strategy: there is none of number 9":                  {Strategy: 9},
	} {
		_, err := New(g, o)
		require.ErrorContains(t, err, want)
	}
	_, err = New(nil, Options{})
	require.ErrorContains(t, err, "there is no group")
	b, err := New(g, Options{})
	require.NoError(t, err)
	require.Equal(t, 1.25, b.options.LoadBound)
	require.Equal(t, "least in flight", LeastInFlight.String())
	require.Equal(t, "strategy(7)", Strategy(7).String())
}

func TestNoInstance(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Strategy) {
		w := newWorldUnder(t, &isolation.Rule{MayEmpty: true, MaxShare: 1}, Options{Strategy: s, Region: "eu"}, nil)
		_, err := w.Pick(0, Request{})
		require.ErrorIs(t, err, isolation.ErrNoInstance)
		w.group.Update(0, weighing(1, 1))
		require.NotEmpty(t, w.call(Request{}, 0))
		w.out("a", "b")
		c, err := w.Pick(0, Request{})
		require.ErrorIs(t, err, isolation.ErrAllOut)
		c.End(0, isolation.Success) // harmless
		w.back("b")
		require.Equal(t, "b", w.call(Request{}, 0))
	})
}

// Filter first, then choose: whoever is out, its share goes to all others alike and not to whoever stands beside it.
func TestNeighbourOfTheSick(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Strategy) {
		const n, calls = 10, 20_000
		w := newWorld(t, Options{Strategy: s}, in("", n))
		list := names(in("", n))
		before := w.calls(calls, nil)
		w.out(list[4])
		after := w.calls(calls, nil)
		tolerance := .1
		if s == ConsistentHash { // every instance gets some of the hashes, as they fall
			tolerance = .25
		}
		require.Zero(t, after[list[4]])
		for _, a := range list {
			if a != list[4] {
				require.InEpsilon(t, float64(before[a])*n/(n-1), after[a], tolerance, a)
			}
		}
	})
}

// An instance that is probed refuses nearly all of its turns; they go to all others alike too, and each probe is one call (faults #41).
func TestNeighbourOfTheProbed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Strategy) {
		const n, calls = 5, 20_000
		w := newWorldUnder(t, &isolation.Rule{ProbeLease: time.Hour}, Options{Strategy: s}, in("", n))
		list := names(in("", n))
		probed := w.probing(list[2])
		var probe *Call
		got := map[string]int{}
		for h := range calls {
			w.now++
			c := w.pick(Request{Hash: uint64(h)})
			if c.Probe() {
				require.Nil(t, probe, "one at a time")
				probe = c
				continue
			}
			c.End(w.now, isolation.Success)
			got[c.Address()]++
		}
		require.NotNil(t, probe)
		require.Equal(t, probed, probe.Address())
		require.Len(t, got, n-1)
		for a, k := range got {
			require.InEpsilon(t, float64(calls)/(n-1), k, .2, a)
		}
		probe.End(w.now, isolation.Success)
	})
}

// probing makes an instance fail until it is quarantined, and waits until it may be probed.
func (w *world) probing(address string) string {
	w.Helper()
	for w.group.View(w.now).Out == 0 {
		w.calls(1, w.failing(1, address))
		require.Less(w, w.now, time.Minute)
	}
	w.now += 10 * time.Second
	for _, c := range w.group.View(w.now).Candidates {
		if c.Probe {
			require.Equal(w, address, c.Member.Address())
			return address
		}
	}
	require.Fail(w, "nobody is to be probed")
	return ""
}

// A quarantine runs its whole course through the balancer: out, probed, slowly in again.
func TestSickInstanceGoesAndComesBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Strategy) {
		w := newWorld(t, Options{Strategy: s}, in("", 5))
		sick := names(in("", 5))[1]
		w.calls(1000, w.failing(1, sick))
		require.Zero(t, w.calls(1000, w.failing(1, sick))[sick])
		seen := 0
		for range 30 {
			got := w.calls(1000, nil)[sick]
			if got > 0 {
				seen++
			}
		}
		require.Greater(t, seen, 15)
		require.InDelta(t, 2000, w.calls(10_000, nil)[sick], 400)
	})
}

// Weights as large as can be are like any other equal ones, for probes and for a slow start too.
func TestHugeWeights(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Strategy) {
		list := in("", 5)
		for i := range list {
			list[i].Weight = math.MaxFloat64
		}
		w := newWorld(t, Options{Strategy: s}, list)
		w.probing(list[1].Address)
		for range 60 {
			w.calls(1000, nil)
		}
		got := w.calls(5000, nil)
		for _, i := range list {
			require.InDelta(t, 1000, got[i.Address], 250, "%v", got)
		}
	})
}

// A retry goes elsewhere as long as there is anywhere else, be it to a far region, or to the only one that is left; and not nowhere.
func TestTriedAreAvoided(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Strategy) {
		o, list := regions(Options{Strategy: s}, 2)
		list[3].Weight = 1e9 // heavy as it is
		w := newWorld(t, o, list)
		for h := range uint64(50) {
			var r Request
			r.Hash = h
			seen := map[string]bool{}
			for i := range list {
				c := w.pick(r)
				c.End(0, isolation.Success)
				if i < 2 {
					require.Equal(t, "eu", c.Member().Region())
				}
				seen[c.Address()] = true
				r.Tried = append(r.Tried, c.Member())
			}
			require.Len(t, seen, len(list))
			require.True(t, seen[w.call(r, 0)], "all were tried: one of them again")
		}
	})
}

// What a retry may choose from it chooses by the strategy, too.
func TestRetryByWeight(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{Strategy: Random}, weighing(4, 3, 1))
	r := Request{Tried: []*isolation.Member{w.group.Member("a")}}
	got := map[string]float64{}
	for range 4000 {
		got[w.call(r, 0)]++
	}
	require.Less(t, chi([]float64{got["b"], got["c"]}, []float64{3000, 1000}), 6.0, "%v", got)
}

// Instances that leave the service or are put out are not called any more from the next call on, though the plan is of before.
func TestListChangesReachTheNextCall(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s Strategy) {
		w := newWorld(t, Options{Strategy: s}, in("", 3))
		for i := range 300 {
			next := fmt.Sprintf("new-%d", i)
			w.group.Update(0, []isolation.Instance{{Address: next}})
			require.Equal(t, next, w.call(Request{Hash: uint64(i)}, 0))
		}
	})
}

// With an old plan, whose instances all refuse, the choice waits for the new one.
func TestOldPlanIsGivenUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{}, weighing(1, 1))
	w.call(Request{}, 0)
	w.mu.Lock() // as if another call were at the new plan
	w.group.Update(0, []isolation.Instance{{Address: "c"}})
	require.Len(t, w.current(0, false).view.Candidates, 2)
	picked := make(chan string)
	go func() {
		c, err := w.Pick(0, Request{})
		if err != nil {
			picked <- err.Error()
			return
		}
		picked <- c.Address()
	}()
	w.mu.Unlock()
	require.Equal(t, "c", <-picked)
}

// A large group's view may be behind its instances' gates for a moment. Nobody is told that there is no instance because of that.
func TestViewBehindItsGates(t *testing.T) {
	t.Parallel()
	const n = 300
	list := in("", n)
	w := newWorldUnder(t, &isolation.Rule{MayEmpty: true, MaxShare: 1, NoFallback: true}, Options{}, list)
	for i := range list[1:] {
		w.out(list[1+i].Address)
	}
	require.Equal(t, list[0].Address, w.call(Request{}, 0))
	for i := range 50 {
		a, b := list[i%2].Address, list[(i+1)%2].Address
		w.back(b)
		w.out(a)
		require.Equal(t, b, w.call(Request{}, 0))
	}
}

// Any course of events against the plainest expectation: whoever the group's view has may be called, nobody else, and there is an error only if there is nobody.
func TestPickModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := Strategy(rapid.IntRange(0, 3).Draw(rt, "strategy"))
		g, err := isolation.NewGroup("s", isolation.Config{Rule: &isolation.Rule{MayEmpty: rapid.Bool().Draw(rt, "may empty")}, Seed: 1})
		require.NoError(rt, err)
		b, err := New(g, Options{Strategy: s, Region: rapid.SampledFrom([]string{"", "eu", "mars"}).Draw(rt, "own"), Seed: 1})
		require.NoError(rt, err)
		now := time.Duration(0)
		var open []*Call
		var tried []*isolation.Member
		addresses := []string{"a", "b", "c", "d", "e", "f"}
		rt.Repeat(map[string]func(*rapid.T){
			"list": func(rt *rapid.T) {
				var list []isolation.Instance
				for _, a := range addresses[:rapid.IntRange(0, 6).Draw(rt, "n")] {
					list = append(list, isolation.Instance{
						Address: a, Region: rapid.SampledFrom([]string{"", "eu", "us"}).Draw(rt, "region"),
						Weight: rapid.SampledFrom([]float64{1, 1, .5, 1e9, 1e-9}).Draw(rt, "weight"), Drained: rapid.IntRange(0, 5).Draw(rt, "drained") == 0,
					})
				}
				g.Update(now, list)
			},
			"pin": func(rt *rapid.T) {
				_ = g.Pin(now, rapid.SampledFrom(addresses).Draw(rt, "whom"), rapid.Bool().Draw(rt, "in"), time.Second)
			},
			"tick": func(rt *rapid.T) {
				now += time.Duration(rapid.Int64Range(0, int64(5*time.Second)).Draw(rt, "for"))
			},
			"pick": func(rt *rapid.T) {
				for range rapid.IntRange(1, 20).Draw(rt, "times") {
					v := g.View(now)
					c, err := b.Pick(now, Request{Hash: rapid.Uint64().Draw(rt, "hash"), Tried: tried})
					steady := slices.ContainsFunc(v.Candidates, func(c isolation.Candidate) bool { return !c.Probe })
					if err != nil {
						require.False(rt, steady, "an instance is in service: %v", err)
						if len(v.Candidates) == 0 {
							require.Equal(rt, v.Err(), err)
						}
						continue
					}
					i := slices.IndexFunc(v.Candidates, func(x isolation.Candidate) bool { return x.Member == c.Member() })
					require.GreaterOrEqual(rt, i, 0, "%s is not to be called", c.Address())
					require.Equal(rt, v.Candidates[i].Probe, c.Probe())
					untried := slices.ContainsFunc(v.Candidates, func(x isolation.Candidate) bool { return !x.Probe && !slices.Contains(tried, x.Member) })
					require.False(rt, untried && slices.Contains(tried, c.Member()), "there are others")
					open = append(open, &c)
				}
			},
			"end": func(rt *rapid.T) {
				for len(open) > 0 && rapid.IntRange(0, 3).Draw(rt, "more") > 0 {
					tried = append(tried, open[0].Member())
					open[0].End(now, isolation.Outcome(rapid.SampledFrom([]int{0, 0, 1, 2, 3, 4}).Draw(rt, "outcome")))
					open = open[1:]
				}
				tried = tried[max(len(tried)-2, 0):]
			},
		})
		for _, c := range open {
			c.End(now, isolation.Success)
		}
		require.Zero(rt, b.flights[ownSide].Load()+b.flights[otherSide].Load())
		for _, a := range addresses {
			if m := g.Member(a); m != nil {
				require.Zero(rt, m.InFlight())
			}
		}
	})
}

func TestCallsDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for s := RoundRobin; s <= ConsistentHash; s++ {
		o, list := regions(Options{Strategy: s}, 20)
		w := newWorld(t, o, list)
		for name, change := range map[string]func(){
			"all": func() {},
			"spilling, with probes": func() {
				w.probing("eu/10.2.0.1:80")
				w.out(names(in("eu", 20))[2:]...)
			},
		} {
			change()
			tried := []*isolation.Member{w.group.View(w.now).Candidates[0].Member}
			r := Request{Tried: tried}
			require.Zero(t, testing.AllocsPerRun(2000, func() {
				r.Hash++
				c, err := w.Pick(w.now, r)
				if err != nil {
					t.Fail()
				}
				c.End(w.now, isolation.Success)
			}), "%v, %s", s, name)
		}
	}
}
