package isolation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// So many local errors in a row are enough, if the peers answer meanwhile.
func TestLocalErrorsInARow(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{LocalErrors: 5}, 5)
	for i := range 5 {
		require.Equal(t, InService, p.state(0), "%d", i)
		p.calm(1, 0, 1, 2)
		p.call(0, LocalError)
	}
	require.Equal(t, Quarantined, p.state(0))
	e := p.events[0].Evidence
	require.Equal(t, "local errors", e.Criterion)
	require.Equal(t, []float64{5, 5}, []float64{e.Nats, e.Bound})
	require.Contains(t, p.events[0].Reason, "5 calls in a row could not reach it, while 0 of 8 calls to its peers did")
}

// Any other result but a throttled one ends the run.
func TestWhatEndsARunOfLocalErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		o    Outcome
		ends bool
	}{{Success, true}, {Failure, true}, {Throttled, false}, {Ignored, false}} {
		p := newPlay(t, Rule{LocalErrors: 4, MinFailures: 20}, 5)
		for _, o := range []Outcome{LocalError, LocalError, LocalError, c.o, LocalError} {
			p.calm(1, 0)
			p.call(0, o)
		}
		require.Equal(t, !c.ends, p.state(0) == Quarantined, "%v", c.o)
	}
}

// Peers that cannot be reached either, or are idle, are no proof against one.
func TestLocalErrorsOfAll(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{LocalErrors: 3}, 5)
	for range 50 {
		p.all(LocalError, LocalError, LocalError, LocalError, LocalError)
	}
	require.Empty(t, p.events)
	idle := newPlay(t, Rule{LocalErrors: 3}, 5)
	for range 50 {
		idle.call(0, LocalError)
	}
	require.Empty(t, idle.events)
}

// Calls that end at one time are one run, in whatever order their results are looked at.
func TestLocalErrorsThatEndTogether(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{LocalErrors: 4}, 5)
	par, m := p.g.params.Load(), p.member(0)
	c := m.criteria.Load()
	peers := counts{calls: 1000}
	for range 4 { // all are counted before the first is looked at
		m.begin()
		m.endNeutral(c)
	}
	own := counts{calls: m.calls(), fails: 4}
	for i := range 4 {
		_, sick := c.local(p.now, par, own, counts{peers.calls + uint64(10*i), 0})
		require.Equal(t, i == 3, sick, "%d", i)
	}
	m.begin()
	m.end() // a success
	_, sick := c.local(p.now, par, counts{m.calls(), 4}, peers)
	require.False(t, sick)
	require.Equal(t, 1, c.length)
}

// A change of the rule keeps a run and a window that it does not concern.
func TestCriteriaAcrossRules(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{LocalErrors: 3, MinSuccessRate: .5}, 5)
	c := p.member(0).criteria.Load()
	require.NotNil(t, c.window)
	require.NoError(t, p.g.SetRule(p.now, &Rule{LocalErrors: 5, MinSuccessRate: .5, MinGap: .1}))
	require.Same(t, c, p.member(0).criteria.Load())
	require.NoError(t, p.g.SetRule(p.now, &Rule{MinSuccessRate: .5}))
	require.Same(t, c.window, p.member(0).criteria.Load().window)
	require.NoError(t, p.g.SetRule(p.now, &Rule{MinSuccessRate: .6}))
	require.NotSame(t, c.window, p.member(0).criteria.Load().window)
	require.NoError(t, p.g.SetRule(p.now, &Rule{LocalErrors: 2}))
	require.Nil(t, p.member(0).criteria.Load().window)
	require.NoError(t, p.g.SetRule(p.now, &Rule{}))
	require.Nil(t, p.member(0).criteria.Load())
}

// AbsoluteOnly switches the comparison of rates off, and not the run of local errors.
func TestLocalErrorsUnderAbsoluteOnly(t *testing.T) {
	t.Parallel()
	for _, r := range []Rule{{MinSuccessRate: .01, AbsoluteOnly: true, LocalErrors: 3}, {MinSuccessRate: .01, AbsoluteOnly: true, Preset: Quick}} {
		p := newPlay(t, r, 5)
		p.failAt(200, map[int]float64{1: .9})
		require.Empty(t, p.events)
		p.calm(3, 0)
		for range 3 {
			p.calm(1, 0)
			p.call(0, LocalError)
		}
		require.Equal(t, Quarantined, p.state(0))
		require.Equal(t, "local errors", p.events[0].Evidence.Criterion)
	}
}
