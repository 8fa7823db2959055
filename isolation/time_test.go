package isolation

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Times that are a little out of order change no verdict and break nothing.
func TestTimesOutOfOrder(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 5)
	random := rand.New(rand.NewPCG(1, 2))
	base := p.now
	for turn := 0; p.count(EventQuarantined) == 0; turn++ {
		base += 10 * ms
		require.Less(t, turn, 50)
		for i := range 5 {
			o := Success
			if i == 0 {
				o = Failure
			}
			p.now = base - time.Duration(random.IntN(200))*ms
			p.call(i, o)
			check(t, p.g, p.now)
		}
	}
	p.now = base
	require.Equal(t, Quarantined, p.state(0))
}

// Time that stands still: a dead one is found by counts alone.
func TestTimeStandsStill(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{}, 5)
	for p.state(0) == InService {
		for i := 1; i < 5; i++ {
			p.call(i, Success)
		}
		p.call(0, Failure)
		require.Less(t, p.member(0).calls(), uint64(20))
	}
	for range 100 {
		require.False(t, p.call(0, Success))
		check(t, p.g, p.now)
	}
}

// A process that was suspended for an hour goes on: what was due is done once, and nobody is sick because of the gap.
func TestTimeLeapsAhead(t *testing.T) {
	t.Parallel()
	p := newPlay(t, Rule{Jitter: still}, 5)
	p.sicken(0)
	p.heal(0)
	p.sicken(1, 0)
	p.calm(100, 1)
	p.call(2, Failure)
	p.call(3, Failure)
	events := len(p.events)
	p.wait(time.Hour)
	require.Equal(t, []State{InService, Probing}, []State{p.state(0), p.state(1)})
	require.Len(t, p.events, events+2)
	for range 200 {
		p.calm(1)
		check(t, p.g, p.now)
	}
	require.Equal(t, 2, p.count(EventQuarantined))
	require.Equal(t, SlowStart, p.state(1))
}

// Readings at the ends of what there is do no harm.
func TestOddReadings(t *testing.T) {
	t.Parallel()
	for _, now := range []time.Duration{math.MinInt64 / 2, -time.Hour, -1, 0, math.MaxInt64 / 2} {
		p := &play{t: t, n: 5, now: now}
		g, err := NewGroup("orders", Config{Rule: &Rule{SlowStartNew: true}, Seed: 1, Now: now, OnEvent: func(e Event) { p.events = append(p.events, e) }})
		require.NoError(t, err)
		p.g = g
		g.Update(now, instances(4))
		g.Update(now, instances(5))
		p.sicken(0)
		p.heal(0)
		p.wait(time.Minute)
		require.Equal(t, InService, p.state(0), "from %v", now)
		check(t, g, p.now)
	}
}
