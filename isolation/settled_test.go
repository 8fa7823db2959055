package isolation

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The view of a large group is not built anew for every change. Settled is for who cannot wait for that; and it builds none if there is nothing new.
func TestSettled(t *testing.T) {
	t.Parallel()
	g, err := NewGroup("s", Config{Rule: &Rule{}, Seed: 1})
	require.NoError(t, err)
	g.Update(0, instances(300))
	lists := func(v *View, m *Member) bool {
		return slices.ContainsFunc(v.Candidates, func(c Candidate) bool { return c.Member == m })
	}
	now := time.Second
	before := g.View(now)
	require.Same(t, before, g.Settled(now))
	sick := before.Candidates[7].Member
	for i := 0; ; i++ {
		require.Less(t, i, 100_000)
		m := before.Candidates[i%300].Member
		c, ok := m.Begin(now)
		require.True(t, ok)
		o := Success
		if m == sick {
			o = Failure
		}
		c.End(now, o)
		if sick.gate.Load()&gateMask == gateShut {
			break
		}
		now += 10 * time.Microsecond
		if i%10 == 0 { // the last view is of just now
			g.mu.Lock()
			g.build(now)
			g.mu.Unlock()
		}
	}
	require.True(t, lists(g.View(now), sick))
	after := g.Settled(now)
	require.False(t, lists(after, sick))
	require.Len(t, after.Candidates, 299)
	require.Same(t, after, g.Settled(now))
	require.Same(t, after, g.View(now))
}

func TestEnforces(t *testing.T) {
	t.Parallel()
	for _, r := range []*Rule{nil, {Shadow: true}, {}} {
		g, err := NewGroup("s", Config{Rule: r})
		require.NoError(t, err)
		require.Equal(t, r != nil && !r.Shadow, g.Enforces())
		require.NoError(t, g.SetRule(0, &Rule{Shadow: true}))
		require.False(t, g.Enforces())
	}
}

// An outdated view is found whatever the change.
func TestOutdated(t *testing.T) {
	t.Parallel()
	g, err := NewGroup("s", Config{Rule: &Rule{}})
	require.NoError(t, err)
	g.Update(0, instances(5))
	m := g.list[2]
	require.False(t, g.outdated())
	for _, kind := range []uint64{gateShut, gateProbing} {
		m.gate.Store(kind)
		require.True(t, g.outdated())
		g.build(0)
		require.False(t, g.outdated())
	}
	m.gate.Store(gateShut)
	g.build(0)
	m.gate.Store(gateOpen)
	require.True(t, g.outdated())
}
