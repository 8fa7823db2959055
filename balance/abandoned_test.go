package balance

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/isolation"
)

// A call that was abandoned is judged once: the instance, its region and the balancer count the same.
func TestAbandonedCallsCountAlike(t *testing.T) {
	t.Parallel()
	o, list := regions(Options{}, 5)
	w := newWorld(t, o, list)
	end := func(after time.Duration, o isolation.Outcome) {
		w.now += 2 * time.Second
		w.pick(Request{}).End(w.now+after, o)
	}
	for range 20 {
		end(20*time.Millisecond, isolation.Success)
	}
	for range 200 {
		end(500*time.Millisecond, isolation.Abandoned)
	}
	require.Zero(t, w.recent.explored(), "it says nothing")
	require.EqualValues(t, 20, w.recent.word.Load()>>32)
	for range 100 {
		end(time.Second, isolation.Abandoned)
		if w.recent.explored() != 0 {
			break
		}
	}
	require.NotZero(t, w.recent.explored(), "it says that the region hangs")
}

// Callers that give up find that their own region hangs.
func TestHangingRegionIsLeft(t *testing.T) {
	t.Parallel()
	w, events := lost(t, RoundRobin, 5)
	calls := func(n int, hangs bool) map[string]int {
		got := map[string]int{}
		for range n {
			w.now += 10 * time.Millisecond
			c := w.pick(Request{})
			got[c.Address()]++
			if hangs && inRegion(map[string]int{c.Address(): 1}, "eu") == 1 {
				c.End(w.now+time.Second, isolation.Abandoned)
				continue
			}
			c.End(w.now+20*time.Millisecond, isolation.Success)
		}
		return got
	}
	calls(2000, false)
	calls(1500, true)
	require.Less(t, inRegion(calls(1000, true), "eu"), .02)
	require.NotEmpty(t, *events)
	require.Equal(t, "eu", (*events)[0].Address)
}
