package sim

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The timeline is a list sorted by time and age.
func TestTimelineAgainstSortedList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var line timeline
		var want []due
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				at := time.Duration(rapid.IntRange(0, 10).Draw(t, "at"))
				line.add(at, arrives, int32(len(want)), 7)
				want = append(want, due{at: at, made: line.made, kind: arrives, ref: int32(len(want)), gen: 7})
				slices.SortStableFunc(want, func(a, b due) int { return int(a.at - b.at) })
			},
			"next": func(t *rapid.T) {
				if len(want) == 0 {
					t.Skip()
				}
				require.Equal(t, want[0], line.next())
				want = want[1:]
			},
			"": func(t *rapid.T) { require.Len(t, line.heap, len(want)) },
		})
	})
}

// drawScript draws any script of this package.
func drawScript(t *rapid.T) Script {
	ms := func(name string, lo, hi int) time.Duration {
		return time.Duration(rapid.IntRange(lo, hi).Draw(t, name)) * time.Millisecond
	}
	span := Span{From: ms("from", 0, 50)}
	if rapid.Bool().Draw(t, "ends") {
		span.Until = span.From + ms("length", 1, 200)
	}
	switch rapid.IntRange(0, 4).Draw(t, "script") {
	case 0:
		return During{span, Fails(.5)}
	case 1:
		return Flapping{span, ms("bad", 1, 30), ms("good", 1, 30), Fails(.5)}
	case 2:
		return Noisy{Span: span, Min: .2, Max: .8, Every: ms("every", 1, 30)}
	case 3:
		return Shocks{Span: span, Min: .2, Max: .8, Every: ms("every", 1, 30), Shortest: ms("shortest", 0, 5), Longest: 5 * time.Millisecond}
	}
	return Restart{At: span.From, Down: ms("down", 1, 10), Warmup: ms("warmup", 0, 10), Every: ms("every", 20, 50), Slow: Fixed(1)}
}

// Every script goes on, says nothing outside of its span, and keeps within its bounds.
func TestScriptsGoOn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		script := drawScript(t)
		track := script.Play(rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		var span Span
		switch s := script.(type) {
		case During:
			span = s.Span
		case Flapping:
			span = s.Span
		case Noisy:
			span = s.Span
		case Shocks:
			span = s.Span
		case Restart:
			span = Span{From: s.At}
		}
		at, still := time.Duration(0), 0
		for range 1000 {
			c, until := track()
			require.GreaterOrEqual(t, until, at)
			if until == at {
				still++
				require.Less(t, still, 3, "it stands still at %v", at)
			} else {
				still = 0
				if !c.well() {
					require.GreaterOrEqual(t, at, span.From)
					require.LessOrEqual(t, until, span.until())
				}
				if c.Failures > 0 {
					require.GreaterOrEqual(t, c.Failures, .2)
					require.LessOrEqual(t, c.Failures, .8)
				}
			}
			if at = until; at == Forever {
				break
			}
		}
	})
}

// spells plays a script for a while: when which condition holds.
func spells(script Script, n int) (conditions []Condition, until []time.Duration) {
	track := script.Play(rand.New(rand.NewPCG(1, 2)))
	for range n {
		c, u := track()
		conditions, until = append(conditions, c), append(until, u)
	}
	return conditions, until
}

func TestScriptsOfFixedTimes(t *testing.T) {
	t.Parallel()
	well := Condition{}
	c, until := spells(Flapping{Span: Span{From: 10, Until: 45}, Bad: 10, Good: 20, Condition: Dead()}, 5)
	require.Equal(t, []Condition{well, Dead(), well, Dead(), well}, c)
	require.Equal(t, []time.Duration{10, 20, 40, 45, Forever}, until)
	c, until = spells(Restart{At: 5, Every: 100, Down: 10, Warmup: 20, Slow: Fixed(3)}, 6)
	require.Equal(t, []Condition{well, Dead(), Slow(Fixed(3)), well, Dead(), Slow(Fixed(3))}, c)
	require.Equal(t, []time.Duration{5, 15, 35, 105, 115, 135}, until)
	c, until = spells(Restart{At: 5, Down: 10}, 4)
	require.Equal(t, []Condition{well, Dead(), well, well}, c)
	require.Equal(t, []time.Duration{5, 15, 15, Forever}, until)
	c, until = spells(From(7, Hung()), 2)
	require.Equal(t, []Condition{well, Hung()}, c)
	require.Equal(t, []time.Duration{7, Forever}, until)
}

func TestScriptsOfRandomTimes(t *testing.T) {
	t.Parallel()
	const n = 20_000
	c, until := spells(Noisy{Min: .1, Max: .5, Every: time.Second}, n)
	sum := 0.
	for i := range c {
		sum += c[i].Failures
	}
	require.InDelta(t, .3, sum/n, .005)
	require.InDelta(t, 1, until[n-1].Seconds()/n, .04)

	c, until = spells(Shocks{Every: time.Second, Shortest: 100 * time.Millisecond, Longest: 300 * time.Millisecond, Min: .3, Max: 1}, n)
	shocks, length := 0, time.Duration(0)
	for i := 1; i < n; i++ {
		if !c[i].well() {
			shocks++
			length += until[i] - until[i-1]
		}
	}
	require.InDelta(t, n/2, shocks, 1)
	require.InDelta(t, .2, length.Seconds()/float64(shocks), .005)
	require.InDelta(t, 1.2, until[n-1].Seconds()/float64(shocks), .05)
}

// stuck is a script of somebody else's that does not go on, or goes back.
type stuck time.Duration

func (s stuck) Play(*rand.Rand) Track {
	return func() (Condition, time.Duration) { return Condition{}, time.Duration(s) }
}

func TestScriptsThatDoNotGoOnEndTheRun(t *testing.T) {
	t.Parallel()
	s := Scenario{Length: time.Minute, Instances: Instances(1, Instance{}), Clients: []Client{{Loads: []Load{{Rate: 1}}}}}
	for _, until := range []stuck{0, stuck(time.Second), -1} {
		s.Common = []Script{until}
		_, err := Run(s, None{})
		require.ErrorContains(t, err, "sim: script sim.stuck")
	}
}

// The virtual clock keeps a clock's promises.
func TestVirtualClock(t *testing.T) {
	t.Parallel()
	w := &world{scenario: &Scenario{Length: time.Minute, Tick: time.Minute, Bucket: time.Minute}}
	c := &virtualClock{world: w}
	require.Equal(t, 2000, c.Wall(0).Year())
	require.Zero(t, <-c.NewTimer(-1).C(), "fires at once")
	var fired []time.Duration
	c.AfterFunc(2*time.Second, func() { fired = append(fired, c.Now()) })
	c.AfterFunc(time.Second, func() { fired = append(fired, c.Now()) })
	stopped := c.AfterFunc(time.Second, func() { t.Error("was stopped") })
	require.True(t, stopped.Stop())
	require.False(t, stopped.Stop())
	require.NoError(t, w.play())
	require.Equal(t, []time.Duration{time.Second, 2 * time.Second}, fired)
}
