package isolation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// One that was held for long and got well is in service after a few good calls, and a chance failure later does not put it out for what it did while it was sick, though there is
// room by then.
func TestTheHeldAreNotPutOutForWhatIsOver(t *testing.T) {
	t.Parallel()
	for _, wait := range []int{60, 200} { // calls before the chance failure: still held, and back in service
		p := newPlay(t, Rule{MaxShare: .2, NoFallback: true, Base: time.Hour, Max: time.Hour}, 5)
		p.sicken(0)
		p.failAt(6000, map[int]float64{1: .8})
		require.Equal(t, Held, p.state(1))
		require.NoError(t, p.g.Pin(p.now, address(0), true, 0)) // there is room
		p.calm(wait)
		p.call(1, Failure)
		p.calm(100)
		p.call(1, Failure)
		p.calm(300)
		require.Equal(t, InService, p.state(1), "after %d good calls", wait)
		require.Equal(t, 1, p.count(EventQuarantined), "that of the first")
	}
}

// One that stays sick stays held, whatever its failure rate, until there is room: nothing is said meanwhile.
func TestTheHeldStayHeldWhileTheyAreSick(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{.15, .5, 1} {
		p := newPlay(t, Rule{MaxShare: .2, NoFallback: true, Base: time.Hour, Max: time.Hour}, 5)
		p.sicken(0)
		p.failAt(1000, map[int]float64{1: rate})
		require.Equal(t, Held, p.state(1), "%v", rate)
		before := len(p.events)
		p.failAt(20_000, map[int]float64{1: rate})
		require.Len(t, p.events, before, "%v", rate)
		require.NoError(t, p.g.Pin(p.now, address(0), true, 0))
		p.failAt(200, map[int]float64{1: rate})
		require.Equal(t, Quarantined, p.state(1), "%v", rate)
	}
}
