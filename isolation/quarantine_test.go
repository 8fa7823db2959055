package isolation

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lasts returns how long the quarantine that an event tells of is.
func lasts(t *testing.T, e Event) time.Duration {
	t.Helper()
	require.Equal(t, EventQuarantined, e.Kind)
	return e.Until - e.At
}

// failProbe lets the quarantine of an instance end and its probe fail, and returns the event of the next one.
func (p *play) failProbe(i int) Event {
	p.t.Helper()
	p.till(p.member(i).until)
	require.True(p.t, p.call(i, Failure))
	return p.events[len(p.events)-1]
}

// A dead instance is out for 5s, 10s, 20s and so on up to 5m, each varied by a fifth.
func TestQuarantinesDouble(t *testing.T) {
	t.Parallel()
	for _, jitter := range []float64{still, .2, .5} {
		p := newPlay(t, Rule{Jitter: jitter}, 5)
		e := p.sicken(0)
		varied := false
		for strikes, want := range []time.Duration{5, 10, 20, 40, 80, 160, 300, 300, 300} {
			want *= sec
			got := lasts(t, e)
			require.InDelta(t, want, got, jitter*float64(want)+1, "quarantine %d", strikes)
			varied = varied || math.Abs(float64(got-want)) > .1*jitter*float64(want)+1
			require.Equal(t, float64(min(strikes+1, 6)), e.Strikes)
			require.False(t, p.call(0, Success), "it gets no calls")
			p.till(e.Until - 1)
			require.Equal(t, Quarantined, p.state(0))
			e = p.failProbe(0)
		}
		require.Equal(t, jitter > still, varied)
	}
}

// Faults #47: base 2s, doubling, cap 7s: 2, 4, 7, 7; after good service back to 2.
func TestQuarantineHasACapAndDecays(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Base: 2 * sec, Max: 7 * sec, Jitter: still}, 5)
	e := p.sicken(0)
	for _, want := range []time.Duration{2, 4, 7, 7, 7} {
		require.InDelta(t, want*sec, lasts(t, e), 1)
		e = p.failProbe(0)
	}
	require.LessOrEqual(t, p.member(0).strikes, 2.)
	p.heal(0)
	p.calm(10)
	p.wait(30 * time.Minute)
	require.Equal(t, InService, p.state(0))
	w, _ := p.g.Why(p.now, address(0))
	require.Less(t, w.Strikes, .05)
	require.InDelta(t, 2*sec, lasts(t, p.sicken(0)), 1)
}

// Half of the strikes are forgotten in a half-life of good service, between re-admission and the beginning of the next illness.
func TestStrikesAreTakenAwayByGoodServiceOnly(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still}, 5)
	p.sicken(0)
	for range 3 {
		p.failProbe(0)
	}
	require.InDelta(t, 4, p.member(0).strikes, 1e-9)
	p.till(p.member(0).until + time.Hour) // time in quarantine and probing takes none away
	require.InDelta(t, 4, p.member(0).strikes, 1e-9)
	p.heal(0)
	require.InDelta(t, 4, p.member(0).strikes, 1e-9)
	p.wait(5 * time.Minute)
	w, _ := p.g.Why(p.now, address(0))
	require.InDelta(t, 2, w.Strikes, .01)
	e := p.sicken(0)
	require.InDelta(t, 20*sec, lasts(t, e), 1, "two strikes")
	require.Equal(t, 3., e.Strikes)
	require.InDelta(t, 3, p.member(0).strikes, .01)
}

// Time out of service takes no strike away, however the quarantine ends.
func TestTimeOutOfServiceTakesNoStrikeAway(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(p *play) error{
		"leaving": func(p *play) error {
			p.g.Update(p.now, instances(5)[1:])
			p.g.Update(p.now, instances(5))
			return nil
		},
		"a pin":     func(p *play) error { return p.g.Pin(p.now, address(0), true, 0) },
		"in shadow": func(p *play) error { return p.g.SetRule(p.now, &Rule{Shadow: true}) },
	} {
		p := newPlay(t, Rule{Base: time.Hour, Max: time.Hour}, 5)
		p.sicken(0)
		p.member(0).strikes = 3
		p.wait(30 * time.Minute)
		require.NoError(t, end(p))
		require.Equal(t, 3., p.member(0).strikes, name)
	}
}

// An instance that comes back sick within its slow start gets a strike as any other.
func TestVerdictInTheSlowStartIsAStrike(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still}, 5)
	p.sicken(0)
	p.heal(0)
	p.wait(sec)
	require.Equal(t, SlowStart, p.state(0))
	e := p.sicken(0)
	require.InDelta(t, 10*sec, lasts(t, e), 1)
	require.Equal(t, 2., e.Strikes)
}

// What was serving well before a hold, a pin or a fallback counts.
func TestGoodServiceBeforeOtherStatesCounts(t *testing.T) {
	t.Parallel()
	strikes := func(then func(p *play)) float64 {
		p := newPlay(t, Rule{Jitter: still, MaxShare: .4}, 5)
		p.sicken(0)
		p.failProbe(0)
		p.heal(0)
		p.wait(10 * time.Minute)
		then(p)
		w, _ := p.g.Why(p.now, address(0))
		return w.Strikes
	}
	require.InDelta(t, .5, strikes(func(*play) {}), .01)
	require.InDelta(t, .5, strikes(func(p *play) { require.NoError(t, p.g.Pin(p.now, address(0), false, 0)) }), .01)
	require.InDelta(t, .5, strikes(func(p *play) {
		p.sicken(1, 2)
		p.sicken(2, 1)
		require.Equal(t, EventHeld, p.sicken(0, 1, 2).Kind)
	}), .02)
}

// The share of an instance that comes back grows from a tenth to all within 15s, and the view says when it grows next.
func TestSlowStartGrows(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still}, 5)
	list := instances(5)
	list[0].Weight = 10
	p.g.Update(p.now, list)
	p.sicken(0)
	p.heal(0)
	weight := func() float64 {
		for _, c := range p.g.View(p.now).Candidates {
			if c.Member == p.member(0) {
				require.False(t, c.Probe)
				return c.Weight
			}
		}
		require.Fail(t, "not in the view")
		return 0
	}
	require.InDelta(t, 1, weight(), .01)
	began, last := p.now, 0.
	for p.now < began+15*sec {
		w, share := weight(), float64(p.now-began)/float64(15*sec)
		require.GreaterOrEqual(t, w, last)
		require.InDelta(t, 10*(.1+.9*share), w, 10*.9/rampSteps+.01, "after %v", p.now-began)
		last = w
		p.wait(100 * ms)
	}
	p.till(began + 15*sec)
	require.Equal(t, 10., weight())
	require.Equal(t, InService, p.state(0))
	require.Equal(t, EventInService, p.events[len(p.events)-1].Kind)
	require.Equal(t, began+15*sec, p.events[len(p.events)-1].At)
}

// A result of a call that began in another state is not counted: neither against an instance that was let in again, nor for one that is probed.
func TestLateResultsAreNotCounted(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still}, 5)
	var late []Call
	for range 100 {
		c, ok := p.member(0).Begin(p.now)
		require.True(t, ok)
		late = append(late, c)
	}
	p.sicken(0)
	calls, fails := p.member(0).calls(), p.member(0).fails.Load()
	for i := range 30 {
		late[i].End(p.now, Failure)
	}
	p.till(p.member(0).until)
	for i := 30; i < 60; i++ {
		late[i].End(p.now, Success)
	}
	require.Equal(t, Probing, p.state(0))
	p.heal(0)
	for i := 60; i < 100; i++ {
		late[i].End(p.now, Failure)
	}
	require.Equal(t, SlowStart, p.state(0))
	require.Equal(t, calls, p.member(0).calls())
	require.Equal(t, fails, p.member(0).fails.Load())
	require.Zero(t, p.member(0).InFlight())
	require.Zero(t, p.g.all.inFlight())
}

// What a call finds counts for nothing if the instance's state has changed since the call was counted: two of many that end together find it sick, and one of
// them puts it out.
func TestVerdictsOfAnotherStateAreDropped(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still}, 5)
	m := p.member(0)
	gate, peers := m.gate.Load(), m.peers.Load()
	e := p.sicken(0)
	p.g.sick(p.now, gate, m, e.Evidence)
	p.heal(0)
	strikes, before := m.strikes, len(p.events)
	p.g.sick(p.now, gate, m, e.Evidence)
	require.Equal(t, SlowStart, p.state(0))
	require.Equal(t, strikes, m.strikes)
	require.Len(t, p.events, before)
	call := &Call{member: m, gate: gate}
	p.g.failed(p.now, call, peers, Failure)
	require.False(t, m.tests[slow].open, "nor does a test begin with it")
	call.gate = m.gate.Load()
	p.g.failed(p.now, call, peers, Failure)
	require.True(t, m.tests[slow].open)
}

// A call ends once.
func TestEndingTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 2)
	c, ok := p.member(0).Begin(p.now)
	require.True(t, ok)
	c.End(p.now, Failure)
	c.End(p.now, Failure)
	c.End(p.now, Ignored)
	require.EqualValues(t, 1, p.member(0).calls())
	require.EqualValues(t, 1, p.member(0).fails.Load())
	require.Zero(t, p.member(0).InFlight())
	var none Call
	none.End(p.now, Failure)
}
