package isolation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// out returns a play whose instance 0 is due to be probed.
func out(t *testing.T, r Rule) *play {
	t.Helper()
	if r.Jitter == 0 {
		r.Jitter = still
	}
	p := newPlay(t, r, 5)
	p.sicken(0)
	p.till(p.member(0).until)
	require.Equal(t, Probing, p.state(0))
	return p
}

// One probe is leased at a time, no two of them less than ProbeEvery apart, and three in a row bring the instance back.
func TestProbesComeOneAtATime(t *testing.T) {
	t.Parallel()
	p := out(t, Rule{})
	for done := range 3 {
		first, ok := p.member(0).Begin(p.now)
		require.True(t, ok)
		require.True(t, first.Probe())
		for range 10 {
			_, ok = p.member(0).Begin(p.now)
			require.False(t, ok, "a probe is under way")
		}
		p.now += 100 * ms
		_, ok = p.member(0).Begin(p.now)
		require.False(t, ok)
		first.End(p.now, Success)
		if done == 2 {
			break
		}
		require.Equal(t, Probing, p.state(0))
		p.now += 399 * ms
		require.False(t, p.call(0, Success), "too early")
		p.now += ms
	}
	require.Equal(t, SlowStart, p.state(0))
	require.Equal(t, []EventKind{EventQuarantined, EventProbing, EventReadmitted}, p.kinds(address(0)))
}

// A failed probe means another quarantine; the successes before it do not help.
func TestAFailedProbeIsAStrike(t *testing.T) {
	t.Parallel()
	p := out(t, Rule{})
	require.True(t, p.call(0, Success))
	p.wait(sec)
	require.True(t, p.call(0, Success))
	p.wait(sec)
	require.True(t, p.call(0, LocalError))
	e := p.events[len(p.events)-1]
	require.InDelta(t, 10*sec, lasts(t, e), 1)
	require.Equal(t, "probes", e.Evidence.Criterion)
	require.Contains(t, e.Reason, "1 of 3 probes failed")
	p.heal(0)
}

// Faults #31, #41: a probe that says nothing gives its lease back.
func TestProbesThatSayNothingGiveTheirLeaseBack(t *testing.T) {
	t.Parallel()
	for _, o := range []Outcome{Ignored, Throttled} {
		p := out(t, Rule{Probes: 1})
		for range 5 {
			require.True(t, p.call(0, o), "%v", o)
			require.Equal(t, Probing, p.state(0))
			p.wait(500 * ms)
		}
		require.True(t, p.call(0, Success))
		require.Equal(t, SlowStart, p.state(0))
	}
}

// A probe that never reports is replaced when its lease is over, and says nothing when it comes later.
func TestALostProbeIsReplaced(t *testing.T) {
	t.Parallel()
	p := out(t, Rule{Probes: 1, ProbeLease: 7 * sec})
	lost, ok := p.member(0).Begin(p.now)
	require.True(t, ok)
	p.wait(7*sec - 1)
	require.False(t, p.call(0, Success))
	p.wait(1)
	next, ok := p.member(0).Begin(p.now)
	require.True(t, ok)
	lost.End(p.now, Failure)
	require.Equal(t, Probing, p.state(0), "the lost one decides nothing")
	_, ok = p.member(0).Begin(p.now)
	require.False(t, ok, "and gives no lease back that is another's")
	next.End(p.now, Success)
	require.Equal(t, SlowStart, p.state(0))
	require.Zero(t, p.member(0).InFlight())
}

// A probe of an earlier quarantine decides nothing in a later one.
func TestAProbeOfAnEarlierQuarantineDecidesNothing(t *testing.T) {
	t.Parallel()
	p := out(t, Rule{Probes: 1, ProbeLease: sec})
	old, ok := p.member(0).Begin(p.now)
	require.True(t, ok)
	p.wait(sec)
	require.True(t, p.call(0, Failure))
	p.till(p.member(0).until)
	require.Equal(t, Probing, p.state(0))
	old.End(p.now, Success)
	require.Equal(t, Probing, p.state(0))
	require.Zero(t, p.member(0).ill.tried)
}

// peersFail makes the peers of instance 0 fail at a rate, as many for each of them.
func (p *play) peersFail(rounds, failing, of int) {
	for r := range rounds {
		p.now += 10 * ms
		for i := 1; i < p.n; i++ {
			o := Success
			if r%of < failing {
				o = Failure
			}
			p.call(i, o)
		}
	}
}

// While the peers fail at 5% or more, one failed probe is forgiven; the second means another quarantine.
func TestProbesAreJudgedAgainstNoisyPeers(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still}, 5)
	p.sicken(0)
	p.peersFail(100, 1, 10)
	p.till(p.member(0).until)
	require.True(t, p.call(0, Success))
	p.wait(sec)
	require.True(t, p.call(0, Failure))
	require.Equal(t, Probing, p.state(0), "forgiven")
	p.wait(sec)
	require.True(t, p.call(0, Failure))
	e := p.events[len(p.events)-1]
	require.InDelta(t, 10*sec, lasts(t, e), 1)
	require.Contains(t, e.Reason, "2 of 3 probes failed")
	require.Equal(t, 2., e.Evidence.Bound)

	// Forgiveness does not take away the successes before, and there is one in each train.
	p.peersFail(100, 1, 10)
	p.till(p.member(0).until)
	for _, o := range []Outcome{Success, Success, Failure, Success} {
		require.True(t, p.call(0, o))
		p.wait(sec)
	}
	require.Equal(t, SlowStart, p.state(0))
}

// Too few calls of the peers, or peers that fail less, forgive nothing.
func TestQuietPeersForgiveNothing(t *testing.T) {
	t.Parallel()
	few := newPlay(t, Rule{Jitter: still}, 5)
	few.sicken(0)
	few.peersFail(4, 4, 4) // 16 calls
	few.till(few.member(0).until)
	require.True(t, few.call(0, Failure))
	require.Equal(t, Quarantined, few.state(0))
	require.InDelta(t, 2, few.member(0).strikes, 1e-9)

	good := newPlay(t, Rule{Jitter: still}, 5)
	good.sicken(0)
	good.peersFail(100, 1, 25)
	good.till(good.member(0).until)
	require.True(t, good.call(0, Failure))
	require.Equal(t, Quarantined, good.state(0))
}

// While the peers fail at 50% or more, failed probes bring no strike: the next quarantine is as long as the one before.
func TestProbesAmongFailingPeersBringNoStrike(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still, Base: 100 * sec, Max: 350 * sec, NoFallback: true}, 5)
	e := p.sicken(0)
	for _, want := range []time.Duration{100, 100, 200, 200, 350, 350} {
		require.InDelta(t, want*sec, lasts(t, e), 1)
		strike := p.count(EventQuarantined)%2 == 0
		if strike {
			p.calm(30, 0)
		} else {
			p.peersFail(30, 3, 4)
		}
		p.till(p.member(0).until)
		require.True(t, p.call(0, Failure))
		if !strike {
			require.Equal(t, Probing, p.state(0), "the first one is forgiven")
			p.wait(sec)
			require.True(t, p.call(0, Failure))
			e = p.events[len(p.events)-1]
			require.Contains(t, e.Reason, "no strike")
			continue
		}
		e = p.events[len(p.events)-1]
		require.NotContains(t, e.Reason, "no strike")
	}
}

// Faults #41: of several instances that may be probed only the one that is chosen gets its probe; the others may be had later.
func TestOnlyTheChosenInstanceIsProbed(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still, Probes: 1, MaxShare: .9, NoFallback: true}, 5)
	p.sicken(0, 1, 2)
	p.sicken(1, 0, 2)
	p.sicken(2, 0, 1)
	p.wait(10 * sec)
	probes := 0
	for _, c := range p.g.View(p.now).Candidates {
		if c.Probe {
			probes++
			require.Equal(t, 1., c.Weight, "with its whole weight")
		}
	}
	require.Equal(t, 3, probes)
	require.True(t, p.call(1, Success))
	require.Equal(t, []State{Probing, SlowStart, Probing}, []State{p.state(0), p.state(1), p.state(2)})
	p.wait(20 * sec)
	require.True(t, p.call(0, Success))
	require.True(t, p.call(2, Success))
	require.Equal(t, []State{SlowStart, SlowStart}, []State{p.state(0), p.state(2)})
}

// An instance that is drained in the middle of a probe, and then is not, is probed at once: nobody waits for the probe that counts no more.
func TestDrainedWhileProbed(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still}, 5)
	p.sicken(0)
	p.till(p.member(0).until)
	lost, ok := p.member(0).Begin(p.now)
	require.True(t, ok)
	list := instances(5)
	list[0].Drained = true
	p.g.Update(p.now, list)
	p.g.Update(p.now, instances(5))
	require.Equal(t, Probing, p.state(0))
	probe, ok := p.member(0).Begin(p.now)
	require.True(t, ok)
	lost.End(p.now, Failure)
	require.Equal(t, Probing, p.state(0))
	require.False(t, p.call(0, Success), "one at a time")
	probe.End(p.now, Success)
	check(t, p.g, p.now)
}
