package isolation

import (
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// 64 goroutines pick, call, report, change lists and rules, pin and look, while others hold what must hold at every moment.
func TestStress(t *testing.T) {
	var now atomic.Int64 // advanced by those who call, so that quarantines, probes and fallbacks come and go
	var events, quarantines, fallbacks atomic.Int64
	rules := []*Rule{
		{Preset: Quick, Base: 100 * ms, SlowStart: sec, ProbeEvery: 10 * ms, ProbeLease: sec, FallbackHold: sec},
		{MinSuccessRate: .8, MinCalls: 5, Base: 200 * ms, LocalErrors: 5, ProbeLease: 100 * ms, FallbackHold: sec},
		{MaxShare: .2, NoFallback: true, Base: 100 * ms, SlowStartNew: true},
		{Preset: Quick, Base: 100 * ms, FallbackHold: sec, Shadow: true},
		nil,
	}
	var last sync.Mutex // events come one at a time
	g, err := NewGroup("orders", Config{Rule: rules[0], Seed: 1, OnEvent: func(e Event) {
		if assert.True(t, last.TryLock(), "two events at one time") {
			defer last.Unlock()
		}
		events.Add(1)
		switch e.Kind {
		case EventQuarantined:
			quarantines.Add(1)
		case EventFallbackOn:
			fallbacks.Add(1)
		}
	}})
	require.NoError(t, err)
	region := func(list []Instance) []Instance {
		for i := range list {
			list[i].Region = string(rune('a' + i%3))
		}
		return list
	}
	g.Update(0, region(instances(20)))
	calls := 20_000 // of each goroutine, in about five minutes of the group's time
	if raceEnabled || testing.Short() {
		calls = 3000
	}
	step := int64(5*time.Minute) / int64(64*calls)
	if os.Getenv("CORDON_SOAK") != "" {
		calls *= 30
	}
	read := func(r *rand.Rand) time.Duration { return time.Duration(now.Add(r.Int64N(step))) }
	call := func(r *rand.Rand) {
		at := read(r)
		candidates := g.View(at).Candidates
		if len(candidates) == 0 {
			return
		}
		m := candidates[r.IntN(len(candidates))].Member
		c, ok := m.Begin(at)
		if !ok {
			return
		}
		o := Success
		switch phase := at / (5 * sec) % 4; { // some fail, all fail, all are well, all are noisy
		case phase == 0 && m.Address() < address(14), phase == 1:
			o = Outcome(1 + r.IntN(3))
		case phase == 3 && r.IntN(3) == 0:
			o = Failure
		case r.IntN(50) == 0:
			o = Ignored
		}
		c.End(read(r), o)
	}
	odd := []func(*rand.Rand){
		func(r *rand.Rand) {
			list := instances(20)[r.IntN(3):]
			list[r.IntN(len(list))].Drained = r.IntN(3) == 0
			list[r.IntN(len(list))].Weight = float64(r.IntN(5))
			g.Update(read(r), region(list))
		},
		func(r *rand.Rand) {
			if r.IntN(30) == 0 {
				assert.NoError(t, g.SetRule(read(r), rules[r.IntN(len(rules))]))
			}
		},
		func(r *rand.Rand) {
			_ = g.Pin(read(r), address(r.IntN(20)), r.IntN(2) == 0, time.Duration(r.IntN(1000))*ms)
			_ = g.Unpin(read(r), address(r.IntN(20)))
		},
		func(r *rand.Rand) { g.Report(read(r), address(r.IntN(21)), Outcome(r.IntN(5)), ms) },
		func(r *rand.Rand) { g.Why(read(r), address(r.IntN(20))) },
		func(r *rand.Rand) {
			at := read(r)
			for _, address := range g.Waiting(at, nil) {
				g.Checked(at, address)
			}
		},
		func(r *rand.Rand) { g.Settled(read(r)) },
		func(r *rand.Rand) {
			s := g.Snapshot(read(r))
			assert.GreaterOrEqual(t, len(s.Instances), 17)
			for _, in := range s.Instances {
				assert.False(t, in.InFlight < 0 || in.Failures < 0 || in.Weight < 0)
			}
		},
		func(r *rand.Rand) { // what must hold, at any moment
			checked := &fatal{t: t}
			checked.run(func() { check(checked, g, read(r)) })
		},
	}
	var group sync.WaitGroup
	for i := range 64 {
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			for n := 0; n < calls && !t.Failed(); n++ {
				if i < 48 || n%20 > 0 {
					call(r)
				} else {
					odd[(i+n/20)%len(odd)](r)
				}
			}
		})
	}
	group.Wait()
	require.Zero(t, g.all.inFlight())
	for _, m := range g.list {
		require.Zero(t, m.InFlight())
	}
	at := time.Duration(now.Load())
	check(t, g, at)
	require.Positive(t, quarantines.Load())
	g.Close()
	t.Logf("%v of its time, %d events, %d quarantines, %d fallbacks", at, events.Load(), quarantines.Load(), fallbacks.Load())
}

// fatal lets require stop a check in another goroutine than the test's.
type fatal struct{ t *testing.T }

type stopped struct{}

func (f *fatal) Errorf(format string, args ...any) { f.t.Errorf(format, args...) }

func (f *fatal) FailNow() { panic(stopped{}) }

func (f *fatal) run(do func()) {
	defer func() {
		if r := recover(); r != nil && r != (stopped{}) {
			panic(r)
		}
	}()
	do()
}

// Of many who race for a probe one gets it, in each round.
func TestProbesAreRacedFor(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still, Probes: 100, ProbeEvery: ms}, 5)
	p.sicken(0)
	p.till(p.member(0).until)
	m := p.member(0)
	for range 100 {
		var won atomic.Int64
		var call Call
		var ready, done sync.WaitGroup
		start := make(chan struct{})
		for range 16 {
			ready.Add(1)
			done.Go(func() {
				ready.Done()
				<-start
				for range 3 {
					if c, ok := m.Begin(p.now); ok {
						won.Add(1)
						call = c
					}
				}
			})
		}
		ready.Wait()
		close(start)
		done.Wait()
		require.Equal(t, int64(1), won.Load())
		call.End(p.now, Success)
		p.wait(ms)
	}
	require.Equal(t, SlowStart, p.state(0))
}

// No result is lost, whatever ends at the same time.
func TestCountsAreExact(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Shadow: true, LocalErrors: 1000, MinSuccessRate: .001, MinCalls: 1_000_000}, 3)
	const each = 3000
	var group sync.WaitGroup
	for k := range 8 {
		group.Go(func() {
			for i := range each {
				c, ok := p.member(k % 3).Begin(p.now)
				if assert.True(t, ok) {
					c.End(p.now, Outcome(i%5))
				}
			}
		})
	}
	group.Wait()
	s := p.g.Snapshot(p.now)
	var calls, failures int64
	for _, in := range s.Instances {
		calls += in.Calls
		failures += in.Failures
		require.Zero(t, in.InFlight)
	}
	require.EqualValues(t, 8*each/5*4, calls, "all but those that are ignored")
	require.EqualValues(t, 8*each/5*3, failures)
	require.EqualValues(t, calls, p.g.all.calls())
	require.EqualValues(t, failures, p.g.all.fails.Load())
}

// An instance may be called as soon as the group knows its address, and not before it is ready.
func TestCallsToOneThatIsBeingListed(t *testing.T) {
	t.Parallel()
	g, err := NewGroup("orders", Config{Rule: &Rule{}})
	require.NoError(t, err)
	defer g.Close()
	for n := range 3000 {
		list := []Instance{{Address: address(n), Region: "a"}, {Address: "b", Region: "a"}, {Address: "c", Region: "a"}}
		var wg sync.WaitGroup
		wg.Go(func() {
			for !g.Report(sec, address(n), Success, 0) {
				runtime.Gosched()
			}
		})
		g.Update(sec, list)
		wg.Wait()
		require.EqualValues(t, 1, g.Member(address(n)).calls())
	}
}
