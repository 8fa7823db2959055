package isolation

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Ending copies of a call is a mistake, and must not make of no calls in flight sixteen million.
func TestCopiesThatEndLeaveNoFewerThanNone(t *testing.T) {
	t.Parallel()
	for _, o := range []Outcome{Success, Ignored, Failure} {
		p := newPlay(t, Rule{}, 3)
		c, ok := p.member(0).Begin(p.now)
		require.True(t, ok)
		for range 5 {
			twin := c
			twin.End(p.now, o)
			require.Zero(t, p.member(0).InFlight())
			require.Zero(t, p.g.Snapshot(p.now).Instances[0].InFlight)
			require.Zero(t, p.g.all.inFlight())
		}
		_, ok = p.member(0).Begin(p.now)
		require.True(t, ok)
		require.Equal(t, 1, p.member(0).InFlight(), "what goes on is counted from none")
	}
}

func TestACallThatNeverBegan(t *testing.T) {
	t.Parallel()
	var c Call
	require.Nil(t, c.Member())
	require.Empty(t, c.Address())
	require.False(t, c.Probe())
	c.End(sec, Failure)
}

func TestCopiesThatEndAtOneTime(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 3)
	c, ok := p.member(0).Begin(p.now)
	require.True(t, ok)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for n := range 2000 {
				twin := c
				twin.End(p.now, Outcome(n%2)*Ignored)
				if n := p.member(0).InFlight(); n != 0 {
					t.Errorf("%d in flight", n)
					return
				}
			}
		})
	}
	wg.Wait()
	require.Zero(t, p.member(0).InFlight())
	require.Zero(t, p.g.all.inFlight())
	require.EqualValues(t, 8*1000, p.member(0).calls(), "results are")
}
