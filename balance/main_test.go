package balance

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cordon-go/cordon/isolation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a group and a balancer of it, with a time of its own.
type world struct {
	*testing.T
	group *isolation.Group
	*Balancer
	now time.Duration
}

// in returns n instances of a region, of equal weight.
func in(region string, n int) []isolation.Instance {
	list := make([]isolation.Instance, n)
	for i := range list {
		list[i] = isolation.Instance{Address: fmt.Sprintf("10.%d.%d.%d:80", len(region), i/250, i%250), Region: region}
		if region != "" {
			list[i].Address = region + "/" + list[i].Address
		}
	}
	return list
}

// weighing returns instances a, b, c ... of those weights.
func weighing(weights ...float64) []isolation.Instance {
	list := make([]isolation.Instance, len(weights))
	for i, w := range weights {
		list[i] = isolation.Instance{Address: string(rune('a' + i)), Weight: w}
	}
	return list
}

func newWorld(t *testing.T, o Options, list []isolation.Instance) *world {
	return newWorldUnder(t, &isolation.Rule{}, o, list)
}

func newWorldUnder(t *testing.T, r *isolation.Rule, o Options, list []isolation.Instance) *world {
	g, err := isolation.NewGroup("orders", isolation.Config{Rule: r, Seed: 1})
	require.NoError(t, err)
	if o.Seed == 0 {
		o.Seed = 1
	}
	b, err := New(g, o)
	require.NoError(t, err)
	g.Update(0, list)
	return &world{T: t, group: g, Balancer: b}
}

func (w *world) pick(r Request) *Call {
	w.Helper()
	c, err := w.Pick(w.now, r)
	require.NoError(w, err)
	return &c
}

// call makes a call that takes no time, and returns whom to.
func (w *world) call(r Request, o isolation.Outcome) string {
	w.Helper()
	c := w.pick(r)
	c.End(w.now, o)
	return c.Address()
}

// calls makes n calls with hashes of their own, a millisecond apart. answer says what a call to an address comes to; nil: success.
func (w *world) calls(n int, answer func(address string) isolation.Outcome) map[string]int {
	w.Helper()
	got := map[string]int{}
	for range n {
		w.now += time.Millisecond
		c := w.pick(Request{Hash: uint64(w.now)})
		o := isolation.Success
		if answer != nil {
			o = answer(c.Address())
		}
		c.End(w.now, o)
		got[c.Address()]++
	}
	return got
}

// out takes instances out of service, and back in again.
func (w *world) out(addresses ...string) {
	w.Helper()
	for _, a := range addresses {
		require.NoError(w, w.group.Pin(w.now, a, false, 0))
	}
}

func (w *world) back(addresses ...string) {
	w.Helper()
	for _, a := range addresses {
		require.NoError(w, w.group.Unpin(w.now, a))
	}
}

// each runs a test for every strategy.
func each(t *testing.T, f func(t *testing.T, s Strategy)) {
	for s := RoundRobin; s <= ConsistentHash; s++ {
		t.Run(s.String(), func(t *testing.T) {
			t.Parallel()
			f(t, s)
		})
	}
}
