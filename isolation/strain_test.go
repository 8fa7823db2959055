package isolation

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Those in service that fail all alike for long while others are out are too few, or the fault lies elsewhere: all come back. An outage of all that is over within
// that time lets no sick one in.
func TestThoseInServiceFailToo(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still}, 5)
	sick := map[int]float64{0: 1, 1: 1}
	p.failAt(300, sick)
	require.Equal(t, 2, p.g.Snapshot(p.now).Out)
	all := map[int]float64{0: 1, 1: 1, 2: 1, 3: 1, 4: 1}
	p.failAt(1500, all)
	p.failAt(500, sick)
	require.Zero(t, p.count(EventFallbackOn), "15 s are no more than an outage")
	p.failAt(2600, all)
	require.Equal(t, 1, p.count(EventFallbackOn))
	on := slices.IndexFunc(p.events, func(e Event) bool { return e.Kind == EventFallbackOn })
	require.Contains(t, p.events[on].Reason, "those in service fail too, 100% of their calls for 20s")
	require.Equal(t, 2, p.events[on].Sick)
	require.True(t, p.g.View(p.now).Fallback)
	p.failAt(1100, sick)
	require.False(t, p.g.View(p.now).Fallback)
	check(t, p.g, p.now)
}

// A fallback that follows closely on another lasts twice as long, up to Max; one that comes much later does not.
func TestAFallbackThatComesAgainLastsLonger(t *testing.T) {
	t.Parallel()
	r := Rule{FallbackHold: time.Second, Max: 5 * time.Second, Base: time.Second}.WithDefaults()
	var h hold
	require.Equal(t, time.Second, h.next(0, &r))
	for _, want := range []time.Duration{2, 4, 5, 5} {
		h.ended = 100 * time.Second
		require.Equal(t, want*time.Second, h.next(110*time.Second, &r))
	}
	require.Equal(t, time.Second, h.next(111*time.Second, &r))
	r.FallbackHold = 10 * time.Second
	h.ended = 111 * time.Second
	require.Equal(t, 10*time.Second, h.next(112*time.Second, &r), "never shorter than the rule says")
}
