package isolation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// outage makes all instances fail, one after the other by the numbers that find them, until the fallback is on.
func (p *play) outage() Event {
	p.t.Helper()
	for i := range p.g.list {
		others := make([]int, i)
		for k := range others {
			others[k] = k
		}
		if e := p.sicken(i, others...); e.Kind == EventFallbackOn {
			return e
		}
	}
	require.FailNow(p.t, "no fallback")
	return Event{}
}

// all ends one call of each instance with the outcome of its place in the list; those beyond it succeed.
func (p *play) all(outcomes ...Outcome) {
	p.now += 50 * ms
	for i := range p.n {
		o := Success
		if i < len(outcomes) {
			o = outcomes[i]
		}
		p.call(i, o)
	}
}

// Faults #51: when more than 7 of 10 are sick, all are in service again, and an event says so with the numbers.
func TestFallbackPutsAllBack(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still}, 5)
	e := p.outage()
	require.Equal(t, 4, e.Sick)
	require.Equal(t, 5, e.Instances)
	require.Equal(t, "", e.Address)
	require.Contains(t, e.Reason, "4 of 5 instances are sick, more than 70%: the fault lies elsewhere")
	v := p.g.View(p.now)
	require.True(t, v.Fallback)
	require.Len(t, v.Candidates, 5)
	require.Zero(t, v.Out)
	for _, c := range v.Candidates {
		require.Equal(t, 1., c.Weight, "at full weight")
		require.False(t, c.Probe)
	}
	s := p.g.Snapshot(p.now)
	require.True(t, s.Fallback)
	require.Equal(t, p.now, s.FallbackSince)
	require.EqualValues(t, 1, s.Fallbacks)
	check(t, p.g, p.now)
}

// No verdicts are passed in a fallback; it lasts at least as long as the rule says, goes on while nearly all fail, and ends when fewer do.
func TestFallbackHoldsAndLeaves(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still}, 5)
	began := p.outage().At
	for p.now < began+30*sec {
		p.all(Failure, Failure, Failure, Failure) // the fifth is well
		require.Len(t, p.g.View(p.now).Candidates, 5)
	}
	require.True(t, p.g.View(p.now).Fallback, "4 of 5 are more than 70%%")
	require.Equal(t, 1, p.count(EventFallbackOn))
	cured := p.now
	for p.g.View(p.now).Fallback {
		p.all(Failure, Failure, Failure) // 3 of 5 are not
		require.Less(t, p.now, cured+11*sec)
	}
	last := p.events[len(p.events)-1]
	require.Equal(t, EventFallbackOff, last.Kind)
	require.Contains(t, last.Reason, "3 of 5 instances fail, no more than 70%")
	out := func() int { return p.g.Snapshot(p.now).Out }
	require.Zero(t, out(), "what was counted in the fallback is no proof")
	for out() < 3 {
		p.all(Failure, Failure, Failure)
		require.Less(t, p.now, cured+20*sec)
	}
}

// Not before FallbackHold, however well all are.
func TestFallbackLastsAtLeastItsHold(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still, FallbackHold: 3 * sec}, 5)
	began := p.outage().At
	for p.now < began+3*sec-100*ms {
		p.all()
		require.True(t, p.g.View(p.now).Fallback)
	}
	p.till(began + 3*sec)
	require.False(t, p.g.View(p.now).Fallback)
	require.Equal(t, 1, p.count(EventFallbackOff))
}

// With few calls a review looks back twice as far; an instance without calls is not failing.
func TestFallbackWithFewCalls(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still}, 5)
	p.outage()
	each := func(o Outcome) {
		for i := range 5 {
			p.call(i, o)
		}
	}
	for range 4 { // two failures each in 5s, of which 3 or more are seen in 10s
		p.wait(2400 * ms)
		each(Failure)
		p.wait(100 * ms)
		p.wait(2400 * ms)
		each(Failure)
		p.wait(100 * ms)
		require.True(t, p.g.View(p.now).Fallback)
	}
	p.wait(5 * sec)
	require.True(t, p.g.View(p.now).Fallback, "the last two are seen still")
	p.wait(5 * sec)
	require.False(t, p.g.View(p.now).Fallback, "idle is not failing")
}

// Around the level, sickness that comes and goes does not switch back and forth with every call.
func TestFallbackDoesNotFlap(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 5)
	p.outage()
	for i := range 1200 { // a minute
		o := []Outcome{Failure, Failure, Failure, Failure, Failure}
		if i%2 == 0 {
			o = nil
		}
		p.all(o...)
	}
	require.LessOrEqual(t, p.count(EventFallbackOn), 2)
}

// Faults #51, the other way: without the fallback the cap decides, however many are sick.
func TestNoFallback(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{NoFallback: true, Base: time.Hour, Max: time.Hour, MinSuccessRate: .5}, 5)
	for range 1000 {
		p.all(Failure, Failure, Failure, Failure, Failure)
		check(t, p.g, p.now)
	}
	require.Zero(t, p.count(EventFallbackOn))
	s := p.g.Snapshot(p.now)
	require.False(t, s.Fallback)
	require.Equal(t, 3, s.Out)
	require.Equal(t, 2, s.Held)
}

// NoFallback ends one at once.
func TestNoFallbackEndsOne(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 5)
	p.outage()
	require.NoError(t, p.g.SetRule(p.now, &Rule{NoFallback: true}))
	require.False(t, p.g.View(p.now).Fallback)
	require.Equal(t, EventFallbackOff, p.events[len(p.events)-1].Kind)
	p.sicken(0)
	check(t, p.g, p.now)
}

// Of two instances one may go; when the other is sick too, both are back.
func TestTwoInstances(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still, MinSuccessRate: .5, MinCalls: 5}, 2)
	require.Equal(t, EventQuarantined, p.sicken(0).Kind)
	for range 10 {
		p.now += 10 * ms
		p.call(1, Failure)
	}
	require.True(t, p.g.View(p.now).Fallback)
	require.Len(t, p.g.View(p.now).Candidates, 2)
	check(t, p.g, p.now)
}

// Whoever joins, returns or is unpinned in a fallback is in service with its whole weight.
func TestJoiningInAFallback(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{SlowStartNew: true, Remember: time.Hour}, 5)
	p.sicken(0)
	p.g.Update(p.now, instances(5)[1:])
	require.Equal(t, 1, p.g.Snapshot(p.now).Remembered)
	require.NoError(t, p.g.Pin(p.now, address(1), false, 0))
	var sick []int
	for i := 0; !p.g.View(p.now).Fallback; i++ {
		if i == 4 {
			require.Fail(t, "no fallback")
		}
		p.g.SetRule(p.now, &Rule{SlowStartNew: true, Remember: time.Hour, FallbackAt: .2})
		p.sicken(2, append(sick, 0, 1)...)
	}
	p.g.Update(p.now, instances(8))
	require.NoError(t, p.g.Unpin(p.now, address(1)))
	for _, c := range p.g.View(p.now).Candidates {
		require.Equal(t, 1., c.Weight, c.Member.Address())
	}
	require.Len(t, p.g.View(p.now).Candidates, 8)
	check(t, p.g, p.now)
}

// A group that is closed or emptied in a fallback says no more.
func TestFallbackOfAnEmptiedGroupEnds(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 5)
	p.outage()
	p.g.Update(p.now, nil)
	p.wait(10 * sec)
	require.Equal(t, EventFallbackOff, p.events[len(p.events)-1].Kind)
	check(t, p.g, p.now)

	closed := newPlay(t, Rule{}, 5)
	closed.outage()
	closed.g.Close()
	n := len(closed.events)
	closed.wait(time.Hour)
	require.Len(t, closed.events, n)
	require.False(t, closed.g.Snapshot(closed.now).Fallback)
}
