package isolation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// mix ends so many calls of an instance, so many of them failures, at one time.
func (p *play) mix(i, calls, failures int) {
	for k := range calls {
		o := Success
		if k >= calls-failures {
			o = Failure
		}
		p.call(i, o)
	}
}

// The share of successes within the window decides alone, at the least number of calls, whatever the peers do.
func TestMinSuccessRate(t *testing.T) {
	t.Parallel()
	r := Rule{MinSuccessRate: .9, AbsoluteOnly: true, Jitter: still}
	p := newPlay(t, r, 5)
	p.mix(0, 19, 19)
	require.Equal(t, InService, p.state(0), "too few")
	p.call(0, Failure)
	require.Equal(t, Quarantined, p.state(0))
	e := p.events[0]
	require.Equal(t, Evidence{Criterion: "absolute", Calls: 20, Failures: 20, Since: p.now - 10*sec, Nats: 0, Bound: .9}, e.Evidence)
	require.Equal(t, "20 of 20 calls failed (100%), 0% succeeded, the rule wants 90%", e.Reason)

	p.mix(1, 20, 2)
	require.Equal(t, InService, p.state(1), "exactly 90%% is enough")
	p.call(1, Failure)
	require.Equal(t, Quarantined, p.state(1))

	p.mix(2, 19, 10)
	p.wait(10 * sec)
	p.mix(2, 19, 10)
	require.Equal(t, InService, p.state(2), "the window forgets")
}

// What was counted before a quarantine does not count after it.
func TestTheWindowBeginsAnewAfterAQuarantine(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{MinSuccessRate: .9, AbsoluteOnly: true, Jitter: still, Base: 100 * ms, Window: time.Minute, Probes: 1}, 5)
	p.mix(0, 20, 20)
	p.heal(0)
	p.mix(0, 19, 19)
	require.Equal(t, SlowStart, p.state(0))
	p.call(0, Failure)
	require.Equal(t, Quarantined, p.state(0))
}

// AbsoluteOnly does not compare: neither for a verdict nor for what is said.
func TestAbsoluteOnly(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{MinSuccessRate: .1, AbsoluteOnly: true}, 5)
	p.failAt(2000, map[int]float64{0: .8})
	require.Empty(t, p.events)
	require.NoError(t, p.g.SetRule(p.now, &Rule{MinSuccessRate: .1, MaxShare: .01, Base: time.Hour, Max: time.Hour}))
	p.sicken(1)
	p.failAt(100, map[int]float64{0: .8})
	require.Equal(t, Held, p.state(0))
	require.NoError(t, p.g.SetRule(p.now, &Rule{MinSuccessRate: .1, MaxShare: .01, AbsoluteOnly: true, Base: time.Hour, Max: time.Hour}))
	p.wait(sec)
	require.Equal(t, InService, p.state(0))
	w, _ := p.g.Why(p.now, address(0))
	require.Empty(t, w.Now.Criterion)
}

// All failing by their own measure: without a fallback the cap holds, with it all are back.
func TestAbsoluteVerdictsObeyTheCap(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{MinSuccessRate: .9, AbsoluteOnly: true, NoFallback: true}, 5)
	for i := range 5 {
		p.mix(i, 20, 20)
	}
	s := p.g.Snapshot(p.now)
	require.Equal(t, []int{3, 2}, []int{s.Out, s.Held})
	check(t, p.g, p.now)
	p = newPlay(t, Rule{MinSuccessRate: .9, AbsoluteOnly: true}, 5)
	for i := range 5 {
		p.mix(i, 20, 20)
	}
	require.True(t, p.g.View(p.now).Fallback)
	check(t, p.g, p.now)
}
